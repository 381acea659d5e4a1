"""A rubric out of the tables of a rule file, checked whole: each fault is one sentence that names the place.

rubric = "<64 hex>"                          what a judge is shown, as a digest
[[score.criteria]] id, name, weight, min, max, description
[[score.flags]] id, description              optional
[score.policy] threshold = 0.75              or all_at_least = 3, or all_at_least = {id = n}
[score.reply] total, verdicts, comments      optional; whole too, from version 2 on
version = 2                                  what follows from a reply; left out, 1
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, cast, get_args

from harness.judging._policy import AllAtLeast, Policy, Threshold
from harness.judging._rubric import LATEST, Criterion, Flag, ReplyRules, Rubric, TotalKind, WholeKind

__all__ = ["COMMENTS", "KEYS", "RESERVED", "read_rubric"]

KEYS = ("rubric", "version", "criteria", "flags", "policy", "reply")
"""The keys of [score] that a rubric is read from."""
RESERVED = ("scores", "flags", "total", "verdict")
"""The keys of a judge's reply that have a meaning of their own: no criterion and no comment is called so."""
COMMENTS = (
    "reason", "reasons", "reasoning", "rationale", "rationales", "explanation", "explanations", "comment", "comments",
    "note", "notes", "justification", "justifications", "evidence", "summary", "feedback",
)  # fmt: skip
"""What a judge may write beside its claims, unless the rubric says otherwise."""
_MOST = 64
_MOST_POINTS = 1_000_000
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,20})?")
"""As many places as a number of TOML can need."""
_RATIO = re.compile(r"[0-9]{1,9}/[1-9][0-9]{0,8}")


def read_rubric(table: Mapping[str, Any]) -> Rubric:
    """The rubric of a [score] table, whose other keys are let be. Raises ValueError with one sentence."""
    digest = table.get("rubric")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise ValueError(
            f"rubric: expected the digest of what the judge is shown, 64 lower-case hex digits, got {_shown(digest)}"
        )
    criteria = tuple(
        _criterion(each, f"[[criteria]] {at}") for at, each in enumerate(_listed(table, "criteria"), start=1)
    )
    if not criteria:
        raise ValueError("[[criteria]]: expected at least one criterion, got none")
    flags = tuple(_flag(each, f"[[flags]] {at}") for at, each in enumerate(_listed(table, "flags"), start=1))
    _unlike([each.id for each in criteria], "[[criteria]]")
    _unlike([each.id for each in flags], "[[flags]]")
    policy = _policy(table.get("policy"), criteria)
    version = table.get("version", 1)
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= LATEST:
        raise ValueError(f"version: expected 1 to {LATEST}, got {_shown(version)}; a later release may know more")
    return Rubric(digest, criteria, flags, policy, _reply(table.get("reply", {}), version), version)


def _listed(table: Mapping[str, Any], key: str) -> list[Any]:
    given = table.get(key, [])
    if not isinstance(given, list):
        raise ValueError(f"[[{key}]]: expected a list of tables, got {_shown(given)}")
    found = cast("list[Any]", given)
    if len(found) > _MOST:
        raise ValueError(f"[[{key}]]: expected at most {_MOST}, got {len(found)}")
    return found


def _table(given: Any, keys: tuple[str, ...], where: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise ValueError(f"{where}: expected a table, got {_shown(given)}")
    table = cast("Mapping[str, Any]", given)
    unknown = sorted(set(table) - set(keys))
    if unknown:
        raise ValueError(f"{where}: unknown key {unknown[0]!a}; expected {', '.join(keys)}")
    return table


def _criterion(given: Any, where: str) -> Criterion:
    table = _table(given, ("id", "name", "weight", "min", "max", "description"), where)
    name = _id(table, where)
    if name in RESERVED:
        raise ValueError(
            f"{where}: id: {name!a} is a key of every judge's reply ({', '.join(RESERVED)}); call the criterion"
            " something else"
        )
    least, most = _whole(table, "min", 0, where), _whole(table, "max", 1, where)
    if least >= most:
        raise ValueError(f"{where} ({name}): expected min below max, got {least} and {most}")
    weight, text = _number(table.get("weight", 1), f"{where} ({name}): weight")
    if weight <= 0:
        raise ValueError(f"{where} ({name}): weight: expected a number above 0, got {text}")
    return Criterion(
        name, _text(table, "name", where, name), weight, text, least, most, _text(table, "description", where, "")
    )


def _flag(given: Any, where: str) -> Flag:
    table = _table(given, ("id", "description"), where)
    return Flag(_id(table, where), _text(table, "description", where, ""))


def _id(table: Mapping[str, Any], where: str) -> str:
    name = table.get("id")
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise ValueError(
            f"{where}: id: expected a letter, then letters, digits, _ and -, 64 at most, got {_shown(name)}"
        )
    return name


def _unlike(ids: list[str], where: str) -> None:
    seen: dict[str, str] = {}
    for name in ids:
        other = seen.get(name.lower())
        if other is not None:
            raise ValueError(
                f"{where}: id {name!a} stands twice"
                if other == name
                else f"{where}: ids {other!a} and {name!a} differ in case alone; rename one"
            )
        seen[name.lower()] = name


def _text(table: Mapping[str, Any], key: str, where: str, default: str) -> str:
    value = table.get(key, default)
    if not isinstance(value, str) or (default and not value.strip()):
        raise ValueError(f"{where}: {key}: expected text, got {_shown(value)}")
    return value


def _whole(table: Mapping[str, Any], key: str, default: int, where: str) -> int:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _MOST_POINTS:
        raise ValueError(f"{where}: {key}: expected a whole number of at most {_MOST_POINTS}, got {_shown(value)}")
    return value


def _number(given: Any, where: str) -> tuple[Fraction, str]:
    """A number and its text; a number of TOML and its text are one."""
    text = given if isinstance(given, str) else f"{given:f}" if isinstance(given, Decimal) else str(given)
    if isinstance(given, bool) or not isinstance(given, str | int | Decimal) or not _DECIMAL.fullmatch(text):
        raise ValueError(
            f"{where}: expected a number such as 2 or 0.25, of at most 20 decimal places, got {_shown(given)}"
        )
    return Fraction(text), text


def _policy(given: Any, criteria: tuple[Criterion, ...]) -> Policy:
    where = "[policy]"
    table = _table(given if given is not None else {}, ("threshold", "all_at_least"), where)
    if len(table) != 1:
        raise ValueError(
            f"{where}: expected threshold or all_at_least, exactly one of the two, got {' and '.join(table) or 'none'}"
        )
    if "threshold" in table:
        said = table["threshold"]
        if isinstance(said, str) and _RATIO.fullmatch(said):
            share, text = Fraction(said), said
        else:
            share, text = _number(said, f"{where} threshold")
        if not 0 < share <= 1:
            raise ValueError(f"{where} threshold: expected a share above 0 and at most 1, got {text}")
        return Threshold(share, text)
    said = table["all_at_least"]
    least = cast("Mapping[str, Any]", said) if isinstance(said, Mapping) else {each.id: said for each in criteria}
    by_id = {each.id: each for each in criteria}
    if not least:
        raise ValueError(f"{where} all_at_least: expected a number, or one a criterion, got an empty table")
    for name, number in least.items():
        if name not in by_id:
            raise ValueError(f"{where} all_at_least: {name!a} is no criterion; there are {', '.join(by_id)}")
        if isinstance(number, bool) or not isinstance(number, int):
            raise ValueError(f"{where} all_at_least: {name}: expected a whole number, got {_shown(number)}")
        if not by_id[name].least <= number <= by_id[name].most:
            raise ValueError(
                f"{where} all_at_least: {name}: expected a number of its scale, {by_id[name].least} to"
                f" {by_id[name].most}, got {number}"
            )
    return AllAtLeast(MappingProxyType(dict(least)))


def _reply(given: Any, version: int) -> ReplyRules:
    where = "[reply]"
    table = _table(given, ("total", "verdicts", "comments", *(("whole",) if version > 1 else ())), where)
    whole = table.get("whole", "number" if version > 1 else "digits")
    if whole not in get_args(WholeKind):
        raise ValueError(f"{where} whole: expected one of {', '.join(get_args(WholeKind))}, got {_shown(whole)}")
    total = table.get("total", "sum")
    if total not in get_args(TotalKind):
        raise ValueError(f"{where} total: expected one of {', '.join(get_args(TotalKind))}, got {_shown(total)}")
    words = _table(table.get("verdicts", {"pass": ["pass"], "fail": ["fail"]}), ("pass", "fail"), f"{where} verdicts")
    passes, fails = (_words(words.get(key), f"{where} verdicts.{key}") for key in ("pass", "fail"))
    both = sorted(set(passes) & set(fails))
    if both:
        raise ValueError(f"{where} verdicts: {both[0]!a} stands under pass and under fail")
    comments = table.get("comments", list(COMMENTS))
    if not isinstance(comments, list) or not all(isinstance(key, str) for key in cast("list[Any]", comments)):
        raise ValueError(f"{where} comments: expected a list of keys, got {_shown(comments)}")
    taken = next((key for key in cast("list[str]", comments) if key in RESERVED), None)
    if taken is not None:
        raise ValueError(f"{where} comments: {taken!a} is a claim of the judge's, and no comment")
    return ReplyRules(
        cast("TotalKind", total), passes, fails, tuple(cast("list[str]", comments)), cast("WholeKind", whole)
    )


def _words(given: Any, where: str) -> tuple[str, ...]:
    words = cast("list[Any]", given)
    if not isinstance(given, list) or not words or not all(isinstance(word, str) and word.strip() for word in words):
        raise ValueError(f"{where}: expected a list of words, got {_shown(given)}")
    return tuple(dict.fromkeys(word.strip().casefold() for word in words))


def _shown(given: Any) -> str:
    if given is None:
        return "nothing"
    return ascii(str(given) if isinstance(given, Decimal) else given)[:80]
