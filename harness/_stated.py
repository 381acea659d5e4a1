"""Totals that an imported artifact states of itself, held against what its own rows come to.

An import event keeps them among its claims: `stated.NAME` as the artifact has it, and `counted.NAME`, what its rows
give; without the second nothing in the rows tells. A total that differs is believed by nobody: both are said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

__all__ = [
    "COUNTED",
    "STATED",
    "Stated",
    "agrees",
    "claims_beside",
    "counted_text",
    "imported_words",
    "stated_in",
    "stated_words",
]

STATED, COUNTED = "stated.", "counted."
_NUMBER = re.compile(r"\s*([+-]?[0-9]{1,18}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?)\s*(%?)\s*")
_DIGITS_OF_FLOAT = 15
"""Decimal digits that a float of 64 bits always keeps."""
_RATIO = re.compile(r"\s*([0-9]{1,18})\s*(?:/|of)\s*([0-9]{1,18})\s*")


@dataclass(frozen=True, slots=True)
class Stated:
    """One total: what the artifact says, and what its rows come to; None where they don't tell."""

    name: str
    says: str
    rows: str | None

    @property
    def differs(self) -> bool:
        """Whether the rows give another number. What they don't tell is no difference, and no agreement either."""
        return self.rows is not None and not agrees(self.says, self.rows)

    def as_json(self) -> dict[str, str | bool | None]:
        """The documented JSON form."""
        return {"total": self.name, "stated": self.says, "rows": self.rows, "differs": self.differs}


def _read(text: str) -> Fraction | None:
    """A count or a share as `counted_text` writes it."""
    ratio = _RATIO.fullmatch(text)
    if ratio is not None:
        return Fraction(int(ratio[1]), int(ratio[2])) if int(ratio[2]) else None
    number = _NUMBER.fullmatch(text)
    return Fraction(Decimal(number[1])) if number else None


def counted_text(k: int, n: int | None = None) -> str:
    """What rows come to, as a claim has it: a count, or k of n of a share."""
    return str(k) if n is None else f"{k}/{n}"


def agrees(says: str, counted: str) -> bool:
    """Whether a stated number is what the rows give (as `counted_text` has it): exactly, or a share rounded to as many
    places as it has.

    A share may be stated as a percentage, with its sign or, above 1, without. What is no number agrees with nothing.
    """
    rows, share = _read(counted), "/" in counted
    ratio = _RATIO.fullmatch(says)
    if ratio is not None:
        return rows is not None and int(ratio[2]) > 0 and Fraction(int(ratio[1]), int(ratio[2])) == rows
    found = _NUMBER.fullmatch(says)
    if found is None or rows is None or (found[2] and not share):
        return False
    try:
        number = Decimal(found[1])
    except InvalidOperation:
        return False
    sign_digits = number.as_tuple()
    places = -sign_digits.exponent if isinstance(sign_digits.exponent, int) and sign_digits.exponent < 0 else 0
    shown = Fraction(number)
    if not share:
        return shown == rows
    # One written out to all the digits of a float was rounded by arithmetic, not by hand: 100 * 0.58 is
    # 57.99999999999999. Such a one is off by a few units of the sixteenth digit of its scale, 1 or 100.
    whole = places > 0 and max(places, len(sign_digits.digits)) >= _DIGITS_OF_FLOAT
    scales = [100] if found[2] else [1, 100] if shown > 1 else [1]
    for scale in scales:
        if whole:
            within = Fraction(scale, 10 ** (_DIGITS_OF_FLOAT - 1))
        elif places or scale == 100:
            within = Fraction(1, 2 * 10**places)
        else:
            within = Fraction(0)  # A share of no places is 0 or 1, and no rounding makes it that.
        if abs(shown - scale * rows) <= within:
            return True
    return False


def claims_beside(stated: Mapping[str, str], rows: Mapping[str, str]) -> dict[str, str]:
    """The claims of an import event: each stated total and, where the rows tell, what they come to."""
    found: dict[str, str] = {}
    for name, says in stated.items():
        found[STATED + name] = says
        if name in rows:
            found[COUNTED + name] = rows[name]
    return found


def stated_in(claimed: Mapping[str, str]) -> list[Stated]:
    """The totals among an import's claims, by name."""
    names = sorted(key.removeprefix(STATED) for key in claimed if key.startswith(STATED))
    return [Stated(name, claimed[STATED + name], claimed.get(COUNTED + name)) for name in names]


def imported_words(imported: Iterable[Mapping[str, Any]]) -> list[str]:
    """What a report says of the totals of its run's imports."""
    return [said for row in imported for said in stated_words(stated_in(row["claimed"]), "the artifact")]


def stated_words(totals: Iterable[Stated], whose: str) -> list[str]:
    """What is to be said of them: each that differs, then those that nothing holds; of those that agree, nothing."""
    every: Sequence[Stated] = list(totals)
    said = [
        f"STATED OTHERWISE: {whose} states {each.name} {each.says}, and its own rows come to {each.rows}"
        for each in every if each.differs
    ]  # fmt: skip
    untold = [f"{each.name} {each.says}" for each in every if each.rows is None]
    if untold:
        said.append(f"Stated, and nothing in the rows of {whose} tells: {', '.join(untold)}")
    return said
