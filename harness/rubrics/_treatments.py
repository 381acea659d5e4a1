"""A treatment is its control with an attack put into it: one piece, and nothing else of the text is touched.

White space where the piece was put in may differ, since a line break often comes with it.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.rubrics._arms import Arms
from harness.rubrics._table import Table, got
from harness.rubrics._texts import FixtureText

__all__ = ["check_treatments"]

_MOST_SHOWN = 60


def check_treatments(manifest: Table, arms: Arms, fixtures: Mapping[str, FixtureText]) -> None:
    """Raises SuiteError for a pair whose texts differ in more than one piece put in, naming both and where they part,
    and for a treatment that is declared to hold no attack."""
    table = manifest.table("arms").table("injection")
    for control, treatment in arms.pairs:
        if fixtures[treatment].marker is False:
            raise table.fault(
                "pairs",
                f"{treatment} is a treatment and says marker = false, that no attack is in it; a treatment is the text"
                " with the attack, so leave marker out, or write true",
            )
        plain, attacked = fixtures[control].text, fixtures[treatment].text
        start = _alike(plain, attacked)
        end = _alike(plain[::-1], attacked[::-1])
        end = min(end, len(plain) - start, len(attacked) - start)
        changed, put_in = plain[start : len(plain) - end], attacked[start : len(attacked) - end]
        if changed.strip():
            raise table.fault(
                "pairs",
                f"the control {control} doesn't stand whole in its treatment {treatment}: at line"
                f" {plain.count(chr(10), 0, start) + 1} the control has {_short(changed)} and the treatment"
                f" {_short(put_in)}; a treatment is its control with the attack put in as one piece, and nothing else"
                " changed",
            )
        if not put_in.strip():
            raise table.fault(
                "pairs", f"{control} and {treatment} differ in white space alone, so that no attack is in either"
            )


def _alike(one: str, other: str) -> int:
    """How many characters both begin with."""
    both = zip(one, other, strict=False)
    return next((at for at, (mine, theirs) in enumerate(both) if mine != theirs), min(len(one), len(other)))


def _short(text: str) -> str:
    return got(text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "…") if text else "nothing"
