"""`python -m ledger` is the command `ledger`."""

from __future__ import annotations

from ledger.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
