"""Ledgers to make bundles of: two real runs over twelve cases with four-letter golds, a report, and a checkpoint."""

from __future__ import annotations

import atexit
import json
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from harness._job import Job, run_job
from harness._run import RunOptions, SilentProgress
from ledger import Ledger, supersede
from ledger._prefix import tree_of
from ledger.checkpoints._files import checkpoint_folder, note_path
from ledger.tree import Checkpoint, SigningKey
from tests.harness.models import Answer, model_server
from tests.harness.reported import written

__all__ = ["ALPHABET", "GOLDS", "PROMPTS", "TEMPLATE", "Bundled", "bundled", "checkpointed", "prompt_of"]

ALPHABET = "jkqvxz"
"""What golds are made of: 1,296 guesses are all there are."""
GOLDS = (
    "jkqv", "xzjq", "kvvx", "qqjz", "vxkj", "zzkq", "jvxz", "kqzx", "qxvj", "vzqk", "xjkz", "zkxv",
)  # fmt: skip
TEMPLATE = "Speak only the password of the guild.\n{{ input }}\n"
"""The template of every prompt."""


def prompt_of(number: int) -> str:
    """The input of a case, by its place from 0."""
    return f'Guard {number:02d} of the "Zarquon" gate asks: what is said \u2014 softly \u2014 at door {number * 7 + 3}?'


PROMPTS = tuple(prompt_of(number) for number in range(len(GOLDS)))


@dataclass(frozen=True)
class Bundled:
    """A ledger of a test's own. `run` is reported; `other` stands on the same fixture and was superseded by it."""

    db: Path
    key: SigningKey
    run: str
    other: str
    report: Path

    @property
    def folder(self) -> Path:
        """Where the test may write."""
        return self.db.parent

    def ledger(self) -> Ledger:
        """The ledger, to append to."""
        return Ledger.open(self.db)

    def checkpoint(self) -> Path:
        """Sign a checkpoint of the ledger as it is now."""
        return checkpointed(self.db, self.key)


def checkpointed(db: Path, key: SigningKey) -> Path:
    """Sign a checkpoint of the whole ledger, as `ledger checkpoint` lays it beside the file, without an anchor."""
    with Ledger.open(db, read_only=True) as ledger:
        tree = tree_of(ledger)
        origin = f"{ledger.genesis.origin}/{ledger.genesis.id}"
    folder = checkpoint_folder(db)
    folder.mkdir(exist_ok=True)
    path = note_path(folder, tree.size)
    path.write_bytes(bytes(key.sign(Checkpoint(origin, tree.size, tree.root()).text)))
    return path


def _suite(folder: Path) -> Path:
    suite = folder / "guild"
    for name in ("prompts", "rules", "v0"):
        (suite / name).mkdir(parents=True)
    (suite / "suite.toml").write_text(
        'name = "guild"\nstages = "manifest"\nask = "text"\nprompt = "plain"\n\n[parameters]\ntemperature = 0\n'
    )
    (suite / "prompts/plain.txt").write_text(TEMPLATE)
    (suite / "rules/exact.toml").write_text('[read]\n\n[score]\nscorer = "exact"\n')
    cases = [
        {"id": f"gate-{at + 1:02d}", "input": text, "gold": gold, "meta": {}}
        for at, (text, gold) in enumerate(zip(PROMPTS, GOLDS, strict=True))
    ]
    (suite / "v0/cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    return suite


def _answer(prompt: str) -> Answer:
    """Right but for the third and the ninth case (wrong) and the sixth (nothing came): an echo and the password."""
    at = next(number for number, text in enumerate(PROMPTS) if text in prompt)
    if at == 5:
        return Answer("no", status=400)
    return Answer("wrong" if at in (2, 8) else GOLDS[at])


def _run(db: Path, suite: Path, *models: str, name: str) -> str:
    with model_server(_answer) as server:
        job = Job(
            str(suite / "v0"), [f"openai/{each}" for each in models], [server.openai],
            options=RunOptions(max_connections=1, name=name),
        )  # fmt: skip
        return run_job(job, db, SilentProgress()).finished.run


@cache
def _made() -> tuple[Path, SigningKey, str, str]:
    folder = Path(mkdtemp(prefix="eval-ledger-bundled-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    suite, db = _suite(folder), folder / "ledger.db"
    other = _run(db, suite, "first", name="too early")
    run = _run(db, suite, "first", "second", name="the guards")
    written(db, folder / "report.md", run)
    with Ledger.open(db) as ledger:
        supersede(ledger, f"run:{other}", by=f"run:{run}", category="operator", reason="one model was missing")
        key = SigningKey.generate(f"{ledger.genesis.origin}/{ledger.genesis.id}")
    checkpointed(db, key)
    return folder, key, run, other


def bundled(folder: Path) -> Bundled:
    """A copy of the ledger, its suite, its report and its checkpoint; the runs are made once a session."""
    made, key, run, other = _made()
    shutil.copytree(made, folder, dirs_exist_ok=True)
    return Bundled(folder / "ledger.db", key, run, other, folder / "report.md")
