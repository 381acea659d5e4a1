"""What every test may ask for."""

import signal
import threading
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is; what hangs is ended by the timeout that every test has.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


def pytest_configure(config: pytest.Config) -> None:
    # A shell that starts the tests in the background has them ignore Ctrl-C, and with them whatever they start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # xdist would begin with the modules of many tests. Those are short; see below.
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Modules that take long come first: a worker that begins one at the end has the other wait for it."""
    items.sort(key=lambda item: _turn(item.path.relative_to(Path(__file__).parent)))


def _turn(module: Path) -> int:
    """0 for browsers and what a newcomer types, 1 for whole runs, 2 for all else. Within each, the order is kept."""
    if module.parts[0] == "web" or module.name == "test_docs.py":
        return 0
    return 1 if module.parts[0] == "harness" and (len(module.parts) == 2 or module.parts[1] == "cli") else 2


@pytest.fixture
def shared() -> Path:
    """The folder of other people's cases and evidence beside the repository; without it, the test is skipped."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("no ../shared beside the repository")
    return folder
