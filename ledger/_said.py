"""How sentences name numbers and commands: "1 event", and a command that works on the ledger that is spoken of."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

__all__ = ["aimed", "counted"]

_DEFAULT = Path("ledger.db")
# Commands of a sentence that are about the ledger in use. `import` makes another, and `export` is said of others, too.
_COMMAND = re.compile(
    r"`(ledger (?:anchor|bundle|checkpoint|cite|clear|impact|init|key|log|note|redact|runs|serve|show|snapshot|stats"
    r"|supersede|taint|upgrade|verify)(?: [^`]*)?)`"
)
_AIMED = re.compile(r" --db\b| LEDGER\b|ledger verify [^-]| [<>|] ")


def counted(number: int, one: str, many: str = "") -> str:
    """`1 event`, `2 events`; `many` where an s doesn't make the plural."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def aimed(text: str, ledger: str | os.PathLike[str] | None) -> str:
    """The text with `--db PATH` in each of its commands in backticks that needs it to reach this ledger.

    None is needed for ./ledger.db, which is what a command takes by itself, and where no ledger is in use (None).
    """
    if ledger is None or Path(ledger).absolute() == _DEFAULT.absolute():
        return text
    named = f" --db {shlex.quote(os.fspath(ledger))}"
    return _COMMAND.sub(lambda found: found[0] if _AIMED.search(found[1]) else f"`{found[1]}{named}`", text)
