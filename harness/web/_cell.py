"""The page of a cell: its whole story, from the frozen case to its score under each rule set."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from harness._report_data import GONE
from harness.web._asking import attempts
from harness.web._case import FrozenCase, frozen_case
from harness.web._grades import graded
from harness.web._named import goes_on, run_named
from harness.web._numbers import Numbers, unreadable
from harness.web._readings import Reading, readings, texts
from harness.web._story import Item, Story, tell_story
from ledger import Ledger, over_views, printable, run_status
from ledger.web import Crumb, Figure, Page, PageMissing, View, readable, sql, tree

__all__ = ["cell_page"]

_STANDING = {"correct": "good", "incorrect": "bad", "graded": "", "unmeasured": "warn"}


@dataclass(frozen=True)
class _Told:
    """An event in the list at the end; `why` says why its body can't be read."""

    item: Item
    rules: str
    why: str


_STATUS = over_views("SELECT status FROM runs WHERE run = ?")
_SHORT = 400


@readable("run")
def cell_page(view: View, run: str, cell: str) -> Page:
    """The story of a cell in order: case, request, attempts, bytes, text, and each rule set's reading of it."""
    run = run_named(view.ledger, run)
    story = tell_story(view.ledger, run, _number(cell))
    numbers = Numbers.of_cell(run, story.cell)
    told = story.told
    frozen = frozen_case(view, run, story.plan, told) if told is not None else FrozenCase(None, None)
    found = readings(view, story, frozen.case, numbers, view.first("rules"))
    tried = attempts(view.ledger, story, numbers)
    heard = texts(found)
    values: dict[str, Any] = {
        "story": story, "run": run, "cell": story.cell, "told": told,
        "withheld": unreadable(view.ledger, story.planned),
        "epoch": numbers.of(story.planned, "epoch"), "twin": numbers.of(story.planned, "twin"),
        "of": _planned(story), "frozen": frozen, "case": _folded(frozen), "attempts": tried,
        "readings": [mine[0] for mine in found], "older": [(mine[0].label, mine[1:]) for mine in found if mine[1:]],
        "texts": heard, "tones": _STANDING, "no_text": _no_text(found),
        "metrics": list(dict.fromkeys(name for mine in found for name, _ in mine[0].metrics)),
        "number": numbers.source.at(f"/events/{story.planned.index}/cell", story.cell, "plain"),
        "open_bytes": not heard, "events": _events(view.ledger, story),
        "chosen": view.first("rules"), "graded": graded(view.ledger, story),
        "classes": list(dict.fromkeys(name for mine in found for name, _ in mine[0].classes)),
        "blocked": any(mine[0].blocked_by for mine in found),
        "short_gold": frozen.case is not None and len(frozen.case.gold_text.encode("utf-8", "replace")) <= _SHORT,
        **_standing(view, run, story),
    }  # fmt: skip
    name = f"Cell {story.cell}"
    crumbs = [Crumb("Runs", "home"), Crumb(story.plan.name or run, "run", {"run": run}), Crumb(name)]
    title = f"{name}: {printable(told.case)}" if told is not None else name
    return Page(title, "harness/cell.html", values, crumbs, about=run)


def _standing(view: View, run: str, story: Story) -> Mapping[str, Any]:
    """Whether the run goes on, or would: looked up only where something of the cell is still to come."""
    if story.scorings and not any(each.open for each in story.tries):
        return {"status": "", "resumable": False}
    (row,) = view.ledger.rows(_STATUS, (run,))
    status = run_status(view.ledger, run, row["status"])
    gone = list(view.ledger.rows(over_views(GONE), (run,)))
    return {"status": status, "resumable": goes_on(story.plan.via, status, gone, ())}


def _number(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,15}", text):
        raise PageMissing(f"expected the number of a cell, from 1, got {text[:40]!r}")
    return int(text)


def _planned(story: Story) -> Figure:
    query = f"SELECT body ->> '$.cells' FROM events WHERE seq = {story.plan_seq}"  # noqa: S608 - a number of our own
    return sql(query, story.plan.cells)


def _folded(frozen: FrozenCase) -> Mapping[str, Markup] | None:
    if frozen.case is None:
        return None
    case = frozen.case
    return {"input": tree(case.input_text), "gold": tree(case.gold_text), "meta": tree(case.meta_text)}


def _no_text(found: Sequence[Sequence[Reading]]) -> Sequence[tuple[str, str]]:
    """Why there is no text to show, by rule set: only where none of them has one."""
    if any(mine[0].again.text is not None for mine in found):
        return ()
    return list(dict.fromkeys((mine[0].label, _why_no_text(mine[0])) for mine in found if mine[0].scoring.evidence))


def _why_no_text(reading: Reading) -> str:
    evidence = reading.scoring.evidence
    if evidence is not None and evidence.event.kind in ("fault", "request"):
        return "no response came"
    return reading.again.why or "what came holds no text of an answer"


def _events(ledger: Ledger, story: Story) -> list[_Told]:
    return [
        _Told(each, str(each.raw.get("rules", "")), unreadable(ledger, each)) for each in story.items
    ]  # fmt: skip
