"""The envelope of OpenAI-compatible chat completions, whole and streamed
(platform.openai.com/docs/api-reference/chat).
"""

from __future__ import annotations

from typing import Any, Final

from harness.parse._message import Ending, Message, as_list, as_object, as_text
from harness.parse._usage import BREAKDOWN, TIER, has_own_price

__all__ = ["ENDINGS", "feed", "whole"]

ENDINGS: Final[dict[str, Ending]] = {
    "stop": "end",
    "length": "length",
    "content_filter": "filter",
    "tool_calls": "tool",
    "function_call": "tool",
    "error": "error",
    # Words of single providers: DeepSeek's, Zhipu's (two), Mistral's.
    "insufficient_system_resource": "error",
    "network_error": "error",
    "sensitive": "filter",
    "model_length": "length",
    # Together's (docs.together.ai/reference/chat-completions-1), Hugging Face's (TGI), xAI's.
    "eos": "end",
    "eos_token": "end",
    "stop_sequence": "end",
    "end_turn": "end",
}
_NATIVE: Final[dict[str, Ending]] = {
    "max_tokens": "length", "length": "length", "max_output_tokens": "length", "model_length": "length",
    "model_context_window_exceeded": "length", "safety": "filter", "content_filter": "filter", "content_filtered":
    "filter", "guardrail_intervened": "filter", "recitation": "filter", "blocklist": "filter", "prohibited_content":
    "filter", "spii": "filter", "refusal": "refusal", "pause_turn": "pause",
}  # fmt: skip
"""Words of the provider behind a router that an answer didn't end by itself. The router's own word may hide them, and
some pass them on in its place."""
_CLIENT_CALLS: Final = ("function", "custom", "builtin_function")
_RAN: Final = ("output", "outputs", "result", "results")
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
    _stop(message, choice)
    body = as_object(choice.get("message"))
    if body is not None:
        _take(message, body)
    elif choice.get("message") is not None or _elsewhere(choice, "delta"):
        message.fault = "not_json"
    return message


def _elsewhere(choice: dict[str, Any], *places: str) -> bool:
    """Whether a choice without a message has its answer where this protocol has none: it is another's, not empty."""
    return isinstance(choice.get("text"), str) or any(choice.get(place) for place in places)


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
    for at, call in enumerate(as_list(body.get("tool_calls")) or []):
        _call(message, call, at)
    if any((as_object(body.get("function_call")) or {}).values()):
        message.calls["function_call"] = True


def _call(message: Message, call: Any, at: int) -> None:
    """Note a tool call: open, unless it is of a tool that the provider runs itself, or comes with what it gave.

    A stream brings a call in pieces of one index, and says only in the first what kind it is.
    """
    body = as_object(call)
    if body is None:
        message.calls[f"call {at}"] = True
        return
    kind, key = as_text(body.get("type")), f"call {body.get('index', at)}"
    parts = [value for name, value in body.items() if name not in ("type", "index")]
    if not any(any(part.values()) if (part := as_object(value)) is not None else value for value in parts):
        return
    if any(body.get(name) is not None for name in _RAN) or (kind and kind not in _CLIENT_CALLS):
        message.calls.setdefault(key, False)
    elif kind:
        message.calls[key] = True
    else:
        message.calls.setdefault(key, True)


def _stop(message: Message, choice: dict[str, Any]) -> None:
    """Take the stop reason over. Where the provider behind a router says that it cut or filtered the answer, and the
    router only that it stopped, the provider's word counts."""
    said, native = as_text(choice.get("finish_reason")), as_text(choice.get("native_finish_reason"))
    if said:
        message.stop = said
        if said not in ENDINGS:
            message.ending = ENDINGS.get(said.lower()) or _NATIVE.get(said.lower())
        hidden = _NATIVE.get(native.lower()) if said == "stop" else None
        if hidden is not None:
            message.stop, message.ending = native, hidden


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
        delta = as_object(choice.get("delta"))
        if delta is None:
            # Servers that can't stream send the whole message as their only event; others repeat it in the last one.
            delta = as_object(choice.get("message")) or {}
            if not delta and _elsewhere(choice):
                message.fault = "not_json"
            if message.texts or message.calls or message.refusal:
                delta = {}
        if any(delta.get(key) for key in _PARTS):
            message.told.more()
        if choice.get("index", 0) != 0:
            message.many = True
            continue
        _take(message, delta)
        _stop(message, choice)
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
        message.told.counts[BREAKDOWN] = 1
    if has_own_price(body, "service_tier"):
        message.told.counts[TIER] = 1
