"""What takes room: `ledger stats`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ledger._said import aimed
from ledger.cli._options import DEFAULT_DB, AsJson, Db
from ledger.cli._output import Words, emit_json, table

if TYPE_CHECKING:
    from ledger._stats import Room, Stats

__all__ = ["stats"]


def stats(
    db: Db = DEFAULT_DB,
    runs: Annotated[int, typer.Option(min=0, max=10_000, help="How many of the biggest runs to name.")] = 10,
    as_json: AsJson = False,
) -> int:
    """Say what takes room: events by kind, blobs by name, runs, indexes, and what compressing would save."""
    from ledger._stats import stats as measure
    from ledger._store import Ledger

    with Ledger.open(db, read_only=True) as ledger:
        found = measure(ledger, runs=runs)
    if as_json:
        emit_json(found.as_json())
        return 0
    words = Words(as_json=False)
    for line in _lines(found, str(db)):
        words(line)
    return 0


def _lines(found: Stats, db: str) -> Iterator[str]:
    yield f"{db}: {found.file:,} bytes, and {found.log:,} in its log; {found.free:,} of them on free pages"
    yield ""
    yield from _rooms(f"{found.events:,} events, as stored, without their blobs", found.kinds)
    if found.names:
        yield ""
        yield f"{found.blobs:,} blobs, by the event that has them and their name"
        yield from table(
            ["blobs", "count", "stored", "plain", "compressed", "withheld"],
            [
                [each.name, each.count, each.bytes, "?" if each.plain is None else each.plain, each.packed or 0,
                 each.withheld]
                for each in found.names
            ],
        )  # fmt: skip
    if found.runs:
        yield ""
        yield from _rooms("the biggest runs, events and blobs", found.runs)
    yield ""
    if found.indexes:
        yield from _rooms("indexes and edges, whole pages", found.indexes)
    else:
        whole = sum(each.bytes for each in (*found.kinds, *found.names)) + found.free
        yield f"indexes and page overhead: about {max(0, found.file - whole):,} bytes (this SQLite can't measure them)"
    yield ""
    if found.saving is None:
        yield "No blob is left to compress."
    else:
        yield (
            f"{aimed('`ledger upgrade --compress`', db)} would save about {found.saving:,} bytes"
            f" (worked out on {found.sampled} of the blobs)."
        )


def _rooms(title: str, rooms: Sequence[Room]) -> Iterator[str]:
    yield title
    yield from table(["", "count", "bytes"], [[each.name, each.count, each.bytes] for each in rooms])
