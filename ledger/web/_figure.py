"""Numbers on a page, each with where it comes from: a command line and a place in its JSON, or a query over views.

So every number can be found again by whoever doubts the page, and a test that does so for all of them holds the pages
to the command line.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup, escape

from ledger._screen import printable

__all__ = ["Figure", "Form", "Source", "cli", "figure_text", "sql"]

Form = Literal["count", "plain", "percent", "decimal", "ms", "text", "bytes", "points", "signed", "p"]
Number = int | float | str | bool | None
_OFF = 1e-12
"""More than floats of shares and of grades miss decimal fractions by, and less than any difference of answers."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where numbers come from: `command` (`--json` and `--db` go without saying), or `query`, SQL of one value."""

    command: str = ""
    query: str = ""

    def at(self, pointer: str, value: Number, form: Form = "count") -> Figure:
        """The number at a JSON pointer (RFC 6901) of what the command prints."""
        return Figure(value, form, self, pointer)


def cli(*words: str) -> Source:
    """The command line as typed, such as cli("harness", "report", run)."""
    return Source(command=" ".join(words))


def sql(query: str, value: Number, form: Form = "count") -> Figure:
    """A number that one row and column of a query over the ledger's views gives. Values stand in it as literals."""
    return Figure(value, form, Source(query=query), "")


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as a page shows it. Drawn as <data>, with its source beside it."""

    value: Number
    form: Form
    source: Source
    pointer: str

    @property
    def text(self) -> str:
        """As people read it."""
        return figure_text(self.value, self.form)

    def __html__(self) -> str:
        # A page may hold thousands of these, so each is put together once: all that is let through is escaped here.
        command, query = self.source.command, self.source.query
        where = f' data-sql="{escape(query)}"' if query else f' data-cli="{escape(command)}"' if command else ""
        at = f' data-at="{escape(self.pointer)}"' if self.pointer else ""
        title = escape(printable(query or f"{command} --json, {self.pointer}"))
        value = escape(json.dumps(self.value))
        return Markup(  # noqa: S704 - every part that comes from anywhere is escaped
            f'<data value="{value}"{where}{at} data-form="{self.form}" title="{title}">{escape(self.text)}</data>'
        )


def figure_text(value: Number, form: Form) -> str:
    """A number in words of its form; a dash for what isn't known."""
    if value is None:
        return "–"
    if isinstance(value, str | bool) or form in ("plain", "text"):
        return str(value)
    match form:
        case "percent":
            return f"{100 * value:.1f}%"
        case "decimal":
            return f"{value:.3f}"
        case "ms":
            return f"{value:,.0f} ms" if value < 10_000 else f"{value / 1000:,.1f} s"
        case "bytes":
            return f"{value:,} bytes"
        # A difference that only the arithmetic of floats keeps from 0 has no sign.
        case "points":
            return f"{100 * value if abs(value) >= _OFF else 0.0:+.1f} points"
        case "signed":
            return f"{value if abs(value) >= _OFF else 0.0:+.3f}"
        case "p":
            return f"{value:.4f}" if value >= 0.0001 else f"{value:.1e}"
        case _:
            return f"{value:,}"
