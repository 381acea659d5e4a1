"""Numbers and bytes of single events, each with the command that prints it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from harness.web._story import Item
from ledger import Ledger, LedgerError, NotFound, printable
from ledger.web import Figure, Source, cli, hash_of, sql, withheld_by

__all__ = ["BlobAt", "Numbers", "blob_at", "shown_event", "unreadable", "why_withheld"]


@dataclass(frozen=True)
class Numbers:
    """Figures out of the bodies of a cell's events, as `ledger log --run RUN --cell CELL` lists them."""

    source: Source

    @classmethod
    def of_cell(cls, run: str, cell: int) -> Numbers:
        """Those of one cell."""
        return cls(cli("ledger", "log", "--run", run, "--cell", str(cell)))

    def of(self, item: Item, *path: str | int, form: Any = "count") -> Figure:
        """The value at a path of a body; a dash where nothing stands there.

        What stands under a name that acts or hides is found by its place: no pointer with such a name is written down.
        """
        last = path[-1]
        if isinstance(last, str) and printable(last) != last:
            return _by_place(item, path[:-1], last, form)
        return self.source.at(f"/events/{item.index}/body{_pointer(path)}", _at(item.raw, path), form)


def _by_place(item: Item, parent: tuple[str | int, ...], name: str, form: Any) -> Figure:
    members = cast("dict[str, Any]", _at(item.raw, parent) or {})
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in parent)
    at = list(members).index(name) if name in members else 0
    query = (
        f"SELECT value FROM events, json_each(body, '${where}') WHERE seq = {item.seq}"  # noqa: S608 - our own words
        f" ORDER BY id LIMIT 1 OFFSET {at}"
    )
    return sql(query, members.get(name), form)


def shown_event(seq: int, raw: Mapping[str, Any], *path: str | int, form: Any = "count") -> Figure:
    """A figure out of the body of an event of another cell, as `ledger show` prints it."""
    return cli("ledger", "show", str(seq)).at(f"/body{_pointer(path)}", _at(raw, path), form)


def _pointer(path: tuple[str | int, ...]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        match value:
            case list() if isinstance(step, int):
                listed = cast("list[Any]", value)
                value = listed[step] if step < len(listed) else None
            case {**members}:
                value = members.get(str(step))
            case _:
                return None
    return value


@dataclass(frozen=True)
class BlobAt:
    """A blob that an event's body names. `data` is None where it can't be had, and `why` says so in a sentence."""

    seq: int
    name: str
    hash: str
    size: Figure
    data: bytes | None
    why: str = ""

    @property
    def plain(self) -> str:
        """The BLAKE3 of the bytes alone, as b3sum prints it; empty where they can't be had."""
        return "" if self.data is None else hash_of(self.data)


def blob_at(ledger: Ledger, item: Item, name: str, numbers: Numbers) -> BlobAt | None:
    """The blob of that name of an event; None where its body names none."""
    reference = item.body.blobs.get(name) if item.body is not None else None
    if reference is None:
        return None
    size = numbers.of(item, "blobs", name, "size", form="bytes")
    try:
        return BlobAt(item.seq, name, reference.hash, size, ledger.blob(item.event, name))
    except NotFound as problem:
        why = why_withheld(ledger, reference.hash) or str(problem)
    except LedgerError as problem:
        why = str(problem)
    return BlobAt(item.seq, name, reference.hash, size, None, why)


def unreadable(ledger: Ledger, item: Item | None) -> str:
    """Why the body of an event can't be read, in words that follow "is"; empty where it can."""
    if item is None or item.body is not None:
        return ""
    return item.problem or why_withheld(ledger, item.seq) or "gone, and no redaction names it"


def why_withheld(ledger: Ledger, target: int | str) -> str:
    """By which redaction a body (by seq) or a blob (by hash) is withheld, in a sentence; empty where none names it."""
    by = withheld_by(ledger, target)
    return f"withheld by event {by[0]} ({by[1]}: {by[2]})" if by else ""
