"""Views of a large ledger, one run at a time: SQLite would have to work out every run to show a page of them all.

Only pages that people read are narrowed, and each says so; what Datasette gives out as JSON or CSV is what was asked.
"""

from __future__ import annotations

from typing import Any

from datasette.filters import FilterArguments  # pyright: ignore[reportMissingTypeStubs]

__all__ = ["LARGE", "bound_counts", "narrowed"]

LARGE = 50_000
"""From how many events on."""

_BY_RUN = frozenset({
    "planned_cells", "last_scores", "scores", "attempts", "cells", "failures", "repeatability", "usage", "scoreboard",
    "standing_scoreboard",
})  # fmt: skip
_HEAD = "SELECT max(seq) FROM events"
_NEWEST_RUN = "SELECT run FROM events WHERE kind = 'plan' ORDER BY seq DESC LIMIT 1"
_TAIL = 10_000
_FAR = 100_000
_MANY_EVENTS = 20_000
_COUNT = "select count(*) from "
_COUNT_MS = 150
# Whether a run has so many events; about where it ends, in no time; and where exactly it lies, by all of its index.
_MANY = "SELECT count(*) FROM (SELECT 1 FROM events WHERE run = :run LIMIT :most + 1)"
_BOUNDS = "likelihood(seq BETWEEN :ledger_least AND :ledger_most, 0.000001)"
_ABOUT = "SELECT max(seq) FROM events WHERE run = :run AND kind IN ('plan', 'tally', 'close')"
_WITHIN = "SELECT min(seq), max(seq) FROM events WHERE run = :run"


def bound_counts(datasette: Any, database: str) -> None:
    """Give up the count above a table after a moment, not after the whole time that a query may take.

    Datasette shows a table without one then. What a reader asks in SQL has all of its time.
    """
    served = datasette.databases[database]
    execute = served.execute

    async def bounded(sql: str, params: Any = None, truncate: bool = False, **more: Any) -> Any:
        if not truncate and sql.startswith(_COUNT):
            more.setdefault("custom_time_limit", _COUNT_MS)
            # A hint on where to find the newest; to count, the index of runs is quicker.
            sql = sql.replace(_BOUNDS, "1")
        return await execute(sql, params, truncate, **more)

    served.execute = bounded


def narrowed(datasette: Any, request: Any, database: str, table: str) -> Any:
    """What narrows this page to the newest run (of `chain`, to the newest events); None where nothing has to."""
    if table == "events":
        return _hinted(datasette, request, database)
    if table not in _BY_RUN and table != "chain":
        return None
    if request.url_vars.get("format") or _chosen(request, "seq" if table == "chain" else "run"):
        return None

    async def find() -> Any:
        served = datasette.databases[database]
        size = (await served.execute(_HEAD)).first()[0] or 0
        if size <= LARGE:
            return None
        if table == "chain":
            said = f"seq > {size - _TAIL}, the newest (all of them: add ?seq__gte=1, and wait)"
            return FilterArguments(["seq > :ledger_tail"], {"ledger_tail": size - _TAIL}, [said])
        newest = (await served.execute(_NEWEST_RUN)).first()
        if newest is None:
            return None
        said = f'run = "{newest[0]}", the newest (every run: add ?run__notblank=1, and wait)'
        return FilterArguments(["run = :ledger_run"], {"ledger_run": newest[0]}, [said])

    return find


def _hinted(datasette: Any, request: Any, database: str) -> Any:
    """A hint for the newest events of a large run: SQLite would sort all of them, bodies and all, to find fifty.

    No bound leaves out anything of the run.
    """
    runs = [value for key in ("run", "run__exact") for value in request.args.getlist(key)]
    if len(runs) != 1 or any(not key.startswith(("run", "_")) for key in request.args):
        return None

    async def find() -> Any:
        served = datasette.databases[database]
        if (await served.execute(_MANY, {"run": runs[0], "most": _MANY_EVENTS})).first()[0] <= _MANY_EVENTS:
            return None
        least, most = 1, (await served.execute(_HEAD)).first()[0]
        if most - ((await served.execute(_ABOUT, {"run": runs[0]})).first()[0] or 0) > _FAR:
            least, most = (await served.execute(_WITHIN, {"run": runs[0]})).first()
        return FilterArguments([_BOUNDS], {"ledger_least": least, "ledger_most": most}, [])

    return find


def _chosen(request: Any, column: str) -> bool:
    """Whether the reader said which runs (or events) they want."""
    return any(key == column or key.startswith(f"{column}__") or key == "_where" for key in request.args)
