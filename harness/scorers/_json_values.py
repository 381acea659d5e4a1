"""Whether two JSON values are one: exactly, with numbers by their value."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from harness._json import JSON

__all__ = ["JSON_VERSION", "same_json"]

JSON_VERSION: Final = 1


def same_json(a: JSON, b: JSON) -> bool:
    """Whether two values are equal: objects whatever the order of their keys, lists in order, texts character for
    character, numbers by value (1 and 1.0 are one, 1 and true aren't). What no Decimal holds equals nothing.
    """
    pairs = [(a, b)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            if one.keys() != other.keys():
                return False
            pairs += [(one[key], other[key]) for key in one]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pairs += zip(one, other, strict=True)
        elif _number(one) and _number(other):
            if one != other:
                return False
        elif type(one) is not type(other) or not isinstance(one, str | bool | None) or one != other:
            return False
    return True


def _number(value: JSON) -> bool:
    return not isinstance(value, bool) and (
        isinstance(value, int) or (isinstance(value, Decimal) and value.is_finite())
    )
