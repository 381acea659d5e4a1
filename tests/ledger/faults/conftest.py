"""One worker under the shim for every test of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ledger.faults.rig import Rig, rig_of


@pytest.fixture(scope="session")
def rig() -> Iterator[Rig]:
    with rig_of() as found:
        yield found
