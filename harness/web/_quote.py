"""SQL as a page shows it beside a number: conditions on columns, with the values as literals."""

from __future__ import annotations

from ledger.web import literal

__all__ = ["condition", "select"]


def condition(**columns: str | int | None) -> str:
    """`run = 'a' AND "case" IS NULL`: what comes after WHERE."""
    return " AND ".join(
        f'"{name}" IS NULL' if value is None else f'"{name}" = {literal(value)}' for name, value in columns.items()
    )


def select(what: str, source: str, *more: str, **columns: str | int | None) -> str:
    """`SELECT what FROM source WHERE …`: the columns' values, and whatever other conditions."""
    where = " AND ".join(each for each in (condition(**columns), *more) if each)
    return " ".join(("SELECT", what, "FROM", source, "WHERE", where))
