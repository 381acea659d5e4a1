"""Numbers of pages held against where they say that they come from: the commands and queries themselves are run.

Nothing of the pages' own code is used: commands run as typed, queries through plain sqlite3, and texts are made anew.
"""

from __future__ import annotations

import json
import shlex
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from tests.web.crawling import Number

__all__ = ["Sources", "said"]


def _grouped(value: int | float) -> str:
    whole, dot, rest = str(value).partition(".")
    sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    groups: list[str] = []
    while digits:
        digits, last = digits[:-3], digits[-3:]
        groups.insert(0, last)
    return sign + ",".join(groups) + dot + rest


def _rounded(value: float, places: int) -> str:
    return str(Decimal(value).quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN))


def said(value: Any, form: str) -> str:
    """What a page has to write for a value of that form."""
    if value is None:
        return "–"
    if isinstance(value, str | bool) or form in ("plain", "text"):
        return str(value)
    if form == "percent":
        return f"{_rounded(100 * value, 1)}%"
    if form == "decimal":
        return _rounded(value, 3)
    if form == "ms":
        if value < 10_000:
            return f"{_grouped(int(_rounded(value, 0)))} ms"
        return f"{_grouped(float(_rounded(value / 1000, 1)))} s"
    if form == "bytes":
        return f"{_grouped(value)} bytes"
    if form in ("points", "signed"):
        shown = _rounded(100 * value, 1) if form == "points" else _rounded(value, 3)
        return ("" if shown.startswith("-") else "+") + shown + (" points" if form == "points" else "")
    if form == "p":
        return _rounded(value, 4) if value >= 0.0001 else format(value, ".1e")
    assert form == "count", f"an unknown form: {form!r}"
    return _grouped(value)


def _followed(document: Any, pointer: str) -> Any:
    """What stands at a JSON pointer (RFC 6901). Raises LookupError where nothing does."""
    found = document
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = found[int(key)]
        elif isinstance(found, dict):
            found = found[key]
        else:
            raise LookupError(f"{token!r} of {str(found)[:80]}")
    return found


class Sources:
    """What commands and queries say of one ledger; each is run once."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger
        self._printed: dict[str, Any] = {}
        self._found: dict[str, Any] = {}

    @property
    def commands(self) -> Sequence[str]:
        """The commands that ran."""
        return sorted(self._printed)

    def wrong(self, number: Number) -> str:
        """What is wrong with a number, in a sentence; empty where nothing is."""
        where = f"{number.page}: {number.text!r} ({number.command or number.query} {number.pointer})"
        if bool(number.command) == bool(number.query):
            return f"{where}: one source was expected"
        try:
            value = self._query(number.query) if number.query else self._command(number.command, number.pointer)
        except (LookupError, ValueError, sqlite3.Error, AssertionError) as problem:
            return f"{where}: the source can't be read: {type(problem).__name__} {problem}"
        if value != number.value or isinstance(value, bool) != isinstance(number.value, bool):
            return f"{where}: the source says {value!r}, the page {number.value!r}"
        text = said(value, number.form)
        return "" if text == number.text else f"{where}: expected the text {text!r} of {value!r}"

    def _query(self, query: str) -> Any:
        if query not in self._found:
            with closing(sqlite3.connect(f"file:{self._ledger}?mode=ro", uri=True)) as connection:
                rows = connection.execute(query).fetchall()
            assert len(rows) == 1 and len(rows[0]) == 1, f"one value was expected, got {len(rows)} rows"
            self._found[query] = rows[0][0]
        return self._found[query]

    def _command(self, command: str, pointer: str) -> Any:
        if command not in self._printed:
            self._printed[command] = self._run(command)
        return _followed(self._printed[command], pointer)

    def _run(self, command: str) -> Any:
        from harness.cli import app as harness_app
        from ledger.cli import app as ledger_app

        program, *words = shlex.split(command)
        app = {"harness": harness_app, "ledger": ledger_app}[program]
        done = CliRunner().invoke(app, [*words, "--json", "--db", str(self._ledger)], standalone_mode=False)
        assert done.exception is None, f"{command}: {done.exception!r}"
        return json.loads(done.stdout)
