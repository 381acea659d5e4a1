"""A run's answers one by one: which of them a person asked for, each with its texts.

    collect_answers   rows of the view `answers`, those that are wrong, unmeasured, disagreed on or unstable, in the
                      order of the cases, so that what several candidates say of one case stands together

Two answers differ where their outcomes do, or the values of graded ones; what is unmeasured differs from nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness._clusters import place_of_case
from harness._errors import RefusedError, UsageError
from harness._filter import Condition, check_key, filters_text, fits_all, group_of, group_order, keep, known_key
from harness._replies import read_plan
from harness._suite import Case
from harness._texts import AnswerTexts, Text
from ledger import Ledger, over_views, standing_of
from ledger.kinds import Plan

__all__ = ["BY", "TEXTS", "Answer", "Answers", "Choice", "collect_answers"]

BY = ("candidate", "arm", "gold", "outcome", "reason", "epoch")
"""What answers can be grouped by beside a key of their cases."""
TEXTS = ("question", "input", "gold", "answer", "reply", "meta")
"""The texts of an answer, by the names that CSV and JSON give them."""
_ROWS = "SELECT * FROM answers WHERE run = ? AND rules IN (SELECT value FROM json_each(?)) ORDER BY cell, rules"
_RULES = "SELECT rules FROM run_rules WHERE run = ? ORDER BY freeze, rules"
Rows = Callable[[str, Sequence[Any]], list[dict[str, Any]]]
"""Runs a query over this release's views."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which answers are wanted. `wrong` and `unmeasured` together are either; every other one narrows further."""

    wrong: bool = False
    unmeasured: bool = False
    disagree: bool = False
    unstable: bool = False
    filters: Sequence[Condition] = ()

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "wrong": self.wrong, "unmeasured": self.unmeasured, "disagree": self.disagree, "unstable": self.unstable,
            "filter": [each.text for each in self.filters],
        }  # fmt: skip

    @property
    def kinds(self) -> str:
        """Which outcomes are wanted, in a word or three; empty for every one."""
        return " or ".join(word for on, word in ((self.wrong, "wrong"), (self.unmeasured, "unmeasured")) if on)

    @property
    def narrowed(self) -> str:
        """Which cases are wanted, in words; empty for all."""
        more = (
            (self.disagree, "of cases that candidates disagree on"),
            (self.unstable, "of cases that change from epoch to epoch"),
            (bool(self.filters), f"where {filters_text(self.filters)}"),
        )
        return ", ".join(word for on, word in more if on)


@dataclass(frozen=True, slots=True)
class Answer:
    """One cell under one rule set: its row of the view `answers`, and where it stands among groups."""

    row: Mapping[str, Any]
    group: str | None = None

    def texts(self, texts: AnswerTexts) -> dict[str, Text]:
        """Its texts by the names of `TEXTS`. Of a cell that was never asked, `question` is what it would be asked."""
        planned = int(self.row["planned"])
        return {
            "question": texts.question(planned, self.row["asked"]), "input": texts.given(planned),
            "gold": texts.gold(planned), "answer": texts.read(self.row["parse"]),
            "reply": texts.reply(planned, self.row["replied"]), "meta": texts.meta(planned),
        }  # fmt: skip


@dataclass(frozen=True)
class Answers:
    """The answers that were asked for, of `of` cells under `rules`; `others` are rule sets that weren't looked at.
    `groups` lists the groups in their order with how many answers each has of how many; empty without `by`.
    `marks` are sentences that must stand ahead: that the run is superseded, or tainted."""

    run: str
    suite: str
    rules: tuple[str, ...]
    others: tuple[str, ...]
    choice: Choice
    of: int
    answers: Sequence[Answer]
    by: str = ""
    groups: Sequence[tuple[str | None, int, int]] = ()
    marks: tuple[str, ...] = ()
    graded: int = 0
    unmeasured: int = 0

    def sentence(self) -> str:
        """How many there are, of which, under what."""
        wanted, narrowed = self.choice.kinds, self.choice.narrowed
        said = f"{len(self.answers)} {wanted} of {self.of}" if wanted else f"{len(self.answers)} of {self.of}"
        said = f"run {self.run}, {self.suite}: {said} answers under {', '.join(self.rules) or 'no rule set'}"
        if narrowed:
            said += f", {narrowed}"
        left_out = self.unmeasured and self.choice.wrong and not self.choice.unmeasured
        return said + (f"; {self.unmeasured} are unmeasured, so neither right nor wrong" if left_out else "")

    def as_json(self, texts: AnswerTexts) -> dict[str, Any]:
        """The documented JSON form, with every text whole; one that is null has its `why` under `no_text`."""
        return {
            "run": self.run, "suite": self.suite, "rules": list(self.rules), "other_rules": list(self.others),
            "choice": self.choice.as_json(), "answers": len(self.answers), "of": self.of, "marks": list(self.marks),
            "by": self.by, "groups": [{"group": name, "answers": n, "of": of} for name, n, of in self.groups],
            "rows": [self._row(each, texts) for each in self.answers],
        }  # fmt: skip

    def _row(self, each: Answer, texts: AnswerTexts) -> dict[str, Any]:
        told = each.texts(texts)
        meta = told["meta"].text
        return {
            **each.row, **({"group": each.group} if self.by else {}),
            **{name: told[name].text for name in TEXTS if name != "meta"},
            "meta": None if meta is None else json.loads(meta),
            "no_text": {name: text.why for name, text in told.items() if text.text is None and text.why},
        }  # fmt: skip


def collect_answers(
    ledger: Ledger,
    run: str,
    choice: Choice,
    texts: AnswerTexts,
    *,
    rules: Sequence[str] = (),
    by: str = "",
    rows_of: Rows | None = None,
) -> Answers:
    """The answers of a run that `choice` wants: under its first rule set, or under `rules` (names or labels).
    `rows_of` answers as of some event of the chain; without it, as of now.

    Raises UsageError for a rule set that the run wasn't scored by, for a key that no case has, and for a condition that
    no case meets; RefusedError where a filter needs cases that a redaction withholds.
    """
    ask = rows_of or _now(ledger)
    _, plan = read_plan(ledger, run)
    if by and by not in BY:
        check_key(by, "--by")
    every = tuple(str(row["rules"]) for row in ask(_RULES, (run,)))
    wanted = _named(every, rules, run)
    rows = ask(_ROWS, (run, json.dumps(wanted)))
    cases = _Cases(rows, texts)
    if choice.filters:
        rows = cases.kept(rows, choice.filters)
    found = [row for row in rows if _wanted(row, choice)]
    for on, same in ((choice.disagree, _ASKED_ALIKE), (choice.unstable, _ASKED_AGAIN)):
        if on:
            differing = _differing(rows, same)
            found = [row for row in found if _key(row, same) in differing]
    shape = {"planned": plan.cells, "candidates": len(plan.candidates), "epochs": plan.epochs}
    found.sort(key=lambda row: (wanted.index(row["rules"]), place_of_case(row["cell"], **shape), row["cell"]))
    answers, groups = [Answer(row) for row in found], ()
    if by:
        answers, groups = _grouped(found, rows, cases, by)
    return Answers(
        run, plan.suite, wanted, tuple(each for each in every if each not in wanted), choice, len(rows),
        answers, by, groups, _marks(ledger, run, plan), *(
            sum(row["outcome"] == outcome for row in rows) for outcome in ("graded", "unmeasured")
        ),
    )  # fmt: skip


def _now(ledger: Ledger) -> Rows:
    def rows(query: str, given: Sequence[Any]) -> list[dict[str, Any]]:
        return ledger.rows(over_views(query), given)

    return rows


def _named(every: Sequence[str], names: Sequence[str], run: str) -> tuple[str, ...]:
    if not names:
        return tuple(every[:1])
    found: list[str] = []
    for name in names:
        mine = [label for label in every if name in (label, label.rpartition("@")[0])]
        if not mine:
            there = ", ".join(every) or "none"
            raise UsageError(f"--rules: run {run} was not scored under {name!a}; there are {there}")
        found += mine
    return tuple(dict.fromkeys(found))


def _wanted(row: Mapping[str, Any], choice: Choice) -> bool:
    kinds = {"incorrect"} if choice.wrong else set[str]()
    kinds |= {"unmeasured"} if choice.unmeasured else set()
    return not kinds or row["outcome"] in kinds


_ASKED_ALIKE = ("rules", "fixture", "case", "arm", "epoch")
_ASKED_AGAIN = ("rules", "fixture", "case", "arm", "candidate")


def _key(row: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def _differing(rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> set[tuple[Any, ...]]:
    """The keys under which measured answers end in more than one outcome; a withheld case is like no other."""
    ends: dict[tuple[Any, ...], set[tuple[Any, Any]]] = {}
    for row in rows:
        if row["outcome"] != "unmeasured" and row["case"] is not None:
            ends.setdefault(_key(row, names), set()).add((row["outcome"], row["value"]))
    return {key for key, found in ends.items() if len(found) > 1}


class _Cases:
    """The frozen cases that rows are of, each looked up once."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], texts: AnswerTexts) -> None:
        self._texts = texts
        self._found: dict[tuple[Any, Any], Case | Text] = {}
        for row in rows:
            place = (row["fixture"], row["case"])
            if place not in self._found and row["case"] is not None:
                self._found[place] = texts.case(row["planned"])

    def of(self, row: Mapping[str, Any]) -> Case | None:
        """The case of a row; None where it is withheld."""
        found = self._found.get((row["fixture"], row["case"]))
        return found if isinstance(found, Case) else None

    def placed(self) -> list[tuple[str, Case]]:
        """Every case that can be read, with its fixture. Raises RefusedError where none can."""
        found = [(fixture, case) for (fixture, _), case in self._found.items() if isinstance(case, Case)]
        if self._found and not found:
            raise RefusedError(
                f"the cases can't be read, so nothing tells their labels: {next(iter(self._found.values()))}"
            )
        return found

    def kept(self, rows: Sequence[dict[str, Any]], conditions: Sequence[Condition]) -> list[dict[str, Any]]:
        """The rows whose case meets every condition."""
        keep(self.placed(), conditions)
        return [
            row for row in rows if (case := self.of(row)) is not None and fits_all(conditions, row["fixture"], case)
        ]


def _grouped(
    found: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], cases: _Cases, by: str
) -> tuple[list[Answer], tuple[tuple[str | None, int, int], ...]]:
    """The answers group by group, and how many of each group's cells they are."""
    if by not in BY:
        known_key(cases.placed(), by, "--by")

    def group(row: Mapping[str, Any]) -> str | None:
        case = cases.of(row)
        if by == "gold":
            return None if case is None else _gold(case)
        if by in BY:
            return str(row[by]) if row[by] not in (None, "") else None
        return None if case is None else group_of(by, row["fixture"], case)

    placed = [Answer(row, group(row)) for row in found]
    every = [group(row) for row in rows]
    there = sorted({each.group for each in placed}, key=group_order)
    order = {name: at for at, name in enumerate(there)}
    counts = tuple((name, sum(each.group == name for each in placed), every.count(name)) for name in there)
    return sorted(placed, key=lambda each: order[each.group]), counts


def _gold(case: Case) -> str:
    return case.gold if isinstance(case.gold, str) else case.gold_text


def _marks(ledger: Ledger, run: str, plan: Plan) -> tuple[str, ...]:
    standing = standing_of(ledger, run)
    said: list[str] = []
    if standing.superseded is not None:
        by = f" by {standing.by}" if standing.by else ""
        said.append(f"SUPERSEDED{by} (event {standing.superseded}): {standing.reason}")
    said += [f"TAINTED (event {each.taint}): {each.reason}" for each in standing.taints]
    if plan.grades:
        said.append(f"A judge's run: its answers judge those of run {' and '.join(plan.grades)}.")
    return tuple(said)
