"""Rate limiters as servers have them, told the time: they say whether a request is let in, or how long to wait.

allows(now) -> None when let in, else the seconds until it would be (which a server may or may not tell)
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

__all__ = ["Bucket", "Changing", "FixedWindow", "Limiter", "Penalising", "SlidingWindow"]


class Limiter(Protocol):
    def refuses(self, now: float) -> float | None: ...


@dataclass
class FixedWindow:
    """`most` in each window of `seconds`, counted from `phase`."""

    most: int
    seconds: float = 1.0
    phase: float = 0.0
    _window: int = -1
    _count: int = 0

    def refuses(self, now: float) -> float | None:
        window = math.floor((now - self.phase) / self.seconds)
        if window != self._window:
            self._window, self._count = window, 0
        if self._count >= self.most:
            return (window + 1) * self.seconds + self.phase - now
        self._count += 1
        return None


@dataclass
class SlidingWindow:
    """`most` in any `seconds`; where `strict`, refused requests count as well."""

    most: int
    seconds: float = 1.0
    strict: bool = False
    _times: deque[float] = field(default_factory=deque)

    def refuses(self, now: float) -> float | None:
        while self._times and self._times[0] <= now - self.seconds:
            self._times.popleft()
        full = len(self._times) >= self.most
        wait = self._times[-self.most] + self.seconds - now if full else None
        if not full or self.strict:
            self._times.append(now)
        return wait


@dataclass
class Bucket:
    """`rate` tokens a second into a bucket that holds `burst`."""

    rate: float
    burst: float
    _tokens: float = -1.0
    _at: float = 0.0

    def refuses(self, now: float) -> float | None:
        held = self.burst if self._tokens < 0 else min(self.burst, self._tokens + (now - self._at) * self.rate)
        self._tokens, self._at = held, now
        if held < 1:
            return (1 - held) / self.rate
        self._tokens -= 1
        return None


@dataclass
class Penalising:
    """Whoever asks again before the named wait is over has it begin anew."""

    inner: Limiter
    penalty: float = 1.0
    _until: float = -math.inf

    def refuses(self, now: float) -> float | None:
        if now < self._until:
            self._until = now + self.penalty
            return self.penalty
        if self.inner.refuses(now) is None:
            return None
        self._until = now + self.penalty
        return self.penalty


@dataclass
class Changing:
    """One limiter until `at` seconds after the first request, then another."""

    before: Limiter
    after: Limiter
    at: float
    _began: float | None = None

    def refuses(self, now: float) -> float | None:
        if self._began is None:
            self._began = now
        return (self.before if now - self._began < self.at else self.after).refuses(now)
