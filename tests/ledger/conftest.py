"""One ledger that holds everything, made once; tests work on copies of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger import Ledger
from tests.ledger.ledgers import whole_ledger


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return whole_ledger(tmp_path_factory.mktemp("ledger") / "ledger.db")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return tmp_path / "copy.db"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A new ledger of its own."""
    Ledger.create(tmp_path / "ledger.db").close()
    return tmp_path / "ledger.db"
