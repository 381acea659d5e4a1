"""What a bundle claims: figures with what they rest on, and every run that stands on the same fixtures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ledger._canonical import JSON
from ledger._store import Ledger
from ledger._views import as_of, over_views
from ledger.bundle._decide import Decisions
from ledger.bundle._select import FixtureRuns, Selection

__all__ = ["claims_of", "fixtures_of", "marks_of", "told_of"]

_TALLIES = "SELECT seq, body FROM main.events WHERE run = ? AND kind = 'tally' AND seq <= ? ORDER BY seq"
_SUPERSEDED = "SELECT seq, id FROM supersessions WHERE in_force AND what = 'run' ORDER BY seq"
_TAINTED = "SELECT DISTINCT run, taint FROM tainted_events WHERE run <> '' ORDER BY 2"
_ANY = "SELECT kind FROM main.events WHERE kind IN ('supersede', 'taint') AND seq <= ? GROUP BY kind"
# `+`: SQLite would go by all cells of the ledger otherwise, and not by the run's own events.
_CELLS = "SELECT count(*) AS cells FROM main.events WHERE kind = 'cell' AND run = ? AND +seq <= ?"
_CLOSE = "SELECT seq, body FROM main.events WHERE run = ? AND kind = 'close' AND seq <= ? ORDER BY +seq DESC LIMIT 1"
_REPORTS = (
    "SELECT DISTINCT report.seq AS seq, cause.run AS run FROM main.events AS report"
    " CROSS JOIN json_each(report.causes) AS named CROSS JOIN main.events AS cause ON cause.seq = named.value"
    " WHERE report.kind = 'report' AND report.seq <= ? AND cause.run <> '' ORDER BY 1"
)
_MARKS = (
    "SELECT DISTINCT rules, candidate, asked_again, asked_again_of, mixed, marks FROM scoreboard WHERE run = ?"
    " AND marks <> '' ORDER BY rules, candidate"
)
_FIGURES = ("k", "n", "planned", "unmeasured")


def _parsed(text: str | None) -> dict[str, Any]:
    return json.loads(text) if text is not None else {}


def claims_of(ledger: Ledger, selection: Selection, decisions: Decisions, size: int) -> list[dict[str, JSON]]:
    """The figures of the report that was asked for; else of the newest tally of each rule set of each asked run."""
    if selection.asked.report is not None:
        found = list(_of_report(ledger, selection.asked.report, decisions))
    else:
        found = [
            _claim(run, seq, tally["rules"], figure)
            for run in selection.asked.runs
            for seq, tally in _newest(ledger, run, size).items()
            if not decisions.why(seq)
            for figure in tally["metrics"]
        ]
    return found


def _newest(ledger: Ledger, run: str, size: int) -> dict[int, dict[str, Any]]:
    """The newest tally of each rule set, by seq."""
    last: dict[str, tuple[int, dict[str, Any]]] = {}
    for row in ledger.rows(_TALLIES, (run, size)):
        body = _parsed(row["body"])
        last[str(body["rules"])] = (int(row["seq"]), body)
    return dict(sorted(last.values(), key=lambda each: each[0]))


def _claim(run: str, seq: int, rules: str, figure: Mapping[str, Any]) -> dict[str, JSON]:
    return {
        "run": run, "rules": rules, "candidate": figure["candidate"], "metric": figure["metric"],
        "kind": figure["kind"], "k": figure["k"], "total": figure["total"], "n": figure["n"],
        "planned": figure["planned"], "unmeasured": figure.get("unmeasured", 0), "primary": figure["primary"],
        "tally": seq,
    }  # fmt: skip


def _of_report(ledger: Ledger, report: int, decisions: Decisions) -> Iterator[dict[str, JSON]]:
    if decisions.why(report):
        return
    for figure in cast("list[Any]", _parsed(ledger.event(report).body).get("figures", [])):
        if not isinstance(figure, dict):
            continue
        row = cast("dict[str, Any]", figure)
        if row.get("kind") not in ("rate", "mean") or not isinstance(row.get("tally"), int):
            continue
        seq = int(row["tally"])
        if decisions.why(seq):
            continue
        tally = _parsed(ledger.event(seq).body)
        same = [
            each
            for each in tally.get("metrics", ())
            if (each["candidate"], each["metric"]) == (row.get("candidate"), row.get("metric"))
        ]
        rest: dict[str, Any] = same[0] if same else {"total": None, "primary": False}
        said = {name: row.get(name) for name in _FIGURES} | {"unmeasured": row.get("unmeasured") or 0}
        yield _claim(str(row["run"]), seq, str(row["rules"]), {**rest, **row, **said, "total": rest["total"]})


def fixtures_of(
    ledger: Ledger, selection: Selection, decisions: Decisions, size: int, hidden: list[str]
) -> list[dict[str, JSON]]:
    """Every fixture of the asked runs with every run that stands on it; `hidden` are the names that aren't shown."""
    if not selection.fixtures:
        return []
    given = as_of(size)
    said = {str(row["kind"]) for row in ledger.rows(_ANY, (size,))}
    superseded: dict[str, list[int]] = {}
    for row in ledger.rows(over_views(_SUPERSEDED, given)) if "supersede" in said else ():
        superseded[str(row["id"])] = [int(row["seq"])]
    tainted: dict[str, list[int]] = {}
    for row in ledger.rows(over_views(_TAINTED, given)) if "taint" in said else ():
        tainted.setdefault(str(row["run"]), []).append(int(row["taint"]))
    reports: dict[str, list[int]] = {}
    for row in ledger.rows(_REPORTS, (size,)):
        reports.setdefault(str(row["run"]), []).append(int(row["seq"]))

    def of_run(run: str, plan: int) -> dict[str, JSON]:
        (counted,) = ledger.rows(_CELLS, (run, size))
        closes = ledger.rows(_CLOSE, (run, size))
        purpose = None if decisions.why(plan) else _parsed(ledger.event(plan).body).get("purpose")
        shown = bool(closes) and not decisions.why(int(closes[0]["seq"]))
        return {
            "run": run, "plan": plan, "cells": int(counted["cells"]), "purpose": purpose,
            "status": _parsed(closes[0]["body"]).get("status") if shown else None,
            "reports": list(reports.get(run, [])), "superseded_by": list(superseded.get(run, [])),
            "tainted_by": list(tainted.get(run, [])),
        }  # fmt: skip

    def one(fixture: FixtureRuns) -> dict[str, JSON]:
        return {
            "name": "hidden" if fixture.name in hidden else fixture.name,
            "freezes": list(fixture.freezes),
            "runs": [of_run(run, plan) for run, plan in fixture.plans],
        }

    return [one(fixture) for fixture in selection.fixtures]


def marks_of(
    ledger: Ledger, claims: Sequence[Mapping[str, Any]], size: int, *, hiding: bool
) -> list[tuple[str, str, str]]:
    """How the answers behind the claims came about: (run, candidate, words), for those that a mark stands beside.

    Where something is hidden the names of who answered aren't told, only that there was more than one.
    """
    query = over_views(_MARKS, as_of(size))
    claimed = {(each["run"], each["rules"], each["candidate"]) for each in claims}
    found: list[tuple[str, str, str]] = []
    for run in sorted({str(each["run"]) for each in claims}):
        for row in ledger.rows(query, (run,)):
            again = f"{row['asked_again']} of {row['asked_again_of']} were asked again" if row["asked_again"] else ""
            short = [again, "answered by more than one server" if row["mixed"] else ""]
            said = ("; ".join(filter(None, short)) or "marked") if hiding else str(row["marks"])
            if (run, row["rules"], row["candidate"]) in claimed:
                found.append((run, str(row["candidate"]), said))
    return list(dict.fromkeys(found))


def told_of(ledger: Ledger, selection: Selection, decisions: Decisions) -> dict[str, JSON] | None:
    """What deriving again needs of the plans that are hidden; None where no plan is."""
    found: dict[str, JSON] = {}
    for run in selection.asked.runs:
        (plan,) = ledger.events(kind="plan", run=run)
        if not decisions.why(plan.seq) or plan.body is None:
            continue
        body = _parsed(plan.body)
        found[run] = {
            "ask": body["ask"],
            "suite": body["suite"],
            "candidates": [
                {name: each[name] for name in ("label", "protocol", "model", "stream")} for each in body["candidates"]
            ],
        }
    return found or None
