"""What a new suite's rule file and prompt were decided to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Fitted", "Listing"]

Listing = Literal["letters", "keys", "texts", "texts_of_keys"]
"""How a prompt lists options: A, B, C ahead of those of a list, its own keys ahead of those of an object, or texts."""


@dataclass(frozen=True)
class Fitted:
    """The rule file, the prompt's last lines, and what was decided that a person should know of. `ask` is how a reply
    is read where it isn't as the kit has it, `listing` how options stand in the prompt."""

    rules: str
    tail: str
    notes: Sequence[str] = ()
    ask: str = ""
    listing: Listing = "letters"
