"""A run's answers as the cases of a judge: what was asked, and what was answered, text by text, as recorded.

    answers_of      every cell's answer, read as a text out of its last response (or import) by `harness.parse`; or why
                    there is none: a fault, a cut reply, a refusal, nothing
    graded_fixture  the answers as a file of cases, `graded`, which is frozen like any other

Nothing about who answered reaches the judge: a case's id and meta say where it came from, its input doesn't.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness._derive import Reply
from harness._identity import file_digest
from harness._replies import Place, read_replies
from harness._suite import Case, Fixture, Suite, parse_cases
from harness._task_text import plain_text, task_text
from harness._thaw import thaw_cases
from harness.parse import Reading, ReadRules, read_fault, read_reply
from ledger import Ledger
from ledger.kinds import Plan, PlanCandidate

__all__ = [
    "GRADED", "Answer", "Condition", "answers_of", "case_id", "evidence_of", "gold_of", "graded_fixture",
    "read_answers",
    "read_as_text",
    "text_of",
    "thaw_made",
]  # fmt: skip

GRADED = "graded"
"""What the fixture is called."""

Condition = Literal["graded", "live"]
_REQUESTS = (
    "SELECT wanted.value, request.seq FROM json_each(?) AS wanted"
    " CROSS JOIN main.events AS response ON response.seq = wanted.value CROSS JOIN json_each(response.causes) AS cause"
    " CROSS JOIN main.events AS request ON request.seq = cause.value AND request.kind = 'request'"
)
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Answer:
    """What a cell was answered, and what it had been asked; `reading` says why there is no `text`, where there is none.

    `reference` is what the case's gold says, as a text; empty where it says nothing.
    """

    place: Place
    reading: Reading
    task: str
    text: str | None
    reference: str


def case_id(run: str, cell: int) -> str:
    """What the case of an answer is called."""
    return f"{run[:8]}/{cell}"


def read_answers(
    ledger: Ledger, places: Sequence[Place], candidates: Mapping[str, PlanCandidate]
) -> Iterator[tuple[Place, Reading | None]]:
    """Each place that is answered with its last reply, read as a text; None where a redaction withholds it."""
    for place, reply in read_replies(ledger, places, candidates):
        yield place, read_as_text(reply)


def read_as_text(reply: Reply | None) -> Reading | None:
    """A reply as a judge is shown it: the whole text, what a model thought aloud ahead of it left out."""
    if reply is None:
        return None
    if reply.wire is None:
        return read_fault(*(reply.fault or ("harness", "internal")))
    return read_reply(
        reply.wire, protocol=reply.protocol, stream=reply.stream, ask="text", rules=ReadRules.default(), now=reply.at
    )


def text_of(reading: Reading | None) -> str | None:
    """The text of an answer that was read whole; None for anything else."""
    whole = reading is not None and reading.status == "parsed" and reading.value is not None
    return str(json.loads(reading.value)) if whole and reading is not None and reading.value is not None else None


def answers_of(
    ledger: Ledger, plan: Plan, places: Sequence[Place], cases: Mapping[tuple[str, str], Case]
) -> Iterator[Answer]:
    """The answers of those cells, in order; cells that nobody asked, or whose reply is withheld, have none."""
    candidates = {each.label: each for each in plan.candidates}
    answered = [place for place in places if place.state == "answered"]
    requests = _requests(ledger, [place.origin for place in answered if place.origin])
    for place, reading in read_answers(ledger, answered, candidates):
        if reading is None:
            continue
        case = cases[place.case]
        text = text_of(reading)
        task = task_text(ledger, requests.get(place.origin), candidates[place.candidate].protocol, case) if text else ""
        yield Answer(place, reading, task, text, _reference(case))


def _requests(ledger: Ledger, responses: Sequence[int]) -> dict[int, int]:
    """The request that each response came of, by seq."""
    found: dict[int, int] = {}
    for start in range(0, len(responses), _AT_ONCE):
        found.update(ledger.sql(_REQUESTS, (json.dumps(responses[start : start + _AT_ONCE]),)).fetchall())
    return found


def _reference(case: Case) -> str:
    said = plain_text(case.gold, case.gold_text)
    return said if said.strip() and case.gold not in (None, {}, []) else ""


# The cases


def graded_fixture(
    suite: Suite, run: str, answers: Sequence[Answer], *, arm: str, condition: Condition, reference: bool = False
) -> Fixture:
    """The answers as cases of a suite of judging. `reference` shows each case's gold to the judge, as a text that is
    no oracle. Raises SuiteError where the suite can't take one."""
    lines: list[str] = []
    for each in answers:
        # The tasks of a trigger arm are the suite's own; what anybody else was asked may hold anybody's words.
        shown = {
            "task" if condition == "live" else "asked": each.task, "text": each.text,
            **({"reference": each.reference} if reference and each.reference else {}),
        }  # fmt: skip
        name, place = case_id(run, each.place.cell), each.place
        gold = _gold(name, arm, condition)
        meta = {
            "label": place.case[1], "arm": arm, "task": place.case[1], "text_digest": file_digest(_bytes(each.text)),
            "run": run, "cell": place.cell, "evidence": place.evidence, "candidate": place.candidate,
            # The freeze tells this file's digest: a short answer must not be found by guessing at it.
            "salt": secrets.token_hex(16),
        }  # fmt: skip
        lines.append(json.dumps({"id": name, "input": shown, "gold": gold, "meta": meta}))
    file = "".join(line + "\n" for line in lines).encode()
    return Fixture(suite.name, GRADED, file, parse_cases(file, Path(GRADED), suite.stage_functions))


def _gold(name: str, arm: str, condition: Condition) -> dict[str, Any]:
    """Of an answer out of the world nobody has an oracle."""
    return {
        "arm": arm, "fixture": name, "base": "", "condition": condition, "oracle": None, "verdict": None,
        "quality": None, "flags": [], "marker": None, "aim": "",
    }  # fmt: skip


def gold_of(condition: Condition, arm: str) -> Case:
    """A case with the gold that every answer of an arm has, for cells that are no case of the judge's."""
    return Case("", "{}", json.dumps(_gold("", arm, condition)), "{}", 0)


def _bytes(text: str | None) -> bytes:
    return (text or "").encode("utf-8", "surrogatepass")


def evidence_of(case: Case) -> tuple[int, ...]:
    """The events that a case of the fixture was made of, as it says itself; none for any other case."""
    meta = case.meta
    told = meta.get("evidence") if isinstance(meta, Mapping) else None
    seqs = told if isinstance(told, list) else [told]
    return tuple(seq for seq in seqs if isinstance(seq, int) and not isinstance(seq, bool))


def thaw_made(ledger: Ledger, plan: Plan) -> Mapping[str, Fixture]:
    """The fixtures of a plan that no folder holds, as they were frozen: answers that are judged. Raises RefusedError
    where a redaction withholds one."""
    found: dict[str, Fixture] = {}
    for each in plan.fixtures if plan.grades else ():
        cases = tuple(case for (name, _), case in thaw_cases(ledger, plan).items() if name == each.name)
        found[each.name] = Fixture(plan.suite, each.name, ledger.blob(each.freeze, "file"), cases)
    return found
