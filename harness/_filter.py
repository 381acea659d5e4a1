"""Conditions that keep some of the cases, such as `meta.topic=law`; pure, over cases as their file has them.

    KEY OPERATOR VALUE          one condition; several are all to be met
    KEY        id, fixture, or meta.NAME (meta.NAME.NAME inside an object; a name may hold dots itself)
    = !=       the value, as text: a string as it is, a number by its value (1 is 1.0), true, false and null by name
    ~          a string that holds VALUE somewhere; upper and lower case differ, here and everywhere
    < <= > >=  a number; anything else is neither above nor below
    VALUE      the rest of the text; in double quotes, a JSON string. White space goes off where it stands on both sides
               of the operator; on one side alone, or at the end, it could be meant, and is refused

Of a list, one element that fits is enough; != asks that none equals. A case without the key fits no condition but !=.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import Literal, cast

from harness._errors import UsageError
from harness._json import JSON
from harness._suite import Case
from ledger import printable

__all__ = [
    "NO_GROUP",
    "Condition",
    "check_key",
    "filters_text",
    "fits_all",
    "group_of",
    "keep",
    "known_key",
    "read_filters",
]

Operator = Literal["=", "!=", "~", "<", "<=", ">", ">="]
Placed = tuple[str, Case]
"""A case with the name of its fixture."""

NO_GROUP = "(none)"
"""How cases without the key are called where groups are shown to people."""

_CONDITION = re.compile(r"\s*(?P<key>[^=!~<>]*?)\s*(?P<operator>!=|<=|>=|=|~|<|>)\s*(?P<value>.*?)\s*", re.DOTALL)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?")
_SHOWN = 12
_LONGEST = 60
_WIDEST = 24


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition; `text` is how it was given, `number` the value where it reads as one."""

    key: str
    operator: Operator
    value: str
    number: Decimal | None
    text: str

    def fits(self, fixture: str, case: Case) -> bool:
        """Whether a case meets it."""
        values = list(_scalars(_value(self.key, fixture, case)))
        if self.operator in ("=", "!="):
            return any(self._equals(value) for value in values) == (self.operator == "=")
        if self.operator == "~":
            return any(isinstance(value, str) and self.value in value for value in values)
        return any(self._stands(value) for value in values)

    def _equals(self, value: JSON) -> bool:
        if isinstance(value, int | Decimal) and not isinstance(value, bool):
            return self.number is not None and value == self.number
        return _text(value) == self.value

    def _stands(self, value: JSON) -> bool:
        if not isinstance(value, int | Decimal) or isinstance(value, bool) or Decimal(value).is_nan():
            return False
        assert self.number is not None
        by = {"<": value < self.number, "<=": value <= self.number, ">": value > self.number}
        return by.get(self.operator, value >= self.number)


def read_filters(texts: Sequence[str], where: str = "--filter") -> tuple[Condition, ...]:
    """The conditions that a person gave; `where` is for messages. Raises UsageError with one sentence."""
    return tuple(_read(text, where) for text in texts)


def filters_text(conditions: Sequence[Condition]) -> str:
    """Conditions as people are told them."""
    return " and ".join(each.text for each in conditions)


def _read(text: str, where: str) -> Condition:
    found = _CONDITION.fullmatch(text)
    if found is None or not found["key"]:
        raise UsageError(f"{where}: expected KEY=VALUE (or != ~ < <= > >=), such as meta.topic=law, got {text!r}")
    key, operator, value = found["key"], cast("Operator", found["operator"]), found["value"]
    check_key(key, where)
    if operator in ("=", "!=", "~"):
        _check_blanks(text, found, where)
    if operator == "=" and value.startswith("="):
        raise UsageError(f"{where}: expected one = in {text!r}; a value that begins with it goes in double quotes")
    if len(value) > 1 and value.startswith('"') and value.endswith('"'):
        try:
            value = str(json.loads(value))
        except ValueError:
            raise UsageError(f"{where}: expected a JSON string in the quotes of {text!r}") from None
    number = Decimal(value) if _NUMBER.fullmatch(value) else None
    if operator in ("<", "<=", ">", ">=") and number is None:
        raise UsageError(f"{where}: {operator} compares numbers, and {value!r} in {text!r} is none")
    if operator == "~" and not value:
        raise UsageError(f"{where}: expected something that the text must hold after ~ in {text!r}")
    return Condition(key, operator, value, number, text.strip())


def _check_blanks(text: str, found: re.Match[str], where: str) -> None:
    """Raises UsageError for white space around a value, where nothing says that it is no part of it."""
    around = text[: found.start("operator")] != text[: found.start("operator")].rstrip()
    given = text[found.end("operator") :]
    if given != found["value"] and not around:
        kept = f"{found['key']}{found['operator']}{json.dumps(given, ensure_ascii=False)}"
        raise UsageError(
            f"{where}: the value of {text!r} begins or ends with white space; in double quotes it is kept, as in"
            f" {kept}, and without it goes {found['key']}{found['operator']}{found['value']}"
        )


def check_key(key: str, where: str) -> None:
    """Raises UsageError for what can't be a key."""
    if key in ("id", "fixture") or (key.startswith("meta.") and all(key.split("."))):
        return
    guess = f"; a case's own label is meta.{printable(key)}" if re.fullmatch(r"\w[\w.-]*", key) else ""
    raise UsageError(f"{where}: expected id, fixture or meta.NAME, got {key!r}{guess}")


def keep(cases: Sequence[Placed], conditions: Sequence[Condition], where: str = "--filter") -> list[Placed]:
    """The cases that meet every condition, in their order.

    Raises UsageError for a key that no case has, naming those there are; and when no case is left, naming the values.
    """
    for each in conditions:
        known_key(cases, each.key, f"{where} {each.text!r}")
        if not any(each.fits(fixture, case) for fixture, case in cases):
            raise UsageError(f"{where} {each.text!r}: no case fits; {each.key} is {_values(cases, each.key)}")
    kept = [place for place in cases if fits_all(conditions, *place)]
    if not kept:
        alone = ", ".join(
            f"{each.text} fits {sum(each.fits(fixture, case) for fixture, case in cases)}" for each in conditions
        )
        raise UsageError(f"{where}: no case fits all of the conditions; alone, {printable(alone)}")
    return kept


def fits_all(conditions: Sequence[Condition], fixture: str, case: Case) -> bool:
    """Whether a case meets every condition."""
    return all(each.fits(fixture, case) for each in conditions)


def known_key(cases: Sequence[Placed], key: str, where: str) -> None:
    """Raises UsageError for a key that no case has, naming those there are."""
    if not any(_value(key, fixture, case) is not _ABSENT for fixture, case in cases):
        there = ["id", "fixture", *dict.fromkeys(f"meta.{name}" for _, case in cases for name in _names(case.meta))]
        close = get_close_matches(key, there, n=1)
        guess = f"did you mean {close[0]}? " if close else ""
        shown = ", ".join(there[:_SHOWN]) + (f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else "")
        raise UsageError(f"{where}: no case has {key!r}; {printable(f'{guess}there are {shown}')}")


def group_of(key: str, fixture: str, case: Case) -> str | None:
    """The group that a case is in by `key`: its value as text (numbers by value, so 1 is 1.0); None without the key.

    A list or an object is a group of its own, as JSON.
    """
    value = _value(key, fixture, case)
    if isinstance(value, _Absent):
        return None
    if isinstance(value, list | Mapping):
        return json.dumps(value, default=_number, ensure_ascii=False)
    return _text(value)


def group_order(group: str | None) -> tuple[int, float, str]:
    """Numbers by value, then texts, then the cases without the key."""
    if group is None:
        return 2, 0.0, NO_GROUP
    try:
        value = float(group)
    except ValueError:
        return 1, 0.0, group
    return (0, value, group) if math.isfinite(value) else (1, 0.0, group)


# Values


class _Absent:
    """What a case has that lacks the key: not null, which is a value."""


_ABSENT = _Absent()


def _value(key: str, fixture: str, case: Case) -> JSON | _Absent:
    if key == "id":
        return case.id
    if key == "fixture":
        return fixture
    return _inside(case.meta, key.split(".")[1:])


def _inside(value: JSON, names: Sequence[str]) -> JSON | _Absent:
    """What stands in nested objects under names; the longest run of them that is a key goes first."""
    if not names:
        return value
    if isinstance(value, Mapping):
        for end in range(len(names), 0, -1):
            name = ".".join(names[:end])
            if name in value:
                found = _inside(value[name], names[end:])
                if not isinstance(found, _Absent):
                    return found
    return _ABSENT


def _scalars(value: JSON | _Absent) -> Iterator[JSON]:
    if isinstance(value, list):
        yield from (each for each in value if not isinstance(each, list | Mapping))
    elif not isinstance(value, Mapping | _Absent):
        yield value


def _text(value: JSON) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return _number(value)
    return str(value)


def _number(value: object) -> str:
    """A number by its value: 1.0 and 1.00 as 1; very long ones as they are."""
    if isinstance(value, Decimal) and value.is_finite() and -_WIDEST < value.adjusted() < _WIDEST:
        plain = f"{value:f}"
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    return str(value)


def _names(meta: JSON, before: str = "") -> Iterator[str]:
    if isinstance(meta, Mapping):
        for name, value in meta.items():
            inner = list(_names(value, f"{before}{name}."))
            yield from inner or [f"{before}{name}"]


def _values(cases: Sequence[Placed], key: str) -> str:
    found = dict.fromkeys(
        _text(each) for fixture, case in cases for each in _scalars(_value(key, fixture, case))
    )  # fmt: skip
    shown = [printable(each)[:_LONGEST] for each in sorted(found)[:_SHOWN]]
    more = f" and {len(found) - _SHOWN} other values" if len(found) > _SHOWN else ""
    return (", ".join(shown) or "never a value") + more
