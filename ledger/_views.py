"""This release's views over any ledger, also one whose file still has an older release's.

Each view that a query names goes before it as a common table expression, taken from the shipped text: so there is one
definition of each, and none that stands in the file (which anybody may have changed) is trusted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from ledger._schema import RELEASE, release_objects

__all__ = ["as_of", "over_views"]

_MADE = re.compile(r"CREATE VIEW (\w+) AS\s+(.*)", re.DOTALL)
_READS = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)")


@cache
def _texts() -> dict[str, str]:
    objects = release_objects(RELEASE)
    assert objects is not None
    found = [_MADE.fullmatch(sql) for kind, _, _, sql in objects.rows if kind == "view" and sql is not None]
    return {match[1]: match[2] for match in found if match is not None}


def over_views(query: str, given: Mapping[str, str] | None = None) -> str:
    """`query`, with every view that it reads (after FROM or JOIN, unqualified) put before it.

    `given` puts other SELECTs in the place of views: the views that read those then answer about them instead.
    """
    texts = {**_texts(), **(given or {})}
    ordered: dict[str, str] = {}

    def need(text: str) -> None:
        for name in _READS.findall(text):
            if name in texts and name not in ordered:
                need(texts[name])
                ordered[name] = texts[name]

    need(query)
    if not ordered:
        return query
    # As views are: a table expression that is read twice would be worked out whole, for one row that is wanted of it.
    # What walks a graph is better walked once (a recursion further in, such as a square root's, walks none).
    tables = ", ".join(
        f"{name} AS {'' if text.startswith('WITH RECURSIVE') else 'NOT '}MATERIALIZED (\n{text}\n)"
        for name, text in ordered.items()
    )
    return f"WITH {tables}\n{query}"


def as_of(size: int) -> dict[str, str]:
    """What makes `over_views` answer as if the chain ended at event `size`: for its parameter `given`.

    What a redaction has withheld since is not brought back.
    """
    # Unary plus keeps the bound from being taken for a range to scan: seq <= size is most of the ledger.
    return {
        "events": f"SELECT * FROM main.events WHERE +seq <= {int(size)}",  # noqa: S608 - a number
        "edges": f"SELECT * FROM main.edges WHERE +effect <= {int(size)}",  # noqa: S608 - a number
        "blobs": f"SELECT * FROM main.blobs WHERE +seq <= {int(size)}",  # noqa: S608 - a number
    }
