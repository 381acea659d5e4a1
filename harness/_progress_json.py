"""Progress of a run as JSON lines on standard error: one object a line, `event` names it, `at` says when (UTC).

    started   run, planned, done, candidates: [{candidate, planned, done}]
    settled   candidate, cell, case, epoch, outcomes: {rule set: outcome}, and stage and reason where there is no answer
    paced     candidate, at_once, a_second (null: not limited)
    spent     candidate (null: all together), spent; where the words changed, at most once a second
    stopped   candidate (null: every one), reason
    note      text: what a command has to say beside that
    ended     done, planned

Characters beyond ASCII are escaped, so that nothing in a line moves a terminal.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from harness._plan import Measurement
from harness._told import Planned
from ledger.kinds import Score

__all__ = ["JsonProgress", "log_line"]

_EVERY_SECONDS = 1.0


def log_line(event: str, **fields: Any) -> None:
    """Write one line, in one piece."""
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    sys.stderr.write(json.dumps({"event": event, "at": at, **fields}) + "\n")
    sys.stderr.flush()


class JsonProgress:
    """For programs."""

    def __init__(self) -> None:
        self._planned = 0
        self._done = 0
        self._spent: dict[str, str] = {}
        self._due: dict[str, str] = {}
        self._told = -math.inf

    def started(self, run: str, planned: int, done: int = 0, candidates: Planned | None = None) -> None:
        """The plan stands."""
        self._planned, self._done = planned, done
        each = [
            {"candidate": label, "planned": all_, "done": some} for label, (all_, some) in (candidates or {}).items()
        ]
        log_line("started", run=run, planned=planned, done=done, candidates=each)

    def settled(self, measurement: Measurement, scores: Sequence[Score]) -> None:
        """A cell has its outcome under every rule set."""
        self._done += 1
        why: dict[str, str] = {}
        if all(score.outcome == "unmeasured" for score in scores):
            why = {"stage": scores[0].stage, "reason": scores[0].reason}
        log_line(
            "settled", candidate=measurement.candidate.label, cell=measurement.cell, case=measurement.case.id,
            epoch=measurement.epoch, outcomes={score.rules: score.outcome for score in scores}, **why,
        )  # fmt: skip

    def paced(self, candidate: str, limit: int, rate: float) -> None:
        """A candidate's pace was cut."""
        log_line("paced", candidate=candidate, at_once=limit, a_second=None if rate == math.inf else round(rate, 3))

    def spent(self, candidate: str, text: str) -> None:
        """What was spent so far."""
        self._due[candidate] = text
        if time.monotonic() - self._told >= _EVERY_SECONDS:
            self._tell_spent()

    def stopped(self, candidate: str, reason: str) -> None:
        """A candidate is asked no more, or none is."""
        log_line("stopped", candidate=candidate or None, reason=reason)

    def ended(self) -> None:
        """Nothing more is asked."""
        self._tell_spent()
        log_line("ended", done=self._done, planned=self._planned)

    def _tell_spent(self) -> None:
        self._told = time.monotonic()
        for candidate, text in self._due.items():
            if self._spent.get(candidate) != text:
                self._spent[candidate] = text
                log_line("spent", candidate=candidate or None, spent=text)
