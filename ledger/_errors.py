"""Everything `ledger` raises on purpose.

LedgerError                 the root; `exit_status` is what the command line ends with
├── BadBody          (2)    a body the door refuses, or a stored one that isn't its own RFC 8785 form
├── BadLine          (2)    bytes that aren't an event line of this format
├── NotALedger       (2)    the file is missing, unreadable, or no ledger of this format
├── LedgerExists     (2)    `init` would write over something
├── NotFound         (2)    no such event, blob or run
├── BadKey           (2)    no key in the encodings of signed notes, or one that can't be had
├── BadNote          (2)    no signed note or checkpoint, or a signature that isn't its key's
├── BadProof         (1)    a proof that doesn't prove what it is given for
├── BadBundle        (2)    no evidence bundle that can be read
├── BadExport        (2)    no full export, one that was altered, or a ledger that can't be exported whole
├── BadQuery         (2)    a query that doesn't read, or can't be run, or whose rows make no frame
├── Refused          (4)    the ledger's own rules forbid this append; nothing was written
│   └── RunHeld      (4)    another process is asking for this run
├── AppendFailed     (3)    SQLite could not make the append durable; nothing of it is in the file
│   └── LedgerReplaced (3)  the file was replaced, moved or cut while it was open: nothing more is acknowledged
├── NotTimestamped   (3)    no timestamp was had: the authority can't be reached, refuses, or answers something else
└── NotErased        (3)    a redaction stands, but the old bytes are still in the file or its log
"""

from __future__ import annotations

__all__ = [
    "AppendFailed",
    "BadBody",
    "BadBundle",
    "BadExport",
    "BadKey",
    "BadLine",
    "BadNote",
    "BadProof",
    "BadQuery",
    "LedgerError",
    "LedgerExists",
    "LedgerReplaced",
    "NotALedger",
    "NotErased",
    "NotFound",
    "NotTimestamped",
    "Refused",
    "RunHeld",
]


class LedgerError(Exception):
    """The root of the tree. `exit_status` is the documented exit status of a command that ends with it."""

    exit_status: int = 2


class BadBody(LedgerError):
    """A body (or a value in it) lies outside the JSON that an event may hold."""


class BadLine(LedgerError):
    """Bytes that don't match the grammar of an event line."""


class NotALedger(LedgerError):
    """The path holds no ledger that this release can read."""


class LedgerExists(LedgerError):
    """A ledger (or another file) already stands where a new one was asked for."""


class NotFound(LedgerError):
    """The event, blob or run that was named isn't in this ledger."""


class BadKey(LedgerError):
    """A key isn't one of a signed note's, or its file can't be used. The message never quotes a signing key."""


class BadNote(LedgerError):
    """Bytes aren't a signed note or checkpoint, or a signature in it isn't the one of the key that it names."""


class BadProof(LedgerError):
    """A proof doesn't lead to the root that it was given with, or has another form than such a proof has."""

    exit_status = 1


class BadBundle(LedgerError):
    """A file is no evidence bundle of a version that this release reads."""


class BadExport(LedgerError):
    """A file isn't a full export as it was written; or a ledger holds what no export of it could be imported with."""


class BadQuery(LedgerError):
    """A query isn't one that reads, SQLite refuses it, or its rows can't be shown as they were asked for."""


class Refused(LedgerError):
    """The append would break a rule of the ledger; nothing was written."""

    exit_status = 4


class RunHeld(Refused):
    """Another process holds the lock on (ledger, run)."""


class AppendFailed(LedgerError):
    """SQLite failed, and the events were looked up afterwards and are not there."""

    exit_status = 3


class LedgerReplaced(AppendFailed):
    """The file at the ledger's path isn't the one that was opened, or lost what was acknowledged.

    The message says up to which seq was acknowledged, and where that may be.
    """


class NotTimestamped(LedgerError):
    """The authority gave no timestamp that fits the checkpoint; nothing was stored."""

    exit_status = 3


class NotErased(LedgerError):
    """What a redaction withholds may still be read from the ledger's files; `ledger redact --finish` completes it.

    `appended` is (seq, hash) of the redact event that was appended just now, if one was.
    """

    exit_status = 3

    def __init__(self, message: str, appended: tuple[int, str] | None = None) -> None:
        super().__init__(message)
        self.appended = appended
