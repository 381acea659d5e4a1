"""What is told while a run goes on, to whoever shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from harness._plan import Measurement
from ledger.kinds import Score

__all__ = ["Planned", "Progress", "SilentProgress"]

Planned = Mapping[str, tuple[int, int]]
"""By candidate: how many cells are planned, and how many of them have their outcome already."""


class Progress(Protocol):
    """What is told while a run goes on."""

    def started(self, run: str, planned: int, done: int = 0, candidates: Planned | None = None) -> None:
        """The plan stands: how many cells, how many of them have their outcome already; by candidate as well."""
        ...

    def settled(self, measurement: Measurement, scores: Sequence[Score]) -> None:
        """A cell has its outcome under every rule set."""
        ...

    def paced(self, candidate: str, limit: int, rate: float) -> None:
        """A candidate's pace was cut, to `limit` requests at once and `rate` a second (may be infinite)."""
        ...

    def spent(self, candidate: str, text: str) -> None:
        """What a candidate has cost so far, in words; all of them together where the candidate is empty."""
        ...

    def stopped(self, candidate: str, reason: str) -> None:
        """A candidate (empty: every one) is asked no more."""
        ...

    def ended(self) -> None:
        """The run is closed, or can't be."""
        ...


class SilentProgress:
    """Tells nobody."""

    def started(self, run: str, planned: int, done: int = 0, candidates: Planned | None = None) -> None: ...
    def settled(self, measurement: Measurement, scores: Sequence[Score]) -> None: ...
    def paced(self, candidate: str, limit: int, rate: float) -> None: ...
    def spent(self, candidate: str, text: str) -> None: ...
    def stopped(self, candidate: str, reason: str) -> None: ...
    def ended(self) -> None: ...
