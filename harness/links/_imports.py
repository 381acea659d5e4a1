"""Links of imported evidence: what each cell has is what the artifact holds for its case, read again by its format.

A fixture of another project's form is read again too: its blob `jsonl` is what our cases are made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness._errors import HarnessError
from harness._identity import file_digest
from harness._suite import Fixture
from harness._thaw import thaw_cases
from harness._typed import typed
from harness.imports import FORMATS, ForeignCell, ForeignRun, read_answers
from harness.links._broken import Finder
from harness.links._cells import CellLinks
from ledger import Ledger, NotFound
from ledger.kinds import Import, Plan

__all__ = ["check_imports"]

_ANSWERS = "answers"
_IMPORTS = "SELECT seq, cell, body FROM main.events WHERE run = ? AND kind = 'import' ORDER BY cell, seq"


@dataclass(frozen=True, slots=True)
class _Said:
    """An import event: its seq and body; the body is None where it is withheld."""

    seq: int
    body: Import | None


def check_imports(ledger: Ledger, run: str, plan: Plan, cells: CellLinks, finder: Finder) -> None:
    """Hold every imported output of a run to the artifact that the run was read out of."""
    whole: _Said | None = None
    mine: dict[int, _Said] = {}
    for seq, cell, text in ledger.sql(_IMPORTS, (run,)):
        said = _Said(seq, None if text is None else typed(Import, text, f"event {seq}"))
        if cell:
            mine[cell] = said
        else:
            whole = whole or said
    if whole is None:
        finder.skip("what imported outputs were read out of: no artifact stands in the run")
        return
    data = _blob(ledger, whole.seq, "file")
    if whole.body is None or data is None:
        finder.skip("imported outputs whose artifact is withheld")
        return
    finder.hold("import.digest", whole.seq, "digest", whole.body.digest, whole.seq, file_digest(data))
    found = _read(ledger, plan, whole, data, finder)
    if found is None:
        return
    for cell, kept in cells.kept.items():
        _cell(ledger, cell, mine.get(cell), found.get(kept.frozen.case.id), whole.seq, finder)


def _cell(
    ledger: Ledger, cell: int, said: _Said | None, read: ForeignCell | None, whole: int, finder: Finder
) -> None:  # fmt: skip
    if said is None or read is None:
        there, should = said is not None, read is not None
        at = said.seq if said is not None else whole
        finder.hold("import.artifact", at, "an output for the case", there, whole, should, cell=cell)
        return
    output = _blob(ledger, said.seq, "output")
    if output is not None and output != read.output:
        finder.broken("import.artifact", said.seq, "output", output.decode("utf-8", "replace"), whole,
                      read.output.decode("utf-8", "replace"), cell=cell)  # fmt: skip


def _read(
    ledger: Ledger, plan: Plan, whole: _Said, data: bytes, finder: Finder
) -> Mapping[str, ForeignCell] | None:  # fmt: skip
    """What the artifact holds of the plan's one candidate, by case; None where its format isn't known here."""
    assert whole.body is not None
    label, fixture = plan.candidates[0].label, plan.fixtures[0]
    file, jsonl = _blob(ledger, fixture.freeze, "file"), _blob(ledger, fixture.freeze, "jsonl")
    if file is None:
        return None
    # Where an answer names no model, its file's name is the model: the plan has that, and nothing else has the file's.
    path = Path(f"{label}.jsonl")
    try:
        if whole.body.format == _ANSWERS:
            runs: Sequence[ForeignRun] = read_answers(data, path, _fixture(ledger, plan, file))
        elif whole.body.format in FORMATS:
            form = FORMATS[whole.body.format]
            read = form.read_fixture(file, path)
            if jsonl is not None and read.jsonl is not None and jsonl != read.jsonl:
                freeze = fixture.freeze
                finder.broken("freeze.jsonl", freeze, "the blob jsonl", "other cases", freeze, "those of the blob file")
            runs, _ = form.read_artifact(data, path, read)
        else:
            finder.skip(f"imported outputs of the format {whole.body.format!a}, which nothing here reads")
            return None
    except HarnessError as error:
        finder.skip(f"imported outputs that this release reads otherwise: {error}")
        return None
    found = next((each.cells for each in runs if each.candidate == label), None)
    if found is None:
        names = ", ".join(each.candidate for each in runs)
        finder.broken("import.artifact", whole.seq, "a run of", label, whole.seq, names)
    return found


def _fixture(ledger: Ledger, plan: Plan, file: bytes) -> Fixture:
    name = plan.fixtures[0].name
    return Fixture(plan.suite, name, file, tuple(thaw_cases(ledger, plan).values()))


def _blob(ledger: Ledger, seq: int, name: str) -> bytes | None:
    try:
        return ledger.blob(seq, name)
    except NotFound:
        return None
