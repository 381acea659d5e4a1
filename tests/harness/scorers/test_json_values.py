"""Equality of JSON values."""

from __future__ import annotations

from decimal import Decimal

import pytest

from harness._json import loads
from harness.scorers import same_json


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("1", "1.0", True),
        ("1e2", "100", True),
        ("1", "true", False),
        ("0", "false", False),
        ("null", "false", False),
        ('{"a":1,"b":2}', '{"b":2.0,"a":1}', True),
        ("[1,2]", "[2,1]", False),
        ('"1"', "1", False),
        ("[]", "{}", False),
        ('{"a":null}', "{}", False),
        ('"\\u00e9"', '"e\\u0301"', False),
        ("0.1", "0.10000000000000000001", False),
        ('""', '""', True),
    ],
)
def test_two_values_are_one_or_they_are_not(a: str, b: str, *, same: bool) -> None:
    assert same_json(loads(a), loads(b)) is same
    assert same_json(loads(b), loads(a)) is same


def test_a_number_that_nothing_holds_equals_nothing_and_depth_is_no_matter() -> None:
    assert not same_json(Decimal("NaN"), Decimal("NaN"))
    deep: list[object] = []
    for _ in range(50_000):
        deep = [deep]
    assert same_json(deep, deep)  # type: ignore[arg-type]
