"""Links of a freeze: its blobs against its own digests, and a fixture's list of cases against the file that it lists.

A freeze is looked at once, however many runs stand on it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness._errors import HarnessError
from harness._identity import digest, file_digest
from harness._rules import rules_digest
from harness._suite import Case, case_of_line
from harness.links._broken import Finder
from ledger import Ledger, LedgerError, NotFound
from ledger.kinds import Freeze, Plan

__all__ = ["Freezes", "FrozenCase"]


@dataclass(frozen=True, slots=True)
class FrozenCase:
    """A case as the frozen file has it, with the keyed digests of its input and its gold, worked out from that file."""

    case: Case
    input: str
    gold: str


@dataclass
class Freezes:
    """The freezes of a ledger, each read and checked when it is first asked for.

    What is broken about a freeze is noted with `finder` once. A body or blob that is withheld gives None.
    """

    ledger: Ledger
    finder: Finder
    _bodies: dict[int, Freeze | None] = field(default_factory=dict[int, "Freeze | None"])
    _fixtures: dict[int, tuple[FrozenCase, ...] | None] = field(default_factory=dict[int, Any])

    def body(self, seq: int) -> Freeze | None:
        """The freeze of that seq; None where its body is withheld, or the event is none."""
        if seq not in self._bodies:
            self._bodies[seq] = self._read(seq)
        return self._bodies[seq]

    def blob(self, seq: int, name: str) -> bytes | None:
        """A blob of a freeze; None where it has none, or it is withheld."""
        body = self.body(seq)
        if body is None or name not in body.blobs:
            return None
        try:
            return self.ledger.blob(seq, name)
        except NotFound:
            return None

    def cases(self, seq: int) -> tuple[FrozenCase, ...] | None:
        """A fixture's cases in file order, as its frozen file has them; None where that can't be read."""
        if seq not in self._fixtures:
            self._fixtures[seq] = self._cases(seq)
        return self._fixtures[seq]

    def thawed(self, plan: Plan) -> Mapping[tuple[str, str], Case] | None:
        """The cases of a plan's fixtures by fixture and id; None where one of them can't be read."""
        found: dict[tuple[str, str], Case] = {}
        for each in plan.fixtures:
            cases = self.cases(each.freeze)
            if cases is None:
                return None
            found.update(((each.name, frozen.case.id), frozen.case) for frozen in cases)
        return found

    def check(self, seq: int) -> None:
        """Hold a freeze to its own blobs."""
        self.cases(seq)

    def _read(self, seq: int) -> Freeze | None:
        try:
            body = self.ledger.body(seq)
        except (NotFound, LedgerError):
            return None
        if not isinstance(body, Freeze):
            return None
        self._bodies[seq] = body
        file = self.blob(seq, "file")
        if file is not None:
            self.finder.hold("freeze.digest", seq, "digest", body.digest, seq, file_digest(file))
        if body.what == "rules":
            self._check_rules(seq, body, file)
        else:
            self.finder.hold("freeze.identity", seq, "identity", body.identity, seq, body.digest)
        return body

    def _check_rules(self, seq: int, body: Freeze, file: bytes | None) -> None:
        data = self.blob(seq, "sources")
        if data is None:
            return
        try:
            texts: Mapping[str, Any] = json.loads(data)
            sources = {name: str(text).encode() for name, text in texts.items()}
        except (ValueError, AttributeError):
            self.finder.broken("freeze.sources", seq, "the blob sources", "no JSON object", seq, "sources by module")
            return
        shown = {name: file_digest(source) for name, source in sources.items()}
        for name in sorted({*shown, *body.sources}):
            said, follows = body.sources.get(name, "none"), shown.get(name, "none")
            self.finder.hold("freeze.sources", seq, f"sources {name}", said, seq, follows)
        if file is not None:
            self.finder.hold("freeze.identity", seq, "identity", body.identity, seq, rules_digest(file, sources))

    def _cases(self, seq: int) -> tuple[FrozenCase, ...] | None:
        body = self.body(seq)
        if body is None or body.what != "fixture":
            return None
        own = "jsonl" in body.blobs
        data = self.blob(seq, "jsonl" if own else "file")
        if data is None:
            return None
        key = bytes.fromhex(self.ledger.genesis.identity_key)
        found: list[FrozenCase] = []
        for number, line in enumerate(data.split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                case = case_of_line(line, number, f"event {seq}, line {number}")
                found.append(FrozenCase(case, digest(case.input_text, key), digest(case.gold_text, key)))
            except HarnessError as error:
                self.finder.broken("freeze.cases", seq, f"line {number}", "a line that is no case", seq, str(error))
                return None
        for name, times in Counter(each.case.id for each in found).items():
            if times > 1:
                self.finder.broken("freeze.case_ids", seq, f"the case {name!a}", f"{times} times", seq, "once")
        listed = self.blob(seq, "cases")
        if listed is not None:
            self._check_list(seq, found, listed, lines=not own)
        return tuple(found)

    def _check_list(self, seq: int, cases: Sequence[FrozenCase], listed: bytes, *, lines: bool) -> None:
        """The blob `cases` says what the file's cases are digests of; resume, reuse and comparing believe it."""
        try:
            rows: list[dict[str, Any]] = [json.loads(line) for line in listed.split(b"\n") if line]
            said = [(row["id"], row["line"], row["input"], row["gold"]) for row in rows]
        except (ValueError, KeyError, TypeError):
            self.finder.broken(
                "freeze.cases", seq, "the blob cases", "lines that are no cases", seq, "id, line, digests"
            )
            return
        self.finder.hold("freeze.cases", seq, "cases in the blob cases", len(said), seq, len(cases))
        for (name, line, given, gold), each in zip(said, cases, strict=False):
            at = f"the case {each.case.id!a}"
            self.finder.hold("freeze.cases", seq, f"{at}, id", name, seq, each.case.id)
            self.finder.hold("freeze.cases", seq, f"{at}, input", given, seq, each.input)
            self.finder.hold("freeze.cases", seq, f"{at}, gold", gold, seq, each.gold)
            if lines:
                self.finder.hold("freeze.cases", seq, f"{at}, line", line, seq, each.case.line)
