"""How fast one candidate is asked: how many requests at once, and how many a second, both learned from its refusals.

    at once     one more for each round of answers, half after a refusal, at most once a round trip (AIMD, as TCP has
                it: RFC 5681), but never fewer than the learned rate needs at the latency that is seen
    a second    unlimited until the first refusal; then a little less than what was let in, measured between refusals,
                and growing, at first slowly and then ever faster, until the next one
    a rest      nothing at all is sent for a while: when the server names a wait longer than a moment, or when nothing
                but refusals comes back; then one request goes ahead alone, and while it is refused the rests get longer

What is let in is counted by when it was sent: a server refuses at once and answers late, so what is under way and was
sent before a refused one was most likely let in. Between two refusals a limiter let in all that it had, whether it
counts in windows or drips tokens into a bucket; so that is its rate, however big its bucket is.

Nothing here reads a clock, sleeps or sends: every method is told what time it is, in seconds.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["Cut", "Pace", "Sent", "Verdict"]

Verdict = Literal["let_in", "refused", "lost"]
"""What became of a request: it got past the limiter, was refused by it, or nobody can tell (no reply came)."""

_UNDER: Final = 0.97
"""The share of the measured rate that is sent at: limiters count in whole requests, and clocks and networks jitter."""
_MEASURED: Final = 1.0
"""Seconds between two refusals that make a measurement: the window in which most limiters count."""
_SAMPLES: Final = 8
"""Requests sent since the last cut that say something when there is no measurement yet."""
_GROWTH, _DOUBLES, _FASTEST = 0.01, 1.2, 0.4
"""The rate grows by 1% a second just after a cut; that doubles every 1.5 s, up to 30% a second."""
_A_PROBE: Final = 60.0
_UNSURE_DOUBLES: Final = 1.0
_CALMEST: Final = 16.0
_STREAK_SECONDS: Final = 0.1
_AGAIN, _SOON = 0.85, 2.5
"""What the rate comes down to when it closes again within so many seconds of having opened."""
_LATELY: Final = 2.0
"""Seconds over which what was let in, the rests included, is no reason to ask for less than nearly as much."""
_SLOWEST: Final = 1 / 30
_STREAK: Final = 3
"""Refusals in a row, one of them of a request sent after the first was known, that mean: closed for now."""
_MOMENT: Final = 2.0
"""A wait longer than this many seconds, named by the server, rests the whole candidate."""
_SHORTEST, _LONGEST = 0.05, 5.0
"""The rests that nobody named: each twice the last, between these."""
_KEPT_SECONDS, _KEPT = 30.0, 20_000


@dataclass(slots=True, eq=False)
class Sent:
    """One request on its way: when it left, by the clock and by the clock that stands still while the candidate rests;
    and whether it was refused, as far as is known."""

    at: float
    active: float
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Cut:
    """What the pace came down to: requests at once, and a second (infinite: not limited)."""

    limit: int
    rate: float


class Pace:
    """The pace of one candidate. `most` is the most requests at once; `adapts` off keeps to that, whatever comes."""

    def __init__(self, most: int, *, adapts: bool = True) -> None:
        self._most = most
        self._adapts = adapts
        self._limit = float(most)
        self._halved_at = -math.inf
        self._flying: dict[Sent, None] = {}
        self._latency, self._refusal_latency = 0.0, 0.0
        # The rate is what it was cut to at _cut, and has grown since. Both stand on the active clock.
        self._rate = math.inf
        self._cut = 0.0
        self._cut_at = -math.inf
        self._due = -math.inf
        self._full = False
        self._sure = self._reopened = False
        self._calm = 1.0
        self._log: deque[Sent] = deque(maxlen=_KEPT)
        # While closed, the active clock stands still.
        self._closed_at: float | None = None
        self._closed_for = 0.0
        self._opened: float | None = None
        self._rounded = True
        self._streak, self._streak_from = 0, 0.0
        self._probe: Sent | None = None
        self._first_rest, self._rest, self._resting_until = _SHORTEST, _SHORTEST, -math.inf

    @property
    def limit(self) -> int:
        """How many may be under way at once."""
        return max(1, int(self._limit))

    def _at_once(self, now: float) -> int:
        return min(self._most, max(self.limit, self._needed(now)))

    def rate(self, now: float) -> float:
        """Requests a second; infinite while nothing limits them."""
        if self._rate == math.inf:
            return math.inf
        since = max(0.0, self._active(now) - self._cut)
        if not self._sure:
            return self._rate * 2 ** min(since / max(_UNSURE_DOUBLES, 5 / self._rate), 20.0)
        # The integral of a growth that doubles again and again until it is at its fastest.
        calm = self._calm * min(max(_A_PROBE / self._rate, 1.0), 20.0)
        first, doubles = _GROWTH / calm, _DOUBLES * math.sqrt(calm)
        bend = doubles * math.log2(_FASTEST / first)
        grown = first * doubles / math.log(2) * (2 ** (min(since, bend) / doubles) - 1)
        return self._rate * math.exp(min(grown + _FASTEST * max(0.0, since - bend), 20.0))

    def delay(self, now: float) -> float:
        """Seconds until one more may leave: 0 for now, infinite for not before one comes back."""
        if self._closed_at is not None:
            if self._probe is None:
                return max(0.0, self._resting_until - now)
            # A refusal comes at once and an answer takes its time: what isn't refused by then was let in.
            known = self._probe.at + max(_SHORTEST, 4 * self._refusal_latency)
            if now < known:
                return known - now
            self._open(now)
        if len(self._flying) >= self._at_once(now):
            self._full = True
            # What the rate needs grows while nothing comes back, so that is looked at again.
            return math.inf if self._rate == math.inf or len(self._flying) >= self._most else 0.1
        return max(0.0, self._due - now)

    def sends(self, now: float) -> Sent:
        """One leaves. Its `Sent` is handed in again when it comes back."""
        sent = Sent(now, self._active(now))
        self._flying[sent] = None
        if self._closed_at is not None:
            self._probe = sent
            return sent
        if self._opened is None:
            self._opened = sent.active
        self._log.append(sent)
        while sent.active - self._log[0].active > _KEPT_SECONDS:
            self._log.popleft()
        rate = self.rate(now)
        if rate < math.inf:
            # What was late by a moment catches up, what was late by more is lost: a stall must not end in a burst.
            slack = min(max(5 / rate, 0.03), 0.1)
            if self._full:
                # It only grows while it is what holds the requests back, and not how many may be under way.
                self._cut += max(0.0, now - slack - max(self._due, self._cut_at))
                self._full = False
            self._due = max(self._due, now - slack) + 1 / rate
        return sent

    def comes_back(self, sent: Sent, now: float, verdict: Verdict, wait: float | None = None) -> Cut | None:
        """One came back; `wait` is how many seconds the server asked for. What the pace was cut to, if it was."""
        del self._flying[sent]
        probe = sent is self._probe
        if probe:
            self._probe = None
        if not self._adapts:
            return None
        if verdict == "refused":
            self._refusal_latency = max(0.9 * self._refusal_latency, now - sent.at)
            return self._refused(sent, now, wait, probe=probe)
        if verdict == "let_in":
            self._latency = now - sent.at if self._latency == 0 else 0.9 * self._latency + 0.1 * (now - sent.at)
            self._limit = min(float(self._most), self._limit + 1 / self._limit)
            if self._closed_at is None:
                self._streak = 0
            elif probe:
                self._open(now)
        elif probe:
            self._resting_until = max(self._resting_until, now + self._rest)
        return None

    def _active(self, now: float) -> float:
        return (now if self._closed_at is None else self._closed_at) - self._closed_for

    def _refused(self, sent: Sent, now: float, wait: float | None, *, probe: bool) -> Cut | None:
        sent.refused = True
        if self._closed_at is not None:
            if probe:
                self._rounded = self._rounded and wait is None
                self._rest = min(2 * self._rest, _LONGEST)
                self._resting_until = now + max(self._rest, wait or 0.0)
            elif not self._rounded or (wait or 0.0) > _MOMENT:
                self._resting_until = max(self._resting_until, now + (wait or 0.0))
            return None
        if self._streak == 0:
            self._streak_from = now
        self._streak += 1
        slowed, halved = self._slow_down(sent, now), self._halve(sent, now)
        lasts = now - self._streak_from >= (_STREAK_SECONDS if self._sure else 0)
        if (wait or 0) > _MOMENT or (self._streak >= _STREAK and sent.at >= self._streak_from and lasts):
            self._closed_at = now
            self._rest = (
                self._first_rest if self._rate == math.inf else max(self._first_rest, min(0.5 / self._rate, 1.0))
            )
            # A server that names no wait worth the name (Retry-After: 0) is left in peace all the same.
            self._resting_until = now + max(self._rest, self._named(wait))
            if self._sure and self._reopened:
                self._calm = min(4 * self._calm, _CALMEST)
        return Cut(self._at_once(now), self.rate(now)) if slowed or halved else None

    def _named(self, wait: float | None) -> float:
        """The wait that a server named, as a rest of all. Servers round up to whole seconds: after half of a short one
        the first goes ahead, until one that did so was refused."""
        return (wait or 0.0) * (0.5 if self._rounded and (wait or 0.0) <= _MOMENT else 1.0)

    def _open(self, now: float) -> None:
        """The one that went ahead was let in."""
        assert self._closed_at is not None
        if self._rate < math.inf:
            rate = self.rate(now)
            self._rate = max(_SLOWEST, rate * self._how_far_off(), min(_UNDER * rate, self._let_in_lately(now)))
            self._due = now + 1 / self._rate
        self._first_rest = max(_SHORTEST, self._rest / 2)
        self._closed_for += now - self._closed_at
        self._reopened = True
        self._closed_at = None
        self._cut = self._opened = self._active(now)
        self._cut_at = now
        self._streak, self._probe = 0, None

    def _let_in_lately(self, until: float) -> float:
        """A second, rests included; a little less. A few refusals at a window's end mustn't cost half of the rate."""
        return 0.95 * sum(not each.refused for each in self._log if until - _LATELY < each.at <= until) / _LATELY

    def _how_far_off(self) -> float:
        """What the rate is multiplied with when a closed server lets in again: less, the sooner it had closed."""
        assert self._opened is not None
        open_for = self._active(0.0) - self._opened
        let_in = sum(not each.refused for each in self._log if each.active > self._opened)
        if let_in < min(_SAMPLES, 0.25 * self._rate):
            # Far off, and not known to be strict: what is lost is soon won back.
            self._sure = self._calm > 1
            return 0.5
        return _AGAIN if self._reopened and open_for < _SOON else 1.0

    def _slow_down(self, sent: Sent, now: float) -> bool:
        """Cut the rate, where this refusal says something that the last cut didn't know."""
        if sent.at < self._cut_at:
            return False
        found = self._first_rate(sent) if self._rate == math.inf else self._next_rate(sent, now)
        if found is None:
            return False
        self._rate = max(_SLOWEST, found, min(self.rate(now), self._let_in_lately(sent.at)))
        self._cut, self._cut_at = self._active(now), now
        self._due = now + 1 / self._rate
        return True

    def _first_rate(self, sent: Sent) -> float | None:
        """Everything since the beginning was let in, as much as a second's worth or a bucket's."""
        assert self._opened is not None
        let_in = sum(not each.refused for each in self._log if self._opened <= each.active <= sent.active)
        if let_in >= _SAMPLES / 2:
            return _UNDER * let_in / max(sent.active - self._opened, _MEASURED)
        if self._closed_for == 0:
            return None
        every = 1 + sum(not each.refused for each in self._log)
        return every / max(sent.at - self._log[0].at, _SHORTEST)

    def _next_rate(self, sent: Sent, now: float) -> float | None:
        # Whatever held the requests back: it can't be cut from where nobody went.
        lately = sum(sent.active - _MEASURED < each.active <= sent.active for each in self._log)
        rate = min(self.rate(sent.at), 1.3 * lately / _MEASURED + 2)
        since = [each.refused for each in self._log if self._cut < each.active <= sent.active]
        if sent.active - self._cut < _MEASURED or len(since) >= _SAMPLES:
            share = 1 - sum(since) / max(1, len(since))
            if len(since) >= max(_SAMPLES / 2, min(_SAMPLES, rate)) and 0 < share <= 0.9:
                self._sure = True
                return _UNDER * rate * max(0.5, share)
            if self._sure and sent.active - self._cut < _MEASURED:
                return None
        self._sure = True
        self._calm = max(1.0, 0.8 * self._calm)
        return _UNDER * rate

    def _needed(self, now: float) -> int:
        """How many at once the learned rate takes at the latency that is seen; 1 while there is none."""
        rate = self.rate(now)
        if rate == math.inf:
            return 1
        oldest = next(iter(self._flying), None)
        latency = max(self._latency, now - oldest.at if oldest else 0.0)
        return math.ceil(1.5 * rate * latency) + 1

    def _halve(self, sent: Sent, now: float) -> bool:
        if sent.at < self._halved_at:
            return False
        before = self._at_once(now)
        self._limit = max(1.0, self._limit // 2)
        self._halved_at = now
        return self._at_once(now) < before
