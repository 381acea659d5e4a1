"""The envelope of OpenAI-compatible chat completions, whole and streamed (platform.openai.com/docs/api-reference/chat)."""

from __future__ import annotations

from typing import Any, Final, cast

from harness.parse._message import Ending, Message, as_counts, as_text

__all__ = ["ENDINGS", "feed", "whole"]

ENDINGS: Final[dict[str, Ending]] = {
    "stop": "end",
    "length": "length",
    "content_filter": "filter",
    "tool_calls": "tool",
    "function_call": "tool",
}
_THOUGHTS: Final = ("reasoning_content", "reasoning")


def whole(root: dict[str, Any]) -> Message:
    """The message of a response body."""
    message = Message(model=as_text(root.get("model")) or None, usage=as_counts(root.get("usage")), done=True)
    choices = root.get("choices")
    if not isinstance(choices, list) or not choices:
        message.fault = "no_choices"
        return message
    message.many = len(cast("list[Any]", choices)) > 1
    choice: Any = choices[0]
    if not isinstance(choice, dict):
        message.fault = "not_json"
        return message
    message.stop = as_text(choice.get("finish_reason")) or None
    body = choice.get("message")
    if body is not None and not isinstance(body, dict):
        message.fault = "not_json"
    elif body:
        _take(message, cast("dict[str, Any]", body))
    return message


def _take(message: Message, body: dict[str, Any]) -> None:
    """Add a message's, or a delta's, parts."""
    content = body.get("content")
    if isinstance(content, str):
        message.texts = message.texts or []
        message.texts.append(content)
    elif isinstance(content, list):
        message.texts = message.texts or []
        for part in cast("list[Any]", content):
            _part(message, part)
    elif content is not None:
        message.fault = "not_json"
    refusal = as_text(body.get("refusal"))
    if refusal:
        message.refusal.append(refusal)
    thought = next((value for key in _THOUGHTS if (value := as_text(body.get(key)))), "")
    if thought:
        message.reasoning.append(thought)
    if body.get("tool_calls") or body.get("function_call"):
        message.tool = True


def _part(message: Message, part: Any) -> None:
    if not isinstance(part, dict):
        return
    body = cast("dict[str, Any]", part)
    kind = body.get("type")
    if kind in ("text", "output_text") and isinstance(body.get("text"), str):
        message.texts = message.texts or []
        message.texts.append(body["text"])
    elif kind == "refusal":
        message.refusal.append(as_text(body.get("refusal")))
    elif kind in ("thinking", "reasoning"):
        message.reasoning.append(as_text(body.get("thinking")) or as_text(body.get("text")))


def feed(message: Message, event: dict[str, Any]) -> None:
    """Add one streamed chunk."""
    message.model = message.model or as_text(event.get("model")) or None
    message.usage.update(as_counts(event.get("usage")))
    choices = event.get("choices")
    if not isinstance(choices, list):
        return
    for choice in cast("list[Any]", choices):
        if not isinstance(choice, dict):
            message.fault = "not_json"
            continue
        if choice.get("index", 0) != 0:
            message.many = True
            continue
        delta = choice.get("delta")
        if isinstance(delta, dict):
            _take(message, cast("dict[str, Any]", delta))
        message.stop = as_text(choice.get("finish_reason")) or message.stop
