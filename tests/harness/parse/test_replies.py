"""Whole replies: what each envelope, status, coding, stream and cut amounts to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.parse import Protocol, Reading, ReadRules, Wire, read_fault, read_reply
from tests.harness.parse.wires import chunk, reply, sent, sse, zlibbed

DEFAULT = ReadRules.default()
PROTOCOLS: list[Protocol] = ["openai", "anthropic", "ollama"]


def read(wire: Wire, protocol: Protocol = "openai", *, stream: bool = False, ask: Any = "text") -> Reading:
    """The reading of a wire under the built-in rules."""
    return read_reply(wire, protocol=protocol, stream=stream, ask=ask, rules=DEFAULT)


def outcome(found: Reading) -> tuple[str, str]:
    """Status and reason."""
    return found.status, found.reason


def value(found: Reading) -> Any:
    """The value, decoded."""
    return None if found.value is None else json.loads(found.value)


def openai(stop: Any = "stop", **message: Any) -> Wire:
    """An OpenAI reply whose message has these fields."""
    choice = {"index": 0, "finish_reason": stop, "message": {"role": "assistant", **message}}
    return sent({"model": "m-1", "choices": [choice]})


def anthropic(stop: Any = "end_turn", *blocks: Any) -> Wire:
    """An Anthropic reply with these blocks."""
    return sent({"type": "message", "model": "m-1", "content": list(blocks), "stop_reason": stop})


def ollama(reason: Any = "stop", *, done: Any = True, **message: Any) -> Wire:
    """An Ollama reply whose message has these fields."""
    return sent({"model": "m-1", "message": {"role": "assistant", **message}, "done": done, "done_reason": reason})


TEXT = {"type": "text", "text": "hello"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
NO = {"type": "refusal", "refusal": "No."}
CALL = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
TOOL_CALLS = [{"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}]

MESSAGES: list[tuple[str, Protocol, Wire, str, str, Any]] = [
    ("plain", "openai", openai(content="hello"), "parsed", "", "hello"),
    ("parts", "openai", openai(content=[TEXT | {"text": "he"}, TEXT | {"text": "llo"}]), "parsed", "", "hello"),
    ("no text part", "openai", openai(content=[{"type": "image_url"}]), "empty", "no_text_block", None),
    ("no part", "openai", openai(content=[]), "empty", "no_text_block", None),
    ("null", "openai", openai(content=None), "empty", "null_content", None),
    ("no content field", "openai", openai(), "empty", "null_content", None),
    ("empty", "openai", openai(content=""), "empty", "empty_content", None),
    ("blank", "openai", openai(content=" \n"), "empty", "only_space", None),
    ("only thought", "openai", openai(content="", reasoning_content="hm"), "empty", "reasoning_only", None),
    ("thought, cut", "openai", openai("length", content=None, reasoning="hm"), "truncated", "inside_reasoning", None),
    ("nothing, cut", "openai", openai("length", content=""), "truncated", "stop_length", None),
    ("text, cut", "openai", openai("length", content="hel"), "truncated", "stop_length", "hel"),
    ("refusal", "openai", openai(content=None, refusal="No."), "refused", "refusal_field", "No."),
    ("refusal part", "openai", openai(content=[NO]), "refused", "refusal_field", "No."),
    ("refusal beside text", "openai", openai(content="x", refusal="No."), "refused", "refusal_field", "No."),
    ("empty refusal", "openai", openai(content="hello", refusal=""), "parsed", "", "hello"),
    ("filtered", "openai", openai("content_filter", content="hal"), "refused", "content_filter", None),
    ("called", "openai", openai("tool_calls", content=None, tool_calls=TOOL_CALLS), "wrong_shape", "tool_call", None),
    ("called, said stop", "openai", openai(content="x", tool_calls=TOOL_CALLS), "wrong_shape", "tool_call", None),
    ("no calls", "openai", openai(content="hello", tool_calls=[]), "parsed", "", "hello"),
    ("call, cut", "openai", openai("length", content=None, tool_calls=TOOL_CALLS), "truncated", "stop_length", None),
    ("no stop", "openai", openai(None, content="hello"), "error", "no_stop_reason", None),
    *[
        (f"the end as {word}", "openai", openai(word, content="hello"), "parsed", "", "hello")
        for word in ("eos", "eos_token", "stop_sequence", "end_turn", "STOP", "Stop")
    ],
    ("the limit in capitals", "openai", openai("MAX_TOKENS", content="hel"), "truncated", "stop_length", "hel"),
    ("the filter in capitals", "openai", openai("SAFETY", content="hello"), "refused", "content_filter", None),
    ("a pause passed on", "openai", openai("pause_turn", content="hello"), "incomplete", "pause_turn", None),
    ("strange stop", "openai", openai("abort", content="hello"), "error", "unknown_stop_reason", None),
    ("content is a number", "openai", openai(content=3), "error", "not_json", None),
    ("half a pair", "openai", openai(content="x\ud800"), "malformed", "lone_surrogate", None),
    ("no choices", "openai", sent({"choices": []}), "error", "no_choices", None),
    ("choices missing", "openai", sent({"id": "c"}), "error", "no_choices", None),
    ("another protocol's reply", "anthropic", sent(reply("openai")), "error", "not_json", None),
    ("another protocol's reply, too", "ollama", sent(reply("openai")), "error", "not_json", None),
    ("plain", "anthropic", anthropic("end_turn", TEXT), "parsed", "", "hello"),
    ("stop sequence", "anthropic", anthropic("stop_sequence", TEXT), "parsed", "", "hello"),
    ("thought and text", "anthropic", anthropic("end_turn", THOUGHT, TEXT), "parsed", "", "hello"),
    ("only thought", "anthropic", anthropic("end_turn", THOUGHT), "empty", "reasoning_only", None),
    ("redacted", "anthropic", anthropic("end_turn", {"type": "redacted_thinking"}), "empty", "reasoning_only", None),
    ("no block", "anthropic", anthropic(), "empty", "no_text_block", None),
    ("empty block", "anthropic", anthropic("end_turn", TEXT | {"text": ""}), "empty", "empty_content", None),
    ("thought, cut", "anthropic", anthropic("max_tokens", THOUGHT), "truncated", "inside_reasoning", None),
    ("text, cut", "anthropic", anthropic("max_tokens", TEXT), "truncated", "stop_length", "hello"),
    ("full", "anthropic", anthropic("model_context_window_exceeded", TEXT), "truncated", "stop_length", "hello"),
    ("refused", "anthropic", anthropic("refusal"), "refused", "stop_refusal", None),
    ("refused in words", "anthropic", anthropic("refusal", TEXT), "refused", "stop_refusal", "hello"),
    ("called", "anthropic", anthropic("tool_use", TEXT, CALL), "wrong_shape", "tool_call", None),
    ("paused", "anthropic", anthropic("pause_turn", TEXT), "incomplete", "pause_turn", None),
    ("no stop", "anthropic", anthropic(None, TEXT), "error", "no_stop_reason", None),
    ("strange stop", "anthropic", anthropic("compaction", TEXT), "error", "unknown_stop_reason", None),
    ("a block that is none", "anthropic", anthropic("end_turn", 3), "error", "not_json", None),
    ("plain", "ollama", ollama(content="hello"), "parsed", "", "hello"),
    ("thought and text", "ollama", ollama(content="hello", thinking="hm"), "parsed", "", "hello"),
    ("only thought", "ollama", ollama(content="", thinking="hm"), "empty", "reasoning_only", None),
    ("thought, cut", "ollama", ollama("length", content="", thinking="hm"), "truncated", "inside_reasoning", None),
    ("loaded", "ollama", ollama("load", content=""), "empty", "empty_content", None),
    ("loaded and spoke", "ollama", ollama("load", content="x"), "error", "unknown_stop_reason", None),
    ("not done", "ollama", ollama(None, done=False, content="hel"), "error", "not_done", None),
    ("no reason", "ollama", ollama(None, content="hello"), "error", "no_stop_reason", None),
    ("called", "ollama", ollama(content="", tool_calls=TOOL_CALLS), "wrong_shape", "tool_call", None),
    ("null", "ollama", ollama(content=None), "empty", "null_content", None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("protocol", "wire", "status", "reason", "expected"),
    [row[1:] for row in MESSAGES],
    ids=[f"{row[1]}: {row[0]}" for row in MESSAGES],
)
def test_a_message_amounts_to_one_outcome(
    protocol: Protocol, wire: Wire, status: str, reason: str, expected: Any
) -> None:
    found = read(wire, protocol)
    assert outcome(found) == (status, reason)
    assert value(found) == expected


ERRORS: list[tuple[int, Any, str, str, str]] = [
    (301, b"", "error", "redirect", "never"),
    (400, {"error": {"message": "temperature: must be at most 2"}}, "error", "bad_request", "never"),
    (400, {"error": {"message": "Your credit balance is too low to go on"}}, "error", "billing", "never"),
    (400, {"error": {"message": "no field named balance"}}, "error", "bad_request", "never"),
    (400, {"error": {"message": "m", "code": "context_length_exceeded"}}, "error", "context_length", "never"),
    (400, {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}, "error", "context_length", "never"),
    (400, {"error": {"message": "m", "code": "invalid_api_key"}}, "error", "auth", "never"),
    (400, {"error": {"message": "m", "code": "model_not_found"}}, "error", "model_missing", "never"),
    (400, {"error": {"message": "m", "code": "content_filter"}}, "refused", "content_filter", "never"),
    (400, b"<html>", "error", "bad_request", "never"),
    (401, b"", "error", "auth", "never"),
    (402, b"", "error", "billing", "never"),
    (403, {"error": {"message": "not for you"}}, "error", "forbidden", "never"),
    (403, {"error": {"message": "m", "code": "billing_not_active"}}, "error", "billing", "never"),
    (404, {"error": "model 'm' not found, try pulling it first"}, "error", "model_missing", "never"),
    (404, {"error": {"type": "not_found_error", "message": "model: m-9"}}, "error", "model_missing", "never"),
    (404, {"error": {"message": "The model `m-9` does not exist"}}, "error", "model_missing", "never"),
    (404, b"404 page not found", "error", "http_404", "never"),
    (405, b"", "error", "http_405", "never"),
    (408, b"", "error", "http_408", "backoff"),
    (413, b"", "error", "too_large", "never"),
    (422, {"detail": []}, "error", "bad_request", "never"),
    (429, {"error": {"message": "slow down"}}, "error", "rate_limit", "backoff"),
    (429, {"error": {"message": "m", "code": "insufficient_quota"}}, "error", "billing", "never"),
    (429, b"", "error", "rate_limit", "backoff"),
    (500, {"error": {"type": "api_error", "message": "m"}}, "error", "http_500", "backoff"),
    (500, {"error": {"type": "overloaded_error", "message": "m"}}, "error", "overloaded", "backoff"),
    (501, b"", "error", "http_501", "never"),
    (502, b"<html>", "error", "http_502", "backoff"),
    (504, b"", "error", "http_504", "backoff"),
    (529, b"", "error", "overloaded", "backoff"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "expected", "reason", "retry"), ERRORS)
def test_an_http_error_keeps_its_status_and_gets_its_name(
    status: int, body: Any, expected: str, reason: str, retry: str
) -> None:
    for protocol in PROTOCOLS:
        for stream in (False, True):
            found = read(sent(body, status), protocol, stream=stream)
            assert (*outcome(found), found.retry) == (expected, reason, retry)
            assert ("stop_run" in found.flags) == (reason in ("auth", "billing"))


def test_an_http_error_whose_body_is_cut_keeps_its_name() -> None:
    cut = Wire(502, (), b"<htm", whole=False, fault=("reply", "short_body"))
    assert outcome(read(cut)) == ("error", "http_502")


def test_a_404_of_the_replay_server_says_that_there_is_no_recording() -> None:
    found = read(sent({"error": {"message": "m"}}, 404, x_eval_ledger="no_recording"))
    assert (*outcome(found), found.stage, found.domain) == ("error", "no_recording", "harness", "harness")
    assert outcome(read(sent({"error": {"message": "m"}}, 404, x_eval_ledger="other"))) == ("error", "http_404")


@pytest.mark.parametrize(
    ("body", "reason", "retry", "flags"),
    [
        ({"error": "loading"}, "error_in_200", "backoff", []),
        ({"error": {"message": "m", "code": 429}}, "error_in_200", "backoff", ["inner_429"]),
        ({"error": {"message": "m", "code": "503"}}, "error_in_200", "backoff", ["inner_503"]),
        ({"error": {"message": "m", "code": 401}}, "error_in_200", "never", ["inner_401"]),
        ({"error": {"message": "m", "code": "insufficient_quota"}}, "billing", "never", ["stop_run"]),
        ({"object": "error", "message": "m", "code": 500}, "error_in_200", "backoff", ["inner_500"]),
        ({"error": True}, "error_in_200", "backoff", []),
    ],
)
def test_an_error_inside_a_200_is_an_error(body: Any, reason: str, retry: str, flags: list[str]) -> None:
    for stream in (False, True):
        found = read(sent(body), stream=stream)
        assert (*outcome(found), found.retry, list(found.flags)) == ("error", reason, retry, flags)


def test_an_error_field_that_says_nothing_is_no_error() -> None:
    for nothing in (None, "", {}, False):
        assert outcome(read(sent(reply("openai", error=nothing)))) == ("parsed", "")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty_body"),
        (b" \n\n", "empty_body"),
        (b"<html>sign in</html>", "not_json"),
        (b"[]", "not_json"),
        (b'"hello"', "not_json"),
        (b'{"choices":[]', "stream_cut"),
        (b'{"choices":[]]', "not_json"),
        (b'{"choices":[],"usage":NaN}', "not_json"),
        (b'{"choices":[{"index":0}],"choices":[]}', "duplicate_key"),
        (b'{"id":"\xe9"}', "invalid_utf8"),
        (b"\xff\xfe{\x00}\x00", "invalid_utf8"),
        (b'{"a":' * 2000, "not_json"),
    ],
)
def test_a_body_that_is_no_envelope_says_why(body: bytes, reason: str) -> None:
    found = read(sent(body))
    assert (*outcome(found), found.stage) == ("error", reason, "reply")


def test_blanks_and_a_byte_order_mark_ahead_of_the_envelope_are_passed_over() -> None:
    body = json.dumps(reply("openai")).encode()
    assert value(read(sent(b"\n\n  " + body))) == "hello"
    assert value(read(sent(b"\xef\xbb\xbf" + body))) == "hello"


def test_what_the_envelope_says_beside_the_text_is_kept() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 2}, "cost": 0.1, "ok": True}
    found = read(sent(reply("openai", "<think>a</think>b", usage=usage)))
    assert (found.model, found.stop, found.reasoning) == ("m-1", "stop", "<think>a</think>")
    assert found.usage == {"prompt_tokens": 5, "completion_tokens_details.reasoning_tokens": 2}
    assert found.text == "<think>a</think>b"


def test_a_budget_that_went_into_hidden_reasoning_is_seen_by_its_count() -> None:
    usage = {"completion_tokens_details": {"reasoning_tokens": 64}}
    body = reply("openai", "", usage=usage)
    body["choices"][0]["finish_reason"] = "length"
    assert outcome(read(sent(body))) == ("truncated", "inside_reasoning")


def test_more_than_one_choice_is_ambiguous_even_when_they_agree() -> None:
    body = reply("openai")
    body["choices"] *= 2
    assert outcome(read(sent(body))) == ("ambiguous", "many_choices")


# Codings.


@pytest.mark.parametrize(
    ("coding", "window"), [("gzip", 31), ("x-gzip", 31), ("GZIP", 31), ("deflate", 15), ("deflate", -15)]
)
def test_a_coded_body_is_read_and_a_cut_one_is_not(coding: str, window: int) -> None:
    body = zlibbed(json.dumps(reply("openai")).encode(), window)
    assert value(read(sent(body, content_encoding=coding))) == "hello"
    for lost in (1, 4, 8, len(body) // 2, len(body) - 3):
        found = read(sent(body[:-lost], content_encoding=coding))
        assert (*outcome(found), found.retry) == ("error", "decode_cut", "backoff")


def test_a_brotli_body_is_read_and_a_cut_or_broken_one_is_not() -> None:
    import brotli  # pyright: ignore[reportMissingTypeStubs]

    body: bytes = brotli.compress(json.dumps(reply("openai")).encode())
    assert value(read(sent(body, content_encoding="br"))) == "hello"
    assert outcome(read(sent(body[:-3], content_encoding="br"))) == ("error", "decode_cut")
    assert outcome(read(sent(b"\xff" * 20, content_encoding="br"))) == ("error", "decode_failed")


def test_two_codings_are_undone_in_turn_and_two_members_are_one_body() -> None:
    body = json.dumps(reply("openai")).encode()
    assert value(read(sent(zlibbed(zlibbed(body, 15), 31), content_encoding="deflate, gzip"))) == "hello"
    assert value(read(sent(zlibbed(body[:20], 31) + zlibbed(body[20:], 31), content_encoding="gzip"))) == "hello"


def test_a_wrong_checksum_another_coding_and_bytes_after_the_end_are_failures() -> None:
    body = zlibbed(json.dumps(reply("openai")).encode(), 31)
    wrong = body[:-8] + bytes([body[-8] ^ 1]) + body[-7:]
    for data, coding in ((wrong, "gzip"), (body, "zstd"), (body, "br"), (b"{}", "gzip"), (body + b"tail", "gzip")):
        assert outcome(read(sent(data, content_encoding=coding))) == ("error", "decode_failed")
    assert value(read(sent(json.dumps(reply("openai")).encode(), content_encoding="identity"))) == "hello"


def test_a_body_that_unpacks_without_measure_is_refused() -> None:
    bomb = zlibbed(b" " * (65 * 1024 * 1024), 31)
    assert outcome(read(sent(bomb, content_encoding="gzip"))) == ("error", "decode_failed")


def test_the_charset_of_a_header_changes_nothing() -> None:
    wire = sent(
        json.dumps(reply("openai", "it\u2019s"), ensure_ascii=False).encode(), content_type="x; charset=latin-1"
    )
    assert value(read(wire)) == "it\u2019s"


# Streams.


def anthropic_stream(*deltas: str, stop: str | None = "end_turn", mark: bool = True) -> bytes:
    """An Anthropic stream with these text deltas."""
    events: list[Any] = [
        {"type": "message_start", "message": {"model": "m-1", "content": [], "usage": {"input_tokens": 3}}},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *[{"type": "content_block_delta", "delta": {"type": "text_delta", "text": part}} for part in deltas],
        {"type": "content_block_stop", "index": 0},
    ]  # fmt: skip
    if stop:
        events.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 2}})
    if mark:
        events.append({"type": "message_stop"})
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def ollama_stream(*parts: str, done: bool = True, reason: str = "stop") -> bytes:
    """An Ollama stream with these parts."""
    lines: list[Any] = [{"model": "m-1", "message": {"content": part}, "done": False} for part in parts]
    if done:
        lines.append({"model": "m-1", "message": {"content": ""}, "done": True, "done_reason": reason, "eval_count": 2})
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


WHOLE: dict[Protocol, bytes] = {
    "openai": sse(chunk("hel"), chunk("lo"), chunk(stop="stop")),
    "anthropic": anthropic_stream("hel", "lo"),
    "ollama": ollama_stream("hel", "lo"),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stream_is_whole_at_its_end_mark_and_only_there(protocol: Protocol) -> None:
    body = WHOLE[protocol]
    found = read(sent(body), protocol, stream=True)
    assert (*outcome(found), value(found), found.model, found.flags) == ("parsed", "", "hello", "m-1", ())
    unmarked = {"openai": 28, "anthropic": 3, "ollama": 2}[protocol]
    for length in range(1, len(body) - unmarked - 1):
        cut = read(sent(body[:length]), protocol, stream=True)
        if "no_done_marker" not in cut.flags:
            assert cut.status == "error", body[:length]
            assert cut.value is None
    assert value(read(sent(body.rstrip()), protocol, stream=True)) == "hello"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stream_that_the_connection_cut_is_the_connection_s_fault(protocol: Protocol) -> None:
    body = WHOLE[protocol]
    half = body[: body.index(b'"lo"') - 1]
    found = read(Wire(200, (), half, whole=False, fault=("transport", "timeout")), protocol, stream=True)
    assert (*outcome(found), found.stage, found.retry) == ("error", "timeout", "transport", "backoff")
    assert (found.flags, found.text, found.value) == (("partial_text",), "hel", None)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stream_cut_after_its_end_mark_is_whole_and_says_so(protocol: Protocol) -> None:
    wire = Wire(200, (), WHOLE[protocol], whole=False, fault=("transport", "connection_reset"))
    found = read(wire, protocol, stream=True)
    assert (*outcome(found), value(found), found.flags) == ("parsed", "", "hello", ("cut_after_stop_reason",))


def test_a_stop_reason_without_an_end_mark() -> None:
    found = read(sent(sse(chunk("hello"), chunk(stop="stop"), done=False)), stream=True)
    assert (*outcome(found), value(found), found.flags) == ("parsed", "", "hello", ("no_done_marker",))
    found = read(sent(anthropic_stream("hello", mark=False)), "anthropic", stream=True)
    assert (*outcome(found), found.flags) == ("error", "stream_cut", ("partial_text", "cut_after_stop_reason"))
    cut = Wire(
        200, (), sse(chunk("hello"), chunk(stop="stop"), done=False), whole=False, fault=("transport", "timeout")
    )
    found = read(cut, stream=True)
    assert (*outcome(found), found.flags) == ("error", "timeout", ("partial_text", "cut_after_stop_reason"))


def test_an_end_mark_without_a_stop_reason_is_no_end() -> None:
    assert outcome(read(sent(sse(chunk("hello"))), stream=True)) == ("error", "no_stop_reason")
    assert outcome(read(sent(anthropic_stream("x", stop=None)), "anthropic", stream=True)) == (
        "error",
        "no_stop_reason",
    )
    assert outcome(read(sent(sse()), stream=True)) == ("error", "no_choices")


def test_a_stream_stops_as_a_message_does() -> None:
    assert outcome(read(sent(sse(chunk('{"a":'), chunk(stop="length"))), stream=True)) == ("truncated", "stop_length")
    found = read(sent(sse(chunk(refusal="N"), chunk(refusal="o."), chunk(stop="stop"))), stream=True)
    assert (*outcome(found), value(found)) == ("refused", "refusal_field", "No.")
    called = sse(chunk(tool_calls=TOOL_CALLS), chunk(stop="tool_calls"))
    assert outcome(read(sent(called), stream=True)) == ("wrong_shape", "tool_call")
    thought = sse(chunk(reasoning_content="hm"), chunk("hello"), chunk(stop="stop"))
    found = read(sent(thought), stream=True)
    assert (value(found), found.reasoning) == ("hello", "hm")
    many = chunk("x") | {"choices": [{"index": 1, "delta": {"content": "x"}, "finish_reason": "stop"}]}
    assert outcome(read(sent(sse(chunk("x", "stop"), many)), stream=True)) == ("ambiguous", "many_choices")
    paused = anthropic_stream("x", stop="pause_turn")
    assert outcome(read(sent(paused), "anthropic", stream=True)) == ("incomplete", "pause_turn")


def test_an_error_in_a_stream_is_an_error_and_its_text_partial() -> None:
    overloaded = anthropic_stream("hel", stop=None, mark=False) + (
        b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"m"}}\n\n'
    )
    found = read(sent(overloaded), "anthropic", stream=True)
    assert (*outcome(found), found.flags, found.text) == ("error", "overloaded", ("partial_text",), "hel")
    found = read(sent(sse(chunk("hel"), {"error": {"message": "m", "code": 502}}, done=False)), stream=True)
    assert (*outcome(found), found.flags) == ("error", "error_in_200", ("partial_text", "inner_502"))
    found = read(sent(ollama_stream("hel", done=False) + b'{"error":"gone"}'), "ollama", stream=True)
    assert (*outcome(found), found.flags) == ("error", "error_in_200", ("partial_text",))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty_body"),
        (b"<html></html>", "not_json"),
        (b": keep-alive\n\n: keep-alive\n\n", "stream_cut"),
        (b"data: not json\n\ndata: [DONE]\n\n", "not_json"),
        (b'data: {"choices":[],"choices":[]}\n\ndata: [DONE]\n\n', "duplicate_key"),
        (b"data: \xff\n\n", "invalid_utf8"),
    ],
)
def test_a_body_that_is_no_stream_says_why(body: bytes, reason: str) -> None:
    assert outcome(read(sent(body), stream=True)) == ("error", reason)


def test_lines_of_a_stream_end_as_the_standard_says() -> None:
    body = WHOLE["openai"]
    for line_end in (b"\r\n", b"\r"):
        assert value(read(sent(body.replace(b"\n", line_end)), stream=True)) == "hello"
    assert value(read(sent(b"\xef\xbb\xbf: hello\n\n" + body), stream=True)) == "hello"
    odd = sse(chunk("a\u2028b\u0085c"), chunk(stop="stop"))
    assert value(read(sent(odd), stream=True)) == "a\u2028b\u0085c"
    split = b'data: {"choices":[{"index":0,\ndata: "delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata:[DONE]'
    assert value(read(sent(split), stream=True)) == "x"


def test_a_server_that_does_not_stream_is_read_all_the_same() -> None:
    for protocol in PROTOCOLS:
        assert value(read(sent(reply(protocol)), protocol, stream=True)) == "hello"


def test_a_coded_stream_that_is_cut_keeps_its_text_as_partial() -> None:
    body = zlibbed(WHOLE["openai"], 31)
    assert value(read(sent(body, content_encoding="gzip"), stream=True)) == "hello"
    found = read(sent(body[:-6], content_encoding="gzip"), stream=True)
    assert (*outcome(found), found.flags) == ("error", "decode_cut", ("partial_text", "cut_after_stop_reason"))


# Cuts and faults.


def test_a_short_body_is_no_reply_even_where_its_json_is_whole() -> None:
    body = json.dumps(reply("openai")).encode()
    found = read(Wire(200, (), body, whole=False, fault=("reply", "short_body")))
    assert (*outcome(found), found.retry) == ("error", "short_body", "backoff")
    assert outcome(read(Wire(200, (), body, whole=False))) == ("error", "short_body")


PASSING = ["dns", "connect_refused", "connection_reset", "tls_cut", "timeout", "protocol", "command_failed"]
LASTING = ["tls", "proxy_refused", "command_missing"]


@pytest.mark.parametrize("name", PASSING + LASTING)
def test_a_fault_without_a_response_is_its_own_reading(name: str) -> None:
    found = read_fault("transport", name)
    retry = "backoff" if name in PASSING else "never"
    assert (*outcome(found), found.stage, found.retry) == ("error", name, "transport", retry)


def test_what_was_never_asked_or_never_answered_has_a_status_of_its_own() -> None:
    for name in ("not_asked", "fate_unknown"):
        found = read_fault("harness", name)
        assert (*outcome(found), found.domain) == (name, name, "harness")
    for name in ("sandbox", "internal", "no_recording", "a name that nobody knows"):
        assert read_fault("harness", name).stage == "harness"


def test_byte_order_marks_ahead_of_a_text_are_no_part_of_it_however_many_there_are() -> None:
    assert value(read(openai(content="\ufeff\ufeffhello"), "openai")) == "hello"
    assert outcome(read(openai(content="\ufeff\ufeff"), "openai")) == ("empty", "only_space")
