"""What a gate is told: the margin, and what a run is held against, which may be a tag.

--margin 2pp       two percentage points; 0.02 is the same. 2% and 2 could mean a share of the old figure, or points
--against TAG      the newest evaluation of the same suite with that tag that was neither superseded nor tainted,
                   and never the run itself
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal

from harness._errors import UsageError
from harness._sides import named_labels
from ledger import LATEST, Ledger, NotFound, find_run, over_views

__all__ = ["Against", "find_against", "read_margin"]

_POINTS = re.compile(r"([0-9]{1,2}(?:\.[0-9]{1,6})?) ?pp")
_NO_TAG = "no run has this tag, and "
_SHARE = re.compile(r"0(?:\.[0-9]{1,8})?|\.[0-9]{1,8}")
_TAGGED = over_views(
    "SELECT run FROM runs WHERE purpose = 'evaluation' AND suite = ? AND run <> ? AND NOT superseded AND NOT tainted"
    " AND EXISTS (SELECT 1 FROM json_each(runs.tags) WHERE value = ?) ORDER BY seq DESC LIMIT 1"
)
_CARRIED = over_views(
    "SELECT EXISTS (SELECT 1 FROM runs WHERE EXISTS (SELECT 1 FROM json_each(runs.tags) WHERE value = ?)) AS carried"
)
_PLAN = "SELECT body ->> '$.suite' AS suite FROM main.events WHERE kind = 'plan' AND run = ?"
_NAMES = "SELECT run, body ->> '$.name' AS name FROM main.events WHERE kind = 'plan'"


def read_margin(text: str) -> Decimal:
    """The margin as a share, from 0 up to less than 1. Raises UsageError, saying what to write."""
    shown = text.strip()
    points, share = _POINTS.fullmatch(shown), _SHARE.fullmatch(shown)
    if points:
        return Decimal(points[1]) / 100
    if share:
        return Decimal(share[0])
    if re.fullmatch(r"[0-9.]+ ?%", shown):
        number = shown.rstrip("% ")
        raise UsageError(
            f"--margin: {shown!a} could mean points or a part of the old figure; write {number}pp for percentage points"
        )
    raise UsageError(f"--margin: expected percentage points such as 2pp, or a share such as 0.02, got {shown!a}")


@dataclass(frozen=True, slots=True)
class Against:
    """What a run is held against, as `harness._sides` reads it; `tag` is the tag that led there, or empty."""

    text: str
    tag: str = ""


def find_against(ledger: Ledger, run: str, text: str) -> Against:
    """What AGAINST names for `run`: a run's whole id, its name or `latest`; else a tag; else as RUN names one.

    Either may be followed by @CANDIDATE. Raises UsageError where a tag has no run that may be held against, NotFound
    where nothing has that name.
    """
    plans = ledger.rows(_NAMES)
    exact = {*LATEST, *(str(each["run"]) for each in plans), *(str(each["name"]) for each in plans if each["name"])}
    heads = [(text, "")] + [(text[:at], text[at:]) for at, letter in enumerate(text) if letter == "@"]
    if any(head in exact for head, _ in heads):
        return Against(text)
    for head, rest in heads:
        if not ledger.rows(_CARRIED, (head,))[0]["carried"]:
            continue
        (plan,) = ledger.rows(_PLAN, (run,))
        for row in ledger.rows(_TAGGED, (plan["suite"], run, head)):
            return Against(f"{row['run']}{rest}", head)
        raise UsageError(
            f"--against {head!a}: no other run of {json.dumps(plan['suite'])} with this tag stands; those that have it"
            f" were superseded or tainted, are of another suite, or are run {run} itself"
        )
    try:
        named_labels(ledger, text)
    except NotFound:
        try:
            find_run(ledger, text)
        except NotFound as problem:
            raise NotFound(f"--against: {_NO_TAG}{problem}") from None
    return Against(text)
