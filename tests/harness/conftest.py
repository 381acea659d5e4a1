"""What the tests of the harness may ask for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """A new ledger on disk."""
    with Ledger.create(tmp_path / "ledger.db") as made:
        yield made
