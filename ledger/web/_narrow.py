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
    "scores", "attempts", "cells", "failures", "repeatability", "usage", "scoreboard", "standing_scoreboard",
})  # fmt: skip
_HEAD = "SELECT max(seq) FROM events"
_NEWEST_RUN = "SELECT run FROM events WHERE kind = 'plan' ORDER BY seq DESC LIMIT 1"
_TAIL = 10_000
_COUNT = "select count(*) from "
_COUNT_MS = 250


def bound_counts(datasette: Any, database: str) -> None:
    """Give up the count above a table after a moment, not after the whole time that a query may take.

    Datasette shows a table without one then. What a reader asks in SQL has all of its time.
    """
    served = datasette.databases[database]
    execute = served.execute

    async def bounded(sql: str, params: Any = None, truncate: bool = False, **more: Any) -> Any:
        if not truncate and sql.startswith(_COUNT):
            more.setdefault("custom_time_limit", _COUNT_MS)
        return await execute(sql, params, truncate, **more)

    served.execute = bounded


def narrowed(datasette: Any, request: Any, database: str, table: str) -> Any:
    """What narrows this page to the newest run (of `chain`, to the newest events); None where nothing has to."""
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


def _chosen(request: Any, column: str) -> bool:
    """Whether the reader said which runs (or events) they want."""
    return any(key == column or key.startswith(f"{column}__") or key == "_where" for key in request.args)
