"""The options of a scorer as its rule file gives them: each declared once, with what it takes and what it is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from harness._errors import UsageError
from harness.scorers import NORMALISERS, normaliser

__all__ = [
    "Option", "amount", "normal", "normalise", "one_of", "read_options", "switch", "text", "texts",
]  # fmt: skip

_MOST_TEXT = 20_000
_MOST_TEXTS = 1_000


@dataclass(frozen=True)
class Option:
    """One key of a [score] table. `read` checks what a person gave, and raises ValueError ("expected …, got …")."""

    name: str
    default: Any
    read: Callable[[Any], Any]
    says: str


def read_options(options: Sequence[Option], table: Mapping[str, Any], of: str) -> dict[str, Any]:
    """Every option with the value in force. Raises ValueError for an unknown key or a value that won't do."""
    known = {each.name: each for each in options}
    for key in table:
        if key not in known:
            raise ValueError(f"unknown key {key!r}; {of} takes {', '.join(sorted(known))}")
    found: dict[str, Any] = {}
    for each in options:
        if each.name not in table:
            found[each.name] = each.default
            continue
        try:
            found[each.name] = each.read(table[each.name])
        except ValueError as error:
            raise ValueError(f"{each.name}: {error}") from None
    return found


def one_of(*names: str) -> Callable[[Any], str]:
    """A name out of a closed set."""

    def read(given: Any) -> str:
        if not isinstance(given, str) or given not in names:
            there = ", ".join(name if name.isidentifier() else repr(name) for name in names)
            raise ValueError(f"expected one of {there}, got {given!r}")
        return given

    return read


def text(given: Any) -> str:
    """A text that isn't empty."""
    if not isinstance(given, str) or not given.strip() or len(given) > _MOST_TEXT:
        raise ValueError(f"expected a text of 1 to {_MOST_TEXT} characters, got {_short(given)}")
    return given


def texts(given: Any) -> tuple[str, ...]:
    """A list of texts, none of them empty, none twice."""
    listed = cast("list[Any]", given) if isinstance(given, list) else []
    if not 0 < len(listed) <= _MOST_TEXTS or not all(isinstance(each, str) and each.strip() for each in listed):
        raise ValueError(f"expected a list of texts, got {_short(given)}")
    if len(set(listed)) != len(listed):
        raise ValueError(f"a text stands twice in {_short(given)}")
    return tuple(listed)


def switch(given: Any) -> bool:
    """true or false."""
    if not isinstance(given, bool):
        raise ValueError(f"expected true or false, got {given!r}")
    return given


def amount(given: Any) -> Decimal:
    """A number that isn't negative, exactly as the file has it."""
    if isinstance(given, bool) or not isinstance(given, int | Decimal):
        raise ValueError(f"expected a number, got {_short(given)}")
    found = Decimal(given)
    if not found.is_finite() or found < 0 or len(found.as_tuple().digits) > 100 or abs(found.adjusted()) > 100:
        raise ValueError(f"expected a number from 0 up, of at most 100 digits, got {_short(given)}")
    return found


def normalise(given: Any) -> str:
    """The name of a normaliser, with its version; without one, this release's."""
    if not isinstance(given, str):
        raise ValueError(f"expected a normaliser out of {', '.join(NORMALISERS)}, got {_short(given)}")
    try:
        return normaliser(given).label
    except UsageError as error:
        raise ValueError(str(error)) from None


def normal(options: Mapping[str, Any], key: str = "normalise") -> Callable[[str], str]:
    """The normaliser that an option names."""
    return normaliser(options[key]).of


def _short(given: Any) -> str:
    shown = repr(given)
    return shown if len(shown) <= 80 else f"{shown[:80]}…"
