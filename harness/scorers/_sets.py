"""Holding a list of found items against the expected ones: without order, each counted once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["SETS_VERSION", "SetComparison", "SetOutcome", "compare_sets"]

SETS_VERSION: Final = 1

SetOutcome = Literal["true_negative", "false_positive", "false_negative", "exact", "partial", "disjoint"]


@dataclass(frozen=True, slots=True)
class SetComparison:
    """How a found set stands to the expected one.

    `outcome`: nothing expected and nothing found is a `true_negative`, something found a `false_positive`; something
    expected and nothing found is a `false_negative`; else `exact`, `partial` (they share something) or `disjoint`.
    `exact` is whether the two sets are equal. `precision` is None when nothing was found, `recall` when nothing was
    expected, `f1` (Dice: twice what is shared over the sum of the two sizes) when neither: none of them is 0 for want
    of data. `shared`, `missing` and `extra` are normal forms, sorted. `duplicates` are those that were found more than
    once (they count once), `expected_duplicates` those that the key has twice; `unreadable` and `expected_unreadable`
    are the items, as given, that have no normal form: such an item never matches, and each counts as an item.
    """

    outcome: SetOutcome
    exact: bool
    precision: float | None
    recall: float | None
    f1: float | None
    shared: tuple[str, ...]
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    duplicates: tuple[str, ...]
    expected_duplicates: tuple[str, ...]
    unreadable: tuple[str, ...]
    expected_unreadable: tuple[str, ...]


def _same(text: str) -> str:
    return text


def compare_sets(found: Iterable[str], expected: Iterable[str], normal: Callable[[str], str] = _same) -> SetComparison:
    """Compare two collections of texts by their normal forms (by default: as they are).

    Their order makes no difference. A text whose normal form is "" never matches anything.
    """
    got, got_bad = _counted(found, normal)
    want, want_bad = _counted(expected, normal)
    shared = sorted(got.keys() & want.keys())
    n_found, n_expected = len(got) + len(got_bad), len(want) + len(want_bad)
    exact = len(shared) == n_found == n_expected
    return SetComparison(
        outcome=_outcome(n_found, n_expected, len(shared), exact=exact),
        exact=exact,
        precision=len(shared) / n_found if n_found else None,
        recall=len(shared) / n_expected if n_expected else None,
        f1=2 * len(shared) / (n_found + n_expected) if n_found + n_expected else None,
        shared=tuple(shared),
        missing=tuple(sorted(want.keys() - got.keys())),
        extra=tuple(sorted(got.keys() - want.keys())),
        duplicates=tuple(sorted(item for item, times in got.items() if times > 1)),
        expected_duplicates=tuple(sorted(item for item, times in want.items() if times > 1)),
        unreadable=got_bad,
        expected_unreadable=want_bad,
    )


def _counted(items: Iterable[str], normal: Callable[[str], str]) -> tuple[Counter[str], tuple[str, ...]]:
    given = list(items)
    forms = [normal(item) for item in given]
    bad = {item for item, form in zip(given, forms, strict=True) if not form}
    return Counter(form for form in forms if form), tuple(sorted(bad))


def _outcome(found: int, expected: int, shared: int, *, exact: bool) -> SetOutcome:
    if not expected:
        return "false_positive" if found else "true_negative"
    if not found:
        return "false_negative"
    if exact:
        return "exact"
    return "partial" if shared else "disjoint"
