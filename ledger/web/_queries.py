"""Queries of the pages that are longer than a line: .sql files, each of which opens with what it promises."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["query"]


@cache
def query(name: str) -> str:
    """The text of a query that ships with the package."""
    return (files("ledger") / "queries" / f"{name}.sql").read_text("utf-8")
