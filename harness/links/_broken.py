"""What a check of links finds: one link that doesn't hold, with both of its events and both values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ledger import printable

__all__ = ["Broken", "Finder"]

_LONGEST = 160


@dataclass(frozen=True, slots=True)
class Broken:
    """A link that is false: `field` of the event `event` says `said`, and what the event `other` gives is `follows`.

    `link` is the name of its line in the table of links. `event` and `other` are seqs; `other` is 0 where nothing there
    is what it should follow from. `run` and `cell` are those of `event` (empty and 0 where it has none).
    """

    link: str
    run: str
    cell: int
    event: int
    field: str
    said: str
    other: int
    follows: str

    def sentence(self) -> str:
        """The finding in one sentence, fit for a terminal."""
        where = f"cell {self.cell}: " if self.cell else ""
        other = f"event {self.other} gives" if self.other and self.other != self.event else "it should be"
        said = f"{where}event {self.event} says {self.field} {_short(self.said)}, {other} {_short(self.follows)}"
        return printable(f"{said} ({self.link})")

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "link": self.link, "run": self.run, "cell": self.cell, "event": self.event, "field": self.field,
            "said": self.said, "other": self.other, "follows": self.follows,
        }  # fmt: skip


def _short(text: str) -> str:
    if len(text) == 64 and all(letter in "0123456789abcdef" for letter in text):
        return text[:12]
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


@dataclass
class Finder:
    """Gathers what one check finds; `not_held` says which links this ledger is too old, or too bare, to hold."""

    run: str = ""
    found: list[Broken] = field(default_factory=list[Broken])
    not_held: dict[str, None] = field(default_factory=dict[str, None])

    def hold(
        self, link: str, event: int, place: str, said: object, other: int, follows: object, *, cell: int = 0
    ) -> bool:  # fmt: skip
        """Note the link as broken unless `said` equals `follows`; whether it holds."""
        if said == follows:
            return True
        self.broken(link, event, place, said, other, follows, cell=cell)
        return False

    def broken(
        self, link: str, event: int, place: str, said: object, other: int, follows: object, *, cell: int = 0
    ) -> None:  # fmt: skip
        """Note a link that is false."""
        self.found.append(Broken(link, self.run, cell, event, place, _text(said), other, _text(follows)))

    def skip(self, sentence: str) -> None:
        """Note a link that can't be held here, once however often it is met."""
        self.not_held[sentence] = None


def _text(value: object) -> str:
    return value if isinstance(value, str) else repr(value)
