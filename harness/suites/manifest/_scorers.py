"""The scorers of this release, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from harness.suites.manifest._exact import EXACT
from harness.suites.manifest._scorer import Scorer

__all__ = ["SCORERS"]

SCORERS: Mapping[str, Scorer] = MappingProxyType({each.name: each for each in (EXACT,)})
