"""Where a run stands while it goes on, candidate by candidate, as all forms of progress tell it."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from harness._plan import Measurement
from ledger.kinds import Score

__all__ = ["CandidateState", "RunState", "pace_words"]

_LATELY = 10.0
"""Seconds over which a rate is taken."""


@dataclass(slots=True)
class CandidateState:
    """One candidate: cells planned and done, how many were unmeasured under every rule set and why, when the last of
    them were done, the pace if it was cut, what was spent, and why nothing more is asked, if so."""

    planned: int = 0
    done: int = 0
    failed: Counter[str] = field(default_factory=Counter[str])
    times: deque[float] = field(default_factory=lambda: deque[float](maxlen=10_000))
    pace: tuple[int, float] | None = None
    spent: str = ""
    stopped: str = ""


class RunState:
    """The whole run. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self.run = ""
        self.planned = 0
        self.done = 0
        self.spent = ""
        self.failed: Counter[str] = Counter()
        self.candidates: dict[str, CandidateState] = {}

    def started(self, run: str, planned: int, done: int, candidates: Mapping[str, tuple[int, int]]) -> None:
        """The plan stands."""
        self._began = self._clock()
        self.run, self.planned, self.done = run, planned, done
        self.candidates = {label: CandidateState(*counts) for label, counts in candidates.items()}

    def of(self, candidate: str) -> CandidateState:
        """One candidate's state."""
        return self.candidates.setdefault(candidate, CandidateState())

    def settled(self, measurement: Measurement, scores: Sequence[Score]) -> None:
        """A cell has its outcome. It counts as failed when it is unmeasured under every rule set."""
        here = self.of(measurement.candidate.label)
        self.done += 1
        here.done += 1
        here.times.append(self._clock())
        if all(score.outcome == "unmeasured" for score in scores):
            name = f"{scores[0].stage}/{scores[0].reason}"
            self.failed[name] += 1
            here.failed[name] += 1

    def rate(self, candidate: str) -> float:
        """Cells a second, lately."""
        here, now = self.of(candidate), self._clock()
        while here.times and here.times[0] < now - _LATELY:
            here.times.popleft()
        return len(here.times) / max(1.0, min(_LATELY, now - self._began))

    def left(self, candidate: str) -> float | None:
        """Seconds until a candidate's cells are done at that rate; None when nobody can tell."""
        here, rate = self.of(candidate), self.rate(candidate)
        if here.done >= here.planned:
            return 0.0
        return None if here.stopped or rate == 0 else (here.planned - here.done) / rate


def pace_words(limit: int, rate: float) -> str:
    """A pace in words."""
    return f"{limit} at once" + ("" if rate == math.inf else f", {rate:.3g} a second")
