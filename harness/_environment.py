"""What the harness runs in, and what follows when that is another than it was. The policy, in one place:

    derives   can change what is derived from recorded bytes: Python, and every package that reading, confirming,
              scoring or taking a digest may load. Another one is settled by behaviour: what was recorded is derived
              again before it is reused, gone on with or compared
    asks      can change what goes over the wire: it is named; what went over the wire is recorded as bytes, and those
              are what is held
    beside    the operating system, the machine, and where the working folder stands: named, and nothing else

Our own code is no part of it: that is held by its digests (`harness._plan.code_digests`). A name that an older plan
doesn't have says nothing.
"""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Any, Literal

__all__ = ["POLICY", "Shift", "Weight", "environment", "moved_environment", "named_shifts", "shifts_in_words"]

Weight = Literal["derives", "asks", "beside"]
_PYTHON = ("python", "implementation")
_READING = ("brotli", "pyte", "orjson")
_SCORING = ("google-re2", "jinja2", "markupsafe", "jsonschema-rs")
_WRITING = ("pydantic", "pydantic-core", "rfc8785", "blake3")
_ASKING = ("anthropic", "httpx", "httpx2")
_OURS = "eval-ledger"

_WEIGHTS: Mapping[Weight, tuple[str, ...]] = {
    "derives": (*_PYTHON, *_READING, *_SCORING, *_WRITING),
    "asks": _ASKING,
    "beside": (_OURS, "system", "machine", "git_commit", "git_dirty"),
}
POLICY: Mapping[str, Weight] = MappingProxyType({name: weight for weight in _WEIGHTS for name in _WEIGHTS[weight]})
"""By name in a plan's `environment`, what another value of it may change. One that isn't here is `beside`."""


@dataclass(frozen=True, slots=True)
class Shift:
    """One thing of the environment that is another than it was."""

    name: str
    before: str
    after: str

    @property
    def weight(self) -> Weight:
        """What the policy says of it."""
        return POLICY.get(self.name, "beside")

    def sentence(self) -> str:
        """From what to what."""
        return f"{self.name} {self.before} to {self.after}"

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {"name": self.name, "before": self.before, "after": self.after, "weight": self.weight}


def environment() -> dict[str, str]:
    """What the harness runs in, by name: information, compared when a run is resumed and part of no identity."""
    found = {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": platform.system(),
        "machine": platform.machine(),
    }
    for package in (_OURS, *_READING, *_SCORING, *_WRITING, *_ASKING):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return {**found, **_git()}


@cache
def _git() -> Mapping[str, str]:
    """The commit that the working folder stands at, and whether it is dirty: information, never identity."""
    try:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True)
        state = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    return {"git_commit": commit.stdout.strip(), "git_dirty": "yes" if state.stdout.strip() else "no"}


def moved_environment(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Shift, ...]:
    """What both name and have otherwise, in the order of the names."""
    return tuple(
        Shift(name, before[name], after[name])
        for name in sorted(before)
        if name in after and before[name] != after[name]
    )


def named_shifts(shifts: Sequence[Shift]) -> tuple[Shift, ...]:
    """Those that are said beside a figure: where the working folder stands is no part of what answered or read."""
    return tuple(each for each in shifts if not each.name.startswith("git_"))


def shifts_in_words(shifts: Sequence[Shift]) -> str:
    """All of them in one line; empty for none."""
    return "; ".join(each.sentence() for each in shifts)
