"""How the golds of a column are compared: by what all of them are, and never by what the first one is.

A number is compared by its value, whatever its spelling; a text as a label. JSON says itself which of them a gold is. A
cell of a CSV doesn't: there a text that is written as a number is one, unless zeros ahead of it say that it is a code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from harness._errors import UsageError
from harness._json import JSON

__all__ = ["Gold", "Said", "comparison", "field_comparison", "first_of", "scalars"]

_NUMBER: Final = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_CODE: Final = re.compile(r"[+-]?0[0-9]+")

Kind = Literal["number", "code", "text", "other"]


@dataclass(frozen=True)
class Gold:
    """One gold, or a field of one, and the row that it stands in."""

    where: str
    value: JSON


@dataclass(frozen=True)
class Said:
    """How golds are compared, as a rule file says it, and what a person should know of it."""

    form: str
    note: str = ""


def comparison(golds: Sequence[Gold], *, typed: bool, option: str, what: str = "The golds") -> Said:
    """The normaliser for golds that are texts, numbers, or lists of those. `typed`: they are JSON, and not cells.

    `option` is how `--set` would say another, with NAME where the normaliser's name goes. Raises UsageError for numbers
    and codes in one column: whether a zero counts is then for a person to say.
    """
    found = [Gold(gold.where, value) for gold in golds for value in scalars(gold.value)]
    numbers, codes = first_of(found, "number", typed=typed), first_of(found, "code", typed=typed)
    if codes is not None:
        part = next((each for each in found if _kind(each.value, typed=typed) == "number" and not _digits(each)), None)
        if part is not None:
            raise UsageError(
                f"{what}: {part.where} has the number {str(part.value)!r} and {codes.where} {str(codes.value)!r}, whose"
                f" zeros may count; say which they are, {_set(option, 'value')} for numbers or {_set(option, 'label')}"
                " for texts"
            )
        return Said("label/2", f"{what} have zeros ahead, as in {str(codes.value)!r}, so they are compared as texts.")
    if numbers is None:
        return Said("label/2")
    if all(_kind(each.value, typed=typed) == "number" for each in found):
        return Said("value/1", f"{what} are numbers, so they are compared by value (1.0 is 1); the rule file says so.")
    return Said(
        "value/1",
        f"Of {what[:1].lower()}{what[1:]} some are numbers, as on {numbers.where}: those are compared by value, the"
        " others as texts.",
    )


def field_comparison(name: str, golds: Sequence[Gold], *, typed: bool, option: str) -> Said:
    """How one field of JSON golds is compared: a normaliser, or `json`, which goes by type and value."""
    values = [gold.value for gold in golds]
    if any(value is None or isinstance(value, bool | list | Mapping) for value in values):
        return Said("json")
    if not typed:
        return comparison(golds, typed=False, option=option, what=f"The golds of {name!r}")
    if all(isinstance(value, str) for value in values):
        return Said("label/2")
    if not any(isinstance(value, str) for value in values):
        return Said("number/2")
    number, text = first_of(golds, "number", typed=True), first_of(golds, "text", typed=True)
    assert number is not None and text is not None
    return Said(
        "json",
        f"{name!r} is a number on {number.where} and a text on {text.where}, so it is compared by type and value.",
    )


def first_of(golds: Sequence[Gold], kind: Kind, *, typed: bool) -> Gold | None:
    """The first gold of a kind."""
    return next((gold for gold in golds if _kind(gold.value, typed=typed) == kind), None)


def scalars(value: JSON) -> Iterator[JSON]:
    """A gold, or each item of one that is a list."""
    if isinstance(value, list):
        yield from value
    else:
        yield value


def _kind(value: JSON, *, typed: bool) -> Kind:
    if isinstance(value, bool) or value is None or isinstance(value, list | Mapping):
        return "other"
    if isinstance(value, int | Decimal):
        return "number"
    bare = value.strip()
    if _CODE.fullmatch(bare):
        return "code"
    return "number" if not typed and _NUMBER.fullmatch(bare) else "text"


def _digits(gold: Gold) -> bool:
    """Whether a number is written in digits alone, as a code may be."""
    return isinstance(gold.value, str) and gold.value.strip().isdigit()


def _set(option: str, name: str) -> str:
    return f"`--set {option.replace('NAME', name)}`"
