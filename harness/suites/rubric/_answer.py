"""The normaliser: one object with one vector of scores out of a judge's reply, or the reason why there is none.

Nothing is clamped, rescaled or filled in. What a judge says of its own total and verdict goes along as a claim, beside
what the scores come to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Literal, TypeGuard

from harness._json import JSON
from harness._outcomes import Status
from harness.judging import RESERVED, Claim, Rubric, class_of_total, exact, judge, seen
from harness.suites._registry import Answer

__all__ = ["answer", "schema"]

Fault = Literal[
    "two_vectors", "missing_criterion", "unexpected_criterion", "score_not_integer", "score_out_of_range",
    "missing_flags", "bad_flags", "invisible_characters",
]  # fmt: skip
_OUTER = " \t\r\n"
"""White space that may stand around a word. A no-break space is none of it: nobody sees that it is one."""
_MOST_WRITTEN = 40
"""Characters of a judge's total that are kept: more digits are no total."""


def schema(value: JSON, /) -> tuple[str | None, JSON]:
    """A judgement is an object."""
    if isinstance(value, Mapping):
        return None, value
    if value is None or isinstance(value, bool):
        return ("null" if value is None else "boolean") + "_not_object", None
    named = "list" if isinstance(value, list) else "string" if isinstance(value, str) else "number"
    return f"{named}_not_object", None


def answer(value: JSON, case_input: JSON, rules: Mapping[str, object]) -> Answer:
    """The judgement that a reply holds, with what follows from it. Its value:

    {"scores": {criterion: int}, "flags": [id], "total": number as text | null, "total_class", "said": "pass" | "fail" |
    null, "claim", "sum": int, "weighted": number as text, "share": fraction as text, "quality", "security", "verdict",
    "blocked_by": [what]}

    Under rules of version 1 a whole number has digits alone, and a word with what nobody sees in it is just no word.
    """
    rubric = Rubric.of_rules(rules)
    if not isinstance(value, Mapping):
        return _none("missing_criterion")
    vector = _vector(value, rubric)
    if isinstance(vector, str):
        return _none(vector)
    raised = _flags(value, rubric)
    if isinstance(raised, str):
        return _none(raised)
    judged = judge(rubric, vector, raised)
    said, claim = _claim(value.get("verdict"), rubric, passes=judged.verdict == "pass")
    return Answer({
        "scores": dict(vector), "flags": [name for name in rubric.flag_ids if name in raised],
        "total": _written(value.get("total")), "total_class": class_of_total(rubric, judged, value.get("total")),
        "said": said, "claim": claim, "sum": judged.total, "weighted": exact(judged.weighted),
        "share": str(judged.share), "quality": judged.quality, "security": judged.security, "verdict": judged.verdict,
        "blocked_by": list(judged.blocked_by),
    })  # fmt: skip


def _none(reason: Fault) -> Answer:
    status: Status = "ambiguous" if reason == "two_vectors" else "wrong_shape"
    return Answer(None, status, reason)


def _vector(reply: Mapping[str, JSON], rubric: Rubric) -> Mapping[str, int] | Fault:
    ids = frozenset(rubric.ids)
    nested = "scores" in reply
    if nested and not ids.isdisjoint(reply):
        return "two_vectors"
    there = reply["scores"] if nested else reply
    known = {*RESERVED, *rubric.reply.comments}
    if _hidden(reply, known | ids, rubric) or (isinstance(there, Mapping) and _hidden(there, ids, rubric)):
        return "invisible_characters"
    if not isinstance(there, Mapping) or not ids <= set(there):
        return "missing_criterion"
    if _holds_another(reply, ids, nested=nested):
        return "two_vectors"
    if set(reply) - known - ids or (nested and set(there) - ids):
        return "unexpected_criterion"
    numbers = {name: number for name in rubric.ids if (number := _whole(there[name], rubric)) is not None}
    if len(numbers) < len(rubric.ids):
        return "score_not_integer"
    # Held against the scale before it is made an int: 1e999999 has a million digits.
    fits = all(each.least <= numbers[each.id] <= each.most for each in rubric.criteria)
    return {name: int(number) for name, number in numbers.items()} if fits else "score_out_of_range"


def _whole(given: JSON, rubric: Rubric) -> int | Decimal | None:
    """A whole number, or None. JSON has one kind of number, so 4.0 and 4e0 are 4, unless the rubric takes digits alone;
    4.5 and "4" aren't whole numbers, and true is none to anybody but Python."""
    if _is_int(given):
        return given
    if rubric.reply.whole == "digits" or not isinstance(given, Decimal) or not given.is_finite():
        return None
    return given if given == given.to_integral_value() else None


def _is_int(given: JSON) -> TypeGuard[int]:
    return isinstance(given, int) and not isinstance(given, bool)


def _hidden(given: Collection[str], known: Collection[str], rubric: Rubric) -> bool:
    """Whether a name is one of those known but for characters that nobody sees."""
    return rubric.version > 1 and any(name not in known and seen(name).strip(_OUTER) in known for name in given)


def _holds_another(reply: Mapping[str, JSON], ids: frozenset[str], *, nested: bool) -> bool:
    """Whether a second vector stands anywhere inside: an object with a number for every criterion.

    Words about each criterion are no vector, and neither is a yes or no to each.
    """
    top = [item for key, item in reply.items() if not (nested and key == "scores")]
    if nested and isinstance(reply["scores"], Mapping):
        top += list(reply["scores"].values())
    return any(ids <= set(each) and all(_is_number(each[name]) for name in ids) for each in _objects(top))


def _is_number(given: JSON) -> bool:
    return isinstance(given, Decimal) or _is_int(given)


def _objects(items: Sequence[JSON]) -> Iterator[Mapping[str, JSON]]:
    waiting = list(items)
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            yield item
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


def _flags(reply: Mapping[str, JSON], rubric: Rubric) -> frozenset[str] | Fault:
    """The ids that are raised: a list of them, or an object that answers for every one with true or false."""
    declared = frozenset(rubric.flag_ids)
    if "flags" not in reply:
        return "missing_flags" if declared else frozenset()
    given = reply["flags"]
    names = [each for each in given if isinstance(each, str)] if isinstance(given, list | Mapping) else []
    if _hidden(names, declared, rubric):
        return "invisible_characters"
    if isinstance(given, list):
        named = frozenset(each for each in given if isinstance(each, str) and each in declared)
        return named if all(isinstance(each, str) and each in declared for each in given) else "bad_flags"
    if not isinstance(given, Mapping) or not declared >= set(given):
        return "bad_flags"
    if not all(isinstance(each, bool) for each in given.values()):
        return "bad_flags"
    # Silence about a flag is no word that it isn't raised.
    return "missing_flags" if declared - set(given) else frozenset(name for name, raised in given.items() if raised)


def _claim(given: JSON, rubric: Rubric, *, passes: bool) -> tuple[str | None, Claim]:
    if given is None:
        return None, "missing"
    text = given if isinstance(given, str) else ""
    word = (text.strip() if rubric.version < 2 else text.strip(_OUTER)).casefold()
    if word in rubric.reply.passes:
        return "pass", "match" if passes else "pass_over_fail"
    if word in rubric.reply.fails:
        return "fail", "fail_over_pass" if passes else "match"
    words = (*rubric.reply.passes, *rubric.reply.fails)
    hidden = rubric.version > 1 and seen(text).strip(_OUTER).casefold() in words
    return None, "invisible" if hidden else "invalid"


def _written(total: JSON) -> str | None:
    """A judge's total as text, where it is a number that somebody could read."""
    if isinstance(total, bool) or not isinstance(total, int | Decimal):
        return None
    number = Decimal(total)
    if not number.is_finite() or len(number.as_tuple().digits) > _MOST_WRITTEN:
        return None
    text = str(number)
    return text if len(text) <= _MOST_WRITTEN else None
