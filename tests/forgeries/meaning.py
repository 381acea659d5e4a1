"""What follows from what, as a forger puts it right again after a change, so that one link alone is false."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from blake3 import blake3

from harness._identity import value_digest
from tests.forgeries.retold import Fact, Retold

__all__ = ["digest_of_file", "identify", "keyed", "mark_right", "recount", "reply_with", "reseal", "run_of"]


def keyed(story: Retold, value: Any) -> str:
    """The digest of a value, as a cell carries it."""
    return value_digest(value, story.key)


def digest_of_file(data: bytes) -> str:
    """A frozen file's digest."""
    return blake3(data).hexdigest()


def run_of(story: Retold, number: int = 1) -> str:
    """The run that was planned so many-th."""
    return story.all("plan")[number - 1].run


def identify(story: Retold, cell: Fact) -> None:
    """Let a cell's identity follow from its fields."""
    plan = story.one("plan", cell.run)
    (candidate,) = [each["digest"] for each in plan["candidates"] if each["label"] == cell["candidate"]]
    cell["identity"] = keyed(
        story,
        {
            "identity": 1, "suite": plan["suite"], "input": cell["input"], "candidate": candidate, "arm": cell["arm"],
            "epoch": cell["epoch"], "twin": cell["twin"],
        },
    )  # fmt: skip


def reseal(story: Retold, run: str) -> None:
    """Let the digests of a run's candidates, and the identities of its cells, follow from their fields."""
    plan = story.one("plan", run)
    prompts = {digest_of_file(each.data("file")): each for each in story.all("freeze") if each["what"] == "prompt"}
    for each in plan["candidates"]:
        told = {
            "candidate": 1, "protocol": each["protocol"], "model": each["model"],
            "parameters": {**each["parameters"], "stream": each["stream"]},
            "prompt": prompts[each["prompt"]].data("file").decode(), "turns": "template",
        }  # fmt: skip
        each["digest"] = keyed(story, told)
    for cell in story.all("cell", run):
        identify(story, cell)


def reply_with(story: Retold, response: Fact, text: str) -> None:
    """Let a response of the openai protocol say this."""
    reply = json.loads(response.data("body"))
    reply["choices"][0]["message"]["content"] = text
    response.blobs["body"] = json.dumps(reply).encode()


def mark_right(story: Retold, run: str, *cells: int) -> None:
    """Score these cells of a run (by default all) as correct, and count again."""
    for score in story.all("score", run):
        if not cells or score.cell in cells:
            score.update(
                outcome="correct",
                metrics={"correct": 1},
                verdict="match",
                status="parsed",
                stage="",
                reason="",
                domain="",
            )
    recount(story, run)


def recount(story: Retold, run: str, *, planned: bool = True) -> None:
    """Let the newest tally of each rule set, and the newest close, say what the scores say. Metrics are rates."""
    cells = {fact.cell: fact for fact in story.all("cell", run)}
    last = {(fact["rules"], fact.cell): fact for fact in story.all("score", run)}
    counts: dict[str, dict[str, int]] = {}
    for tally in {fact["rules"]: fact for fact in story.all("tally", run)}.values():
        mine = {cell: fact for (rules, cell), fact in last.items() if rules == tally["rules"]}
        tally["outcomes"] = counts[tally["rules"]] = dict(Counter(fact["outcome"] for fact in mine.values()))
        for metric in tally["metrics"]:
            of = [fact for cell, fact in mine.items() if cells[cell]["candidate"] == metric["candidate"]]
            found = [fact["metrics"][metric["metric"]] for fact in of if metric["metric"] in fact["metrics"]]
            metric.update(k=int(sum(found)), n=len(found))
            if planned:
                metric["planned"] = len(of)
    for close in story.all("close", run)[-1:]:
        close["outcomes"] = counts
        close["planned"] = len(cells)
