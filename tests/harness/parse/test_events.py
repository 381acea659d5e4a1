"""A stream's event without data is nothing: whatever relays send to keep a connection alive, the answer is the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.parse import Protocol, Reading, ReadRules, Wire, read_reply
from harness.parse._events import server_sent
from tests.harness.parse.wires import chunk, reply, sent


def read(body: bytes, protocol: Protocol = "openai", **headers: str) -> Reading:
    return read_reply(
        sent(body, **headers), protocol=protocol, stream=True, ask="text", rules=ReadRules.default()
    )  # fmt: skip


def anthropic_events(*deltas: str) -> list[dict[str, Any]]:
    return [
        {"type": "message_start", "message": {"model": "m-1", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *[{"type": "content_block_delta", "delta": {"type": "text_delta", "text": part}} for part in deltas],
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]


OPENAI = [f"data: {json.dumps(each)}" for each in (chunk("bl"), chunk("ue"), chunk(stop="stop"))] + ["data: [DONE]"]
ANTHROPIC = [f"event: {each['type']}\ndata: {json.dumps(each)}" for each in anthropic_events("bl", "ue")]
EVENTS: dict[Protocol, list[str]] = {"openai": OPENAI, "anthropic": ANTHROPIC}

NOTHING = [
    "data:", "data: ", "data:  \t ", "data", "data:\ndata:", "data: \ndata: ", ":", ": ping", ":ping\n: pong",
    "event: ping", "event:", "event", "event: error", "id: 7", "id", "retry: 3000", "id: 7\nretry: 10\nevent: ping",
    "event: ping\ndata:", "foo: bar", "foo", "Data: {}", " data: {}", "data : {}", "x-data: {\"error\": \"no\"}",
    ": {\"error\": \"no\"}", "event: ping\nid: 1\ndata: ", "", "data: : ping", "data: : RELAY PROCESSING", "data: \"\"",
    "event: ping\ndata: ping", "event: ping\ndata: 2026-11-30", "event: Keep-Alive\ndata: keep-alive",
    "event: pong\ndata: 1", "event: heartbeat\ndata: null", "event: keepalive\ndata: {}",
    "event: ping\ndata: {\"type\": \"ping\"}",
]  # fmt: skip
ENDS = ["\n", "\r\n", "\r"]


@pytest.mark.parametrize("nothing", NOTHING)
@pytest.mark.parametrize("end", ENDS, ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("protocol", EVENTS)
def test_an_event_without_data_says_nothing_wherever_it_stands(protocol: Protocol, nothing: str, end: str) -> None:
    events = EVENTS[protocol]
    for at in range(len(events) + 1):
        text = "\n\n".join([*events[:at], nothing, *events[at:], ""])
        found = read(text.replace("\n", end).encode(), protocol)
        assert (found.status, found.reason, found.value, found.flags) == ("parsed", "", '"blue"', ()), (at, text)


@given(
    protocol=st.sampled_from(list(EVENTS)), end=st.sampled_from(ENDS), bom=st.booleans(), whole=st.booleans(),
    between=st.lists(st.lists(st.sampled_from(NOTHING), max_size=3), min_size=6, max_size=6),
)  # fmt: skip
def test_any_number_of_them_changes_no_reading(
    protocol: Protocol, end: str, bom: bool, whole: bool, between: list[list[str]]
) -> None:
    events = EVENTS[protocol]
    blocks = [block for event, more in zip(events, between, strict=False) for block in (*more, event)]
    text = "\n\n".join(blocks) + ("\n\n" if whole else "")
    found = read((("\ufeff" if bom else "") + text.replace("\n", end)).encode(), protocol)
    assert (found.status, found.value) == ("parsed", '"blue"')


@pytest.mark.parametrize(
    "last", ["data:[DONE]", "data: [DONE] ", "data:  [DONE]\n", "data: [DONE]\r\n\r\n", "data: [DONE]\n\nx"]
)
def test_the_end_mark_is_one_with_or_without_blanks_and_a_last_blank_line(last: str) -> None:
    found = read(("\n\n".join(OPENAI[:-1]) + "\n\n" + last).encode())
    assert (found.status, found.value, found.flags) == ("parsed", '"blue"', ())


def test_several_data_lines_are_one_event_joined_by_line_feeds() -> None:
    pretty = json.dumps(chunk("blue", "stop"), indent=1).replace("\n", "\ndata: ")
    assert read(f"data: {pretty}\n\ndata: [DONE]\n\n".encode()).value == '"blue"'
    assert read(f"data:\ndata: {pretty}\ndata:\n\ndata: [DONE]".encode()).value == '"blue"'
    assert [each.data for each in server_sent("data: a\ndata:\ndata:  b\n\n")] == ["a\n\n b"]


def test_data_that_is_no_json_is_still_broken_and_so_is_what_only_looks_blank() -> None:
    for wrong in ("data: x", "data: \u00a0", "data: \u2003", "data: {", "data: null"):
        body = "\n\n".join([OPENAI[0], wrong, *OPENAI[1:], ""])
        assert (read(body.encode()).status, read(body.encode()).reason) == ("error", "not_json"), wrong


def test_an_event_that_keeps_a_connection_alive_hides_no_error() -> None:
    for event in ('event: ping\ndata: {"error": {"message": "gone", "code": 503}}', "event: error\ndata: : gone"):
        found = read("\n\n".join([OPENAI[0], event, *OPENAI[1:], ""]).encode())
        assert (found.status, found.reason, found.retry) == ("error", "error_in_200", "backoff")


@pytest.mark.parametrize("end", ENDS, ids=["LF", "CRLF", "CR"])
def test_a_piece_that_stands_outside_of_any_field_is_no_answer_without_it(end: str) -> None:
    """llama.cpp once sent chunks without `data:`; passed over, the text would be short of them and look whole."""
    for lost in range(2):
        bare = [each.removeprefix("data: ") if at == lost else each for at, each in enumerate(OPENAI)]
        # The first piece alone makes the body begin as JSON does, which no stream does.
        text = ": a stream\n\n" + "\n\n".join([*bare, ""])
        found = read(text.replace("\n", end).encode())
        assert (found.status, found.reason, found.value) == ("error", "not_json", None)
        assert found.text == (None if lost == 0 else "bl")


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("protocol", EVENTS)
def test_an_error_that_a_server_wrote_bare_into_its_stream_is_that_error(
    protocol: Protocol, indent: int | None
) -> None:
    for code, retry in ((503, "backoff"), (400, "never")):
        error = json.dumps({"error": {"message": "gone", "code": code}}, indent=indent)
        for tail in ("", "\n", "\n\n"):
            found = read(("\n\n".join([*EVENTS[protocol][:3], error]) + tail).encode(), protocol)
            assert (found.status, found.reason, found.retry) == ("error", "error_in_200", retry)
            assert {f"inner_{code}", "partial_text"} <= {*found.flags}


def test_a_bare_piece_that_the_body_s_end_cuts_is_a_cut_stream() -> None:
    found = read(("\n\n".join([OPENAI[0], '{"choices":[{"index":0,"delta":{"content":"ue'])).encode())
    assert (found.status, found.reason, found.text, found.flags) == ("error", "stream_cut", "blue", ("partial_text",))


@pytest.mark.parametrize("mark", ['"[DONE]"', "[done]", "[Done]"])
def test_the_end_mark_may_be_quoted_or_small(mark: str) -> None:
    found = read(("\n\n".join([*OPENAI[:-1], f"data: {mark}"])).encode())
    assert (found.status, found.value, found.flags) == ("parsed", '"blue"', ())


def test_a_stream_that_nobody_asked_for_is_read_as_one_where_it_says_so() -> None:
    def unasked(body: str, media: str) -> Reading:
        wire = sent(body.encode(), content_type=media)
        return read_reply(wire, protocol="openai", stream=False, ask="text", rules=ReadRules.default())

    text = "\n\n".join([*OPENAI, ""])
    assert unasked(text, "text/event-stream; charset=utf-8").value == '"blue"'
    assert unasked(text, "application/json").reason == "not_json"
    assert unasked("\n\n".join(OPENAI[:2]), "text/event-stream").reason == "stream_cut"
    assert unasked(json.dumps(reply("openai", "blue")), "text/event-stream").value == '"blue"'


def test_a_whole_message_as_an_event_is_the_answer_where_no_delta_came() -> None:
    whole = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "blue"}, "finish_reason": "stop"}]}
    for before in ([], OPENAI[:2]):
        found = read(("\n\n".join([*before, f"data: {json.dumps(whole)}", "data: [DONE]"])).encode())
        assert (found.status, found.value, found.flags) == ("parsed", '"blue"', ())


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("data:\n\n", "stream_cut"),
        (": ping\n\n: ping\n\n", "stream_cut"),
        ("event: ping\n\n", "stream_cut"),
        ("\n\nid: 1\n\n", "stream_cut"),
        ("data", "stream_cut"),
        ("retry: 10\r\n\r\n", "stream_cut"),
        ("datastore offline", "not_json"),
        ("upstream: gone", "not_json"),
        ("<html>a: b</html>", "not_json"),
        ("\n\n", "empty_body"),
    ],
)
def test_a_stream_of_nothing_was_cut_and_what_is_no_stream_is_no_json(body: str, reason: str) -> None:
    for protocol in EVENTS:
        found = read(body.encode(), protocol)
        assert (found.status, found.reason) == ("error", reason)


def test_a_stream_with_a_field_that_nobody_knows_ahead_is_a_stream() -> None:
    assert read(("via: relay\n\n" + "\n\n".join(OPENAI)).encode()).value == '"blue"'


@pytest.mark.parametrize("protocol", EVENTS)
def test_an_event_that_is_called_error_is_one_whatever_its_data_is(protocol: Protocol) -> None:
    first = "\n\n".join(EVENTS[protocol][:3])
    for data, retry in (
        ('{"message": "slow down", "code": 429}', "backoff"),
        ('{"message": "bad field", "code": 400}', "never"),
        ('{"error": {"message": "gone", "code": 503}}', "backoff"),
        ("upstream gone", "backoff"),
        ('"upstream gone"', "backoff"),
    ):
        found = read(f"{first}\n\nevent: error\ndata: {data}\n\n".encode(), protocol)
        assert (found.status, found.reason, found.retry) == ("error", "error_in_200", retry), data
        assert (found.text, found.value) == ("blue" if protocol == "openai" else "bl", None)
        assert "partial_text" in found.flags


LINES = [
    json.dumps({"model": "m-1", "message": {"content": "bl"}, "done": False}),
    json.dumps({"model": "m-1", "message": {"content": "ue"}, "done": False}),
    json.dumps({"model": "m-1", "message": {"content": ""}, "done": True, "done_reason": "stop"}),
]


@given(st.lists(st.sampled_from(["", " ", "\t", "\r", " \r"]), min_size=3, max_size=9), st.booleans())
def test_blank_lines_between_ollama_s_lines_say_nothing(blank: list[str], bom: bool) -> None:
    text = "\n".join([*blank[:1], LINES[0], *blank[1:2], LINES[1], "\r", LINES[2], *blank[2:]])
    found = read((("\ufeff" if bom else "") + text).encode(), "ollama")
    assert (found.status, found.value) == ("parsed", '"blue"')


def test_an_error_that_ollama_wrote_over_several_lines_is_an_error() -> None:
    found = read(json.dumps({"error": "the model is not loaded"}, indent=2).encode(), "ollama")
    assert (found.status, found.reason) == ("error", "error_in_200")


def test_what_no_chunk_of_a_stream_says_is_kept_of_a_cut_one() -> None:
    half = "\n\n".join([OPENAI[0], "data:", ": ping", 'data: {"choices":[{"index":0,"delta":{"content":"ue'])
    wire = Wire(200, (), half.encode(), whole=False, fault=("reply", "stream_cut"))
    found = read_reply(wire, protocol="openai", stream=True, ask="text", rules=ReadRules.default())
    assert (found.status, found.reason, found.text) == ("error", "stream_cut", "blue")
