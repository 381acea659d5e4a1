"""What holds for every input, not only for those that somebody thought of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from harness._outcomes import is_flag, reason
from harness.parse import Ask, Protocol, Reading, ReadRules, Stop, Wire, read_reply, read_text
from harness.parse._json import load
from harness.parse._scan import Broken, Value, scan
from tests.harness.parse.wires import zlibbed

# How long one example takes says more about the machine's other work than about the reader.
often = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
DEFAULT = ReadRules.default()
ASKS: list[Ask] = ["object", "array", "jsonl", "python", "text"]
STOPS: list[Stop] = ["end", "length", "none"]
PROTOCOLS: list[Protocol] = ["openai", "anthropic", "ollama"]
SWITCHES = [
    "fence", "unclosed_fence", "prose", "reasoning", "bom", "list_not_object", "tool_call_like", "trailing_comma",
    "comment", "single_quotes", "python_literal", "raw_control_char",
]  # fmt: skip
PIECES = [
    *'{}[]"\':,\\ \t\n-1#', "\r\n", "\\u", "d800", "```", "```json\n", "~~~", "<think>", "</think>", "null", "true",
    "True", "NaN", "1e999", "...", "//", "/*", "*/", "\x1b[K", "\x1b[2J", "\x00", "\ufeff", "\u2028", "é", "\U0001f600",
    "\u201c", "\u00a0", '{"a":1}', '{"a":2}', "[1]", '[{"a":1}]', '{"name":"f","arguments":{}}', "I cannot",
    "def f():\n",
    "    return 1\n",
]  # fmt: skip

rules_of_any_kind = st.builds(
    lambda on, terminal: ReadRules.from_table({**dict.fromkeys(on, True), "terminal": terminal}),
    st.sets(st.sampled_from(SWITCHES)),
    st.sampled_from(["refuse", "render"]),
)
rules = st.one_of(st.sampled_from([DEFAULT, ReadRules.strict()]), rules_of_any_kind)
near_json = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)
texts = st.one_of(near_json, st.text(max_size=60).filter(lambda text: _has_bytes(text)))
characters = st.characters(exclude_categories=["Cs"])
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
    st.text(characters, max_size=12), st.sampled_from(["```", "</think>", "<think>", "{", "}]", '"']),
)  # fmt: skip
keys = st.text(characters, max_size=6)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)),
    max_leaves=12,
)
objects = st.dictionaries(keys, values, max_size=4)
json_texts = st.builds(
    lambda value, ascii_only, indent: json.dumps(value, ensure_ascii=ascii_only, indent=indent),
    objects, st.booleans(), st.sampled_from([None, 1]),
)  # fmt: skip
words = st.sampled_from(["", "Here it is:\n", "<think>so</think>\n", "As [1] says: ", "```json\n", "```\nnotes\n```\n"])


def _has_bytes(text: str) -> bool:
    return not any("\ud800" <= mark <= "\udfff" for mark in text)


def check_shape(found: Reading) -> None:
    """What holds for every reading."""
    known = reason(found.status, found.reason)
    assert (found.stage, found.domain) == (known.stage, known.domain)
    assert all(is_flag(flag) for flag in found.flags)
    if found.value is not None:
        json.loads(found.value)
    if found.text is not None:
        size = len(found.text.encode())
        assert all(0 <= start < end <= size for start, end in found.span)
    assert (found.status == "parsed") <= (found.value is not None)


@often
@given(st.binary(max_size=80), st.sampled_from(ASKS), st.sampled_from(STOPS), rules)
def test_no_bytes_make_the_reader_raise(data: bytes, ask: Ask, stop: Stop, rule: ReadRules) -> None:
    check_shape(read_text(data, ask=ask, stop=stop, rules=rule))


@often
@given(texts, st.sampled_from(ASKS), st.sampled_from(STOPS), rules)
def test_no_text_makes_the_reader_raise(text: str, ask: Ask, stop: Stop, rule: ReadRules) -> None:
    check_shape(read_text(text.encode(), ask=ask, stop=stop, rules=rule))


@often
@given(
    st.one_of(texts, st.builds(lambda *parts: "".join(parts), words, json_texts, words)), st.sampled_from(ASKS), rules
)
def test_what_is_parsed_reads_again_to_the_same_value_from_its_span(text: str, ask: Ask, rule: ReadRules) -> None:
    found = read_text(text.encode(), ask=ask, stop="end", rules=rule)
    assume(found.status == "parsed")
    assert found.text is not None
    for start, end in found.span:
        again = read_text(found.text.encode()[start:end], ask=ask, stop="end", rules=rule)
        assert again.status == "parsed"
        assert again.value is not None and found.value is not None
        assert canonical(again.value) == canonical(found.value)


def canonical(text: str) -> str:
    """JSON text up to key order and white space, numbers as written."""
    return json.dumps(json.loads(text, parse_float=lambda number: f"float {number}"), sort_keys=True)


@often
@given(json_texts, words, st.sampled_from(["", "\nDone.", "\n```", "\n```\nSee [2]."]))
def test_an_object_comes_back_character_for_character(sent: str, before: str, after: str) -> None:
    assume(("```json" in before) == ("```" in after))
    found = read_text((before + sent + after).encode(), ask="object", stop="end", rules=DEFAULT)
    assume(found.reason != "tool_call_like")
    assert (found.status, found.value) == ("parsed", sent)
    ((start, end),) = found.span
    assert (before + sent + after).encode()[start:end].decode() == sent


@often
@given(
    json_texts,
    st.sampled_from(["```json\n{}\n```", "~~~\n{}\n~~~", "\n````\n{}\n````\n", "```\r\n{}\r\n```", "```json {}\n```",
                     '```json title="a.json" 3\n{}\n```', "\n~~~123\r\n{}\r\n~~~", "``` {.json #out}\n{}\n```"]),
)  # fmt: skip
def test_a_fence_around_a_parsed_answer_changes_nothing(sent: str, fence: str) -> None:
    for rule in (DEFAULT, ReadRules(fence=True)):
        bare = read_text(sent.encode(), ask="object", stop="end", rules=rule)
        fenced = read_text(fence.replace("{}", sent).encode(), ask="object", stop="end", rules=rule)
        assert (fenced.status, fenced.reason, fenced.value, fenced.flags) == (
            bare.status, bare.reason, bare.value, bare.flags,
        )  # fmt: skip


@pytest.mark.parametrize("text", ["```[1,\n[]\n```", '```json {"a":\n{}\n```', "```json x [\n{}\n```"])
def test_a_value_that_begins_on_the_fence_line_keeps_its_head(text: str) -> None:
    rule = ReadRules(fence=True, unclosed_fence=True, list_not_object=True)
    assert read_text(text.encode(), ask="object", stop="end", rules=rule).status == "malformed"


@often
@given(json_texts, words, st.data())
def test_cutting_an_answer_anywhere_never_yields_another_value(sent: str, before: str, data: st.DataObject) -> None:
    whole = before + sent
    uncut = read_text(whole.encode(), ask="object", stop="end", rules=DEFAULT)
    assume(uncut.status == "parsed")
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    part = whole[start:end]
    for stop in STOPS:
        found = read_text(part.encode(), ask="object", stop=stop, rules=DEFAULT)
        if found.status == "parsed" and start <= len(before):
            assert found.value == sent
        elif found.status == "parsed":
            # Cut on both sides: nobody can tell a part from a whole. Cut on one side, it is told.
            assert end < len(whole)


@often
@given(objects, objects)
def test_two_values_that_differ_are_never_one_answer(first: Any, second: Any) -> None:
    one, other = json.dumps(first), json.dumps(second)
    assume(canonical(one) != canonical(other))
    found = read_text(f"{one}\n{other}".encode(), ask="object", stop="end", rules=DEFAULT)
    assert (found.status, found.reason) == ("ambiguous", "two_candidates")
    assert [f"{one}\n{other}"[start:end] for start, end in found.span] == [one, other]


@often
@given(st.one_of(near_json, json_texts, json_texts.map(lambda text: text.replace('"', "'", 1))))
def test_the_fast_reader_and_the_walk_agree(text: str) -> None:
    text = text.strip(" \t\r\n")
    assume(text[:1] in ("{", "["))
    walked = scan(text, 0, len(text))
    good = load(text)[0]
    assert good == (isinstance(walked, Value) and walked.end == len(text))
    if isinstance(walked, Broken):
        assert 0 < walked.at <= len(text)


@often
@given(st.data(), st.sampled_from(PROTOCOLS), st.booleans(), st.sampled_from(ASKS), rules)
def test_no_reply_makes_the_reader_raise(
    data: st.DataObject, protocol: Protocol, stream: bool, ask: Ask, rule: ReadRules
) -> None:
    body = data.draw(st.one_of(st.binary(max_size=60), envelopes(), envelopes().map(lambda sent: zlibbed(sent, 31))))
    cut = data.draw(st.integers(0, len(body)))
    wire = Wire(
        data.draw(st.sampled_from([200, 200, 200, 204, 301, 400, 401, 404, 429, 500, 529, 999, 0])),
        tuple(data.draw(st.lists(headers, max_size=3))),
        data.draw(st.sampled_from([body, body[:cut]])),
        whole=data.draw(st.booleans()),
        fault=data.draw(st.sampled_from([None, ("transport", "timeout"), ("reply", "short_body"), ("odd", "odder")])),
    )
    check_shape(read_reply(wire, protocol=protocol, stream=stream, ask=ask, rules=rule))


headers = st.tuples(
    st.sampled_from(["Content-Encoding", "Retry-After", "Date", "retry-after-ms", "x-eval-ledger"]),
    st.sampled_from([
        "gzip", "br", "deflate", "zstd", "7", "1e9", "soon", "Sun, 06 Nov 1994 08:49:37 GMT", "9" * 5000,
        "no_recording", "",
    ]),
)  # fmt: skip


def envelopes() -> st.SearchStrategy[bytes]:
    """Bodies that have the protocols' fields, with anything in them."""
    odd = st.one_of(
        leaves, st.sampled_from(["stop", "end_turn", "length", "[DONE]"]), st.lists(leaves, max_size=2),
        st.dictionaries(st.sampled_from(["type", "text", "content", "message", "delta", "code"]), leaves, max_size=3),
    )  # fmt: skip
    names = st.sampled_from([
        "choices", "message", "content", "error", "done", "done_reason", "stop_reason", "usage", "type", "delta",
        "index", "finish_reason", "model", "refusal", "tool_calls", "thinking", "content_block",
    ])  # fmt: skip
    bodies = st.recursive(
        st.dictionaries(names, odd, max_size=5),
        lambda inner: st.dictionaries(names, st.one_of(odd, inner, st.lists(inner, max_size=2)), max_size=5),
        max_leaves=6,
    )
    lines = st.lists(bodies.map(json.dumps), max_size=4)
    return st.one_of(
        bodies.map(lambda body: json.dumps(body).encode()),
        lines.map(lambda parts: "\n".join(parts).encode()),
        lines.map(lambda parts: "".join(f"data: {part}\n\n" for part in parts).encode()),
    )
