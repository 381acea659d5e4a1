"""Every forgery there is: importing their modules registers them."""

from __future__ import annotations

from tests.forgeries import asked, frozen
from tests.forgeries.table import FORGERIES

__all__ = ["FORGERIES", "asked", "frozen"]
