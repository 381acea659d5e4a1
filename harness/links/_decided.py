"""Links of decisions: a gate's verdict against its results, and those against the tallies that it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from harness._gate_outcomes import worst_of
from harness._replies import seqs_in
from harness._typed import typed
from harness.links._broken import Finder
from ledger import Ledger, NotFound
from ledger.kinds import Gate, Tally

__all__ = ["check_gates"]

_GATES = "SELECT seq, causes, body FROM main.events WHERE kind = 'gate' AND body IS NOT NULL ORDER BY seq"
_RUNS = "SELECT seq, run FROM main.events WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
_SIDES = ("", "against_")


def check_gates(ledger: Ledger, finder: Finder) -> None:
    """Hold every verdict of the ledger."""
    for seq, causes, text in ledger.sql(_GATES):
        body = typed(Gate, text, f"event {seq}")
        _check_runs(ledger, seq, causes, body, finder)
        results = [cast("Mapping[str, Any]", each) for each in body.results if isinstance(each, dict)]
        _check_outcome(seq, body, results, finder)
        for each in results:
            for prefix in _SIDES:
                if each.get(f"{prefix}tally") is not None:
                    _check_figure(ledger, seq, seqs_in(causes), body, each, prefix, finder)


def _check_runs(ledger: Ledger, seq: int, causes: str, body: Gate, finder: Finder) -> None:
    """Both runs are those of the tallies (or, where nothing was tallied yet, the plans) among its causes."""
    rests = {int(cause): str(run) for cause, run in ledger.sql(_RUNS, (causes,))}
    for name, said in (("run", body.run), ("against", body.against)):
        if said not in rests.values() and (said or name == "run"):
            follows = " or ".join(dict.fromkeys(rests.values())) or "a run that it rests on"
            finder.broken("gate.run", seq, name, said, max(rests, default=0), follows)
    for cause, run in rests.items():
        if run not in (body.run, body.against):
            finder.broken("gate.run", seq, "runs", f"{body.run} {body.against}".strip(), cause, run)


def _check_outcome(seq: int, body: Gate, results: Sequence[Mapping[str, Any]], finder: Finder) -> None:
    worst = worst_of({str(each.get("outcome")) for each in results})
    # A run with cells to ask is incomplete whatever its figures are; only what can't be compared goes before it.
    if body.outcome != "incomplete" or worst == "not comparable":
        finder.hold("gate.outcome", seq, "outcome", body.outcome, seq, worst)


def _check_figure(
    ledger: Ledger, seq: int, causes: Sequence[int], body: Gate, result: Mapping[str, Any], prefix: str, finder: Finder
) -> None:  # fmt: skip
    at = result[f"{prefix}tally"]
    candidate = result.get("against" if prefix else "candidate")
    what = f"{prefix}{result.get('metric')} of {candidate}"
    try:
        tally = ledger.body(at) if isinstance(at, int) and at in causes else None
    except NotFound:
        tally = None
    if not isinstance(tally, Tally):
        finder.broken("gate.results", seq, f"the tally of {what}", at, 0, "a tally among its causes")
        return
    of = body.against if prefix else body.run
    finder.hold("gate.results", seq, f"run and rules of {what}", (of, result.get("rules")), at, (
        ledger.event(at).run, tally.rules,
    ))  # fmt: skip
    mine = next(
        (each for each in tally.metrics if (each.candidate, each.metric) == (candidate, result.get("metric"))), None
    )
    follows = (mine.k, mine.n, mine.planned) if mine else (None, None, None)
    said = tuple(result.get(f"{prefix}{name}") for name in ("k", "n", "planned"))
    finder.hold("gate.results", seq, f"k, n, planned of {what}", said, at, follows)
