"""A ledger held against what is outside it: each checkpoint's root against the tree's, signatures, anchors, timestamps.

A checkpoint is held against the prefix that it names, so what is appended after it never matters. Where keys were
given, a note that none of them signed is no evidence, neither for the ledger nor against it, and a failure by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ledger._errors import BadNote
from ledger._files import read_small
from ledger._said import counted
from ledger._verify_findings import Findings, show
from ledger._verify_outside import CheckpointSeen, Found, Gathered, signers, why_unreadable
from ledger._verify_roots import Roots
from ledger.checkpoints._files import timestamp_paths
from ledger.checkpoints._timestamp import MAX_TOKEN, Timestamp, check_timestamp, describe_timestamp
from ledger.checkpoints._unfinished import Unfinished
from ledger.kinds import Anchor
from ledger.tree import Checkpoint, from_base64, to_base64

__all__ = ["Held", "Word", "hold", "root_named"]

Word = Literal["TAMPERED", "NOT FULLY CHECKED", "CONSISTENT", "MATCHES CHECKPOINT", "TIMESTAMPED"]
_MOST_LISTED = 8


@dataclass(frozen=True, slots=True)
class Held:
    """The verdict's word, as far as no problem stands against it; every checkpoint; what couldn't be done."""

    word: Word
    checkpoints: tuple[CheckpointSeen, ...]
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Ledger:
    """What is known of the ledger: its name (`ORIGIN/ID`, None where genesis can't be read), size, roots, trust."""

    origin: str | None
    events: int
    roots: Roots
    since: int


def hold(
    gathered: Gathered, *, origin: str | None, events: int, roots: Roots, anchors: Sequence[tuple[int, Anchor]],
    since: int, why_not_since: str, findings: Findings,
) -> Held:  # fmt: skip
    """Hold the ledger against all that was gathered, and against what its own anchor events say.

    Problems go to `findings`. `since` counts the events that weren't read again, `why_not_since` says why that couldn't
    be done although it was asked for.
    """
    ledger = _Ledger(origin, events, roots, since)
    failures = list(gathered.failures)
    if why_not_since:
        failures.append(f"the checkpoint of --since can't be gone by, so everything was checked: {why_not_since}")
    seen = [_seen(each, gathered, ledger, findings, failures) for each in gathered.found]
    seen.sort(key=lambda each: (each.size is None, each.size or 0, each.file))
    _bound([each for each in seen if each.holds is False and each.problem in _parts(each, ledger)], seen, findings)
    _anchors(anchors, seen, gathered, ledger, findings)
    for each in gathered.unfinished:
        if why := _rolled_back(each, ledger):
            failures.append(f"the unfinished checkpoint {each.file}: {why}")
        elif not each.note.exists() and not any(more.counts and (more.size or 0) >= each.size for more in seen):
            # A note that is there now came since the folder was read.
            findings.note(
                f"{each.file} is of an unfinished checkpoint: its note isn't there; `ledger checkpoint` signs one"
            )
    asked = gathered.outside
    counting = [each for each in seen if each.counts]
    if asked.keys and not seen:
        failures.append("a key was given, and there is no checkpoint that it could have signed")
    if asked.require_checkpoint and not counting:
        failures.append("a checkpoint is required, and the ledger is shown to extend none")
    if asked.tsa_roots and not any(each.timestamps for each in counting):
        failures.append("roots of timestamp authorities were given, and no timestamp of a matching checkpoint verifies")
    word: Word = "CONSISTENT"
    if counting and not any(each.problem for each in seen):
        word = "TIMESTAMPED" if any(each.timestamps for each in counting) else "MATCHES CHECKPOINT"
    return Held(word, tuple(seen), tuple(failures))


def _seen(found: Found, gathered: Gathered, ledger: _Ledger, findings: Findings, failures: list[str]) -> CheckpointSeen:
    stored, file = found.stored, found.file
    if stored.signed is None:
        failures.append(f"the checkpoint {file} says nothing: {stored.problem}")
        return CheckpointSeen(file, None, "", None, problem=stored.problem)
    at = stored.signed.checkpoint
    by, unknown, distrust = signers(stored, gathered.outside.keys)
    problem = distrust or _formal(found, at)
    holds: bool | None = None
    before = findings.count
    if ledger.origin is not None and at.origin != ledger.origin:
        holds = False
        if found.own and not distrust:
            # Beside this file lies what somebody signed of another one: the file was exchanged (or the folder was).
            findings.add(None, f"the ledger that {file} speaks of", at.origin, ledger.origin)
        problem = problem or f"it speaks of another ledger, {show(at.origin)}; this one is {ledger.origin}"
    elif at.size:
        holds, why = _extends(at, file, ledger, None if distrust else findings)
        if holds is None and found.named:
            problem = problem or why
        elif holds is False:
            problem = f"{problem}; and {why}" if problem else why
    if problem and findings.count == before:
        failures.append(f"the checkpoint {file} doesn't count: {problem}")
    timestamps: tuple[Timestamp, ...] = ()
    if holds and not problem:
        timestamps = _timestamps(found, gathered, findings)
    return CheckpointSeen(file, at.size, to_base64(at.root), holds, by, unknown, problem, timestamps)


def _formal(found: Found, at: Checkpoint) -> str:
    """What is wrong with a checkpoint whoever signed it, or ""."""
    if at.size == 0:
        return "it is of 0 events, so it says nothing of this ledger"
    said = found.stored.path.stem
    if found.own and int(said) != at.size:
        return f"its name says {int(said)} events, and its note {at.size}; files of the folder were exchanged"
    return ""


def _extends(at: Checkpoint, file: str, ledger: _Ledger, findings: Findings | None) -> tuple[bool | None, str]:
    """Whether the ledger's first events are the checkpoint's; why not. No findings: a note that nobody vouches for."""
    if at.size > ledger.events:
        if findings is not None:
            findings.add(None, f"the events that the checkpoint {file} speaks of", f"at least {at.size}", ledger.events)
        return False, _shorter(at.size, ledger)
    root = ledger.roots.root(at.size)
    if root is None and at.size < ledger.since:
        return None, f"--since takes the first {ledger.since} events as they are, so it was not held against them"
    if root == at.root:
        return True, ""
    if root is None:
        return False, f"the first {at.size} events can't all be read"
    if findings is not None:
        what = f"the root of the first {at.size} events, as the checkpoint {file} has it"
        findings.add(None, what, to_base64(at.root), to_base64(root))
    return False, _another(at.size)


def _rolled_back(each: Unfinished, ledger: _Ledger) -> str:
    """Why the ledger can't be the one, or a later one, that these peaks were written for; "" where it may be."""
    if each.size > ledger.events:
        return f"{_shorter(each.size, ledger)}; it was rolled back, or its end was cut off"
    root = ledger.roots.root(each.size - 1)
    if root is None and each.size - 1 < ledger.since:
        return ""
    return "" if root == each.before else f"the first {each.size - 1} events aren't those that it was begun for"


def _shorter(size: int, ledger: _Ledger) -> str:
    return f"the ledger has {counted(ledger.events, 'event')}, fewer than its {size}"


def _another(size: int) -> str:
    return f"it has another root than the first {size} events of this ledger"


def _parts(seen: CheckpointSeen, ledger: _Ledger) -> tuple[str, str]:
    """What is said of a checkpoint that is this ledger's, isn't distrusted, and that the ledger doesn't extend."""
    return _shorter(seen.size or 0, ledger), _another(seen.size or 0)


def _bound(parted: Sequence[CheckpointSeen], seen: Sequence[CheckpointSeen], findings: Findings) -> None:
    """Between which checkpoints a history parts from the one that was signed; or that two histories were signed."""
    if not parted:
        return
    bad = parted[0]
    size = bad.size or 0
    good = [each for each in seen if each.counts]
    below = max((each.size or 0 for each in good if (each.size or 0) < size), default=0)
    above = [each for each in good if (each.size or 0) > size]
    if below:
        findings.note(
            f"the first {below} events are a checkpoint's; what parts from the one of {size} comes after them"
        )
    if above:
        both = sorted(set(bad.signed_by) & {by for each in above for by in each.signed_by})
        who = f"{', '.join(both)} signed both" if both else "who signed them wasn't checked against one key"
        findings.note(f"the checkpoints of {size} and {above[-1].size} events are of two histories: {who}")


def root_named(anchor: Anchor) -> bytes | None:
    """The root that an anchor names: base64 of 32 bytes, as in a checkpoint; None for anything else."""
    try:
        root = from_base64(anchor.root)
    except ValueError:  # also what isn't ASCII, and what isn't base64
        return None
    return root if len(root) == 32 else None


def _anchors(
    anchors: Sequence[tuple[int, Anchor]], seen: Sequence[CheckpointSeen], gathered: Gathered, ledger: _Ledger,
    findings: Findings,
) -> None:  # fmt: skip
    """A ledger knows of the checkpoints that it had: their roots must be its own, and their files should be there."""
    files = {(each.size, each.root) for each in seen}
    missing: dict[int, str] = {}
    for seq, anchor in anchors:
        named = root_named(anchor)
        if named is None:
            if seen:
                findings.note(f"anchor event {seq} names no root of 32 bytes in base64; nothing is held against it")
            continue
        if anchor.size >= seq:
            findings.add(seq, "the size of the tree that an anchor names", f"at most {seq - 1}", anchor.size)
            continue
        root = ledger.roots.root(anchor.size)
        if root is not None and root != named:
            findings.add(seq, f"the root of the first {anchor.size} events, which an anchor names", to_base64(root),
                         anchor.root)  # fmt: skip
        if anchor.what == "checkpoint" and (anchor.size, anchor.root) not in files:
            missing[anchor.size] = anchor.root
    gone = [size for size, root in missing.items() if not gathered.came_since(size, root)]
    if gone:
        listed = ", ".join(map(str, gone[-_MOST_LISTED:]))
        more = f" and {len(gone) - _MOST_LISTED} smaller ones" if len(gone) > _MOST_LISTED else ""
        findings.note(f"expected checkpoints not found: sizes {listed}{more}")


def _timestamps(found: Found, gathered: Gathered, findings: Findings) -> tuple[Timestamp, ...]:
    """Who vouches for the note's bytes. Without roots to check against, only a remark on who says so."""
    assert found.stored.signed is not None
    note = bytes(found.stored.signed)
    timestamps: list[Timestamp] = []
    try:
        paths = timestamp_paths(found.stored.path)
    except OSError:
        return ()
    for path in paths:
        try:
            token = read_small(path, MAX_TOKEN)
            if gathered.roots:
                timestamps.append(check_timestamp(token, note, gathered.roots))
            else:
                said = describe_timestamp(token)
                findings.note(f"timestamp {path.name}: {said.name}, {said.at}, as it says; not checked (no --tsa-root)")
        except OSError as problem:
            findings.note(f"timestamp {path.name} can't be read: {why_unreadable(problem)}")
        except BadNote as problem:
            findings.note(f"timestamp {path.name} doesn't verify: {problem}")
    return tuple(timestamps)
