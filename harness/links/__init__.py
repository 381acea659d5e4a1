"""Links: what every field of a run's events follows from, held from the frozen case to the report.

May import the rooms that act, derive and read; nothing but checks, reports and command lines imports it.
"""

from __future__ import annotations

from harness.links._broken import Broken
from harness.links._check import RunLinks, check_links, held_on_read
from harness.links._claims import said_of_run
from harness.links._deep import deep
from harness.links._table import HOLDERS, LINKS, PRIMARY, Holder, Link

__all__ = [
    "HOLDERS",
    "LINKS",
    "PRIMARY",
    "Broken",
    "Holder",
    "Link",
    "RunLinks",
    "check_links",
    "deep",
    "held_on_read",
    "said_of_run",
]
