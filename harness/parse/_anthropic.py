"""The envelope of Anthropic's Messages API, whole and streamed (docs.anthropic.com/en/api/messages)."""

from __future__ import annotations

from typing import Any, Final

from harness.parse._message import Ending, Message, as_list, as_object, as_text

__all__ = ["ENDINGS", "feed", "whole"]

ENDINGS: Final[dict[str, Ending]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "tool_use": "tool",
    "pause_turn": "pause",
}
_CLIENT_TOOL: Final = "tool_use"
_PROVIDER_TOOLS: Final = ("server_tool_use", "mcp_tool_use")
_RESULT: Final = "tool_result"


def whole(root: dict[str, Any]) -> Message:
    """The message of a response body."""
    message = Message(done=True)
    if "content" not in root and "stop_reason" not in root:
        message.fault = "not_json"
        return message
    _open(message, root)
    message.told.tell(root.get("usage"), final=True)
    content = root.get("content")
    blocks = as_list(content)
    if blocks is not None:
        message.texts = []
        for block in blocks:
            _block(message, block)
    elif content is not None:
        message.fault = "not_json"
    return message


def _open(message: Message, body: dict[str, Any]) -> None:
    message.model = as_text(body.get("model")) or message.model
    message.stop = as_text(body.get("stop_reason")) or message.stop


def _block(message: Message, block: Any) -> None:
    """Sort one content block, or the part of one that a delta brings."""
    body = as_object(block)
    if body is None:
        message.fault = "not_json"
        return
    kind = body.get("type")
    if kind in ("text", "text_delta"):
        message.texts = message.texts or []
        message.texts.append(as_text(body.get("text")))
    elif kind in ("thinking", "thinking_delta"):
        message.reasoning.append(as_text(body.get("thinking")))
    elif kind == "redacted_thinking":
        # It can't be read, and still is what the budget went into.
        message.reasoning.append("[redacted]")
    elif kind in (_CLIENT_TOOL, *_PROVIDER_TOOLS):
        message.calls[as_text(body.get("id")) or f"call {len(message.calls)}"] = True
        if kind != _CLIENT_TOOL:
            message.begin_anew()
    elif as_text(kind).endswith(_RESULT):
        _result(message, as_text(body.get("tool_use_id")))


def _result(message: Message, of: str) -> None:
    """What a tool that the provider runs itself gave, be it an error: its call isn't open any more."""
    if of in message.calls:
        message.calls[of] = False
    message.begin_anew()


def feed(message: Message, event: dict[str, Any]) -> None:
    """Add one streamed event."""
    kind = event.get("type")
    if kind == "message_start":
        opened = as_object(event.get("message")) or {}
        message.texts = message.texts or []
        _open(message, opened)
        # Nothing was written yet: what stands under output_tokens here is no figure.
        message.told.tell(opened.get("usage"), final=False, placeholders=("output_tokens",))
        for block in as_list(opened.get("content")) or []:
            _block(message, block)
    elif kind == "content_block_start":
        message.told.more()
        _block(message, event.get("content_block"))
    elif kind == "content_block_delta":
        message.told.more()
        _block(message, event.get("delta"))
    elif kind == "message_delta":
        usage = as_object(event.get("usage")) or {}
        message.told.tell(usage, final=usage.get("output_tokens") is not None)
        message.stop = as_text((as_object(event.get("delta")) or {}).get("stop_reason")) or message.stop
    elif kind == "message_stop":
        message.done = True
