"""`harness check`: does a report say what its ledger gives?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ledger.cli import DEFAULT_DB, AsJson, Db, Words, emit_json

__all__ = ["check"]

_SHOWN = 60


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A report, as `harness report -o` wrote it.")],
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Recompute every number of a report from the ledger. Exit 1 when one doesn't reproduce, or when what it rests on
    was superseded, tainted or withheld since; 2 for a file that is no report.
    """
    from harness._check import check_file

    found = check_file(db, file)
    if as_json:
        emit_json(found.as_json())
    words = Words(as_json=as_json)
    said = found.sentences()
    for sentence in said[: _SHOWN - 1] if len(said) > _SHOWN else said:
        words(sentence)
    if len(said) > _SHOWN:
        words(f"… and {len(said) - _SHOWN} more; --json has them all.")
        words(said[-1])
    return found.exit_status
