"""Freezing from names: a suite's files, predictions, or both, ahead of any run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness._errors import UsageError
from harness._job import freeze_job
from harness._prediction import check_prediction, freeze_prediction
from ledger import Ledger

__all__ = ["FrozenAll", "freeze_all"]


@dataclass(frozen=True)
class FrozenAll:
    """The seq of each freeze, by what people call it; how many were made just now, and whether the ledger was."""

    prompts: Mapping[str, int]
    fixtures: Mapping[str, int]
    rules: Mapping[str, int]
    predictions: Mapping[str, int]
    new: int
    created: bool

    def kinds(self) -> list[tuple[str, Mapping[str, int]]]:
        """What was frozen, kind by kind."""
        return [
            ("prompt", self.prompts), ("fixture", self.fixtures), ("rules", self.rules),
            ("prediction", self.predictions),
        ]  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "prompts": dict(self.prompts), "fixtures": dict(self.fixtures), "rules": dict(self.rules),
            "predictions": dict(self.predictions), "new": self.new,
        }  # fmt: skip


def freeze_all(
    suite: str, rules: Sequence[str], predictions: Sequence[Path], db: Path, prompts: Sequence[str] = ()
) -> FrozenAll:  # fmt: skip
    """Freeze the suite if one is named, then each prediction. A file that is no prediction freezes nothing at all.

    `prompts` names files of the suite's prompts/ in the place of its own.

    Raises UsageError when neither is named, and as `check_prediction` does.
    """
    if not suite and not predictions:
        raise UsageError("expected a suite to freeze, or --prediction FILE, or both")
    if not suite and (rules or prompts):
        raise UsageError("--rules and --prompt name what belongs to a suite; name the suite too")
    stems = [path.stem for path in predictions]
    for stem in stems:
        if stems.count(stem) > 1:
            raise UsageError(f"two predictions are called {stem!a}; rename one of the files")
    _check(predictions, db)
    fixed, made = freeze_job(suite, rules, db, prompts) if suite else (None, False)
    seqs: dict[str, int] = {}
    new = fixed.new if fixed else 0
    if predictions:
        ledger, just_now = Ledger.open_or_create(db)
        made = made or just_now
        with ledger:
            for path in predictions:
                seqs[path.stem], fresh = freeze_prediction(ledger, path)
                new += fresh
    nothing: Mapping[str, int] = {}
    return FrozenAll(
        fixed.prompts if fixed else nothing, fixed.fixtures if fixed else nothing, fixed.rules if fixed else nothing,
        seqs, new, made,
    )  # fmt: skip


def _check(predictions: Sequence[Path], db: Path) -> None:
    if os.path.lexists(db):
        with Ledger.open(db, read_only=True) as ledger:
            for path in predictions:
                check_prediction(path, ledger)
        return
    for path in predictions:
        check_prediction(path, None)
