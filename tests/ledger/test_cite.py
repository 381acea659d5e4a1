"""Locators: what was cited is found again or its check fails, saying what stands there instead."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from ledger import BadBody, Draft, Ledger, NotFound, kinds
from ledger._cite import check_locator, cite
from ledger._pointer import pointer_from_fragment, pointer_to_fragment, resolve
from tests.ledger.ledgers import settle, tamper, withhold
from tests.ledger.lineages import RUNS, Lineage, make_lineage

A, B = RUNS
RFC = json.loads(
    r'{"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8}'
)


@pytest.fixture
def lineage(tmp_path: Path) -> Iterator[Lineage]:
    made = make_lineage(tmp_path / "ledger.db")
    with made.ledger:
        yield made


def test_a_locator_names_the_ledger_the_event_and_the_value(lineage: Lineage) -> None:
    ledger, seq = lineage.ledger, lineage.responses[A, 2, 1]
    made = cite(ledger, f"{seq}#/status")
    key = bytes.fromhex(ledger.genesis.identity_key)
    digest = blake3(b"200", key=key).hexdigest()
    event = ledger.event(seq)
    origin, number = ledger.genesis.origin, ledger.genesis.id
    assert made.locator == f"ledger:{origin}/{number}/{seq},attempt=1/{event.hash}/{digest}#/status"
    assert (made.value, made.attempt, made.event) == (200, 1, event)
    checked = check_locator(ledger, made.locator)
    assert (checked.holds, checked.problems, checked.value) == (True, [], 200)


def test_without_a_pointer_the_whole_body_is_cited(lineage: Lineage) -> None:
    made = cite(lineage.ledger, str(lineage.plans[A]))
    assert "#" not in made.locator
    assert "attempt" not in made.locator
    assert made.value == json.loads(lineage.ledger.event(lineage.plans[A]).body or "")
    assert check_locator(lineage.ledger, made.locator).holds


def test_everything_that_was_written_can_be_cited_and_holds(lineage: Lineage) -> None:
    for event in lineage.ledger.events():
        for name in json.loads(event.body or "{}"):
            assert check_locator(lineage.ledger, cite(lineage.ledger, f"{event.seq}#/{name}").locator).holds


def test_attempts_count_from_0_and_a_wrong_one_fails_saying_what_stands_there(lineage: Lineage) -> None:
    for attempt in (0, 1):
        for seqs in (lineage.requests, lineage.responses):
            made = cite(lineage.ledger, str(seqs[B, 4, attempt]))
            assert f",attempt={attempt}/" in made.locator
            for wrong in (attempt + 1, attempt + 2):
                checked = check_locator(
                    lineage.ledger, made.locator.replace(f"attempt={attempt}/", f"attempt={wrong}/")
                )
                assert not checked.holds
                assert f"names attempt {wrong}, and event {made.event.seq} is attempt {attempt}" in checked.problems[0]
                assert f"run {B} cell 4 turn 0 attempt {attempt}" in checked.found
    with pytest.raises(NotFound, match=r"names attempt 1, and event \d+ is attempt 0 .*there stands event"):
        cite(lineage.ledger, f"{lineage.requests[A, 1, 0]},attempt=1#/url")
    cell = cite(lineage.ledger, str(lineage.cells[A, 1])).locator
    named = cell.replace(f"/{lineage.cells[A, 1]}/", f"/{lineage.cells[A, 1]},attempt=0/")
    assert "belongs to no attempt" in check_locator(lineage.ledger, named).problems[0]


def test_a_locator_moved_to_another_attempt_s_event_fails(lineage: Lineage) -> None:
    first, second = (lineage.responses[A, 1, attempt] for attempt in (0, 1))
    moved = cite(lineage.ledger, f"{first}#/whole").locator.replace(f"/{first},", f"/{second},")
    checked = check_locator(lineage.ledger, moved)
    assert len(checked.problems) == 2
    assert "another hash" in checked.problems[0]
    assert "is attempt 1" in checked.problems[1]
    assert f"event {second}, a response of run {A} cell 1 turn 0 attempt 1" in checked.found


def test_each_part_of_a_locator_is_compared(lineage: Lineage) -> None:
    made = cite(lineage.ledger, f"{lineage.responses[A, 1, 1]}#/status")
    other = lineage.ledger.event(3).hash
    number = lineage.ledger.genesis.id
    for old, new, said in (
        (number, "0" * 32, "it names the ledger"),
        ("ledger:eval", "ledger:evil", "it names the ledger"),
        (f"/{made.event.seq},", "/99999,", "there is no event 99999"),
        (f"/{made.event.seq},", "/0,", "counted from 1"),
        (made.event.hash, other, "another hash"),
        (made.digest, other, "the value at /status has another digest"),
        ("#/status", "#/whole", "the value at /whole has another digest"),
        ("#/status", "", "the value at the whole body has another digest"),
        ("#/status", "#/nothing", "the body has no 'nothing'; it has attempt, "),
        ("#/status", "#/status/0", "/status is a single value"),
        ("#/status", "#/headers/0", "/headers is a list of 0, counted from 0"),
    ):
        assert old in made.locator
        checked = check_locator(lineage.ledger, made.locator.replace(old, new))
        assert not checked.holds
        assert said in " ".join(checked.problems)


@pytest.mark.parametrize(
    "text",
    ["", "17", "ledger:", "ledger:a/b", "http://x/1", "ledger:a/" + "0" * 32 + "/01/" + "0" * 64 + "/" + "0" * 64,
     "ledger:a/" + "0" * 32 + "/1/" + "0" * 64 + "/" + "0" * 64 + "\n",
     "ledger:a/" + "0" * 32 + "/1/" + "0" * 64 + "/" + "0" * 64 + "#status",
     "ledger:a/" + "0" * 32 + "/1/" + "0" * 64 + "/" + "0" * 64 + "#/%zz"],
)  # fmt: skip
def test_what_is_no_locator_is_refused(lineage: Lineage, text: str) -> None:
    with pytest.raises(BadBody, match="expected"):
        check_locator(lineage.ledger, text)


@pytest.mark.parametrize("text", ["", "x", "1#status", "1#/a~2", "1#/%", "1#/%ff", "01", "-1", "1 ", "1,attempt=x"])
def test_what_is_no_reference_is_refused(lineage: Lineage, text: str) -> None:
    with pytest.raises(BadBody, match="expected"):
        cite(lineage.ledger, text)


@pytest.mark.parametrize("text", ["0", "999999", str(10**15), "1#/nothing", "1#/format/x", "1#/"])
def test_what_is_not_there_can_not_be_cited(lineage: Lineage, text: str) -> None:
    with pytest.raises(NotFound):
        cite(lineage.ledger, text)


def test_what_a_redaction_withholds_can_not_be_checked_and_is_not_called_false(lineage: Lineage) -> None:
    seq = lineage.requests[A, 1, 0]
    made = cite(lineage.ledger, f"{seq}#/url")
    withhold(lineage.ledger.path, [seq], [])
    checked = check_locator(lineage.ledger, made.locator)
    assert (checked.holds, checked.problems, checked.withheld) == (False, [], True)
    assert "withheld by a redaction" in checked.found
    with pytest.raises(NotFound, match="withheld"):
        cite(lineage.ledger, f"{seq}#/url")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("body = replace(body, '200', '201')", "doesn't match its commitment"),
        ("at = '2020-01-01T00:00:00.000000Z'", "doesn't match its own hash"),
        ("body = 'no'", "no JSON object"),
        ("salt = 'x'", "doesn't match its commitment"),
    ],
)
def test_a_value_that_was_tampered_with_does_not_hold(lineage: Lineage, tmp_path: Path, change: str, said: str) -> None:
    seq = lineage.responses[A, 1, 1]
    made = cite(lineage.ledger, f"{seq}#/whole")
    lineage.ledger.close()
    copy = tmp_path / "copy.db"
    with Ledger.open(lineage.ledger.path) as ledger:
        ledger.append(Draft(kinds.Note(text="x")))
    settle(lineage.ledger.path)
    tamper(lineage.ledger.path, copy, f"UPDATE events SET {change} WHERE seq = {seq}")
    with Ledger.open(copy, read_only=True) as ledger:
        checked = check_locator(ledger, made.locator)
    assert not checked.holds
    assert said in " ".join(checked.problems)


@pytest.mark.parametrize(
    ("pointer", "fragment", "value"),
    [("", "", RFC), ("/foo", "/foo", ["bar", "baz"]), ("/foo/0", "/foo/0", "bar"), ("/", "/", 0),
     ("/a~1b", "/a~1b", 1), ("/c%d", "/c%25d", 2), ("/e^f", "/e%5Ef", 3), ("/g|h", "/g%7Ch", 4),
     ("/i\\j", "/i%5Cj", 5), ('/k"l', "/k%22l", 6), ("/ ", "/%20", 7), ("/m~0n", "/m~0n", 8)],
)  # fmt: skip
def test_pointers_are_those_of_rfc_6901(pointer: str, fragment: str, value: object) -> None:
    assert pointer_to_fragment(pointer) == fragment
    assert pointer_from_fragment(fragment) == pointer
    assert resolve(RFC, pointer) == value


@pytest.mark.parametrize("pointer", ["/foo/2", "/foo/-", "/foo/00", "/foo/01", "/foo/-1", "/foo/x", "/foo/0/0", "/bar"])
def test_a_pointer_to_nothing_is_not_found(pointer: str) -> None:
    with pytest.raises(NotFound):
        resolve(RFC, pointer)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_any_key_survives_its_way_through_a_fragment(keys: list[str]) -> None:
    value: object = "found"
    for key in reversed(keys):
        value = {key: value, key + "~": None}
    pointer = "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)
    fragment = pointer_to_fragment(pointer)
    assert fragment.isascii()
    assert not set(fragment) & set(" '\"<>\n\\`|^{}[]#")
    assert resolve(value, pointer_from_fragment(fragment)) == "found"
