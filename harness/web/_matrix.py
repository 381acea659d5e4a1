"""The cells of a run against the stages that each went through: filtered, sorted, a hundred a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from markupsafe import Markup

from harness.web._facts import CellRow, Reading, RunCells
from harness.web._quote import select
from harness.web._words import anchor
from ledger.web import Figure, View, literal, sql

__all__ = ["PAGE", "STAGES", "Choice", "Matrix", "Square", "choice_of", "is_narrowed", "matrix", "squares"]

PAGE = 100
STAGES = ("asked", "reply", "parse", "confirm", "score")
"""What a cell goes through, in order. `reply` is transport, the bytes that came, and what the provider says in them."""

_COLUMN = {"transport": "reply", "reply": "reply", "api": "reply", "parse": "parse", "confirm": "confirm",
           "score": "score"}  # fmt: skip
# Where it stopped, of the reasons whose stage is the harness itself; the others don't tell.
_HARNESS = {"not_asked": "asked", "no_recording": "asked", "not_graded": "asked",
            "fate_unknown": "reply", "not_captured": "reply", "reported": "reply"}  # fmt: skip
_SORTS = ("cell", "case", "candidate", "outcome", "reason")
_HITS = ("", "1", "0", "none")


@dataclass(frozen=True)
class Choice:
    """Which cells, under which rule set, in which order. An empty text doesn't narrow.

    `hit` goes with `metric`: "1" the cells that count for it, "0" those measured that don't, "none" those that it
    applies to and that have no figure; "" all that were measured.
    """

    rules: str = ""
    candidate: str = ""
    outcome: str = ""
    stage: str = ""
    reason: str = ""
    metric: str = ""
    hit: str = ""
    sort: str = ""
    page: int = 1

    def query(self, **changed: object) -> dict[str, object]:
        """As what stands behind the question mark, with some of it changed; another choice starts at page 1."""
        here = {each.name: getattr(self, each.name) for each in fields(self)}
        here.update({"page": 1, **changed})
        if here["page"] == 1:
            here["page"] = None
        return here


@dataclass(frozen=True)
class Square:
    """A cell at a stage: `kind` is passed, stopped, none or unknown; `word` says so, `detail` the reason."""

    kind: str
    word: str
    detail: str = ""


@dataclass(frozen=True)
class Matrix:
    """One page of it. `problems` says of every filter why nothing fits it. `unsure`: some of the cells have no score,
    and only a score says which metrics apply."""

    choice: Choice
    tabs: Sequence[tuple[Markup, bool]]
    heads: Sequence[tuple[str, Markup, str]]
    rows: Sequence[Mapping[str, Any]]
    count: Figure
    of: Figure
    number: int
    pages: Sequence[tuple[Markup, bool]]
    problems: Sequence[str]
    unsure: bool
    options: Mapping[str, Sequence[str]]
    narrowed: Sequence[tuple[str, str, Markup]]
    page: int
    last: int


def is_narrowed(view: View) -> bool:
    """Whether the address asks for some of the cells, rather than for all that there is to say of the run."""
    return any(view.first(each.name) for each in fields(Choice))


def choice_of(view: View, cells: RunCells) -> Choice:
    """What the address asks for; without a rule set, the first in the order of the report."""
    asked = {each.name: view.first(each.name) for each in fields(Choice) if each.name != "page"}
    choice = Choice(**asked, page=view.number("page", 1, least=1, most=10**9))
    if not choice.rules:
        return replace(choice, rules=next(iter(cells.readings), ""))
    named = [label for label in cells.readings if label.partition("@")[0] == choice.rules]
    return replace(choice, rules=named[0]) if choice.rules not in cells.readings and len(named) == 1 else choice


def matrix(view: View, run: str, cells: RunCells, choice: Choice) -> Matrix:
    """The cells that the choice leaves, a page of them drawn."""
    readings = cells.readings.get(choice.rules, ())
    found = _fitting(cells, readings, choice)
    _sort(found, cells.cells, readings, choice.sort)
    last = max(1, -(-len(found) // PAGE))
    start = (choice.page - 1) * PAGE
    options = _options(cells, choice.rules)
    return Matrix(
        choice=choice,
        tabs=[
            (anchor(view, label, "run", choice.query(rules=label), run=run, into="cells"), label == choice.rules)
            for label in cells.readings
        ],
        heads=_heads(view, run, choice),
        rows=[_row(view, run, choice, cells.cells[at], readings[at]) for at in found[start : start + PAGE]],
        count=sql(_counting(run, choice), len(found)),
        of=sql(select("count(*)", "cells", run=run, rules=choice.rules), len(readings)),
        number=len(found),
        pages=[
            (anchor(view, Markup("{}").format(page), "run", choice.query(page=page), run=run, into="cells"),
             page == choice.page)
            for page in _near(choice.page, last)
        ],
        problems=_problems(choice, options, last),
        unsure=choice.hit == "none" and any(readings[at].applies is None for at in found),
        options=options,
        narrowed=[
            (name, getattr(choice, name), anchor(
                view, "all", "run", choice.query(**{name: "", **({"hit": ""} if name == "metric" else {})}), run=run,
                into="cells",
            ))
            for name in ("candidate", "outcome", "stage", "reason", "metric") if getattr(choice, name)
        ],
        page=choice.page,
        last=last,
    )  # fmt: skip


def _near(page: int, last: int) -> list[int]:
    """The first, the last, and those around: what there is room for."""
    return sorted({each for each in (1, last, *range(page - 3, page + 4)) if 1 <= each <= last})


def _fitting(cells: RunCells, readings: Sequence[Reading], choice: Choice) -> list[int]:
    """The places of the cells that the choice leaves. Many cells share a reading, so each of those is tried once."""
    if choice.hit not in _HITS or (choice.hit and not choice.metric):
        return []
    alike = cells.alike.get(choice.rules, ())
    fit = {id(each) for each in alike if _fits(each, choice)}
    if choice.candidate:
        return [
            at for at, (cell, reading) in enumerate(zip(cells.cells, readings, strict=True))
            if id(reading) in fit and cell.candidate == choice.candidate
        ]  # fmt: skip
    if len(fit) == len(alike):
        return list(range(len(readings)))
    return [at for at, reading in enumerate(readings) if id(reading) in fit]


def _fits(reading: Reading, choice: Choice) -> bool:
    for name in ("outcome", "stage", "reason"):
        wanted = getattr(choice, name)
        if wanted and getattr(reading, name) != wanted:
            return False
    if not choice.metric:
        return True
    figure = reading.metrics.get(choice.metric)
    if choice.hit == "none":
        return figure is None and (reading.applies is None or choice.metric in reading.applies)
    return figure is not None and (not choice.hit or (figure > 0) == (choice.hit == "1"))


def _counting(run: str, choice: Choice) -> str:
    """How many cells the choice leaves, as a query anybody can run."""
    given = {name: text for name in ("candidate", "outcome", "stage", "reason") if (text := getattr(choice, name))}
    more: list[str] = []
    if choice.metric:
        key = f"key = {literal(choice.metric)}"
        figure = "EXISTS (SELECT 1 FROM json_each(cells.metrics) WHERE {})"
        if choice.hit == "none":
            listed = select("1", "json_each(body, '$.applies')", value=choice.metric)
            applies = select(f"EXISTS ({listed})", "events", "seq = cells.score")
            more = [f"NOT {figure.format(key)}", f"coalesce(({applies}), 1)"]
        else:
            said = {"1": " AND value > 0", "0": " AND NOT value > 0"}.get(choice.hit, "")
            more = [figure.format(key + said)]
    if choice.hit not in _HITS or (choice.hit and not choice.metric):
        more.append("0")
    return select("count(*)", "cells", *more, run=run, rules=choice.rules, **given)


def _sort(found: list[int], cells: Sequence[CellRow], readings: Sequence[Reading], sort: str) -> None:
    by = sort.removeprefix("-")
    keys: Mapping[str, Callable[[int], Any]] = {
        "case": lambda at: (cells[at].case is None, cells[at].case or ""),
        "candidate": lambda at: (cells[at].candidate is None, cells[at].candidate or ""),
        "outcome": lambda at: (readings[at].outcome, readings[at].value or 0.0),
        "reason": lambda at: (readings[at].stage, readings[at].reason),
    }
    if by in keys:
        found.sort(key=keys[by])
    if sort.startswith("-"):
        found.reverse()


def _heads(view: View, run: str, choice: Choice) -> Sequence[tuple[str, Markup, str]]:
    """Of each sorting: its name, the heading (with a link where there can be one), and aria-sort."""
    sorted_by = (choice.sort or "cell").removeprefix("-")
    down = choice.sort.startswith("-")
    heads: list[tuple[str, Markup, str]] = []
    for name in _SORTS:
        here = name == sorted_by
        turned = f"-{name}" if here and not down else name
        shown = Markup("{}{}").format(name, (" ↓" if down else " ↑") if here else "")
        if not view.fixed:
            shown = anchor(view, shown, "run", choice.query(sort=turned), run=run, into="cells")
        heads.append((name, shown, ("descending" if down else "ascending") if here else ""))
    return heads


def _row(view: View, run: str, choice: Choice, cell: CellRow, reading: Reading) -> Mapping[str, Any]:
    value = metric = None
    place = {"run": run, "cell": cell.cell, "rules": choice.rules}
    if reading.value is not None:
        value = sql(select("value", "cells", **place), reading.value, "decimal")
    if choice.metric in reading.metrics:
        named = f"key = {literal(choice.metric)}"
        query = select("json_each.value", "(SELECT * FROM cells) AS one, json_each(one.metrics)", named, **place)
        metric = sql(query, reading.metrics[choice.metric], "plain")
    link = {"rules": choice.rules}
    case = "(withheld)" if cell.case is None else cell.case
    return {
        "cell": anchor(view, Markup("{}").format(cell.cell), "cell", link, run=run, cell=cell.cell),
        "case": anchor(view, case, "cell", link, run=run, cell=cell.cell),
        "candidate": cell.candidate, "arm": cell.arm, "epoch": cell.epoch, "squares": squares(reading),
        "outcome": reading.outcome, "value": value, "verdict": reading.verdict, "stage": reading.stage,
        "reason": reading.reason, "domain": reading.domain, "metric": metric,
        "blocked": ", ".join(reading.blocked_by),
    }  # fmt: skip


def squares(reading: Reading) -> Sequence[Square]:
    """How far the cell came: passed up to where it stopped, and not reached after it."""
    if reading.outcome != "unmeasured":
        return [Square("passed", "passed")] * len(STAGES)
    stopped = _COLUMN.get(reading.stage) or (_HARNESS.get(reading.reason) if reading.stage == "harness" else None)
    if stopped is None:
        return [Square("unknown", "not told")] * len(STAGES)
    at = STAGES.index(stopped)
    named = reading.reason if reading.stage in (stopped, "harness") else f"{reading.stage}/{reading.reason}"
    return [
        Square("passed", "passed") if number < at
        else Square("stopped", "stopped", named) if number == at
        else Square("none", "not reached")
        for number in range(len(STAGES))
    ]  # fmt: skip


def _options(cells: RunCells, rules: str) -> Mapping[str, Sequence[str]]:
    """What each filter may be set to: what there is under the rule set."""
    alike = cells.alike.get(rules, ())
    return {
        "rules": list(cells.readings),
        "candidate": sorted({candidate for label, candidate in cells.counts if label == rules and candidate}),
        "outcome": sorted({reading.outcome for reading in alike}),
        "stage": sorted({reading.stage for reading in alike if reading.stage}),
        "reason": sorted({reading.reason for reading in alike if reading.reason}),
        "metric": sorted({metric for reading in alike for metric in {*reading.metrics, *(reading.applies or ())}}),
    }


def _problems(choice: Choice, options: Mapping[str, Sequence[str]], last: int) -> list[str]:
    said = [
        f"no cell here has the {name} {getattr(choice, name)!r}"
        for name in ("candidate", "outcome", "stage", "reason", "metric")
        if getattr(choice, name) and getattr(choice, name) not in options[name]
    ]
    if choice.rules and choice.rules not in options["rules"]:
        said = [f"the run was not scored under {choice.rules!r}"]
    if choice.hit not in _HITS:
        said.append(f"hit: expected 1, 0 or none, got {choice.hit!r}")
    elif choice.hit and not choice.metric:
        said.append("hit says nothing without a metric")
    if choice.sort and choice.sort.removeprefix("-") not in _SORTS:
        said.append(f"sort: expected one of {', '.join(_SORTS)}, got {choice.sort!r}; they stand in the order of cells")
    if choice.page > last:
        said.append(f"there is no page {choice.page}: the last is {last}")
    return said
