"""The first page: what this ledger is, whether its chain holds, and its runs, newest first."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ledger._errors import LedgerError
from ledger._runs import list_runs
from ledger._standing import Standing, standing_of_runs
from ledger._store import Ledger
from ledger.web._figure import Figure, cli, sql
from ledger.web._outcomes import BAR_WIDTH, Segment, count_outcomes, outcome_bar
from ledger.web._pages import Crumb, Headline, Page, PageMissing, Pages, View, all_pages
from ledger.web._reading import Shelf
from ledger.web._verdict import verdict_of

__all__ = ["RunShown", "home", "start_warming", "warm"]

_A_PAGE = 25
_COUNT = "SELECT count(*) FROM events WHERE kind = 'plan'"
_IDS = "SELECT run FROM main.events WHERE kind = 'plan' ORDER BY seq DESC LIMIT ? OFFSET ?"


@dataclass(frozen=True)
class RunShown:
    """A run as the first page tells of it: its row of `ledger runs`, and what its cells and primary figures came to.

    `rules` is the first rule set of its plan, of which `bar` and `first` are; `others` are the figures under the rest.
    `as_of` is the event that the figures speak of, where they are being worked out again.
    """

    row: Mapping[str, Any]
    planned: Figure
    asked: Figure
    standing: Standing
    rules: str
    bar: Sequence[Segment]
    first: Sequence[Headline]
    others: Sequence[Headline]
    as_of: Figure | None
    problem: str


class _NoLinks:
    """For what is worked out ahead of any request: figures link nowhere."""

    def to(self, route: str, query: Mapping[str, object] | None = None, /, **parts: object) -> str | None:
        return None

    def table(self, name: str, row: object = None, /, **filters: object) -> str | None:
        return None

    def asset(self, package: str, name: str) -> str | None:
        return None


def home(view: View) -> Page:
    """The first page."""
    total = int(view.ledger.sql(_COUNT).fetchone()[0])
    pages = max(1, -(-total // _A_PAGE))
    page = view.number("page", 1, least=1)
    if page > pages:
        raise PageMissing(f"the runs end on page {pages}; there is no page {page}")
    start = (page - 1) * _A_PAGE
    standing, marks_of = _standing(view)
    runs = [
        _shown(view, start + at, row, standing)
        for at, row in enumerate(list_runs(view.ledger, among=_ids(view.ledger, start), standing=standing))
    ]
    values = {
        "genesis": view.ledger.genesis,
        "size": sql("SELECT max(seq) FROM events", view.size),
        "verdict": verdict_of(view),
        "total": sql(_COUNT, total),
        "runs": runs,
        "many": total > 1,
        "newer": page - 1 if page > 1 else None,
        "older": page + 1 if page < pages else None,
        "number": page,
        "numbers": pages,
        "marks_of": marks_of,
        "bar_width": BAR_WIDTH,
    }
    return Page("Runs", "ledger/home.html", values, [Crumb("Runs")])


def _ids(ledger: Ledger, start: int) -> list[str]:
    return [str(run) for (run,) in ledger.sql(_IDS, (_A_PAGE, start)).fetchall()]


def _standing(view: View) -> tuple[Mapping[str, Standing], Figure | None]:
    """How runs stand; and, where the taints are being followed again, as of which event they are marked."""
    marked = view.memory.kept(view.ledger, view.size, "", "home.standing", standing_of_runs)
    if marked.current:
        return marked.value, None
    found = dict(standing_of_runs(view.ledger, taints=False))
    for run, stands in marked.value.items():
        if stands.taints:
            found[run] = replace(found.get(run, Standing()), taints=stands.taints)
    return found, _as_of(marked.size)


def _as_of(size: int) -> Figure:
    return sql(f"SELECT seq FROM events WHERE seq = {size}", size)  # noqa: S608 - a number


def _shown(view: View, at: int, row: Mapping[str, Any], standing: Mapping[str, Standing]) -> RunShown:
    run, rules = str(row["run"]), str(next(iter(row["rules"] or ()), ""))
    source = cli("ledger", "runs")
    bar: Sequence[Segment] = ()
    sizes: list[int] = []
    if rules:
        counted = view.memory.kept(
            view.ledger, view.size, run, ("home.outcomes", run, rules),
            partial(count_outcomes, run=run, rules=rules), own=True,
        )  # fmt: skip
        bar = outcome_bar(run, rules, int(row["planned"]), counted.value)
        sizes += [] if counted.current else [counted.size]
    found, problem = _headlines(view, run, sizes)
    return RunShown(
        row, source.at(f"/runs/{at}/planned", row["planned"]), source.at(f"/runs/{at}/asked", row["asked"]),
        standing.get(run, Standing()), rules, bar, [each for each in found if each.rules == rules],
        [each for each in found if each.rules != rules], _as_of(min(sizes)) if sizes else None, problem,
    )  # fmt: skip


def _headlines(view: View, run: str, sizes: list[int]) -> tuple[Sequence[Headline], str]:
    """A run's primary figures by every package that has some; why there are none, where that failed."""
    found: list[Headline] = []
    for pages in all_pages():
        if pages.headlines is None:
            continue
        try:
            kept = view.memory.kept(
                view.ledger, view.size, run, ("home.headlines", pages.name, run),
                partial(_headlines_of, view=view, pages=pages, run=run), own=True,
            )  # fmt: skip
        except (LedgerError, *pages.errors) as problem:
            return found, str(problem)
        found += kept.value
        if not kept.current:
            sizes.append(kept.size)
    return found, ""


def _headlines_of(ledger: Ledger, view: View, pages: Pages, run: str) -> Sequence[Headline]:
    assert pages.headlines is not None
    size, head = ledger.head()
    return pages.headlines(replace(view, ledger=ledger, size=size, head=head), run)


def warm(shelf: Shelf) -> None:
    """Work out what the first page shows, so that the first visitor doesn't wait for it. A run at a time."""
    try:
        with shelf.reading() as ledger:
            runs = _ids(ledger, 0)
            _standing(_unasked(shelf, ledger))
        for run in runs:
            with shelf.reading() as ledger:
                view = _unasked(shelf, ledger)
                for row in list_runs(ledger, among=[run], standing={}):
                    _shown(view, 0, row, {})
    except (LedgerError, sqlite3.Error):
        return  # the page that is asked for says what is wrong


def _unasked(shelf: Shelf, ledger: Ledger) -> View:
    size, head = ledger.head()
    return View(ledger, size, head, _NoLinks(), {}, shelf.memory_of(ledger))


def start_warming(shelf: Shelf) -> threading.Thread:
    """`warm` in the background; it ends with the process."""
    thread = threading.Thread(target=warm, args=(shelf,), name="ledger-warm", daemon=True)
    thread.start()
    return thread
