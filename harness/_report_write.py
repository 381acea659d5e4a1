"""Writing a report down: its file on disk, and the event that records the very same bytes and every number in them."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness._agreed import labels_in
from harness._errors import UsageError
from harness._identity import file_digest
from harness._report_data import Data
from harness._report_file import format_of
from ledger import Draft, Ledger, sync_file, sync_folder
from ledger.kinds import Report

__all__ = [
    "SPEND", "STUDY", "Written", "causes_of", "check_target", "figures_of", "record_report", "write_file",
    "write_report",
]  # fmt: skip

SPEND = "spend"
"""The kind of a figure that is money and calls, and stands under no rule set."""
STUDY = "study"
"""The kind of a suite's own table: its rows are figures, under the names of its columns."""
_MOST_STUDIED = 400_000
"""So many characters of tables go into the event; beyond, they are in its file alone. A body has an end."""

_PLAN = "SELECT seq FROM main.events WHERE kind = 'plan' AND run = ?"
_SQLITE = b"SQLite format 3\0"
_ENOUGH = 4096
_ENDS = ("", "-wal", "-shm", "-journal", ".locks", ".checkpoints")


@dataclass(frozen=True, slots=True)
class Written:
    """The report event's seq and hash, the plain BLAKE3 of the file, and where it lies."""

    seq: int
    hash: str
    digest: str
    path: Path

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {"report": self.seq, "hash": self.hash, "digest": self.digest, "file": str(self.path)}


def check_target(ledger: Ledger, path: Path, *, force: bool) -> Path:
    """Where a report may be written: the path, with symbolic links followed. Raises UsageError for what it would spoil.

    Only a report of ours is written over, or (with `force`) another plain file; a ledger never.
    """
    target = path.resolve()
    if _of_a_ledger(target, ledger.path.resolve()) or _beside_a_ledger(target):
        raise UsageError(f"{path} is a ledger, or a part of one, and is never written over; name another file")
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}; make it first")
    if not os.path.lexists(target) and not path.exists():
        return target
    if not target.is_file():
        raise UsageError(f"{path} is no plain file; name another")
    with target.open("rb") as file:
        start = file.read(_ENOUGH)
    if start.startswith(_SQLITE):
        raise UsageError(f"{path} is a ledger, or a part of one, and is never written over; name another file")
    if not force and start and format_of(start.decode("utf-8", "replace")) is None:
        raise UsageError(f"{path} exists and is no report of ours; name another file, or --force to write over it")
    return target


def _of_a_ledger(target: Path, ledger: Path) -> bool:
    taken = {ledger.with_name(ledger.name + end) for end in _ENDS}
    return any(each in taken for each in (target, *target.parents))


def _beside_a_ledger(target: Path) -> bool:
    for end in _ENDS[1:]:
        if target.name.endswith(end) and (whole := target.with_name(target.name.removesuffix(end))).is_file():
            with whole.open("rb") as file:
                return file.read(len(_SQLITE)) == _SQLITE
    return False


@contextmanager
def write_file(target: Path, data: bytes) -> Generator[None]:
    """Write the bytes under another name, durably; they get their own name, all at once, when the block ends well."""
    made = target.with_name(f".report-{secrets.token_hex(6)}")
    try:
        try:
            handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as problem:
            # The other name means nothing to anybody.
            raise type(problem)(problem.errno, problem.strerror, str(target)) from None
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            sync_file(file.fileno())
        yield
        made.replace(target)
        sync_folder(target.parent)
    finally:
        with contextlib.suppress(OSError):
            made.unlink()


def figures_of(data: Data) -> list[Any]:
    """Every figure of a report as its event carries it."""
    receipt = data["receipt"]
    return [
        {
            "run": receipt["run"], "candidate": row["candidate"], "rules": row["rules"], "metric": row["metric"],
            "kind": row["kind"], "k": row["k"], "n": row["n"], "planned": row["planned"],
            "unmeasured": row["unmeasured"], "policy": row["policy"], "rate": row["rate"],
            "interval": _interval(row), "tally": row["tally"],
            **({"marks": row["marks"]} if "marks" in row else {}), "head": receipt["head"],
        }
        for row in data["scoreboard"]
    ] + _spend_figures(data) + _studied(data)  # fmt: skip


def _spend_figures(data: Data) -> list[Any]:
    """What each candidate spent; nothing in reports of releases that said nothing of it."""
    receipt = data["receipt"]
    rows: list[Data] = data["spend"]["candidates"] if "spend" in data else []
    names = ("cost", "currency", "requests", "unknown")
    return [
        {
            "run": receipt["run"], "candidate": row["candidate"], "kind": SPEND, **{name: row[name] for name in names},
            "head": receipt["head"],
        }
        for row in rows
    ]  # fmt: skip


def _studied(data: Data) -> list[Any]:
    """The tables of a suite's own, whole; none of reports of releases and suites that have none."""
    receipt = data["receipt"]
    tallies = {each["rules"]: each["event"] for each in receipt["tallies"]}
    found = [
        {
            "run": receipt["run"], "candidate": study["candidate"], "rules": study["rules"], "kind": STUDY,
            "table": table["title"], "columns": [column["name"] for column in table["columns"]], "rows": table["rows"],
            "tally": tallies.get(study["rules"]), "head": receipt["head"],
        }
        for study in data.get("study", ())
        for table in study["tables"]
    ]  # fmt: skip
    return found if len(json.dumps(found)) <= _MOST_STUDIED else []


def _interval(row: Data) -> list[float] | None:
    """The interval that people were shown; what a release drew that had no such key is the pooled one."""
    low, high = (row["interval_low"], row["interval_high"]) if "interval_by" in row else (row["low"], row["high"])
    return None if low is None else [low, high]


def causes_of(ledger: Ledger, data: Data) -> list[int]:
    """The seqs that a report's event rests on: the tallies of the rule sets that it shows, and people's labels."""
    tallies = sorted({int(each["event"]) for each in data["receipt"]["tallies"]})
    if tallies:
        return sorted({*tallies, *labels_in(data)})
    # Nothing was tallied yet: it rests on the run as a whole.
    return [int(ledger.rows(_PLAN, (data["receipt"]["run"],))[0]["seq"])]


def record_report(
    ledger: Ledger, data: Data, drawn: bytes, form: str, target: Path, *, corrects: int | None = None,
    seq: int | None = None,
) -> Written:  # fmt: skip
    """Append the report event of a file that will lie at `target`; with `seq`, name the one that is there already."""
    receipt = data["receipt"]
    if seq is not None:
        return Written(seq, ledger.event(seq).hash, file_digest(drawn), target)
    body = Report(
        run=receipt["run"], format=form, digest=file_digest(drawn), head=receipt["head"], size=receipt["size"],
        figures=json.loads(json.dumps(figures_of(data))), corrects=corrects,
    )  # fmt: skip
    (event,) = ledger.append(Draft(body, causes=causes_of(ledger, data), blobs={"file": drawn}))
    return Written(event.seq, event.hash, body.digest, target)


def write_report(ledger: Ledger, data: Data, drawn: bytes, form: str, target: Path) -> Written:
    """Record the report and give the file its name, in that order: a file that says it is recorded always is.

    `target` comes from `check_target`. Raises OSError and LedgerError; then the file that stood there still
    does.
    """
    with write_file(target, drawn):
        return record_report(ledger, data, drawn, form, target)
