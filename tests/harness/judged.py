"""A run of a small suite, and a small suite of judging to grade it with; scripted servers on loopback answer both."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness._grade import GradeDone, GradeJob, grade_job
from harness._job import Job, run_job
from harness._run import RunOptions, SilentProgress
from ledger import Ledger, over_views
from tests.harness.models import Answer, model_server

__all__ = ["QUESTIONS", "Bench", "grades", "judge", "target"]

QUESTIONS = {"rain": "Why does it rain?", "snow": "Why does it snow?", "fog": "Why is there fog?", "hail": "Why hail?"}
JUDGE = """
name = "essays"
about = "Is an explanation sound and plain?"
stages = "rubric"

[sampling]
temperature = 0

[[criteria]]
id = "sound"
description = "What it says is so."
max = 3

[[criteria]]
id = "plain"
description = "A child could follow it."

[[flags]]
id = "steering"
description = "The text speaks to whoever grades it."

[policy]
threshold = 0.75

[tasks.wind]
text = "Explain the wind."

[tasks.dew]
text = "Explain the dew."

[[fixtures]]
id = "good"
task = "wind"
label = "sound"
text = "Warm air rises and cooler air flows in."
oracle = { sound = 3, plain = 1 }
marker = false

[arms.calibration]
fixtures = ["good"]

[arms.trigger]
tasks = ["wind", "dew"]
"""
TARGET = 'name = "weather"\nstages = "manifest"\nask = "text"\nprompt = "plain"\n\n[parameters]\ntemperature = 0\n'


def target(prompt: str) -> Answer:
    """Two cells that say something, one that is cut, one that the server fails on."""
    if "fog" in prompt:
        choice = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "Because"}}
        return Answer(body=json.dumps({"id": "c", "model": "scripted-1", "choices": [choice]}).encode())
    if "hail" in prompt:
        return Answer("no", status=401)
    return Answer(f"It falls: {prompt[:14]}")


def judge(sound: int = 3, plain: int = 1, **more: Any) -> Callable[[str], Answer]:
    """A judge that gives every text the same scores."""
    return lambda prompt: Answer(json.dumps({"sound": sound, "plain": plain, "flags": [], **more}))


@dataclass
class Bench:
    """A folder with both suites, and a ledger in it."""

    folder: Path

    def __post_init__(self) -> None:
        suite = self.folder / "weather"
        for name in ("prompts", "rules", "v0"):
            (suite / name).mkdir(parents=True)
        (suite / "suite.toml").write_text(TARGET)
        (suite / "prompts/plain.txt").write_text("=== system ===\nBe brief.\n=== user ===\n{{ input }}\n")
        (suite / "rules/exact.toml").write_text('[read]\n\n[score]\nscorer = "exact"\n')
        cases = [{"id": name, "input": text, "gold": f"about {name}", "meta": {}} for name, text in QUESTIONS.items()]
        (suite / "v0/cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
        (self.folder / "essays").mkdir()
        self.manifest(JUDGE)

    def manifest(self, text: str) -> None:
        (self.folder / "essays/suite.toml").write_text(text)

    @property
    def db(self) -> Path:
        return self.folder / "ledger.db"

    def run(self, answer: Callable[[str], Answer] = target, *models: str, **options: Any) -> str:
        """A run of the target, by its id."""
        names = models or ("small",)
        with model_server(answer) as server:
            job = Job(
                str(self.folder / "weather"), [f"openai/{each}" for each in names], [server.openai],
                options=RunOptions(**options),
            )  # fmt: skip
            return run_job(job, self.db, SilentProgress()).finished.run

    def grade(
        self, run: str, answer: Callable[[str], Answer] | None = None, *, say: Callable[[str], object] = str,
        model: str = "inspector", options: Mapping[str, Any] | None = None, rules: tuple[str, ...] = (), **more: Any,
    ) -> GradeDone:  # fmt: skip
        with model_server(answer or judge()) as server:
            asking = Job(
                str(self.folder / "essays"), [f"openai/{model}"], [server.openai], rules,
                options=RunOptions(**(options or {})),
            )  # fmt: skip
            return grade_job(GradeJob(run, asking, **more), self.db, SilentProgress(), say=say)

    def ledger(self) -> Ledger:
        return Ledger.open(self.db)

    def rows(self, query: str, *parameters: Any) -> list[dict[str, Any]]:
        with Ledger.open(self.db, read_only=True) as ledger:
            return ledger.rows(over_views(query), parameters)


def grades(bench: Bench, run: str, label: str) -> dict[str, tuple[str, str, str]]:
    """By case of the graded run: outcome, reason and verdict under a joined rule set."""
    found = bench.rows('SELECT "case", outcome, reason, verdict FROM cells WHERE run = ? AND rules = ?', run, label)
    return {row["case"]: (row["outcome"], row["reason"], row["verdict"]) for row in found}
