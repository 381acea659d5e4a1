"""Evidence bundles: what is behind a number, in one zip that a stranger checks without our code."""

from __future__ import annotations

__all__: list[str] = []
