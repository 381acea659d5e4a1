"""What a run spent, as a page shows it: tokens and costs, each with its place in the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from harness._prices import price_text
from ledger.web import Figure, cli

__all__ = ["Money", "dearest", "money"]

Row = Mapping[str, Any]
_DEAREST = 5
_NUMBERS = (
    ("requests", "calls"), ("refused", "error status"), ("unsent", "not sent"), ("uncounted", "uncounted"),
    ("input_tokens", "input"), ("cached_tokens", "cached"), ("cache_write_tokens", "cache write"),
    ("output_tokens", "output"),
)  # fmt: skip
_ALWAYS = frozenset({"requests", "input_tokens", "output_tokens"})


@dataclass(frozen=True)
class Money:
    """`totals` and each row's `cost` are amounts with their currency; `unknown` counts the calls of unknown cost, None
    where there are none. `columns` are the headings of a candidate's `counts`."""

    totals: Sequence[tuple[Figure, str]]
    unknown: Figure | None
    columns: Sequence[str]
    candidates: Sequence[Row]
    failures: Sequence[Row]
    dearest: Sequence[Row]


def dearest(cases: Sequence[Row]) -> Sequence[int]:
    """Which few cases cost most, the dearest first, each currency by itself: their places among `cases`."""
    by: dict[str, list[tuple[Decimal, int]]] = {}
    for at, row in enumerate(cases):
        if row["cost"] is not None and (cost := Decimal(row["cost"])):
            by.setdefault(row["currency"], []).append((-cost, at))
    return [at for _, some in sorted(by.items()) for _, at in sorted(some)[:_DEAREST]]


def money(data: Row, dear: Sequence[int]) -> Money | None:
    """The report's spend; None where nothing was asked."""
    spend, source = data["spend"], cli("harness", "report", data["run"]["id"])
    if not any(row["requests"] for row in spend["candidates"]):
        return None
    shown = [
        (name, title) for name, title in _NUMBERS
        if name in _ALWAYS or any(row[name] for row in spend["candidates"])
    ]  # fmt: skip

    def spent(place: str, row: Row) -> Row:
        known = row["cost"] is not None and row["requests"] > row["unknown"]
        return {
            **row, "calls": source.at(f"{place}/requests", row["requests"]),
            "cost": source.at(f"{place}/cost", row["cost"], "text") if known else None,
            "unknown": source.at(f"{place}/unknown", row["unknown"]) if row["unknown"] else None,
        }  # fmt: skip

    return Money(
        totals=[
            (source.at(f"/spend/total/{at}/cost", row["cost"], "text"), row["currency"])
            for at, row in enumerate(spend["total"])
        ],
        unknown=source.at("/spend/unknown", spend["unknown"]) if spend["unknown"] else None,
        columns=[title for _, title in shown],
        candidates=[
            {
                **spent(f"/spend/candidates/{at}", row), "price": price_text(row["price"]),
                "counts": [source.at(f"/spend/candidates/{at}/{name}", row[name]) for name, _ in shown],
            }
            for at, row in enumerate(spend["candidates"])
        ],
        failures=[
            {**spent(f"/spend/failures/{at}", row), "cells": source.at(f"/spend/failures/{at}/cells", row["cells"])}
            for at, row in enumerate(spend["failures"])
        ],
        dearest=[spent(f"/spend/cases/{at}", spend["cases"][at]) for at in dear],
    )  # fmt: skip
