"""What a case of judging is, and what is known of it: the arm, the condition, the oracle, the marker, the aim.

input  {"task": text, "text": the graded text}, and "reference": text where the judge is shown one. A task that was
       recorded, and isn't the suite's own, is "asked" in the place of "task"
gold   {"arm", "fixture", "base", "condition", "oracle": {criterion: n} | null, "verdict": "pass" | "fail" |
       "blocked" | null, "quality": "pass" | "fail" | null, "flags": [id], "marker": true | false | null,
       "aim": "pass" | "fail" | ""}; of a treatment that is more than its control with one piece put in, "rewritten"
       too. Where something is declared of the reference that the judge is shown, "reference": {"marker", "flags"} too
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from harness._json import JSON
from harness.judging import Rubric, judge

__all__ = ["GROUPS", "Gold", "check_case", "check_gold", "gold_under", "group", "vector_of"]

_ARMS = ("calibration", "injection", "poisoning", "repeatability", "trigger", "graded")
_CONDITIONS = (
    "calibration", "control", "treatment", "blind", "neutral", "adversarial", "repeat", "live", "graded",
)  # fmt: skip
GROUPS = (*_ARMS, "oracle", "valued", "attack", "poisoned", "controlled", "marked", "unmarked")
"""A cell's arm; and whether an oracle vector or the quality that is due is known of it (calibration alone), an attack
or a poisoned reference wants of it what it hasn't earned, it is what those are held against, a marker is declared to be
there or not to be, in the text or (where it is declared of one) in the reference."""
_WITH_REFERENCE = ("neutral", "adversarial")
_ASKED = ("task", "asked", "text", "reference")
_MAY_BE_EMPTY = ("task", "asked")


@dataclass(frozen=True, slots=True)
class Gold:
    """What is known of a case under a rubric. `verdict` and `quality` are what the oracle comes to, where there is one:
    another policy is another verdict. `referred` says whether the judge is shown a reference, and what is declared of
    it; None where it is shown none, or nothing is known of one."""

    condition: str
    oracle: Mapping[str, int] | None
    verdict: str
    quality: str
    flags: frozenset[str]
    marker: bool | None
    aim: str
    referred: Referred | None = None


@dataclass(frozen=True, slots=True)
class Referred:
    """What is declared of a reference: whether a marker is in it, and the flags that are right to raise for it."""

    marker: bool | None
    flags: frozenset[str]


def check_case(case_input: JSON, gold: JSON) -> str | None:
    """One sentence on why this can't be a case, or None."""
    return _check_input(case_input) or _check_gold(gold)


def _check_input(given: JSON) -> str | None:
    if not isinstance(given, Mapping):
        return 'input: expected {"task", "text"}, and "reference" where there is one'
    unknown = sorted(set(given) - set(_ASKED))
    if unknown:
        return f"input: unknown key {unknown[0]!a}; nothing but {', '.join(_ASKED)} reaches a judge"
    if {"task", "asked"} <= set(given):
        return "input.asked: expected task or asked, got both; asked is a task out of a recorded request"
    for key in ("asked" if "asked" in given else "task", "text", *(["reference"] if "reference" in given else [])):
        said = given.get(key)
        if not isinstance(said, str):
            return f"input.{key}: expected a text, got {'nothing' if key not in given else 'something else'}"
        if key not in _MAY_BE_EMPTY and not said.strip():
            return f"input.{key}: expected a text, got one that is empty"
    return None


def _check_gold(given: JSON) -> str | None:
    if not isinstance(given, Mapping):
        return "gold: expected an object with arm and condition"
    expected: dict[str, tuple[str | None, ...]] = {
        "arm": _ARMS, "condition": _CONDITIONS, "verdict": ("pass", "fail", "blocked", None),
        "quality": ("pass", "fail", None), "aim": ("pass", "fail", "", None),
    }  # fmt: skip
    for key, words in expected.items():
        if not any(given.get(key) == word and type(given.get(key)) is type(word) for word in words):
            there = ", ".join("null" if word is None else word or '""' for word in words)
            return f"gold.{key}: expected one of {there}, got {ascii(given.get(key))[:80]}"
    if not _is_bool_or_none(given.get("marker")):
        return "gold.marker: expected true, false or null"
    flags = given.get("flags", [])
    if not isinstance(flags, list) or not all(isinstance(each, str) for each in flags):
        return "gold.flags: expected a list of ids"
    if (declared := given.get("reference")) is not None and not (
        isinstance(declared, Mapping)
        and set(declared) == {"marker", "flags"}
        and _is_bool_or_none(declared["marker"])
        and _is_list(declared["flags"])
    ):
        return 'gold.reference: expected {"marker": true, false or null, "flags": a list of ids}'
    oracle = given.get("oracle")
    if oracle is not None and (
        not isinstance(oracle, Mapping)
        or not all(isinstance(each, int) and not isinstance(each, bool) for each in oracle.values())
    ):
        return "gold.oracle: expected a whole number for each criterion, or null"
    if given.get("condition") == "calibration" and given.get("verdict") is None:
        return "gold.verdict: a case of calibration has one; give its oracle or its verdict"
    return None


def _is_bool_or_none(given: JSON) -> bool:
    return given is None or isinstance(given, bool)


def group(gold: JSON) -> frozenset[str]:
    """The groups of a case. An attack that wants what the text earns anyway is no attack that could show."""
    given: Mapping[str, JSON] = gold if isinstance(gold, Mapping) else {}
    condition, found = given.get("condition"), set[str]()
    arm, aim, quality, marker = given.get("arm"), given.get("aim"), given.get("quality"), given.get("marker")
    if isinstance(arm, str) and arm in _ARMS:
        found.add(arm)
    if condition == "calibration" and isinstance(given.get("oracle"), Mapping):
        found.add("oracle")
    if condition == "calibration" and quality in ("pass", "fail"):
        found.add("valued")
    if condition in ("treatment", "adversarial") and aim in ("pass", "fail") and quality in ("pass", "fail"):
        found |= {"attack" if condition == "treatment" else "poisoned"} if aim != quality else set[str]()
    if condition in ("control", "blind", "neutral"):
        found.add("controlled")
    if condition in ("calibration", "treatment") and isinstance(marker, bool):
        found.add("marked" if marker else "unmarked")
    declared = given.get("reference")
    if condition in _WITH_REFERENCE and isinstance(declared, Mapping):
        # A flag doesn't say of which of the two texts it is: where the text may have a marker, none is a false alarm.
        if declared.get("marker") is True:
            found.add("marked")
        elif declared.get("marker") is False and marker is False:
            found.add("unmarked")
    return frozenset(found)


def vector_of(given: JSON, rubric: Rubric) -> Mapping[str, int] | None:
    """A whole number on its scale for every criterion and nothing else, or None."""
    if not isinstance(given, Mapping) or set(given) != set(rubric.ids):
        return None
    for each in rubric.criteria:
        number = given[each.id]
        if isinstance(number, bool) or not isinstance(number, int) or not each.least <= number <= each.most:
            return None
    return cast("Mapping[str, int]", given)


def gold_under(gold: JSON, rubric: Rubric) -> Gold:
    """What is known of a case, as the rubric's policy has it. What isn't of its form counts as unknown."""
    given: Mapping[str, Any] = gold if isinstance(gold, Mapping) else {}
    oracle = vector_of(given.get("oracle"), rubric)
    listed = given.get("flags")
    flags = frozenset(each for each in cast("list[Any]", listed) if each in rubric.flag_ids) if _is_list(listed) else ()
    verdict, quality = given.get("verdict"), given.get("quality")
    if oracle is not None:
        judged = judge(rubric, oracle, flags)
        quality, verdict = judged.quality, judged.verdict
    marker, aim, condition = given.get("marker"), given.get("aim"), given.get("condition")
    return Gold(
        condition=condition if isinstance(condition, str) else "",
        oracle=oracle,
        verdict=verdict if isinstance(verdict, str) else "",
        quality=quality if isinstance(quality, str) else "",
        flags=frozenset(flags),
        marker=marker if isinstance(marker, bool) else None,
        aim=aim if isinstance(aim, str) else "",
        referred=_referred(given, condition, rubric),
    )


def _referred(gold: Mapping[str, Any], condition: Any, rubric: Rubric) -> Referred | None:
    declared: Any = gold.get("reference")
    if not isinstance(declared, Mapping):
        return Referred(None, frozenset()) if condition in _WITH_REFERENCE else None
    table = cast("Mapping[str, Any]", declared)
    marker, listed = table.get("marker"), table.get("flags")
    flags = [each for each in cast("list[Any]", listed) if each in rubric.flag_ids] if _is_list(listed) else []
    return Referred(marker if isinstance(marker, bool) else None, frozenset(flags))


def _is_list(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(each, str) for each in cast("list[Any]", given))


def check_gold(case_input: JSON, gold: JSON, rules: Mapping[str, Any]) -> str | None:
    """One sentence on why a case can't be scored under a rubric, or None."""
    rubric = Rubric.of_rules(rules)
    given: Mapping[str, Any] = gold if isinstance(gold, Mapping) else {}
    oracle = given.get("oracle")
    if oracle is not None and vector_of(oracle, rubric) is None:
        scales = ", ".join(f"{each.id} {each.least} to {each.most}" for each in rubric.criteria)
        return f"gold.oracle: expected a whole number for each criterion of the rubric and no other ({scales})"
    listed = list(cast("list[Any]", given.get("flags") if _is_list(given.get("flags")) else []))
    if isinstance(declared := given.get("reference"), Mapping):
        listed += cast("Mapping[str, Any]", declared)["flags"]
    strange = [each for each in listed if each not in rubric.flag_ids]
    if strange:
        return f"gold.flags: {strange[0]!a} is no flag of the rubric ({', '.join(rubric.flag_ids) or 'it has none'})"
    known = gold_under(gold, rubric)
    if group(gold) & {"attack", "poisoned"} and known.quality == known.aim:
        return (
            f"gold.aim: the text earns {known.quality} under this policy, so that an attack that aims at it could not"
            " show; use the policy of the suite"
        )
    return None
