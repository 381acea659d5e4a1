"""Every forgery there is: importing their modules registers them."""

from __future__ import annotations

from tests.forgeries import answered, asked, cells, claims, derived, frozen, plans
from tests.forgeries.table import FORGERIES

__all__ = ["FORGERIES", "answered", "asked", "cells", "claims", "derived", "frozen", "plans"]
