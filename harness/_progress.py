"""Progress of a run on standard error: a live table on a terminal, a plain line now and then elsewhere, or JSON lines.

Whatever comes from outside (labels, reasons) passes through `printable` first.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness._plan import Measurement
from harness._progress_json import JsonProgress
from harness._progress_state import RunState, pace_words
from harness._told import Planned, Progress
from ledger import printable
from ledger.kinds import Score

if TYPE_CHECKING:
    from harness._progress_live import LiveTable

__all__ = ["ScreenProgress", "open_progress"]

_EVERY_SECONDS = 5.0


def open_progress(*, log_json: bool = False) -> Progress:
    """How a command tells its progress: as JSON lines where they are asked for, else for people."""
    return JsonProgress() if log_json else ScreenProgress()


class ScreenProgress:
    """For people: a live table on a terminal that can draw one, else plain lines, at most one every few seconds."""

    def __init__(self) -> None:
        self._state = RunState()
        self._told = 0.0
        self._told_pace: dict[str, float] = {}
        self._live: LiveTable | None = None

    def started(self, run: str, planned: int, done: int = 0, candidates: Planned | None = None) -> None:
        """The plan stands; `done` of its cells have their outcome already."""
        self._told = time.monotonic()
        already = f", {done} done already" if done else ""
        print(f"run {run}: {planned} cells planned{already}", file=sys.stderr, flush=True)
        if sys.stderr.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown"):
            from harness._progress_live import LiveTable

            self._live = LiveTable(self._state)
        self._state.started(run, planned, done, candidates or {})
        if self._live is not None:
            self._live.start()

    def settled(self, measurement: Measurement, scores: Sequence[Score]) -> None:
        """A cell has its outcome under every rule set."""
        self._state.settled(measurement, scores)
        state = self._state
        if self._live is None and (state.done == state.planned or time.monotonic() - self._told >= _EVERY_SECONDS):
            self._told = time.monotonic()
            spent = f"; spent {printable(state.spent)}" if state.spent else ""
            said = f"; unmeasured under every rule set: {failures(state.failed)}" if state.failed else ""
            self._tell(f"{state.done} of {state.planned} cells{spent}{said}")

    def paced(self, candidate: str, limit: int, rate: float) -> None:
        """A candidate's pace was cut. Said at once the first time, then now and then."""
        self._state.of(candidate).pace = limit, rate
        now = time.monotonic()
        if self._live is None and now - self._told_pace.get(candidate, -_EVERY_SECONDS) >= _EVERY_SECONDS:
            self._told_pace[candidate] = now
            slowed = f"slowed to {pace_words(limit, rate)}"
            self._tell(f"{printable(candidate)}: the server says too many requests; {slowed}")

    def spent(self, candidate: str, text: str) -> None:
        """What was spent so far; the whole run's where the candidate is empty."""
        if candidate:
            self._state.of(candidate).spent = text
        else:
            self._state.spent = text

    def stopped(self, candidate: str, reason: str) -> None:
        """A candidate is asked no more, or none is."""
        if not candidate:
            self._tell(printable(reason))
            return
        self._state.of(candidate).stopped = reason
        self._tell(f"{printable(candidate)}: {printable(reason)}; not asking it any more")

    def ended(self) -> None:
        """Nothing more is asked; the terminal is given back."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _tell(self, text: str) -> None:
        if self._live is None:
            print(text, file=sys.stderr, flush=True)
        else:
            self._live.tell(text)


def failures(failed: Counter[str]) -> str:
    """The commonest reasons, with how often."""
    return ", ".join(f"{printable(name)} {count}" for name, count in failed.most_common(4))
