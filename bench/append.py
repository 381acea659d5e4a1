"""Events/s appended, one by one and 100 a commit, against plain sqlite3 inserting the same ready-made rows.

The plain side gets the finished rows of the very ledger that was just written: same tables and indexes, same pragmas,
same commits, no guards, no hashing, nothing checked. Bodies are built before the clock starts on either side. Rounds
alternate, and each figure is the median of its rounds. Run with `python bench/append.py [EVENTS]`.

The last column is the ledger's rate with its look at the file under it before every acknowledgement (ledger._same_file)
over its rate without that look.
"""

from __future__ import annotations

import gc
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ledger import Draft, Ledger
from ledger._same_file import SameFile
from ledger._schema import RELEASE, format_objects, release_objects
from ledger.kinds import Cell, Request, Response, Score

ROUNDS = 6
HEADERS = [("content-type", "application/json"), ("user-agent", "eval-ledger"), ("accept-encoding", "identity")]
DIGEST = "0123456789abcdef" * 4


def drafts(count: int, first: int) -> list[Draft]:
    """What a run writes: for each cell a cell, a request, a response (both with a blob) and a score."""
    made: list[Draft] = []
    run = "benchmarkbenchmk"
    question, answer = os.urandom(700), os.urandom(1200)
    for cell in range(1, count // 4 + 1):
        seq = first + len(made)
        made.append(
            Draft(
                Cell(
                    case=f"case-{cell}", fixture="bench", identity=DIGEST, input=DIGEST, gold=DIGEST,
                    candidate="openai/bench", arm="", epoch=1, twin=0,
                ),
                run=run, cell=cell,
            )
        )  # fmt: skip
        made.append(
            Draft(
                Request(attempt=0, turn=0, method="POST", url="http://127.0.0.1/v1/chat/completions", headers=HEADERS),
                run=run, cell=cell, causes=[seq], blobs={"body": question},
            )
        )  # fmt: skip
        made.append(
            Draft(
                Response(attempt=0, turn=0, status=200, headers=HEADERS, whole=True, headers_ms=12, total_ms=40),
                run=run, cell=cell, causes=[seq + 1], blobs={"body": answer},
            )
        )  # fmt: skip
        made.append(
            Draft(
                Score(
                    rules="bench@0123456789ab", outcome="correct", status="parsed", stage="", reason="", domain="",
                    value=None, applies=["exact"], metrics={"exact": 1.0},
                ),
                run=run, cell=cell, causes=[seq + 2],
            )
        )  # fmt: skip
    return made


def append(path: Path, count: int, size: int) -> float:
    with Ledger.create(path) as ledger:
        waiting = drafts(count, ledger.head()[0] + 1)
        # The drafts that wait here would be walked by every collection; a run never holds so many at once.
        gc.collect()
        gc.freeze()
        start = time.perf_counter()
        for at in range(0, len(waiting), size):
            ledger.append(*waiting[at : at + size])
        took = time.perf_counter() - start
        gc.unfreeze()
        return len(waiting) / took


@contextmanager
def unwatched() -> Generator[None]:
    """The ledger without its look at the file under it, for what that look costs."""
    look = SameFile.look
    SameFile.look = lambda *_, **__: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        SameFile.look = look  # type: ignore[method-assign]


def ready_made(path: Path) -> list[list[tuple[str, Sequence[object]]]]:
    """The ledger's rows as (statement, values), event by event, without what `create` wrote."""
    source = sqlite3.connect(path)
    rows: dict[int, list[tuple[str, Sequence[object]]]] = {}
    for row in source.execute("SELECT * FROM events WHERE seq > 2 ORDER BY seq"):
        rows[row[0]] = [(f"INSERT INTO events VALUES ({','.join('?' * 12)})", row)]
    for row in source.execute("SELECT * FROM edges ORDER BY effect, cause"):
        rows[row[1]].append(("INSERT INTO edges VALUES (?,?)", row))
    for row in source.execute("SELECT * FROM blobs ORDER BY id"):
        rows[row[2]].append(("INSERT INTO blobs VALUES (?,?,?,?,?,?)", row))
    source.close()
    return list(rows.values())


def insert(path: Path, rows: list[list[tuple[str, Sequence[object]]]], size: int) -> float:
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    release = release_objects(RELEASE)
    assert release is not None
    for kind, _, _, sql in sorted((*format_objects().rows, *release.rows), key=lambda row: row[0], reverse=True):
        if sql is not None and kind == "table":
            connection.execute(sql)
    for kind, _, _, sql in release.rows:
        if sql is not None and kind == "index":
            connection.execute(sql)
    start = time.perf_counter()
    for at in range(0, len(rows), size):
        connection.execute("BEGIN IMMEDIATE")
        for event in rows[at : at + size]:
            for statement, values in event:
                connection.execute(statement, values)
        connection.execute("COMMIT")
    took = time.perf_counter() - start
    connection.close()
    return len(rows) / took


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    print(f"{'':<16}{'ledger ev/s':>14}{'plain ev/s':>14}{'ledger/plain':>14}{'with/without look':>20}")
    for label, size, events in (("one by one", 1, max(400, count // 10)), ("100 a commit", 100, count)):
        ours: list[float] = []
        plain: list[float] = []
        bare: list[float] = []
        for number in range(ROUNDS):
            with tempfile.TemporaryDirectory(prefix="bench-") as folder:
                # The second of two in a folder is the quicker one, so they take turns.
                for watched in (number % 2 == 0, number % 2 == 1):
                    if watched:
                        ours.append(append(Path(folder) / f"{number}.db", events, size))
                    else:
                        with unwatched():
                            bare.append(append(Path(folder) / "bare.db", events, size))
                plain.append(insert(Path(folder) / "plain.db", ready_made(Path(folder) / f"{number}.db"), size))
        left, right, less = statistics.median(ours), statistics.median(plain), statistics.median(bare)
        print(f"{label:<16}{left:>14,.0f}{right:>14,.0f}{left / right:>14.2f}{left / less:>20.3f}")


if __name__ == "__main__":
    main()
