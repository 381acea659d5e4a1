"""Reading a whole reply: from recorded wire bytes to one outcome, in the order in which things can go wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, cast

from harness._outcomes import Status, is_reason
from harness.parse import _anthropic, _ollama, _openai
from harness.parse._answer import read_text
from harness.parse._encoding import Decoded, decode
from harness.parse._errors import ApiError, advice_body, advice_inner, error_in, error_named, name_inner, name_status
from harness.parse._events import Sent, cut_text, is_server_sent, lines_of_json, server_sent
from harness.parse._json import load, trim
from harness.parse._message import Ending, Message, read_message, with_facts
from harness.parse._retry import advice
from harness.parse._scan import Broken, scan
from harness.parse._served import note_event, note_headers
from harness.parse._types import Ask, Protocol, Reading, ReadRules, Wire, make_reading

__all__ = ["read_fault", "read_reply"]

# How the replay server marks its 404 for a request that the ledger holds no answer to.
_REPLAY_HEADER: Final = "x-eval-ledger"
_NO_RECORDING: Final = "no_recording"

_DONE: Final = "[DONE]"
_STOPPING: Final = frozenset({"billing", "auth"})
_SETTLED: Final = _STOPPING | {"redirect", _NO_RECORDING}
"""What no header's wish makes worth asking again: it would be asked of an account, or a place, that is gone."""


@dataclass(frozen=True, slots=True)
class _Codec:
    """One protocol: its endings, its whole and streamed readers, and how its stream is cut into events."""

    endings: Mapping[str, Ending]
    whole: Callable[[dict[str, Any]], Message]
    feed: Callable[[Message, dict[str, Any]], None]
    events: Callable[[str], Iterable[Sent]]


_CODECS: Final[Mapping[Protocol, _Codec]] = {
    "openai": _Codec(_openai.ENDINGS, _openai.whole, _openai.feed, server_sent),
    "anthropic": _Codec(_anthropic.ENDINGS, _anthropic.whole, _anthropic.feed, server_sent),
    "ollama": _Codec(_ollama.ENDINGS, _ollama.whole, _ollama.feed, lines_of_json),
}


def read_fault(stage: str, name: str) -> Reading:
    """The reading of an attempt that no response came of; `stage` and `name` are those of its fault event."""
    status = cast("Status", name if name in ("not_asked", "fate_unknown") else "error")
    if not is_reason(status, name):
        return make_reading("error", "internal")
    return make_reading(status, name)


def read_reply(
    wire: Wire,
    *,
    protocol: Protocol,
    stream: bool,
    ask: Ask,
    rules: ReadRules,
    max_wait: float = 60,
    now: datetime | None = None,
) -> Reading:
    """Read a recorded response.

    `max_wait` is the longest wait, in seconds, that a Retry-After may ask for before the advice is give_up; `now` is
    the response's recorded time, for a Retry-After date in a response without a Date.
    """
    if protocol == "text":
        # Text that somebody else captured: whether it was cut, nobody wrote down.
        return read_text(wire.body, ask=ask, stop="none", rules=rules)
    if protocol == "command":
        return _read_command(wire, ask, rules)
    reading = _read(wire, _CODECS[protocol], protocol, ask, rules, stream=stream)
    if served := note_headers(reading.served, wire):
        reading = replace(reading, served=served)
    if reading.status != "error":
        return reading
    refused = not 200 <= wire.status < 300 and reading.reason not in _SETTLED
    return replace(reading, retry=advice(reading.retry, wire.header, max_wait, now, refused=refused))


def _read_command(wire: Wire, ask: Ask, rules: ReadRules) -> Reading:
    """What a local program wrote on its terminal: no envelope, and no stop signal but that it ended well."""
    if not wire.whole:
        stage, name = wire.fault or ("harness", "internal")
        return read_fault(stage, name)
    return read_text(wire.body, ask=ask, stop="end", rules=rules)


def _read(wire: Wire, codec: _Codec, protocol: Protocol, ask: Ask, rules: ReadRules, *, stream: bool) -> Reading:
    if not 200 <= wire.status < 300:
        return _refused_by_status(wire)
    if not wire.body and wire.whole:
        return make_reading("error", "empty_body")
    decoded = decode(wire.body, wire.header("content-encoding"))
    fault = decoded.fault
    if not wire.whole:
        fault = wire.fault[1] if wire.fault is not None else ("stream_cut" if stream else "short_body")
    text = _characters(decoded.data, cut=bool(fault))
    if text is None:
        return _with_coding(_cut(fault, Message()), decoded) if fault else make_reading("error", "invalid_utf8")
    if (stream or _says_stream(wire, codec)) and not _is_one_object(text, codec):
        found = _read_stream(text, fault, codec, protocol, ask, rules, transport_cut=not wire.whole)
        return _with_coding(found, decoded)
    if fault:
        return _with_coding(_cut(fault, _what_came(text, codec)), decoded)
    if not text.strip():
        return make_reading("error", "empty_body")
    root = _object(text)
    if isinstance(root, str):
        error = error_in(load(text)[1])
        if error is not None:
            return _inner_error(error, protocol, Message())
        ends_early = root == "not_json" and _ends_with_connection(wire) and _ends_early(text)
        return _cut("stream_cut", _what_came(text, codec)) if ends_early else make_reading("error", root)
    error = error_in(root)
    message = codec.whole(root)
    note_event(message.served, root)
    if error is not None:
        return _inner_error(error, protocol, message)
    if message.fault:
        return with_facts(make_reading("error", message.fault), message)
    return read_message(message, codec.endings, ask, rules)


def _says_stream(wire: Wire, codec: _Codec) -> bool:
    """Whether a reply says itself that it is a stream: some servers send one where none was asked for."""
    media = (wire.header("content-type") or "").partition(";")[0].strip().lower()
    return codec.events is server_sent and media == "text/event-stream"


def _ends_with_connection(wire: Wire) -> bool:
    """Whether nothing but the connection's end told the body's end (RFC 9112, 6.3): then only what it says can."""
    return wire.header("content-length") is None and "chunked" not in (wire.header("transfer-encoding") or "").lower()


def _ends_early(text: str) -> bool:
    """Whether the text is a JSON object as far as it goes, and ends inside it."""
    start, end = trim(text, 0, len(text))
    found = scan(text, start, end) if text[start : start + 1] == "{" else None
    return isinstance(found, Broken) and found.reason == "unterminated" and found.ended


def _what_came(text: str, codec: _Codec) -> Message:
    """What a body that was cut holds of a message: all of it where its JSON is whole, else the text alone."""
    root = _object(text)
    if not isinstance(root, str):
        return codec.whole(root)
    piece = cut_text(text)
    return Message(texts=[piece] if piece else None)


def _with_coding(reading: Reading, decoded: Decoded) -> Reading:
    """The reading, with the coding that nobody here undoes as a flag."""
    return _flagged(reading, f"coding_{decoded.coding}") if decoded.coding and reading.status == "error" else reading


def _characters(data: bytes, *, cut: bool) -> str | None:
    """The body as text; a cut one may end inside a character. None when it isn't UTF-8, whatever a header says."""
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if cut and error.reason == "unexpected end of data":
            return data[: error.start].decode("utf-8")
        return None


def _object(text: str) -> dict[str, Any] | str:
    """The JSON object that `text` is, or the reason why it is none."""
    good, root = load(text, halves=True)
    if good:
        return cast("dict[str, Any]", root) if isinstance(root, dict) else "not_json"
    start, end = trim(text, 0, len(text))
    found = scan(text, start, end) if text[start : start + 1] in ("{", "[") else None
    return "duplicate_key" if isinstance(found, Broken) and found.reason == "duplicate_key" else "not_json"


def _is_one_object(text: str, codec: _Codec) -> bool:
    """Whether a reply to a streaming request is no stream: an error object, or a server that doesn't stream."""
    start = text.lstrip()[:1]
    if codec.events is server_sent:
        return start in ("{", "[")
    # Written over several lines, as no stream's object is.
    return start == "{" and not load(text.lstrip().partition("\n")[0])[0] and load(text)[0]


def _refused_by_status(wire: Wire) -> Reading:
    if wire.status == 404 and wire.header(_REPLAY_HEADER) == _NO_RECORDING:
        return make_reading("error", _NO_RECORDING)
    decoded = decode(wire.body, wire.header("content-encoding"))
    text = decoded.data.decode("utf-8", "replace")
    error = error_in(load(text)[1])
    status, name = name_status(wire.status, error if error is not None else ApiError())
    flags = ("stop_run",) if name in _STOPPING else ()
    return make_reading(status, name, flags=flags, retry=advice_body(error, status, name))


def _inner_error(error: ApiError, protocol: Protocol, message: Message) -> Reading:
    """An error inside a 200: its own code, where it has one, decides whether asking again may help."""
    status, name = name_inner(error, protocol)
    flags = ["partial_text"] if message.text else []
    if error.inner is not None:
        flags.append(f"inner_{error.inner}")
    if name in _STOPPING:
        flags.append("stop_run")
    retry = advice_inner(error, name) if status == "error" else None
    return with_facts(make_reading(status, name, flags=tuple(flags), text=message.text, retry=retry), message)


def _cut(fault: str, message: Message, *more: str) -> Reading:
    """A reply that did not come whole: what came is kept, and is never an answer."""
    name = fault if is_reason("error", fault) else "internal"
    flags = (*(("partial_text",) if message.text else ()), *more)
    return with_facts(make_reading("error", name, flags=flags, text=message.text), message)


def _read_stream(
    text: str, fault: str, codec: _Codec, protocol: Protocol, ask: Ask, rules: ReadRules, *, transport_cut: bool
) -> Reading:
    message = Message()
    broken = cut_data = ""
    events = 0
    for data, name, stray in codec.events(text):
        if broken:
            # Only the last event can have been cut; one with others after it is wrong.
            return _cut(broken, message)
        if codec.events is server_sent and data.strip(' \t\r\n"').upper() == _DONE:
            message.done = True
            break
        root = _object(data)
        if stray and (error := error_in(load(data)[1])) is None:
            broken, cut_data = "not_json", data
            continue
        if name == "error":
            return _inner_error(error_named(data, load(data)[1]), protocol, message)
        if isinstance(root, str):
            broken, cut_data = root, data
            continue
        events += 1
        error = error_in(root)
        codec.feed(message, root)
        note_event(message.served, root)
        if error is not None:
            return _inner_error(error, protocol, message)
        if message.fault:
            return _cut(message.fault, message)
        if message.done:
            break
    if broken and (piece := cut_text(cut_data)):
        message.texts = [*(message.texts or []), piece]
    return _end_of_stream(message, broken, fault, events, text, codec, ask, rules, transport_cut=transport_cut)


def _end_of_stream(
    message: Message, broken: str, fault: str, events: int, text: str, codec: _Codec, ask: Ask, rules: ReadRules,
    *, transport_cut: bool,
) -> Reading:  # fmt: skip
    after_stop = ("cut_after_stop_reason",) if message.stop else ()
    if fault and not (message.done and transport_cut and fault not in ("decode_cut", "decode_failed")):
        return _cut(fault, message, *after_stop)
    if not message.done:
        if not events and not message.text and not text.strip():
            return make_reading("error", "empty_body")
        if not events and not broken and codec.events is server_sent:
            return make_reading("error", "stream_cut" if is_server_sent(text) else "not_json")
        # OpenAI-compatible servers often leave the last mark out; their finish_reason is the provider's word
        # all the same.
        if message.stop and codec.feed is _openai.feed and not broken:
            return _flagged(read_message(message, codec.endings, ask, rules), "no_done_marker")
        if broken == "not_json" and not events:
            return make_reading("error", "not_json")
        return _cut("duplicate_key" if broken == "duplicate_key" else "stream_cut", message, *after_stop)
    if (
        codec.feed is _openai.feed
        and not message.stop
        and message.texts is None
        and not message.many
        and not message.tool
    ):
        return _cut("no_choices", message)
    reading = read_message(message, codec.endings, ask, rules)
    return _flagged(reading, "cut_after_stop_reason") if transport_cut else reading


def _flagged(reading: Reading, flag: str) -> Reading:
    return replace(reading, flags=(*reading.flags, flag))
