"""`python -m harness` is the command `harness`."""

from __future__ import annotations

from harness.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
