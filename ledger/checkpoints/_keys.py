"""Signing keys: where one is kept, and what keeps it out of ledgers, repositories, messages and other people's eyes.

A key's file holds one line, `PRIVATE+KEY+NAME+ID+BASE64` (ledger.tree), mode 0600. It is named by `--signing-key`,
else by LEDGER_SIGNING_KEY (which may hold the key itself), else it is `eval-ledger/keys/<id>.key` in the folder for
settings. No message here quotes what may be a key.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ledger._errors import BadKey
from ledger._files import sync_file, sync_folder
from ledger.checkpoints._files import checkpoint_folder
from ledger.tree import SigningKey

__all__ = ["VARIABLE", "default_key_path", "find_key", "make_key", "read_key"]

VARIABLE = "LEDGER_SIGNING_KEY"
"""The environment variable that holds a signing key, or the path to its file."""
_PRIVATE = "PRIVATE+KEY+"
_KEY_LIKE = re.compile(r"PRIVATE\+KEY|\+[0-9a-f]{8}\+")
_MOST = 4096


def default_key_path(ledger_id: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Where the key of the ledger with this id is kept unless something else is named. Raises BadKey without a home."""
    named = environ.get("XDG_CONFIG_HOME", "")
    try:
        # A relative one is to be ignored (XDG base directory specification).
        folder = Path(named) if Path(named).is_absolute() else Path.home() / ".config"
    except RuntimeError:
        raise BadKey("there is no home folder to keep a key in; name a file with --signing-key") from None
    return folder / "eval-ledger" / "keys" / f"{ledger_id}.key"


def make_key(name: str, ledger: Path, path: Path | None = None, environ: Mapping[str, str] = os.environ) -> Path:
    """Make a new key called `name` for a ledger, in a file of its own that only its owner may read; returns its path.

    `name` is the ledger's origin and id, as its checkpoints have them. Raises BadKey: where something stands already,
    in a git work tree, and beside the ledger, where it would be copied and published along.
    """
    target = default_key_path(name.rpartition("/")[2], environ) if path is None else path
    if _looks_like_a_key(str(target)):
        raise BadKey("expected a file to keep the key in, got what looks like a key (not shown)")
    key = SigningKey.generate(name)
    _refuse_place(target, ledger)
    try:
        if path is None:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # O_EXCL follows no link, so what was refused can't be reached by one either.
        handle = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        raise BadKey(f"{target} exists already; a key is never written over, so name another file") from None
    except FileNotFoundError:
        raise BadKey(f"there is no folder {target.parent}; make it first") from None
    except OSError as problem:
        raise BadKey(f"{target} can't be made: {problem.strerror or problem}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(f"{key.secret_text()}\n".encode())
            file.flush()
            sync_file(file.fileno())
    except OSError as problem:
        with suppress(OSError):
            target.unlink()
        raise BadKey(f"{target} can't be written: {problem.strerror or problem}; no key was made") from None
    sync_folder(target.parent)
    return target


def read_key(path: Path, ledger: Path) -> SigningKey:
    """The key in a file. Raises BadKey: also where others may read the file, and where it lies in a repository or
    beside the ledger."""
    if _looks_like_a_key(str(path)):
        raise BadKey(
            "expected the file of a signing key, got what looks like a key (not shown): others can see the arguments"
            f" of a command. Put it into a file, or into {VARIABLE}; if it was a key, make a new one"
        )
    _refuse_place(path, ledger)
    try:
        # Not waiting for whoever writes to a pipe; what is asked is asked of the very file that is read.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise BadKey(f"there is no key at {path}; `ledger key new` makes one") from None
    except OSError as problem:
        raise BadKey(f"{path} can't be read: {problem.strerror or problem}") from None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise BadKey(f"{path} is no file; expected one that holds a signing key")
        if os.name == "posix" and found.st_mode & 0o077:
            raise BadKey(
                f"others may read {path} (mode {stat.S_IMODE(found.st_mode):04o}):"
                f" `chmod 600 {shlex.quote(str(path))}` mends it; whoever may have read the key can sign with it"
            )
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(_MOST + 1)
    finally:
        os.close(handle)
    try:
        return SigningKey.parse(data[:_MOST].decode("utf-8"))
    except UnicodeDecodeError:
        raise BadKey(f"{path}: expected a signing key, got bytes that are no text (not shown)") from None
    except BadKey as problem:
        raise BadKey(f"{path}: {problem}") from None


def find_key(
    ledger_id: str, ledger: Path, path: Path | None = None, environ: Mapping[str, str] = os.environ
) -> SigningKey:
    """The key that signs for a ledger: the file that was named, else LEDGER_SIGNING_KEY, else the default file.

    Raises BadKey.
    """
    if path is not None:
        return read_key(path, ledger)
    said = environ.get(VARIABLE, "").strip()
    if not said:
        return read_key(default_key_path(ledger_id, environ), ledger)
    if said.startswith(_PRIVATE):
        try:
            return SigningKey.parse(said)
        except BadKey as problem:
            raise BadKey(f"{VARIABLE}: {problem}") from None
    if _looks_like_a_key(said) or "\x00" in said or not Path(said).is_file():
        # A key that lost its first letters is taken for a path. It is still not to be shown.
        raise BadKey(f"{VARIABLE}: expected a signing key or the path to its file, got neither (not shown)")
    return read_key(Path(said), ledger)


def _looks_like_a_key(text: str) -> bool:
    return _KEY_LIKE.search(text) is not None


def _refuse_place(path: Path, ledger: Path) -> None:
    """Raise BadKey where a key must not lie: a link to such a place is one, too."""
    folder = path.parent.resolve()
    beside = ledger.resolve().parent
    if path.is_symlink() and path.exists():
        folder = path.resolve().parent
    if folder == beside or folder.is_relative_to(checkpoint_folder(ledger)):
        raise BadKey(
            f"{path} lies beside the ledger, and would be copied and handed on with it; name a file in another folder"
        )
    tree = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    if tree is not None:
        raise BadKey(f"{path} lies in the git work tree {tree}, from where it would be published; keep it elsewhere")
