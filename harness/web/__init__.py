"""The pages that `harness` adds to a ledger's: runs, cells and comparisons. An entry point of `eval_ledger.web`."""

from __future__ import annotations

from harness._errors import HarnessError
from ledger.web import Pages

__all__ = ["PAGES"]

PAGES = Pages(name="harness", package="harness.web", routes=(), errors=(HarnessError,))
