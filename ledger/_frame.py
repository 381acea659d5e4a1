"""A view or a query as a pandas DataFrame: whole numbers stay whole, and what is unknown stays unknown, never 0.

pandas is loaded when a frame is asked for; without it one sentence says what to install.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ledger._errors import BadQuery, NotFound
from ledger._functions import columns_of
from ledger._schema import RELEASE, release_objects
from ledger._views import over_views

if TYPE_CHECKING:
    import pandas  # pyright: ignore[reportMissingTypeStubs]

__all__ = ["query_of", "to_frame"]

_READS = re.compile(r"(?:SELECT|WITH|VALUES)\b", re.IGNORECASE)


def query_of(view_or_sql: str) -> str:
    """The query that a name or a query stands for, over this release's views whichever the file has; a view goes with
    the columns that installed packages add to it (`ledger._functions`).

    Raises NotFound for a name that is no view or table, listing them, and BadQuery for what doesn't read.
    """
    text = view_or_sql.strip()
    if not text.isidentifier():
        if not _READS.match(text):
            raise BadQuery(f"expected a view, or a query that starts with SELECT, WITH or VALUES, got {text[:80]!a}")
        return over_views(text)
    release = release_objects(RELEASE)
    assert release is not None
    views = [name for kind, name, _, _ in release.rows if kind == "view"]
    if text in ("events", "blobs", "edges"):
        return f"SELECT * FROM main.{text}"  # noqa: S608 - one of three names
    if text not in views:
        names = ", ".join(("events", "blobs", "edges", *sorted(views)))
        raise NotFound(f"no view is called {text!a}; expected a query, or one of {names}")
    more = "".join(f", {made} AS {name}" for name, made in columns_of(text).items())
    return over_views(f"SELECT *{more} FROM {text}")  # noqa: S608 - a view's name, and our own functions


def to_frame(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> pandas.DataFrame:
    """Rows as a DataFrame: columns are Int64, Float64 or string, each with NA for NULL; what is mixed stays object.

    Raises BadQuery, saying what to install, where pandas isn't there, and where two columns have one name.
    """
    pandas = _pandas()
    doubled = sorted({name for name in names if list(names).count(name) > 1})
    if doubled:
        raise BadQuery(f"two columns are called {doubled[0]!r}; name them apart with AS")
    columns: list[list[Any]] = [[] for _ in names]
    for row in rows:
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    return pandas.DataFrame(
        {name: pandas.array(column, dtype=_dtype(column)) for name, column in zip(names, columns, strict=True)}
    )


def _dtype(column: Sequence[Any]) -> str:
    kinds: set[type] = {type(value) for value in column if value is not None}
    if kinds == {int}:
        return "Int64"
    if kinds and kinds <= {int, float}:
        return "Float64"
    return "string" if kinds == {str} else "object"


def _pandas() -> Any:
    try:
        return import_module("pandas")
    except ImportError:
        raise BadQuery("pandas isn't installed, and a frame needs it: pip install 'eval-ledger[pandas]'") from None
