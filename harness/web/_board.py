"""The scoreboard of a run as a page shows it: each number with its place in the report, and a link to its cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from harness._answer_marks import mark_words
from harness._contradicted import held_words
from harness._report_document import interval_heading
from harness.web._facts import RunCells
from harness.web._quote import select
from harness.web._words import anchor, flag_words, intervals, outcome_bar, reason_words
from ledger import printable
from ledger.web import Figure, View, cli, sql

__all__ = ["Board", "boards", "failures", "flags", "outcome_rows"]

Row = Mapping[str, Any]
_OUTCOMES = ("correct", "graded", "incorrect", "unmeasured")


@dataclass(frozen=True)
class Board:
    """The figures under one rule set. `calm`: nothing about its standing has to be said loudly."""

    rules: str
    standing: str
    because: str
    freeze: int | None
    calm: bool
    heading: str
    rows: Sequence[Row]
    counted: bool
    marked: bool
    plot: Markup


def boards(view: View, data: Mapping[str, Any]) -> Sequence[Board]:
    """One for each rule set that the run was scored under, in the report's order; candidates in the plan's."""
    order = {label: at for at, label in enumerate(data["run"]["candidates"])}
    found: list[Board] = []
    for each in data["rules"]:
        mine = [(at, row) for at, row in enumerate(data["scoreboard"]) if row["rules"] == each["rules"]]
        mine.sort(key=lambda one: order.get(one[1]["candidate"], len(order)))
        rows = [_row(view, data["run"]["id"], at, row) for at, row in mine]
        plain = [row for _, row in mine]
        found.append(
            Board(
                each["rules"], each["standing"], each["because"], each["freeze"],
                # On a replay the order of this chain says nothing of what was known: the answers are older than it.
                each["standing"] == "confirmatory" and data["run"]["via"] != "replay", interval_heading(plain), rows,
                any(row["unmeasured"] for row in plain), any(row["marks"] for row in rows),
                intervals(f"Rates under {each['rules']}", plain),
            )
        )  # fmt: skip
    return found


def _row(view: View, run: str, at: int, row: Row) -> Row:
    source = cli("harness", "report", run)

    def figure(key: str, form: Any = "count") -> Figure:
        return source.at(f"/scoreboard/{at}/{key}", row[key], form)

    def cells(shown: Figure, hit: str) -> Figure | Markup:
        if not shown.value:
            return shown
        query = {"rules": row["rules"], "candidate": row["candidate"], "metric": row["metric"], "hit": hit}
        return anchor(view, shown, "run", query, run=run, into="cells")

    left = row["planned"] - row["n"]
    place = {name: row[name] for name in ("candidate", "rules", "metric")}
    missing = sql(select("planned - n", "scoreboard", run=run, **place), left)
    said = ["tainted"] if row["tainted"] else []
    said += [each for each in (held_words(row), printable(mark_words(row))) if each]
    return {
        "metric": row["metric"], "primary": row["is_primary"], "candidate": row["candidate"], "kind": row["kind"],
        "measured": bool(row["n"]), "k": cells(figure("k"), "1"), "n": cells(figure("n"), ""),
        "mean": figure("rate", "decimal"), "rate": figure("rate", "percent"), "planned": figure("planned"),
        "low": _share(row, figure, "interval_low"), "high": _share(row, figure, "interval_high"),
        "worst": _share(row, figure, "worst"), "best": _share(row, figure, "best"),
        "left": cells(missing, "none") if left else None,
        "counted": figure("unmeasured") if row["unmeasured"] else None, "policy": row["policy"],
        "marks": said + ([] if row["reproducible"] else ["not reproducible"]),
    }  # fmt: skip


def _share(row: Row, figure: Any, key: str) -> Figure | None:
    return None if row[key] is None else figure(key, "percent")


def failures(view: View, data: Mapping[str, Any]) -> Sequence[Row]:
    """Why cells are unmeasured, with their number and a link to them, and what each reason means."""
    run = data["run"]["id"]
    source = cli("harness", "report", run)
    return [
        {
            **row, "said": reason_words(row["stage"], row["reason"]),
            "count": anchor(
                view, source.at(f"/unmeasured/{at}/count", row["count"]), "run",
                {name: row[name] for name in ("rules", "candidate", "stage", "reason")}, run=run, into="cells",
            ),
        }
        for at, row in enumerate(data["unmeasured"])
    ]  # fmt: skip


def flags(data: Mapping[str, Any]) -> Sequence[Row]:
    """What was noted in reading, with the number of cells and what each flag means."""
    source = cli("harness", "report", data["run"]["id"])
    return [
        {**row, "said": flag_words(row["flag"]), "count": source.at(f"/flags/{at}/count", row["count"])}
        for at, row in enumerate(data["flags"])
    ]


def outcome_rows(view: View, run: str, cells: RunCells, candidates: Sequence[str]) -> Sequence[Row]:
    """How many cells ended how, by rule set and candidate: a bar, and each number with a link to its cells."""
    counts = cells.counts
    shown = {outcome for mine in counts.values() for outcome in mine}
    order = {label: at for at, label in enumerate(candidates)}
    found: list[Row] = []
    where = {key: (key[0], order.get(key[1], len(order))) for key in counts}
    for rules, candidate in sorted(counts, key=where.__getitem__):
        mine, place = counts[rules, candidate], {"rules": rules, "candidate": candidate}
        numbers: dict[str, Figure | Markup] = {}
        for outcome in (*_OUTCOMES, *sorted(shown - {*_OUTCOMES})):
            if outcome in shown:
                query = select("count(*)", "cells", run=run, **place, outcome=outcome)
                number = sql(query, mine.get(outcome, 0))
                there = {**place, "outcome": outcome}
                some = outcome in mine
                numbers[outcome] = anchor(view, number, "run", there, run=run, into="cells") if some else number
        found.append({**place, "bar": outcome_bar(mine), "numbers": numbers})
    return found
