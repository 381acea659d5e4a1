"""The totals that an artifact of memory-authority-auditor states, and what its rows come to: by each row's own words.

A row says of itself whether it was malformed, and in `score` whether a positive was caught and a negative passed. The
totals stand in an engine's `summary` (or `totals`, `metrics`), beside them in the engine, or in those of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from harness._stated import claims_beside, counted_text
from harness.imports._files import text_claim

__all__ = ["totals_of"]

_TABLES = ("summary", "totals", "metrics")
_MOST = 100
_LONGEST = 200
Row = Mapping[str, Any]
Told = Callable[[Row], bool | None]
"""What a row says: yes, no, or nothing."""


def totals_of(root: Row, engine: Row, label: str) -> dict[str, str]:
    """The claims `stated.NAME` and `counted.NAME` of one engine's run. Never raises: what isn't a total is none."""
    rows, every = _rows(engine), [row for each in _tables(root.get("engines")) for row in _rows(each)]
    own = dict(_stated(engine, ""))
    of_file: dict[str, str] = {}
    for name in _TABLES:
        table = root.get(name)
        if isinstance(table, Mapping):
            inner = cast("Row", table)
            given = inner.get(label)
            if isinstance(given, Mapping):
                own |= dict(_numbers(cast("Row", given), f"{name}."))
            of_file |= dict(_numbers(inner, "all engines "))
    counted = {name: said for name in own if (said := _count(name.rpartition(".")[2], rows)) is not None}
    counted |= {
        name: said for name in of_file
        if (said := _count(name.removeprefix("all engines "), every)) is not None
    }  # fmt: skip
    return claims_beside(dict([*own.items(), *of_file.items()][:_MOST]), counted)


def _tables(value: Any) -> list[Row]:
    listed = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("Row", each) for each in listed if isinstance(each, Mapping)]


def _rows(engine: Row) -> list[Row]:
    return _tables(engine.get("cases"))


def _stated(engine: Row, prefix: str) -> Iterable[tuple[str, str]]:
    for name in _TABLES:
        table = engine.get(name)
        if isinstance(table, Mapping):
            yield from _numbers(cast("Row", table), prefix)
    # Beside the rows themselves only what is known for a total: anything else may be a setting.
    known = {key: value for key, value in engine.items() if key in _COUNTS or key in _SHARES}
    yield from _numbers(known, prefix)


def _numbers(table: Row, prefix: str) -> Iterable[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, Mapping | list) or value is None or isinstance(value, bool):
            continue
        text = str(value)
        if isinstance(value, str) and key not in _COUNTS and key not in _SHARES:
            continue
        if isinstance(value, int | Decimal | str) and len(text) <= _LONGEST:
            yield text_claim(f"{prefix}{key}"[:_LONGEST]), text_claim(text)


# What rows say


def _in_score(key: str) -> Told:
    return lambda row: _flag(row.get("score"), key)


def _flag(table: Any, key: str) -> bool | None:
    value = cast("Row", table).get(key) if isinstance(table, Mapping) else None
    return value if isinstance(value, bool) else None


def _malformed(row: Row) -> bool | None:
    return _flag(row, "malformed")


def _positive(row: Row) -> bool | None:
    return _flag(row.get("score"), "expected_positive")


def _not(told: Told) -> Told:
    return lambda row: None if (said := told(row)) is None else not said


def _fires_without_confirmer(row: Row) -> bool | None:
    return _flag(row.get("ablation_remove_confirmer"), "would_false_fire_without_confirmation")


def _fires_without_citation(row: Row) -> bool | None:
    return _not(lambda each: _flag(each.get("ablation_remove_citation_requirement"), "negative_passed"))(row)


def _passed(row: Row) -> bool | None:
    said = _in_score("caught")(row) if _positive(row) else _in_score("negative_passed")(row)
    return None if _positive(row) is None else said


def _negative(row: Row) -> bool | None:
    return _not(_positive)(row)


def _any(row: Row) -> bool | None:
    return True


_COUNTS: Mapping[str, tuple[Told, Told]] = {
    "cases": (_any, _any),
    "malformed_cases": (_malformed, _any),
    "positives": (_positive, _any),
    "negatives": (_negative, _any),
    "positives_caught": (_in_score("caught"), _positive),
    "positives_caught_direction": (_in_score("direction_caught"), _positive),
    "positive_misses": (_not(_in_score("caught")), _positive),
    "negatives_passed": (_in_score("negative_passed"), _negative),
    "negative_false_fires": (_not(_in_score("negative_passed")), _negative),
    "remove_confirmer_negative_false_fires": (_fires_without_confirmer, _negative),
    "remove_citation_negative_false_fires": (_fires_without_citation, _negative),
    "passed": (_passed, _any),
    "correct": (_passed, _any),
}
"""By the name of a count: what a row must say to be in it, and of which rows it is."""
_SHARES: Mapping[str, tuple[Told, Told]] = {
    "accuracy": (_passed, _any), "pass_rate": (_passed, _any),
    "malformed_rate": (_malformed, _any),
    "recall": (_in_score("caught"), _positive), "positive_rate": (_in_score("caught"), _positive),
    "catch_rate": (_in_score("caught"), _positive), "direction_rate": (_in_score("direction_caught"), _positive),
    "negative_pass_rate": (_in_score("negative_passed"), _negative),
    "false_fire_rate": (_not(_in_score("negative_passed")), _negative),
}  # fmt: skip
"""The same of shares: k of the rows."""


def _count(name: str, rows: Sequence[Row]) -> str | None:
    """What rows come to under a total's name; None where the name says nothing to us, or a row is silent."""
    known = _COUNTS.get(name) or _SHARES.get(name)
    if known is None:
        return None
    told, among = known
    asked = [among(row) for row in rows]
    if any(each is None for each in asked):
        return None
    said = [told(row) for row, mine in zip(rows, asked, strict=True) if mine]
    if any(each is None for each in said):
        return None
    k = sum(bool(each) for each in said)
    return counted_text(k, len(said) if name in _SHARES else None)
