"""A snapshot takes along the checkpoints that its moment holds, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger import Ledger, LedgerExists, Outside, snapshot, verify
from tests.ledger.checkpoints.authority import Authority, authority_server
from tests.ledger.checkpoints.conftest import Signed
from tests.ledger.cli.conftest import Command


def copied(signed: Signed, target: Path) -> list[str]:
    with Ledger.open(signed.path, read_only=True) as ledger:
        snapshot(ledger, target)
    folder = target.with_name(target.name + ".checkpoints")
    return sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []


def test_a_snapshot_matches_the_checkpoints_that_it_took_along(
    signed: Signed, authority: Authority, tmp_path: Path
) -> None:
    signed.sign()
    signed.note("more")
    last = signed.sign()
    with authority_server(authority.answer) as (url, _):
        command = Command(signed.path.parent)
        assert command("anchor", "rfc3161", "--url", url).status == 0
    done = command("snapshot", tmp_path / "copy.db")
    assert f"Took 2 checkpoints along, into {tmp_path / 'copy.db.checkpoints'}\n" in done.out
    folder = tmp_path / "copy.db.checkpoints"
    assert sorted(each.name for each in folder.iterdir()) == signed.files()
    for name in signed.files():
        assert (folder / name).read_bytes() == (signed.folder / name).read_bytes()
    found = verify(tmp_path / "copy.db", Outside(keys=(signed.key.verifier,), require_checkpoint=True))
    assert (found.verdict, found.failures) == ("MATCHES CHECKPOINT", ())
    assert {each.size for each in found.checkpoints} == {2, last.checkpoint.size}


def test_checkpoints_of_later_moments_stay_behind(signed: Signed, tmp_path: Path) -> None:
    signed.sign()
    (signed.folder / "000000000099.checkpoint").write_bytes(b"made while the copy was")
    (signed.folder / "notes.txt").write_bytes(b"somebody's own")
    assert copied(signed, tmp_path / "copy.db") == ["000000000002.checkpoint", "000000000002.peaks"]


def test_a_checkpoint_that_does_not_hold_goes_along_and_the_copy_shows_it(signed: Signed, tmp_path: Path) -> None:
    made = signed.sign()
    text = made.checkpoint.text.splitlines()[2]
    made.path.write_bytes(made.path.read_bytes().replace(text.encode(), b"A" * 43 + b"="))
    copied(signed, tmp_path / "copy.db")
    assert verify(signed.path).verdict == verify(tmp_path / "copy.db").verdict == "TAMPERED"


def test_a_folder_of_checkpoints_that_stands_there_is_never_written_into(signed: Signed, tmp_path: Path) -> None:
    signed.sign()
    (tmp_path / "copy.db.checkpoints").mkdir()
    with pytest.raises(LedgerExists, match=r"copy\.db\.checkpoints exists already"):
        copied(signed, tmp_path / "copy.db")
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("copy")] == ["copy.db.checkpoints"]


def test_a_copy_whose_name_is_taken_meanwhile_leaves_no_checkpoints(
    signed: Signed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed.sign()
    target = tmp_path / "copy.db"
    import ledger._snapshot as snapshots

    real = snapshots.claim_name

    def taken(made: Path, path: Path) -> None:
        path.write_text("precious")
        real(made, path)

    monkeypatch.setattr(snapshots, "claim_name", taken)
    with pytest.raises(LedgerExists):
        copied(signed, target)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy.db", "work"]
    assert target.read_text() == "precious"


def test_without_checkpoints_there_is_no_folder(signed: Signed, tmp_path: Path) -> None:
    assert copied(signed, tmp_path / "copy.db") == []
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy.db", "work"]
