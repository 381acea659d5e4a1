"""Handing a report to somebody, and writing down who has it: they are whom a correction must reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness._errors import UsageError
from harness._find_report import find_report
from harness._report_file import data_in, format_of
from harness._since import later
from ledger import Draft, Ledger, LedgerError
from ledger.kinds import Publish

__all__ = ["Published", "publish_report"]

_BEFORE = "SELECT body ->> '$.to' AS \"to\" FROM main.events WHERE kind = 'publish' AND body ->> '$.report' = ?"
_LONGEST = 1_000


@dataclass(frozen=True)
class Published:
    """The report's seq, (seq, recipient) of each publish event, and what speaks against the report by now."""

    report: int
    events: Sequence[tuple[int, str]]
    warnings: Sequence[str]
    again: Sequence[str]

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "report": self.report, "published": [{"event": seq, "to": to} for seq, to in self.events],
            "warnings": list(self.warnings),
        }  # fmt: skip


def publish_report(ledger: Ledger, reference: str, recipients: Sequence[str]) -> Published:
    """Record that the report was handed to each of `recipients`, in one append.

    `reference` is its file (byte for byte), its seq, or the start of its digest. A report that was superseded or
    tainted is recorded all the same, as it was handed over all the same; `warnings` says so.
    """
    to = list(dict.fromkeys(recipients))
    if not to or not all(each.strip() for each in to):
        raise UsageError("expected --to with a recipient, got nothing; say to whom it was handed")
    if any(len(each) > _LONGEST for each in to):
        raise UsageError(f"--to: expected a recipient of at most {_LONGEST} characters")
    seq, _ = find_report(ledger, reference)
    before = {str(row["to"]) for row in ledger.rows(_BEFORE, (seq,))}
    warnings = _warnings(ledger, seq)
    events = ledger.append(*(Draft(Publish(report=seq, to=each), causes=[seq]) for each in to))
    made = [(event.seq, each) for event, each in zip(events, to, strict=True)]
    return Published(seq, made, warnings, [each for each in to if each in before])


def _warnings(ledger: Ledger, seq: int) -> list[str]:
    try:
        text = ledger.blob(seq, "file").decode("utf-8", "replace")
        form = format_of(text)
        data = data_in(text, form) if form else None
    except (LedgerError, UsageError) as problem:
        return [f"its recorded file can't be read: {problem}"]
    if data is None:
        return ["its recorded file is in a form that this release doesn't know"]
    said = [f"the report itself says that taint {mark['event']} reaches it" for mark in data.get("taints", [])]
    said += ["the report itself says that its run was superseded"] if data.get("superseded") else []
    said += [
        f"the report itself says that it rests on what event {row['event']} supersedes"
        for row in data.get("rests_on_superseded", [])
    ]
    return said + [each.says for each in later(ledger, data, int(data["receipt"]["size"]), seq) if each.bad]
