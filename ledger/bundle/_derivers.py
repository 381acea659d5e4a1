"""Who can derive again what a bundle shows: packages that offer it as an entry point of the group below."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

__all__ = ["GROUP", "derivers"]

GROUP = "eval_ledger.rederive"


def derivers() -> list[EntryPoint]:
    """Their entry points, by name."""
    return sorted(entry_points(group=GROUP), key=lambda each: each.name)
