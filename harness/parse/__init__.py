"""Reading: from bytes and a rule set to one named outcome. Pure functions; no input makes one raise."""

from __future__ import annotations

from harness.parse._answer import read_text
from harness.parse._reply import read_fault, read_reply
from harness.parse._said import said_in
from harness.parse._types import Ask, Protocol, Reading, ReadRules, Stop, Wire

__all__ = [
    "Ask", "Protocol", "ReadRules", "Reading", "Stop", "Wire", "read_fault", "read_reply", "read_text",
    "said_in",
]  # fmt: skip
