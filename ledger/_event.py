"""The event line of format version 1: its grammar, its bytes, its hash.

An event is one line of ASCII JSON with fixed keys in a fixed order. Its hash is the BLAKE3 of those bytes, and the
next line carries it as `prev`, so that an export is checked with nothing but `b3sum`.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from blake3 import blake3

from ledger._errors import BadLine

__all__ = [
    "FORMAT_VERSION",
    "GENESIS_PREV",
    "MAX_CAUSES",
    "MAX_LINE",
    "Event",
    "Line",
    "commitment",
    "commits",
    "make_line",
    "new_run_id",
    "now_text",
    "parse_line",
    "why_not_at",
]

FORMAT_VERSION = 1
GENESIS_PREV = "0" * 64
MAX_LINE = 65_535
MAX_CAUSES = 4_096
_MAX_INT = 2**53 - 1

INTEGER = r"0|[1-9][0-9]{0,15}"
HASH = r"[0-9a-f]{64}"
KIND = r"[a-z][a-z_]{0,31}"
RUN = r"(?:[a-z0-9]{16,32})?"
AT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z"
CAUSES = r"\[(?:[1-9][0-9]{0,15}(?:,[1-9][0-9]{0,15})*)?\]"

_LINE = re.compile(
    rf'\{{"v":({INTEGER}),"seq":({INTEGER}),"prev":"({HASH})","at":"({AT})","kind":"({KIND})",'
    rf'"run":"({RUN})","cell":({INTEGER}),"causes":({CAUSES}),"body":"({HASH})"\}}'.encode()
)
# The grammar of one column each, for naming what is wrong once the whole line doesn't match.
COLUMN_GRAMMAR = {
    "v": re.compile(INTEGER.encode()),
    "seq": re.compile(INTEGER.encode()),
    "hash": re.compile(HASH.encode()),
    "prev": re.compile(HASH.encode()),
    "at": re.compile(AT.encode()),
    "kind": re.compile(KIND.encode()),
    "run": re.compile(RUN.encode()),
    "cell": re.compile(INTEGER.encode()),
    "causes": re.compile(CAUSES.encode()),
    "body_hash": re.compile(HASH.encode()),
    "salt": re.compile(rb"[0-9a-f]{32}"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """The fields of an event line, after the grammar has been checked."""

    v: int
    seq: int
    prev: str
    at: str
    kind: str
    run: str
    cell: int
    causes: tuple[int, ...]
    body_hash: str


@dataclass(frozen=True, slots=True)
class Event:
    """One stored event. `body` and `salt` are None once a redaction withheld them."""

    seq: int
    v: int
    hash: str
    prev: str
    at: str
    kind: str
    run: str
    cell: int
    causes: tuple[int, ...]
    body_hash: str
    salt: str | None
    body: str | None

    @property
    def line(self) -> bytes:
        """The event line's bytes, rebuilt from the columns."""
        return make_line(
            v=self.v, seq=self.seq, prev=self.prev, at=self.at, kind=self.kind, run=self.run, cell=self.cell,
            causes=causes_text(self.causes), body=self.body_hash,
        )  # fmt: skip


def causes_text(causes: tuple[int, ...]) -> str:
    """`causes` as it stands in the line and in its column: a JSON array without white space."""
    return f"[{','.join(map(str, causes))}]"


def make_line(*, v: int, seq: int, prev: str, at: str, kind: str, run: str, cell: int, causes: str, body: str) -> bytes:
    """The bytes of an event line. The caller has checked every field against the grammar."""
    return (
        f'{{"v":{v},"seq":{seq},"prev":"{prev}","at":"{at}","kind":"{kind}",'
        f'"run":"{run}","cell":{cell},"causes":{causes},"body":"{body}"}}'
    ).encode("ascii")


def why_not_at(at: str) -> str | None:
    """None when `at` (already of the right form) is a real date and time; else the reason."""
    if at[11:13] > "23":
        return f"not a real time: hour {at[11:13]}"  # newer Pythons read 24:00 as the next day's midnight
    try:
        datetime.fromisoformat(at)
    except ValueError as problem:
        return f"not a real time: {problem}"
    return None


def why_not_causes(causes: tuple[int, ...], seq: int) -> str | None:
    """None when causes are strictly ascending, each smaller than `seq`, and at most 4,096; else the reason."""
    if len(causes) > MAX_CAUSES:
        return f"expected at most {MAX_CAUSES} causes, got {len(causes)}"
    before = 0
    for cause in causes:
        if cause <= before:
            return f"expected causes strictly ascending, got {cause} after {before}"
        before = cause
    if before >= seq:
        return f"expected causes smaller than seq {seq}, got {before}"
    return None


def parse_line(data: bytes) -> Line:
    """Read one event line. Raises BadLine with what was expected and what stood there."""
    if len(data) > MAX_LINE:
        raise BadLine(f"expected a line of at most {MAX_LINE} bytes, got {len(data)}")
    found = _LINE.fullmatch(data)
    if found is None:
        raise BadLine(f"expected an event line of format {FORMAT_VERSION}, got {data[:80]!r}")
    v, seq, prev, at, kind, run, cell, causes, body = (part.decode("ascii") for part in found.groups())
    numbers = tuple(int(part) for part in causes[1:-1].split(",")) if causes != "[]" else ()
    line = Line(int(v), int(seq), prev, at, kind, run, int(cell), numbers, body)
    if max(line.seq, line.cell, *numbers, 0) > _MAX_INT:
        raise BadLine(f"expected integers up to {_MAX_INT}, got {max(line.seq, line.cell, *numbers)}")
    if line.v != FORMAT_VERSION:
        raise BadLine(f"expected format version {FORMAT_VERSION}, got {line.v}")
    if line.seq < 1:
        raise BadLine(f"expected seq from 1, got {line.seq}")
    reason = why_not_at(at) or why_not_causes(numbers, line.seq)
    if reason:
        raise BadLine(f"seq {line.seq}: {reason}")
    return line


def matches_line(data: bytes) -> bool:
    """Whether the bytes have the form of a line; the quick test of the whole grammar at once."""
    return len(data) <= MAX_LINE and _LINE.fullmatch(data) is not None


def hash_of(data: bytes) -> str:
    """BLAKE3, 32 bytes, lower-case hex."""
    return blake3(data).hexdigest()


def commitment(salt: bytes, data: bytes) -> str:
    """BLAKE3(salt ‖ data) in hex: shows nothing of `data`, not even of one guessable bit, without the salt."""
    return blake3(salt + data).hexdigest()


def commits(salt: str | None, data: bytes, digest: str) -> bool:
    """Whether a stored salt and bytes give the commitment `digest`; never without a salt of the format's form."""
    # Python forgives white space between hex digits; the format doesn't.
    if salt is None or not COLUMN_GRAMMAR["salt"].fullmatch(salt.encode("utf-8", "surrogatepass")):
        return False
    return commitment(bytes.fromhex(salt), data) == digest


def commits_in_pieces(salt: str | None, pieces: Iterable[bytes], digest: str) -> tuple[int, bool]:
    """How many bytes there are, and whether they are what `digest` commits to. Raises what reading them raises."""
    sound = salt is not None and COLUMN_GRAMMAR["salt"].fullmatch(salt.encode("utf-8", "surrogatepass")) is not None
    hasher, size = blake3(bytes.fromhex(salt) if sound and salt else b""), 0
    for piece in pieces:
        hasher.update(piece)
        size += len(piece)
    return size, sound and hasher.hexdigest() == digest


def now_text() -> str:
    """What this machine's clock claims, UTC, microseconds. It never orders anything."""
    return datetime.now(UTC).isoformat(timespec="microseconds")[:26] + "Z"


_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"


def new_run_id() -> str:
    """An opaque run id of 80 random bits: 16 characters of base 32."""
    number = secrets.randbits(80)
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(0, 80, 5))
