"""A table of a person's file, read key by key: each fault is one sentence with the file, the place and what to write.

Values come as tomllib gives them; what is none of the kinds asked for is refused, and so is a key nobody knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from harness._errors import SuiteError
from ledger import printable

__all__ = ["ID", "Table", "by_id", "got", "listed"]

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""What criteria, flags, tasks, references and fixtures may be called."""

_MOST_TEXT = 200_000
_SHOWN = 20
_T = TypeVar("_T")


def got(value: Any) -> str:
    """A value as a message shows it: short, and in characters that a terminal shows."""
    try:
        shown = ascii(value)
    except (RecursionError, ValueError):
        shown = "a value nested too deeply or too long to be shown"
    return shown if len(shown) <= 80 else shown[:80] + "…"


def listed(names: Iterable[str]) -> str:
    """What there is, for a message."""
    every = [printable(name) for name in names]
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return (", ".join(every[:_SHOWN]) or "none") + more


@dataclass(frozen=True)
class Table:
    """A table and where it stands. `file` is the file's path as people are shown it, `place` what of it this is, such
    as `criteria 2 (tone)`; empty for the file itself."""

    file: str
    place: str
    values: Mapping[str, Any]

    def fault(self, key: str, said: str) -> SuiteError:
        """What is wrong with a key, as the error to raise."""
        return SuiteError(": ".join(filter(None, (self.file, self.place, printable(key), said))))

    def only(self, *keys: str) -> None:
        """Raises for a key that isn't one of these."""
        unknown = [key for key in self.values if key not in keys]
        if unknown:
            raise self.fault("", f"unknown key {unknown[0]!a}; expected {', '.join(keys)}")

    def text(self, key: str, default: str | None = None, *, empty: bool = False) -> str:
        """A text without the character U+0000; not empty, unless `empty`."""
        if key not in self.values and default is not None:
            return default
        value = self.values.get(key)
        if not isinstance(value, str):
            raise self.fault(key, f"expected text, got {'nothing' if key not in self.values else got(value)}")
        if not value.strip() and not empty:
            raise self.fault(key, "expected text, got an empty one")
        if "\0" in value:
            raise self.fault(key, f"holds the character U+0000 (at {value.index(chr(0))}); take it out")
        if len(value) > _MOST_TEXT:
            raise self.fault(key, f"expected at most {_MOST_TEXT} characters, got {len(value)}")
        return value

    def id(self, key: str = "id") -> str:
        """An id: letters, digits, `_`, `.` and `-`."""
        value = self.text(key)
        if not ID.fullmatch(value):
            raise self.fault(key, f"expected up to 64 letters, digits, _ . and -, got {got(value)}")
        return value

    def integer(self, key: str, default: int | None = None, *, least: int = -1000, most: int = 1000) -> int:
        """A whole number; true and 1.0 are none."""
        value = self.values.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            said = "nothing" if value is None else got(value)
            raise self.fault(key, f"expected a whole number from {least} to {most}, got {said}")
        return value

    def flag(self, key: str) -> bool | None:
        """true, false, or None where the key isn't there."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.fault(key, f"expected true or false, got {got(value)}")
        return value

    def choice(self, key: str, choices: tuple[str, ...], default: str | None = None) -> str:
        """One of a few words."""
        value = self.values.get(key, default)
        if not isinstance(value, str) or value not in choices:
            said = "nothing" if value is None else got(value)
            wanted = " or ".join(f'"{each}"' for each in choices)
            raise self.fault(key, f"expected {wanted}, got {said}")
        return value

    def table(self, key: str) -> Table:
        """A table inside this one; an empty one where the key isn't there."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.fault(key, f"expected a table, got {got(value)}")
        return Table(self.file, f"{self.place}.{key}" if self.place else key, cast("dict[str, Any]", value))

    def tables(self, key: str) -> list[Table]:
        """The tables of a list [[key]], each with its number and, where it has one, its id."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in cast("list[Any]", value)):
            raise self.fault(key, f"expected tables [[{key}]], got {got(value)}")
        found: list[Table] = []
        for number, each in enumerate(cast("list[dict[str, Any]]", value), start=1):
            name = each.get("id", each.get("name"))
            called = f" ({printable(name)})" if isinstance(name, str) and 0 < len(name) <= 64 else ""
            found.append(Table(self.file, f"{key} {number}{called}", each))
        return found

    def texts(self, key: str, default: Iterable[str] = (), *, empty: bool = True) -> tuple[str, ...]:
        """A list of texts, none twice."""
        if key not in self.values:
            return tuple(default)
        value = self.values[key]
        if not isinstance(value, list) or not all(isinstance(each, str) and each for each in cast("list[Any]", value)):
            raise self.fault(key, f"expected a list of texts, got {got(value)}")
        found = tuple(cast("list[str]", value))
        if not found and not empty:
            raise self.fault(key, "expected at least one, got an empty list")
        for each in found:
            if "\0" in each:
                raise self.fault(key, "holds the character U+0000; take it out")
            if found.count(each) > 1:
                raise self.fault(key, f"{got(each)} stands twice")
        return found

    def known(self, key: str, name: Any, there: Mapping[str, _T], what: str) -> _T:
        """What `name` names among `there`; raises, naming what there is."""
        if not isinstance(name, str) or name not in there:
            raise self.fault(key, f"expected a {what}, got {got(name)}; there are {listed(there)}")
        return there[name]


def by_id(tables: Iterable[Table], read: Callable[[Table], _T]) -> dict[str, _T]:
    """What the tables hold, by their ids; an id that stands twice is refused."""
    found: dict[str, _T] = {}
    for each in tables:
        name = each.id()
        if name in found:
            raise each.fault("id", f"{name!a} stands twice; give each its own")
        found[name] = read(each)
    return found
