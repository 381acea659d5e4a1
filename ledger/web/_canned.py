"""The questions that people ask of a ledger, as canned queries of Datasette: SQL files that each say what they give.

They read the views that stand in the file. Where the file has an older release's, those of this release go before them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from ledger._schema import RELEASE
from ledger._views import over_views
from ledger.web._described import promise

__all__ = ["queries", "texts"]

_TITLES = {
    "answers_that_differ": "Which cells were answered differently in two runs?",
    "changed_between_rules": "Which cells changed outcome between two rule sets?",
    "failures_by_reason": "What failed, and why?",
    "frozen_before_the_first_response": "What was frozen before the first response?",
    "never_right": "Which cases are never right?",
    "redacted_and_what_rests_on_it": "What was redacted, and what rests on it?",
    "reports_at_risk": "Which reports rest on superseded or tainted runs?",
    "slowest_requests": "Which requests took longest?",
    "tokens_by_candidate": "How many tokens did each candidate take?",
    "what_was_retried": "What did we retry, and why?",
    "who_used_it": "Which runs used this fixture, prompt or rule set?",
    "who_was_given_what": "Who was given which report?",
}
_RELEASE = "SELECT body ->> '$.release' FROM events WHERE kind = 'schema' ORDER BY seq DESC LIMIT 1"


@cache
def texts() -> Mapping[str, str]:
    """The text of each query by its name, its promise and all."""
    folder = files("ledger.web") / "queries"
    return {name: (folder / f"{name}.sql").read_text("utf-8") for name in _TITLES}


@cache
def _made(*, as_in_file: bool) -> Mapping[str, tuple[str, str, str, tuple[str, ...]]]:
    found: dict[str, tuple[str, str, str, tuple[str, ...]]] = {}
    for name, title in _TITLES.items():
        text = texts()[name]
        sql = "\n".join(line for line in text.splitlines() if not line.startswith("--")).strip()
        parameters = tuple(dict.fromkeys(re.findall(r"(?<!:):([a-z]+)", sql)))
        found[name] = (title, promise(text), sql if as_in_file else over_views(sql), parameters)
    return found


async def queries(datasette: Any, database: str) -> dict[str, Any]:
    """The queries for this ledger as the plugin hook wants them. A new dict each time: Datasette writes into it."""
    row = (await datasette.databases[database].execute(_RELEASE)).first()
    return {
        name: {
            "sql": sql, "title": title, "description": said, "params": list(parameters),
            "hide_sql": len(sql) > 5_000,
        }
        for name, (title, said, sql, parameters) in _made(as_in_file=bool(row and row[0] == RELEASE)).items()
    }  # fmt: skip
