"""number: the number that the answer is, under a declared way of writing, equals the gold or is near it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from harness._errors import UsageError
from harness._json import JSON
from harness.scorers import NumberFormat, find_numbers, near, read_number
from harness.suites._registry import Answer, Confirmed
from harness.suites.manifest._golds import gold_texts, shown
from harness.suites.manifest._options import Option, amount, one_of, texts
from harness.suites.manifest._scorer import CORRECT, Scorer, Tally, primary
from harness.suites.manifest._where import (
    Fault,
    Region,
    Taken,
    check_place,
    fault,
    field_of,
    place_options,
    plain_text,
    regions,
    sole,
    taken,
)

__all__ = ["NUMBER"]

_ZERO = Decimal(0)


def _format(options: Mapping[str, Any], *, required: bool) -> NumberFormat:
    return NumberFormat(
        decimal=options["decimal"], thousands=options["thousands"], lakh=options["grouping"] == "lakh",
        units=options["units"], required=required,
    )  # fmt: skip


def _fit(options: dict[str, Any]) -> None:
    check_place(options)
    try:
        _format(options, required=options["unit"] == "required")
    except UsageError as error:
        raise ValueError(str(error)) from None


def _answer(value: JSON, _: JSON, options: Mapping[str, Any]) -> Answer:
    if options["at"] == "field":
        held = field_of(value, options["field"])
        if isinstance(held, int | Decimal) and not isinstance(held, bool):
            # A JSON number is written in one way only.
            return fault("no_answer") if isinstance(held, Decimal) and not held.is_finite() else _of_json(held)
    places = regions(value, options)
    if isinstance(places, Answer):
        return places
    form = _format(options, required=options["unit"] == "required")

    def read(region: Region) -> Taken | Fault:
        if options["at"] == "anywhere":
            return _anywhere(region, form)
        found = read_number(region.text, form, region.start, region.end)
        if found.value is not None:
            return Taken(None, found.value, Region(region.text, found.start, found.end, region.own))
        if found.why == "no_answer":
            return "no_answer"
        # Two numbers and words around them are two answers, not one that is badly written.
        return "two_candidates" if _anywhere(region, form) == "two_candidates" else "number_unclear"

    one = sole(places, read)
    return one if isinstance(one, Answer) else taken(one, one.key)


def _of_json(held: int | Decimal) -> Answer:
    text = plain_text(held)
    return fault("number_unclear") if text is None else Answer(Decimal(held), text=text)


def _anywhere(region: Region, form: NumberFormat) -> Taken | Fault:
    found = find_numbers(region.slice, form)
    if not found:
        return "no_answer"
    if any(each.value is None for each in found):
        return "number_unclear"
    if len({each.value for each in found}) > 1:
        return "two_candidates"
    first = found[0]
    return Taken(
        None, first.value, Region(region.text, region.start + first.start, region.start + first.end, region.own)
    )


def _golds(gold: JSON, options: Mapping[str, Any]) -> list[Decimal | None]:
    """The numbers of which any is right; None for what is none. A JSON number is itself, a text is read as answers are,
    its unit let be."""
    form = _format(options, required=False)
    plain = NumberFormat()
    listed = gold if isinstance(gold, list) else [gold]
    found: list[Decimal | None] = []
    for each in listed:
        texts = None if isinstance(each, bool | list) else gold_texts(each)
        found.append(read_number(texts[0], form if isinstance(each, str) else plain).value if texts else None)
    return found


def _check_gold(_: JSON, gold: JSON, options: Mapping[str, Any]) -> str | None:
    found = _golds(gold, options)
    if not found:
        return "gold: expected a number, got an empty list"
    if None not in found:
        return None
    wrong = gold[found.index(None)] if isinstance(gold, list) else gold
    return (
        f"gold: expected a number, as JSON or as this rule set has numbers written"
        f" (decimal {options['decimal']!r}, thousands {options['thousands']!r}), got {shown(wrong)}"
    )


def _score(answer: JSON, _: Confirmed, gold: JSON, options: Mapping[str, Any]) -> Tally | None:
    golds = _golds(gold, options)
    if not golds or None in golds:
        return None
    found = answer if isinstance(answer, Decimal) and answer.is_finite() else None
    bounds = {"absolute": options["tolerance"], "relative": options["relative"]}
    if found is not None and found in golds:
        return {"correct": 1}, "equal"
    right = found is not None and any(near(found, each, **bounds) for each in golds if each is not None)
    return {"correct": int(right)}, "within_tolerance" if right else "off"


NUMBER = Scorer(
    name="number",
    version=2,
    about="the answer's number is the gold's, or near it",
    options=(
        *place_options("whole", "first_line", "last_line", "after", "anywhere", "field"),
        Option("decimal", ".", one_of(".", ","), "the mark ahead of a fraction"),
        Option(
            "thousands",
            "",
            one_of("", ",", ".", " ", "'", "_", "\u066c"),
            "the mark between groups of digits; a space stands for every kind of it; none unless declared",
        ),
        Option(
            "grouping", "thousand", one_of("thousand", "lakh"), "groups of three, or as in India of two but the last"
        ),
        Option(
            "units", (), texts, "the spellings of the one unit that may stand beside the number; none unless declared"
        ),
        Option("unit", "optional", one_of("optional", "required"), "whether an answer must have the unit"),
        Option("tolerance", _ZERO, amount, "how far off is right all the same, in the number's own unit"),
        Option("relative", _ZERO, amount, "how far off is right all the same, as a share of the gold, such as 0.01"),
    ),
    metrics=(CORRECT,),
    primary=primary(every="correct"),
    verdicts=MappingProxyType(
        {
            "equal": "the numbers are equal, exactly",
            "within_tolerance": "they are as near as the rules ask",
            "off": "they aren't",
        }
    ),
    answer=_answer,
    check_gold=_check_gold,
    score=_score,
    fit=_fit,
)
