"""Raw HTTP/1.1 replies, and faults, as the `Wire` values that the recorder would have made of them."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from harness.parse import Wire


def wire_of(raw: bytes) -> Wire:
    """The wire value of a raw reply after which the server closed the connection."""
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = tuple((name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in lines[1:]))
    wire = Wire(int(lines[0].split()[1]), headers, body)
    length = wire.header("content-length")
    if length is not None and len(body) < int(length):
        return Wire(wire.status, headers, body, whole=False, fault=("reply", "short_body"))
    return wire


STREAM_HEAD = b'data: {"choices":[{"index":0,"delta":{"content":"hel"},"finish_reason":null}]}\n\n'
NO_RESPONSE = {
    "refuse_connect": "connect_refused",
    "reset_before_headers": "connection_reset",
    "dns_fail": "dns",
    "hang_no_bytes": "timeout",
}
CUT = {
    "stall_mid_stream": (STREAM_HEAD, "timeout"),
    "reset_mid_stream": (STREAM_HEAD, "connection_reset"),
    "reset_mid_body": (STREAM_HEAD, "connection_reset"),
    "reset_after_headers": (b"", "connection_reset"),
    "trickle": (b"     ", "timeout"),
}


def acted_out(fault: str) -> Wire | tuple[str, str]:
    """What a server that acts a fault out leaves: a cut response, or the stage and reason of a fault without one."""
    if fault in NO_RESPONSE:
        return "transport", NO_RESPONSE[fault]
    body, name = CUT[fault]
    return Wire(200, (("content-type", "text/event-stream"),), body, whole=False, fault=("transport", name))


def reply(protocol: str, content: Any = "hello", **more: Any) -> dict[str, Any]:
    """A whole, ordinary response body of a protocol."""
    if protocol == "openai":
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        body: dict[str, Any] = {"id": "c1", "model": "m-1", "choices": [choice]}
    elif protocol == "anthropic":
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        body = {"type": "message", "role": "assistant", "model": "m-1", "content": blocks, "stop_reason": "end_turn"}
    else:
        message = {"role": "assistant", "content": content}
        body = {"model": "m-1", "message": message, "done": True, "done_reason": "stop"}
    return {**body, **more}


def sent(body: Any, status: int = 200, **headers: str) -> Wire:
    """A whole response; keyword names are header names with `_` for `-`."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Wire(status, tuple((name.replace("_", "-"), value) for name, value in headers.items()), data)


def sse(*events: Any, done: bool = True) -> bytes:
    """A stream of server-sent events."""
    parts = [f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n" for event in events]
    return "".join([*parts, "data: [DONE]\n\n" if done else ""]).encode()


def chunk(content: str | None = None, stop: str | None = None, **delta: Any) -> dict[str, Any]:
    """One chunk of an OpenAI stream."""
    body = {**({"content": content} if content is not None else {}), **delta}
    return {"id": "c", "model": "m-1", "choices": [{"index": 0, "delta": body, "finish_reason": stop}]}


def zlibbed(data: bytes, window: int) -> bytes:
    """gzip for 31, zlib for 15, bare deflate for -15."""
    packer = zlib.compressobj(9, zlib.DEFLATED, window)
    return packer.compress(data) + packer.flush()


def from_line(line: dict[str, Any]) -> Wire | tuple[str, str]:
    """The wire value, or the fault, of a B line."""
    if line.get("fault"):
        return acted_out(line["fault"])
    return wire_of(base64.b64decode(line["bytes_b64"]))
