"""Functions that other packages bring to the queries of `Ledger.frame`: SQLite can unpack no blob and decode no reply.

`ledger` knows none of them. A package offers some as an entry point of the group `eval_ledger.functions`, a
`Functions`. They read, and append nothing; the file's own views never call one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from ledger._errors import LedgerError

if TYPE_CHECKING:
    from ledger._store import Ledger

__all__ = ["GROUP", "Functions", "calling", "columns_of"]

GROUP = "eval_ledger.functions"


@dataclass(frozen=True, slots=True)
class Functions:
    """`made` gives, for an open ledger, the functions by name, each with how many arguments it takes; one returns a
    text, or None for NULL, and never raises. `columns` adds, to the frame of a view, columns by name, each a call."""

    made: Callable[[Ledger], Mapping[str, tuple[int, Callable[..., str | None]]]]
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])


def columns_of(view: str) -> dict[str, str]:
    """What installed packages add to the frame of a view: the SQL of each column, by its name."""
    return {name: call for each in _installed() for name, call in each.columns.get(view, {}).items()}


@contextmanager
def calling(connection: sqlite3.Connection, ledger: Ledger) -> Generator[None]:
    """Every installed function can be called on the connection until this ends. They read through `ledger`, which must
    have a connection of its own."""
    made = {name: each for some in _installed() for name, each in some.made(ledger).items()}
    for name, (count, function) in made.items():
        connection.create_function(name, count, function)
    try:
        yield
    finally:
        for name, (count, _) in made.items():
            connection.create_function(name, count, None)


@cache
def _installed() -> tuple[Functions, ...]:
    points = sorted(entry_points(group=GROUP), key=lambda each: each.name)
    return tuple(_load(point) for point in points)


def _load(point: Any) -> Functions:
    try:
        found = point.load()
    except (ImportError, AttributeError) as problem:
        raise LedgerError(f"the functions {point.name!a} ({point.value}) can't be loaded: {problem}") from None
    assert isinstance(found, Functions)
    return found
