"""An import from names to runs: read and check every file, then freeze, then append each run whole."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness._carried import portable
from harness._errors import RefusedError
from harness._freeze import Frozen, freeze_foreign
from harness._given import Given
from harness._identity import file_digest, value_digest
from harness._rules import RuleSet, load_rules
from harness._suite import Suite, load_suite
from harness.imports._files import read_file
from harness.imports._foreign import ForeignFixture, ForeignRun, Grade
from harness.imports._formats import Format, find_format
from harness.imports._write import Source, write_run
from ledger import Ledger, RunHeld, hold_run

__all__ = ["ImportJob", "Imported", "ImportedRun", "import_job", "import_read"]

_FIND = (
    "SELECT run, json_extract(body, '$.cells') AS cells FROM main.events WHERE kind = 'plan'"
    " AND body ->> '$.via' = 'import'"
    " AND CASE WHEN json_valid(body ->> '$.given') THEN body ->> '$.given' ->> '$.import' END = ? ORDER BY seq LIMIT 1"
)


@dataclass(frozen=True)
class ImportJob:
    """What a person asked for: artifacts of one format, all of them recorded on one fixture."""

    format: str
    artifacts: Sequence[Path]
    fixture: Path


@dataclass(frozen=True)
class ImportedRun:
    """A run that stands in the ledger for (artifact, fixture, engine); `appended` says whether it was made just now.

    `compared` counts the cells on whose text their reader gave a verdict; `only_theirs` those that theirs took and ours
    under the first rule set doesn't, `only_ours` the other way round. All three are 0 for a run that stood already.
    """

    run: str
    engine: str
    cells: int
    grade: Grade
    appended: bool
    missing: int = 0
    compared: int = 0
    only_theirs: int = 0
    only_ours: int = 0


@dataclass(frozen=True)
class Imported:
    """The runs of an import, in the order of artifacts and engines; what to know of the artifacts; whether the ledger
    was made for it, and how many events were appended. `rules` is the label of the rule set that
    new runs were scored under."""

    runs: Sequence[ImportedRun]
    notes: Sequence[str]
    rules: str
    created: bool
    events: int = 0


@dataclass(frozen=True)
class _Read:
    """An artifact as read, with its plain BLAKE3."""

    data: bytes
    digest: str
    runs: Sequence[ForeignRun] = field(default_factory=list[ForeignRun])


def import_job(job: ImportJob, db: Path) -> Imported:
    """Import artifacts. Everything that can be refused is refused before the ledger is touched.

    Idempotent by content: a run whose artifact, fixture and engine stand in the ledger is found again, whatever the
    files are called now. Each run is one append, whole or not there. Raises UsageError, RefusedError, LedgerError.
    """
    form = find_format(job.format)
    suite, _ = load_suite(form.suite)
    rules = [load_rules(suite, name) for name in form.rules]
    fixture = form.read_fixture(read_file(job.fixture), job.fixture)
    return import_read(form, suite, rules, fixture, job.artifacts, db)


def import_read(
    form: Format, suite: Suite, rules: Sequence[RuleSet], fixture: ForeignFixture, artifacts: Sequence[Path], db: Path
) -> Imported:
    """Import artifacts of a format whose suite, rules and fixture are loaded, as `import_job` does."""
    read: list[_Read] = []
    notes: list[str] = []
    for path in artifacts:
        data = read_file(path)
        runs, more = form.read_artifact(data, path, fixture)
        read.append(_Read(data, file_digest(data), runs))
        notes += more
    ledger, created = Ledger.open_or_create(db)
    with ledger:
        before = ledger.head()[0]
        found = [each for one in read for each in _import_artifact(ledger, form, suite, rules, fixture, one)]
        return Imported(found, notes, rules[0].label, created, ledger.head()[0] - before)


def _import_artifact(
    ledger: Ledger, form: Format, suite: Suite, rules: Sequence[RuleSet], fixture: ForeignFixture, read: _Read
) -> list[ImportedRun]:
    keys = {run.candidate: _key(ledger, form, read, fixture, run) for run in read.runs}
    # Two at once would both find nothing and both append; the lock is by content, as the runs are.
    try:
        with hold_run(ledger.path, read.digest[:32]):
            standing = {candidate: _find(ledger, key) for candidate, key in keys.items()}
            if all(standing.values()):
                return [_again(form, run, standing[run.candidate]) for run in read.runs]
            frozen = freeze_foreign(ledger, fixture.fixture, fixture.jsonl, rules)
            return [
                _again(form, run, there)
                if (there := standing[run.candidate])
                else _new(ledger, form, suite, rules, fixture, frozen, read, run, keys[run.candidate])
                for run in read.runs
            ]
    except RunHeld:
        raise RefusedError(
            "another process imports the same artifact into this ledger just now; wait for it, then ask again"
        ) from None


def _key(ledger: Ledger, form: Format, read: _Read, fixture: ForeignFixture, run: ForeignRun) -> str:
    """A digest of all that makes a run this import and no other.

    Keyed, because the plan that keeps it is never withheld, and the artifact may have to be.
    """
    parts = {
        "import": 1, "format": form.name, "artifact": read.digest, "fixture": fixture.fixture.digest,
        "candidate": run.candidate, **({"suite": form.suite} if form.of_suite else {}),
    }  # fmt: skip
    return value_digest(parts, bytes.fromhex(ledger.genesis.identity_key))


def _find(ledger: Ledger, key: str) -> Mapping[str, object] | None:
    rows = ledger.rows(_FIND, (key,))
    return rows[0] if rows else None


def _again(form: Format, run: ForeignRun, there: Mapping[str, object] | None) -> ImportedRun:
    assert there is not None
    return ImportedRun(str(there["run"]), run.candidate, int(str(there["cells"])), form.grade, appended=False)


def _new(
    ledger: Ledger, form: Format, suite: Suite, rules: Sequence[RuleSet], fixture: ForeignFixture, frozen: Frozen,
    read: _Read, run: ForeignRun, key: str,
) -> ImportedRun:  # fmt: skip
    given = json.loads(Given(portable(suite.folder), [run.candidate], addressed=False).text())
    source = Source(form.name, form.grade, read.data, read.digest, json.dumps({**given, "import": key}))
    name, scores = write_run(ledger, suite, rules, fixture, frozen, source, run)
    verdicts = [
        (cell.well_formed, scores[case] == "parsed") for case, cell in run.cells.items() if cell.well_formed is not None
    ]
    return ImportedRun(
        name, run.candidate, len(fixture.fixture.cases), form.grade, appended=True,
        missing=len(fixture.fixture.cases) - len(run.cells), compared=len(verdicts),
        only_theirs=verdicts.count((True, False)), only_ours=verdicts.count((False, True)),
    )  # fmt: skip
