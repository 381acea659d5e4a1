"""Answers that somebody has already, as runs of a suite: one JSON object a line, with id, output, model and raw.

    {"id": "r0001", "output": "Oslo", "model": "gpt-x", "raw": …}

`id` is a case's; `output` the text that the model wrote, null where none was captured; `model` names whose it is (left
out: the file's name); `raw` may be anything, and is kept. All that is known is text, and the grade says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness._errors import UsageError
from harness._fit import check_golds, located
from harness._json import JSON, JSONError, loads, members
from harness._lines import excerpt, json_lines, not_lines
from harness._rules import load_rules
from harness._suite import Fixture, load_suite
from harness.imports._files import shown, what
from harness.imports._foreign import ForeignCell, ForeignFixture, ForeignRun
from harness.imports._formats import Format
from harness.imports._job import Imported, import_read

__all__ = ["AnswersJob", "BadAnswers", "import_answers", "read_answers"]

_KEYS: Final = ("id", "output", "model", "raw")
_MODEL: Final = re.compile("[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]{1,200}")
_MOST_BAD: Final = 20


@dataclass(frozen=True)
class AnswersJob:
    """What a person asked for: answer files for one fixture of a suite (`suite` is NAME or NAME/FIXTURE)."""

    suite: str
    files: Sequence[Path]


class BadAnswers(UsageError):
    """Lines that are no answers to the suite's cases; `rows` says where each stands and why."""

    def __init__(self, message: str, rows: Sequence[tuple[str, str]]) -> None:
        super().__init__(message)
        self.rows = rows


def import_answers(job: AnswersJob, db: Path) -> Imported:
    """Import answer files, one run a (file, model), scored under the suite's rule sets.

    Cases without an answer stay planned, as not_asked. The same file again appends nothing. Everything that can be
    refused is refused before the ledger is touched. Raises UsageError, RefusedError, LedgerError.
    """
    suite, fixtures = load_suite(job.suite)
    if len(fixtures) != 1:
        named = ", ".join(f"--suite {job.suite.rstrip('/')}/{each.name}" for each in fixtures)
        raise UsageError(f"answers belong to one fixture, and {job.suite} has {len(fixtures)}: say {named}")
    rules = [load_rules(suite, name) for name in suite.rule_names]
    check_golds(suite.stage_functions, rules, located(suite, fixtures))
    fixture = fixtures[0]
    form = Format(
        name="answers", about="answers to the cases of a suite", grade="text", suite=suite.name,
        rules=suite.rule_names, read_fixture=_no_fixture, read_artifact=_read, of_suite=True,
    )  # fmt: skip
    return import_read(form, suite, rules, ForeignFixture(fixture, None, frozenset()), job.files, db)


def _no_fixture(_: bytes, path: Path) -> ForeignFixture:
    raise UsageError(f"{shown(path)}: answers stand on a suite's own cases; say --suite NAME")


def _read(data: bytes, path: Path, fixture: ForeignFixture) -> tuple[Sequence[ForeignRun], Sequence[str]]:
    return read_answers(data, path, fixture.fixture), ()


def read_answers(data: bytes, path: Path, fixture: Fixture) -> list[ForeignRun]:
    """The runs of an answer file, one a model, in the order in which each first stands there.

    Raises BadAnswers with every line that won't do: what isn't an answer, is of no case, or answers one twice.
    """
    if path.suffix.lower() in (".csv", ".tsv", ".parquet"):
        raise UsageError(
            f'{shown(path)}: expected JSON lines, one {{"id", "output"}} a line, got a {path.suffix[1:]} table'
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{shown(path)}:{line}: not UTF-8 (byte {error.start}); save it as UTF-8") from None
    ids = {case.id for case in fixture.cases}
    found: dict[str, dict[str, ForeignCell]] = {}
    lines: dict[tuple[str, str], int] = {}
    bad: list[tuple[str, str]] = []
    count = 0
    for number, raw in json_lines(text):
        count += 1
        try:
            model, cell = _cell(raw, path)
            if cell.case not in ids:
                raise ValueError(f"no case of {fixture.suite}/{fixture.name} has the id {cell.case[:80]!r}")
            if (model, cell.case) in lines:
                earlier = lines[model, cell.case]
                raise ValueError(f"{cell.case!r} is answered on line {earlier} too, by the same model")
        except ValueError as error:
            bad.append((f"line {number}", str(error)))
            continue
        lines[model, cell.case] = number
        found.setdefault(model, {})[cell.case] = cell
    if bad:
        more = f", the first {_MOST_BAD} of them above" if len(bad) > _MOST_BAD else " (see above)"
        other = not_lines(text) if len(bad) == count else ""
        raise BadAnswers(
            f"{shown(path)}: {len(bad)} of {count} lines are no answers to this suite's cases{more}; mend them, nothing"
            f" was imported{other}",
            bad[:_MOST_BAD],
        )
    if not found:
        raise UsageError(f"{shown(path)}: expected one answer a line, got none")
    return [ForeignRun(model, "", cells, {}) for model, cells in found.items()]


def _cell(raw: str, path: Path) -> tuple[str, ForeignCell]:
    """One line as (model, cell). Raises ValueError with one sentence."""
    try:
        found = members(raw)
    except JSONError as error:
        raise ValueError(f"expected one JSON object, got {excerpt(raw)}: {error}") from None
    unknown = next((key for key in found if key not in _KEYS), None)
    if unknown is not None:
        raise ValueError(f"unknown key {unknown[:60]!r}; an answer has {', '.join(_KEYS)}")
    values: Mapping[str, JSON] = {key: loads(text) for key, text in found.items()}
    name, output, model = values.get("id"), values.get("output"), values.get("model", path.stem)
    if not isinstance(name, str | int) or isinstance(name, bool):
        raise ValueError(f"id: expected the id of a case, got {what(name) if 'id' in found else 'nothing'}")
    if output is not None and not isinstance(output, str):
        raise ValueError(f"output: expected the text that the model wrote, got {what(output)}; write JSON as a text")
    if not isinstance(model, str) or not _MODEL.fullmatch(model) or not model.strip():
        raise ValueError("model: expected 1 to 200 printable characters")
    claimed = {"raw": found["raw"]} if "raw" in found else {}
    if output is None:
        why = "output is null" if "output" in found else "the line has no output"
        return model, ForeignCell(str(name), b"", ("not_captured", why), None, claimed)
    return model, ForeignCell(str(name), output.encode("utf-8", "surrogatepass"), None, None, claimed)
