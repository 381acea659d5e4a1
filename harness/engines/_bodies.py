"""Request bodies of the three protocols: the same candidate and messages always give the same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from harness._candidate import Candidate
from harness._chat import Chat
from harness.engines._parts import anthropic_message, ollama_message, openai_message

__all__ = [
    "ANTHROPIC_MAX_TOKENS", "anthropic_fields", "command_text", "endpoint", "expected_body", "expected_url",
    "ollama_body", "openai_body", "request_bytes", "to_bytes",
]  # fmt: skip

_PATHS = {"openai": "/chat/completions", "ollama": "/api/chat", "anthropic": "/v1/messages"}

ANTHROPIC_MAX_TOKENS = 1024
"""What a candidate gets when it names no max_tokens, which this protocol requires."""

_OLLAMA_TOP_LEVEL = frozenset(
    {"think", "format", "keep_alive", "tools", "logprobs", "top_logprobs", "truncate", "shift"}
)


def endpoint(base_url: str, path: str) -> str:
    """A base URL with a path put to its end, ahead of its query."""
    parts = urlsplit(base_url)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") + path, parts.query, ""))


def expected_url(protocol: str, base_url: str) -> str:
    """Where a request of that protocol goes, of the base URL that a candidate is reached at."""
    return "command:" if protocol == "command" else endpoint(base_url, _PATHS[protocol])


def expected_body(candidate: Candidate, chat: Chat) -> dict[str, Any] | str:
    """What a candidate is sent for a chat: an object, or the text that a command reads."""
    if candidate.protocol == "command":
        return command_text(chat)
    if candidate.protocol == "anthropic":
        fields, beside = anthropic_fields(candidate, chat)
        return {**fields, **beside}
    return ollama_body(candidate, chat) if candidate.protocol == "ollama" else openai_body(candidate, chat)


def request_bytes(body: Mapping[str, Any] | str) -> bytes:
    """The bytes of an expected body; of an SDK's own request they are as good as any."""
    return body.encode("utf-8", "backslashreplace") if isinstance(body, str) else to_bytes(body)


def command_text(chat: Chat) -> str:
    """What a command reads: the texts of the turns. What else a chat may hold was refused ahead of the plan."""
    return "\n\n".join(str(ollama_message(message)["content"]) for message in chat.messages)


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
