"""The cells of one candidate on their way: which is asked next, and when, over which connection.

A cell that waits to be asked again holds no connection. One that was refused for asking too much (429, 503, 529) holds
no place among those that are asked at once either; one that failed otherwise does, so that a server in trouble isn't
asked all its cells while the first of them wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from harness._alike import ALIKE_CELLS, Alike
from harness._attempts import Patience, Worn, named_wait, read_exchange, verdict_of, write_wait
from harness._candidate import Candidate
from harness._capture import Exchange, Place
from harness._chat import Chat
from harness._pace import Cut, Pace, Sent
from harness._plan import Measurement
from harness.engines import Engine
from harness.parse import Reading
from ledger import Ledger

__all__ = ["Host", "Pool"]

REFUSED_CELLS = 3
_AHEAD = 2
"""Answers that are still being scored hold no connection; as many as that, in connections, are under way in all."""


class Host(Protocol):
    """What a pool needs of the session that it asks for."""

    def stopped(self, candidate: Candidate) -> bool:
        """Whether nothing more is asked of a candidate. Looked at right before every attempt, retries as well."""
        ...

    def place(self, measurement: Measurement) -> tuple[Chat, Place]:
        """What is asked for a cell, and where its first attempt of this session belongs."""
        ...

    def heard(self, measurement: Measurement, exchange: Exchange, reading: Reading) -> None:
        """An attempt ended."""
        ...

    def paced(self, candidate: Candidate, cut: Cut) -> None:
        """The pace was cut."""
        ...

    def give_up(self, candidate: Candidate, why: str, exchange: Exchange, reading: Reading) -> None:
        """Nothing more is asked of a candidate, for a reason that lies with it and that the attempt shows."""
        ...

    async def settle(self, measurement: Measurement, exchange: Exchange, reading: Reading) -> None:
        """A cell's last attempt ended."""
        ...


@dataclass(slots=True, eq=False)
class _Asking:
    """One cell that was or will be asked. `held` says that it keeps its place while it waits."""

    measurement: Measurement
    worn: Worn = field(default_factory=Worn)
    held: bool = False


class Pool:
    """Asks cells of one candidate, at its pace; `most` at once."""

    def __init__(
        self, host: Host, ledger: Ledger, candidate: Candidate, pace: Pace, patience: Patience, most: int,
        open_one: Callable[[], contextlib.AbstractAsyncContextManager[Engine]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._host = host
        self._ledger = ledger
        self.candidate = candidate
        self._pace = pace
        self._patience = patience
        self._most = most
        self._open_one = open_one
        self._clock = clock
        self._wake = asyncio.Event()
        self._waiting: deque[_Asking] = deque()
        self._again: list[tuple[float, int, _Asking]] = []
        self._pushed = 0
        self._busy = self._asking = 0
        self._held = 0
        self._idle: list[Engine] = []
        # Since when nothing but refusals came, how many of them were too many, and how many cells ended so in a row.
        self._barren_since = clock()
        self._too_many = 0
        self._refused_cells = 0
        self._alike = Alike()
        self._ended: tuple[Exchange, Reading] | None = None

    def wake(self) -> None:
        """Look again at what may be asked: something was stopped."""
        self._wake.set()

    @property
    def in_vain(self) -> tuple[Exchange, Reading] | None:
        """The last attempt, where all cells of the candidate ended alike in an error; None where any did better."""
        return self._ended if self._alike.all_alike else None

    async def ask(self, cells: Sequence[Measurement]) -> None:
        """Ask these cells, each until it is settled, or until the host says to stop; then what waits is left."""
        self._waiting.extend(_Asking(each) for each in cells)
        self._again = []
        self._held = 0
        async with contextlib.AsyncExitStack() as engines:
            self._idle = []
            async with asyncio.TaskGroup() as group:
                while (found := await self._next()) is not None:
                    asking, sent = found
                    engine = self._idle.pop() if self._idle else await engines.enter_async_context(self._open_one())
                    group.create_task(self._attempt(engine, asking, sent))
        self._waiting.clear()

    async def _next(self) -> tuple[_Asking, Sent] | None:
        """The next cell that may be asked now, its place taken; None when no more is to come."""
        while not self._host.stopped(self.candidate):
            if not self._waiting and not self._again and not self._busy:
                return None
            now = self._clock()
            ready = bool(self._again) and self._again[0][0] <= now
            begins = bool(self._waiting) and self._asking + self._held < self._most
            delay = math.inf
            if (ready or begins) and self._asking < self._most and self._busy < _AHEAD * self._most:
                delay = self._pace.delay(now)
                if delay <= 0:
                    asking = heapq.heappop(self._again)[2] if ready else self._waiting.popleft()
                    self._held -= asking.held
                    asking.held = False
                    self._busy += 1
                    self._asking += 1
                    return asking, self._pace.sends(now)
            if not ready and self._again:
                delay = min(delay, self._again[0][0] - now)
            await self._sleep(delay)
        return None

    async def _sleep(self, seconds: float) -> None:
        self._wake.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if seconds == math.inf else seconds):
                await self._wake.wait()

    async def _attempt(self, engine: Engine, asking: _Asking, sent: Sent) -> None:
        """One attempt, and what follows from it: the cell is settled, or waits to be asked again."""
        try:
            chat, first = self._host.place(asking.measurement)
            place = Place(first.run, first.cell, first.turn, first.attempt + asking.worn.attempts, first.causes)
            exchange = await engine.ask(chat, place)
            self._idle.append(engine)
            reading = read_exchange(exchange, self.candidate, max_wait=self._patience.max_wait)
            seconds = self._judge(asking, sent, exchange, reading)
            self._host.heard(asking.measurement, exchange, reading)
            if seconds is None or self._host.stopped(self.candidate):
                self._held -= asking.held
                await self._host.settle(asking.measurement, exchange, reading)
                return
            until = self._clock() + seconds
            await write_wait(self._ledger, place, exchange, reading, seconds)
            self._pushed += 1
            heapq.heappush(self._again, (until, self._pushed, asking))
        finally:
            self._busy -= 1
            self._wake.set()

    def _judge(self, asking: _Asking, sent: Sent, exchange: Exchange, reading: Reading) -> float | None:
        """What an attempt says of the pace, and the seconds until the cell is asked again, None for never."""
        now, verdict = self._clock(), verdict_of(exchange, reading)
        self._asking -= 1
        cut = self._pace.comes_back(sent, now, verdict, named_wait(reading))
        self._wake.set()
        refused = verdict == "refused"
        if verdict == "let_in":
            self._barren_since, self._too_many = now, 0
        elif refused and now - self._barren_since > self._patience.max_wait:
            self._too_many += 1
        seconds = asking.worn.wait(reading, self._patience, refused=refused, now=now)
        if self._too_many > self._patience.max_retries and not self.candidate.recorded:
            seconds = None
        # At once, not after the wait was written down: in between another cell would begin in its place.
        asking.held = seconds is not None and not refused
        self._held += asking.held
        if cut is not None:
            self._host.paced(self.candidate, cut)
        if seconds is None:
            self._count(exchange, reading, refused=refused)
        return seconds

    def _count(self, exchange: Exchange, reading: Reading, *, refused: bool) -> None:
        """Give a candidate up when cell after cell of it ends in the same way, or refused."""
        self._refused_cells = self._refused_cells + 1 if refused else 0
        self._ended = exchange, reading
        alike, why = self._alike.ends(exchange, reading), ""
        if self.candidate.recorded:
            return
        if alike:
            status = f" (HTTP {exchange.wire.status})" if exchange.wire else ""
            why = f"{ALIKE_CELLS} cells in a row ended alike: {reading.reason}{status}"
        elif self._refused_cells == REFUSED_CELLS:
            why = f"{REFUSED_CELLS} cells in a row were refused until patience ended: {reading.reason}"
        if why:
            self._host.give_up(self.candidate, why, exchange, reading)
