"""The page of a run: what it is, what it came to under each rule set and why, what it cost, and what it stood on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from harness._repeats import majority_text, repeats_text
from harness._report import RunReport
from harness._report_data import GONE
from harness._report_document import notices, origins
from harness._report_study import set_aside
from harness.web._board import boards, failures, flags, outcome_rows
from harness.web._facts import RunCells, RunFacts, run_cells, run_facts
from harness.web._matrix import STAGES, choice_of, is_narrowed, matrix
from harness.web._money import money
from harness.web._named import goes_on, run_named
from harness.web._quote import select
from harness.web._stood import comparisons, newest_of_suite, plan_candidates, reports_of
from harness.web._study import run_tables
from harness.web._words import sentence
from harness.web._wrong import wrong_rows
from ledger import Ledger, over_views, run_status
from ledger.web import Crumb, Desk, Kept, Page, PageMissing, View, cli, readable, sql

__all__ = ["ahead", "run"]

Row = Mapping[str, Any]
_PLAN = "SELECT seq, at, body FROM main.events WHERE run = ? AND kind = 'plan'"
_STATUS = 'SELECT status, closed_at, asked, planned, epochs, "limit", "filter" FROM runs WHERE run = ?'
_EVENTS = "SELECT seq, at, kind, cell FROM main.events WHERE run = ? ORDER BY +seq LIMIT ?"
_SINCE = "SELECT seq FROM main.events WHERE seq > ? AND kind = 'taint' ORDER BY seq LIMIT 5"
_MOST_EVENTS = 200
_TONES = {"complete": "good", "partial": "", "open": "warn", "import": ""}


@readable("run")
def run(view: View, run: str) -> Page:
    """The page of a run; with a question behind its address, of those of its cells that it asks for."""
    run = run_named(view.ledger, run)
    plan = view.ledger.sql(_PLAN, (run,)).fetchone()
    if plan is None:
        raise PageMissing(f"run {run} has events here and no plan: `ledger log --run {run}` shows them")
    body = json.loads(plan[2])
    crumbs = [Crumb("Runs", "home"), Crumb(body["name"] or run)]
    head = _head(view, run, plan, body)
    if body["purpose"] == "probe":
        values = {**head, "events": _events(view.ledger, run)}
        return Page(f"Probe {run}", "harness/probe.html", values, crumbs, run)
    desk, narrowed, live = Desk(view), is_narrowed(view), head["status"] == "open"
    cells = run_cells(desk, run)
    # Whatever is counted on a page is of one moment: of the whole one, that of the report; else that of the cells.
    facts = None if narrowed else run_facts(desk, run)
    title = f"Run {run}"
    if narrowed:
        title = f"Cells of run {run}"
        crumbs[-1:] = [Crumb(body["name"] or run, "run", {"run": run}), Crumb("Cells")]
    if facts is not None:
        shown = {**head, **_cells_shown(view, run, body, facts.value.cells), "cells_size": None}
        return Page(title, "harness/run.html", {**shown, **_whole(view, run, head, facts)}, crumbs, run, live=live)
    shown = {**head, "matrix": None, "outcomes": (), "cells_size": None, "title": title}
    if cells is not None:
        size = None if cells.current else cells.size
        shown |= {**_cells_shown(view, run, body, cells.value), "cells_size": size}
        if narrowed:
            return Page(title, "harness/matrix.html", shown, crumbs, run, live=live)
    return Page(
        title, "harness/awaited.html", {**shown, "notices": _known(view, run, head)}, crumbs, run, awaits=True,
        live=live,
    )  # fmt: skip


def _cells_shown(view: View, run: str, plan: Row, cells: RunCells) -> dict[str, Any]:
    labels = [str(each["label"]) for each in plan["candidates"]]
    return {
        "matrix": matrix(view, run, cells, choice_of(view, cells)), "several": len(labels) > 1, "stages": STAGES,
        "repeated": plan["epochs"] > 1, "armed": bool(plan["arms"]),
        "outcomes": () if is_narrowed(view) else outcome_rows(view, run, cells, labels),
    }  # fmt: skip


def _whole(view: View, run: str, head: Row, facts: Kept[RunFacts]) -> dict[str, Any]:
    """All that is said of a run: figures as the report has them, and how it stands as it does now."""
    report, plan = facts.value.report, head["plan"]
    labels = [str(each["label"]) for each in plan["candidates"]]
    data = _as_of_now(view, report, head)
    ended = head["status"] in _ENDED and not report.unfinished
    return {
        "stale": None if facts.current else facts.size, "data": data, "about": _about(run, data["run"]),
        "taints_since": [] if facts.current else _taints_since(view.ledger, facts.size),
        "notices": [sentence(view, each) for each in notices(data)],
        "origins": [sentence(view, each) for each in origins(data)],
        "notes": report.history.notes, "boards": boards(view, data),
        "bars": _bars(data), "aside": set_aside(data.get("bars_not_judged", ())), "studies": run_tables(data),
        "predictions": _predictions(data), "failures": failures(view, data), "flags": flags(data),
        "repeats": _repeats(data), "money": money(data, facts.value.dearest), "timing": facts.value.timing,
        "wrong": wrong_rows(view.ledger, facts.value.wrong), "more_wrong": facts.value.wrong.more,
        "wrong_rules": facts.value.wrong.rules, "reports": reports_of(view.ledger, run),
        "resumable": not ended and goes_on(plan["via"], head["status"], data["superseded"], data["taints"]),
        "pairs": comparisons(run, labels, [each["rules"] for each in data["rules"]]),
        "others": newest_of_suite(view.ledger, run, plan["suite"]),
        "sides": [f"{run}@{label}" for label in labels] if len(labels) > 1 else [run],
    }  # fmt: skip


@readable("run")
def ahead(view: View, run: str) -> None:
    """Work out what the page of a run keeps, so that its first visitor doesn't wait; nothing for a probe."""
    plan = view.ledger.sql(_PLAN, (run,)).fetchone()
    if plan is not None and json.loads(plan[2])["purpose"] != "probe":
        desk = Desk(view)
        run_cells(desk, run)
        run_facts(desk, run)


_ENDED = ("complete", "partial")


def _as_of_now(view: View, report: RunReport, head: Row) -> dict[str, Any]:
    """The report's data, with what needs no figures as it stands now: the status as people are told it (the file can't
    know who holds a run), and what superseded the run."""
    data = report.data
    return {
        **data, "run": {**data["run"], "status": head["status"]},
        "superseded": _superseded(view.ledger, report.run),
    }  # fmt: skip


def _superseded(ledger: Ledger, run: str) -> Row | None:
    return next(iter(ledger.rows(over_views(GONE), (run,))), None)


def _taints_since(ledger: Ledger, size: int) -> Sequence[int]:
    """The first few taints that came after the figures: nobody followed yet what they reach."""
    return [int(seq) for (seq,) in ledger.sql(_SINCE, (size,)).fetchall()]


def _head(view: View, run: str, plan: Sequence[Any], body: Row) -> dict[str, Any]:
    (row,) = view.ledger.rows(over_views(_STATUS), (run,))
    status = run_status(view.ledger, run, row["status"])
    return {
        "run": run, "plan": body, "plan_seq": plan[0], "opened": plan[1], "closed": row["closed_at"],
        "status": status, "tone": _TONES.get(status, "bad"), "candidates": plan_candidates(body),
        "about": _about(run, row),
    }  # fmt: skip


def _about(run: str, row: Row) -> Row:
    def figure(name: str) -> Any:
        return sql(select(f'"{name}"', "runs", run=run), row[name])

    return {
        "asked": figure("asked"), "planned": figure("planned"),
        "epochs": figure("epochs") if row["epochs"] > 1 else None,
        "limit": figure("limit") if row["limit"] is not None else None, "filter": row["filter"],
    }  # fmt: skip


def _known(view: View, run: str, head: Row) -> Sequence[Markup]:
    """What must be known of a run ahead of its numbers, as far as that is known without them."""
    gone = _superseded(view.ledger, run)
    data = {"run": {"status": head["status"]}, "superseded": gone, "taints": (), "not_reproducible": ()}
    return [sentence(view, each) for each in notices(data)]


def _bars(data: Row) -> Sequence[Row]:
    source = cli("harness", "report", data["run"]["id"])
    return [
        {**bar, "figure": source.at(f"/bars/{at}/figure", bar["figure"], "text")}
        for at, bar in enumerate(data["bars"])
    ]  # fmt: skip


def _predictions(data: Row) -> Sequence[Row]:
    source = cli("harness", "report", data["run"]["id"])
    return [
        {
            **held,
            "results": [
                {**each, "figure": source.at(f"/predictions/{at}/results/{number}/figure", each["figure"], "text")}
                for number, each in enumerate(held["results"])
            ],
        }
        for at, held in enumerate(data["predictions"])
    ]


def _repeats(data: Row) -> Sequence[Row]:
    source = cli("harness", "report", data["run"]["id"])
    return [
        {
            "candidate": row["candidate"], "rules": row["rules"], "passes": repeats_text(row),
            "majority": majority_text(row.get("majority")),
            **{name: source.at(f"/repeatability/{at}/{name}", row[name]) for name in ("changed", "repeated", "cases")},
        }
        for at, row in enumerate(data["repeatability"])
    ]  # fmt: skip


def _events(ledger: Ledger, run: str) -> Sequence[Row]:
    return ledger.rows(_EVENTS, (run, _MOST_EVENTS))
