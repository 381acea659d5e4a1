"""The scorers of this release, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from harness.suites.manifest._choice import CHOICE
from harness.suites.manifest._exact import EXACT
from harness.suites.manifest._f1 import F1
from harness.suites.manifest._includes import INCLUDES
from harness.suites.manifest._json_fields import JSON_FIELDS
from harness.suites.manifest._number import NUMBER
from harness.suites.manifest._quote import QUOTE
from harness.suites.manifest._regex import REGEX
from harness.suites.manifest._scorer import Scorer

__all__ = ["SCORERS"]

SCORERS: Mapping[str, Scorer] = MappingProxyType(
    {each.name: each for each in (EXACT, INCLUDES, CHOICE, NUMBER, REGEX, JSON_FIELDS, F1, QUOTE)}
)
