"""Request bodies of the three protocols: the same candidate and messages always give the same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from harness._candidate import Candidate
from harness._chat import Chat
from harness.engines._parts import anthropic_message, ollama_message, openai_message

__all__ = ["ANTHROPIC_MAX_TOKENS", "anthropic_fields", "ollama_body", "openai_body", "to_bytes"]

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


def openai_body(candidate: Candidate, chat: Chat) -> dict[str, Any]:
    """Chat completions: parameters are top-level fields."""
    return {
        "model": candidate.model,
        "messages": [openai_message(message) for message in chat.messages],
        **_sorted(candidate.parameters),
        **chat.extras,
        **({"stream": True} if candidate.stream else {}),
    }


def ollama_body(candidate: Candidate, chat: Chat) -> dict[str, Any]:
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
        "messages": [ollama_message(message) for message in chat.messages],
        "stream": candidate.stream,
        **top,
        **chat.extras,
        **({"options": options} if options else {}),
    }


def anthropic_fields(candidate: Candidate, chat: Chat) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the SDK's `messages.create` takes by name, and what goes into the body beside it.

    System messages have a field of their own in this protocol.
    """
    parameters = _sorted(candidate.parameters)
    fields: dict[str, Any] = {
        "model": candidate.model,
        "max_tokens": parameters.pop("max_tokens", ANTHROPIC_MAX_TOKENS),
        "messages": [anthropic_message(message) for message in chat.messages if message["role"] != "system"],
        **({"stream": True} if candidate.stream else {}),
    }
    system = [anthropic_message(message)["content"] for message in chat.messages if message["role"] == "system"]
    if system:
        blocks = [block for content in system for block in _blocks(content)]
        parameters["system"] = system[0] if len(system) == 1 else blocks
    return fields, {**parameters, **chat.extras}


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _sorted(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: parameters[name] for name in sorted(parameters)}
