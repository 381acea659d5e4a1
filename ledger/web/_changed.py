"""Pages of a ledger in which somebody changed what was written: a sentence, where what stands there is no body of its
kind.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from ledger._errors import LedgerError
from ledger.web._pages import all_pages

__all__ = ["ODD", "PageUnreadable", "readable", "why_odd"]

ODD = (
    TypeError, ValueError, LookupError, ArithmeticError, AttributeError, AssertionError, RecursionError, sqlite3.Error,
)  # fmt: skip
"""What reading a body of another form than its kind's may raise."""


class PageUnreadable(LedgerError):
    """A page that can't be worked out of what stands in the file."""


@contextmanager
def readable(what: str) -> Generator[None]:
    """Around the making of a page of `what` ("run"): PageUnreadable, in a sentence, for what can't be what was written.

    What is a sentence already goes through, and so does a file that can't be read at all.
    """
    try:
        yield
    except ODD as problem:
        if isinstance(problem, _sentences()) or (isinstance(problem, sqlite3.Error) and not _of_a_body(problem)):
            raise
        raise PageUnreadable(
            f"this page can't be worked out ({why_odd(problem)}): what stands in this {what} isn't what was written, or"
            " this program has a fault; `ledger verify` says which"
        ) from None


def why_odd(problem: Exception) -> str:
    """What is wrong, in a few words."""
    said = str(problem).partition("\n")[0][:200]
    return said if isinstance(problem, (sqlite3.Error, *_sentences())) else f"{type(problem).__name__}: {said}"


def _sentences() -> tuple[type[Exception], ...]:
    return (LedgerError, *(error for pages in all_pages() for error in pages.errors))


def _of_a_body(problem: sqlite3.Error) -> bool:
    """Whether SQLite stumbled over a value ("malformed JSON") rather than over the file."""
    return getattr(problem, "sqlite_errorcode", None) in (None, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH)
