"""Progress of a run on standard error: a live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence

from harness._plan import Measurement
from ledger import printable
from ledger.kinds import Score

__all__ = ["PlainProgress"]

_EVERY_SECONDS = 5.0


class PlainProgress:
    """Counts cells as they settle. A cell counts as failed when it is unmeasured under every rule set of the run."""

    def __init__(self) -> None:
        self._done = 0
        self._planned = 0
        self._failed: Counter[str] = Counter()
        self._told = 0.0
        self._live = sys.stderr.isatty()

    def started(self, run: str, planned: int) -> None:
        """The plan stands."""
        self._planned = planned
        self._told = time.monotonic()
        print(f"run {run}: {planned} cells planned", file=sys.stderr, flush=True)

    def settled(self, measurement: Measurement, scores: Sequence[Score]) -> None:
        """A cell has its outcome under every rule set."""
        self._done += 1
        if all(score.outcome == "unmeasured" for score in scores):
            self._failed[f"{scores[0].stage}/{scores[0].reason}"] += 1
        due = self._done == self._planned or time.monotonic() - self._told >= (0.1 if self._live else _EVERY_SECONDS)
        if due:
            self._told = time.monotonic()
            self._say()

    def stopped(self, candidate: str, reason: str) -> None:
        """A candidate's provider is asked no more."""
        if self._live:
            print(file=sys.stderr)
        print(f"{printable(candidate)}: {printable(reason)}; not asking it any more", file=sys.stderr, flush=True)

    def _say(self) -> None:
        failed = ", ".join(f"{printable(name)} {count}" for name, count in self._failed.most_common(4))
        line = f"{self._done} of {self._planned} cells" + (f"; unmeasured: {failed}" if failed else "")
        if self._live:
            print(f"\r\x1b[K{line}", end="\n" if self._done == self._planned else "", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)
