"""One chat as it is asked: its turns, and what a case sends beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypedDict

__all__ = ["Chat", "Message", "user"]

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Message(TypedDict):
    """One message of a chat request. `content` is text, or a list of parts as the case has them."""

    role: Literal["system", "user", "assistant"]
    content: Any


@dataclass(frozen=True)
class Chat:
    """What one case asks. `extras` are fields of the request that the case itself sets (`tools`, `response_format`):
    they go into the request as they are, beside the candidate's parameters and before them where both name one.

    An image is a part {"type": "image", "media_type", "data" (base64)} whatever the protocol; each engine writes it
    the way its protocol wants it.
    """

    messages: tuple[Message, ...]
    extras: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)


def user(text: str) -> Chat:
    """A chat of one user message."""
    return Chat(({"role": "user", "content": text},))
