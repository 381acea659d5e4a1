"""Request bodies of the three protocols: the same candidate and messages always give the same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from harness._candidate import Candidate

__all__ = ["ANTHROPIC_MAX_TOKENS", "Messages", "anthropic_fields", "ollama_body", "openai_body", "to_bytes"]

Messages = Sequence[Mapping[str, Any]]
"""A chat: each message has `role` (system, user, assistant) and `content`."""

ANTHROPIC_MAX_TOKENS = 1024
"""What a candidate gets when it names no max_tokens, which this protocol requires."""

_OLLAMA_TOP_LEVEL = frozenset(
    {"think", "format", "keep_alive", "tools", "logprobs", "top_logprobs", "truncate", "shift"}
)


def to_bytes(body: Mapping[str, Any]) -> bytes:
    """Compact JSON in UTF-8; in ASCII when a string holds a lone surrogate, which UTF-8 can't."""
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(body, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def openai_body(candidate: Candidate, messages: Messages) -> dict[str, Any]:
    """Chat completions: parameters are top-level fields."""
    return {
        "model": candidate.model,
        "messages": [dict(message) for message in messages],
        **_sorted(candidate.parameters),
        **({"stream": True} if candidate.stream else {}),
    }


def ollama_body(candidate: Candidate, messages: Messages) -> dict[str, Any]:
    """/api/chat: parameters are `options`, but for a few; `max_tokens` is called num_predict there."""
    top: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for name, value in _sorted(candidate.parameters).items():
        if name in _OLLAMA_TOP_LEVEL:
            top[name] = value
        elif name == "options" and isinstance(value, dict):
            options.update(cast("dict[str, Any]", value))
        else:
            options["num_predict" if name == "max_tokens" else name] = value
    return {
        "model": candidate.model,
        "messages": [dict(message) for message in messages],
        "stream": candidate.stream,
        **top,
        **({"options": options} if options else {}),
    }


def anthropic_fields(candidate: Candidate, messages: Messages) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the SDK's `messages.create` takes by name, and what goes into the body beside it.

    System messages have a field of their own in this protocol.
    """
    parameters = _sorted(candidate.parameters)
    fields: dict[str, Any] = {
        "model": candidate.model,
        "max_tokens": parameters.pop("max_tokens", ANTHROPIC_MAX_TOKENS),
        "messages": [dict(message) for message in messages if message["role"] != "system"],
        **({"stream": True} if candidate.stream else {}),
    }
    system = [message["content"] for message in messages if message["role"] == "system"]
    if system:
        blocks = [{"type": "text", "text": text} for text in system]
        parameters["system"] = system[0] if len(system) == 1 else blocks
    return fields, parameters


def _sorted(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: parameters[name] for name in sorted(parameters)}
