"""What verify is given beside the file: checkpoints, keys, roots of timestamp authorities. Read before the ledger is.

Before, because a checkpoint that is made meanwhile may speak of events that this reading of the ledger doesn't hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ledger._canonical import JSON
from ledger._errors import BadKey, BadNote
from ledger._files import read_small
from ledger.checkpoints._files import (
    StoredCheckpoint,
    checkpoint_folder,
    note_path,
    read_checkpoint,
    stored_checkpoints,
)
from ledger.checkpoints._timestamp import Timestamp
from ledger.checkpoints._unfinished import Unfinished, unfinished_checkpoints
from ledger.tree import VerifierKey, to_base64

__all__ = ["CheckpointSeen", "Found", "Gathered", "Outside", "gather", "read_keys", "signers", "why_unreadable"]

_MAX_FILE = 1 << 20


@dataclass(frozen=True, slots=True)
class Outside:
    """What a ledger is held against that isn't in its file.

    `checkpoints` are files of signed notes; those in the folder beside the ledger are looked at as well (`beside`).
    `keys` are whom one trusts to sign them, had from elsewhere. `since` is a signed checkpoint whose events are taken
    as they are. `tsa_roots` are PEM files of the certificates that timestamps must lead to.
    """

    checkpoints: tuple[Path, ...] = ()
    keys: tuple[VerifierKey, ...] = ()
    require_checkpoint: bool = False
    since: Path | None = None
    tsa_roots: tuple[Path, ...] = ()
    beside: bool = True


@dataclass(frozen=True, slots=True)
class CheckpointSeen:
    """One checkpoint's file, and what came of it.

    `holds`: whether the ledger's first `size` events have the root named; None where that couldn't be found out.
    `signed_by` are given keys whose signature is right, `unknown` the other names on it, by their own word (all, where
    no key was given). `problem` says why it doesn't count; `timestamps` vouch for its bytes, as given roots have it.
    """

    file: str
    size: int | None
    root: str
    holds: bool | None
    signed_by: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    problem: str = ""
    timestamps: tuple[Timestamp, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether it is a checkpoint that the ledger extends, and one to go by."""
        return self.holds is True and not self.problem

    def as_json(self) -> dict[str, JSON]:
        """As in the verdict's JSON."""
        return {
            "file": self.file,
            "size": self.size,
            "root": self.root,
            "holds": self.holds,
            "signed_by": list(self.signed_by),
            "unknown": list(self.unknown),
            "problem": self.problem,
            "timestamps": [{"name": each.name, "at": each.at} for each in self.timestamps],
        }


@dataclass(frozen=True, slots=True)
class Found:
    """A checkpoint's file. `own`: it lies in the ledger's own folder; `named`: somebody asked for it by name."""

    stored: StoredCheckpoint
    own: bool
    named: bool

    @property
    def file(self) -> str:
        """As people are told: as they named it, or by its folder beside the ledger (pages tell no machine's path)."""
        path = self.stored.path
        return f"{path.parent.name}/{path.name}" if self.own else str(path)


@dataclass(frozen=True, slots=True)
class Gathered:
    """All that was found outside; `failures` are what was asked for and couldn't be had."""

    outside: Outside = field(default_factory=lambda: Outside(beside=False))
    found: tuple[Found, ...] = ()
    unfinished: tuple[Unfinished, ...] = ()
    roots: tuple[bytes, ...] = ()
    failures: tuple[str, ...] = ()
    ledger: Path | None = None

    @property
    def sizes(self) -> set[int]:
        """The sizes at which a root is wanted."""
        signed = {each.stored.signed.checkpoint.size for each in self.found if each.stored.signed is not None}
        return signed | {each.size - 1 for each in self.unfinished}

    def came_since(self, size: int, root: str) -> bool:
        """Whether a checkpoint of this size and root lies in the ledger's folder now: one made since that was read."""
        if self.ledger is None or not self.outside.beside:
            return False
        signed = read_checkpoint(note_path(checkpoint_folder(self.ledger), size)).signed
        return signed is not None and (signed.checkpoint.size, to_base64(signed.checkpoint.root)) == (size, root)


def gather(path: Path, outside: Outside) -> Gathered:
    """Read what is outside the ledger at `path`. Never fails: what can't be read is among the failures."""
    failures: list[str] = []
    found = {_key(each.path): Found(each, own=True, named=False) for each in _beside(path, outside, failures)}
    for each in (*outside.checkpoints, *([] if outside.since is None else [outside.since])):
        key = _key(each)
        known = found.get(key)
        stored = read_checkpoint(each) if known is None else known.stored
        found[key] = Found(stored, own=known is not None and known.own, named=True)
    roots: list[bytes] = []
    for each in outside.tsa_roots:
        try:
            roots.append(_whole(each))
        except OSError as problem:
            failures.append(f"the root certificate {each} can't be read: {why_unreadable(problem)}")
    unfinished, unread = unfinished_checkpoints(path) if outside.beside else ((), ())
    failures += unread
    return Gathered(outside, tuple(found.values()), unfinished, tuple(roots), tuple(failures), path)


def _key(path: Path) -> Path:
    """The same for one file however its folder is named. A link is a file of its own, as its name says a size."""
    try:
        return path.parent.resolve() / path.name
    except (OSError, RuntimeError):  # links in a circle; reading it says so
        return path.absolute()


def _beside(path: Path, outside: Outside, failures: list[str]) -> Sequence[StoredCheckpoint]:
    if not outside.beside:
        return ()
    folder = checkpoint_folder(path)
    try:
        if folder.exists() and not folder.is_dir():
            failures.append(f"{folder.name} is not a folder; expected one with the ledger's checkpoints, or nothing")
        return stored_checkpoints(path)
    except OSError as problem:
        failures.append(f"the folder {folder.name} can't be read: {why_unreadable(problem)}")
        return ()


def why_unreadable(problem: OSError) -> str:
    """The system's own words, without the path that the sentence names already."""
    return problem.strerror or str(problem)


def _whole(path: Path) -> bytes:
    data = read_small(path, _MAX_FILE)
    if len(data) > _MAX_FILE:
        raise OSError(f"expected a file of at most {_MAX_FILE} bytes")
    return data


def signers(stored: StoredCheckpoint, keys: Sequence[VerifierKey]) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """(which of the keys signed it, who else says so, why it isn't to be trusted or "").

    A key speaks for the ledger whose name it has: whoever is given the keys of several ledgers isn't told of one of
    them by the key of another. Without keys nothing is known of any signature, and that alone is no problem.
    """
    assert stored.signed is not None
    note, origin = stored.signed.note, stored.signed.checkpoint.origin
    try:
        found = note.signed_by(keys)
    except BadNote as problem:
        return (), tuple(dict.fromkeys(each.label for each in note.signatures)), str(problem)
    by = tuple(key.label for key in found)
    unknown = tuple(dict.fromkeys(each.label for each in note.signatures if each.label not in by))
    if keys and not any(key.name == origin for key in found):
        wanted = f"a key of {origin[:140]!a}" if by else ", ".join(key.label for key in keys)
        return by, unknown, f"expected a signature by {wanted}, got one by {', '.join((*by, *unknown))}"
    return by, unknown, ""


def read_keys(values: Sequence[str]) -> tuple[VerifierKey, ...]:
    """Verifier keys from their text, or from files that hold one a line ('#' begins a remark). Raises BadKey."""
    keys: list[VerifierKey] = []
    for value in values:
        for text in _key_texts(value):
            if text.startswith("PRIVATE+KEY+"):
                raise BadKey("expected a verifier key, got a signing key (not shown); give its public half")
            key = VerifierKey.parse(text)
            if key not in keys:
                keys.append(key)
    return tuple(keys)


def _key_texts(value: str) -> list[str]:
    if not value.strip():
        raise BadKey(
            "--key is empty; expected a verifier key, NAME+ID+BASE64, or a file that holds one (`ledger key show`"
            " prints that of the ledger's own key)"
        )
    path = Path(value.strip())
    try:
        is_file = path.exists()
    except (OSError, ValueError):
        is_file = False
    if not is_file:
        if value.count("+") < 2:
            raise BadKey(f"expected a verifier key, NAME+ID+BASE64, or a file that holds one, got {value[:80]!a}")
        return [value.strip()]
    try:
        lines = _whole(path).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        reason = why_unreadable(problem) if isinstance(problem, OSError) else "it is no text"
        raise BadKey(f"the key file {path} can't be read: {reason}") from None
    texts = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not texts:
        raise BadKey(f"expected a verifier key in the file {path}, got none")
    return texts
