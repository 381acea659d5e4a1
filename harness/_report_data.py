"""The figures of a run as plain JSON-able data, as of one event of the chain: the same ever after.

Only events up to `size` count. So a report that was written while a run went on, or before a rescore, is recomputed
years later without what came since, and `harness check` can hold every number of it against the ledger.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from harness._agreed import agreement_study, labels_in
from harness._answer_marks import told
from harness._bars import is_judged, judge_bar
from harness._clusters import CaseInterval, Place, clustered_intervals
from harness._contradicted import contradicted
from harness._errors import HarnessError, UsageError
from harness._fingerprint import fingerprints
from harness._passes import passes_at
from harness._prediction import predictions_for
from harness._repeats import majorities, passes
from harness._replaced import replaced
from harness._rules import RuleSet
from harness._spend import spend_of
from harness._stated import stated_in
from harness._study import studies
from harness._thaw import thaw_rules
from ledger import Ledger, LedgerError, as_of, over_views, refuse_newer

__all__ = [
    "GONE", "RENDERER", "REPORT_FORMAT", "REPORT_VERSION", "AsOf", "Data", "collect", "lead", "with_intervals",
]  # fmt: skip

REPORT_FORMAT = "eval-ledger/report"
REPORT_VERSION = 1
"""The version of the data's form: keys are added under the same version, and never change their meaning."""
RENDERER = 6
"""Raised with every change of what the same data look like: a report of another renderer is held against the bytes that
the ledger recorded, and not drawn again."""

Data = dict[str, Any]

_RUN = (
    'SELECT run, name, suite, purpose, status, via, planned, asked, epochs, "limit", "filter", candidates, tags, seq,'
    " opened_at, closed_at FROM runs WHERE run = ?"
)
_EPOCHS = "SELECT run, epochs FROM runs WHERE run IN (SELECT value FROM json_each(?))"
_BOARD = (
    "SELECT candidate, rules, metric, kind, is_primary, k, n, planned, unmeasured, rate, low, high, sd, worst, best,"
    " standing, tainted, reproducible, held, held_why, asked_again, asked_again_of, mixed, marks"
    " FROM scoreboard WHERE run = ?"
)
_FAILURES = "SELECT candidate, rules, stage, reason, domain, count FROM failures WHERE run = ?"
_FLAGS = (
    "SELECT cell.body ->> '$.candidate' AS candidate, parse.body ->> '$.rules' AS rules, flag.value AS flag,"
    " count(DISTINCT parse.cell) AS count"
    " FROM events AS parse CROSS JOIN json_each(parse.body, '$.flags') AS flag"
    " CROSS JOIN events AS cell ON cell.run = parse.run AND cell.kind = 'cell' AND cell.cell = parse.cell"
    " WHERE parse.run = ? AND parse.kind = 'parse' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
)
_STANDING = "SELECT rules, freeze, first_response, standing, because FROM rule_standing WHERE run = ? ORDER BY rules"
_REPEATS = (
    "SELECT candidate, rules, cases, repeated, changed FROM repeatability WHERE run = ? ORDER BY rules, candidate"
)
_TALLIES = (
    "SELECT body ->> '$.rules' AS rules, max(seq) AS seq FROM events WHERE run = ? AND kind = 'tally' GROUP BY 1"
    " ORDER BY 1"
)
_FROZEN = (
    "SELECT freezes.seq AS seq, freezes.at AS at, what, name, label, digest, identity FROM freezes"
    " WHERE freezes.seq IN (SELECT value FROM json_each(?)) ORDER BY freezes.seq"
)
_PLAN = "SELECT causes FROM events WHERE run = ? AND kind = 'plan'"
GONE = (
    'SELECT seq AS event, "by", category, reason FROM supersessions'
    " WHERE in_force AND what = 'run' AND id = ? ORDER BY seq DESC LIMIT 1"
)
"""What superseded a run, as a report's data have it."""
_TAINTS = (
    "SELECT DISTINCT taints.seq AS event, taints.what AS what, taints.id AS id, taints.reason AS reason"
    " FROM tainted_events CROSS JOIN taints ON taints.seq = tainted_events.taint"
    " WHERE tainted_events.run = ? OR tainted_events.seq IN (SELECT value FROM json_each(?)) ORDER BY 1"
)
_UNTOLD = (
    "SELECT candidate, rules, count(*) AS cells FROM not_reproducible WHERE run = ? GROUP BY candidate, rules"
    " ORDER BY candidate, rules"
)
_PREDICTED = (
    "SELECT seq FROM main.events WHERE kind = 'freeze' AND body ->> '$.what' = 'prediction' AND +seq <= ? LIMIT 1"
)
_ANSWERS = (
    "SELECT cell.body ->> '$.candidate' AS candidate,"
    " sum(EXISTS (SELECT 1 FROM events AS asked"
    " WHERE asked.run = cell.run AND asked.kind = 'request' AND asked.cell = cell.cell)) AS fresh,"
    " sum(EXISTS (SELECT 1 FROM events AS taken"
    " WHERE taken.run = cell.run AND taken.kind = 'reuse' AND taken.cell = cell.cell)"
    " AND NOT EXISTS (SELECT 1 FROM events AS asked"
    " WHERE asked.run = cell.run AND asked.kind = 'request' AND asked.cell = cell.cell)) AS reused"
    " FROM events AS cell WHERE cell.run = ? AND cell.kind = 'cell' AND cell.body IS NOT NULL"
    " GROUP BY 1 ORDER BY min(cell.cell)"
)
_IMPORTS = (
    "SELECT seq AS event, body ->> '$.format' AS format, body ->> '$.tool' AS tool, body ->> '$.grade' AS grade,"
    " body ->> '$.digest' AS digest, body -> '$.claimed' AS claimed FROM events"
    " WHERE run = ? AND kind = 'import' AND cell = 0 ORDER BY seq"
)
_ACCEPTS = "SELECT seq AS event, component, before, after, reason FROM accepts WHERE run = ? ORDER BY seq"


@dataclass(frozen=True)
class AsOf:
    """A ledger as it was when its chain ended at event `size`: the views answer about those events alone."""

    ledger: Ledger
    size: int

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """The rows of a query over this release's views and over `events`, `edges` and `blobs`."""
        return self.ledger.rows(over_views(query, as_of(self.size)), parameters)


def collect(ledger: Ledger, run: str, size: int, rules: Sequence[str] = ()) -> Data:
    """Everything that a report of `run` says, as of event `size`; `rules` keeps only the rule sets it names.

    Plain JSON data with a fixed order of keys and rows. Raises UsageError when the run had no plan then, for a probe,
    and for a rule set that had not been applied to it; Refused where a newer release wrote what would be counted.
    """
    refuse_newer(ledger, run)
    then = AsOf(ledger, size)
    found = then.rows(_RUN, (run,))
    if not found:
        raise UsageError(f"at event {size} there was no run {run} yet")
    row = found[0]
    if row["purpose"] == "probe":
        raise UsageError(f"{run} is a probe, which no scoreboard counts; `ledger log --run {run}` shows it")
    tried = then.rows(_STANDING, (run,))
    kept = _kept(run, [each["rules"] for each in tried], rules)
    tallies = {each["rules"]: each["seq"] for each in then.rows(_TALLIES, (run,))}
    # NULL is a rule set of which no freeze is named: nothing stands behind it.
    freezes = {each["rules"]: each["freeze"] for each in tried if each["rules"] in kept and each["freeze"] is not None}
    thawed = {each["rules"]: _thawed(ledger, each["freeze"]) for each in tried if each["rules"] in kept}
    board = _board(then, run, kept, tallies, row["epochs"])
    for each in board:
        rule_set = thawed[each["rules"]]
        policy = rule_set.policy if isinstance(rule_set, RuleSet) else None
        each["policy"] = policy.name if policy is not None else None
    first = next((each["first_response"] for each in tried), None)
    candidates = [str(each) for each in json.loads(row["candidates"])]
    bars, unread, aside = _bars(board, thawed, candidates)
    readable = {label: each for label, each in thawed.items() if isinstance(each, RuleSet)}
    study = studies(ledger, then.rows, run, readable, candidates)
    study += agreement_study(ledger, then.rows, run, readable)
    frozen = _frozen(then, run, list(freezes.values()), first)
    broken = contradicted(ledger, run, size)
    return {
        "report": REPORT_FORMAT,
        "version": REPORT_VERSION,
        "renderer": RENDERER,
        "run": _about(row),
        "superseded": next(iter(then.rows(GONE, (run,))), None),
        "rests_on_superseded": replaced(then.rows, run, (each["seq"] for each in frozen)),
        "taints": then.rows(_TAINTS, (run, json.dumps(labels_in({"study": study})))),
        "not_reproducible": _of(then.rows(_UNTOLD, (run,)), kept),
        **({"contradicted": broken} if broken is not None else {}),
        "imported": [_imported(each) for each in then.rows(_IMPORTS, (run,))],
        "answers": then.rows(_ANSWERS, (run,)),
        "served": told(then.rows, run),
        "accepted": then.rows(_ACCEPTS, (run,)),
        "first_response": first,
        "frozen": frozen,
        "rules": [
            {name: each[name] for name in ("rules", "freeze", "standing", "because")} for each in tried
            if each["rules"] in kept
        ],
        "scoreboard": board,
        "unmeasured": _of(then.rows(_FAILURES, (run,)), kept),
        "flags": _of(then.rows(_FLAGS, (run,)), kept),
        "spend": _spend(then, run, kept),
        "repeatability": _repeatability(then, run, kept, row["epochs"]),
        "bars": bars,
        "bars_unread": unread,
        **({"bars_not_judged": aside} if aside else {}),
        "predictions": _predictions(ledger, run, size, kept),
        **({"study": study} if study else {}),
        "other_rules": [
            {name: each[name] for name in ("rules", "freeze", "standing", "because")} for each in tried
            if each["rules"] not in kept
        ],
        "fingerprints": _fingerprints(ledger, run, kept, candidates),
        "receipt": _receipt(
            then, run, freezes, tallies
        ),
    }  # fmt: skip


def _imported(row: Mapping[str, Any]) -> Data:
    """What an import says of itself; the totals that it states, where it does, beside what its rows come to."""
    claimed: dict[str, str] = json.loads(row["claimed"] or "{}")
    totals = [each.as_json() for each in stated_in(claimed)]
    return {**row, "claimed": claimed, **({"totals": totals} if totals else {})}


def _kept(run: str, labels: Sequence[str], wanted: Sequence[str]) -> frozenset[str]:
    for name in wanted:
        if not any(name in (label, label.partition("@")[0]) for label in labels):
            has = ", ".join(sorted(labels)) or "none"
            raise UsageError(f"run {run} was not scored under {name!a}; it has {has}")
    return frozenset(
        label for label in labels if not wanted or label in wanted or label.partition("@")[0] in wanted
    )  # fmt: skip


def _of(rows: Iterable[dict[str, Any]], kept: frozenset[str]) -> list[dict[str, Any]]:
    return [row for row in rows if row["rules"] in kept]


def _repeatability(then: AsOf, run: str, kept: frozenset[str], epochs: int) -> list[dict[str, Any]]:
    if epochs < 2:
        return []
    of = passes(then.rows, run, epochs)
    votes = majorities(then.rows, run, epochs)
    both = passes_at(then.rows, run, (1, epochs))
    return [
        {
            **each, "pass_at_k": of.get((each["candidate"], each["rules"]), []),
            "majority": votes.get((each["candidate"], each["rules"])),
            "passes": both.get((each["candidate"], each["rules"]), []),
        }
        for each in _of(then.rows(_REPEATS, (run,)), kept) if each["repeated"]
    ]  # fmt: skip


def _spend(then: AsOf, run: str, kept: frozenset[str]) -> Data:
    spend = spend_of(then.rows, run)
    return {**spend, "failures": _of(spend["failures"], kept)}


def _about(row: Mapping[str, Any]) -> Data:
    about = {name: row[name] for name in row if name not in ("run", "purpose", "candidates", "tags")}
    return {
        "id": row["run"], **about, "candidates": json.loads(row["candidates"]), "tags": json.loads(row["tags"]),
    }  # fmt: skip


def _board(then: AsOf, run: str, kept: frozenset[str], tallies: Mapping[str, int], epochs: int) -> list[dict[str, Any]]:
    board = _of(then.rows(_BOARD, (run,)), kept)
    intervals = clustered_intervals(then.rows, run, board, epochs=epochs)
    for row in board:
        row["is_primary"], row["tainted"] = bool(row["is_primary"]), bool(row["tainted"])
        row["reproducible"], row["mixed"] = bool(row["reproducible"]), bool(row["mixed"])
        held, why = row.pop("held"), row.pop("held_why")
        if not held:
            # Only there does a row have them: what older releases recorded of honest runs stays what they recorded.
            row["held"], row["held_why"] = False, why
        row["tally"] = tallies.get(row["rules"])
        lead(row, intervals, clustered=epochs > 1)
    return board


def lead(row: dict[str, Any], intervals: Mapping[Place, CaseInterval], *, clustered: bool) -> None:
    """The interval that people are shown: over cases, where repeats of one aren't independent, and of any mean."""
    found = intervals.get((row["rules"], row["metric"], row["candidate"]))
    row["case_low"], row["case_high"] = (found.resampled if found else None) or (None, None)
    if found is not None:
        row["interval_low"], row["interval_high"], row["interval_by"] = found.low, found.high, found.by
        if found.mean_by_case is not None:
            # Only where repeats are unequal does a row have it: elsewhere it is the rate.
            row["rate_by_case"] = found.mean_by_case
    elif row["low"] is not None and not clustered:
        row["interval_low"], row["interval_high"], row["interval_by"] = row["low"], row["high"], "cells"
    else:
        row["interval_low"] = row["interval_high"] = row["interval_by"] = None


def with_intervals(ledger: Ledger, board: Sequence[dict[str, Any]]) -> None:
    """Put the interval that people are shown, of every run's own, on rows of a scoreboard of many runs."""
    now = AsOf(ledger, ledger.head()[0])
    runs = list(dict.fromkeys(str(row["run"]) for row in board))
    epochs = {row["run"]: row["epochs"] for row in ledger.rows(over_views(_EPOCHS), (json.dumps(runs),))}
    for run in runs:
        mine = [row for row in board if row["run"] == run]
        intervals = clustered_intervals(now.rows, run, mine, epochs=epochs[run])
        for row in mine:
            lead(row, intervals, clustered=epochs[run] > 1)


def _frozen(then: AsOf, run: str, rule_freezes: Sequence[int], first: int | None) -> list[dict[str, Any]]:
    """Every freeze that the run and its shown rule sets stand on, and every prediction, oldest first."""
    (plan,) = then.rows(_PLAN, (run,))
    rows = then.rows(_FROZEN, (json.dumps(sorted({*json.loads(plan["causes"]), *rule_freezes})),))
    kept = [row for row in rows if row["what"] != "rules" or row["seq"] in rule_freezes]
    for row in kept:
        row["before_first_response"] = None if first is None else row["seq"] < first
    return kept


def _thawed(ledger: Ledger, freeze: int | None) -> RuleSet | str:
    """The rule set of a freeze, or why nobody can read it any more."""
    try:
        return thaw_rules(ledger, freeze)
    except HarnessError as problem:
        return str(problem)


def _bars(
    board: Sequence[Mapping[str, Any]], thawed: Mapping[str, RuleSet | str], candidates: Sequence[str]
) -> tuple[list[Data], list[Data], list[Data]]:
    """Every bar of every rule set, for each candidate; the rule sets whose bars nobody can read any more; and the bars
    that aren't judged, since no planned cell is of their metric."""
    rows = {(row["rules"], row["candidate"], row["metric"]): row for row in board}
    judged: list[Data] = []
    aside: list[Data] = []
    for label, rules in thawed.items():
        for bar, candidate in product(rules.bars if isinstance(rules, RuleSet) else (), candidates):
            row = rows.get((label, candidate, bar.metric))
            if is_judged(bar, row):
                judged.append({"rules": label, **judge_bar(bar, row, candidate).as_json()})
            else:
                aside.append({"rules": label, "candidate": candidate, "bar": bar.text, "metric": bar.metric})
    return judged, [{"rules": label, "why": why} for label, why in thawed.items() if isinstance(why, str)], aside


def _predictions(ledger: Ledger, run: str, size: int, kept: frozenset[str]) -> list[dict[str, Any]]:
    """Every prediction that was frozen by then and speaks of the suite; its results under the rule sets shown."""
    if not ledger.rows(_PREDICTED, (size,)):
        return []
    found = [held.as_json() for held in predictions_for(ledger, run, size=size)]
    for each in found:
        each["results"] = [
            result for result in each["results"] if not result["rules_standing"] or result["rules"] in kept
        ]
    return found


def _fingerprints(ledger: Ledger, run: str, kept: Iterable[str], candidates: Sequence[str]) -> list[dict[str, Any]]:
    """The fingerprint that says what may be held against each other; nothing where what it is made of was withheld.

    The other one, of everything, moves with every resume, so no file that is checked later can hold it.
    """
    found: list[dict[str, Any]] = []
    for label in sorted(kept):
        for candidate in candidates:
            try:
                of = fingerprints(ledger, run, label, candidate)
            except (HarnessError, LedgerError):
                continue
            found.append({"rules": label, "candidate": candidate, "comparable": of.comparable, "version": of.version})
    return found


def _receipt(then: AsOf, run: str, freezes: Mapping[str, int], tallies: Mapping[str, int]) -> Data:
    """What lets anybody find these figures again: the ledger, its head and size, the run, rule sets and tallies."""
    genesis = then.ledger.genesis
    found = then.rows(_FROZEN, (json.dumps(sorted(freezes.values())),))
    return {
        "origin": genesis.origin,
        "ledger": genesis.id,
        "size": then.size,
        "head": then.ledger.event(then.size).hash,
        "run": run,
        "rules": [{"rules": row["label"], "file": row["digest"], "identity": row["identity"]} for row in found],
        "tallies": [{"rules": label, "event": tallies[label]} for label in sorted(freezes) if label in tallies],
    }
