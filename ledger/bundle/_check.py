"""Checking an evidence bundle with our code: what is proved, what is only told, what is hidden, what is false.

`ledger/bundle/verify.py` does the same alone. This one also checks timestamps, and has what is shown derived again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from ledger._canonical import load
from ledger._errors import BadBundle, BadNote, LedgerError
from ledger._files import read_small
from ledger.bundle._course import UNKNOWN, course, hidden_tallies, said_of, unclaimed
from ledger.bundle._known import reader_source
from ledger.bundle._links import hold_links
from ledger.bundle._listed import Case, check_asked, check_draw, check_fixture, drawn_events, read_cases
from ledger.bundle._read import BundleFile, Claim
from ledger.bundle._readme import readme
from ledger.bundle._recount import recount
from ledger.bundle._rederived import Rederived, rederive
from ledger.bundle._seen import Problems, Seen, read_events, read_lines
from ledger.bundle._verdict import BundleVerdict, ClaimSeen, Hidden, many
from ledger.tree import Checkpoint, VerifierKey, parse_checkpoint, to_base64

__all__ = ["BundleVerdict", "Hidden", "check_bundle"]

_MOST_NOTE = 256 << 10
_UNREAD = re.compile(r"\nThe files of these freezes are withheld[^\n]*\n")
_T = TypeVar("_T")


@dataclass
class _Check:
    """A check while it goes on."""

    bundle: BundleFile
    problems: Problems = field(default_factory=Problems)
    failures: list[str] = field(default_factory=list[str])
    proved: list[str] = field(default_factory=list[str])
    partly: list[str] = field(default_factory=list[str])
    told: list[str] = field(default_factory=list[str])
    timestamps: list[str] = field(default_factory=list[str])
    seen: Seen = field(default_factory=Seen)
    rederived: Rederived | None = None
    claims: list[ClaimSeen] = field(default_factory=list[ClaimSeen])
    own: bool = False

    def call(self, where: str, function: Callable[[], _T]) -> _T | None:
        """What a check gives; what it finds false is noted."""
        try:
            return function()
        except LedgerError as problem:
            self.problems.add(where, problem)
            return None

    def everything(self, at: Checkpoint, seed: str | None) -> None:
        """All that rests on the checkpoint."""
        about, bundle = self.bundle.about, self.bundle
        self.seen = seen = read_events(bundle, at, self.problems)
        stood = f"{many(len(seen.events), 'event')} stood in the ledger at their places"
        self.proved.append(f"{stood}; {len(seen.hidden)} have hidden bodies")
        if about.complete is not ("lines.txt" in bundle.sizes):
            self.problems.add("bundle.json", "`complete` says otherwise than lines.txt being there")
        elif about.complete:
            read_lines(bundle, seen, at, self.problems)
            self.proved.append(f"the order is whole, events 1 to {at.size}: nothing of a run asked for is left out")
        else:
            self.told.append("that nothing of a run asked for is left out (there is no lines.txt)")
        self.call("asked", lambda: check_asked(bundle, seen))
        false, told = hold_links(bundle, seen)
        for each in false:
            self.problems.add("links", each)
        self.told += told
        if not false:
            self.proved.append("what events say of one another holds, as far as it is shown")
        self.proved += [said_of(seen, seq) for seq in about.asked.events if seq in seen.events]
        for run in about.asked.runs:
            said = course(seen, run)
            (self.told if UNKNOWN in said else self.proved).append(f"run {run}: {said}")
            if about.asked.report is None:
                self.partly += [f"run {run}: the figures of its tally, event {seq}, are hidden"
                                for seq in hidden_tallies(seen, run)]  # fmt: skip
                for each in unclaimed(seen, run, about.claims):
                    self.problems.add("claims", each)
        for number, claim in enumerate(about.claims, start=1):
            self._claim(number, claim)
        for fixture in about.fixtures:
            said = self.call("fixtures", lambda each=fixture: check_fixture(seen, each, complete=about.complete))
            if said is not None:
                (self.proved if about.complete else self.told).append(said)
        if about.fixtures and not all(seen.shows(kind) for kind in ("report", "supersede", "taint", "clear")):
            self.told.append("what is superseded or tainted, or not: events that say so are hidden")
        if about.fixtures and not about.complete:
            self.told.append("that no more runs stand on these fixtures")
        elif about.fixtures and seen.unseen_freezes:
            self.told.append(f"that none of the {seen.unseen_freezes} freezes that aren't shown is of the same file")
        cases = self.call("cases.jsonl", lambda: read_cases(bundle)) or []
        self._draw(at, seed, cases)
        if not self.problems.count and about.asked.runs:
            self._derive(cases)

    def _claim(self, number: int, claim: Claim) -> None:
        newest = self.bundle.about.asked.report is None
        found = self.call(f"claim {number}", lambda: recount(self.seen, claim, newest=newest))
        if found is not None:
            if found.placed and found.placed not in self.told:
                self.told.append(found.placed)
            # A figure of which no cell was planned, such as one of an arm that wasn't run, says nothing.
            if claim.planned or claim.n or found.in_part:
                (self.partly if found.in_part else self.proved).append(found.sentence())
        self.claims.append(ClaimSeen(
            claim.run, claim.rules, claim.candidate, claim.metric, claim.kind, claim.k, claim.total, claim.n,
            claim.planned, claim.unmeasured,
            "false" if found is None else "proved in part" if found.in_part else "proved",
        ))  # fmt: skip

    def hold_against(self, at: Checkpoint, checkpoints: Sequence[Path]) -> None:
        """The auditor's own checkpoints: each must be the very one that the bundle stands on."""
        for path in checkpoints:
            try:
                own = parse_checkpoint(read_small(path, _MOST_NOTE)).checkpoint
            except OSError as problem:
                self.failures.append(f"{path} can't be read: {problem.strerror or problem}")
            except BadNote as problem:
                self.failures.append(f"{path} is no checkpoint: {problem}")
            else:
                if own == at:
                    self.proved.append(f"it stands on your own checkpoint {path}, of {at.size} and the same root")
                    self.own = True
                else:
                    self.problems.add(
                        str(path), f"yours is of {own.origin} at {own.size}, root {to_base64(own.root)}, and the bundle"
                        f" stands on {at.size}, root {to_base64(at.root)}"
                    )  # fmt: skip

    def _draw(self, at: Checkpoint, seed: str | None, cases: list[Case]) -> None:
        reveal, runs = self.bundle.about.reveal, self.bundle.about.asked.runs
        if seed is not None and (reveal is None or reveal.seed != seed):
            said = "nothing is revealed by a draw" if reveal is None else f"it was drawn with the seed {reveal.seed!r}"
            self.problems.add("draw", f"expected a draw with the seed {seed!r}; {said}")
        if reveal is None:
            if cases:
                self.problems.add("cases.jsonl", "cases, and nothing was drawn")
            return
        said = self.call("draw", lambda: check_draw(self.seen, reveal, at.root, runs, cases))
        if said is not None:
            self.proved.append(said)
            wholly = drawn_events(self.seen, {(each.run, each.cell) for each in reveal.drawn})
            gone = sum(seq in wholly for seq, _ in self.seen.withheld())
            if gone:
                self.partly.append(f"redactions withhold {many(gone, 'text')} of drawn cells")
        if seed is None:
            self.told.append("that the seed wasn't chosen to suit: give --seed, with one that you chose yourself")
        if not self.own:
            self.told.append(
                "that the root is from before the seed was known: give --checkpoint, with the file that you had before"
                " you said the seed"
            )

    def _derive(self, cases: list[Case]) -> None:
        try:
            self.rederived = rederive(self.bundle, self.seen, cases)
        except LedgerError as problem:
            why = f"what is shown was not derived again: {problem}"
            (self.told if self.bundle.about.reveal is None else self.failures).append(why)
            return
        if not self.rederived.ok:
            self.problems.add("deriving again", "something that is recorded doesn't follow from what it rests on")
            return
        reveal = self.bundle.about.reveal
        drawn = {(each.run, each.cell) for each in reveal.drawn} if reveal is not None else set[tuple[str, int]]()
        wanted = sum(line.kind in ("parse", "confirm", "score") and (line.run, line.cell) in drawn
                     for line in self.seen.events.values())  # fmt: skip
        if self.rederived.reproduced < wanted:
            short = wanted - self.rederived.reproduced
            self.partly.append(
                f"of what was drawn, {short} of {wanted} derivations could not be made again (a rule set or a reply is"
                " hidden or withheld, or a judge's grade stands there)"
            )

    def check_timestamps(self, note: bytes, roots: Sequence[Path]) -> None:
        """Each timestamp over the checkpoint's bytes, by the roots that were given."""
        from ledger.checkpoints._timestamp import check_timestamp, describe_timestamp

        pems = [pem for each in roots if (pem := self._pem(each)) is not None]
        for name in sorted(each for each in self.bundle.sizes if each.startswith("timestamps/")):
            token = self.bundle.whole(name)
            try:
                if pems:
                    timestamp = check_timestamp(token, note, pems)
                    self.timestamps.append(f"{timestamp.name} had the checkpoint at {timestamp.at} ({name})")
                else:
                    timestamp = describe_timestamp(token)
                    self.told.append(f"{name}: {timestamp.name} had the checkpoint at {timestamp.at} (give --tsa-root)")
            except BadNote as problem:
                self.told.append(f"{name}, which doesn't verify: {problem}")
        if roots and not self.timestamps:
            self.failures.append("no timestamp in the bundle verifies against the roots given")

    def _pem(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except OSError as problem:
            self.failures.append(f"{path} can't be read: {problem.strerror or problem}")
            return None

    def companions(self, at: Checkpoint) -> None:
        """verify.py and README.md: nothing that is proved rests on them, but people do."""
        if self.bundle.about.made_by != f"eval-ledger {version('eval-ledger')}":
            self.told.append(
                f"README.md and verify.py, of {self.bundle.about.made_by}: not compared with this release's"
            )
            return
        if self.bundle.whole("verify.py") != reader_source():
            self.told.append("the verify.py in it, which is not this release's: don't run it, take one from elsewhere")
        if not _is_our_readme(self.bundle, self.seen, at):
            self.told.append("README.md, which is not as this release writes it: believe none of it")


def _is_our_readme(bundle: BundleFile, seen: Seen, at: Checkpoint) -> bool:
    text = bundle.whole("README.md").decode("utf-8", "replace")
    places: dict[str, list[int]] = {}
    redacted: Counter[str] = Counter()
    for seq, why in sorted(seen.hidden.items()):
        kind = seen.events[seq].kind
        if why == "redacted":
            redacted[kind] += 1
        else:
            places.setdefault(kind, []).append(seq)
    about = bundle.about
    cells = sum(len(seen.of("cell", run)) for run in about.asked.runs) if about.reveal is not None else 0
    made = readme(
        origin=at.origin, size=at.size, root=to_base64(at.root), places=places,
        bundle=load(bundle.whole("bundle.json")),
        redacted=redacted, cells=cells, unread=(),
    )  # fmt: skip
    return text == made or (text.startswith(made) and _UNREAD.fullmatch(text.removeprefix(made)) is not None)


def check_bundle(
    path: Path, *, keys: Sequence[VerifierKey] = (), tsa_roots: Sequence[Path] = (), seed: str | None = None,
    checkpoints: Sequence[Path] = (),
) -> BundleVerdict:  # fmt: skip
    """Check a bundle. Only `keys`, which come from elsewhere, are trusted. Raises BadBundle for what is none.

    `tsa_roots` are PEM files that timestamps must lead to; `seed` is what revealed cells must be drawn with;
    `checkpoints` are the auditor's own files, each of which must be the one that the bundle stands on.
    """
    with BundleFile.open(path) as bundle:
        check = _Check(bundle)
        note = bundle.whole("checkpoint")
        signed: list[str] = []
        at: Checkpoint | None = None
        try:
            found = parse_checkpoint(note)
            signed = [each.label for each in found.note.signed_by(keys) if each.name == found.checkpoint.origin]
            if keys and not signed:
                given = ", ".join(each.label for each in keys)
                raise BadBundle(
                    f"{found.checkpoint.origin} at {found.checkpoint.size} is signed by none of the keys given,"
                    f" {given}: either that is the wrong key, or the checkpoint is a forgery"
                )
            at = found.checkpoint
            check.hold_against(at, checkpoints)
            check.everything(at, seed)
            check.companions(at)
            check.check_timestamps(note, tsa_roots)
        except (BadNote, BadBundle) as problem:
            if at is not None:
                raise
            check.problems.add("checkpoint", problem)
        return _verdict(path, check, at, tuple(signed))


def _verdict(path: Path, check: _Check, at: Checkpoint | None, signed: tuple[str, ...]) -> BundleVerdict:
    places: dict[tuple[str, str], list[int]] = {}
    for seq, why in sorted(check.seen.hidden.items()):
        places.setdefault((check.seen.events[seq].kind, why), []).append(seq)
    return BundleVerdict(
        str(path), check.bundle.about.made_by, at.origin if at else "", at.size if at else 0,
        to_base64(at.root) if at else "", signed, tuple(check.problems.found), check.problems.count,
        tuple(check.failures), tuple(check.proved), tuple(check.partly), tuple(check.told),
        tuple(Hidden(kind, why, tuple(seqs)) for (kind, why), seqs in sorted(places.items())),
        len(check.seen.bare), tuple(check.timestamps), check.rederived, tuple(check.claims),
    )  # fmt: skip
