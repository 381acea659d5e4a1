"""A browser a module, and ledgers to look at in it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browsing import launched
from tests.web.states import interesting

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for the tests of a module. It ends with them: its event loop must not outlive them."""
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project's own history, and of its checkpoints."""
    folder = tmp_path_factory.mktemp("history")
    shutil.copytree(ROOT / "ledger.db.checkpoints", folder / "history.db.checkpoints")
    return Path(shutil.copyfile(ROOT / "ledger.db", folder / "history.db"))


@pytest.fixture(scope="session")
def states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with a run in every state."""
    # In a thread of its own: a browser's event loop runs in this one, and a run brings its own.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(interesting, tmp_path_factory.mktemp("states")).result()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A ledger of 200,000 events: 22 runs of 1,000 cells each."""
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        from _synthetic import make_ledger
    finally:
        sys.path.remove(str(ROOT / "bench"))
    folder = tmp_path_factory.mktemp("large")
    with make_ledger(folder / "large.db", 200_000) as ledger:
        assert ledger.head()[0] >= 200_000
    yield folder / "large.db"
    shutil.rmtree(folder)
