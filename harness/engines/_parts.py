"""The parts of a message as each protocol writes them, and what a protocol has no way to write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from harness._candidate import Protocol
from harness._chat import Chat, Message

__all__ = ["anthropic_message", "cannot_ask", "ollama_message", "openai_message"]


def openai_message(message: Message) -> dict[str, Any]:
    """An image is a data URI (RFC 2397) in this protocol."""
    return _with_parts(message, lambda part: {"type": "image_url", "image_url": {"url": _data_uri(part)}})


def anthropic_message(message: Message) -> dict[str, Any]:
    """An image is a `source` of its own in this protocol."""
    return _with_parts(
        message,
        lambda part: {
            "type": "image",
            "source": {"type": "base64", "media_type": part["media_type"], "data": part["data"]},
        },
    )


def ollama_message(message: Message) -> dict[str, Any]:
    """Content is one text in this protocol, its parts on lines of their own, and images stand beside it."""
    content = message["content"]
    if isinstance(content, str):
        return dict(message)
    parts = _parts(content)
    texts = [str(part["text"]) for part in parts if part.get("type") == "text"]
    images = [str(part["data"]) for part in parts if _is_image(part)]
    return {**message, "content": "\n".join(texts), **({"images": images} if images else {})}


def cannot_ask(protocol: Protocol, chat: Chat) -> str | None:
    """One sentence on why this protocol has no way to ask this chat, or None.

    What a protocol does have a way to say goes to the server, whatever it makes of it; what would be left out of the
    request, or reach it as something else, is refused here, before anything is sent.
    """
    if protocol == "command":
        if chat.extras:
            return f"command/… takes a text alone, and the case sends {', '.join(sorted(chat.extras))} beside it"
        kinds = {str(part.get("type")) for part in _all_parts(chat)} - {"text"}
        return f"command/… takes a text alone, and the case holds a part {_first(kinds)}" if kinds else None
    if protocol == "ollama":
        if "response_format" in chat.extras:
            return (
                "ollama knows no response_format and would pass over it; take it out of the case and set -M format=json"
            )
        other = {str(part.get("type")) for part in _all_parts(chat) if not _is_image(part)} - {"text"}
        return f"ollama takes texts and images, and the case holds a part {_first(other)}" if other else None
    return None


def _with_parts(message: Message, image: Callable[[Mapping[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    content = message["content"]
    if isinstance(content, str):
        return dict(message)
    return {**message, "content": [image(part) if _is_image(part) else part for part in _parts(content)]}


def _data_uri(part: Mapping[str, Any]) -> str:
    return f"data:{part['media_type']};base64,{part['data']}"


def _is_image(part: Mapping[str, Any]) -> bool:
    """An image as a case has it; one with a `source` is already in a protocol's own form."""
    return part.get("type") == "image" and "data" in part and "media_type" in part


def _parts(content: Any) -> list[Mapping[str, Any]]:
    return cast("list[Mapping[str, Any]]", content)


def _all_parts(chat: Chat) -> Iterable[Mapping[str, Any]]:
    for message in chat.messages:
        if not isinstance(message["content"], str):
            yield from _parts(message["content"])


def _first(kinds: set[str]) -> str:
    return ascii(min(kinds))[:60]
