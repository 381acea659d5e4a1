"""Which of two answers is the better one, asked of a judge pair by pair, each pair in both orders, in a run of its own.

    1  both sides are found, and refused as a run to be graded is (harness._grade)
    2  their answers are paired by the case: the same input, twin and epoch; what either side lacks is listed
    3  the judge is asked twice a pair, with the texts in either order; every cell is caused by both answers
    4  what became of a pair follows from its two cells (harness._pair_outcomes), and the run's report shows it

Nothing joins the runs that were judged: a choice between two answers is a grade of neither.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from harness._errors import RefusedError, UsageError
from harness._fit import check_fit
from harness._grade import GradeJob, judge_suite, run_to_grade
from harness._graded import Answer, answers_of, case_id, evidence_of
from harness._identity import file_digest
from harness._job import Job, candidates_for, given_of, load_rule_sets
from harness._replies import read_places, read_plan
from harness._report import RunReport, read_report
from harness._reuse import Takeover
from harness._run import Finished, Progress, perform_run
from harness._spend import total_spent
from harness._suite import Case, Fixture, Suite, parse_cases
from harness._thaw import thaw_cases
from harness.engines import is_replay
from harness.rubrics import PAIR, pair_suite
from ledger import Ledger

__all__ = ["PairJob", "PairsDone", "Unpaired", "grade_pairs"]

_MOST_NAMED = 5
_CELLS = (
    "SELECT cell, body ->> '$.input' AS input, body ->> '$.twin' AS twin, body ->> '$.epoch' AS epoch"
    " FROM main.events WHERE run = ? AND kind = 'cell' AND body IS NOT NULL"
)


@dataclass(frozen=True)
class PairJob:
    """What a person asked for. `a` and `b` are RUN or RUN@CANDIDATE; `asking` is how the judge is asked, its `suite`
    the suite of judging, its `limit` a number of pairs. The rest is as a GradeJob has it."""

    a: str
    b: str
    asking: Job
    reference: bool = False
    even_superseded: bool = False
    even_tainted: bool = False


@dataclass(frozen=True, slots=True)
class Unpaired:
    """A case that one side ("a" or "b") has no answer to: `not planned`, or why there is none to show."""

    side: str
    case: str
    epoch: int
    why: str

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {"side": self.side, "case": self.case, "epoch": self.epoch, "why": self.why}


@dataclass(frozen=True)
class PairsDone:
    """How the judge's run ended, its report with the tables of pairs, and which cases made no pair."""

    a: str
    b: str
    pairs: int
    unpaired: tuple[Unpaired, ...]
    finished: Finished
    report: RunReport
    taken: Takeover | None

    @property
    def board(self) -> None:
        """Nothing joins the runs that were judged."""
        return None

    def sentences(self, db: str) -> list[str]:
        """What people are told at the end; `db` is the ledger as a command line takes it."""
        run, said = self.finished.run, list(self.taken.sentences()) if self.taken else []
        said += [*([self.finished.reason] if self.finished.reason else []), *self.finished.advice]
        said.append(
            f"run {run} is {self.finished.status} ({total_spent(self.report.data['spend'])} spent):"
            f" `harness report {run} --db {db}` shows its pairs again."
        )
        if self.finished.failed or self.finished.status in ("interrupted", "aborted"):
            said.append(f"`harness resume {run} --db {db}` asks what is unfinished.")
        return said

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "run": self.finished.run, "a": self.a, "b": self.b, "status": self.finished.status, "pairs": self.pairs,
            "unpaired": [each.as_json() for each in self.unpaired], "planned": self.finished.planned,
            "asked": self.finished.asked, "study": self.report.data.get("study", []),
            "spent": total_spent(self.report.data["spend"]),
        }  # fmt: skip


class _Key(NamedTuple):
    """What makes two cells the same question."""

    input: str
    twin: int
    epoch: int


@dataclass(frozen=True)
class _Side:
    """One side's cells by what they ask, in order; an answer is None where there is none to show, and `why` says so."""

    run: str
    candidate: str
    suite: str
    cells: Mapping[_Key, tuple[str, Answer | None, str]]
    cases: Mapping[tuple[str, str], Case]

    @property
    def name(self) -> str:
        """How people name it."""
        return f"{self.run}@{self.candidate}"


class _Pair(NamedTuple):
    key: _Key
    case: str
    a: Answer
    b: Answer


def grade_pairs(
    job: PairJob, db: Path, progress: Progress, *, say: Callable[[str], object] = lambda sentence: None
) -> PairsDone:
    """Ask for every pair, twice. Everything that can be refused is refused before anything is written or sent.

    `say` is told what a person must know before the judge's first request. Raises RefusedError, UsageError, RunHeld,
    LedgerError.
    """
    judging, engines, urls = judge_suite(job.asking.suite, job.asking.engines, job.asking.base_urls)
    via = "replay" if all(map(is_replay, engines)) else "live"
    limit = job.asking.options.limit
    options = replace(job.asking.options, via=via, limit=None if limit is None else 2 * limit)
    asking = replace(job.asking, engines=engines, base_urls=urls, options=options)
    with Ledger.open(db) as ledger, ExitStack() as stack:
        a, b = _side(ledger, job, job.a), _side(ledger, job, job.b)
        pairs, unpaired = _paired(a, b)
        fixture, suite = _fixture(pair_suite(judging), a, b, pairs, reference=job.reference)
        rules = load_rule_sets(suite, job.asking.rules)
        specs = asking.specs()
        candidates = candidates_for(specs, suite, [fixture], stack)
        check_fit(suite, [fixture], rules, candidates, (), options.limit)
        purse = asking.purse.checked(candidates)
        told = _told(a, b, pairs, unpaired)
        for sentence in [*told, *purse.unbounded(candidates)]:
            say(sentence)
        finished, taken = perform_run(
            ledger, suite, [fixture], rules, candidates, options, progress,
            given=given_of(asking, specs, suite, rules, purse).text(),
            note=" ".join(filter(None, (asking.note, *told))), purse=purse, say=say,
            grades=list(dict.fromkeys((a.run, b.run))),
            evidence={case.id: evidence_of(case) for case in fixture.cases},
        )  # fmt: skip
        shown = len(pairs) if limit is None else min(limit, len(pairs))
        return PairsDone(a.name, b.name, shown, unpaired, finished, read_report(ledger, finished.run), taken)


# Sides and pairs


def _side(ledger: Ledger, job: PairJob, target: str) -> _Side:
    run, labels = run_to_grade(
        ledger, GradeJob(target, job.asking, job.reference, job.even_superseded, job.even_tainted)
    )
    if len(labels) != 1:
        there = " and ".join(f"{run}@{each}" for each in labels)
        raise UsageError(f"run {run} has {len(labels)} candidates, and a side of a pair is one: {there}")
    _, plan = read_plan(ledger, run)
    cases = thaw_cases(ledger, plan)
    places = [each for each in read_places(ledger, run, plan, list(cases)) if each.candidate == labels[0]]
    answers = {each.place.cell: each for each in answers_of(ledger, plan, places, cases)}
    keys = {
        int(row["cell"]): _Key(str(row["input"]), int(row["twin"]), int(row["epoch"]))
        for row in ledger.rows(_CELLS, (run,))
    }
    found: dict[_Key, tuple[str, Answer | None, str]] = {}
    for place in places:
        if place.cell in keys:
            answer = answers.get(place.cell)
            why = "withheld" if place.state == "answered" else "never answered"
            if answer is not None:
                why = "" if answer.text is not None else f"{answer.reading.status} ({answer.reading.reason})"
            found[keys[place.cell]] = ("/".join(place.case), None if why else answer, why)
    return _Side(run, labels[0], plan.suite, found, cases)


def _paired(a: _Side, b: _Side) -> tuple[list[_Pair], tuple[Unpaired, ...]]:
    """The pairs in A's order, and every case that makes none, A's first. Raises where nothing can be paired."""
    if (a.run, a.candidate) == (b.run, b.candidate):
        raise UsageError(f"A and B are the same answers, {a.name}; name two candidates, or two runs")
    if a.suite != b.suite:
        raise RefusedError(f"not comparable: {a.name} answered the suite {a.suite}, and {b.name} the suite {b.suite}")
    pairs: list[_Pair] = []
    missing: list[Unpaired] = []
    for key in [*a.cells, *(key for key in b.cells if key not in a.cells)]:
        sides = [side.cells.get(key) for side in (a, b)]
        case = next(each[0] for each in sides if each is not None)
        answers = [None if each is None else each[1] for each in sides]
        if answers[0] is not None and answers[1] is not None:
            pairs.append(_Pair(key, case, answers[0], answers[1]))
        for side, each in zip("ab", sides, strict=True):
            if each is None or each[1] is None:
                missing.append(Unpaired(side, case, key.epoch, "not planned" if each is None else each[2]))
    if not pairs:
        why = "; ".join(_counted(missing)) or "neither has a cell"
        raise UsageError(f"no case has an answer on both sides of {a.name} and {b.name}: {why}")
    return pairs, tuple(missing)


def _told(a: _Side, b: _Side, pairs: Sequence[_Pair], unpaired: Sequence[Unpaired]) -> list[str]:
    """What people are told ahead, and what the run's note keeps."""
    said = [f"{len(pairs)} pairs of {a.name} (A) and {b.name} (B), each in both orders."]
    if unpaired:
        said.append(f"No pair for want of an answer: {'; '.join(_counted(unpaired))}.")
    apart = sum(each.a.task != each.b.task for each in pairs)
    if apart:
        said.append(f"{apart} pairs were asked in different words: there the judge is shown the case's own input.")
    same = sum(each.a.text == each.b.text for each in pairs)
    if same:
        said.append(f"{same} pairs are of two identical texts, which only a tie does justice.")
    return said


def _counted(missing: Sequence[Unpaired]) -> list[str]:
    """By side and reason, how many and the first few."""
    counts = Counter((each.side, each.why) for each in missing)
    found: list[str] = []
    for (side, why), count in counts.items():
        names = [each.case for each in missing if (each.side, each.why) == (side, why)]
        more = ", …" if count > _MOST_NAMED else ""
        found.append(f"{side.upper()} {why} {count} ({', '.join(names[:_MOST_NAMED])}{more})")
    return found


# Cases


def _name(a: _Side, b: _Side, pair: _Pair) -> str:
    return f"{case_id(a.run, pair.a.place.cell)}+{case_id(b.run, pair.b.place.cell)}"


def _fixture(
    suite: Suite, a: _Side, b: _Side, pairs: Sequence[_Pair], *, reference: bool
) -> tuple[Fixture, Suite]:  # fmt: skip
    """Both orders of every pair as cases, and the suite that has them as its fixture."""
    lines: list[str] = []
    for pair in pairs:
        name = _name(a, b, pair)
        texts = {"a": pair.a.text or "", "b": pair.b.text or ""}
        task = pair.a.task if pair.a.task == pair.b.task else _own(a.cases[pair.a.place.case])
        for order, (first, second) in enumerate((("a", "b"), ("b", "a"))):
            shown = {
                "asked": task, "first": texts[first], "second": texts[second],
                **({"reference": pair.a.reference} if reference and pair.a.reference else {}),
            }  # fmt: skip
            gold = {
                "condition": "pair", "pair": name, "order": order, "first": first, "second": second,
                "case": pair.case, "a": a.name, "b": b.name,
            }  # fmt: skip
            meta = {
                "label": pair.case, "arm": PAIR, "order": order, "epoch": pair.key.epoch,
                "text_digests": [file_digest(text.encode("utf-8", "surrogatepass")) for text in texts.values()],
                "evidence": sorted({pair.a.place.evidence, pair.b.place.evidence}), "runs": [a.run, b.run],
                "cells": [pair.a.place.cell, pair.b.place.cell],
                # As for graded answers: a short one must not be found by guessing at the file's digest.
                "salt": secrets.token_hex(16),
            }  # fmt: skip
            lines.append(json.dumps({"id": f"{name}/{order}", "input": shown, "gold": gold, "meta": meta}))
    file = "".join(line + "\n" for line in lines).encode()
    fixture = Fixture(suite.name, PAIR, file, parse_cases(file, Path(PAIR), suite.stage_functions))
    made = suite.made
    assert made is not None
    return fixture, replace(suite, made=replace(made, fixtures={PAIR: file}))


def _own(case: Case) -> str:
    """A case's own input as a text."""
    given = case.input
    if isinstance(given, Mapping) and len(given) == 1:
        (given,) = given.values()
        return given if isinstance(given, str) else json.dumps(json.loads(case.input_text), ensure_ascii=False)
    return given if isinstance(given, str) else case.input_text
