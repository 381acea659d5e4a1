"""Progress of a run on standard error: a live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness._plan import Measurement
from ledger import printable
from ledger.kinds import Score

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

__all__ = ["ScreenProgress"]

_EVERY_SECONDS = 5.0


class ScreenProgress:
    """Counts cells as they settle. A cell counts as failed when it is unmeasured under every rule set of the run."""

    def __init__(self) -> None:
        self._done = 0
        self._planned = 0
        self._failed: Counter[str] = Counter()
        self._told = 0.0
        self._bar: tuple[Bar, TaskID] | None = None

    def started(self, run: str, planned: int, done: int = 0) -> None:
        """The plan stands; `done` of its cells have their outcome already."""
        self._planned = planned
        self._done = done
        self._told = time.monotonic()
        already = f", {done} done already" if done else ""
        print(f"run {run}: {planned} cells planned{already}", file=sys.stderr, flush=True)
        if sys.stderr.isatty():
            self._bar = _live(planned)

    def settled(self, measurement: Measurement, scores: Sequence[Score]) -> None:
        """A cell has its outcome under every rule set."""
        self._done += 1
        if all(score.outcome == "unmeasured" for score in scores):
            self._failed[f"{scores[0].stage}/{scores[0].reason}"] += 1
        failed = ", ".join(f"{printable(name)} {count}" for name, count in self._failed.most_common(4))
        if self._bar is not None:
            bar, task = self._bar
            bar.update(task, completed=self._done, failed=failed)
        elif self._done == self._planned or time.monotonic() - self._told >= _EVERY_SECONDS:
            self._told = time.monotonic()
            said = f"; unmeasured under every rule set: {failed}" if failed else ""
            self._tell(f"{self._done} of {self._planned} cells{said}")

    def stopped(self, candidate: str, reason: str) -> None:
        """A candidate's provider is asked no more."""
        self._tell(f"{printable(candidate)}: {printable(reason)}; not asking it any more")

    def ended(self) -> None:
        """Nothing more will be told; the terminal is given back."""
        if self._bar is not None:
            self._bar[0].stop()
            self._bar = None

    def _tell(self, text: str) -> None:
        if self._bar is None:
            print(text, file=sys.stderr, flush=True)
        else:
            self._bar[0].console.print(text, markup=False, highlight=False, emoji=False)


def _live(planned: int) -> tuple[Bar, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("cells"), TimeRemainingColumn(),
        TextColumn("{task.fields[failed]}", markup=False), console=Console(file=sys.stderr), transient=False,
    )  # fmt: skip
    task = bar.add_task("", total=planned, failed="")
    bar.start()
    return bar, task
