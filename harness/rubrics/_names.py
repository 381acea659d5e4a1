"""Names that more than one part of judging goes by."""

from __future__ import annotations

__all__ = ["PAIR"]

PAIR = "pair"
"""What the fixture, the arm, the rule set and the built-in prompt of a choice are called."""
