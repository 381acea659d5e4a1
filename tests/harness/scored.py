"""Runs of the authority suite with outcomes as they are told, written event by event: nothing is asked or read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness._candidate import Candidate
from harness._derive import unmeasured_score
from harness._freeze import freeze_suite
from harness._outcomes import reason
from harness._plan import Measurement, plan_run
from harness._rules import RuleSet, load_rules
from harness._suite import Case, Fixture, Suite, load_suite, parse_cases
from harness._tally import tally_draft
from ledger import Draft, Ledger, new_run_id
from ledger.kinds import Close, Parse, Request, Response, Score

__all__ = ["POSITIVE", "case_line", "fixture_of", "rule_set", "scored_run", "suite_here"]

ROOT = Path(__file__).resolve().parents[2] / "fixtures"
POSITIVE = {
    "expected": [{"type": "supersedes", "source": "M001", "target": "M002"}], "forbidden": [], "reference": []
}  # fmt: skip
NEGATIVE = {"expected": [], "forbidden": [], "reference": []}
REASONS = {
    "refused": ("refused", "stop_refusal"), "truncated": ("truncated", "stop_length"),
    "malformed": ("malformed", "no_json"), "error": ("error", "timeout"), "not_asked": ("not_asked", "not_asked"),
}  # fmt: skip


def case_line(name: str, *, text: str | None = None, gold: Any = None) -> str:
    shown = text if text is not None else f"- {name} holds\n- {name} held before\n"
    return json.dumps({"id": name, "input": {"text": shown}, "gold": POSITIVE if gold is None else gold, "meta": {}})


def fixture_of(lines: Sequence[str], name: str = "one") -> Fixture:
    file = "".join(line + "\n" for line in lines).encode()
    return Fixture("authority", name, file, parse_cases(file, name, suite_here().stage_functions))


def suite_here() -> Suite:
    return load_suite("authority", ROOT)[0]


def rule_set(name: str = "strict-cite") -> RuleSet:
    return load_rules(suite_here(), name)


def _score(word: str, case: Case, rules: RuleSet, suite: Suite) -> Score:
    stages = suite.stage_functions
    if word in REASONS:
        known = reason(*REASONS[word])
        return unmeasured_score(
            rules, stages, case, status=known.status, stage=str(known.stage), reason=known.name,
            domain=str(known.domain),
        )  # fmt: skip
    exact, direction = {"right": (1, 1), "direction": (0, 1), "wrong": (0, 0)}[word]
    figures = {
        "exact": exact, "direction": direction, "negative_pass": exact, "false_fire": 1 - exact,
        "false_fire_without_confirmer": 1 - exact,
    }  # fmt: skip
    groups = stages.group(case.gold)
    applies = [each.name for each in rules.metrics if each.applies == "all" or each.applies in groups]
    return Score(
        rules=rules.label, outcome="correct" if exact else "incorrect", status="parsed", stage="", reason="", domain="",
        value=None, applies=applies, metrics={name: float(figures[name]) for name in applies},
    )  # fmt: skip


def scored_run(
    ledger: Ledger,
    outcomes: Mapping[str, Mapping[str, str | Sequence[str]]],
    *,
    lines: Sequence[str] | None = None,
    rules: Sequence[RuleSet] | None = None,
    suite: Suite | None = None,
    fixture: str = "one",
    epochs: int = 1,
    limit: int | None = None,
    arm: str = "",
    name: str = "",
    models: Mapping[str, Sequence[str]] | None = None,
    candidates: Mapping[str, Mapping[str, Any]] | None = None,
    servers: Mapping[str, Mapping[str, str]] | None = None,
    closed: bool = True,
) -> str:
    """A run whose cells ended as `outcomes` says, by candidate label and case id: right, direction, wrong, or a reason
    of REASONS; a list has one for each epoch. Without `lines` each case has a text of its own, made of its id. A case
    that a candidate has no outcome for is left without a score."""
    suite = suite or suite_here()
    sets = list(rules or [rule_set()])
    names = list(dict.fromkeys(case for each in outcomes.values() for case in each))
    cases = fixture_of(lines if lines is not None else [case_line(each) for each in names], fixture)
    asked = [_candidate(label, suite, (candidates or {}).get(label, {})) for label in outcomes]
    frozen = freeze_suite(ledger, suite, [cases], sets, [each.prompt.encode() for each in asked])
    run = new_run_id()
    planned = plan_run(
        ledger, run, suite=suite, fixtures=[cases], rules=sets, candidates=asked, frozen=frozen, epochs=epochs,
        limit=limit, via="live", arm=arm, name=name, servers=servers or {},
    )  # fmt: skip
    scores: dict[str, dict[int, Score]] = {each.label: {} for each in sets}
    for at, measurement in enumerate(planned.measurements):
        label = measurement.candidate.label
        told = outcomes[label].get(measurement.case.id)
        if told is None:
            continue
        word = told if isinstance(told, str) else told[measurement.epoch]
        answered = (models or {}).get(label, ("scripted",))
        _append_cell(ledger, run, measurement, word, answered[at % len(answered)], sets, frozen.rules, suite, scores)
    if closed:
        for each in sets:
            if len(scores[each.label]) == len(planned.measurements):
                ledger.append(tally_draft(planned, each, scores[each.label], frozen.rules[each.label]))
        whole = all(len(each) == len(planned.measurements) for each in scores.values())
        close = Close(
            status="complete" if whole else "incomplete", planned=len(planned.measurements), asked=len(scores),
            outcomes={}, reason="",
        )  # fmt: skip
        ledger.append(Draft(close, run=run, causes=[planned.plan]))
    return run


def _candidate(label: str, suite: Suite, changed: Mapping[str, Any]) -> Candidate:
    protocol, _, model = label.partition("/")
    made = Candidate(
        label=label, protocol="ollama" if protocol not in ("openai", "anthropic") else protocol,  # type: ignore[arg-type]
        model=model or label, parameters={"temperature": 0}, base_url="http://127.0.0.1:9",
    ).with_prompt(suite.prompt_file)  # fmt: skip
    return replace(made, **changed)


def _append_cell(
    ledger: Ledger, run: str, measurement: Measurement, word: str, model: str, sets: Sequence[RuleSet],
    freezes: Mapping[str, int], suite: Suite, scores: Mapping[str, dict[int, Score]],
) -> None:  # fmt: skip
    place: dict[str, Any] = {"run": run, "cell": measurement.cell}
    last = measurement.seq
    if word != "not_asked":
        request = Request(attempt=0, turn=0, method="POST", url="http://127.0.0.1:9", headers=[])
        (asked,) = ledger.append(Draft(request, causes=[last], blobs={"body": b"?"}, **place))
        response = Response(attempt=0, turn=0, status=200, headers=[], whole=True, headers_ms=1, total_ms=1)
        (told,) = ledger.append(Draft(response, causes=[asked.seq], blobs={"body": word.encode()}, **place))
        last = told.seq
    for rules in sets:
        score = _score(word, measurement.case, rules, suite)
        causes = [measurement.seq, freezes[rules.label]]
        if word != "not_asked":
            parse = Parse(
                rules=rules.label, status=score.status, stage=score.stage, reason=score.reason, domain=score.domain,
                flags=[], value=None, span=[], usage=None, stop=None, model=model,
            )  # fmt: skip
            (read,) = ledger.append(Draft(parse, causes=sorted([freezes[rules.label], last]), **place))
            causes = [measurement.seq, read.seq]
        ledger.append(Draft(score, causes=sorted(causes), **place))
        scores[rules.label][measurement.cell] = score
