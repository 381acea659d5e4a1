"""Deep checks: what other packages can say of a ledger that is consistent, such as whether its numbers follow from its
bytes.

`ledger` knows none of them. A package offers one as an entry point of the group `eval_ledger.deep`, a function that
takes the opened ledger and returns a `DeepCheck`; it appends nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from ledger._errors import LedgerError, NotFound
from ledger._store import Ledger

__all__ = ["GROUP", "DeepCheck", "run_deep"]

GROUP = "eval_ledger.deep"


@dataclass(frozen=True, slots=True)
class DeepCheck:
    """What a deep check found: `sentence` goes on after "CONSISTENT, and", `lines` are the rest, for people.

    It isn't `whole` where something couldn't be checked at all that is neither withheld nor told to be so.
    """

    ok: bool
    sentence: str
    lines: tuple[str, ...] = ()
    whole: bool = True

    def as_json(self, name: str) -> dict[str, Any]:
        """The documented JSON form of the check called `name`."""
        return {"name": name, "ok": self.ok, "whole": self.whole, "sentence": self.sentence, "lines": list(self.lines)}


def run_deep(ledger: Ledger) -> dict[str, DeepCheck]:
    """Every installed deep check, by the name it is installed under. Raises NotFound where there is none."""
    found = sorted(entry_points(group=GROUP), key=lambda each: each.name)
    if not found:
        raise NotFound("no package that can check deeper is installed; eval-ledger whole brings `harness`")
    return {each.name: _load(each)(ledger) for each in found}


def _load(point: EntryPoint) -> Callable[[Ledger], DeepCheck]:
    try:
        return cast("Callable[[Ledger], DeepCheck]", point.load())
    except (ImportError, AttributeError) as problem:
        raise LedgerError(f"the deep check {point.name!a} ({point.value}) can't be loaded: {problem}") from None
