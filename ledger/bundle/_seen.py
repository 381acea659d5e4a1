"""What a bundle shows, once each event of it is proved: its line, its body, its place; and what is hidden, and why."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ledger._canonical import why_not_canonical
from ledger._errors import BadBundle, BadLine, BadProof, LedgerError, NotFound
from ledger._event import GENESIS_PREV, Line, commits, commits_in_pieces, hash_of, parse_line
from ledger._screen import printable
from ledger.bundle._read import BundleFile, EventRow, read_row
from ledger.bundle._write import blob_file
from ledger.kinds import NEVER_REDACTED, Body, Genesis, parse_body
from ledger.tree import Checkpoint, Peaks, check_inclusion, from_base64, leaf_hash

__all__ = ["LISTED", "HiddenBlob", "Problems", "Seen", "read_events", "read_lines"]

LISTED = frozenset({"report", "publish", "supersede", "taint", "clear"})
"""Kinds of which a bundle of a run has every event up to the checkpoint."""
_KEPT = frozenset(
    {"genesis", "freeze", "plan", "cell", "score", "tally", "close", "supersede", "taint", "clear", "report"}
)
_MOST = 1000


class Problems:
    """What is false, each with where it is; all are counted, and the first 1,000 kept."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.count = 0

    def add(self, where: str, what: object) -> None:
        """Note one."""
        self.count += 1
        if len(self.found) < _MOST:
            self.found.append(printable(f"{where}: {what}")[:500])


@dataclass(frozen=True, slots=True)
class HiddenBlob:
    """A blob that isn't shown, of an event whose body is."""

    seq: int
    name: str
    why: str


@dataclass
class Seen:
    """The events of a bundle by seq, in order; typed bodies of those that count; `hidden` says why of each; `texts` are
    the bodies of the events `wanted` by themselves, `raw` every body that is shown and `files` the members of blobs, by
    seq and name. `weak` are the events that rest on something a redaction withholds."""

    wanted: frozenset[int] = frozenset()
    events: dict[int, Line] = field(default_factory=dict[int, Line])
    hashes: dict[int, str] = field(default_factory=dict[int, str])
    bodies: dict[int, Body] = field(default_factory=dict[int, Body])
    hidden: dict[int, str] = field(default_factory=dict[int, str])
    bare: list[HiddenBlob] = field(default_factory=list[HiddenBlob])
    by_kind: dict[tuple[str, str], list[Line]] = field(default_factory=lambda: defaultdict(list))
    rests: dict[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    plans: list[Line] = field(default_factory=list[Line])
    runs: dict[int, str] = field(default_factory=dict[int, str])
    cells: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    unseen_freezes: int = 0
    redacted: set[int] = field(default_factory=set[int])
    texts: dict[int, str] = field(default_factory=dict[int, str])
    raw: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    files: dict[tuple[int, str], str] = field(default_factory=dict[tuple[int, str], str])
    weak: frozenset[int] = frozenset()

    def shows(self, kind: str) -> bool:
        """Whether every body of a kind of the ledger's own events is shown."""
        return all(each.seq in self.bodies for each in self.of(kind))

    def withheld(self) -> list[tuple[int, str]]:
        """The events of which a body or a blob isn't shown, and why."""
        return [*self.hidden.items(), *((each.seq, each.why) for each in self.bare)]

    def of(self, kind: str, run: str = "") -> list[Line]:
        """The events of a kind that belong to a run (or to none), in order."""
        return self.by_kind.get((kind, run), [])

    def add(self, line: Line, digest: str) -> None:
        """Take in an event that is proved."""
        self.events[line.seq] = line
        self.hashes[line.seq] = digest
        self.by_kind[line.kind, line.run].append(line)
        if line.kind == "redact":
            self.redacted.update(line.causes)
        here = [self.events[cause] for cause in line.causes if cause in self.events]
        own = [self.rests[each.seq] for each in here
               if (each.run, each.cell) == (line.run, line.cell) and each.kind != "cell"]  # fmt: skip
        self.rests[line.seq] = frozenset(each.seq for each in here if each.kind == "freeze").union(*own)


def read_events(bundle: BundleFile, at: Checkpoint, problems: Problems) -> Seen:
    """Every event: its line's grammar, its place in the tree, the chain to its neighbour, its body and its blobs."""
    seen = Seen(wanted=frozenset(bundle.about.asked.events))
    last: tuple[int, str] = (0, GENESIS_PREV)
    files: set[str] = set()
    for number, data in enumerate(_rows(bundle, "events.jsonl", problems), start=1):
        where = f"events.jsonl, line {number}"
        try:
            row = read_row(EventRow, data)
            line = _proved(row, at, last)
            digest = hash_of(row.line.encode("ascii"))
        except LedgerError as problem:
            problems.add(where, problem)
            continue
        last = (line.seq, digest)
        seen.add(line, digest)
        try:
            _body(bundle, row, line, seen, files)
        except LedgerError as problem:
            problems.add(f"event {line.seq}", problem)
    extra = sorted(name for name in bundle.sizes if name.startswith("blobs/") and name not in files)
    if extra:
        problems.add(extra[0], "a blob of no event that is shown")
    if 1 not in seen.events:
        problems.add("events.jsonl", "event 1, genesis, is left out")
    genesis = seen.bodies.get(1)
    if isinstance(genesis, Genesis) and f"{genesis.origin}/{genesis.id}" != at.origin:
        problems.add("event 1", f"expected the genesis of {at.origin}, got that of {genesis.origin}/{genesis.id}")
    return seen


def _rows(bundle: BundleFile, name: str, problems: Problems) -> Iterator[bytes]:
    """The lines of a member up to one that isn't ended, or is too long, which is false."""
    try:
        yield from bundle.rows(name)
    except BadBundle as problem:
        problems.add(name, problem)


def _proved(row: EventRow, at: Checkpoint, last: tuple[int, str]) -> Line:
    if not row.line.isascii():
        raise BadLine("expected an event line in ASCII")
    data = row.line.encode("ascii")
    line = parse_line(data)
    before, prev = last
    if line.seq <= before:
        raise BadBundle(f"event {line.seq} stands out of order, or twice")
    if line.seq == before + 1 and line.prev != prev:
        raise BadBundle(f"event {line.seq} doesn't follow on event {before}")
    try:
        proof = [from_base64(each) for each in row.proof]
    except ValueError:
        raise BadProof(f"event {line.seq}: expected base64 of the hashes of a proof") from None
    check_inclusion(leaf_hash(data), line.seq - 1, at.size, proof, at.root)
    return line


def _body(bundle: BundleFile, row: EventRow, line: Line, seen: Seen, files: set[str]) -> None:
    if row.body is None:
        seen.hidden[line.seq] = row.why
        if row.salt is not None or row.blobs or not row.why:
            raise BadBundle("expected no salt and no blobs of a body that is hidden, and the reason")
        if row.why == "redacted" and line.kind in NEVER_REDACTED:
            raise BadBundle(f"the body of a {line.kind} is never redacted, and this says that it was")
        return
    body = row.body.encode("utf-8")
    if not commits(row.salt, body, line.body_hash):
        raise BadBundle("its body and salt aren't what its line commits to")
    reason = why_not_canonical(body)
    if reason or row.why:
        raise BadBundle(reason or "it has a body, and says that it is hidden")
    seen.raw[line.seq] = found = json.loads(body)
    named = found.get("blobs", {})
    if set(named) != set(row.blobs):
        raise BadBundle("other blobs than its body names")
    for name, blob in row.blobs.items():
        if blob.file is None:
            if blob.salt is not None or not blob.why:
                raise BadBundle(f"blob {name!r}: expected no salt of a blob that is hidden, and the reason")
            seen.bare.append(HiddenBlob(line.seq, name, blob.why))
            continue
        if blob.file != blob_file(line.seq, name) or blob.file not in bundle.sizes:
            raise BadBundle(f"blob {name!r}: its member {blob.file!r} isn't there")
        size, right = commits_in_pieces(blob.salt, bundle.pieces(blob.file), named[name]["hash"])
        if not right or size != named[name]["size"]:
            raise BadBundle(f"blob {name!r}: its bytes and salt aren't what its body commits to")
        files.add(blob.file)
        seen.files[line.seq, name] = blob.file
    if line.seq in seen.wanted:
        seen.texts[line.seq] = row.body
    if line.kind in _KEPT:
        try:
            seen.bodies[line.seq] = parse_body(line.kind, row.body)
        except NotFound:  # of a newer release
            return


def read_lines(bundle: BundleFile, seen: Seen, at: Checkpoint, problems: Problems) -> None:
    """lines.txt, the whole order: nothing that counts is left out of events.jsonl. Gathers what tells of other runs."""
    peaks, prev = Peaks(), GENESIS_PREV
    asked = set(bundle.about.asked.runs)
    wanted = {cause for each in seen.of("report") for cause in each.causes}
    for data in _rows(bundle, "lines.txt", problems):
        try:
            line = parse_line(data)
        except BadLine as problem:
            problems.add(f"lines.txt, line {peaks.size + 1}", problem)
            return
        if (line.seq, line.prev) != (peaks.size + 1, prev):
            problems.add(f"lines.txt, line {peaks.size + 1}", f"event {line.seq} doesn't follow on the one before")
            return
        peaks.add(leaf_hash(data))
        prev = hash_of(data)
        there = seen.hashes.get(line.seq)
        if there is None and (line.run in asked or (asked and line.kind in LISTED)):
            problems.add(f"event {line.seq}", f"this {line.kind} is left out of events.jsonl")
        if there not in (None, prev):
            problems.add(f"event {line.seq}", "it is another one in events.jsonl than in lines.txt")
        if line.kind == "plan":
            seen.plans.append(line)
        if line.kind == "redact":
            seen.redacted.update(line.causes)
        if line.kind == "cell":
            seen.cells[line.run] += 1
        if line.kind == "freeze" and (there is None or line.seq in seen.hidden):
            seen.unseen_freezes += 1
        if line.seq in wanted:
            seen.runs[line.seq] = line.run
    if (peaks.size, peaks.root()) != (at.size, at.root):
        problems.add("lines.txt", f"its {peaks.size} lines don't give the root of the checkpoint")
