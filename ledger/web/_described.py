"""What a ledger's tables, views and columns are, in words: promises out of .sql files, and columns from a list.

The views' promises are those of this release; columns.toml lies beside this file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from ledger._schema import RELEASE

__all__ = ["columns_of", "promise", "relations"]


def promise(sql: str) -> str:
    """The comment that a .sql file opens with, as one paragraph."""
    lines: list[str] = []
    for line in sql.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").strip())
    text = " ".join(lines).removeprefix("Promises: ")
    return text[:1].upper() + text[1:]


@cache
def _listed() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((files("ledger.web") / "columns.toml").read_text("utf-8"))


@cache
def relations() -> Mapping[str, str]:
    """What each table and view promises, by its name."""
    found = dict(_listed()["table"])
    folder = files("ledger") / "views" / f"r{RELEASE}"
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        name = entry.name.removesuffix(".sql").partition("_")[2]
        if name != "indexes":
            found[name] = promise(entry.read_text("utf-8")).replace("`", "")
    return found


@cache
def _names() -> Mapping[str, tuple[str, ...]]:
    import sqlite3

    from ledger._schema import install

    with_all = sqlite3.connect(":memory:")
    try:
        install(with_all)
        return {
            name: tuple(str(row[0]) for row in with_all.execute("SELECT name FROM pragma_table_info(?)", (name,)))
            for name in relations()
        }
    finally:
        with_all.close()


def columns_of(name: str) -> dict[str, str]:
    """What each column of a table or view says, in the order in which they stand. A new dict each time."""
    any_of, own = _listed()["any"], _listed().get(name, {})
    return {
        column: said for column in _names().get(name, ()) if (said := own.get(column) or any_of.get(column))
    }  # fmt: skip
