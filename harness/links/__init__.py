"""Links: what every field of a run's events follows from, held from the frozen case to the report.

May import the rooms that act, derive and read; nothing but checks, reports and command lines imports it.
"""

from __future__ import annotations

from harness.links._broken import Broken
from harness.links._check import RunLinks, check_links, held_on_read
from harness.links._deep import deep

__all__ = ["Broken", "RunLinks", "check_links", "deep", "held_on_read"]
