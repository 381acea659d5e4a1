"""The envelope of OpenAI-compatible chat completions, whole and streamed
(platform.openai.com/docs/api-reference/chat).
"""

from __future__ import annotations

from typing import Any, Final

from harness.parse._message import Ending, Message, as_list, as_object, as_text

__all__ = ["ENDINGS", "feed", "whole"]

ENDINGS: Final[dict[str, Ending]] = {
    "stop": "end",
    "length": "length",
    "content_filter": "filter",
    "tool_calls": "tool",
    "function_call": "tool",
}
_THOUGHTS: Final = ("reasoning_content", "reasoning")
_PARTS: Final = ("content", "refusal", "tool_calls", "function_call", "audio", *_THOUGHTS)


def whole(root: dict[str, Any]) -> Message:
    """The message of a response body."""
    message = Message(model=as_text(root.get("model")) or None, done=True)
    _told(message, root, final=True)
    choices = as_list(root.get("choices"))
    if not choices:
        message.fault = "no_choices"
        return message
    message.many = len(choices) > 1
    choice = as_object(choices[0])
    if choice is None:
        message.fault = "not_json"
        return message
    message.stop = as_text(choice.get("finish_reason")) or None
    body = as_object(choice.get("message"))
    if body is not None:
        _take(message, body)
    elif choice.get("message") is not None:
        message.fault = "not_json"
    return message


def _take(message: Message, body: dict[str, Any]) -> None:
    """Add a message's, or a delta's, parts."""
    content = body.get("content")
    if isinstance(content, str):
        message.texts = message.texts or []
        message.texts.append(content)
    elif (parts := as_list(content)) is not None:
        message.texts = message.texts or []
        for part in parts:
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
    body = as_object(part)
    if body is None:
        return
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
    for each in as_list(event.get("choices")) or []:
        choice = as_object(each)
        if choice is None:
            message.fault = "not_json"
            continue
        delta = as_object(choice.get("delta")) or {}
        if any(delta.get(key) for key in _PARTS):
            message.told.more()
        if choice.get("index", 0) != 0:
            message.many = True
            continue
        _take(message, delta)
        message.stop = as_text(choice.get("finish_reason")) or message.stop
    # Counts that came ahead of the finish reason are those of a part.
    _told(message, event, final=message.stop is not None)


def _told(message: Message, body: dict[str, Any], *, final: bool) -> None:
    """Take the counts of a body or a chunk: Groq's streams tell them in `x_groq`, Moonshot's in the last choice."""
    beside = as_object(body.get("x_groq")) or {}
    choices = [as_object(each) or {} for each in as_list(body.get("choices")) or []]
    for place in (beside, *choices, body):
        message.told.tell(place.get("usage"), final=final)
    if body.get("usage_breakdown") or beside.get("usage_breakdown"):
        # Groq's compound systems: several models were asked, each at its own price.
        message.told.counts["usage_breakdown"] = 1
