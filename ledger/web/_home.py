"""The first page: what this ledger is, whether its chain holds, and its runs, newest first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, cast

from ledger._errors import LedgerError
from ledger._runs import list_runs
from ledger._standing import Standing, standing_of_runs
from ledger._store import Ledger
from ledger.web._changed import ODD, why_odd
from ledger.web._desk import Desk
from ledger.web._figure import Figure, cli, sql
from ledger.web._outcomes import BAR_WIDTH, count_outcomes
from ledger.web._pages import Crumb, Headline, Page, PageMissing, Pages, View, all_pages
from ledger.web._reading import Shelf
from ledger.web._scored import Part, parts_of, rule_sets
from ledger.web._verdict import verdict_of

__all__ = ["RunShown", "RunUnread", "home", "start_warming", "warm"]

T = TypeVar("T")

_A_PAGE = 25
_COUNT = "SELECT count(*) FROM events WHERE kind = 'plan'"
_IDS = "SELECT run FROM main.events WHERE kind = 'plan' ORDER BY seq DESC LIMIT ? OFFSET ?"


@dataclass(frozen=True)
class RunShown:
    """A run as the first page tells of it: its row of `ledger runs`, and what its cells and primary figures came to.

    `parts` say so by rule set: the first few of them, and the rest, where there are more. `as_of` is the event that the
    figures speak of, where they are being worked out again; `awaited` says that some are being worked out for the first
    time.
    """

    row: Mapping[str, Any]
    planned: Figure
    asked: Figure
    standing: Standing
    parts: Sequence[Part]
    as_of: Figure | None
    awaited: bool
    problem: str


@dataclass(frozen=True)
class RunUnread:
    """A run of which somebody changed so much that its row can't be told: its id, and why."""

    run: str
    unread: str


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
    desk = Desk(view)
    standing: Mapping[str, Standing] = {}
    marks_of, unmarked, untold = None, False, ""
    try:
        standing, marks_of, unmarked = _standing(desk)
    except (LedgerError, *ODD) as problem:
        untold = why_odd(problem)
    runs = _listed(desk, start, standing)
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
        "unmarked": unmarked,
        "untold": untold,
        "bar_width": BAR_WIDTH,
    }
    told = [each for each in runs if isinstance(each, RunShown)]
    awaits = unmarked or any(each.awaited for each in told)
    live = any(each.row["status"] == "open" for each in told)
    return Page("Runs", "ledger/home.html", values, [Crumb("Runs")], live=live, awaits=awaits)


def _ids(ledger: Ledger, start: int) -> list[str]:
    return [str(run) for (run,) in ledger.sql(_IDS, (_A_PAGE, start)).fetchall()]


def _listed(desk: Desk, start: int, standing: Mapping[str, Standing]) -> list[RunShown | RunUnread]:
    """The runs of the page; one that can't be told keeps back no other."""
    ledger, ids = desk.view.ledger, _ids(desk.view.ledger, start)
    rows: list[Mapping[str, Any]] = []
    with suppress(LedgerError, *ODD):
        rows = list(list_runs(ledger, among=ids, standing=standing))
    found: list[RunShown | RunUnread] = []
    for at, run in enumerate(ids):
        try:
            row = rows[at] if len(rows) == len(ids) else next(list_runs(ledger, among=[run], standing=standing))
            found.append(_shown(desk, start + at, _checked(row), standing))
        except (LedgerError, StopIteration, *ODD) as problem:
            found.append(RunUnread(run, why_odd(problem)))
    return found


def _checked(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row that can be drawn. Raises TypeError for one that holds what no plan says."""
    for name in ("rules", "tags", "accepted", "notes"):
        texts: Any = row[name] or ()
        if not isinstance(texts, list | tuple) or not all(isinstance(each, str) for each in cast("list[Any]", texts)):
            raise TypeError(f"its {name} are no list of texts")
    for name in ("name", "suite", "purpose", "status", "via", "opened_at"):
        if row[name] is not None and not isinstance(row[name], str):
            raise TypeError(f"its {name} is no text")
    for name in ("planned", "asked"):
        if not isinstance(row[name], int):
            raise TypeError(f"how many were {name} is no number")
    return row


def _standing(desk: Desk) -> tuple[Mapping[str, Standing], Figure | None, bool]:
    """How runs stand; where the taints are being followed again, as of which event; whether that is the first time."""
    view = desk.view
    marked = desk.get("", "home.standing", standing_of_runs)
    if marked is not None and marked.current:
        return marked.value, None, False
    # What is superseded is looked up quickly, and so is always of this very moment.
    found = dict(standing_of_runs(view.ledger, taints=False))
    if marked is None:
        return found, None, True
    for run, stands in marked.value.items():
        if stands.taints:
            found[run] = replace(found.get(run, Standing()), taints=stands.taints)
    return found, _as_of(marked.size), False


def _as_of(size: int) -> Figure:
    return sql(f"SELECT seq FROM events WHERE seq = {size}", size)  # noqa: S608 - a number


class _Waits:
    """What the figures of one run wait for, as they are gathered."""

    def __init__(self, desk: Desk, run: str) -> None:
        self._desk, self._run = desk, run
        self.view = desk.view
        self.sizes: list[int] = []
        self.awaited = False

    def get(self, key: Hashable, work: Callable[[Ledger], T]) -> T | None:
        """What `work` makes of the run's own events; None where it isn't there yet."""
        found = self._desk.get(self._run, key, work, own=True)
        if found is None:
            self.awaited = True
            return None
        if not found.current:
            self.sizes.append(found.size)
        return found.value


def _shown(desk: Desk, at: int, row: Mapping[str, Any], standing: Mapping[str, Standing]) -> RunShown:
    run, planned = str(row["run"]), [str(each) for each in row["rules"] or ()]
    source = cli("ledger", "runs")
    waits = _Waits(desk, run)
    counted: Mapping[str, Mapping[str, int]] | None = None
    found, problem = _headlines(waits, run)
    if row["purpose"] != "probe":
        try:
            counted = waits.get(("home.outcomes", run), partial(count_outcomes, run=run))
        except ODD as odd:
            problem = problem or why_odd(odd)
    parts = parts_of(run, int(row["planned"]), rule_sets(planned, counted or {}, found), counted, found)
    return RunShown(
        row, source.at(f"/runs/{at}/planned", row["planned"]), source.at(f"/runs/{at}/asked", row["asked"]),
        standing.get(run, Standing()), parts, _as_of(min(waits.sizes)) if waits.sizes else None, waits.awaited, problem,
    )  # fmt: skip


def _headlines(waits: _Waits, run: str) -> tuple[Sequence[Headline], str]:
    """A run's primary figures by every package that has some; why there are none, where that failed."""
    found: list[Headline] = []
    for pages in all_pages():
        if pages.headlines is None:
            continue
        work = partial(_headlines_of, view=waits.view, pages=pages, run=run)
        try:
            found += waits.get(("home.headlines", pages.name, run), work) or ()
        except (LedgerError, *pages.errors, *ODD) as problem:
            return found, why_odd(problem)
    return found, ""


def _headlines_of(ledger: Ledger, view: View, pages: Pages, run: str) -> Sequence[Headline]:
    assert pages.headlines is not None
    size, head = ledger.head()
    return pages.headlines(replace(view, ledger=ledger, size=size, head=head), run)


def warm(shelf: Shelf) -> None:
    """Work out what the first page shows, a run at a time, and then the newest run's page: so that the first visitor
    doesn't wait for either."""
    try:
        with shelf.reading() as ledger:
            runs = _ids(ledger, 0)
            _standing(Desk(_unasked(shelf, ledger)))
        for run in runs:
            with shelf.reading() as ledger:
                desk = Desk(_unasked(shelf, ledger))
                for row in list_runs(ledger, among=[run], standing={}):
                    _shown(desk, 0, row, {})
        for run in runs[:1]:
            # Last, since it is the dearest: the page that people mostly go on to.
            with shelf.reading() as ledger:
                _ahead(_unasked(shelf, ledger), run)
    except Exception:  # noqa: BLE001 - what somebody wrote into the file: the page that is asked for tells of it
        return


def _ahead(view: View, run: str) -> None:
    for pages in all_pages():
        with suppress(*pages.errors):
            if pages.ahead is not None:
                pages.ahead(view, run)


def _unasked(shelf: Shelf, ledger: Ledger) -> View:
    size, head = ledger.head()
    return View(ledger, size, head, _NoLinks(), {}, shelf.memory_of(ledger), fixed=True)


def start_warming(shelf: Shelf) -> threading.Thread:
    """`warm` in the background; it ends with the process."""
    thread = threading.Thread(target=warm, args=(shelf,), name="ledger-warm", daemon=True)
    thread.start()
    return thread
