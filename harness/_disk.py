"""How much disk a run will take: every request and every reply is kept whole, and so are the files that it stands on.

Measured on real runs of 1 to 200 cells, prompts of 10 to 100,000 bytes, replies of 10 to 3,000 and one to three rule
sets (tests/harness/test_disk.py holds it within a fifth): a cell's events and rows take so much beside its bytes, and a
reply's text stands a second time in what was read of it under each rule set, and in pages that it doesn't fill.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness._candidate import Candidate
from harness._freeze import unfrozen_bytes
from harness._rules import RuleSet
from harness._suite import Fixture, Suite
from ledger import Ledger, LedgerError

__all__ = ["Disk", "disk_of"]

_EMPTY = 134_000
_CELL, _CELL_AND_RULES = 2_810, 1_930
_ENVELOPE = 260
"""What of a reply's body isn't its text, about."""
_REPLY, _STREAMED = 1_500, 30_000
_REPLIES = (
    "SELECT avg(response.body ->> '$.blobs.body.size') AS size, count(*) AS replies"
    " FROM main.events AS response JOIN main.events AS plan ON plan.run = response.run AND plan.kind = 'plan'"
    " WHERE response.kind = 'response' AND response.body IS NOT NULL AND plan.body ->> '$.suite' = ?"
)


@dataclass(frozen=True, slots=True)
class Disk:
    """Bytes that a run adds to its ledger, about: `files` for what it freezes anew, `requests` for the bodies that are
    sent, `replies` for what comes and is read, of `reply` bytes each, as `recorded` replies of the suite had (0: none
    is known, so it is assumed), `events` for the rest."""

    files: int
    requests: int
    replies: int
    events: int
    reply: int
    recorded: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.files + self.requests + self.replies + self.events

    def sentence(self) -> str:
        """For people."""
        known = f"as {self.recorded:,} recorded ones had" if self.recorded else "assumed"
        return (
            f"On disk: about {_shown(self.total)}: requests with their images {_shown(self.requests)}, replies"
            f" {_shown(self.replies)} ({self.reply:,} bytes each, {known}), files and events"
            f" {_shown(self.files + self.events)}."
        )

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "total": self.total, "files": self.files, "requests": self.requests, "replies": self.replies,
            "events": self.events, "reply_bytes": self.reply, "recorded_replies": self.recorded,
        }  # fmt: skip


def _shown(size: int) -> str:
    """Bytes for people, to two digits or so: 12 kB, 3.4 MB."""
    for unit, least in (("GB", 10**9), ("MB", 10**6)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{-(-size // 1000)} kB"


def disk_of(
    suite: Suite, fixtures: Sequence[Fixture], rules: Sequence[RuleSet], candidates: Sequence[Candidate], db: Path, *,
    calls: int, request_bytes: int,
) -> Disk:  # fmt: skip
    """What so many calls with so many bytes of requests add to the ledger at `db`, or to a new one. Writes nothing."""
    prompts = [each.prompt.encode("utf-8") for each in candidates]
    found: tuple[int, float | None, int] | None = None
    if db.is_file():
        try:
            with Ledger.open(db, untouched=True) as ledger:
                (row,) = ledger.rows(_REPLIES, (suite.name,))
                found = unfrozen_bytes(ledger, suite, fixtures, rules, prompts), row["size"], row["replies"]
        except LedgerError:
            found = None  # a run would say what is wrong with it
    files, size, recorded = found or (_EMPTY + unfrozen_bytes(None, suite, fixtures, rules, prompts), None, 0)
    streamed = any(each.stream for each in candidates)
    reply = round(size) if size else _STREAMED if streamed else _REPLY
    text = min(max(0, reply - _ENVELOPE), _REPLY if streamed else reply)
    return Disk(
        files, request_bytes, calls * (reply + 2 * text * len(rules)), calls * (_CELL + _CELL_AND_RULES * len(rules)),
        reply, recorded if size else 0,
    )  # fmt: skip
