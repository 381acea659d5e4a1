"""Cells/s of a rescore, everything included, against calling the pure functions in a bare loop over the same bytes.

A run of the authority suite with about 10,000 cells, made through the one append function. One in twenty replies stands
in a fence, which strict-cite (the run's own rule set) leaves unmeasured. The rescore applies fence-cite: it reads what
was recorded, derives, appends three events a cell, tallies, counts every figure before and after, and names every cell
that flipped with the switch that moved it. The bare loop has replies and cases in memory and calls `derive`, nothing
else. Under three rule sets at once, of which two read alike, it is the same: three times `derive` for each cell.

Rounds alternate; each figure is the median of its rounds: by the wall, and, where there is one process, by its seconds
of CPU, which others on the machine disturb less. Run with `python bench/rescore.py [CELLS]`.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from harness._candidate import Candidate
from harness._derivations import Spot, derivations
from harness._derive import Reply, derive
from harness._freeze import freeze_suite
from harness._plan import plan_run
from harness._rescore import rescore_run
from harness._rules import load_rules
from harness._suite import Case, load_suite
from harness.parse import Wire
from ledger import Draft, Earlier, Ledger, new_run_id
from ledger.kinds import Request, Response

ROUNDS = 3
SUITE, FIXTURES = load_suite("authority", Path(__file__).resolve().parents[1] / "fixtures")
HEADERS = [("content-type", "application/json"), ("server", "bench"), ("date", "Sun, 29 Nov 2026 12:00:00 GMT")]


def answer(case: Case, number: int) -> bytes:
    """What a model that knows the key sends: every twentieth in a fence, every seventh naming no item."""
    gold: Any = case.gold
    proposals = [
        {
            "type": wanted["type"], "source_item_id": wanted["source"] if number % 7 else "M099",
            "target_item_id": wanted["target"], "cited_evidence_span": reference["span"],
            "scope_terms": reference["terms"], "rationale": "The later item says so in as many words.",
            "confidence": 0.9,
        }
        for wanted, reference in zip(gold["expected"], gold["reference"] or (), strict=False)
    ]  # fmt: skip
    text = json.dumps({"proposals": proposals})
    choice = {
        "index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": text if number % 20 else f"```json\n{text}\n```"},
    }  # fmt: skip
    usage = {"prompt_tokens": 420, "completion_tokens": 90, "total_tokens": 510}
    return json.dumps({"id": "c", "model": "bench-1", "choices": [choice], "usage": usage}).encode()


def make(path: Path, cells: int) -> tuple[str, list[tuple[Reply, Case]]]:
    """The ledger, its run, and the replies with their cases as the bare loop takes them."""
    rules = [load_rules(SUITE, "strict-cite")]
    candidate = Candidate("openai/bench", "openai", "bench", {"temperature": 0}, base_url="http://127.0.0.1:1/v1")
    candidate = candidate.with_prompt(SUITE.prompt_file)
    cases = sum(len(fixture.cases) for fixture in FIXTURES)
    replies: list[tuple[Reply, Case]] = []
    with Ledger.create(path) as ledger:
        run = new_run_id()
        frozen = freeze_suite(ledger, SUITE, FIXTURES, rules)
        planned = plan_run(
            ledger, run, suite=SUITE, fixtures=FIXTURES, rules=rules, candidates=[candidate], frozen=frozen,
            epochs=max(1, round(cells / cases)), limit=None, via="live",
        )  # fmt: skip
        waiting: list[Any] = []
        for each in planned.measurements:
            body = answer(each.case, each.cell)
            reply = Reply(Wire(200, tuple(HEADERS), body), None, "openai", stream=False)
            replies.append((reply, each.case))
            at = len(waiting)
            request = Request(attempt=0, turn=0, method="POST", url=f"{candidate.base_url}/chat", headers=HEADERS)
            response = Response(attempt=0, turn=0, status=200, headers=HEADERS, whole=True, headers_ms=9, total_ms=40)
            waiting.append(Draft(request, run=run, cell=each.cell, causes=[each.seq], blobs={"body": b"x" * 1500}))
            waiting.append(Draft(response, run=run, cell=each.cell, causes=[Earlier(at)], blobs={"body": body}))
            events, _ = derivations(
                reply, Spot(run, each.cell, each.seq, Earlier(at + 1)), ask=SUITE.ask, stages=SUITE.stage_functions,
                case=each.case, rules=rules, frozen=frozen.rules, position=len(waiting),
            )  # fmt: skip
            waiting += events
            if len(waiting) >= 1000:
                ledger.append(*waiting)
                waiting = []
        ledger.append(*waiting)
    return run, replies


Took = tuple[float, float]
"""Cells/s by the wall, and by CPU."""


def took(cells: int, since: Took) -> Took:
    return cells / (time.perf_counter() - since[0]), cells / (time.process_time() - since[1])


def now() -> Took:
    return time.perf_counter(), time.process_time()


def bare(replies: list[tuple[Reply, Case]], names: tuple[str, ...]) -> Took:
    """Cells/s of `derive` in a loop, under each of these rule sets."""
    stages = SUITE.stage_functions
    gc.collect()
    start = now()
    for rules in [load_rules(SUITE, name) for name in names]:
        for reply, case in replies:
            derive(reply, ask=SUITE.ask, stages=stages, case=case, rules=rules)
    return took(len(replies), start)


def rescored(made: Path, run: str, names: tuple[str, ...], workers: int, *, again: bool = False) -> Took:
    """Cells/s of one rescore of a fresh copy; with `again`, of a second one, which has nothing to derive."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        copy = Path(folder) / "copy.db"
        shutil.copyfile(made, copy)
        gc.collect()
        return _rescored(copy, run, names, workers, again=again)


def _rescored(copy: Path, run: str, names: tuple[str, ...], workers: int, *, again: bool) -> Took:
    with Ledger.open(copy) as ledger:
        rules = [load_rules(SUITE, name) for name in names]
        if again:
            rescore_run(ledger, run, rules)
        cells = len(ledger.rows("SELECT 1 FROM main.events WHERE run = ? AND kind = 'cell'", (run,)))
        start = now()
        done = rescore_run(ledger, run, rules, workers=workers)
        found = took(cells, start)
        assert again == (done.appended == 0) and done.flips
    return found


def main() -> None:
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    one, three = ("fence-cite",), ("fence-cite", "fence-span", "as-of-2026-07-01")
    sides: dict[str, tuple[tuple[str, ...], Callable[[], Took]]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        made = Path(folder) / "bench.db"
        run, replies = make(made, cells)
        for names, what in ((one, "one rule set"), (three, "three at once")):
            sides[f"{what}: bare loop"] = (names, partial(bare, replies, names))
            sides[f"{what}: one process"] = (names, partial(rescored, made, run, names, 1))
            sides[f"{what}: two processes"] = (names, partial(rescored, made, run, names, 2))
        sides["nothing left to derive"] = (one, partial(rescored, made, run, one, 1, again=True))
        found: dict[str, list[Took]] = {name: [] for name in sides}
        for _ in range(ROUNDS):
            for name, (_, measure) in sides.items():
                found[name].append(measure())
    medians = {
        name: tuple(statistics.median(side) for side in zip(*rounds, strict=True)) for name, rounds in found.items()
    }
    print(f"{len(replies)} cells, on {os.cpu_count()} processors; of the bare loop, by the wall and by CPU")
    for name, (names, _) in sides.items():
        loop = medians[f"{'one rule set' if names is one else 'three at once'}: bare loop"]
        wall, cpu = (mine / its for mine, its in zip(medians[name], loop, strict=True))
        by_cpu = "" if "two processes" in name else f"{cpu:>8.2f}"
        print(f"{name:<30}{medians[name][0]:>8,.0f} cells/s{wall:>8.2f}{by_cpu}")


if __name__ == "__main__":
    main()
