"""`--since`: what follows a signed prefix is checked as ever, what is in it isn't, and the verdict says so."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ledger import Draft, Ledger, Outside, Verdict, kinds, verify
from ledger._redact import redact
from ledger._redact_targets import find_targets
from ledger.checkpoints._files import checkpoint_folder, note_path, peaks_path
from ledger.tree import Checkpoint
from tests.ledger.ledgers import RUN, Tamper, example_draft, rehash, tamper
from tests.ledger.signed import anchor, append_notes, checkpoint_of, key_of, origin_of, sign, with_key

SIZE = 24


@dataclass(frozen=True)
class Trusted:
    """A ledger with every kind, signed at 24 of its 36 events, and what is asked of it."""

    path: Path
    outside: Outside

    def check(self, path: Path | None = None) -> Verdict:
        return verify(path or self.path, self.outside)

    def tampered(self, copy: Path, change: Tamper | str) -> tuple[Verdict, Verdict]:
        """The verdict of a changed copy with --since, and without."""
        full = tamper(self.path, copy, change)
        return self.check(copy), full


@pytest.fixture
def trusted(original: Path, tmp_path: Path) -> Trusted:
    path = tmp_path / "trusted.db"
    shutil.copyfile(original, path)
    append_notes(path, *(f"note {number}" for number in range(4)))
    note = sign(path, SIZE, peaks=True)
    return Trusted(path, Outside(keys=(key_of(path).verifier,), since=note))


def test_the_verdict_and_its_counts_are_those_of_a_whole_check_at_every_size(original: Path, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    shutil.copyfile(original, path)
    whole = verify(path)
    signed = [1, 2, 3, 7, 8, 16, 21, 26, 29, 30, whole.events]
    for before, size in enumerate(signed):
        note = sign(path, size, peaks=True)
        verdict = with_key(path, since=note)
        assert (verdict.verdict, verdict.ok, verdict.since) == ("MATCHES CHECKPOINT", True, size), verdict
        same = replace(verdict, verdict=whole.verdict, since=0, checkpoints=(), notes=())
        assert same == replace(whole, notes=())
        # Smaller ones were not held against anything; that isn't a failure unless one asks for them.
        assert [each.holds for each in verdict.checkpoints] == [None] * before + [True]
        if before:
            asked = with_key(path, since=note, checkpoints=(note_path(note.parent, 1),))
            assert not asked.ok and "takes the first" in asked.failures[0]


AFTER: dict[str, Tamper | str] = {
    "a column": "UPDATE events SET cell = 2 WHERE seq = 28",
    "a time": "UPDATE events SET at = '2026-01-01T00:00:00.000000Z' WHERE seq = 25",
    "a body": 'UPDATE events SET body = \'{"schema":1,"text":"other"}\' WHERE seq = 33',
    "a blob's bytes": "UPDATE blobs SET data = x'00' WHERE seq = (SELECT max(seq) FROM blobs)",
    "a blob that is gone": "DELETE FROM blobs WHERE id = (SELECT max(id) FROM blobs)",
    "the first blob after": f"DELETE FROM blobs WHERE id = (SELECT min(id) FROM blobs WHERE seq > {SIZE})",
    "a blob more": "INSERT INTO blobs SELECT max(id) + 1, hex(zeroblob(32)), 30, NULL, '', NULL FROM blobs",
    "an edge that is gone": "DELETE FROM edges WHERE effect = 27",
    "an edge more": "INSERT INTO edges VALUES (1, 36)",
    "an event that is gone": "DELETE FROM events WHERE seq = 34",
    "the next event": f"DELETE FROM events WHERE seq = {SIZE + 1}",
    "a view": "CREATE VIEW mine AS SELECT 1",
    "a body withheld": "UPDATE events SET body = NULL, salt = NULL WHERE seq = 26",
}


@pytest.mark.parametrize("change", AFTER.values(), ids=AFTER)
def test_a_change_to_what_follows_is_found_at_the_event_a_whole_check_names(
    trusted: Trusted, copy: Path, change: Tamper | str
) -> None:
    since, full = trusted.tampered(copy, change)
    assert (since.verdict, since.since) == ("TAMPERED", SIZE)
    assert (since.first_bad_seq, since.problems) == (full.first_bad_seq, full.problems)


def test_a_history_that_goes_on_otherwise_is_found_where_it_parts(trusted: Trusted, copy: Path) -> None:
    """All hashes fit from the event after the checkpoint on; it only doesn't follow the one that was signed."""

    def change(db: sqlite3.Connection) -> None:
        db.execute("UPDATE events SET hash = ? WHERE seq = ?", ("0" * 64, SIZE))
        rehash(db, SIZE + 1)

    since, _ = trusted.tampered(copy, change)
    assert (since.verdict, since.since, since.first_bad_seq) == ("TAMPERED", SIZE, SIZE)
    assert {problem.seq for problem in since.problems} == {SIZE, SIZE + 1}


def test_a_change_within_the_prefix_is_not_looked_for_and_the_verdict_says_how_far_it_trusts(
    trusted: Trusted, copy: Path
) -> None:
    since, full = trusted.tampered(copy, "UPDATE events SET at = '2026-01-01T00:00:00.000000Z' WHERE seq = 9")
    assert (full.verdict, full.first_bad_seq) == ("TAMPERED", 9)
    assert (since.verdict, since.since) == ("MATCHES CHECKPOINT", SIZE)


@pytest.mark.parametrize("gone", [1, 9, SIZE - 1])
def test_a_row_that_is_gone_from_the_prefix_is_counted(trusted: Trusted, copy: Path, gone: int) -> None:
    since, _ = trusted.tampered(copy, f"DELETE FROM events WHERE seq = {gone}")
    assert since.verdict == "TAMPERED"
    assert any(problem.what == f"the number of events up to event {SIZE}" for problem in since.problems)


def test_a_row_that_is_gone_from_the_prefix_is_missed_though_another_makes_up_the_number(
    trusted: Trusted, copy: Path
) -> None:
    since, _ = trusted.tampered(copy, "UPDATE events SET seq = -9 WHERE seq = 9")
    assert since.verdict == "TAMPERED"
    assert ("the seq of an event", "at least 1", "-9") in {(p.what, p.expected, p.got) for p in since.problems}


@pytest.mark.parametrize(
    "change",
    [
        f"UPDATE events SET at = '2026-01-01T00:00:00.000000Z' WHERE seq = {SIZE}",
        f"UPDATE events SET kind = CAST('a' AS TEXT) WHERE seq = {SIZE}",
        f"DELETE FROM events WHERE seq >= {SIZE}",
        lambda db: (db.execute("UPDATE events SET cell = 3 WHERE seq = 9"), rehash(db, 9)),
    ],
)
def test_where_the_last_signed_event_is_another_everything_is_checked(
    trusted: Trusted, copy: Path, change: Tamper | str
) -> None:
    since, full = trusted.tampered(copy, change)
    assert (since.verdict, since.since) == ("TAMPERED", 0)
    assert since.failures[0].startswith("the checkpoint of --since can't be gone by, so everything was checked")
    assert set(full.problems) < set(since.problems) or full.verdict == "CONSISTENT"


def other_root(note: Path) -> None:
    path = Path(str(note).removesuffix(".checkpoint"))
    text = path.with_suffix(".peaks").read_text().split("\n")
    text[2] = ("B" if text[2][0] == "A" else "A") + text[2][1:]
    path.with_suffix(".peaks").write_text("\n".join(text))


def without_signature(note: Path) -> None:
    origin, size, root = note.read_text().split("\n")[:3]
    note.write_text(f"{origin}\n{size}\n{root}\n\n\u2014 example/other {'A' * 88}\n")


def a_pipe(note: Path) -> None:
    peaks_path(note).unlink()
    os.mkfifo(peaks_path(note))


SPOILT: dict[Callable[[Path], object], str] = {
    lambda note: peaks_path(note).unlink(): "can't be read",
    a_pipe: "can't be read",
    lambda note: peaks_path(note).write_bytes(b"x"): "expected a file of peaks",
    lambda note: peaks_path(note).write_bytes(b"x" * 100_000): "at most 8192 bytes",
    lambda note: peaks_path(note).write_text(
        peaks_path(note).read_text().replace(f"\n{SIZE}\n", "\n23\n", 1)
    ): "for the peaks of 22 leaves",
    other_root: "don't lead to the root that was signed",
    without_signature: "expected a signature by",
    lambda note: note.unlink(): "can't be read",
    lambda note: note.write_bytes(b""): "expected a signed note",
}


@pytest.mark.parametrize("spoil", SPOILT, ids=SPOILT.values())
def test_without_whole_peaks_and_a_trusted_signature_everything_is_checked_and_that_is_a_failure(
    trusted: Trusted, spoil: Callable[[Path], object]
) -> None:
    assert trusted.outside.since is not None
    spoil(trusted.outside.since)
    verdict = trusted.check()
    assert (verdict.ok, verdict.since) == (False, 0) and verdict.verdict in {"CONSISTENT", "MATCHES CHECKPOINT"}
    (failure,) = [each for each in verdict.failures if "--since" in each]
    assert SPOILT[spoil] in failure


def test_without_a_key_nothing_is_trusted(trusted: Trusted) -> None:
    verdict = verify(trusted.path, Outside(since=trusted.outside.since))
    assert (verdict.verdict, verdict.ok, verdict.since) == ("MATCHES CHECKPOINT", False, 0)
    assert "only with the key that signed it" in verdict.failures[0]


def test_a_redaction_after_it_may_withhold_what_is_in_it(trusted: Trusted) -> None:
    with Ledger.open(trusted.path, read_only=True) as ledger:
        found = find_targets(ledger, ["6", "7:body", "33"])
    assert redact(trusted.path, found, category="secret", reason="a key leaked") is not None
    verdict, full = trusted.check(), verify(trusted.path)
    assert (verdict.verdict, verdict.since, verdict.withheld) == ("MATCHES CHECKPOINT", SIZE, full.withheld)


@pytest.mark.parametrize("what", ["body", "blob"])
def test_what_a_later_redaction_withholds_must_be_gone_from_the_prefix(trusted: Trusted, what: str) -> None:
    with Ledger.open(trusted.path) as ledger:
        (blob,) = ledger.sql("SELECT hash FROM main.blobs WHERE seq = 6").fetchone()
        named = kinds.Redact(
            bodies=[6] if what == "body" else [], blobs_withheld=[blob] if what == "blob" else [], category="secret",
            reason="a key leaked",
        )  # fmt: skip
        ledger.append(Draft(named, causes=[6]))
    since, full = trusted.check(), verify(trusted.path)
    assert (since.verdict, since.first_bad_seq, since.since) == ("TAMPERED", 6, SIZE)
    assert (full.verdict, full.first_bad_seq) == ("TAMPERED", 6)


def test_a_second_plan_of_a_run_in_the_prefix_is_found(trusted: Trusted) -> None:
    with closing(sqlite3.connect(trusted.path)) as db:
        plans = db.execute("SELECT seq, run FROM events WHERE kind = 'plan'").fetchall()
    assert [seq for seq, run in plans if (run == RUN) == (seq <= SIZE)] == [4, 26]
    copy = trusted.path.with_name("twice.db")
    verdict, full = trusted.tampered(copy, lambda db: (
        db.execute("UPDATE events SET run = ? WHERE seq = 26 AND kind = 'plan'", (RUN,)), rehash(db, 26)
    ))  # fmt: skip
    assert (verdict.verdict, verdict.first_bad_seq, full.first_bad_seq) == ("TAMPERED", 26, 26)
    assert verdict.since == SIZE and verdict.problems == full.problems


def test_later_checkpoints_and_anchors_are_held_against_the_tree_that_goes_on(trusted: Trusted) -> None:
    anchor(trusted.path, checkpoint_of(trusted.path, SIZE), key_of(trusted.path))
    append_notes(trusted.path, "more")
    sign(trusted.path)
    anchor(trusted.path, checkpoint_of(trusted.path, 38), key_of(trusted.path))
    verdict = trusted.check()
    assert [(each.size, each.counts) for each in verdict.checkpoints] == [(SIZE, True), (38, True)]
    assert (verdict.verdict, verdict.ok) == ("MATCHES CHECKPOINT", True)
    anchor(trusted.path, Checkpoint(origin_of(trusted.path), 38, bytes(32)), key_of(trusted.path))
    forged = Checkpoint(origin_of(trusted.path), 30, bytes(32))
    note_path(checkpoint_folder(trusted.path), 30).write_bytes(bytes(key_of(trusted.path).sign(forged.text)))
    verdict = trusted.check()
    assert (verdict.verdict, verdict.since, verdict.first_bad_seq) == ("TAMPERED", SIZE, 40)
    assert [each.counts for each in verdict.checkpoints] == [True, False, True]


def test_appends_after_it_are_all_that_is_read_again(trusted: Trusted, monkeypatch: pytest.MonkeyPatch) -> None:
    from ledger import _verify_events

    with Ledger.open(trusted.path) as ledger:
        ledger.append(example_draft("request", run="q" * 16, cell=5))
    read: list[int] = []
    body = _verify_events.EventScan._body  # pyright: ignore[reportPrivateUsage]

    def counted(self: object, seq: int, *rest: object) -> None:
        read.append(seq)
        body(self, seq, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(_verify_events.EventScan, "_body", counted)
    assert trusted.check().events == read[-1]
    assert read == list(range(SIZE + 1, read[-1] + 1))
