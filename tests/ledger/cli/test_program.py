"""What both programs say of themselves: their version, completions for a shell, and whose command a word is."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version

import pytest

from harness.cli import app as harness_app
from ledger.cli import _HARNESS, commands_of  # pyright: ignore[reportPrivateUsage]
from ledger.cli import app as ledger_app


def done(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, timeout=60, env={**os.environ, **environ}
    )


@pytest.mark.parametrize("program", ["ledger", "harness"])
def test_the_version_is_the_package_s_and_no_variable_asks_for_it(program: str) -> None:
    seen = done(program, "--version")
    assert (seen.returncode, seen.stderr) == (0, "")
    assert seen.stdout.startswith(f"{program} {version('eval-ledger')} (Python {sys.version_info.major}.")
    assert done(program, "--help", **{f"{program.upper()}_VERSION": "1.2"}).stdout.startswith("Usage: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("harness", "verify"), "error: No such command 'verify'; `ledger verify` is one\n"),
        (("ledger", "run", "q"), "error: No such command 'run'; `harness run` is one\n"),
        (("ledger", "frobnicate"), "error: No such command 'frobnicate' (`ledger --help` shows how)\n"),
        (("harness", "reprot"), "error: No such command 'reprot'. Did you mean"),
    ],
)
def test_a_command_of_the_other_program_is_named(words: tuple[str, ...], said: str) -> None:
    seen = done(*words)
    assert (seen.returncode, seen.stdout) == (2, "")
    assert seen.stderr.startswith(said)


def test_the_other_program_s_commands_are_those_that_only_it_has() -> None:
    assert set(_HARNESS) == commands_of(harness_app) - commands_of(ledger_app)


@pytest.mark.parametrize(
    ("program", "begun", "wanted"), [("harness", "resc", "rescore"), ("ledger", "verif", "verify")]
)
def test_a_shell_completes_commands(program: str, begun: str, wanted: str) -> None:
    asked = {f"_{program.upper()}_COMPLETE": "complete_bash", "COMP_WORDS": f"{program} {begun}", "COMP_CWORD": "1"}
    assert done(program, **asked).stdout.split() == [wanted]
    # It looks which shell has asked, so one has to.
    asking = ["bash", "-c", f"'{sys.executable}' -m {program} --show-completion && true"]
    shown = subprocess.run(asking, capture_output=True, text=True, timeout=60, check=True)
    assert f"_{program}_completion" in shown.stdout
