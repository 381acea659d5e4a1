"""Everybody who may notice a forgery, asked as a person would ask: the commands, and the two readers of a bundle."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from harness.links import held_on_read
from ledger import Ledger, SigningKey
from ledger.bundle._cover import newest_cover
from ledger.bundle._make import Wanted, _Plan
from ledger.bundle._select import Asked
from ledger.bundle._write import write_zip
from ledger.checkpoints._files import checkpoint_folder
from ledger.cli import app, run_app
from tests.forgeries.lab import clean_environ
from tests.ledger.bundle.bundled import checkpointed
from tests.ledger.bundle.edited import Said, alone

__all__ = ["HOLDERS", "Bundled", "ask", "bundle_of", "commands"]


def commands(program: str, *arguments: object) -> Said:
    """What a command says, called in this process."""
    import harness.cli

    out = StringIO()
    with clean_environ(), redirect_stdout(out), redirect_stderr(out):
        status = run_app(harness.cli.app if program == "harness" else app, program, [*map(str, arguments)])
    return Said(status, out.getvalue())


@dataclass(frozen=True)
class Bundled:
    """A bundle of a ledger, and the key that its checkpoint was signed with."""

    path: Path
    key: SigningKey


def bundle_of(db: Path, target: Path, run: str = "") -> Bundled:
    """A bundle of a run (by default of all) as our own maker writes it, but for everything that he would refuse.

    A forger has all the time in the world: that our maker won't make a bundle of a ledger keeps nobody from making it.
    """
    shutil.rmtree(checkpoint_folder(db), ignore_errors=True)
    with Ledger.open(db, read_only=True) as ledger:
        key = SigningKey.generate(f"{ledger.genesis.origin}/{ledger.genesis.id}")
        checkpointed(db, key)
        runs = (run,) if run else tuple(dict.fromkeys(event.run for event in ledger.events(kind="plan")))
        plan = _Plan(ledger, Wanted(runs), newest_cover(ledger), Asked(runs))
        write_zip(ledger, plan.contents(), target)
    return Bundled(target, key)


def _plain(db: Path, _: Callable[[], Bundled]) -> Said:
    return commands("ledger", "verify", "--db", db)


def _deep(db: Path, _: Callable[[], Bundled]) -> Said:
    return commands("ledger", "verify", "--deep", "--db", db)


def _read(db: Path, _: Callable[[], Bundled]) -> Said:
    with Ledger.open(db, read_only=True) as ledger:
        runs = dict.fromkeys(event.run for event in ledger.events(kind="plan"))
        found = [each.sentence() for run in runs for each in held_on_read(ledger, run)]
    return Said(int(bool(found)), "\n".join(found))


def _reader(_: Path, bundle: Callable[[], Bundled]) -> Said:
    made = bundle()
    return commands("ledger", "verify", made.path, "--key", made.key.verifier)


def _alone(_: Path, bundle: Callable[[], Bundled]) -> Said:
    made = bundle()
    return alone(made.path, made.key.verifier)


HOLDERS: Mapping[str, Callable[[Path, Callable[[], Bundled]], Said]] = {
    "verify": _plain, "deep": _deep, "read": _read, "reader": _reader, "verify.py": _alone,
}  # fmt: skip


def ask(db: Path, *names: str, run: str = "") -> dict[str, Said]:
    """What each of these says of a ledger; its bundle is made once, beside it."""
    made: list[Bundled] = []

    def bundle() -> Bundled:
        if not made:
            made.append(bundle_of(db, db.with_suffix(".zip"), run))
        return made[0]

    return {name: HOLDERS[name](db, bundle) for name in names or HOLDERS}
