"""The envelope of Ollama's /api/chat, whole and streamed (github.com/ollama/ollama, docs/api.md)."""

from __future__ import annotations

from typing import Any, Final

from harness.parse._message import Ending, Message, as_object, as_text

__all__ = ["ENDINGS", "feed", "whole"]

ENDINGS: Final[dict[str, Ending]] = {"stop": "end", "length": "length", "load": "idle", "unload": "idle"}
_COUNTS: Final = (
    "prompt_eval_count", "eval_count", "total_duration", "load_duration", "prompt_eval_duration", "eval_duration",
)  # fmt: skip


def whole(root: dict[str, Any]) -> Message:
    """The message of a response body."""
    message = Message()
    if "message" not in root and "done" not in root:
        message.fault = "not_json"
        return message
    feed(message, root)
    if not message.done and not message.fault:
        message.fault = "not_done"
    return message


def feed(message: Message, event: dict[str, Any]) -> None:
    """Add one streamed line; the last one has `done` and the counts."""
    message.model = message.model or as_text(event.get("model")) or None
    body = as_object(event.get("message"))
    if body is not None:
        _take(message, body)
    elif event.get("message") is not None:
        message.fault = "not_json"
    if event.get("done") is True:
        message.done = True
        message.stop = as_text(event.get("done_reason")) or None
        message.told.tell({key: event.get(key) for key in _COUNTS}, final=True)


def _take(message: Message, body: dict[str, Any]) -> None:
    content = body.get("content")
    if isinstance(content, str):
        message.texts = message.texts or []
        message.texts.append(content)
    elif content is not None:
        message.fault = "not_json"
    thought = as_text(body.get("thinking"))
    if thought:
        message.reasoning.append(thought)
    if body.get("tool_calls"):
        message.calls["call"] = True
