"""Runs: finding one by what a person calls it, and the list of them with what the lock adds to the view."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ledger._errors import LedgerError, NotFound
from ledger._lock import run_is_held
from ledger._schema import RELEASE
from ledger._standing import Standing, standing_of_runs
from ledger._store import Ledger
from ledger._views import over_views

__all__ = ["LATEST", "event_time", "find_run", "find_tagged", "fitting_runs", "list_runs", "run_status", "since_when"]

_PLANS = (
    "SELECT run, body ->> '$.name' AS name, body ->> '$.purpose' AS purpose, at,"
    " coalesce(json_array_length(body, '$.grades'), 0) > 0 AS judges FROM main.events WHERE kind = 'plan'"
    " ORDER BY seq DESC"
)
_TAGGED = (
    "SELECT run, at FROM main.events WHERE kind = 'plan' AND body ->> '$.purpose' = 'evaluation'"
    " AND ? IN (SELECT value FROM json_each(body, '$.tags')) ORDER BY seq DESC"
)
_TAGS = (
    "SELECT DISTINCT tag.value AS tag FROM main.events, json_each(body, '$.tags') AS tag WHERE kind = 'plan' ORDER BY 1"
)
_NOTES = (
    "SELECT run, body ->> '$.text' AS text FROM main.events"
    " WHERE kind = 'note' AND run <> '' AND body IS NOT NULL ORDER BY seq"
)
_ACCEPTED = (
    "SELECT run, body ->> '$.component' AS component FROM main.events WHERE kind = 'accept' AND body IS NOT NULL"
    " ORDER BY seq"
)
# The runs whose answers a judge's run grades. A body that is no JSON keeps back no other run.
_GRADES = (
    "SELECT plan.run AS run, graded.value AS graded FROM main.events AS plan,"
    " json_each(CASE WHEN json_valid(plan.body) THEN plan.body END, '$.grades') AS graded"
    " WHERE plan.kind = 'plan' ORDER BY plan.seq, graded.key"
)
# Every column of the view but the marks, which follow the whole lineage: who asks for a few runs has those at hand.
_AMONG = over_views(
    'SELECT run, name, suite, purpose, status, planned, asked, "limit", epochs, via, candidates, rules, tags, "filter",'
    " NULL AS superseded, NULL AS superseded_by, NULL AS tainted, seq, opened_at, closed_at FROM runs"
    " WHERE run IN (SELECT value FROM json_each(?)) ORDER BY seq DESC"
)
_EVERY = over_views("SELECT * FROM runs ORDER BY seq DESC")
_RELEASE = (
    "SELECT body ->> '$.release' AS release FROM main.events WHERE kind = 'schema' AND json_valid(body)"
    " ORDER BY seq DESC LIMIT 1"
)
_JSON_COLUMNS = ("candidates", "rules", "tags")
_SHOWN, _TAGS_SHOWN = 5, 20
LATEST = ("latest", "latest-judge")
"""Words that name a run by its age; no run can be called so."""
_AGO = re.compile(r"([0-9]{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def since_when(text: str, now: datetime | None = None, *, option: str = "--since") -> datetime:
    """The time that a person means: `2026-11-01`, `2026-11-01T10:00Z` (UTC where no zone is named), or how long ago.

    `7d`, `24h`, `30m` and `2w` count back from `now` (default: this machine's clock). Raises LedgerError.
    """
    ago = _AGO.fullmatch(text.strip())
    try:
        if ago is not None:
            return (now or datetime.now(UTC)) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        found = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError):
        raise LedgerError(
            f"{option}: expected a day or a time such as 2026-11-01 or 2026-11-01T10:00Z, or how long ago such as 7d or"
            f" 24h, got {text!r}"
        ) from None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def event_time(when: datetime | None) -> str:
    """A time as events have theirs, which order as text does; "" for none."""
    return "" if when is None else when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def fitting_runs(ledger: Ledger, wanted: str) -> list[str]:
    """The ids of the runs that `wanted` may name, the newest first: `latest`, `latest-judge`, an id, a run's name, the
    start of an id.

    The first of those that fits counts alone. `latest` is the newest evaluation that no judge made, `latest-judge` the
    newest that one did; where there is nothing else, `latest` is a judge's, then a probe.
    """
    plans = ledger.rows(_PLANS)
    ids = [str(plan["run"]) for plan in plans]
    if wanted in LATEST:
        evaluations = [plan for plan in plans if plan["purpose"] == "evaluation"]
        judges = [str(plan["run"]) for plan in evaluations if plan["judges"]]
        if wanted == "latest-judge":
            return judges[:1]
        return ([str(plan["run"]) for plan in evaluations if not plan["judges"]] or judges or ids)[:1]
    if wanted in ids:
        return [wanted]
    named = [str(plan["run"]) for plan in plans if plan["name"] == wanted]
    return named or [run for run in ids if wanted and run.startswith(wanted)]


def find_run(ledger: Ledger, wanted: str) -> str:
    """The id of the run that `wanted` names: `latest`, an id, the start of one, or the name the run was given.

    A name goes before the start of an id. Raises NotFound, listing the runs, also when more than one fits.
    """
    fits = fitting_runs(ledger, wanted)
    if len(fits) == 1:
        return fits[0]
    plans = {str(plan["run"]): plan for plan in ledger.rows(_PLANS)}
    if fits:
        called = plans[fits[0]]["name"] == wanted
        shown = ", ".join(f"{run} of {plans[run]['at'][:16]}Z" for run in fits[:_SHOWN])
        more = ", …" if len(fits) > _SHOWN else ""
        mend = "name one by its id" if called else "give more of the id"
        what = "is the name of" if called else "fits"
        raise NotFound(f"{wanted!r} {what} {len(fits)} runs ({shown}{more}); {mend}")
    if not plans:
        raise NotFound(f"{ledger.path} holds no run yet")
    if wanted == "latest-judge":
        raise NotFound("no judge was asked in this ledger yet; `harness grade RUN --judge SUITE` asks one")
    raise NotFound(f"no run fits {wanted!r}; `ledger runs` lists them")


def find_tagged(ledger: Ledger, tag: str) -> str:
    """The id of the newest evaluation with this tag that stands: neither superseded nor tainted.

    Raises NotFound, saying which tags there are, or that every run with this one was set aside.
    """
    runs = [str(row["run"]) for row in ledger.rows(_TAGGED, (tag,))]
    standing = standing_of_runs(ledger)
    for run in runs:
        stands = standing.get(run, Standing())
        if stands.superseded is None and not stands.taints:
            return run
    if runs:
        raise NotFound(f"every run with the tag {tag!r} was superseded or is tainted ({', '.join(runs[:_SHOWN])})")
    tags = [str(row["tag"]) for row in ledger.rows(_TAGS)]
    there = ", ".join(tags[:_TAGS_SHOWN]) + (", …" if len(tags) > _TAGS_SHOWN else "")
    raise NotFound(f"no run has the tag {tag!r}; there are {there or 'no tags'}")


def run_status(ledger: Ledger, run: str, stored: str) -> str:
    """A run's status as people are told it: one that the view calls open while nobody holds it was interrupted."""
    return "interrupted" if stored == "open" and not run_is_held(ledger.path, run) else stored


def list_runs(
    ledger: Ledger,
    *,
    suite: str = "",
    tags: Sequence[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    name: str = "",
    among: Sequence[str] | None = None,
    standing: Mapping[str, Standing] | None = None,
) -> Iterator[dict[str, Any]]:
    """The rows of the view `runs`, newest first; a run that is open while nobody holds it was interrupted.

    `suite`, `name` and all of `tags` keep only the runs that have them; `since` those that opened then or later,
    `until` those that opened before, by what the writer's clock claimed. `accepted` names the components that a person
    let move under a run, `notes` what was noted on it, and `grades` the runs whose answers it judges. Superseded and
    tainted runs are marked as this release understands it, whichever release's view the file has.

    `among` are ids: the rows of these runs alone, at the cost of these alone. `standing` is what `standing_of_runs`
    says, where that is known already.
    """
    standing = standing_of_runs(ledger) if standing is None else standing
    accepted, notes = _by_run(ledger, _ACCEPTED, "component"), _by_run(ledger, _NOTES, "text")
    grades = _by_run(ledger, _GRADES, "graded")
    earliest, latest = event_time(since), event_time(until) or "~"
    if among is not None:
        rows = ledger.rows(_AMONG, (json.dumps(list(among)),))
    else:
        # What a newer release's view of that name has for columns, this one can't know.
        rows = ledger.rows(_EVERY) if _is_newer(ledger) else ledger.view("runs", order_by="seq desc")
    for row in rows:
        for column in _JSON_COLUMNS:
            if isinstance(row.get(column), str):
                row[column] = json.loads(row[column])
        if (
            (suite and row["suite"] != suite)
            or (name and row["name"] != name)
            or not (earliest <= str(row["opened_at"]) < latest)
        ):
            continue
        if not set(tags) <= set(row["tags"] or ()):
            continue
        run = str(row["run"])
        row["status"] = run_status(ledger, run, str(row["status"]))
        stands = standing.get(run, Standing())
        row["superseded"] = stands.superseded is not None
        row["superseded_by"] = stands.by
        row["accepted"] = list(dict.fromkeys(accepted.get(run, [])))
        row["notes"] = notes.get(run, [])
        row["grades"] = grades.get(run, [])
        row["tainted"] = bool(stands.taints)
        row["taints"] = [mark.taint for mark in stands.taints]
        yield row


def _is_newer(ledger: Ledger) -> bool:
    found = ledger.rows(_RELEASE)
    return bool(found) and isinstance(found[0]["release"], int) and found[0]["release"] > RELEASE


def _by_run(ledger: Ledger, query: str, column: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in ledger.rows(query):
        found.setdefault(str(row["run"]), []).append(str(row[column]))
    return found
