"""Impact: what rests on a target is named, what doesn't is not, and the marks in the views say the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from ledger import Draft, Ledger, kinds
from ledger._impact import Impact, impact_of
from ledger._lineage import clear, supersede, taint
from ledger._mermaid import mermaid
from ledger._runs import list_runs
from ledger._standing import standing_of
from ledger._targets import find_target
from tests.ledger.ledgers import withhold
from tests.ledger.lineages import (
    CANDIDATES,
    CODE,
    FIXTURES,
    RULES,
    RUNS,
    Lineage,
    make_lineage,
    planned_cells,
    report,
    score_again,
    tally_again,
)

A, B = RUNS
STRICT, FENCE = RULES
X, Y = CANDIDATES
EVERYWHERE = [(run, cell, label) for run in RUNS for cell, _, _ in planned_cells() for label in RULES]


@pytest.fixture
def lineage(tmp_path: Path) -> Iterator[Lineage]:
    made = make_lineage(tmp_path / "ledger.db")
    with made.ledger:
        yield made


def ask(ledger: Ledger, target: str) -> Impact:
    return impact_of(ledger, find_target(ledger, target))


def scored(impact: Impact) -> set[tuple[str, int, str]]:
    return {(row["run"], row["cell"], row["rules"]) for row in impact.scores}


def where(**wanted: str) -> set[tuple[str, int, str]]:
    cells = {cell: {"candidate": candidate, "fixture": fixture} for cell, candidate, fixture in planned_cells()}
    return {
        (run, cell, label)
        for run, cell, label in EVERYWHERE
        if all({"run": run, "rules": label, **cells[cell]}[name] == value for name, value in wanted.items())
    }


TARGETS = {
    "a run": (lambda on: A, where(run=A)),
    "a fixture's freeze": (lambda on: "suite/v0", where(fixture="v0")),
    "a prompt's freeze": (lambda on: f"freeze:{on.prompts[Y]}", where(candidate=Y)),
    "a rule set's freeze": (lambda on: str(on.rules[STRICT]), where(rules=STRICT)),
    "a rule set": (lambda on: STRICT, where(rules=STRICT)),
    "a candidate by its label": (lambda on: X, where(candidate=X)),
    "a candidate by its digest": (lambda on: "candidate:" + "8" * 64, where(candidate=Y)),
    "a model as resolved": (lambda on: "x-resolved", where(candidate=X)),
    "a harness by its code": (lambda on: CODE[1], where(run=B)),
    "a harness by its version": (lambda on: "harness:0.c", where(run=A)),
    "a plan": (lambda on: str(on.plans[B]), where(run=B)),
    "a cell": (lambda on: str(on.cells[A, 2]), {(A, 2, label) for label in RULES}),
    "the response that counted": (lambda on: str(on.responses[B, 3, 1]), {(B, 3, label) for label in RULES}),
    "an earlier attempt": (lambda on: str(on.responses[B, 3, 0]), set()),
    "a parse": (lambda on: str(on.parses[A, 1, FENCE]), {(A, 1, FENCE)}),
    "a score": (lambda on: str(on.scores[B, 4, STRICT]), {(B, 4, STRICT)}),
    "a blob": (lambda on: "blob:" + blob(on, on.responses[A, 4, 1]), {(A, 4, label) for label in RULES}),
    "a blob of a report": (lambda on: "blob:" + blob(on, on.reports[A]), set()),
    "a tally": (lambda on: str(on.tallies[A, FENCE]), set()),
    "a report": (lambda on: str(on.reports[B]), set()),
}


def blob(lineage: Lineage, seq: int) -> str:
    return str(lineage.ledger.rows("SELECT hash FROM main.blobs WHERE seq = ?", (seq,))[0]["hash"])


@pytest.mark.parametrize("name", TARGETS)
def test_impact_names_just_the_scores_that_rest_on_the_target(lineage: Lineage, name: str) -> None:
    called, expected = TARGETS[name]
    found = ask(lineage.ledger, called(lineage))
    assert scored(found) == expected
    assert {row["seq"] for row in found.scores} == {lineage.scores[key] for key in expected}
    for row in found.scores:
        _, candidate, fixture = planned_cells()[row["cell"] - 1]
        assert (row["candidate"], row["case"], row["outcome"]) == (candidate, f"case-{fixture}", "correct")
    tallied = {(row["run"], row["rules"]) for row in found.tallies}
    assert tallied >= {(run, label) for run, _, label in expected}
    assert all(row["seq"] == lineage.tallies[row["run"], row["rules"]] for row in found.tallies)


@pytest.mark.parametrize("name", TARGETS)
def test_from_scores_it_goes_on_to_tallies_reports_and_recipients(lineage: Lineage, name: str) -> None:
    called, expected = TARGETS[name]
    found = ask(lineage.ledger, called(lineage))
    runs = {run for run, _, _ in expected} | {
        {"a tally": A, "a report": B, "a blob of a report": A}[name]
        for _ in [0]
        if name in ("a tally", "a report", "a blob of a report")
    }
    assert [row["seq"] for row in found.reports] == [lineage.reports[run] for run in sorted(runs)]
    assert [(row["report"], row["to"]) for row in found.published] == [
        (lineage.reports[run], f"readers of {run[0]}") for run in sorted(runs)
    ]
    listed = {row["seq"] for row in (*found.scores, *found.tallies)}
    assert all(set(row["rests_on"]) == listed & {lineage.tallies[row["run"], each] for each in RULES}
               for row in found.reports)  # fmt: skip


@pytest.mark.parametrize("name", TARGETS)
def test_the_marks_in_the_views_say_what_impact_says_while_the_taint_is_in_force(lineage: Lineage, name: str) -> None:
    called, expected = TARGETS[name]
    ledger = lineage.ledger
    impact = ask(ledger, called(lineage))
    event, _ = taint(ledger, called(lineage), reason="unsafe")

    def marked() -> set[tuple[str, str, str]]:
        rows = ledger.rows("SELECT run, candidate, rules FROM main.scoreboard WHERE tainted")
        return {(row["run"], row["candidate"], row["rules"]) for row in rows}

    candidate_of = {cell: candidate for cell, candidate, _ in planned_cells()}
    assert marked() == {(run, candidate_of[cell], label) for run, cell, label in expected}
    for run in RUNS:
        standing = standing_of(ledger, run)
        assert [mark.taint for mark in standing.taints] == ([event.seq] if run in impacted(impact) else [])
        for candidate in CANDIDATES:
            for label in RULES:
                assert standing.taints_number(candidate, label) == ((run, candidate, label) in marked())
    by_view = {row["run"] for row in ledger.rows("SELECT run FROM main.runs WHERE tainted")}
    assert by_view == impacted(impact) == {row["run"] for row in list_runs(ledger) if row["tainted"]}
    reports = ledger.rows("SELECT seq FROM main.reports WHERE tainted")
    assert [row["seq"] for row in reports] == [row["seq"] for row in impact.reports]
    clear(ledger, event.seq, reason="safe")
    assert (marked(), ledger.rows("SELECT run FROM main.runs WHERE tainted")) == (set(), [])


def impacted(impact: Impact) -> set[str]:
    return {row["run"] for row in impact.runs}


def test_a_tainted_freeze_is_marked_and_so_are_those_of_a_tainted_rule_set(lineage: Lineage) -> None:
    taint(lineage.ledger, "suite/v0", reason="gold is wrong")
    taint(lineage.ledger, STRICT, reason="reads wrongly")
    rows = lineage.ledger.rows("SELECT seq FROM main.freezes WHERE tainted")
    assert [row["seq"] for row in rows] == [lineage.fixtures["v0"], lineage.rules[STRICT]]


def test_a_tally_rests_on_the_last_score_before_it_and_not_on_those_it_replaced(lineage: Lineage) -> None:
    old_score, old_tally = lineage.scores[A, 1, STRICT], lineage.tallies[A, STRICT]
    score_again(lineage, A, 1, (STRICT,))
    tally_again(lineage, A, STRICT)
    assert [row["seq"] for row in ask(lineage.ledger, str(old_score)).tallies] == [old_tally]
    new = ask(lineage.ledger, str(lineage.scores[A, 1, STRICT]))
    assert [row["seq"] for row in new.tallies] == [lineage.tallies[A, STRICT]]
    taint(lineage.ledger, str(old_score), reason="x")
    assert lineage.ledger.rows("SELECT run FROM main.scoreboard WHERE tainted") == []
    taint(lineage.ledger, str(lineage.scores[A, 1, STRICT]), reason="x")
    rows = lineage.ledger.rows("SELECT run, candidate, rules FROM main.scoreboard WHERE tainted")
    assert [tuple(row.values()) for row in rows] == [(A, X, STRICT)]


def test_what_was_taken_over_from_a_run_rests_on_it(lineage: Lineage) -> None:
    source = lineage.ledger.event(lineage.responses[A, 1, 1])
    (reused,) = lineage.ledger.append(
        Draft(
            kinds.Reuse(of=source.seq, hash=source.hash), run=B, cell=1, causes=[source.seq, lineage.cells[B, 1]]
        )
    )  # fmt: skip
    lineage.responses[B, 1, 1] = reused.seq
    score_again(lineage, B, 1)
    found = ask(lineage.ledger, A)
    assert scored(found) == where(run=A) | {(B, 1, label) for label in RULES}
    assert impacted(found) == {A, B}


def test_a_report_that_names_no_tally_rests_on_all_of_its_run(lineage: Lineage) -> None:
    told, handed = report(lineage, A, "the press", [])
    assert told in {row["seq"] for row in ask(lineage.ledger, str(lineage.scores[A, 1, STRICT])).reports}
    assert handed in {row["seq"] for row in ask(lineage.ledger, A).published}
    assert told not in {row["seq"] for row in ask(lineage.ledger, B).reports}
    partly, _ = report(lineage, A, "the press", [lineage.tallies[A, STRICT]])
    assert partly not in {row["seq"] for row in ask(lineage.ledger, FENCE).reports}
    assert partly in {row["seq"] for row in ask(lineage.ledger, STRICT).reports}


def test_lineage_survives_the_withholding_of_bodies(lineage: Lineage) -> None:
    withheld = [lineage.cells[A, 1], lineage.parses[A, 1, STRICT], lineage.reports[A], lineage.published[A]]
    withhold(lineage.ledger.path, withheld, [])
    assert scored(ask(lineage.ledger, "suite/v0")) >= where(fixture="v0")
    assert scored(ask(lineage.ledger, X)) == where(candidate=X)
    assert scored(ask(lineage.ledger, Y)) == where(candidate=Y)
    found = ask(lineage.ledger, str(lineage.responses[A, 1, 1]))
    assert scored(found) == {(A, 1, label) for label in RULES}
    assert [(row["report"], row["to"]) for row in found.published] == [(lineage.reports[A], None)]
    assert "published to (withheld)" in mermaid(found)


def test_nothing_rests_on_what_came_last(lineage: Lineage) -> None:
    found = ask(lineage.ledger, str(lineage.published[B]))
    assert (found.events, found.runs, found.scores, found.reports) == (1, [], [], [])


def test_the_picture_leads_from_the_target_to_every_recipient(lineage: Lineage) -> None:
    supersede(lineage.ledger, A, by=B, category="parser", reason="x")
    picture = mermaid(ask(lineage.ledger, "suite/v0"))
    assert picture.startswith("flowchart LR\n")
    names = dict(re.findall(r'^  (n\d+)\["(.*)"\]$', picture, re.MULTILINE))
    arrows = [(names[a], names[b]) for a, b in re.findall(r"^  (n\d+) --> (n\d+)$", picture, re.MULTILINE)]
    assert len(names) + len(arrows) + 1 == picture.count("\n")
    chain = [
        f"freeze:{lineage.fixtures['v0']}", f"run {A} name-a, superseded", f"2 scores under {STRICT}",
        f"tally {lineage.tallies[A, STRICT]}", f"report {lineage.reports[A]} markdown", "published to readers of a",
    ]  # fmt: skip
    assert set(pairwise(chain)) <= set(arrows)
    assert len(set(arrows)) == len(arrows)


def test_names_out_of_a_ledger_can_not_break_the_picture(lineage: Lineage) -> None:
    nasty = 'x"]\n  click n0 "javascript:alert(1)"\u202e<script>&;`'
    report(lineage, A, nasty, [lineage.tallies[A, STRICT]])
    picture = mermaid(ask(lineage.ledger, A))
    assert all(re.fullmatch(r'flowchart LR|  n\d+(\["[^"<>&`\[\]\n]*"\]| --> n\d+)', line)
               for line in picture.splitlines())  # fmt: skip
    assert "click" in picture
    assert "#60;script#62;" in picture


def test_the_json_form_holds_every_name(lineage: Lineage) -> None:
    value = json.loads(json.dumps(ask(lineage.ledger, A).as_json()))
    assert value["target"] == {"what": "run", "id": A}
    assert [row["run"] for row in value["runs"]] == [A]
    assert value["runs"][0]["scores"] == len(value["scores"]) == len(FIXTURES) * len(CANDIDATES) * len(RULES)
    assert [row["to"] for row in value["published"]] == ["readers of a"]
