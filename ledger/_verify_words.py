"""What a verdict rests on and what it can't tell, in the words that `ledger verify` and the pages share."""

from __future__ import annotations

__all__ = ["CANNOT", "CHECKED", "KEEP", "MEND"]

CHECKED = (
    "Checked: the grammar of every column, every line, its hash and its link to the one before; every body and blob"
    " against its commitment; causes and edges; one plan a run; tables, guards, views and indexes against the ones in"
    " force; and SQLite's own integrity check."
)
CANNOT = (
    "Can't tell: whether events were cut off the end, or the whole file was written anew; whether a clock told the"
    " truth. Nothing outside this file was consulted."
)
KEEP = "To notice either later, keep the head somewhere else: {head}"
MEND = (
    "What to do: leave the file as it is, keep a copy, and compare it with a snapshot or an export from before;"
    " numbers that rest on it prove nothing until then."
)
