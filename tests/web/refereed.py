"""A ledger of judging to look at: a run that two judges and two people graded, their own runs, pairs, and a corpus."""

from __future__ import annotations

from pathlib import Path

from harness._job import Job
from harness._labelled import label_run
from harness._pairs_asked import PairJob, grade_pairs
from harness._run import RunOptions, SilentProgress
from tests.harness.judged import Bench, judge
from tests.harness.models import Answer, model_server
from tests.harness.refereed import GOOD, judged, reply, scripted, suite_of_judging

__all__ = ["refereed"]

_LABELS = "cell,rater,verdict,sound\n1,ann,pass,3\n2,ann,fail,0\n1,bob,fail,1\n2,bob,fail,0\n"


def _weather(prompt: str) -> Answer:
    return Answer("no", status=401) if "hail" in prompt else Answer(f"It falls: {prompt[:14]}")


def refereed(folder: Path) -> Path:
    """Every table that a judge's figures have: arms, graded answers, agreement, pairs."""
    bench = Bench(folder)
    run = bench.run(_weather, "small", "large")
    bench.grade(run)
    bench.grade(run, lambda prompt: judge(1, 0)(prompt) if "rain" in prompt else Answer("It is fine."), model="other")
    (folder / "human.csv").write_text(_LABELS, "utf-8")
    label_run(run, folder / "human.csv", bench.db)
    with model_server(lambda prompt: Answer('{"winner": "first"}')) as server:
        asking = Job(str(folder / "essays"), ["openai/referee"], [server.openai], options=RunOptions())
        grade_pairs(PairJob(f"{run}@openai/small", f"{run}@openai/large", asking), bench.db, SilentProgress())
    moody = {**GOOD, "The sun": [reply(1, 1), reply(2, 1), "no grade"], "PLEADED": reply(3, 1, total=9)}
    judged(bench.db, suite_of_judging(folder), scripted(moody))
    return bench.db
