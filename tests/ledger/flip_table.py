"""The table of docs/TAMPER.md: every bit of a ledger's file flipped in turn, counted by place, and explained.

    python -m tests.ledger.flip_table

makes the ledger, flips, and prints the table; an hour or so of one processor.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.ledger.flips import every_flip, ledger_of_sixty
from tests.ledger.pages import HEADER, PAGES, PARTS

__all__ = ["EXPLAINED", "HEADINGS", "labels", "table"]

HEADINGS = ("Place", "Bits", "TAMPERED", "unreadable", "packed otherwise", "nothing, reported", "nothing, not seen",
            "Why not seen")  # fmt: skip
_NOTHING = ("unchanged, not seen", "unchanged, not asked")
_GAP = "between what is stored; nothing is ever read there"

EXPLAINED = {
    "file header: write and read version": "rows read the same, and an append works as before or is refused",
    "file header: change counter": "says that a page changed, which only open caches ask",
    "file header: schema cookie": "says that the schema changed, which only prepared statements ask",
    "file header: schema format": "the upper three bytes aren't read, and an older format reads the same here",
    "file header: cache size": "a suggestion of how much memory to use",
    "file header: text encoding": "of the number only the two lowest bits are read",
    "file header: user version": "a number for applications; this one has none",
    "file header: reserved": "kept for later versions of SQLite, read by none",
    "file header: version-valid-for": "says whether the size in pages can be relied on; else the file's own is taken",
    "file header: SQLite version": "which SQLite wrote last; a note for people",
    "schema leaf: payload size and rowid": "the rowid of a row of the schema, which nothing refers to",
    "schema leaf: free blocks": _GAP,
    "schema leaf: unallocated": _GAP,
    "schema interior: unallocated": _GAP,
    "table leaf: record header": "the type of the column that is the row's key, which SQLite takes from elsewhere; or"
    " of a last NULL, which may be left out",
    "table leaf: free blocks": _GAP,
    "table leaf: unallocated": _GAP,
    "table interior: unallocated": _GAP,
    "index leaf: free blocks": _GAP,
    "index leaf: unallocated": _GAP,
    "index interior: unallocated": _GAP,
    "overflow: unused": "behind the end of a long value; nothing is ever read there",
    "freelist trunk: unused": "a free page's rest; `secure_delete` has filled it with zeros",
    "freelist leaf: unused": "a free page; `secure_delete` has filled it with zeros",
}
"""Why flips there can go unnoticed: they change no row and no text of the schema."""


def labels() -> list[str]:
    """Every place there can be, in the table's order."""
    return [f"file header: {name}" for name, _, _ in HEADER] + [f"{page}: {part}" for page in PAGES for part in PARTS]


def table(counts: Counter[tuple[str, str]]) -> list[str]:
    """The table's lines in Markdown. Fails where flips went unnoticed that nobody explains."""
    rows: list[tuple[str, ...]] = [HEADINGS]
    total: Counter[str] = Counter()
    for label in labels():
        found = Counter({outcome: number for (place, outcome), number in counts.items() if place == label})
        if not found:
            continue
        total += found
        assert not found["not noticed"], label
        silent = sum(found[outcome] for outcome in _NOTHING)
        assert not silent or label in EXPLAINED, label
        rows.append((label, *_numbers(found), EXPLAINED[label] if silent else ""))
    rows.append(("all", *_numbers(total), ""))
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [lines[0], f"|---|{'--:|' * (len(HEADINGS) - 2)}---|", *lines[1:]]


def _numbers(found: Counter[str]) -> list[str]:
    seen = [found[outcome] for outcome in ("TAMPERED", "unreadable", "packed otherwise", "unchanged, reported")]
    return [f"{number:,}" if number else "" for number in (found.total(), *seen, sum(found[each] for each in _NOTHING))]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = ledger_of_sixty(Path(folder) / "ledger.db")
        bits = 8 * path.stat().st_size

        def progress(counts: Counter[tuple[str, str]]) -> None:
            print(f"\r{counts.total():,} of {bits:,}", end="", file=sys.stderr, flush=True)

        print("\n".join(table(every_flip(path, progress=progress))))


if __name__ == "__main__":
    main()
