"""Making an evidence bundle, from what a person asks for to a file under its name."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, cast

from ledger._canonical import JSON
from ledger._errors import BadBody, LedgerError, LedgerExists, NotFound, Refused
from ledger._files import claim_name, sync_file, sync_folder
from ledger._store import Ledger
from ledger._verify import verify
from ledger.bundle._claims import claims_of, fixtures_of, marks_of, told_of
from ledger.bundle._cover import Cover, newest_cover
from ledger.bundle._decide import Decisions, decide
from ledger.bundle._draw import Drawn, draw, drawn_cases, revealed
from ledger.bundle._holds import HIDEABLE, Word
from ledger.bundle._known import Known, known_texts, reader_source
from ledger.bundle._readme import readme
from ledger.bundle._reread import reread
from ledger.bundle._select import Asked, Selection, find_asked, pages, select
from ledger.bundle._texts import HiddenTexts
from ledger.bundle._write import Contents, blob_file, write_zip
from ledger.tree import Proof, SignedCheckpoint, VerifierKey, parse_checkpoint, to_base64

__all__ = ["Made", "Wanted", "make_bundle", "make_proof", "words_of"]

MOST_LINES = 50_000
"""Up to so many events, every line goes into a bundle unless told otherwise."""
_LONGEST_SEED = 1_000


@dataclass(frozen=True)
class Wanted:
    """What goes into a bundle: runs and events as people name them, or a recorded report's file.

    `lines` None: every line where the checkpoint is of 50,000 events at most.
    """

    targets: Sequence[str] = ()
    report: Path | None = None
    hide: frozenset[Word] = frozenset()
    reveal: int = 0
    seed: str | None = None
    lines: Literal["all", "needed"] | None = None
    keys: Sequence[VerifierKey] = ()


@dataclass(frozen=True)
class Made:
    """A bundle that was made. `hidden` counts hidden bodies by kind; `unread` are frozen files that are withheld."""

    path: Path
    size: int
    root: str
    events: int
    bytes: int
    claims: int
    drawn: Drawn
    complete: bool
    hidden: Mapping[str, int] = field(default_factory=dict[str, int])
    redacted: Mapping[str, int] = field(default_factory=dict[str, int])
    unread: Sequence[int] = ()

    def as_json(self) -> dict[str, JSON]:
        """For `bundle --json`."""
        return {
            "bundle": str(self.path), "size": self.size, "root": self.root, "events": self.events,
            "bytes": self.bytes, "claims": self.claims, "complete": self.complete,
            "drawn": [{"run": run, "cell": cell} for run, cell in self.drawn], "hidden": dict(self.hidden),
            "redacted": dict(self.redacted), "unread": list(self.unread),
        }  # fmt: skip


def words_of(text: str) -> frozenset[Word]:
    """The words of `--hide`, which commas separate. Raises BadBody for another."""
    words = {each.strip() for each in text.split(",") if each.strip()}
    unknown = sorted(words - set(HIDEABLE))
    if unknown:
        raise BadBody(f"--hide: expected {', '.join(HIDEABLE)}, got {unknown[0]!a}")
    return frozenset(cast("set[Word]", words))


def _check(wanted: Wanted) -> None:
    if not wanted.targets and wanted.report is None:
        raise BadBody("expected a run, an event's seq, or --report FILE; `ledger runs` lists the runs")
    if wanted.reveal and not wanted.seed:
        raise BadBody(f"--reveal {wanted.reveal} needs --seed, a text that the auditor chose after the checkpoint")
    if wanted.seed is not None and not wanted.reveal:
        raise BadBody("--seed needs --reveal N: how many cells it draws")
    if wanted.reveal and not wanted.hide:
        raise BadBody("--reveal needs --hide: without it, everything is shown")
    if wanted.seed is not None and (len(wanted.seed) > _LONGEST_SEED or not wanted.seed.isprintable()):
        raise BadBody(f"--seed: expected at most {_LONGEST_SEED} printable characters on one line, got another")


def _check_target(target: Path) -> None:
    if os.path.lexists(target):
        raise LedgerExists(f"{target} exists already; evidence is never written over a file, so name another")
    if not target.parent.is_dir():
        raise NotFound(f"there is no folder {target.parent}; make it first")


def _check_ledger(path: Path) -> None:
    found = verify(path)
    if found.verdict == "TAMPERED":
        said = f": {found.problems[0]}" if found.problems else ""
        raise Refused(f"{path} is TAMPERED, and no evidence is made of it{said}; `ledger verify` says more")


@contextmanager
def _beside(target: Path) -> Generator[Path]:
    """A file to write to, which gets the target's name once it is whole and durable."""
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".ledger-", ignore_cleanup_errors=True) as folder:
            made = Path(folder) / "made"
            yield made
            with made.open("rb+") as file:
                sync_file(file.fileno())
            claim_name(made, target)
        sync_folder(target.parent)
    except OSError as problem:
        raise LedgerError(
            f"{target} can't be written: {problem.strerror or problem}; nothing was left of it, so make room or name"
            " another place"
        ) from None


def make_bundle(path: Path, wanted: Wanted, target: Path) -> Made:
    """Make the bundle. It appears under its name whole or not at all, and never over another file.

    Raises BadBody for what doesn't go together, NotFound, LedgerExists, and Refused: no checkpoint covers it, the
    ledger is tampered with, or what is to be hidden can't be.
    """
    _check(wanted)
    _check_target(target)
    _check_ledger(path)
    with Ledger.open(path, read_only=True) as ledger:
        cover = newest_cover(ledger, wanted.keys)
        asked = find_asked(ledger, wanted.targets, wanted.report)
        plan = _Plan(ledger, wanted, cover, asked)
        with _beside(target) as made:
            contents = plan.contents()
            write_zip(ledger, contents, made)
            plan.look_again(made, contents)
            size = made.stat().st_size
    return Made(
        target, cover.size, to_base64(cover.checkpoint.root), len(plan.selection.seqs), size,
        len(contents.bundle["claims"]), plan.drawn, contents.bundle["complete"],
        {kind: len(seqs) for kind, seqs in sorted(plan.decisions.places.items())},
        dict(sorted(plan.decisions.redacted.items())), tuple(plan.known.unread),
    )  # fmt: skip


class _Plan:
    """Everything that is decided before a byte is written."""

    def __init__(self, ledger: Ledger, wanted: Wanted, cover: Cover, asked: Asked) -> None:
        self.ledger, self.wanted, self.cover, self.asked = ledger, wanted, cover, asked
        self.selection: Selection = select(ledger, asked, cover.size)
        self.drawn: Drawn = ()
        if wanted.reveal:
            self.drawn = draw(ledger, asked.runs, cover.checkpoint.root, wanted.reveal, wanted.seed or "")
        self.whole = revealed(ledger, self.selection, self.drawn)
        self.cases = drawn_cases(ledger, self.selection, self.drawn)
        self.known: Known = known_texts(
            ledger, cover.size, wanted.hide, seqs=self.selection.seqs, drawn=self.cases if self.drawn else None
        )
        self.decisions: Decisions = decide(ledger, self.selection, wanted.hide, self.known, self.whole)
        if wanted.report is not None and asked.report is not None and self.decisions.why(asked.report):
            raise Refused(
                f"event {asked.report}, the report's, is {self.decisions.why(asked.report)}: name the run instead, or"
                " hide less"
            )

    @property
    def texts(self) -> HiddenTexts:
        return self.known.texts

    def contents(self) -> Contents:
        """What goes into the zip."""
        bundle = self._bundle()
        genesis = self.ledger.genesis
        text = readme(
            origin=f"{genesis.origin}/{genesis.id}", size=self.cover.size, root=to_base64(self.cover.checkpoint.root),
            bundle=bundle, places=self.decisions.places, redacted=self.decisions.redacted,
            cells=self._cells() if self.drawn else 0, unread=self.known.unread,
            marks=marks_of(self.ledger, bundle["claims"], self.cover.size, hiding=bool(bundle["hide"])),
        )  # fmt: skip
        return Contents(
            text, reader_source(), bundle, self.cover, self.selection.seqs, self.decisions,
            self.cases if self.drawn else None,
        )  # fmt: skip

    def _cells(self) -> int:
        query = "SELECT count(*) AS cells FROM main.events WHERE kind = 'cell' AND run = ?"
        return sum(int(self.ledger.rows(query, (run,))[0]["cells"]) for run in self.asked.runs)

    def _bundle(self) -> dict[str, Any]:
        ledger, wanted = self.ledger, self.wanted
        complete = wanted.lines == "all" or (wanted.lines is None and self.cover.size <= MOST_LINES)
        names = [each.name for each in self.selection.fixtures if self.texts.held_by(each.name)]
        reveal = {
            "n": wanted.reveal, "seed": wanted.seed, "drawn": [{"run": run, "cell": cell} for run, cell in self.drawn],
        } if self.drawn else None  # fmt: skip
        told = told_of(ledger, self.selection, self.decisions) if self.drawn else None
        return {
            "bundle": 1,
            "made_by": f"eval-ledger {version('eval-ledger')}",
            "asked": {
                "runs": list(self.asked.runs), "events": list(self.asked.events), "report": self.asked.report_digest,
            },
            "hide": sorted(wanted.hide),
            "reveal": reveal,
            "complete": complete,
            "claims": claims_of(ledger, self.selection, self.decisions, self.cover.size),
            "fixtures": fixtures_of(ledger, self.selection, self.decisions, self.cover.size, names),
            "told": None if told is not None and self.texts.held_by(json.dumps(told)) else told,
        }  # fmt: skip

    def look_again(self, made: Path, contents: Contents) -> None:
        """Read what was written for what must not be in it. Raises Refused."""
        if not self.wanted.hide:
            return
        ours = frozenset(
            blob_file(event.seq, name)
            for event in pages(self.ledger, sorted(self.whole))
            for name in json.loads(event.body or "{}").get("blobs", {})
        )
        reread(
            made, self.known, reader=contents.reader, shown_whole=self.whole, seed=self.wanted.seed, ours=ours
        )  # fmt: skip


def make_proof(path: Path, wanted: Wanted, target: Path) -> Made:
    """Write a tlog-proof (c2sp.org/tlog-proof) of one event; its line is the proof's `extra`. Raises as make_bundle."""
    if len(wanted.targets) != 1 or not wanted.targets[0].isdigit() or wanted.report or wanted.hide or wanted.reveal:
        raise BadBody("a .tlog-proof is of one event: give one seq, and no --report, --hide or --reveal")
    _check_target(target)
    _check_ledger(path)
    with Ledger.open(path, read_only=True) as ledger:
        cover = newest_cover(ledger, wanted.keys)
        event = ledger.event(int(wanted.targets[0]))
        select(ledger, Asked(events=(event.seq,)), cover.size)
        signed: SignedCheckpoint = parse_checkpoint(cover.note)
        proof = Proof(event.seq - 1, tuple(cover.tree.inclusion(event.seq - 1, cover.size)), signed, event.line)
    data = bytes(proof)
    with _beside(target) as made:
        made.write_bytes(data)
    return Made(target, cover.size, to_base64(cover.checkpoint.root), 1, len(data), 0, (), complete=False)
