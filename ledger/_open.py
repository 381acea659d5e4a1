"""Opening a ledger to look at it, as a notebook does."""

from __future__ import annotations

import os

from ledger._store import Ledger

__all__ = ["open"]


def open(path: str | os.PathLike[str], *, read_only: bool = True) -> Ledger:
    """The ledger at `path`, to read unless told otherwise. Raises NotALedger, saying what stands there instead."""
    return Ledger.open(path, read_only=read_only)
