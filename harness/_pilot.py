"""A pilot: a few cells of each candidate are asked first, and what all of them would use is told from those.

The cells are spread evenly over the plan. What the others will use is predicted from the mean of those that were asked,
with a 95% interval by Student's t and the finite population's correction (Cochran, Sampling Techniques, 3rd edition,
sections 2.8 and 2.9): with N cells of which n were asked, the variance of the whole is s²·N·(N - n)/n. It takes those
that were asked for a fair sample of all; few cells, a few of them very dear, make it too narrow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal

from harness._budget import Purse
from harness._prices import Price, money, spent_text
from harness._student import t_quantile
from harness._used import used_requests
from ledger import Ledger, over_views

__all__ = ["Extent", "Pilot", "extrapolate"]

_ROUNDED = Context(prec=40)
_CENTRAL = 0.975


@dataclass(frozen=True, slots=True)
class Extent:
    """What a whole is predicted to come to, with its 95% interval; None where nothing tells how wide it is."""

    total: Decimal
    low: Decimal | None
    high: Decimal | None

    def text(self, unit: Callable[[Decimal], str]) -> str:
        """For people."""
        if self.low is None or self.high is None:
            return f"about {unit(self.total)} (one cell tells no interval)"
        return f"about {unit(self.total)} (95%: {unit(self.low)} to {unit(self.high)})"


def extrapolate(parts: Sequence[tuple[Sequence[Decimal], int]]) -> Extent:
    """The sum over several populations, of each of which a sample is known: its values, and how many there are of all.

    Degrees of freedom of the sum by Welch and Satterthwaite. Every sample has at least one value.
    """
    known = total = spread = weighed = Decimal(0)
    told = True
    for values, of in parts:
        count, here = len(values), sum(values, Decimal(0))
        known += here
        total += _ROUNDED.divide(here * of, Decimal(count))
        if of <= count:
            continue
        if count < 2:
            told = False
            continue
        mean = _ROUNDED.divide(here, Decimal(count))
        squares = sum(((value - mean) ** 2 for value in values), Decimal(0))
        variance = _ROUNDED.divide(squares * of * (of - count), Decimal((count - 1) * count))
        spread += variance
        weighed += _ROUNDED.divide(variance * variance, Decimal(count - 1))
    if not told:
        return Extent(total, None, None)
    if not spread:
        return Extent(total, total, total)
    degrees = float(_ROUNDED.divide(spread * spread, weighed))
    half = Decimal(repr(t_quantile(degrees, _CENTRAL))) * _ROUNDED.sqrt(spread)
    return Extent(total, max(known, total - half), total + half)


@dataclass(frozen=True)
class Pilot:
    """The pilot of one run. `cells` says how many cells of each candidate are asked in all, pilot and rest."""

    ledger: Ledger
    run: str
    purse: Purse
    prices: Mapping[str, Price | None]
    cells: Mapping[str, int]
    say: Callable[[str], object]

    def over(self) -> str:
        """Say what the pilot came to; and why the rest isn't asked, or nothing where a budget is known to hold."""
        tokens, costs, blind = self._used()
        for label in self.prices:
            self.say(self._sentence(label, tokens.get(label, []), costs.get(label, []), blind.get(label, 0)))
        asked = [label for label in self.prices if self.cells.get(label)]
        whole = bool(asked) and not blind and all(tokens.get(label) for label in asked)
        tokens_of_all = extrapolate([(tokens[label], self.cells[label]) for label in asked]) if whole else None
        priced = whole and all(len(costs.get(label, ())) == len(tokens[label]) for label in asked)
        currencies = {price.currency for price in self.prices.values() if price is not None}
        cost_of_all = None
        if priced and len(currencies) == 1:
            cost_of_all = extrapolate([(costs[label], self.cells[label]) for label in asked])
            (currency,) = currencies
            self.say(f"pilot: the whole run costs {cost_of_all.text(lambda amount: money(amount, currency))}")
        return self._why_not(cost_of_all, tokens_of_all)

    def _why_not(self, cost: Extent | None, tokens: Extent | None) -> str:
        budget = self.purse.budget
        if max(self.cells.values(), default=0) <= self.purse.pilot:
            return ""
        over = f"the pilot of {self.purse.pilot} cells of each candidate is over"
        if not budget.counts:
            return f"{over}; the rest was not asked"
        for limit, extent, flag in (
            (budget.cost, cost, "--max-cost"),
            (None if budget.tokens is None else Decimal(budget.tokens), tokens, "--max-tokens-total"),
        ):
            if limit is None:
                continue
            if extent is None or extent.high is None:
                return f"{over}, and nothing tells whether {flag} would hold; the rest was not asked"
            if extent.high > limit:
                return f"{over}, and {flag} may not hold for the rest, which was not asked"
        self.say(f"{over}; {budget.names()} holds at the upper end too, so the rest is asked")
        return ""

    def _used(self) -> tuple[dict[str, list[Decimal]], dict[str, list[Decimal]], dict[str, int]]:
        """Tokens and costs a cell, of the cells whose every call is known; and how many calls aren't, by candidate."""
        cells: dict[tuple[str, int], list[tuple[Decimal | None, Decimal | None]]] = {}
        blind: dict[str, int] = {}
        for used in used_requests(lambda query, values: self.ledger.rows(over_views(query), values), self.run):
            if used.candidate is None or used.candidate not in self.prices:
                continue
            price = self.prices[used.candidate]
            tokens: Decimal | None = Decimal(0)
            cost: Decimal | None = Decimal(0)
            if used.tokens is not None:
                tokens, cost = Decimal(used.tokens.total), None if price is None else price.cost(used.tokens)
            elif used.counted == "unknown":
                tokens = cost = None
                blind[used.candidate] = blind.get(used.candidate, 0) + 1
            cells.setdefault((used.candidate, used.cell), []).append((tokens, cost))
        in_tokens: dict[str, list[Decimal]] = {}
        in_money: dict[str, list[Decimal]] = {}
        for (label, _), calls in cells.items():
            for found, position in ((in_tokens, 0), (in_money, 1)):
                known = [call[position] for call in calls]
                if all(each is not None for each in known):
                    found.setdefault(label, []).append(sum((each for each in known if each is not None), Decimal(0)))
        return in_tokens, in_money, blind

    def _sentence(self, label: str, tokens: Sequence[Decimal], costs: Sequence[Decimal], blind: int) -> str:
        price, of = self.prices[label], self.cells.get(label, 0)
        if not tokens:
            return f"pilot of {label}: no cell of {of} told its tokens, so what all would use is unknown"
        said = f"pilot of {label}, {len(tokens)} of {of} cells: all use "
        said += extrapolate([(tokens, of)]).text(lambda amount: f"{amount:,.0f} tokens")
        if price is None:
            said += "; what they cost is unknown, since no price is known"
        elif len(costs) < len(tokens):
            said += f"; {spent_text({}, len(tokens) - len(costs))} of a sort of tokens without a price"
        else:
            said += f"; they cost {extrapolate([(costs, of)]).text(lambda amount: money(amount, price.currency))}"
        return said + (f"; {blind} calls that nobody counted are left out of this" if blind else "")
