"""regex: what a pattern finds in the reply is the answer: its first group, or the whole match."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from harness._errors import UsageError
from harness._json import JSON
from harness.scorers import check_pattern, pattern_spans
from harness.suites._registry import Answer, Confirmed
from harness.suites.manifest._golds import check_texts, gold_texts
from harness.suites.manifest._options import Option, normal, normalise, one_of, text
from harness.suites.manifest._scorer import CORRECT, Scorer, Tally, primary
from harness.suites.manifest._where import Fault, Region, Taken, check_place, place_options, regions, sole, taken

__all__ = ["REGEX"]


def _pattern(given: Any) -> str:
    found = text(given)
    try:
        check_pattern(found)
    except UsageError as error:
        raise ValueError(str(error)) from None
    return found


def _fit(options: dict[str, Any]) -> None:
    check_place(options)
    if not options["pattern"]:
        raise ValueError("pattern: expected a pattern (RE2) whose first group is the answer, got none")


def _answer(value: JSON, _: JSON, options: Mapping[str, Any]) -> Answer:
    places = regions(value, options, rest=True)
    if isinstance(places, Answer):
        return places
    form, which = normal(options), options["which"]

    def read(region: Region) -> Taken | Fault:
        # The pattern sees the region alone, so that ^ and $ are its ends.
        inner = region.slice
        found = [
            Taken(None, form(inner[start:end]) or inner[start:end],
                  Region(region.text, region.start + start, region.start + end, region.own))
            for start, end in pattern_spans(inner, options["pattern"])
        ]  # fmt: skip
        if not found:
            return "no_match"
        if which == "one" and any(each.key != found[0].key for each in found):
            return "two_candidates"
        return found[-1 if which == "last" else 0]

    one = sole(places, read)
    return one if isinstance(one, Answer) else taken(one, one.region.slice)


def _check_gold(_: JSON, gold: JSON, options: Mapping[str, Any]) -> str | None:
    return check_texts(gold, normal(options), options["normalise"])


def _score(answer: JSON, _: Confirmed, gold: JSON, options: Mapping[str, Any]) -> Tally | None:
    form = normal(options)
    wanted = {form(each) for each in gold_texts(gold) or ()} - {""}
    if not wanted:
        return None
    right = isinstance(answer, str) and form(answer) in wanted
    return {"correct": int(right)}, "match" if right else "mismatch"


REGEX = Scorer(
    name="regex",
    version=2,
    about="what a pattern finds is the gold, under a named normaliser",
    options=(
        *place_options("whole", "first_line", "last_line", "after", "field"),
        Option(
            "pattern", "", _pattern, "an RE2 pattern; the answer is its first group, or the match where it has none"
        ),
        Option(
            "which",
            "one",
            one_of("one", "first", "last"),
            "which of several different matches is the answer: none (`one`: they are ambiguous), the first, the last",
        ),
        Option("normalise", normalise("label"), normalise, "the normaliser under which answer and gold are compared"),
    ),
    metrics=(CORRECT,),
    primary=primary(every="correct"),
    verdicts=MappingProxyType({"match": "what was found is a gold", "mismatch": "it is none"}),
    answer=_answer,
    check_gold=_check_gold,
    score=_score,
    fit=_fit,
)
