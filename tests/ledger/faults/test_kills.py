"""kill -9 during appends and while checkpoints are made: what was acknowledged is there, and the ledger verifies."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest

from ledger import Ledger, verify
from ledger.checkpoints._files import stored_checkpoints
from tests.ledger.faults.rig import Rig, assert_sound

ON_ONE_LEDGER = 20


def kill(rig: Rig, folder: Path, kills: int, chance: random.Random) -> tuple[int, int]:
    """Kill as often; returns how many events and how many checkpoints had been acknowledged."""
    path = folder / "ledger.db"
    Ledger.create(path).close()
    acknowledged: dict[int, str] = {}
    signed: dict[int, str] = {}
    for number in range(kills):
        played = rig.play("restless", folder, kill_after=chance.uniform(0.02, 0.3))
        assert played.status == -9, played
        assert not any("traceback" in each for each in played.told), played
        assert not acknowledged.keys() & played.acknowledged.keys(), "no seq is given twice"
        acknowledged |= played.acknowledged
        signed |= {each["checkpoint"]: each["text"] for each in played.told if "checkpoint" in each}
        assert_sound(path, acknowledged, number)
        stored = {each.signed.checkpoint.size: each.signed.checkpoint.text for each in stored_checkpoints(path)
                  if each.signed}  # fmt: skip
        assert {size: stored.get(size) for size in signed} == signed, number
        assert verify(path).verdict == ("MATCHES CHECKPOINT" if stored else "CONSISTENT"), number
    return len(acknowledged), len(signed)


def test_what_was_acknowledged_before_a_kill_is_there_checkpoints_too(rig: Rig, tmp_path: Path) -> None:
    folder = tmp_path / "ledger"
    folder.mkdir()
    events, _ = kill(rig, folder, 6, random.Random(6))
    assert events >= 6


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_two_hundred_kills_lose_nothing_that_was_acknowledged(rig: Rig) -> None:
    chance = random.Random(200)
    events = checkpoints = 0
    for _ in range(200 // ON_ONE_LEDGER):
        with tempfile.TemporaryDirectory() as above:
            folder = Path(above) / "ledger"
            folder.mkdir()
            more = kill(rig, folder, ON_ONE_LEDGER, chance)
            events, checkpoints = events + more[0], checkpoints + more[1]
    assert events > 500 and checkpoints > 20, (events, checkpoints)
