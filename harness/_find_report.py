"""Finding the report event that records a file, or the one that an altered file comes closest to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness._errors import UsageError
from harness._identity import file_digest
from harness._report_file import FORMATS, Format
from ledger import Ledger, NotFound, find_target
from ledger.kinds import Report

__all__ = ["Recorded", "find_recorded", "find_report", "read_report_file"]

_EXACT = (
    "SELECT seq, body ->> '$.format' AS form, body ->> '$.size' AS size FROM main.events"
    " WHERE kind = 'report' AND body ->> '$.digest' = ?"
    " ORDER BY seq DESC LIMIT 1"
)
_LIKE = (
    "SELECT seq, body ->> '$.head' AS head, body ->> '$.run' AS run, body ->> '$.format' AS form FROM main.events"
    " WHERE kind = 'report' AND body IS NOT NULL ORDER BY seq DESC"
)
_MOST = 12
_LONGEST = 1 << 28


@dataclass(frozen=True)
class Recorded:
    """A report event, the event it stops at (`size`), and the text of its file.

    `exact`: the file that was looked for is that file, byte for byte.
    """

    seq: int
    size: int
    form: Format
    text: str
    exact: bool


def read_report_file(path: Path) -> bytes:
    """The bytes of a file that may be a report. Raises UsageError for what is none by its size or its kind."""
    if not path.is_file():
        what = "is no file" if path.exists() else "doesn't exist"
        raise UsageError(f"{path} {what}; expected a report that `harness report -o` wrote")
    if path.stat().st_size > _LONGEST:
        raise UsageError(f"{path} is longer than any report ({path.stat().st_size} bytes)")
    return path.read_bytes()


def find_recorded(ledger: Ledger, data: bytes, text: str) -> Recorded | None:
    """The report event with these bytes; else the one whose file shares most lines with `text`, if any is alike.

    `text` is what the bytes say, without what an editor changes unasked.
    """
    exact = ledger.rows(_EXACT, (file_digest(data),))
    if exact and exact[0]["form"] in FORMATS:
        said = data.decode("utf-8", "surrogateescape")
        return Recorded(int(exact[0]["seq"]), int(exact[0]["size"]), exact[0]["form"], said, exact=True)
    rows = [row for row in ledger.rows(_LIKE) if row["form"] in FORMATS]
    alike = [row for row in rows if row["head"] in text] or [row for row in rows if row["run"] in text]
    lines = set(text.split("\n"))
    best: tuple[float, Recorded] | None = None
    for row in alike[:_MOST]:
        found = _recorded(ledger, int(row["seq"]))
        if found is not None:
            theirs = set(found.text.split("\n"))
            share = len(lines & theirs) / max(1, len(theirs | lines))
            if best is None or share > best[0]:
                best = (share, found)
    return best[1] if best and best[0] > 0 else None


def _recorded(ledger: Ledger, seq: int) -> Recorded | None:
    event = ledger.event(seq)
    try:
        body = ledger.body(event)
        file = ledger.blob(event, "file")
    except NotFound:
        return None
    if not isinstance(body, Report) or body.format not in FORMATS:
        return None
    return Recorded(seq, body.size, body.format, file.decode("utf-8", "surrogateescape"), exact=False)


def find_report(ledger: Ledger, reference: str) -> tuple[int, Report]:
    """A report event by its file (byte for byte), its seq, or the start of its digest. Raises UsageError, NotFound."""
    path = Path(reference)
    if path.is_file():
        exact = ledger.rows(_EXACT, (file_digest(read_report_file(path)),))
        if not exact:
            raise UsageError(
                f"{path} is byte for byte no report that {ledger.path} records; `harness check` says what differs"
            )
        seq = int(exact[0]["seq"])
    else:
        seq = int(find_target(ledger, reference, ("report",)).target.id)
    body = ledger.body(seq)
    if not isinstance(body, Report):
        raise UsageError(f"event {seq} is a {body.kind}, no report")
    return seq, body
