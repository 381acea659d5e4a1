"""`verify` in a process of its own: a server's pages stay quick meanwhile, and nothing of it outlives the server.

    python -P -m ledger._verify_apart LEDGER

prints the verdict as JSON, or {"problem": a sentence}. It ends when its standard input does, so also when whoever
started it dies, however that was. Checkpoints beside the ledger are looked at, and held against the keys that
LEDGER_VERIFY_KEY names, as `ledger verify` does.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from ledger._apart import end_with_input, leave, start_module
from ledger._errors import LedgerError
from ledger._verify import verify
from ledger._verify_outside import Outside, read_keys

__all__ = ["VerifyProcess", "main"]

_NICER = 10


class VerifyProcess:
    """One check of a ledger, running. Start it, and wait for `verdict`."""

    def __init__(self, path: Path) -> None:
        self._process = start_module("ledger._verify_apart", str(path.absolute()))

    def verdict(self) -> Mapping[str, Any]:
        """What `ledger verify --json` prints, once it is known. Raises LedgerError with a sentence where it isn't."""
        assert self._process.stdout is not None
        with self._process:
            text = self._process.stdout.read()
        try:
            found = cast("Mapping[str, Any]", json.loads(text))
        except ValueError:
            raise LedgerError(f"the check ended without a verdict (exit status {self._process.returncode})") from None
        if "problem" in found:
            raise LedgerError(str(found["problem"]))
        return found

    def stop(self) -> None:
        """End it, if it still runs; `verdict` then raises."""
        with suppress(OSError):
            self._process.kill()


def main(arguments: Sequence[str]) -> int:
    """Check the ledger named, nicely, and print the verdict."""
    with suppress(OSError, AttributeError):
        os.nice(_NICER)
    end_with_input()
    try:
        keys = read_keys(os.environ.get("LEDGER_VERIFY_KEY", "").split())
        found = verify(Path(arguments[0]), Outside(keys=keys)).as_json()
    except LedgerError as problem:
        found = {"problem": str(problem)}
    print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
