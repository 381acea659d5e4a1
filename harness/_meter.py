"""The meter: what a run's requests have used so far, and whether a budget lets it ask for more.

It counts whole runs, earlier sessions included. What a request cost is known when its reply tells its tokens and the
price list their prices; else it is unknown, and never taken as 0:

    counted    the reply tells its tokens: they are added up
    refused    a status of 400 or more: nothing was produced, nothing is counted
    unsent     no connection was made: nothing is counted
    unknown    a whole reply that tells no tokens, tokens that don't add up, or tokens of a sort without a price: with
               a budget, asking stops
               a timeout, a cut reply, a request of unknown fate: with a budget, the most that it can have used is
               counted in its place, where the request sets a token limit; without one, asking stops
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from harness._capture import Exchange
from harness._prices import EXACT, Price, added, money, spent_text
from harness._usage import Counted, Tokens, counted
from harness.parse import Reading

__all__ = ["Budget", "Meter", "Used"]


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that a run may use, all its sessions together: `cost` in `currency`, and `tokens`. None is no limit."""

    cost: Decimal | None = None
    currency: str = ""
    tokens: int | None = None

    @property
    def counts(self) -> bool:
        """Whether there is a limit at all."""
        return self.cost is not None or self.tokens is not None

    def names(self) -> str:
        """The flags that set it."""
        named = [("--max-cost", self.cost), ("--max-tokens-total", self.tokens)]
        return " and ".join(name for name, value in named if value is not None)

    def lifts(self) -> str:
        """The flags that lift it when a run is resumed."""
        named = [("--max-cost none", self.cost), ("--max-tokens-total 0", self.tokens)]
        return " ".join(name for name, value in named if value is not None)


@dataclass(slots=True)
class Used:
    """What one candidate has used. `cost` is of the `priced` requests; `unknown` counts those whose cost nobody knows,
    `most` and `most_tokens` are what those of them can have come to at the most that have a bound."""

    requests: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    cost: Decimal = Decimal(0)
    priced: int = 0
    unpriced: int = 0
    uncounted: int = 0
    most: Decimal = Decimal(0)
    most_tokens: int = 0

    @property
    def unknown(self) -> int:
        """Requests whose cost nobody knows."""
        return self.unpriced + self.uncounted


class Meter:
    """Counts every attempt of a run. `prices` holds every candidate that is asked; None is a price nobody gave.

    `limits` are the token limits that candidates' requests set on a reply, and `size_of` tells the bytes of a request's
    body by its event: no tokenizer makes more tokens of a text than it has bytes.
    """

    def __init__(
        self, prices: Mapping[str, Price | None], budget: Budget | None = None, *,
        limits: Mapping[str, int] | None = None, size_of: Callable[[int], int | None] = lambda request: None,
    ) -> None:  # fmt: skip
        self.prices = dict(prices)
        self.budget = budget or Budget()
        self.used: dict[str, Used] = {label: Used() for label in prices}
        self._limits = dict(limits or {})
        self._size_of = size_of
        self._blind = ""

    def note(self, candidate_label: str, exchange: Exchange, reading: Reading) -> None:
        """Count one attempt, as it ends. One of a candidate that isn't metered (a replayed one) costs nothing."""
        if candidate_label in self.used:
            what, tokens = counted(exchange, reading)
            cut = exchange.wire is None or not exchange.wire.whole or reading.status in ("error", "fate_unknown")
            self.add(candidate_label, what, tokens, exchange.request, cut=cut)

    def add(
        self, candidate_label: str, what: Counted, tokens: Tokens | None, request: int | None, *, cut: bool
    ) -> None:
        """Count one request; `cut` says that no whole reply came, so that nothing could tell its tokens."""
        used, price = self.used[candidate_label], self.prices[candidate_label]
        used.requests += 1
        if tokens is not None:
            used.tokens += tokens
            cost = None if price is None else price.cost(tokens)
            if cost is None:
                used.unpriced += 1
                if self.budget.cost is not None:
                    self.stop(f"a reply of {candidate_label} tells tokens of a sort that the price list doesn't price")
            else:
                used.priced += 1
                used.cost = EXACT.add(used.cost, cost)
        elif what == "unknown":
            used.uncounted += 1
            if self.budget.counts:
                self._bound(candidate_label, request, cut=cut)
        elif price is not None:
            used.priced += 1

    def exhausted(self) -> str:
        """Why nothing more is asked, in one sentence; empty while the budget holds."""
        if self._blind:
            return self._blind
        budget = self.budget
        if budget.cost is not None:
            most = added(each.most for each in self.used.values())
            spent = EXACT.add(added(each.cost for each in self.used.values()), most)
            if spent >= budget.cost:
                unsure = f", {money(most, budget.currency)} of it at most, by calls that nobody counted" if most else ""
                return (
                    f"--max-cost {money(budget.cost, budget.currency)} is reached:"
                    f" {money(spent, budget.currency)} spent{unsure}; not asking any more"
                )
        if budget.tokens is not None:
            most_tokens = sum(each.most_tokens for each in self.used.values())
            tokens = sum(each.tokens.total for each in self.used.values()) + most_tokens
            if tokens >= budget.tokens:
                unsure = f", {most_tokens} of them at most, by calls that nobody counted" if most_tokens else ""
                return (
                    f"--max-tokens-total {budget.tokens} is reached: {tokens} tokens used{unsure}; not asking any more"
                )
        return ""

    def spent(self, label: str = "") -> str:
        """What was spent so far, for people: of one candidate, or of all. Unknown calls are counted, never guessed."""
        labels = [label] if label else list(self.used)
        sums: dict[str, Decimal] = {}
        for each in labels:
            price = self.prices[each]
            if price is not None and self.used[each].priced:
                sums[price.currency] = EXACT.add(sums.get(price.currency, Decimal(0)), self.used[each].cost)
        unknown = sum(self.used[each].unknown for each in labels)
        return spent_text(sums, unknown)

    def _bound(self, label: str, request: int | None, *, cut: bool) -> None:
        """Count the most that a request of unknown use can have used, or stop where that has no bound."""
        limit, price = self._limits.get(label), self.prices[label]
        size = self._size_of(request) if request is not None else None
        if self.budget.tokens is None and price is not None and price.is_free:
            return
        if not cut:
            self.stop(f"a reply of {label} tells no tokens, or counts that don't add up")
        elif limit is None or size is None:
            self.stop(f"a call of {label} ended without a whole reply, and nothing it sets bounds what it used")
        else:
            used = self.used[label]
            used.most_tokens += size + limit
            if price is not None:
                dearest = max(price.input, price.cache_write or Decimal(0), price.cached or Decimal(0))
                most = Price(dearest, price.output, price.currency, price.as_of).cost(Tokens(input=size, output=limit))
                assert most is not None
                used.most = EXACT.add(used.most, most)

    def stop(self, why: str) -> None:
        """Ask no more, because of something that nobody counted; with a budget."""
        if not self.budget.counts:
            return
        rest = (
            f"so what it used is unknown and {self.budget.names()} can't be kept; not asking any more"
            f" (`harness resume {self.budget.lifts()}` goes on without that limit)"
        )
        self._blind = self._blind or f"{why}, {rest}"
