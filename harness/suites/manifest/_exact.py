"""exact: the answer, all of it, is the gold or one of the golds, under a normaliser that the rules name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from harness._json import JSON
from harness.suites._registry import Answer, Confirmed
from harness.suites.manifest._golds import check_texts, gold_texts
from harness.suites.manifest._options import Option, normal, normalise
from harness.suites.manifest._scorer import CORRECT, Scorer, Tally, primary
from harness.suites.manifest._where import Fault, Region, Taken, check_place, place_options, regions, sole, taken

__all__ = ["EXACT"]


def _answer(value: JSON, _: JSON, options: Mapping[str, Any]) -> Answer:
    places = regions(value, options)
    if isinstance(places, Answer):
        return places
    form = normal(options)

    def read(region: Region) -> Taken | Fault:
        text = region.slice
        # A text without a normal form is an answer all the same, and matches nothing.
        return Taken(text, form(text) or text, region) if text else "no_answer"

    one = sole(places, read)
    return one if isinstance(one, Answer) else taken(one, one.value)


def _check_gold(_: JSON, gold: JSON, options: Mapping[str, Any]) -> str | None:
    return check_texts(gold, normal(options), options["normalise"])


def _score(answer: JSON, _: Confirmed, gold: JSON, options: Mapping[str, Any]) -> Tally | None:
    form, golds = normal(options), gold_texts(gold)
    wanted = {form(each) for each in golds or ()} - {""}
    if not wanted:
        return None
    right = isinstance(answer, str) and form(answer) in wanted
    return {"correct": int(right)}, "match" if right else "mismatch"


EXACT = Scorer(
    name="exact",
    version=2,
    about="the whole answer is the gold, under a named normaliser",
    options=(
        *place_options("whole", "first_line", "last_line", "after", "field"),
        Option("normalise", normalise("label"), normalise, "the normaliser under which answer and gold are compared"),
    ),
    metrics=(CORRECT,),
    primary=primary(every="correct"),
    verdicts=MappingProxyType({"match": "the answer is a gold", "mismatch": "it is none"}),
    answer=_answer,
    check_gold=_check_gold,
    score=_score,
    fit=check_place,
)
