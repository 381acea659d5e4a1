"""Redactions against what is withheld. A target and the redact event that names it can disagree; which is at fault?

A redact event comes after its targets. If it was changed or removed, its targets look as if nothing had named them; so
a disagreement is settled only at the end, and goes to the event that is broken for other reasons, if there is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ledger._verify_findings import MAX_PROBLEMS, Findings
from ledger.kinds import Redact

__all__ = ["Disagreements", "Redactions", "WithheldBy", "check_redacts"]

_MAX_SUSPECTS = 100_000


@dataclass(frozen=True, slots=True)
class WithheldBy:
    """How many bodies and blobs the redact event `seq` is the first to withhold, and what it says of the reason."""

    seq: int
    bodies: int
    blobs: int
    category: str
    reason: str


@dataclass
class Redactions:
    """What the redact events say they withhold: target seq, or blob hash, to the seq of the redact event."""

    bodies: dict[int, int] = field(default_factory=dict[int, int])
    blobs: dict[bytes, int] = field(default_factory=dict[bytes, int])
    events: list[tuple[int, bytes, Redact]] = field(default_factory=list[tuple[int, bytes, Redact]])

    def add(self, seq: int, causes: bytes, body: Redact) -> None:
        """Take in one redact event."""
        self.events.append((seq, causes, body))
        for target in body.bodies:
            self.bodies.setdefault(target, seq)
        for digest in body.blobs_withheld:
            self.blobs.setdefault(digest.encode(), seq)

    def counts(self) -> tuple[WithheldBy, ...]:
        """What each redact event withholds, in order of seq."""
        bodies, blobs = Counter(self.bodies.values()), Counter(self.blobs.values())
        return tuple(
            WithheldBy(seq, bodies[seq], blobs[seq], body.category, body.reason) for seq, _, body in self.events
        )


class Disagreements:
    """Withheld and not named, or named and not withheld: kept until every event has been seen."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._unnamed: list[tuple[int, str]] = []
        self._present: list[tuple[int, int, str]] = []
        self._broken: set[int] = set()
        self._caused: dict[int, int] = {}
        self._gaps: list[int] = []

    def unnamed(self, seq: int, what: str) -> None:
        """The body, or a blob, of event `seq` is gone, and no redact event names it."""
        if len(self._unnamed) < MAX_PROBLEMS:
            self._unnamed.append((seq, what))
        else:
            self._findings.add(seq, f"the {what} is gone and no redact event names it", f"a {what}", None)

    def present(self, seq: int, redact: int, what: str) -> None:
        """The body, or a blob, of event `seq` is there, although event `redact` withholds it."""
        if len(self._present) < MAX_PROBLEMS:
            self._present.append((seq, redact, what))
        else:
            self._findings.add(seq, f"the {what} that redact event {redact} withholds is present", None, what)

    def broken(self, seq: int, causes: tuple[int, ...] | None) -> None:
        """Event `seq` is at fault by itself. If it was a redact event, its causes were its targets."""
        if len(self._broken) < MAX_PROBLEMS:
            self._broken.add(seq)
            for cause in causes or ():
                if len(self._caused) < _MAX_SUSPECTS:
                    self._caused.setdefault(cause, seq)

    def missing(self, seq: int) -> None:
        """Events from `seq` on are missing: a redact event may have been among them."""
        if len(self._gaps) < MAX_PROBLEMS:
            self._gaps.append(seq)

    def settle(self) -> None:
        """Report each disagreement at the event that is to blame."""
        for seq, what in self._unnamed:
            gap = next((start for start in self._gaps if start > seq), None)
            blamed = self._caused.get(seq) or gap or seq
            where = "" if blamed == seq else f" of event {seq}"
            self._findings.add(blamed, f"the {what}{where} is gone and no redact event names it", f"a {what}", None)
        for seq, redact, what in self._present:
            blamed = redact if redact in self._broken else seq
            text = f"the {what} of event {seq} that redact event {redact} withholds is present"
            self._findings.add(blamed, text, None, f"a {what}")


def check_redacts(redactions: Redactions, owners: Mapping[bytes, int], findings: Findings, after: int = 0) -> None:
    """A redact event's causes are exactly its targets, and all of them are there. `owners`: seqs of withheld blobs.

    Of events up to `after`, nothing is checked.
    """
    for seq, causes, read in redactions.events:
        if after and seq <= after:
            continue
        targets = set(read.bodies)
        for digest in read.blobs_withheld:
            owner = owners.get(digest.encode())
            if owner is None:
                findings.add(seq, "a blob that a redact event names", digest, "no such blob")
            else:
                targets.add(owner)
        wanted = "[" + ",".join(map(str, sorted(targets))) + "]"
        if causes != wanted.encode():
            findings.add(seq, "the causes of a redact event are its targets", wanted, causes)
