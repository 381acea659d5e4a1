"""Code or an environment that moved, settled by behaviour: does it still come to what is recorded?

    another result    of any recorded derivation, or another request (as JSON) than was recorded for a cell that is
                      still to be asked: refused, and no word of a person helps
    the same          said, and in a run that goes on noted; nobody need accept it
    can't be told     nothing is recorded that it could be held against, or only the layout of the requests is another:
                      a person's word is needed (`--accept code`)

What is derived of replies still to come nobody can know ahead: that the code which reads them is the one that was
frozen, or derives the same of all that came so far, is what this says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness._composed import RequestKey, composed, recorded
from harness._environment import Shift, environment, moved_environment, shifts_in_words
from harness._errors import IdentityError, RefusedError
from harness._identity import tagged_form
from harness._moved import Moved
from harness._plan import Measurement
from harness._recorded import Record
from harness._replay_check import check_run
from harness._suite import Case, Suite
from ledger import Ledger

__all__ = ["Behaviour", "behaviour_of", "requests_moved"]

_CELLS_SHOWN = 8


@dataclass(frozen=True)
class Behaviour:
    """What the code here makes of what is recorded. `moved` stands in the way; `said` is what people are told."""

    moved: tuple[Moved, ...]
    said: str


def behaviour_of(
    ledger: Ledger, record: Record, code: Sequence[Moved], cases: Mapping[tuple[str, str], Case] | None
) -> Behaviour:
    """Hold what moved in code (`code`, as harness._moved names it) and in the environment against what is recorded.

    `cases` are those on disk, found to be the frozen ones; None reads the frozen ones. Appends nothing.
    """
    shifts = tuple(
        each for each in moved_environment(record.plan.environment, environment()) if each.weight == "derives"
    )
    if not code and not shifts:
        return Behaviour((), "")
    what = "code" if code else f"the environment ({shifts_in_words(shifts)})"
    try:
        checked = check_run(ledger, record.run, cases=cases)
    except RefusedError as error:
        return Behaviour(tuple(code), f"{what} moved, and nothing can be held against it: {error}")
    planned = {each.label for each in record.plan.rules}
    mine = [each for each in checked.rules if each.label in planned]
    cells = sorted({each.cell for some in mine for each in some.differences if each.cell})
    faults = [each.fault for each in mine if each.fault]
    total, same = sum(each.total for each in mine), sum(each.reproduced for each in mine)
    withheld = sum(each.withheld for each in mine)
    if cells or faults:
        how = faults[0] if faults else f"derives the recorded replies of cells {_listed(cells)} otherwise"
        return Behaviour(tuple(_not_comparable(code, shifts, how)), "")
    if code and not total and (withheld or any(each.paths for each in code)):
        return Behaviour(tuple(code), "")
    apart = f"; {withheld} can't be checked, for what they rest on is withheld" if withheld else ""
    return Behaviour((), f"{what} moved; {same} of {total} derivations identical{apart}")


def _not_comparable(code: Sequence[Moved], shifts: Sequence[Shift], how: str) -> list[Moved]:
    found: list[Moved] = []
    for each in code:
        modules = ", ".join(each.paths) or each.before.partition(" ")[0]
        found.append(replace(each, where=f"{modules}, which now {how}: NOT COMPARABLE,", paths=(), accept=""))
    if not found:
        found += [
            Moved("environment", f"{each.name}, under which this code {how}: NOT COMPARABLE,", each.before, each.after)
            for each in shifts
        ]
    return found


def _listed(cells: Sequence[int]) -> str:
    return ", ".join(map(str, cells[:_CELLS_SHOWN])) + (", …" if len(cells) > _CELLS_SHOWN else "")


def requests_moved(
    ledger: Ledger, record: Record, suite: Suite, measurements: Sequence[Measurement], code: Sequence[Moved]
) -> list[Moved]:
    """Where code moved: whether it would still make the requests that are recorded, for a run that asks more of them.

    Another value of a body is another experiment; the same in another layout a person may accept.
    """
    held = {each.cell: last for each in measurements if (last := record.last(each.cell)) is not None and last.request}
    before = {cell: key for cell, last in held.items() if (key := recorded(ledger, last)) is not None}
    after = composed(suite, [each for each in measurements if each.cell in before])
    otherwise = sorted(cell for cell in before if cell in after and before[cell] != after[cell])
    apart = [cell for cell in otherwise if _value(before[cell]) != _value(after[cell])]
    if not otherwise:
        return []
    how = f"asks cells {_listed(apart)} for something else: NOT COMPARABLE," if apart else ""
    how = how or f"writes the requests of cells {_listed(otherwise)} in another layout"
    return [
        replace(
            each, where=f"{each.before.partition(' ')[0]}, which now {how}", paths=(), accept="" if apart else "code"
        )
        for each in code
    ]


def _value(key: RequestKey) -> RequestKey:
    """A request with its body as identity sees it, where it is JSON."""
    try:
        return (*key[:2], tagged_form(key[2].decode("utf-8")))
    except (UnicodeDecodeError, IdentityError):
        return key
