"""A checkpoint is signed only over what extends every earlier one, and a crash in between loses nothing."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import ledger.checkpoints._make as making
from ledger import AppendFailed, Draft, Ledger, NotFound, Outside, Refused, kinds, verify
from ledger._prefix import tree_of
from ledger.checkpoints._files import peaks_path, read_checkpoint, stored_checkpoints
from ledger.checkpoints._peaks import read_peaks
from ledger.tree import SigningKey, leaf_hash, to_base64
from tests.ledger.checkpoints.conftest import Signed, signed_at
from tests.ledger.ledgers import settle, tamper
from tests.ledger.signed import origin_of


def verdict_with_key(signed: Signed) -> tuple[str, tuple[str, ...]]:
    found = verify(signed.path, Outside(keys=(signed.key.verifier,), require_checkpoint=True))
    return found.verdict, found.failures


def test_a_checkpoint_is_a_signed_note_of_the_tree_and_the_ledger_records_it(signed: Signed) -> None:
    size = signed.note("a", "b", "c")
    made = signed.sign()
    assert made.fresh
    with Ledger.open(signed.path, read_only=True) as ledger:
        root = tree_of(ledger, size).root()
        event = ledger.event(size + 1)
        body = ledger.body(event)
        assert ledger.blob(event, "note") == made.path.read_bytes()
    stored = read_checkpoint(made.path).signed
    assert stored is not None
    assert (stored.checkpoint.origin, stored.checkpoint.size, stored.checkpoint.root) == (signed.key.name, size, root)
    assert stored.note.signed_by([signed.key.verifier]) == (signed.key.verifier,)
    expected = kinds.Anchor(what="checkpoint", size=size, root=to_base64(root), key=str(signed.key.verifier))
    assert body.model_copy(update={"blobs": {}}) == expected
    assert (event.causes, made.anchor) == ((), size + 1)
    assert verdict_with_key(signed) == ("MATCHES CHECKPOINT", ())


def test_the_peaks_beside_it_lead_to_its_root_once_the_last_event_is_added(signed: Signed) -> None:
    for count in range(1, 6):
        signed.note(*"x" * count)
        made = signed.sign()
        size, peaks = read_peaks(peaks_path(made.path).read_bytes())
        assert (size, peaks.size) == (made.checkpoint.size, made.checkpoint.size - 1)
        with Ledger.open(signed.path, read_only=True) as ledger:
            peaks.add(leaf_hash(ledger.event(size).line))
        assert peaks.root() == made.checkpoint.root


def test_nothing_new_is_signed_when_nothing_but_its_own_anchor_came(signed: Signed) -> None:
    first = signed.sign()
    before = signed.path.read_bytes(), signed.files()
    again = signed.sign()
    assert (again.fresh, again.anchor, again.path) == (False, None, first.path)
    assert (signed.path.read_bytes(), signed.files()) == before
    signed.note("something")
    assert signed.sign().checkpoint.size == first.checkpoint.size + 2


def test_another_key_signs_what_the_old_one_signed_and_both_are_checked(signed: Signed) -> None:
    old = signed.sign()
    new = Signed(signed.path, SigningKey.generate(signed.key.name))
    made = new.sign()
    assert (made.fresh, made.checkpoint.size) == (True, old.checkpoint.size + 1)
    both = Outside(keys=(signed.key.verifier, new.key.verifier), require_checkpoint=True)
    found = verify(signed.path, both)
    assert (found.verdict, found.failures, len(found.checkpoints)) == ("MATCHES CHECKPOINT", (), 2)


def test_a_key_of_another_ledger_is_refused(signed: Signed, tmp_path: Path) -> None:
    other = signed_at(tmp_path / "other.db")
    with pytest.raises(Refused, match=f"expected the key of {signed.key.name}, got that of '{other.key.name}'"):
        making.make_checkpoint(signed.path, other.key)
    assert signed.files() == []


def test_a_ledger_that_was_tampered_with_is_refused_and_says_where(signed: Signed, copy: Path) -> None:
    seq = signed.note("honest")
    settle(signed.path)
    tamper(signed.path, copy, f"UPDATE events SET at = '2020-01-01T00:00:00.000000Z' WHERE seq = {seq}")
    with pytest.raises(Refused, match=rf"was tampered with \(event {seq}: .*`ledger verify` says more"):
        making.make_checkpoint(copy, signed.key)
    assert Signed(copy, signed.key).files() == []


def rolled_back(signed: Signed, tmp_path: Path) -> tuple[int, int]:
    """The ledger as it was before its last checkpoint; the size it has now, and the one that was signed."""
    size = signed.note("kept")
    settle(signed.path)
    shutil.copyfile(signed.path, tmp_path / "before.db")
    signed.note("lost", "lost")
    there = signed.sign().checkpoint.size
    for end in ("", "-wal", "-shm"):
        signed.path.with_name(signed.path.name + end).unlink(missing_ok=True)
    shutil.copyfile(tmp_path / "before.db", signed.path)
    return size, there


def test_a_ledger_whose_end_was_cut_off_is_refused_with_both_sizes(signed: Signed, tmp_path: Path) -> None:
    size, there = rolled_back(signed, tmp_path)
    files = signed.files()
    with pytest.raises(Refused, match=f"is of {there} events, and the ledger has {size}: its end was cut off"):
        signed.sign()
    assert signed.files() == files


def test_a_fork_is_refused_with_both_roots(signed: Signed, tmp_path: Path) -> None:
    _, there = rolled_back(signed, tmp_path)
    signed.note("another", "end", "than", "was", "signed")
    (stored,) = stored_checkpoints(signed.path)
    assert stored.signed is not None
    with Ledger.open(signed.path, read_only=True) as ledger:
        root = to_base64(tree_of(ledger, there).root())
    with pytest.raises(Refused) as refused:
        signed.sign()
    was = to_base64(stored.signed.checkpoint.root)
    assert f"expected {was} as the root of the first {there} events, got {root}" in str(refused.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: b"", "expected a signed note"),
        (lambda data: data.replace(b"team/", b"other/", 1), "another ledger's"),
        (lambda data: data.replace(b"\n2\n", b"\n1\n"), "expected the checkpoint of 2 events, got one of 1"),
        (lambda data: data[:-3] + (b"AA=" if data[-3:-2] != b"A" else b"BB=")[:2] + b"\n", "expected"),
    ],
    ids=["empty", "of another origin", "of another size", "a signature that isn't"],
)
def test_a_checkpoint_in_the_folder_that_is_not_what_it_should_be_is_refused(
    signed: Signed, change: object, said: str
) -> None:
    made = signed.sign()
    made.path.write_bytes(change(made.path.read_bytes()))  # type: ignore[operator]
    signed.note("more")
    kinds_before = signed.kinds()
    with pytest.raises(Refused, match=said):
        signed.sign()
    assert signed.kinds() == kinds_before


def test_a_lost_checkpoint_is_refused_and_both_ways_out_that_are_told_work(signed: Signed) -> None:
    made = signed.sign()
    signed.note("more")
    note = made.path.read_bytes()
    made.path.unlink()
    with pytest.raises(
        Refused, match=rf"event 3 says .*`ledger show 3 --blob note --db .* > .*`--without {made.checkpoint.size}`"
    ):
        signed.sign()
    with Ledger.open(signed.path, read_only=True) as ledger:
        made.path.write_bytes(ledger.blob(3, "note"))
    assert made.path.read_bytes() == note
    assert signed.sign().fresh
    made.path.unlink()
    later = signed.sign(2)
    assert (later.lost, later.fresh) == ((2,), True)
    with Ledger.open(signed.path, read_only=True) as ledger:
        said = ledger.newest(1, kind="note")[0]
        body = ledger.body(said)
        assert isinstance(body, kinds.Note)
    assert body.text == "The file of the checkpoint of 2 events is lost; later ones are signed without it."
    assert (said.causes, said.seq) == ((3,), later.checkpoint.size)
    assert not signed.sign(2).fresh, "what was said once isn't said again"


def test_without_takes_only_the_size_of_a_checkpoint_that_is_lost(signed: Signed) -> None:
    signed.sign()
    signed.note("more")
    with pytest.raises(NotFound, match="no checkpoint of 2 events is lost; those that are: none"):
        signed.sign(2)


def test_an_anchor_that_names_another_root_is_refused_even_without_a_file(signed: Signed) -> None:
    root = to_base64(b"\x01" * 32)
    with Ledger.open(signed.path) as ledger:
        ledger.append(Draft(kinds.Anchor(what="checkpoint", size=2, root=root, key="k")))
    for without in ((), (2,)):
        with pytest.raises(Refused):
            signed.sign(*without)


def test_a_root_in_an_anchor_that_is_none_is_passed_over_only_when_told(signed: Signed) -> None:
    with Ledger.open(signed.path) as ledger:
        ledger.append(Draft(kinds.Anchor(what="checkpoint", size=2, root="nonsense", key="k")))
    with pytest.raises(Refused, match=r"event 3 names .*'nonsense'.*`--without 2` passes over it"):
        signed.sign()
    assert signed.sign(2).lost == (2,)


def test_a_ledger_of_a_newer_release_is_refused(signed: Signed) -> None:
    with Ledger.open(signed.path) as ledger:
        ledger.append(Draft(kinds.Schema(release=999, digest="0" * 64)))
    with pytest.raises(Refused, match="is of release 999, and this package knows"):
        signed.sign()


def test_two_at_once_make_one_file_and_one_anchor(signed: Signed) -> None:
    signed.note("x")
    made: list[bool] = []
    threads = [threading.Thread(target=lambda: made.append(signed.sign().fresh)) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(made) == [False, False, False, True]
    assert signed.files() == ["000000000003.checkpoint", "000000000003.peaks"]
    assert signed.kinds().count("anchor") == 1


KILLED = """
import os, signal, sys
from pathlib import Path
import ledger.checkpoints._make as making
from ledger import Ledger
from ledger.tree import SigningKey
step, path, key = sys.argv[1:4]
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
if step.endswith("is written"):
    real, making.store = making.store, lambda path, data: (real(path, data), step.startswith(path.suffix) and die())
elif step == "half a note":
    def store(path, data):
        if path.suffix != ".checkpoint":
            return real(path, data)
        (path.parent / ".making").write_bytes(data[:9])
        die()
    real, making.store = making.store, store
else:
    append = Ledger.append
    Ledger.append = lambda self, *drafts: (append(self, *drafts), die())
making.make_checkpoint(path, SigningKey.parse(Path(key).read_text()))
"""


@pytest.mark.parametrize("step", [".peaks is written", "half a note", ".checkpoint is written", "the anchor is there"])
def test_the_call_after_one_that_was_killed_finishes_it(signed: Signed, tmp_path: Path, step: str) -> None:
    (tmp_path / "key").write_text(signed.key.secret_text())
    done = subprocess.run([sys.executable, "-c", KILLED, step, signed.path, tmp_path / "key"], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert verify(signed.path).verdict in {"CONSISTENT", "MATCHES CHECKPOINT"}
    there = "000000000002.checkpoint" in signed.files()
    anchored = "anchor" in signed.kinds()
    made = signed.sign()
    assert made.fresh == (not there)
    assert (made.anchor is None) == anchored
    assert signed.files() == ["000000000002.checkpoint", "000000000002.peaks"]
    assert signed.kinds() == ["genesis", "schema", "anchor"]
    assert verdict_with_key(signed) == ("MATCHES CHECKPOINT", ())


def test_an_anchor_that_is_missing_is_added_before_anything_new_is_signed(
    signed: Signed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise AppendFailed("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "append", fails)
        with pytest.raises(AppendFailed, match="The checkpoint is signed and stays in"):
            signed.sign()
    signed.note("meanwhile")
    made = signed.sign()
    assert signed.kinds() == ["genesis", "schema", "note", "anchor", "anchor"]
    assert (made.checkpoint.size, made.anchor) == (4, 5)
    with Ledger.open(signed.path, read_only=True) as ledger:
        assert [json.loads(event.body or "")["size"] for event in ledger.events(kind="anchor")] == [2, 4]


def test_another_key_finds_a_checkpoint_of_this_very_moment_and_says_what_to_do(
    signed: Signed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise AppendFailed("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "append", fails)
        with pytest.raises(AppendFailed):
            signed.sign()
    other = SigningKey.generate(signed.key.name)
    before = signed.files()
    with pytest.raises(Refused, match=r"of the same 2 events, by another key.*`ledger checkpoint` with that key"):
        Signed(signed.path, other).sign()
    assert signed.files() == before
    signed.sign()
    assert Signed(signed.path, other).sign().checkpoint.size == 3


def test_a_full_disk_leaves_no_half_of_a_note_and_no_event(signed: Signed) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signed.sign()
    signed.note("more")
    settle(signed.path)
    before = signed.files(), signed.kinds()
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, limits[1]))
        with pytest.raises(AppendFailed, match=r"File too large; it was not written"):
            signed.sign()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert signed.files() == sorted([*before[0], "000000000004.peaks"]), "the note was begun, and left nothing"
    assert signed.kinds() == before[1]
    assert signed.sign().fresh


def test_what_stands_where_the_folder_belongs_is_left_alone(signed: Signed) -> None:
    signed.folder.write_text("precious")
    with pytest.raises(AppendFailed, match="is no folder, and checkpoints go there"):
        signed.sign()
    assert signed.folder.read_text() == "precious"


def test_a_ledger_named_by_a_link_has_its_checkpoints_beside_the_file_itself(signed: Signed, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(signed.path)
    made = making.make_checkpoint(tmp_path / "link.db", signed.key)
    assert made.path.parent == signed.folder
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.db", "work"]


def test_the_origin_line_is_the_key_s_name(signed: Signed) -> None:
    assert signed.sign().path.read_text("utf-8").splitlines()[0] == origin_of(signed.path) == signed.key.name
