"""Who really answered, as far as a reply tells: the model, the build of the server, and the provider behind a router.

    model        `model` of the body, which an alias resolves to; of a stream the one that each of its events names
    fingerprint  `system_fingerprint` (platform.openai.com/docs/api-reference/chat/object)
    provider     `provider` of the body (openrouter.ai/docs/api-reference/overview), or a gateway's own header:
                 `x-litellm-model-id` (docs.litellm.ai/docs/proxy/response_headers), `x-bifrost-provider`
                 (docs.getbifrost.ai/providers/response-headers), `x-kong-llm-model`
                 (developer.konghq.com/plugins/ai-proxy), `ngrok-aig-model` (ngrok.com/docs/ai-gateway)

What is null, empty or missing isn't told, and is no server of another name. Most replies name one of each; a stream
whose events name two keeps both, in the order in which they came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from harness.parse._types import Wire

__all__ = ["SERVED", "Served", "note_event", "note_headers"]

SERVED: Final = ("model", "fingerprint", "provider")
"""What a reply may name, in the order in which people are told."""
_FIELDS: Final[Mapping[str, str]] = {"model": "model", "fingerprint": "system_fingerprint", "provider": "provider"}
_HEADERS: Final = ("x-litellm-model-id", "x-bifrost-provider", "x-kong-llm-model", "ngrok-aig-model")
_MOST: Final = 8
"""More names than that of one thing in one reply are no names any more."""

Served = dict[str, list[str]]
"""By what is named, every name that was told. A key that nothing was told of is left out."""


def note_event(served: Served, root: Mapping[str, Any]) -> None:
    """Add what a body, or one event of a stream, tells."""
    for what, name in _told(root):
        _note(served, what, name)


def note_headers(served: Mapping[str, tuple[str, ...]], wire: Wire) -> dict[str, tuple[str, ...]]:
    """What a body told, with what the headers of its reply tell beside it."""
    found: Served = {what: list(names) for what, names in served.items()}
    for header in _HEADERS:
        _note(found, "provider", wire.header(header))
    return {what: tuple(found[what]) for what in SERVED if what in found}


def _told(root: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for what, field in _FIELDS.items():
        yield what, root.get(field)
    # Anthropic's streams open with the message, and name the model there.
    opened = root.get("message")
    if root.get("type") == "message_start" and isinstance(opened, dict):
        yield "model", cast("dict[str, Any]", opened).get("model")


def _note(served: Served, what: str, name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        return
    names = served.setdefault(what, [])
    if name not in names and len(names) < _MOST:
        names.append(name)
