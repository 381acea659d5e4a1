"""Make a checkpoint: verify, prove that every earlier one is extended, sign, store, and record that it was made.

The order is what a crash leaves whole: peaks, the signed note, then the anchor event. Whatever is missing of the last
ones the next call adds, before it does anything else.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote

from ledger._drafts import Draft
from ledger._errors import AppendFailed, LedgerExists, NotFound, Refused
from ledger._schema import RELEASE
from ledger._store import Ledger
from ledger._verify import Verdict, verify
from ledger._verify_outside import Outside
from ledger.checkpoints._extends import (
    Anchored,
    Held,
    Roots,
    anchors_of,
    held_checkpoints,
    origin_of,
    refuse_unless_extends,
    roots_at,
)
from ledger.checkpoints._files import checkpoint_folder, note_path, peaks_path
from ledger.checkpoints._peaks import peaks_text
from ledger.checkpoints._storing import hold_folder, store
from ledger.checkpoints._unfinished import unfinished_checkpoints
from ledger.kinds import Anchor, Note, Schema
from ledger.tree import Checkpoint, SigningKey, VerifierKey, to_base64

__all__ = ["Made", "make_checkpoint"]


@dataclass(frozen=True, slots=True)
class Made:
    """The newest checkpoint: its file, what it says, who signed it. `fresh` says that it was signed just now.

    `anchor` is the seq of the anchor event that was appended just now, None when it was there. `lost` are the sizes of
    checkpoints whose files are missing, as the caller said.
    """

    path: Path
    checkpoint: Checkpoint
    key: VerifierKey
    fresh: bool
    anchor: int | None
    lost: tuple[int, ...] = ()


def make_checkpoint(path: str | os.PathLike[str], key: SigningKey, *, without: Collection[int] = ()) -> Made:
    """Sign the ledger as it is now, into `<ledger>.checkpoints/`, and append the anchor event that says so.

    Where nothing but the last checkpoint's own anchors came since, nothing is signed. `without` names the sizes of
    checkpoints that the ledger says it had and whose files are lost; a note of the ledger then says so.

    Raises Refused where the ledger is tampered with, isn't the key's, or doesn't extend every checkpoint; NotFound for
    a size in `without` that isn't lost; AppendFailed where something couldn't be written.
    """
    with Ledger.open(path) as ledger:
        _refuse_key(ledger, key)
        _refuse_newer(ledger)
        with hold_folder(ledger.path) as folder:
            found = _look(ledger, without)
            appended = _catch_up(ledger, found, key.verifier)
            if appended:
                found = _look(ledger, without)
            lost = tuple(sorted(found.lost))
            last = found.held[-1] if found.held else None
            if last is not None and last.is_by(key.verifier) and _nothing_since(ledger, last, found):
                return Made(last.path, last.checkpoint, key.verifier, False, appended.get(last.checkpoint.size), lost)
            if last is not None and last.checkpoint.size == found.roots.size:
                raise Refused(
                    f"{last.path} is of the same {found.roots.size} events, by another key, and its event was never"
                    " appended: run `ledger checkpoint` with that key first, or append something (`ledger note`)."
                    " Nothing was signed"
                )
            checkpoint = Checkpoint(origin_of(ledger), found.roots.size, found.roots.root)
            target = note_path(folder, checkpoint.size)
            data = bytes(key.sign(checkpoint.text))
            _store_peaks(peaks_path(target), peaks_text(checkpoint.size, found.roots.before))
            store(target, data)
            try:
                (event,) = ledger.append(_anchor(checkpoint, key.verifier, data))
            except AppendFailed as problem:
                raise AppendFailed(
                    f"{problem}. The checkpoint is signed and stays in {target}; `ledger checkpoint` will record it"
                ) from None
            return Made(target, checkpoint, key.verifier, True, event.seq, lost)


@dataclass(frozen=True, slots=True)
class _Found:
    """What there is at one moment: nothing of it contradicts the ledger."""

    roots: Roots
    held: list[Held]
    anchors: list[Anchored]
    lost: dict[int, int] = field(default_factory=dict[int, int])
    """Sizes of checkpoints that have no file, and the seq of the anchor that names each."""


def _refuse_key(ledger: Ledger, key: SigningKey) -> None:
    if key.name != origin_of(ledger):
        raise Refused(
            f"expected the key of {origin_of(ledger)}, got that of {key.name!a}: another ledger's. Nothing was signed"
        )


def _refuse_newer(ledger: Ledger) -> None:
    newest = 0
    for event in ledger.newest(1, kind="schema"):
        body = ledger.body(event)
        newest = body.release if isinstance(body, Schema) else 0
    if newest > RELEASE:
        raise Refused(
            f"{ledger.path} is of release {newest}, and this package knows {RELEASE}: it can't check all that it would"
            " sign; install a newer one"
        )


def _look(ledger: Ledger, without: Collection[int]) -> _Found:
    verdict = _verified(ledger)
    assert verdict.head is not None, "a ledger that verifies has a head"
    held = held_checkpoints(ledger)
    anchors = [each for each in anchors_of(ledger) if each.event.seq <= verdict.events]
    sizes = {each.checkpoint.size for each in held} | {each.size for each in anchors}
    begun, _ = unfinished_checkpoints(ledger.path)
    sizes |= {each.size - 1 for each in begun}
    roots = roots_at(ledger, sizes, verdict.events, verdict.head)
    for each in begun:
        # Of what is no longer there nothing can be checked but that it is gone.
        size = each.size if each.size > roots.size else each.size - 1
        refuse_unless_extends(f"the unfinished checkpoint {each.file}", size, each.before, roots)
    for each in held:
        refuse_unless_extends(str(each.path), each.checkpoint.size, each.checkpoint.root, roots)
    there = {each.checkpoint.size for each in held}
    lost: dict[int, int] = {}
    for each in anchors:
        if each.root is not None:
            name = f"the checkpoint that event {each.event.seq} names"
            refuse_unless_extends(name, each.size, each.root, roots)
        elif each.size not in without:
            raise Refused(
                f"event {each.event.seq} names a checkpoint of {each.size} events by a root that is none"
                f" ({each.said[:60]!a}), so nothing can be held against it; `--without {each.size}` passes over it"
            )
        if each.root is None or (each.what == "checkpoint" and each.size not in there):
            lost.setdefault(each.size, each.event.seq)
    for size, seq in lost.items():
        if size not in without:
            _refuse_lost(ledger, size, seq)
    for size in without:
        if size not in lost:
            raise NotFound(f"no checkpoint of {size} events is lost; those that are: {sorted(lost) or 'none'}")
    return _Found(roots, held, anchors, lost)


def _verified(ledger: Ledger) -> Verdict:
    # The folder is judged here, in words that say what to do about it.
    verdict = verify(ledger.path, Outside(beside=False))
    if verdict.verdict == "TAMPERED":
        first = verdict.problems[0]
        where = "the file" if first.seq is None else f"event {first.seq}"
        raise Refused(
            f"{ledger.path} was tampered with ({where}: {first.what}; expected {first.expected}, got {first.got});"
            " `ledger verify` says more. Nothing was signed"
        )
    return verdict


def _refuse_lost(ledger: Ledger, size: int, seq: int) -> None:
    target = note_path(checkpoint_folder(ledger.path), size)
    back = f"ledger show {seq} --blob note --db {quote(str(ledger.path))} > {quote(str(target))}"
    raise Refused(
        f"event {seq} says that a checkpoint of {size} events was made, and {target} isn't there. Put the file back"
        f" (the event has it too: `{back}`), or say `--without {size}` if it is lost. Nothing was signed"
    )


def _catch_up(ledger: Ledger, found: _Found, key: VerifierKey) -> dict[int, int]:
    """Append the anchors that a crash kept from being appended, and what is lost. Returns sizes and their seqs."""
    known = {each.size for each in found.anchors if each.what == "checkpoint"}
    behind = [each for each in found.held if each.checkpoint.size not in known and each.is_by(key)]
    drafts = [_anchor(each.checkpoint, key, bytes(each.signed)) for each in behind]
    events = ledger.events(kind="note", run="") if found.lost else ()
    notes = (ledger.body(event) for event in events if event.body is not None)
    said = {body.text for body in notes if isinstance(body, Note)}
    sizes = [each.checkpoint.size for each in behind]
    for size, seq in found.lost.items():
        text = f"The file of the checkpoint of {size} events is lost; later ones are signed without it."
        if text not in said:
            drafts.append(Draft(Note(text=text), causes=[seq]))
            sizes.append(0)
    if not drafts:
        return {}
    return {0: 0, **{size: event.seq for size, event in zip(sizes, ledger.append(*drafts), strict=True) if size}}


def _anchor(checkpoint: Checkpoint, key: VerifierKey, note: bytes) -> Draft:
    body = Anchor(what="checkpoint", size=checkpoint.size, root=to_base64(checkpoint.root), key=str(key))
    return Draft(body, blobs={"note": note})


def _nothing_since(ledger: Ledger, last: Held, found: _Found) -> bool:
    """Whether only anchors of the last checkpoint came after it, among the events that were looked at."""
    size = last.checkpoint.size
    own = {each.event.seq for each in anchors_of(ledger) if each.size == size}
    return all(seq in own for seq in range(size + 1, found.roots.size + 1))


def _store_peaks(path: Path, data: bytes) -> None:
    """The peaks, unless a call that was killed left them already."""
    try:
        store(path, data)
    except LedgerExists:
        try:
            there = path.read_bytes()
        except OSError as problem:
            raise AppendFailed(f"{path}: {problem.strerror or problem}; nothing was signed") from None
        if there != data:
            raise Refused(
                f"{path} is there, and isn't what this ledger gives; move it away. Nothing was signed"
            ) from None
