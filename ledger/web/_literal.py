"""Values as SQL writes them, in the queries that pages show beside numbers: anybody can run those as they stand."""

from __future__ import annotations

from itertools import groupby

from ledger._screen import printable, shown

__all__ = ["literal"]

_MOST_HIDDEN = 100


def literal(value: str | int | None) -> str:
    """A value as SQL writes it. What would act or hide, where a person reads it, stands there as its number.

    >>> literal("it's"), literal("a\\u202eb"), literal(None)
    ("'it''s'", "'a' || char(8238) || 'b'", 'NULL')
    """
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(int(value))
    if printable(value) == value:
        return f"""'{value.replace("'", "''")}'"""
    if sum(not shown(each) for each in value) > _MOST_HIDDEN:
        # A call takes so many arguments, and an expression goes so deep.
        return f"CAST(x'{value.encode('utf-8', 'surrogatepass').hex()}' AS TEXT)"
    return " || ".join(
        literal("".join(part)) if drawn else f"char({', '.join(str(ord(each)) for each in part)})"
        for drawn, part in groupby(value, shown)
    )
