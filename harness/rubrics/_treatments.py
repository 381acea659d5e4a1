"""How a treatment differs from its control: by one piece put in, the attack, or by more.

White space where the piece was put in may differ, since a line break often comes with it.
"""

from __future__ import annotations

from typing import Literal

__all__ = ["Change", "change"]

Change = Literal["space", "put_in", "rewritten"]
"""Nothing but white space; one piece that was put in; something of the control that is gone or stands elsewhere."""


def change(control: str, treatment: str) -> Change:
    """What was done to a control to make its treatment."""
    start = _alike(control, treatment)
    end = min(_alike(control[::-1], treatment[::-1]), len(control) - start, len(treatment) - start)
    if control[start : len(control) - end].strip():
        return "rewritten"
    return "put_in" if treatment[start : len(treatment) - end].strip() else "space"


def _alike(one: str, other: str) -> int:
    """How many characters both begin with."""
    both = zip(one, other, strict=False)
    return next((at for at, (mine, theirs) in enumerate(both) if mine != theirs), min(len(one), len(other)))
