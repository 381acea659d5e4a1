"""Everything `harness` raises on purpose.

    HarnessError                 the root; `exit_status` is what the command line ends with
    ├── UsageError          (2)  a flag, a reference or a file that a person gave can't be used as it stands
    │   ├── SuiteError      (2)  a suite, a fixture or a prompt under `fixtures/` is missing or malformed
    │   ├── RulesError      (2)  a rule set is missing, malformed, or names what its suite doesn't have
    │   ├── EngineError     (2)  an engine is unknown, or lacks what it needs before anything is sent
    │   │   └── KeyMissing      no variable holds the key that a provider needs
    │   ├── PricesError     (2)  a price list can't be read, or a budget can't be kept with what it tells
    │   └── IdentityError   (2)  a value that has no digest: not JSON, duplicate keys, lone surrogates
    ├── IncompleteError     (3)  a cell ended in status `error`, or was never asked
    └── RefusedError        (4)  going on would be unsafe: identity moved, not comparable, not to be reused
        └── RunMoved        (4)  a run can't be resumed, because what it stands on isn't what its plan says

Exit status 1 (the thing asked about is false) is an answer, not an error, and is raised by nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "EngineError",
    "HarnessError",
    "IdentityError",
    "IncompleteError",
    "KeyMissing",
    "PricesError",
    "RefusedError",
    "RulesError",
    "RunMoved",
    "SuiteError",
    "UsageError",
]


class HarnessError(Exception):
    """The root of the tree. `exit_status` is the documented exit status of a command that ends with it."""

    exit_status: int = 2


class UsageError(HarnessError):
    """What a person gave can't be used; the message says what, where, and how to mend it."""


class RowsError(UsageError):
    """Rows of a file can't be used. `lines` says the same as the message, a row a line, for whoever shows lines."""

    def __init__(self, about: str, rows: Sequence[str], more: int) -> None:
        left = [f"and {more} more"] if more else []
        super().__init__(f"{about} {'; '.join([*rows, *left])}")
        self.lines = (about, *rows, *left)


class SuiteError(UsageError):
    """A suite, one of its fixtures, or its prompt can't be loaded."""


class RulesError(UsageError):
    """A rule set can't be loaded, or doesn't fit the stages of its suite."""


class EngineError(UsageError):
    """An engine is unknown, or can't be set up before the first byte is sent."""


class KeyMissing(EngineError):
    """No variable holds the key that a provider needs."""


class PricesError(UsageError):
    """A price list can't be read, or a budget can't be kept with what it tells."""


class IdentityError(UsageError):
    """A value lies outside the JSON that has a digest."""


class IncompleteError(HarnessError):
    """A run ended with cells in status `error` or never asked."""

    exit_status = 3


class RefusedError(HarnessError):
    """Nothing was done, because doing it would mix experiments or break a promise."""

    exit_status = 4


class RunMoved(RefusedError):
    """What a run stands on moved. `moved` lists each component: component, where, before, after, paths, accept."""

    def __init__(self, message: str, run: str, moved: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(message)
        self.run = run
        self.moved = moved
