"""What a run may spend, from flags to a meter: the price list, the budgets, and what refuses them before anything is
planned."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from harness._candidate import Candidate
from harness._errors import PricesError
from harness._meter import Budget, Meter
from harness._prices import PRICES_FILE, Price, PriceList, find_prices
from harness._used import used_requests
from ledger import Ledger, over_views
from ledger.kinds import Plan

__all__ = ["Purse", "budget_again", "budget_text", "open_purse", "parse_max_cost", "reply_limits", "resumed_meter"]

_AMOUNT = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,12})?) ?([A-Za-z]{3})?")
_LIMITS = ("max_completion_tokens", "max_tokens", "num_predict")
_ADDING = ("tools", "web_search_options", "search_parameters", "enable_search", "plugins", "mcp_servers")
"""Parameters that let a provider put text of its own, such as what a search found, beside what was sent."""

_SIZE = "SELECT body ->> '$.blobs.body.size' AS size FROM main.events WHERE seq = ?"


@dataclass(frozen=True)
class Purse:
    """The price list (None without one) and the budget that a person gave, and how many cells a pilot asks first."""

    prices: PriceList | None = None
    budget: Budget = field(default_factory=Budget)
    pilot: int = 0

    def price(self, candidate: Candidate) -> Price | None:
        """What a candidate's tokens cost; None is unknown."""
        return None if self.prices is None or candidate.recorded else self.prices.find(candidate.label)

    def bodies(self, candidates: Sequence[Candidate]) -> dict[str, dict[str, str]]:
        """The prices as a plan keeps them, by label, of those candidates that have one."""
        found = {each.label: self.price(each) for each in candidates}
        return {label: price.as_body() for label, price in found.items() if price is not None}

    def checked(self, candidates: Sequence[Candidate]) -> Purse:
        """The purse, its budget in one currency. Raises PricesError where the budget can't be kept with these."""
        asked = [each for each in candidates if not each.recorded]
        if not self.budget.counts or asked:
            prices = {each.label: self.price(each) for each in asked}
            path = self.prices.path if self.prices is not None else PRICES_FILE
            return replace(self, budget=_settled(self.budget, prices, f"{path} has none for {{}}; add it there"))
        raise PricesError(f"{self.budget.names()}: a replay asks recorded answers, which costs nothing; leave it out")

    def unbounded(self, candidates: Sequence[Candidate]) -> list[str]:
        """A sentence for each candidate a broken call of which would stop the run: its use would have no bound."""
        prices = {each.label: self.price(each) for each in candidates if not each.recorded}
        return [
            f"warning: {each.label} {_why_unbounded(each.parameters)}: under {self.budget.names()} a call that breaks"
            " off can't be bounded and stops the run"
            for each in candidates
            if self.budget.counts
            and not each.recorded
            and _bounded(each.parameters) is None
            and not (self.budget.tokens is None and (price := prices[each.label]) is not None and price.is_free)
        ]

    def meter(self, candidates: Sequence[Candidate], ledger: Ledger) -> Meter:
        """A meter that has counted nothing yet."""
        asked = [each for each in candidates if not each.recorded]
        limits = {each.label: _bounded(each.parameters) for each in asked}
        return Meter(
            {each.label: self.price(each) for each in asked}, self.budget,
            limits={label: limit for label, limit in limits.items() if limit is not None}, size_of=_size_of(ledger),
        )  # fmt: skip


def open_purse(prices: str = "", max_cost: str = "", max_tokens_total: int | None = None, pilot: int = 0) -> Purse:
    """The purse that flags ask for; `prices` empty is ./prices.toml, if there is one. Raises PricesError."""
    cost, currency = parse_max_cost(max_cost) if max_cost else (None, "")
    return Purse(find_prices(prices), Budget(cost, currency, max_tokens_total), pilot)


def parse_max_cost(text: str) -> tuple[Decimal, str]:
    """ "0.50", "5USD" or "5 EUR" as an amount and its currency, empty for the prices' own. Raises PricesError."""
    match = _AMOUNT.fullmatch(text.strip())
    try:
        amount = Decimal(match[1]) if match else Decimal(0)
    except InvalidOperation:
        amount = Decimal(0)
    if match is None or not amount:
        raise PricesError(f"--max-cost: expected an amount above 0 such as 5 or 0.50USD, got {text!r}")
    return amount, (match[2] or "").upper()


def budget_text(budget: Budget) -> dict[str, str]:
    """A budget as a plan keeps it, for a resume."""
    found = {} if budget.cost is None else {"max_cost": f"{budget.cost:f}{budget.currency}"}
    return found if budget.tokens is None else {**found, "max_tokens_total": str(budget.tokens)}


def budget_again(kept: Mapping[str, str], max_cost: str = "", max_tokens_total: int | None = None) -> Budget:
    """The budget of a run that goes on: what flags say now, else what the plan keeps; "none" and 0 lift a limit.

    Raises PricesError.
    """
    said = max_cost or kept.get("max_cost", "")
    cost, currency = parse_max_cost(said) if said and said != "none" else (None, "")
    tokens = int(kept.get("max_tokens_total", "0")) if max_tokens_total is None else max_tokens_total
    return Budget(cost, currency, tokens or None)


def reply_limits(parameters: Mapping[str, Any]) -> int | None:
    """The most tokens that a reply may have, as a candidate's parameters set it; None where they don't. Where several
    choices are asked for (`n`, `best_of`), each of them may have as many."""
    options = parameters.get("options")
    places = [parameters, *([cast("Mapping[str, Any]", options)] if isinstance(options, dict) else [])]
    found = [place.get(name) for place in places for name in _LIMITS]
    limits = [each for each in found if isinstance(each, int) and not isinstance(each, bool) and each > 0]
    copies = [each for each in (parameters.get("n"), parameters.get("best_of")) if isinstance(each, int) and each > 1]
    return max(limits) * max(copies, default=1) if limits else None


def _bounded(parameters: Mapping[str, Any]) -> int | None:
    """The most tokens of a reply whose request's bytes bound its prompt; None where either has no bound."""
    return None if any(parameters.get(name) for name in _ADDING) else reply_limits(parameters)


def _why_unbounded(parameters: Mapping[str, Any]) -> str:
    adding = [name for name in _ADDING if parameters.get(name)]
    if adding:
        return f"sets {adding[0]}, with which the provider may add text of its own"
    return "sets no max_tokens (in suite.toml [parameters], or with -M max_tokens=…)"


def resumed_meter(ledger: Ledger, run: str, plan: Plan, budget: Budget) -> Meter:
    """A meter of a run that went on before: with the prices that its plan froze, and what its requests used so far.

    Raises PricesError where the budget can't be kept with these prices.
    """
    prices = {each.label: Price.from_body(each.price) for each in plan.candidates}
    budget = _settled(budget, prices, "the run was planned without one for {}; --max-tokens-total needs none")
    limits = {each.label: _bounded(each.parameters) for each in plan.candidates}
    meter = Meter(
        prices, budget, limits={label: limit for label, limit in limits.items() if limit is not None},
        size_of=_size_of(ledger),
    )  # fmt: skip
    for used in used_requests(lambda query, values: ledger.rows(over_views(query), values), run):
        if used.candidate in prices:
            meter.add(used.candidate, used.counted, used.tokens, used.request, cut=used.cut)
        elif used.candidate is None:
            meter.stop("a redaction withholds whom some requests went to")
    return meter


def _settled(budget: Budget, prices: Mapping[str, Price | None], lacks: str) -> Budget:
    """The budget with its currency, which is every price's. Raises PricesError where it can't be kept; `lacks` says of
    which candidates the price is unknown."""
    if budget.cost is None:
        return budget
    unknown = [label for label, price in prices.items() if price is None]
    if unknown:
        named = ", ".join(unknown[:6]) + (f" and {len(unknown) - 6} more" if len(unknown) > 6 else "")
        raise PricesError(f"--max-cost needs the price of every candidate, and {lacks.format(named)}")
    currencies = sorted({price.currency for price in prices.values() if price is not None})
    if len(currencies) > 1:
        raise PricesError(
            f"--max-cost: the candidates are priced in {' and '.join(currencies)}, which are never added up; run them"
            " apart, or use --max-tokens-total"
        )
    if budget.currency and currencies and budget.currency != currencies[0]:
        raise PricesError(f"--max-cost is in {budget.currency}, and the candidates are priced in {currencies[0]}")
    return replace(budget, currency=currencies[0] if currencies else budget.currency)


def _size_of(ledger: Ledger) -> Callable[[int], int | None]:
    """How many bytes the body of a request has, by its event; None where nobody can tell."""

    def size_of(request: int) -> int | None:
        rows = ledger.rows(_SIZE, (request,))
        return int(rows[0]["size"]) if rows and rows[0]["size"] is not None else None

    return size_of
