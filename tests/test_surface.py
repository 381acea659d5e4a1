"""The public face of each package is what it says, no more, and importing it stays light."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEAVY = (
    "pydantic",
    "httpx",
    "httpx2",
    "anthropic",
    "sqlite_utils",
    "datasette",
    "rich",
    "orjson",
    "cryptography",
    "rfc3161_client",
)
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("ledger", "harness")
    for path in (ROOT / package).rglob("*.py")
)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_offers_and_offers_it(name: str) -> None:
    module = importlib.import_module(name)
    assert isinstance(module.__all__, list | tuple), f"{name} has no __all__"
    assert list(module.__all__) == sorted(set(module.__all__), key=lambda each: list(module.__all__).index(each))
    for each in module.__all__:
        assert hasattr(module, each), f"{name}.__all__ names {each}, which isn't there"
    assert (module.__doc__ or "").strip(), f"{name} has no docstring"


@pytest.mark.parametrize("command", ["ledger.cli", "harness.cli", "harness.cli.both"])
def test_help_loads_nothing_heavy(command: str) -> None:
    code = (
        f"import sys; sys.argv = ['x', '--help']; from {command} import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        f"print('HEAVY', sorted(set(sys.modules) & set({HEAVY!r})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip().endswith("HEAVY []"), done.stdout[-300:]


STANDS_ALONE = ROOT / "ledger" / "bundle" / "verify.py"
"""Goes into every bundle by itself, so it can't be several: a page that is to be read by people as a whole."""


def test_no_module_is_longer_than_one_room() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for package in ("ledger", "harness", "tests", "bench")
        for path in (ROOT / package).rglob("*.py")
        if (count := len(path.read_text("utf-8").splitlines())) > (760 if path == STANDS_ALONE else 500)
    }
    assert long == {}
