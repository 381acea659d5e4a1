"""Every change that the tests of tampering make, with `verify --jobs` held against one process's verdict."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.ledger import ledgers, test_tamper, test_tamper_bodies, test_tamper_schema
from tests.ledger.parts import both

pytestmark = pytest.mark.long

MODULES: tuple[ModuleType, ...] = (test_tamper, test_tamper_bodies, test_tamper_schema)

globals().update(
    {
        f"{name}_of_{module.__name__.rpartition('.')[2]}": test
        for module in MODULES
        for name, test in vars(module).items()
        if name.startswith("test_")
    }
)


@pytest.fixture(autouse=True)
def held_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "verify", both)
