"""What a power cut leaves, built from a journal of what was written and what was synced: nothing acknowledged is lost.

SIGKILL takes no write back; a power cut can. In every state tried here, of each file all that its last sync covered is
there, and of what was written after it nothing, or a part by chance (whole writes, or the first half of one). A file
that was removed may be back, since the folder may not have been written yet; one that was synced has its name.
"""

from __future__ import annotations

import json
import random
import sqlite3
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ledger import Ledger, LedgerError, verify
from tests.ledger.faults.rig import GOOD, Rig

CHANCES = 2


class Call(NamedTuple):
    """A line of the shim's journal: a write, sync, cut or removal of a file, or a mark."""

    what: str
    path: str
    offset: int
    data: bytes


@dataclass
class File:
    """A file's bytes as of its last sync, and the calls that came after it. None: there is no such file."""

    synced: bytes | None = None
    since: list[Call] = field(default_factory=list)


def journal(data: bytes) -> Iterator[Call]:
    at = 0
    while at < len(data):
        what, length, offset, size = struct.unpack_from("<4Q", data, at)
        at += 32
        path = data[at : at + length].decode()
        at += length
        held = size if chr(what) == "w" else 0
        yield Call(chr(what), path, offset, data[at : at + held])
        at += held


def applied(base: bytes | None, calls: list[Call]) -> bytes | None:
    content = None if base is None else bytearray(base)
    for call in calls:
        if call.what == "u":
            content = None
            continue
        content = bytearray() if content is None else content
        if call.what == "w":
            content.extend(bytes(max(0, call.offset - len(content))))
            content[call.offset : call.offset + len(call.data)] = call.data
        else:
            del content[call.offset :]
            content.extend(bytes(call.offset - len(content)))
    return None if content is None else bytes(content)


def some(calls: list[Call], chance: random.Random) -> list[Call]:
    kept: list[Call] = []
    for call in calls:
        drawn = chance.random()
        if drawn < 0.45:
            kept.append(call)
        elif drawn < 0.55 and call.what == "w":
            kept.append(call._replace(data=call.data[: len(call.data) // 2]))
    return kept


def states(
    calls: list[Call], files: dict[str, File], chance: random.Random
) -> Iterator[tuple[dict[str, bytes | None], dict[int, str]]]:
    """At every mark and every sync: what a power cut may leave of the files, and what was acknowledged until then."""
    acknowledged: dict[int, str] = {}
    for call in calls:
        if call.what == "m":
            told: dict[str, Any] = json.loads(call.path)
            if told.get("command") == "redact" and told["status"] == 0:
                told = json.loads(told["out"])
            if "seq" in told:
                acknowledged[told["seq"]] = told["hash"]
        elif call.what == "s":
            file = files.setdefault(call.path, File())
            file.synced = applied(file.synced, file.since)
            file.since = []
        else:
            files.setdefault(call.path, File()).since.append(call)
            continue
        yield {path: file.synced for path, file in files.items()}, dict(acknowledged)
        for _ in range(CHANCES):
            yield (
                {path: applied(file.synced, some(file.since, chance)) for path, file in files.items()},
                dict(acknowledged),
            )


def lost(rig: Rig, tmp_path: Path, synchronous: str) -> Iterator[list[str]]:
    """Play, and say of one state after another what was lost or is wrong in it."""
    folder, after = tmp_path / "ledger", tmp_path / "after"
    folder.mkdir()
    after.mkdir()
    path = folder / "ledger.db"
    Ledger.create(path).close()
    files = {str(path): File(path.read_bytes())}
    written = tmp_path / "journal"
    played = rig.play("durable", folder, journal=str(written), synchronous=synchronous)
    assert played.status == 0 and not any("traceback" in each for each in played.told), played
    assert len(played.acknowledged) == 10, played.told
    for state, acknowledged in states(journal(written.read_bytes()), files, random.Random(1)):
        for each in after.iterdir():
            each.unlink()
        for name, content in state.items():
            if content is not None and name.endswith((".db", "-wal")):
                (after / Path(name).name).write_bytes(content)
        yield wrong(after / "ledger.db", acknowledged)


def wrong(path: Path, acknowledged: dict[int, str]) -> list[str]:
    try:
        verdict = verify(path)
        with Ledger.open(path) as opened:
            stored = {event.seq: event.hash for event in opened.events()}
    except (LedgerError, sqlite3.Error) as problem:
        return [str(problem)]
    found = [] if verdict.verdict in GOOD and not verdict.problems else [f"{verdict.verdict}: {verdict.problems[:2]}"]
    gone = [seq for seq, digest in acknowledged.items() if stored.get(seq) != digest]
    return found + ([f"acknowledged and lost: {gone}"] if gone else [])


def test_a_power_cut_loses_nothing_that_was_acknowledged(rig: Rig, tmp_path: Path) -> None:
    found = list(lost(rig, tmp_path, "FULL"))
    assert {number: each for number, each in enumerate(found, 1) if each} == {}
    assert len(found) > 100


@pytest.mark.parametrize("synchronous", ["NORMAL", "OFF"])
def test_with_fewer_syncs_than_the_ledger_insists_on_a_power_cut_does_lose_events(
    rig: Rig, tmp_path: Path, synchronous: str
) -> None:
    found = (problem for problems in lost(rig, tmp_path, synchronous) for problem in problems)
    assert any("acknowledged and lost" in each for each in found), "the check above can fail"
