"""Tampering with bodies, lines, claims and redactions in a chain whose every hash agrees."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.ledger.ledgers import rehash, tamper

# Rewriting along the chain, so that only one check can see it


def rewritten(db: sqlite3.Connection, seq: int, body: bytes) -> None:
    db.execute("UPDATE events SET body = CAST(? AS TEXT) WHERE seq = ?", (body, seq))
    rehash(db, seq)


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b'{"schema":1,"schema":1,"text":"seen"}', "twice"),
        (b'{"schema":1,"text":"unseen","text":"seen"}', "twice"),
        (b'{"schema":1, "text":"seen"}', "RFC 8785"),
        (b'{"text":"seen","schema":1}', "RFC 8785"),
        (b'{"schema":1,"text":"\\u0073een"}', "RFC 8785"),
        (b'{"schema":1.0,"text":"seen"}', "RFC 8785"),
        (b'{"schema":1,"text":"a\\u0000"}', "U+0000"),
        (b'{"schema":1,"text":"\\ud800"}', "surrogate"),
        (b'{"schema":1,"text":"\xff"}', "UTF-8"),
        (b'{"schema":1,"text":"a\x00"}', "JSON"),
        (b'{"schema":1,"text":"a\n"}', "JSON"),
        (b'[{"schema":1}]', "object"),
        (b'{"schema":1,"text":NaN}', "NaN"),
        (b'{"schema":1,"text":"' + b"x" * (1 << 20) + b'"}', "1048576"),
        (b'{"schema":1,"text":' + b"[" * 5_000 + b"]" * 5_000 + b"}", "deep"),
        (b'{"schema":1,"text":7}', "text"),
        (b'{"more":1,"schema":1,"text":"seen"}', "more"),
        (b'{"text":"seen"}', "integer from 1"),
        (b"", "object"),
    ],
)
def test_a_body_that_is_not_one_of_its_kind_in_its_own_form_is_named_though_every_hash_agrees(
    original: Path, copy: Path, body: bytes, word: str
) -> None:
    verdict = tamper(original, copy, lambda db: rewritten(db, 24, body))
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", 24)
    (problem,) = verdict.problems
    assert word in f"{problem.what} {problem.expected} {problem.got}"


@pytest.mark.parametrize(
    ("column", "value", "word"),
    [
        ("at", "2026-02-30T00:00:00.000000Z", "real time"),
        ("at", "2026-01-01T24:00:00.000000Z", "real time"),
        ("at", "2026-01-01T00:00:00.000000Z\n", "column at"),
        ("at", "2026-01-01T00:00:00.00000\u0661Z", "column at"),
        ("v", 2, "column v"),
        ("cell", 2**53, "column cell"),
        ("cell", -1, "column cell"),
        ("kind", "Note", "column kind"),
        ("run", "short", "column run"),
        ("causes", "[24]", "smaller"),
        ("causes", "[23,22]", "ascending"),
        ("causes", "[22,22]", "ascending"),
        ("causes", "[0]", "column causes"),
        ("causes", "[ 22]", "column causes"),
    ],
)
def test_a_line_outside_the_grammar_is_named_though_every_hash_agrees(
    original: Path, copy: Path, column: str, value: object, word: str
) -> None:
    def change(db: sqlite3.Connection) -> None:
        db.execute(f"UPDATE events SET {column} = ? WHERE seq = 24", (value,))
        rehash(db, 24)

    verdict = tamper(original, copy, change)
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", 24)
    assert any(word in f"{problem.what} {problem.expected} {problem.got}" for problem in verdict.problems)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("wait", b'{"asked":"","attempt":0,"schema":1,"seconds":1.0,"turn":0,"why":"x"}'),
        ("wait", b'{"asked":"","attempt":0,"schema":1,"seconds":1e2,"turn":0,"why":"x"}'),
        ("wait", b'{"asked":"","attempt":0,"schema":1,"seconds":-0.0,"turn":0,"why":"x"}'),
        ("execute", b'{"argv":[],"exit":9007199254740992,"isolation":"","limits":[],"schema":1,"signal":null}'),
        ("confirm", b'{"findings":[9007199254740992],"rejections":[],"rules":"r","schema":1}'),
        ("confirm", b'{"findings":[{"x":1.0}],"rejections":[],"rules":"r","schema":1}'),
        ("confirm", b'{"findings":[' + b"[" * 70 + b"]" * 70 + b'],"rejections":[],"rules":"r","schema":1}'),
        ("confirm", b'{"findings":[{"\xf0\x9f\x98\x80":1,"\xef\xbf\xbf":1}],"rejections":[],"rules":"r","schema":2}'),
        ("confirm", b'{"findings":[{"\xef\xbf\xbf":1,"\xf0\x9f\x98\x80":1}],"rejections":[],"rules":"r","schema":1}'),
    ],
)
def test_a_number_or_key_that_orjson_would_let_pass_is_named(
    original: Path, copy: Path, kind: str, body: bytes
) -> None:
    with closing(sqlite3.connect(original)) as connection:
        (seq,) = connection.execute("SELECT seq FROM events WHERE kind = ?", (kind,)).fetchone()
    verdict = tamper(original, copy, lambda db: rewritten(db, seq, body))
    if b'"schema":2' in body:  # in UTF-16 order, and of a newer schema: the form is right
        assert verdict.verdict == "NOT FULLY CHECKED"
        return
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", seq)
    assert [problem.what for problem in verdict.problems] == ["the body's form"]


def test_more_causes_than_a_line_may_have_are_named(original: Path, copy: Path) -> None:
    def change(db: sqlite3.Connection) -> None:
        causes = "[" + ",".join(map(str, range(1, 5_000))) + "]"
        db.execute("UPDATE events SET causes = ? WHERE seq = 25", (causes,))
        rehash(db, 25)

    assert tamper(original, copy, change).first_bad_seq == 25


@pytest.mark.parametrize(
    ("column", "value", "seq", "word"),
    [
        ("kind", "genesis", 25, "genesis"),
        ("kind", "note", 1, "genesis"),
        ("cell", 0, 5, "place"),
        ("run", "", 6, "place"),
        ("cell", 4, 4, "place"),
        ("run", "abcdefghijklmnop", 18, "place"),
    ],
)
def test_an_event_that_may_not_stand_there_is_named(
    original: Path, copy: Path, column: str, value: object, seq: int, word: str
) -> None:
    verdict = tamper(original, copy, f"UPDATE events SET {column} = {value!r} WHERE seq = {seq}")
    assert verdict.first_bad_seq == seq
    assert any(word in problem.what for problem in verdict.problems)


def test_a_second_plan_of_a_run_and_a_second_claim_are_named_at_the_second(original: Path, copy: Path) -> None:
    def change(db: sqlite3.Connection) -> None:
        # The other run becomes the first one: its plan is 27, its request 28 is withheld, and 32 claims cell 1 anew.
        db.execute("UPDATE events SET run = 'abcdefghijklmnop', cell = min(cell, 1) WHERE seq IN (26, 32)")
        rehash(db, 26)

    verdict = tamper(original, copy, change)
    assert verdict.first_bad_seq == 26
    assert [(problem.seq, problem.what) for problem in verdict.problems] == [
        (26, "a second plan of one run"),
        (32, "a second request with one claim"),
    ]


# Redactions


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('"bodies":[27,29]', '"bodies":[27]', "names it"),
        ('"bodies":[27,29]', '"bodies":[24,27,29]', "present"),
        ('"bodies":[27,29]', '"bodies":[4,27,29]', "may be withheld"),
    ],
)
def test_a_redact_event_and_what_is_withheld_must_agree(
    original: Path, copy: Path, old: str, new: str, word: str
) -> None:
    def change(db: sqlite3.Connection) -> None:
        db.execute("UPDATE events SET body = replace(body, ?, ?) WHERE seq = 30", (old, new))
        rehash(db, 30)

    verdict = tamper(original, copy, change)
    assert verdict.verdict == "TAMPERED"
    assert any(word in problem.what or word in problem.expected for problem in verdict.problems)
    assert any("causes of a redact event" in problem.what and problem.seq == 30 for problem in verdict.problems)


def test_a_withheld_blob_that_no_redact_event_names_is_named(original: Path, copy: Path) -> None:
    def change(db: sqlite3.Connection) -> None:
        (body,) = db.execute("SELECT body FROM events WHERE seq = 30").fetchone()
        start = body.index('"blobs_withheld":["') + 19
        db.execute("UPDATE events SET body = ? WHERE seq = 30", (body[:start] + "f" * 64 + body[start + 64 :],))
        rehash(db, 30)

    verdict = tamper(original, copy, change)
    assert verdict.first_bad_seq == 28
    assert {problem.seq for problem in verdict.problems} == {28, 30}


def test_a_withheld_body_put_back_is_named(original: Path, copy: Path) -> None:
    verdict = tamper(original, copy, "UPDATE events SET body = '{}', salt = '' WHERE seq = 29")
    assert verdict.first_bad_seq == 29
    assert any("withholds is present" in problem.what for problem in verdict.problems)
