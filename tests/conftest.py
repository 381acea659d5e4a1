"""What every test may ask for."""

from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is; what hangs is ended by the timeout that every test has.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


@pytest.fixture
def shared() -> Path:
    """The folder of other people's cases and evidence beside the repository; without it, the test is skipped."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("no ../shared beside the repository")
    return folder
