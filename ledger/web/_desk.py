"""Where a page gets what is dear from: it waits so long for all of it together, and then shows what there is."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import TypeVar

from ledger._store import Ledger
from ledger.web._memory import Kept
from ledger.web._pages import View

__all__ = ["PATIENCE", "Desk"]

T = TypeVar("T")

PATIENCE = 2.0
"""Seconds that a page waits for what was never worked out before it is drawn without."""


class Desk:
    """One page's. A page that becomes a file waits for as long as it takes."""

    def __init__(self, view: View, patience: float | None = None) -> None:
        self.view = view
        # All of a page together: whoever asks first sees what there is, and not a page that doesn't come.
        self._end = None if view.fixed else time.monotonic() + (PATIENCE if patience is None else patience)

    def get(self, run: str, key: Hashable, work: Callable[[Ledger], T], *, own: bool = False) -> Kept[T] | None:
        """As `Memory.kept`, with what `work` makes of a ledger; None where it isn't there yet."""
        view = self.view
        if self._end is None:
            return view.memory.kept(view.ledger, view.size, run, key, work, own=own)
        left = max(0.0, self._end - time.monotonic())
        return view.memory.soon(view.ledger, view.size, run, key, work, patience=left, own=own)
