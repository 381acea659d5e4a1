"""The n-th write, sync, cut, rename, link or unlink of a small ledger's life goes wrong: nothing acknowledged is lost.

The life: made by the release before this one, ten appends, a checkpoint, a redaction, an upgrade, a note. After the
command that met the failure a note is appended by a ledger that nothing hinders; it must be taken.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger import Draft, Ledger, verify
from ledger.checkpoints._files import stored_checkpoints
from ledger.kinds import Note
from tests.ledger.faults.rig import FAIL_SYNC, MODES, Played, Rig, assert_sound

SECRET = b"what is withheld later"
DOCUMENTED = {1, 2, 3, 4}
SAMPLE = 6


@pytest.fixture
def fast(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: syncs are counted here, not waited for."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path, prefix="faults-") as folder:
        yield Path(folder)


def play(rig: Rig, folder: Path, n: int, how: str) -> Played:
    folder.mkdir()
    mode, error = MODES[how]
    return rig.play("everything", folder, n=n, mode=mode, error=error)


def check(played: Played, folder: Path, case: object) -> None:
    killed = played.status == -9
    assert killed or played.status == 0, case
    for each in played.told:
        assert "traceback" not in each, (case, each)
        if each.get("status"):
            assert each["status"] in DOCUMENTED, (case, each)
            *_, last = each["errors"].splitlines()
            assert last.startswith("error: ") and each["errors"].count("\nerror: ") <= 1, (case, each)
            assert "Traceback" not in each["errors"] and "fault of this program" not in each["errors"], (case, each)
    path = folder / "ledger.db"
    acknowledged = played.acknowledged
    if not killed:
        assert played.told[-1].get("status", 0) == 0, (case, "what came after the failure", played.told[-1])
    if not path.exists():
        assert killed and not acknowledged and not any(each["status"] == 0 for each in played.commands("init")), case
        return
    assert_sound(path, acknowledged, case)
    if any(each["status"] == 0 for each in played.commands("redact")):
        for file in folder.glob("ledger.db*"):
            assert file.is_dir() or SECRET + b" 1" not in file.read_bytes(), (case, file)
    with Ledger.open(path) as opened:
        opened.append(Draft(Note(text="after the failure")))
    assert_sound(path, acknowledged, case)
    if any(each["status"] == 0 for each in played.commands("checkpoint")):
        assert stored_checkpoints(path), case
        assert verify(path).verdict == "MATCHES CHECKPOINT", case


def check_each(rig: Rig, fast: Path, cases: list[tuple[int, str]]) -> None:
    for number, (n, how) in enumerate(cases):
        folder = fast / str(number)
        check(play(rig, folder, n, how), folder, f"call {n} {how}")
        shutil.rmtree(folder)
        shutil.rmtree(folder.with_suffix(".told"), ignore_errors=True)


def every_call(rig: Rig, fast: Path) -> int:
    """How many calls an undisturbed life makes."""
    folder = fast / "undisturbed"
    folder.mkdir()
    played = rig.play("everything", folder)
    assert all(each["status"] == 0 for each in played.told if "status" in each), played.told
    assert len(played.acknowledged) >= 12
    check(played, folder, "undisturbed")
    assert not list(folder.glob(".ledger-*")), "nothing is left behind"
    return played.calls


def test_a_call_that_goes_wrong_anywhere_in_a_ledger_s_life_loses_nothing_acknowledged(rig: Rig, fast: Path) -> None:
    calls = every_call(rig, fast)
    assert calls > 300
    ways = list(MODES)
    places = [1 + (calls * part) // SAMPLE for part in range(SAMPLE)]
    check_each(rig, fast, [(n, ways[index % len(ways)]) for index, n in enumerate(places)])


def test_an_append_that_failed_because_a_sync_did_is_not_there_after_a_crash_either(rig: Rig, fast: Path) -> None:
    # Its transaction stands whole in the log, which whoever opens the ledger after a crash recovers.
    said: list[str] = []
    for n in range(1, 8):
        folder = fast / str(n)
        folder.mkdir()
        path = folder / "ledger.db"
        Ledger.create(path).close()
        played = rig.play("refused", folder, n=n, mode=FAIL_SYNC, error=5)
        failed = [each for each in played.told if "failed" in each]
        assert played.status == (-9 if failed else 0), played
        assert_sound(path, played.acknowledged, n)
        with Ledger.open(path, read_only=True) as opened:
            texts = {str(event.body) for event in opened.events(kind="note")}
        for each in failed:
            assert "nothing of this append was written" in each["said"]
            assert not any(each["failed"] in text for text in texts), (n, each)
            said.append(each["said"])
    assert len(said) >= 5, "the sync of a commit was made to fail"


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("how", MODES)
def test_no_call_that_goes_wrong_loses_anything_acknowledged(rig: Rig, fast: Path, how: str) -> None:
    # A life that goes on after a failure makes more calls than an undisturbed one, so the last ones are of those.
    check_each(rig, fast, [(n, how) for n in range(1, every_call(rig, fast) + 1)])
