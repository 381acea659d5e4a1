"""A table as TOML text: reading it gives the table again."""

import tomllib
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.rubrics._toml import toml_text

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
PLAIN = (
    TEXT
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.decimals(allow_nan=False, allow_infinity=False, places=3)
)
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


@given(st.dictionaries(TEXT, VALUES, max_size=4))
def test_what_is_written_is_read_again(table: dict[str, Any]) -> None:
    assert same(tomllib.loads(toml_text(table), parse_float=Decimal), table)


def test_lists_of_tables_and_tables_in_them_keep_their_places() -> None:
    table = {"a": 1, "b": {"c": [{"d": {"e": 2}}, {"d": {}}]}, "f": [[{"g": 1}], 2], "h": []}
    assert tomllib.loads(toml_text(table)) == table
