"""The live table of a run: a row a candidate, drawn again a few times a second."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from harness._progress_state import RunState, pace_words
from ledger import printable

if TYPE_CHECKING:
    from collections import Counter

__all__ = ["LiveTable"]

_A_SECOND = 4


class LiveTable:
    """Draws a run's state on the terminal behind standard error until it is stopped."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._live = Live(
            console=Console(file=sys.stderr), get_renderable=self._table, refresh_per_second=_A_SECOND,
            redirect_stdout=False, vertical_overflow="ellipsis",
        )  # fmt: skip

    def start(self) -> None:
        """Draw from now on."""
        self._live.start(refresh=True)

    def stop(self) -> None:
        """Draw it a last time, and give the terminal back."""
        self._live.stop()

    def tell(self, text: str) -> None:
        """Say something above the table."""
        self._live.console.print(Text(text), highlight=False)

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold")
        # A run's candidates don't change while it goes on, but their counts do, in another thread than this one.
        rows = list(self._state.candidates.items())
        with_pace = any(here.pace for _, here in rows)
        with_spent = any(here.spent for _, here in rows)
        with_failed = any(here.failed for _, here in rows)
        table.add_column("candidate", overflow="ellipsis", no_wrap=True)
        for name, there in (("done", True), ("a second", True), ("pace", with_pace)):
            if there:
                table.add_column(name, justify="right", no_wrap=True)
        if with_failed:
            table.add_column("unmeasured", overflow="fold")
        if with_spent:
            table.add_column("spent", justify="right")
        table.add_column("left", justify="right", no_wrap=True)
        for label, here in rows:
            cells = [printable(label), f"{here.done}/{here.planned}", f"{self._state.rate(label):.1f}"]
            if with_pace:
                cells.append(pace_words(*here.pace) if here.pace else "")
            if with_failed:
                cells.append(_failures(here.failed.copy()))
            if with_spent:
                cells.append(printable(here.spent))
            cells.append("stopped" if here.stopped else _duration(self._state.left(label)))
            table.add_row(*(Text(cell) for cell in cells))
        if self._state.spent and len(rows) > 1:
            table.caption = Text(f"spent in all: {printable(self._state.spent)}")
            table.caption_justify = "left"
        return table


def _failures(failed: Counter[str]) -> str:
    return ", ".join(f"{printable(name)} {count}" for name, count in failed.most_common(4))


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
