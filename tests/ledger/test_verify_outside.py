"""Verify against checkpoints, keys, anchors and timestamps: what counts, what doesn't, and what is a failure."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ledger import Draft, Ledger, Outside, Refused, kinds, make_checkpoint, verify
from ledger._errors import BadKey
from ledger._verify_outside import read_keys
from ledger.checkpoints._files import checkpoint_folder, note_path
from ledger.checkpoints._timestamp import make_query
from ledger.tree import Checkpoint, SigningKey, to_base64
from tests.ledger.checkpoints.authority import Authority, Certificates
from tests.ledger.ledgers import drop_guards, rehash, settle, tamper
from tests.ledger.signed import anchor, append_notes, checkpoint_of, key_of, origin_of, sign, with_key

NOTES = tuple(f"note {number}" for number in range(10))


@pytest.fixture
def noted(path: Path) -> Path:
    """A ledger of twelve events."""
    append_notes(path, *NOTES)
    return path


def test_a_checkpoint_beside_the_ledger_is_found_and_held_against_the_prefix_it_names(noted: Path) -> None:
    note = sign(noted, 7)
    verdict = verify(noted)
    assert (verdict.verdict, verdict.ok, verdict.failures) == ("MATCHES CHECKPOINT", True, ())
    (seen,) = verdict.checkpoints
    assert (seen.file, seen.size, seen.holds, seen.signed_by) == (f"ledger.db.checkpoints/{note.name}", 7, True, ())
    assert seen.unknown == (key_of(noted).verifier.label,)
    assert verify(noted, Outside(beside=False)).verdict == "CONSISTENT"


def test_it_is_found_by_whichever_link_the_ledger_is_named(noted: Path, tmp_path: Path) -> None:
    sign(noted, 7)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link.db").symlink_to(noted)
    assert verify(tmp_path / "elsewhere" / "link.db").verdict == "MATCHES CHECKPOINT"


def test_every_size_is_held_against_its_own_prefix(noted: Path) -> None:
    for size in range(1, 13):
        sign(noted, size)
    verdict = with_key(noted)
    assert [(each.size, each.counts) for each in verdict.checkpoints] == [(size, True) for size in range(1, 13)]
    assert verdict.verdict == "MATCHES CHECKPOINT" and verdict.ok


def test_one_wrong_checkpoint_among_right_ones_is_tampering_and_says_where_it_may_be(noted: Path) -> None:
    sign(noted, 4)
    forged = Checkpoint(origin_of(noted), 9, bytes(32))
    note_path(checkpoint_folder(noted), 9).write_bytes(bytes(key_of(noted).sign(forged.text)))
    sign(noted, 12)
    verdict = with_key(noted)
    assert verdict.verdict == "TAMPERED" and verdict.first_bad_seq is None
    assert any("the first 4 events are a checkpoint's" in note for note in verdict.notes)
    label = key_of(noted).verifier.label
    assert f"the checkpoints of 9 and 12 events are of two histories: {label} signed both" in verdict.notes
    (said,) = (note for note in verify(noted).notes if "two histories" in note)
    assert said.endswith("who signed them wasn't checked against one key")
    assert [each.holds for each in verdict.checkpoints] == [True, False, True]


def test_nobody_is_said_to_have_signed_two_histories_for_a_note_of_another_s(noted: Path, tmp_path: Path) -> None:
    sign(noted, 12)
    planted = note_path(checkpoint_folder(noted), 9)
    planted.write_bytes(bytes(key_of(noted, seed=66).sign(Checkpoint(origin_of(noted), 9, bytes(32)).text)))
    elsewhere = tmp_path / "elsewhere.checkpoint"
    elsewhere.write_bytes(bytes(SigningKey("example/other", bytes(32)).sign(f"example/other\n8\n{'A' * 43}=\n")))
    verdict = with_key(noted, checkpoints=(elsewhere,))
    assert [each.holds for each in verdict.checkpoints] == [False, False, True]
    assert len(verdict.failures) == 2 and verdict.notes == ()


def test_a_key_makes_an_honest_signature_count_and_names_who_else_is_on_the_note(noted: Path) -> None:
    note = sign(noted, 7)
    witness = SigningKey("example/witness", bytes(32))
    text = note.read_text()
    more = str(witness.sign(text.partition("\n\n")[0] + "\n").signatures[0])
    note.write_text(f"{text}{more}\n")
    (seen,) = with_key(noted).checkpoints
    assert (seen.signed_by, seen.unknown) == ((key_of(noted).verifier.label,), (witness.verifier.label,))
    assert seen.counts


def test_one_of_several_keys_is_enough(noted: Path) -> None:
    sign(noted, 7)
    keys = (SigningKey("example/other", bytes(32)).verifier, key_of(noted).verifier)
    verdict = verify(noted, Outside(keys=keys))
    assert verdict.verdict == "MATCHES CHECKPOINT" and verdict.ok


def test_the_key_of_another_ledger_vouches_for_none_but_its_own(noted: Path) -> None:
    # Whoever has the keys of two ledgers must not be told of the one by the keeper of the other.
    other = SigningKey("example/other", bytes(32))
    note = sign(noted, 7, key=other)
    for keys in ((other.verifier,), (key_of(noted).verifier, other.verifier)):
        verdict = verify(noted, Outside(keys=keys))
        assert (verdict.verdict, verdict.ok) == ("CONSISTENT", False)
        assert f"got one by {other.verifier.label}" in verdict.failures[0]
    forged = Checkpoint(origin_of(noted), 7, bytes(32))
    note.write_bytes(bytes(other.sign(forged.text)))
    assert verify(noted, Outside(keys=(other.verifier,))).verdict == "CONSISTENT"
    own = str(key_of(noted).sign(forged.text).signatures[0])
    note.write_bytes(note.read_bytes() + f"{own}\n".encode())
    assert with_key(noted).verdict == "TAMPERED"


def test_a_foreign_signature_is_a_failure_and_neither_confirms_nor_convicts(noted: Path) -> None:
    sign(noted, 7, key=key_of(noted, seed=66))
    verdict = with_key(noted)
    assert (verdict.verdict, verdict.ok) == ("CONSISTENT", False)
    assert "expected a signature by" in verdict.failures[0]
    forged = Checkpoint(origin_of(noted), 9, bytes(32))
    note_path(checkpoint_folder(noted), 9).write_bytes(bytes(key_of(noted, seed=66).sign(forged.text)))
    verdict = with_key(noted)
    assert (verdict.verdict, verdict.ok) == ("CONSISTENT", False)
    assert "and it has another root than" in verdict.checkpoints[1].problem


def test_a_key_without_any_checkpoint_is_a_failure(noted: Path) -> None:
    verdict = with_key(noted)
    assert (verdict.verdict, verdict.ok) == ("CONSISTENT", False)
    assert verdict.failures == ("a key was given, and there is no checkpoint that it could have signed",)


def test_a_required_checkpoint_that_is_not_there_is_a_failure(noted: Path) -> None:
    verdict = verify(noted, Outside(require_checkpoint=True))
    assert verdict.failures == ("a checkpoint is required, and the ledger is shown to extend none",)
    sign(noted, 7)
    assert verify(noted, Outside(require_checkpoint=True)).ok


def a_folder(note: Path) -> None:
    note.unlink()
    note.mkdir()


def a_pipe(note: Path) -> None:
    note.unlink()
    os.mkfifo(note)


def huge(note: Path) -> None:
    with note.open("r+b") as file:
        file.truncate(50 << 30)


def missing_target(note: Path) -> None:
    note.unlink()
    note.symlink_to(note.with_name("nothing"))


def a_circle(note: Path) -> None:
    note.unlink()
    note.symlink_to(note)


def of_no_events(note: Path) -> None:
    from ledger.tree import EMPTY_ROOT

    origin = note.read_text().split("\n", 1)[0]
    note.write_bytes(bytes(SigningKey(origin, bytes([7]) * 32).sign(Checkpoint(origin, 0, EMPTY_ROOT).text)))


SPOILT: dict[Callable[[Path], object], str] = {
    a_folder: "not a file",
    a_pipe: "not a file",
    huge: "at most 262144 bytes",
    missing_target: "it can't be read",
    a_circle: "it can't be read",
    lambda note: note.write_bytes(b""): "expected a signed note",
    lambda note: note.write_bytes(os.urandom(500)): "expected a signed note",
    lambda note: note.write_bytes(note.read_bytes() + b"more"): "expected a signed note",
    of_no_events: "it is of 0 events",
}


@pytest.mark.parametrize("spoil", SPOILT, ids=lambda spoil: spoil.__name__)
def test_a_checkpoint_s_file_that_is_none_is_a_failure_with_its_reason(
    noted: Path, spoil: Callable[[Path], object]
) -> None:
    note = sign(noted, 7)
    spoil(note)
    for outside in (Outside(), Outside(beside=False, checkpoints=(note,))):
        verdict = verify(noted, outside)
        assert (verdict.verdict, verdict.ok) == ("CONSISTENT", False)
        (seen,) = verdict.checkpoints
        assert SPOILT[spoil] in seen.problem and not seen.counts
        assert any(SPOILT[spoil] in failure for failure in verdict.failures)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="whoever may read everything can't be kept out")
def test_a_folder_that_can_t_be_read_is_a_failure(noted: Path) -> None:
    sign(noted, 7)
    checkpoint_folder(noted).chmod(0)
    try:
        assert not verify(noted).ok
    finally:
        checkpoint_folder(noted).chmod(0o700)


def test_a_file_in_the_folder_s_place_is_a_failure(noted: Path) -> None:
    checkpoint_folder(noted).write_text("no folder")
    verdict = verify(noted)
    assert not verdict.ok and "is not a folder" in verdict.failures[0]


def test_an_empty_folder_says_nothing(noted: Path) -> None:
    checkpoint_folder(noted).mkdir()
    (checkpoint_folder(noted) / "README").write_text("other files are passed over")
    verdict = verify(noted)
    assert (verdict.verdict, verdict.ok, verdict.checkpoints) == ("CONSISTENT", True, ())


def test_a_checkpoint_under_another_size_s_name_is_a_failure(noted: Path) -> None:
    note = sign(noted, 7)
    note.rename(note_path(note.parent, 9))
    verdict = verify(noted)
    assert (verdict.verdict, verdict.ok) == ("CONSISTENT", False)
    assert "its name says 9 events, and its note 7" in verdict.failures[0]


def test_a_size_beyond_the_ledger_is_tampering_and_says_how_many_are_missing(noted: Path) -> None:
    ahead = Checkpoint(origin_of(noted), 2**53 - 1, bytes(32))
    folder = checkpoint_folder(noted)
    folder.mkdir()
    note_path(folder, ahead.size).write_bytes(bytes(key_of(noted).sign(ahead.text)))
    verdict = with_key(noted)
    (problem,) = verdict.problems
    assert verdict.verdict == "TAMPERED"
    assert (problem.expected, problem.got) == (f"at least {ahead.size}", "12")


def test_one_file_named_twice_and_found_beside_counts_once(noted: Path) -> None:
    note = sign(noted, 7)
    again = note.parent / ".." / note.parent.name / note.name
    assert len(verify(noted, Outside(checkpoints=(note, again))).checkpoints) == 1


def test_two_files_of_one_checkpoint_are_both_told(noted: Path, tmp_path: Path) -> None:
    note = sign(noted, 7)
    shutil.copyfile(note, tmp_path / "mine")
    verdict = verify(noted, Outside(checkpoints=(tmp_path / "mine",)))
    assert [each.size for each in verdict.checkpoints] == [7, 7] and verdict.verdict == "MATCHES CHECKPOINT"


def test_a_checkpoint_made_while_verify_reads_is_no_tampering(noted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger grows, and is signed, at the worst moment: after the folder was read, and before the ledger is."""
    import ledger._verify as module

    gather, notes = module.gather, []

    def later(*given: object) -> object:
        found = gather(*given)  # type: ignore[arg-type]
        append_notes(noted, "meanwhile")
        notes.append(sign(noted))
        return found

    sign(noted, 7)
    monkeypatch.setattr(module, "gather", later)
    assert (verify(noted).verdict, verify(noted).events) == ("MATCHES CHECKPOINT", 14)
    # And what was signed before the folder is read is never beyond what is then read.
    monkeypatch.undo()
    assert len(verify(noted).checkpoints) == 3 and verify(noted).verdict == "MATCHES CHECKPOINT"


def test_checkpoints_that_are_made_beside_it_are_never_missed_or_taken_for_tampering(noted: Path) -> None:
    """`ledger checkpoint` and appends in one thread, verify over and over in another."""
    key, made = key_of(noted), threading.Event()

    def make() -> None:
        try:
            for number in range(8):
                with Ledger.open(noted) as ledger:
                    ledger.append(Draft(kinds.Note(text=f"meanwhile {number}")))
                make_checkpoint(noted, key)
        finally:
            made.set()

    thread = threading.Thread(target=make)
    thread.start()
    seen = [with_key(noted)]
    while not made.is_set():
        seen.append(with_key(noted))
    thread.join()
    seen.append(with_key(noted))
    for verdict in seen:
        assert verdict.verdict != "TAMPERED" and verdict.notes == (), verdict
        assert verdict.ok or verdict.checkpoints == ()
    assert len(seen[-1].checkpoints) == 8 and seen[-1].verdict == "MATCHES CHECKPOINT"


# Anchors


def test_a_ledger_that_had_checkpoints_says_which_ones_are_missing(noted: Path) -> None:
    at = checkpoint_of(noted, 7)
    anchor(noted, at, key_of(noted))
    verdict = verify(noted)
    assert (verdict.verdict, verdict.ok) == ("CONSISTENT", True)
    assert "expected checkpoints not found: sizes 7" in verdict.notes
    sign(noted, 7)
    assert verify(noted).notes == ()


def test_an_anchor_with_another_root_is_tampering_at_that_event_without_any_file(noted: Path) -> None:
    anchor(noted, checkpoint_of(noted, 7), key_of(noted))
    settle(noted)
    verdict = tamper(noted, noted.with_name("copy.db"), lambda db: (
        db.execute("UPDATE events SET at = '2026-01-01T00:00:00.000000Z' WHERE seq = 4"), rehash(db, 4)
    ))  # fmt: skip
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", 13)
    assert "which an anchor names" in verdict.problems[0].what


def test_an_anchor_of_events_to_come_is_tampering(noted: Path) -> None:
    anchor(noted, Checkpoint(origin_of(noted), 13, bytes(32)), key_of(noted))
    assert (verify(noted).verdict, verify(noted).first_bad_seq) == ("TAMPERED", 13)


def test_an_anchor_whose_root_is_none_is_said_and_is_no_problem(noted: Path) -> None:
    with Ledger.open(noted) as ledger:
        for root in ("0" * 64, "k", "\u00e9", to_base64(bytes(31)), to_base64(bytes(32)) + "\n"):
            ledger.append(Draft(kinds.Anchor(what="checkpoint", size=5, root=root, key="k")))
    sign(noted, 7)
    verdict = verify(noted)
    assert verdict.verdict == "MATCHES CHECKPOINT" and verdict.ok
    assert len([note for note in verdict.notes if "names no root" in note]) == 5


def test_a_row_that_forms_no_line_takes_the_tree_with_it(noted: Path) -> None:
    sign(noted, 4)
    sign(noted, 7)
    from contextlib import closing
    from sqlite3 import connect

    with closing(connect(noted)) as db, db:
        texts = drop_guards(db)
        db.execute("UPDATE events SET kind = 'Note' WHERE seq = 5")
        for text in texts:
            db.execute(text)
    verdict = with_key(noted)
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", 5)
    assert [each.holds for each in verdict.checkpoints] == [True, False]


# Witnesses


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def authority(certificates: Certificates) -> Authority:
    return certificates.issue("tsa", subject="/O=Loopback Time/CN=Loopback TSA")


def test_a_timestamp_over_a_matching_note_proves_its_time(
    noted: Path, authority: Authority, certificates: Certificates, tmp_path: Path
) -> None:
    note = sign(noted, 7)
    token = note.with_name(f"{note.stem}.loopback.tsr")
    token.write_bytes(authority.answer(make_query(note.read_bytes()).data))
    unchecked = verify(noted)
    assert unchecked.verdict == "MATCHES CHECKPOINT" and "as it says; not checked" in unchecked.notes[0]

    verdict = with_key(noted, tsa_roots=(certificates.root,))
    assert verdict.verdict == "TIMESTAMPED" and verdict.ok
    (stamp,) = verdict.checkpoints[0].timestamps
    assert "Loopback TSA" in stamp.name and stamp.at.startswith("20") and stamp.at.endswith("Z")

    # Over other bytes, it vouches for nothing: here the note has one more signature line.
    other = SigningKey("example/other", bytes(32))
    text = note.read_text().partition("\n\n")[0] + "\n"
    note.write_text(f"{note.read_text()}{other.sign(text).signatures[0]}\n")
    moved = with_key(noted, tsa_roots=(certificates.root,))
    assert (moved.verdict, moved.ok) == ("MATCHES CHECKPOINT", False)
    assert any("over others" in each for each in moved.notes)
    assert "no timestamp of a matching checkpoint verifies" in moved.failures[0]

    for root in (tmp_path / "none.pem", tmp_path):
        nothing = with_key(noted, tsa_roots=(root,))
        assert not nothing.ok and f"the root certificate {root} can't be read" in nothing.failures[0]


# Keys


def test_keys_are_read_from_text_and_from_files(noted: Path, tmp_path: Path) -> None:
    key = key_of(noted).verifier
    file = tmp_path / "keys"
    file.write_text(f"# ours\n\n{key}\n{SigningKey('example/other', bytes(32)).verifier}\n")
    assert read_keys([str(key)]) == (key,)
    assert read_keys([str(file), f" {key}\n"])[0] == key and len(read_keys([str(file), str(key)])) == 2
    file.write_bytes(f"\ufeff{key}\r\n".encode())  # as some editors of Windows leave it
    assert read_keys([str(file)]) == (key,)


@pytest.mark.parametrize("said", ["", "nowhere", "a+b", "a+00000000+AAAA", "a/b+12345678+" + "A" * 44, "."])
def test_what_is_no_key_is_refused_in_one_sentence(said: str) -> None:
    with pytest.raises(BadKey, match=r"expected|can't be read"):
        read_keys([said])


def test_a_signing_key_is_refused_and_not_shown(noted: Path) -> None:
    secret = key_of(noted).secret_text()
    with pytest.raises(BadKey, match="got a signing key") as raised:
        read_keys([secret])
    assert secret[-20:] not in str(raised.value)


def test_peaks_without_their_note_are_an_unfinished_checkpoint(noted: Path) -> None:
    sign(noted, 9, peaks=True).unlink()
    verdict = with_key(noted, require_checkpoint=False)
    assert verdict.verdict == "CONSISTENT"
    assert "ledger.db.checkpoints/000000000009.peaks is of an unfinished checkpoint" in " ".join(verdict.notes)
    sign(noted, 12, peaks=True)
    assert (with_key(noted).ok, with_key(noted).notes) == (True, ()), "a later one that was signed covers it"


@pytest.mark.parametrize("events", [3, 8])
def test_a_ledger_that_is_shorter_than_an_unfinished_checkpoint_was_rolled_back(noted: Path, events: int) -> None:
    sign(noted, 9, peaks=True).unlink()
    with closing(sqlite3.connect(noted)) as connection:
        texts = drop_guards(connection)
        connection.execute("DELETE FROM events WHERE seq > ?", (events,))
        connection.execute("DELETE FROM edges WHERE effect > ?", (events,))
        for text in texts:
            connection.execute(text)
        connection.commit()
    verdict = verify(noted)
    assert (verdict.verdict, verdict.exit_status) == ("CONSISTENT", 1), "nobody signed them, so they convict nobody"
    assert f"the ledger has {events} events, fewer than its 9; it was rolled back" in verdict.failures[0]
    with pytest.raises(Refused, match="is of 9 events, and the ledger has"):
        make_checkpoint(noted, key_of(noted))


def test_an_unfinished_checkpoint_of_another_history_is_a_failure(noted: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "ledger.db"
    other.parent.mkdir()
    Ledger.create(other).close()
    append_notes(other, *NOTES)
    sign(other, 9, peaks=True).unlink()
    shutil.copytree(checkpoint_folder(other), checkpoint_folder(noted))
    verdict = verify(noted)
    assert "the first 8 events aren't those that it was begun for" in verdict.failures[0]
    with pytest.raises(Refused, match="as the root of the first 8 events"):
        make_checkpoint(noted, key_of(noted))


@pytest.mark.parametrize(
    ("data", "why"), [(b"x", "expected a file of peaks"), (b"eval-ledger/peaks@v1\n1\n", "its name says 9 events")]
)
def test_peaks_that_cannot_be_read_are_a_failure(noted: Path, data: bytes, why: str) -> None:
    note = sign(noted, 9, peaks=True)
    note.unlink()
    note.with_suffix(".peaks").write_bytes(data)
    assert f"says nothing: {why}" in verify(noted).failures[0]
