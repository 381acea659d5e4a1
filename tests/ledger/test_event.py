"""The event line: what is written is read back, and nothing outside the grammar passes for a line."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from ledger import BadLine, Event
from ledger._event import (
    MAX_CAUSES,
    MAX_LINE,
    causes_text,
    commitment,
    hash_of,
    make_line,
    matches_line,
    new_run_id,
    now_text,
    parse_line,
    why_not_at,
    why_not_causes,
)

MAX_INT = 2**53 - 1
HASHES = st.binary(min_size=32, max_size=32).map(bytes.hex)
TIMES = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)).map(lambda at: f"{at.year:04}-{at:%m-%dT%H:%M:%S.%f}Z")


@st.composite
def events(draw: st.DrawFn) -> Event:
    seq = draw(st.integers(1, MAX_INT))
    causes = tuple(sorted(draw(st.sets(st.integers(1, seq - 1), max_size=20)))) if seq > 1 else ()
    kind = draw(st.from_regex(r"[a-z][a-z_]{0,31}", fullmatch=True))
    run = draw(st.from_regex(r"([a-z0-9]{16,32})?", fullmatch=True))
    return Event(
        seq,
        1,
        "",
        draw(HASHES),
        draw(TIMES),
        kind,
        run,
        draw(st.integers(0, MAX_INT)),
        causes,
        draw(HASHES),
        None,
        None,
    )


@given(events())
def test_a_line_is_read_back_as_it_was_written(event: Event) -> None:
    line = event.line
    assert matches_line(line)
    read = parse_line(line)
    for name in ("v", "seq", "prev", "at", "kind", "run", "cell", "causes", "body_hash"):
        assert getattr(read, name) == getattr(event, name)
    assert json.dumps(json.loads(line), separators=(",", ":")).encode() == line


@given(events(), st.data())
def test_a_line_with_a_flipped_bit_is_another_line_or_none(event: Event, data: st.DataObject) -> None:
    line = bytearray(event.line)
    bit = data.draw(st.integers(0, 8 * len(line) - 1))
    line[bit // 8] ^= 1 << bit % 8
    try:
        read = parse_line(bytes(line))
    except BadLine:
        return
    assert read != parse_line(event.line)
    assert hash_of(bytes(line)) != hash_of(event.line)


GOOD = Event(7, 1, "", "a" * 64, "2026-11-29T18:57:00.123456Z", "note", "", 0, (1, 6), "b" * 64, None, None).line


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"", b"\n"),
        (b'{"v":1', b'{ "v":1'),
        (b'"v":1', b'"v":2'),
        (b'"v":1', b'"v":01'),
        (b'"v":1', b'"v":1.0'),
        (b'"seq":7', b'"seq":0'),
        (b'"seq":7', b'"seq":-7'),
        (b'"seq":7', b'"seq":9007199254740992'),
        (b'"seq":7', b'"seq":"7"'),
        (b'"cell":0', b'"cell":9007199254740992'),
        (b'"cell":0', b'"cell":00'),
        (b'"cell":0', b'"cell":null'),
        (b"aaaa", b"aaaA"),
        (b"aaaa", b"aaa"),
        (b"aaaa", b"aaaaa"),
        (b'"note"', b'"Note"'),
        (b'"note"', b'""'),
        (b'"note"', b'"note\\n"'),
        (b'"note"', b'"' + b"n" * 33 + b'"'),
        (b'"run":""', b'"run":"tooshort"'),
        (b'"run":""', b'"run":"' + b"r" * 33 + b'"'),
        (b"2026-11-29T", b"2026-11-31T"),
        (b"2026-11-29T", b"2026-02-29T"),
        (b"T18:", b"T24:"),
        (b":57:00", b":57:60"),
        (b"123456Z", b"123456+00:00"),
        (b"123456Z", b"12345Z"),
        (b"[1,6]", b"[1, 6]"),
        (b"[1,6]", b"[6,1]"),
        (b"[1,6]", b"[6,6]"),
        (b"[1,6]", b"[1,7]"),
        (b"[1,6]", b"[0,6]"),
        (b"[1,6]", b"[01,6]"),
        (b"[1,6]", b"[1,6,]"),
        (b"[1,6]", b"1"),
        (b',"body"', b',"more":1,"body"'),
        (b'"prev"', b'"Prev"'),
    ],
)
def test_what_is_outside_the_grammar_is_no_line(old: bytes, new: bytes) -> None:
    line = GOOD.replace(old, new, 1) if old else GOOD + new
    assert line != GOOD
    parse_line(GOOD)
    with pytest.raises(BadLine):
        parse_line(line)


def test_keys_in_another_order_are_no_line() -> None:
    value = json.loads(GOOD)
    line = json.dumps(dict(reversed(value.items())), separators=(",", ":")).encode()
    with pytest.raises(BadLine, match="expected an event line"):
        parse_line(line)


def test_a_line_is_at_most_65535_bytes() -> None:
    causes = tuple(range(9_007_199_254_736_895, 9_007_199_254_740_991))[:MAX_CAUSES]
    event = Event(MAX_INT, 1, "", "a" * 64, "2026-11-29T18:57:00.123456Z", "note", "", 0, causes, "b" * 64, None, None)
    assert len(event.line) > MAX_LINE
    assert not matches_line(event.line)
    with pytest.raises(BadLine, match="65535"):
        parse_line(event.line)


def test_causes_are_ascending_earlier_and_at_most_4096() -> None:
    assert why_not_causes((), 1) is None
    assert why_not_causes(tuple(range(1, 4_097)), 5_000) is None
    assert why_not_causes(tuple(range(1, 4_098)), 5_000) == "expected at most 4096 causes, got 4097"
    assert why_not_causes((2, 1), 3) == "expected causes strictly ascending, got 1 after 2"
    assert why_not_causes((3,), 3) == "expected causes smaller than seq 3, got 3"
    assert causes_text((1, 22)) == "[1,22]"


def test_the_hash_and_the_commitment_are_plain_blake3() -> None:
    assert hash_of(GOOD) == blake3(GOOD).hexdigest()
    assert commitment(b"s" * 16, b"body") == blake3(b"s" * 16 + b"body").hexdigest()


def test_now_is_utc_in_microseconds_and_a_real_time() -> None:
    text = now_text()
    assert why_not_at(text) is None
    assert abs(datetime.fromisoformat(text) - datetime.now(UTC)) < timedelta(minutes=1)
    assert len(text) == 27


def test_run_ids_are_of_the_grammar_and_do_not_repeat() -> None:
    ids = {new_run_id() for _ in range(2_000)}
    assert len(ids) == 2_000
    for run in ids:
        line = make_line(
            v=1, seq=1, prev="0" * 64, at="2026-11-29T18:57:00.123456Z", kind="plan", run=run, cell=0, causes="[]",
            body="b" * 64,
        )  # fmt: skip
        assert parse_line(line).run == run
