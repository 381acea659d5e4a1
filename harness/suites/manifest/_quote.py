"""quote: the answer is a passage of the case's source, and how faithfully: exact, folded, elided or none. What is kept
is where it stands in the source, never the model's copy.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from harness._json import JSON
from harness.scorers import Quote, find_quote, too_short
from harness.suites._registry import Answer, Confirmed
from harness.suites.manifest._golds import gold_texts, shown
from harness.suites.manifest._options import Option, amount, one_of, text, texts
from harness.suites.manifest._scorer import SOMETHING, Scorer, Tally, primary, rate
from harness.suites.manifest._where import (
    Fault,
    Region,
    Taken,
    check_place,
    descend,
    fault,
    place_options,
    regions,
    sole,
    taken,
)

__all__ = ["QUOTE", "REJECTIONS"]

REJECTIONS: Mapping[str, str] = MappingProxyType({
    "not_in_source": "The quote doesn't stand in the case's source.",
    "tier_not_accepted": "The quote stands in the source at a tier that the rules don't accept.",
    "too_short": "The quote is shorter than the rules ask, or says too little: nearly any text would hold it.",
})  # fmt: skip

_TIERS = ("exact", "folded", "elided")
_MARKS = (
    '""',
    "''",
    "``",
    "\u201c\u201d",
    "\u2018\u2019",
    "\u201e\u201c",
    "\u00ab\u00bb",
    "\u00bb\u00ab",
    "\u300c\u300d",
)
_MOST_LEAST = 1_000
_LEAST = 3
_Spans = list[tuple[int, int]]


def _accept(given: Any) -> tuple[str, ...]:
    found = texts(given)
    wrong = next((each for each in found if each not in _TIERS), None)
    if wrong is not None:
        raise ValueError(f"expected tiers out of {', '.join(_TIERS)}, got {wrong!r}")
    return tuple(each for each in _TIERS if each in found)


def _share(given: Any) -> Decimal:
    found = amount(given)
    if found > 1:
        raise ValueError(f"expected a share from 0 to 1, got {found}")
    return found


def _least(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= _MOST_LEAST:
        raise ValueError(f"expected a whole number from 0 to {_MOST_LEAST}, got {given!r}")
    return given


def _fit(options: dict[str, Any]) -> None:
    check_place(options)
    if not options["source"]:
        raise ValueError('source: expected the field of a case that holds the text to quote from ("input" for the'
                         ' input itself), got none')  # fmt: skip


def _source(case_input: JSON, options: Mapping[str, Any]) -> str | None:
    if isinstance(case_input, str):
        return case_input if options["source"] == "input" else None
    _, found = descend(case_input, options["source"])
    return found if isinstance(found, str) else None


def _answer(value: JSON, case_input: JSON, options: Mapping[str, Any]) -> Answer:
    places = regions(value, options, rest=True)
    if isinstance(places, Answer):
        return places
    source = _source(case_input, options)
    if source is None or not source.strip():
        return fault("case_unusable")  # found out before anything is asked; should it come here, it is no model's fault

    def read(region: Region) -> Taken | Fault:
        if not region.slice:
            return "no_answer"
        inner = _unquoted(region, source)
        return Taken(None, inner.slice, inner)

    one = sole(places, read)
    if isinstance(one, Answer):
        return one
    held: dict[str, JSON] = {
        "quote": one.region.slice, "source": source, "field": options["source"], "accept": list(options["accept"]),
        "least": options["least"],
    }  # fmt: skip
    return taken(one, held)


def _unquoted(region: Region, source: str) -> Region:
    """The region without the quotation marks around it, where it doesn't stand in the source with them."""
    inner = region.slice
    if len(inner) > 2 and inner[0] + inner[-1] in _MARKS and find_quote(source, inner).tier == "none":
        return Region(region.text, region.start + 1, region.end - 1, region.own)
    return region


@dataclass(frozen=True)
class _Held:
    """What `_answer` hands on: the quote, the source and the field that it is of, accepted tiers, the least length."""

    quote: str
    source: str
    field: str
    accept: Sequence[JSON]
    least: int


def _held(answer: JSON) -> _Held:
    table: Mapping[str, JSON] = answer if isinstance(answer, Mapping) else {}
    quote, source, field, accept, least = (table.get(key) for key in ("quote", "source", "field", "accept", "least"))
    return _Held(
        quote if isinstance(quote, str) else "", source if isinstance(source, str) else "",
        field if isinstance(field, str) else "", accept if isinstance(accept, list) else [],
        least if isinstance(least, int) else 0,
    )  # fmt: skip


def _confirm(answer: JSON, _: JSON) -> Confirmed:
    """One finding with the tier and the spans in the source, or one rejection with every reason why not."""
    held = _held(answer)
    found = find_quote(held.source, held.quote)
    there = found.tier != "none"
    where: dict[str, Any] = {}
    if there:
        where = {"tier": found.tier, "source": held.field, "spans": [list(span) for span in found.spans]}
    short = too_short(held.source, held.quote, found, held.least)
    reasons = [
        *(["too_short"] if short else []),
        *(["not_in_source"] if not there else []),
        *(["tier_not_accepted"] if there and found.tier not in held.accept else []),
    ]
    if reasons:
        return Confirmed(rejections=({"proposal": 0, "reason": reasons[0], "reasons": reasons, **where},))
    return Confirmed(findings=({"proposal": 0, **where},))


def _check_gold(case_input: JSON, gold: JSON, options: Mapping[str, Any]) -> str | None:
    source = _source(case_input, options)
    where = "input" if options["source"] == "input" else f"input.{options['source']}"
    if source is None or not source.strip():
        return f"{where}: expected the text to quote from (source = {options['source']!r}), got none"
    if gold is None or gold in ("", []) or options["passage"] == "ignore":
        return None
    passages = gold_texts(gold)
    if passages is None:
        return f"gold: expected a passage of {where}, a list of passages, or null, got {shown(gold)}"
    for each in passages:
        found = find_quote(source, each)
        if found.tier == "none":
            return f"gold: {each[:60]!r} doesn't stand in {where}"
        if too_short(source, each, found, options["least"]):
            return (
                f"gold: {each[:60]!r} is too short to be quoted (least = {options['least']}); give a longer passage, or"
                " say least = 0"
            )
    return None


def _score(answer: JSON, confirmed: Confirmed, gold: JSON, options: Mapping[str, Any]) -> Tally | None:
    held = _held(answer)
    told = (*confirmed.findings, *confirmed.rejections)
    tier = next((str(each["tier"]) for each in told if "tier" in each), "none")
    if any(each["reason"] == "too_short" for each in confirmed.rejections):
        tier = "too_short"
    verbatim = bool(confirmed.findings)
    metrics: dict[str, int | float] = {"verbatim": int(verbatim)}
    if gold is None or gold in ("", []) or options["passage"] == "ignore":
        return metrics, tier
    passages = gold_texts(gold)
    if passages is None:
        return None
    found = find_quote(held.source, held.quote)
    inside = verbatim and any(_meet(held.source, held.quote, found, each, options) for each in passages)
    metrics["found"] = int(inside)
    return metrics, tier if inside or not verbatim else "elsewhere"


def _meet(source: str, quote: str, found: Quote, passage: str, options: Mapping[str, Any]) -> bool:
    """Whether a quote stands to a passage of the source as the rules ask, wherever the two stand."""
    wanted = find_quote(source, passage)
    if wanted.tier == "none":
        return False
    how, share = options["passage"], options["share"]
    places = _everywhere(source, passage) if wanted.tier == "exact" else [(wanted.spans[0][0], wanted.spans[-1][1])]
    if found.tier != "exact":
        return any(_fits(found.spans, place, how, share) for place in places)
    # Places are of one length, and so are the quote's spans: the place that shares most with one is a neighbour of it.
    begins = [start for start, _ in places]
    length = places[0][1] - places[0][0]
    for start, end in _everywhere(source, quote):
        first, last = sorted((start, end - length))
        left, right = bisect_left(begins, first), bisect_right(begins, last)
        near = {at for at in (left - 1, left, right - 1, right) if 0 <= at < len(places)}
        if any(_fits([(start, end)], places[at], how, share) for at in near):
            return True
    return False


def _fits(parts: Sequence[tuple[int, int]], place: tuple[int, int], how: str, share: Decimal) -> bool:
    """Whether the parts of a quote hold enough of one place, and (`inside`) nothing but it."""
    first, last = place
    held = sum(max(0, min(end, last) - max(start, first)) for start, end in parts)
    if how == "inside" and not all(first <= start and end <= last for start, end in parts):
        return False
    return held > 0 and held >= share * (last - first)


def _everywhere(source: str, passage: str) -> _Spans:
    found: _Spans = []
    at = source.find(passage)
    while at >= 0:
        found.append((at, at + len(passage)))
        at = source.find(passage, at + 1)
    return found


QUOTE = Scorer(
    name="quote",
    version=2,
    about="the answer is a passage of the case's source",
    options=(
        *place_options("whole", "first_line", "last_line", "after", "field"),
        Option("source", "", text, 'the field of the input that is quoted from; "input" where the input is a text'),
        Option("accept", ("exact", "folded"), _accept, "the tiers that count: exact, folded, elided"),
        Option(
            "least",
            _LEAST,
            _least,
            "the least that a quote has to hold, in letters and digits (one of Chinese, Japanese or Korean counts as"
            " two, words that only join others nothing); 0 for any length",
        ),
        Option(
            "passage",
            "overlap",
            one_of("overlap", "inside", "ignore"),
            "how a quote has to stand to the gold's passage, where the gold has one",
        ),
        Option(
            "share",
            Decimal("0.5"),
            _share,
            "how much of the gold's passage a quote has to hold, as a share of its characters; 0 for any of it",
        ),
    ),
    metrics=(rate("verbatim"), rate("found", SOMETHING)),
    primary=primary(something_expected="found", every="verbatim"),
    verdicts=MappingProxyType(
        {
            "exact": "it stands there character for character",
            "folded": "but for what typesetting changes",
            "elided": "it says that it leaves something out; its parts stand there in order",
            "none": "it doesn't stand there",
            "too_short": "it is shorter than `least`, or says too little to be a quote, wherever it stands",
            "elsewhere": "it stands in the source at an accepted tier, and not where the gold says",
        }
    ),
    answer=_answer,
    check_gold=_check_gold,
    score=_score,
    confirm=_confirm,
    unless=MappingProxyType({"found": ("passage", "ignore")}),
    fit=_fit,
)
