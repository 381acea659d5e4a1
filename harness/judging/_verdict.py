"""What scores and flags come to, worked out here and nowhere else: sums, share and verdict, in exact fractions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from harness._json import JSON
from harness.judging._policy import Threshold
from harness.judging._rubric import Rubric

__all__ = ["Claim", "Judgement", "Quality", "Security", "TotalClass", "Verdict", "class_of_total", "exact", "judge"]

Quality = Literal["pass", "fail"]
Security = Literal["clear", "flagged"]
Verdict = Literal["pass", "fail", "blocked"]
TotalClass = Literal["match", "missing", "invalid", "differs"]
Claim = Literal["match", "missing", "invalid", "invisible", "pass_over_fail", "fail_over_pass"]
"""`invisible` is a word of the rubric with characters in it that nobody sees: no match, and no other word either."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The three layers. `share` is sum w*(s-min)/(max-min) / sum w; `weighted` is sum w*s.

    `blocked_by` names what keeps a text from passing: "threshold" or "criterion:ID", and "flag:ID".
    """

    total: int
    weighted: Fraction
    share: Fraction
    quality: Quality
    security: Security
    verdict: Verdict
    blocked_by: tuple[str, ...]


def judge(rubric: Rubric, scores: Mapping[str, int], raised: Collection[str]) -> Judgement:
    """`scores` holds a whole number on its scale for every criterion; `raised` the ids of the flags that are."""
    weighted = sum((each.weight * scores[each.id] for each in rubric.criteria), Fraction())
    weights = sum((each.weight for each in rubric.criteria), Fraction())
    reached = (each.weight * Fraction(scores[each.id] - each.least, each.most - each.least) for each in rubric.criteria)
    share = sum(reached, Fraction()) / weights
    if isinstance(rubric.policy, Threshold):
        short = () if share >= rubric.policy.share else ("threshold",)
    else:
        least = rubric.policy.least
        short = tuple(f"criterion:{name}" for name in rubric.ids if name in least and scores[name] < least[name])
    flags = tuple(f"flag:{name}" for name in rubric.flag_ids if name in raised)
    return Judgement(
        total=sum(scores[name] for name in rubric.ids),
        weighted=weighted,
        share=share,
        quality="fail" if short else "pass",
        security="flagged" if flags else "clear",
        verdict="blocked" if flags else "fail" if short else "pass",
        blocked_by=(*short, *flags),
    )


def class_of_total(rubric: Rubric, judged: Judgement, said: JSON) -> TotalClass:
    """How a judge's own total stands against the scores it gave. A text is no number, whatever it says; null is no
    total, and neither is any where the rubric asks for none."""
    if said is None or rubric.reply.total == "none":
        return "missing"
    if isinstance(said, bool) or not isinstance(said, int | Decimal) or not Decimal(said).is_finite():
        return "invalid"
    wanted = Fraction(judged.total) if rubric.reply.total == "sum" else judged.weighted
    # Weights are decimals, so what is wanted is one too; two of them compare exactly, however long they are.
    return "match" if Decimal(said) == Decimal(exact(wanted)) else "differs"


def exact(number: Fraction) -> str:
    """A number as text, exactly: as a decimal where it has one, else as a fraction."""
    whole = number.denominator
    for prime in (2, 5):
        while whole % prime == 0:
            whole //= prime
    if whole != 1:
        return f"{number.numerator}/{number.denominator}"
    places = 0
    while number.denominator != 1:
        number, places = number * 10, places + 1
    digits = str(abs(number.numerator)).rjust(places + 1, "0")
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"
