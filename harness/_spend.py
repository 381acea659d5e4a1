"""What a run spent, by candidate, by case and by failure: its requests' tokens, at the prices that its plan froze.

A figure is exact or unknown: money is decimal text, calls whose tokens nobody counted or whose price nobody gave are
counted as unknown and add nothing, and amounts of several currencies are never added up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from harness._prices import EXACT, Price, price_text, spent_text
from harness._usage import Tokens
from harness._used import UsedRequest, used_requests

__all__ = ["SPEND_NAMES", "SpendTable", "spend_of", "spend_said", "spend_tables", "total_spent"]

Rows = Callable[[str, Sequence[Any]], list[dict[str, Any]]]
Row = Mapping[str, Any]

_PLAN = "SELECT body FROM events WHERE run = ? AND kind = 'plan'"
_CELLS = 'SELECT cell, candidate, rules, "case", outcome, stage, reason FROM cells WHERE run = ? ORDER BY cell, rules'
_DEAREST = 5
_NUMBERS = (
    ("requests", "calls"), ("refused", "error status"), ("unsent", "not sent"), ("uncounted", "uncounted"),
    ("input_tokens", "input"), ("cached_tokens", "cached"), ("cache_write_tokens", "cache write"),
    ("output_tokens", "output"),
)  # fmt: skip
SPEND_NAMES = frozenset({"candidate", "rules", "stage", "reason", "case", "price"})
"""The columns of `spend_tables` that hold text from outside."""


@dataclass
class _Sum:
    """Requests put together. `unpriced` are those whose tokens are known and whose price isn't."""

    requests: int = 0
    refused: int = 0
    unsent: int = 0
    uncounted: int = 0
    unpriced: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    cost: Decimal = Decimal(0)
    cells: set[int] = field(default_factory=set[int])

    def add(self, used: UsedRequest, price: Price | None) -> None:
        self.requests += 1
        self.cells.add(used.cell)
        if used.tokens is not None:
            self.tokens += used.tokens
            cost = None if price is None else price.cost(used.tokens)
            if cost is None:
                self.unpriced += 1
            else:
                self.cost = EXACT.add(self.cost, cost)
        elif used.counted == "refused":
            self.refused += 1
        elif used.counted == "unsent":
            self.unsent += 1
        else:
            self.uncounted += 1

    @property
    def blind(self) -> bool:
        """Whether there are calls, and nobody knows what any of them cost."""
        return 0 < self.requests == self.uncounted + self.unpriced

    def as_row(self, price: Price | None) -> dict[str, Any]:
        """`cost` is that of the calls whose cost is known; None where there are calls and it is known of none."""
        return {
            "requests": self.requests,
            "unknown": self.uncounted + self.unpriced,
            "cost": None if price is None or self.blind else decimal_text(self.cost),
            "currency": None if price is None else price.currency,
        }


def decimal_text(amount: Decimal) -> str:
    """The exact amount, without needless zeros: the same amount is the same text."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def spend_of(rows: Rows, run: str) -> dict[str, Any]:
    """What a run spent, as plain JSON-able data; `rows` asks the views, as they are or as of an event.

    A replay and an import asked nobody, so there is nothing to list but that.
    """
    plan = json.loads(rows(_PLAN, (run,))[0]["body"])
    empty: list[dict[str, Any]] = []
    spend: dict[str, Any] = {
        "via": plan["via"], "prices": plan.get("prices"), "total": empty, "unknown": 0, "candidates": empty,
        "failures": empty, "cases": empty,
    }  # fmt: skip
    if plan["via"] != "live":
        return spend
    prices = {each["label"]: Price.from_body(each.get("price", {})) for each in plan["candidates"]}
    cells = rows(_CELLS, (run,))
    who = {int(row["cell"]): (row["candidate"], row["case"]) for row in cells}
    candidates = {label: _Sum() for label in prices}
    lost = _Sum()
    cases: dict[tuple[str, Any], _Sum] = {}
    failures = _failures(cells, prices)
    for used in used_requests(rows, run):
        label, case = who.get(used.cell, (None, None))
        label = used.candidate if used.candidate is not None else label
        if label not in candidates:
            lost.add(used, None)
            continue
        price = prices[label]
        candidates[label].add(used, price)
        cases.setdefault((label, case), _Sum()).add(used, price)
        for each in failures.get(used.cell, ()):
            each.add(used, price)
    sums: dict[str, Decimal] = {}
    for label, price in prices.items():
        if price is not None and not candidates[label].blind:
            sums[price.currency] = EXACT.add(sums.get(price.currency, Decimal(0)), candidates[label].cost)
    spend["total"] = [{"currency": name, "cost": decimal_text(amount)} for name, amount in sorted(sums.items())]
    spend["unknown"] = lost.requests + sum(each.uncounted + each.unpriced for each in candidates.values())
    spend["candidates"] = [_candidate(label, each, prices[label]) for label, each in candidates.items()]
    if lost.requests:
        spend["candidates"].append(_candidate(None, lost, None))
    spend["failures"] = [
        {**key, "cells": len(each.cells), **each.as_row(prices[key["candidate"]])}
        for key, each in _listed(failures) if each.requests
    ]  # fmt: skip
    spend["cases"] = [
        {"candidate": label, "case": case, **each.as_row(prices[label])} for (label, case), each in cases.items()
    ]
    return spend


def _candidate(label: str | None, each: _Sum, price: Price | None) -> dict[str, Any]:
    return {
        "candidate": label, **each.as_row(price), "refused": each.refused, "unsent": each.unsent,
        "uncounted": each.uncounted, "unpriced": each.unpriced, "input_tokens": each.tokens.input,
        "cached_tokens": each.tokens.cached, "cache_write_tokens": each.tokens.cache_write,
        "output_tokens": each.tokens.output, "price": {} if price is None else price.as_body(),
    }  # fmt: skip


class _Failure(_Sum):
    """The requests of the cells that are unmeasured for one reason under one rule set."""

    def __init__(self, key: dict[str, Any]) -> None:
        super().__init__()
        self.key = key


def _failures(cells: Iterable[Row], prices: Mapping[str, Price | None]) -> dict[int, list[_Failure]]:
    """For each unmeasured cell, the sums that its requests belong to: one a rule set."""
    made: dict[tuple[Any, ...], _Failure] = {}
    found: dict[int, list[_Failure]] = {}
    for row in cells:
        if row["outcome"] == "unmeasured" and row["candidate"] in prices:
            key = {name: row[name] for name in ("candidate", "rules", "stage", "reason")}
            each = made.setdefault(tuple(key.values()), _Failure(key))
            found.setdefault(int(row["cell"]), []).append(each)
    return found


def _listed(failures: Mapping[int, Sequence[_Failure]]) -> list[tuple[dict[str, Any], _Failure]]:
    every = {tuple(each.key.values()): each for some in failures.values() for each in some}
    return [(every[key].key, every[key]) for key in sorted(every)]


# For people


@dataclass(frozen=True)
class SpendTable:
    """A table of plain text; columns in SPEND_NAMES hold text from outside, the others our own words and figures."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def total_spent(spend: Row) -> str:
    """The whole run's spend in a few words: "0.0123 USD + unknown (3 calls)"."""
    if spend["via"] != "live":
        return "nothing"
    sums = {each["currency"]: Decimal(each["cost"]) for each in spend["total"]}
    return spent_text(sums, spend["unknown"])


def spend_said(spend: Row) -> str:
    """One sentence on what the run spent."""
    if spend["via"] != "live":
        how = "A replay asks recorded answers" if spend["via"] == "replay" else "What was imported was asked elsewhere"
        return f"{how}: nothing was spent."
    said = f"Spent: {total_spent(spend)}."
    if any(not each["price"] for each in spend["candidates"]):
        said += " A price that nobody gave is unknown, and never 0; prices.toml names them (docs/MONEY.md)."
    return said


def spend_tables(spend: Row) -> list[SpendTable]:
    """By candidate, by reason of what is unmeasured, and the dearest cases."""
    if not any(each["requests"] for each in spend["candidates"]):
        return []
    shown = [
        (name, title)
        for name, title in _NUMBERS
        if title in ("calls", "input", "output") or any(row[name] for row in spend["candidates"])
    ]
    columns = ("candidate", "spent", *(title for _, title in shown), "price")
    lines = [
        [_withheld(row["candidate"]), _spent(row), *(str(row[name]) for name, _ in shown), price_text(row["price"])]
        for row in spend["candidates"]
    ]
    tables = [SpendTable("Spend by candidate, and the tokens that were counted", columns, lines)]
    if spend["failures"]:
        columns = ("candidate", "rules", "stage", "reason", "cells", "calls", "spent")
        names = ("candidate", "rules", "stage", "reason", "cells", "requests")
        lines = [[*(str(row[name]) for name in names), _spent(row)] for row in spend["failures"]]
        tables.append(SpendTable("What the unmeasured cost, by reason", columns, lines))
    dearest = _dearest(spend["cases"])
    if dearest:
        lines = [[row["candidate"], _withheld(row["case"]), str(row["requests"]), _spent(row)] for row in dearest]
        tables.append(SpendTable("The dearest cases", ("candidate", "case", "calls", "spent"), lines))
    return tables


def _dearest(cases: Iterable[Row]) -> list[Row]:
    """The few cases that cost most of all candidates', the dearest first; each currency by itself."""
    by: dict[str, list[Row]] = {}
    for row in cases:
        if row["cost"] is not None and Decimal(row["cost"]):
            by.setdefault(row["currency"], []).append(row)
    return [
        row for _, some in sorted(by.items())
        for row in sorted(some, key=lambda row: (-Decimal(row["cost"]), str(row["case"]), row["candidate"]))[:_DEAREST]
    ]  # fmt: skip


def _withheld(name: str | None) -> str:
    return "(withheld)" if name is None else name


def _spent(row: Row) -> str:
    if row["cost"] is None:
        return spent_text({}, row["unknown"])
    known = row["requests"] > row["unknown"]
    return spent_text({row["currency"]: Decimal(row["cost"])} if known else {}, row["unknown"])
