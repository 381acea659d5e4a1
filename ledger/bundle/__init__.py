"""Evidence bundles: what is behind a number, in one zip that a stranger checks without our code."""

from __future__ import annotations

from ledger.bundle._check import BundleVerdict, check_bundle
from ledger.bundle._rederived import Part, Rederived

__all__ = ["BundleVerdict", "Part", "Rederived", "check_bundle"]
