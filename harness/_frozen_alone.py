"""A complete run whose suite isn't on disk any more, held against what was frozen: do the frozen files still give it?

    fixture   the file has the digest that the freeze names, and its cases those of the freeze's list
    prompt    the file has the digest that the candidate names
    rules     the file has the digest that the freeze names
    cell      its case is in its fixture, once for each candidate and epoch; input, gold, people's fields and identity
              are what that case gives

What a redaction withholds is passed over, and said.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness._errors import HarnessError
from harness._identity import digest, file_digest, identity
from harness._moved import FrozenCase, Moved, read_frozen_cases
from harness._people import people_digest
from harness._recorded import Record
from harness._suite import Case, case_of_line
from ledger import Ledger, NotFound
from ledger.kinds import Cell, Freeze, PlanCandidate

__all__ = ["held_by_the_frozen"]


class _Held:
    """The check of one run. `moved` gathers what is false, `withheld` what can't be looked at."""

    def __init__(self, ledger: Ledger, record: Record) -> None:
        self.ledger = ledger
        self.record = record
        self.key = bytes.fromhex(ledger.genesis.identity_key)
        self.moved: list[Moved] = []
        self.withheld: list[str] = []

    def blob(self, freeze: int, name: str, what: str) -> bytes | None:
        try:
            return self.ledger.blob(freeze, name)
        except NotFound:
            self.withheld.append(what)
            return None

    def file(self, freeze: int, what: str) -> bytes | None:
        """The frozen file, held against the digest that its freeze names."""
        data = self.blob(freeze, "file", what)
        body = self.ledger.body(freeze)
        if data is not None and isinstance(body, Freeze) and file_digest(data) != body.digest:
            self.moved.append(Moved("freeze", f"{what} (event {freeze})", body.digest, file_digest(data)))
        return data

    def fixture(self, name: str, freeze: int) -> dict[str, Case] | None:
        data = self.file(freeze, f"fixture {name}")
        if data is not None and "jsonl" in self.ledger.body(freeze).blobs:
            data = self.blob(freeze, "jsonl", f"the cases of {name}")
        listed = self.blob(freeze, "cases", f"the list of {name}")
        if data is None:
            return None
        rows = [(number, line) for number, line in enumerate(data.split(b"\n"), start=1) if line.strip()]
        cases = [case_of_line(line, number, f"event {freeze}, line {number}") for number, line in rows]
        given = [
            FrozenCase(each.id, each.line, digest(each.input_text, self.key), digest(each.gold_text, self.key))
            for each in cases
        ]
        if listed is not None:
            self._list(name, freeze, read_frozen_cases(listed), given)
        return {each.id: each for each in cases}

    def _list(self, name: str, freeze: int, listed: Sequence[FrozenCase], given: Sequence[FrozenCase]) -> None:
        where = f"fixture {name} (event {freeze})"
        if [(each.id, each.line) for each in listed] != [(each.id, each.line) for each in given]:
            self.moved.append(Moved("case", where, f"{len(listed)} listed cases", f"{len(given)} others in the file"))
            return
        for said, found in zip(listed, given, strict=True):
            for part in ("input", "gold"):
                if getattr(said, part) != getattr(found, part):
                    at = f"case {name}/{said.id}"
                    self.moved.append(Moved(part, at, getattr(said, part), getattr(found, part)))

    def cells(self, fixtures: dict[str, dict[str, Case] | None]) -> None:
        plan = self.record.plan
        candidates = {each.label: each for each in plan.candidates}
        if len(self.record.cells) != plan.cells:
            self.moved.append(Moved("cells", "", str(plan.cells), str(len(self.record.cells))))
        seen: set[tuple[str, str, str, int]] = set()
        for number, (_, cell) in sorted(self.record.cells.items()):
            place = (cell.fixture, cell.case, cell.candidate, cell.epoch)
            fixture = fixtures.get(cell.fixture, {})
            case = fixture.get(cell.case) if fixture else None
            twice, mine = place in seen, candidates.get(cell.candidate)
            seen.add(place)
            if mine is None or twice or (case is None and fixture is not None):
                why = "there twice" if twice else "not in the frozen files" if mine else "of no planned candidate"
                self.moved.append(Moved("cell", f"cell {number} ({cell.fixture}/{cell.case})", "planned", why))
            elif case is not None:
                self._cell(number, cell, case, mine)

    def _cell(self, number: int, cell: Cell, case: Case, mine: PlanCandidate) -> None:
        asked = digest(case.input_text, self.key)
        found = {
            "input": asked,
            "gold": digest(case.gold_text, self.key),
            "identity": identity(
                suite=self.record.plan.suite, input_digest=asked, candidate=mine.digest, arm=cell.arm,
                epoch=cell.epoch, twin=cell.twin, key=self.key,
            ),
        }  # fmt: skip
        if cell.people is not None:
            found["people"] = people_digest(case.meta_text, self.record.plan.people or (), self.key) or "none"
        where = f"cell {number} ({cell.fixture}/{cell.case})"
        self.moved += [
            Moved(part, where, said, found[part]) for part in found if (said := getattr(cell, part)) != found[part]
        ]


def held_by_the_frozen(ledger: Ledger, record: Record, folder: Path) -> tuple[list[Moved], str]:
    """What the frozen files don't give any more, and what people are told; `folder` is where the suite isn't."""
    held = _Held(ledger, record)
    try:
        fixtures = {each.name: held.fixture(each.name, each.freeze) for each in record.plan.fixtures}
        for each in record.plan.candidates:
            data = None if each.prompt_freeze is None else held.file(each.prompt_freeze, f"the prompt of {each.label}")
            if data is not None and file_digest(data) != each.prompt:
                held.moved.append(Moved("prompt", f"candidate {each.label}", each.prompt, file_digest(data)))
        for each in record.plan.rules:
            held.file(each.freeze, f"the rules {each.label}")
        held.cells(fixtures)
    except (HarnessError, ValueError, KeyError, TypeError) as error:
        held.moved.append(Moved("freeze", "a fixture", "readable", f"not ({error})"))
    said = f"suite {record.plan.suite} isn't on disk ({folder} holds none), so it was held against what was frozen"
    if held.withheld:
        said += f", but for {', '.join(dict.fromkeys(held.withheld))}, which a redaction withholds"
    return held.moved, said
