"""Checkpoints of a ledger: its keys, its signed tree heads, and who outside vouched for them."""

from __future__ import annotations

__all__: list[str] = []
