"""What `ledger verify --deep` costs, before the links of issue 16 and after: seconds of CPU and peak memory.

Two ledgers, each of 2,000 and of 10,000 cells, made by the older code: `sums`, where every cell is a case of its own
that is read in no time, and `authority`, where few cases with long prompts are asked over and over. The older code
comes out of git, in a worktree that is gone afterwards; without it there is only one side, and the script says so. Each
measurement is a process of its own; sides take turns, and a figure is the median of its rounds.

Run with `python bench/deep.py [CELLS] [--rounds N]`. Ends in 1 where the newer code takes more than 1.5 times as long.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BEFORE = "8a05796"
AIM = 1.5
ADDRESS = "http://127.0.0.1:1/v1"
HEADERS = [("content-type", "application/json"), ("server", "bench"), ("date", "Sun, 29 Nov 2026 12:00:00 GMT")]
_SUITE = 'name = "sums"\nstages = "manifest"\nask = "text"\nprompt = "plain"\n\n[parameters]\ntemperature = 0\n'


# What a process of one side does


def sums(folder: Path, cells: int) -> Path:
    """A suite of so many cases, no two alike."""
    for name in ("prompts", "rules", "v0"):
        (folder / name).mkdir(parents=True)
    (folder / "suite.toml").write_text(_SUITE)
    (folder / "prompts/plain.txt").write_text("Only the number.\n{{ input }}\n")
    (folder / "rules/exact.toml").write_text('[read]\n\n[score]\nscorer = "exact"\n')
    rows = ({"id": f"s{at}", "input": f"{at} and {at}?", "gold": str(2 * at), "meta": {}} for at in range(cells))
    (folder / "v0/cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def make(path: Path, which: str, cells: int) -> None:
    """A ledger with one run, as a real run writes it, all through the one append function."""
    from harness._candidate import Candidate
    from harness._derivations import Spot, derivations
    from harness._derive import Reply
    from harness._freeze import freeze_suite
    from harness._plan import plan_run
    from harness._rules import load_rules
    from harness._suite import load_suite
    from harness._tally import tally_draft
    from harness.engines._bodies import openai_body, to_bytes
    from harness.parse import Wire
    from ledger import Draft, Earlier, Ledger, new_run_id
    from ledger.kinds import Close, Request, Response

    if which == "sums":
        suite, fixtures = load_suite(str(sums(path.parent / "sums", cells)))
        rules, epochs = [load_rules(suite, "exact")], 1
    else:
        suite, fixtures = load_suite("authority", ROOT / "fixtures")
        rules = [load_rules(suite, "strict-cite")]
        epochs = max(1, round(cells / sum(len(fixture.cases) for fixture in fixtures)))
    candidate = Candidate("openai/bench", "openai", "bench", {"temperature": 0}, base_url=ADDRESS)
    candidate = candidate.with_prompt(suite.prompt_file)
    stages = suite.stage_functions
    with Ledger.create(path) as ledger:
        run = new_run_id()
        frozen = freeze_suite(ledger, suite, fixtures, rules)
        planned = plan_run(
            ledger, run, suite=suite, fixtures=fixtures, rules=rules, candidates=[candidate], frozen=frozen,
            epochs=epochs, limit=None, via="live",
        )  # fmt: skip
        scores: dict[int, Any] = {}
        waiting: list[Any] = []
        for each in planned.measurements:
            body = _answer(which, each.case, each.cell)
            reply = Reply(Wire(200, tuple(HEADERS), body), None, "openai", stream=False)
            asked = to_bytes(openai_body(candidate, stages.messages(candidate.prompt, each.case.input)))
            request = Request(attempt=0, turn=0, method="POST", url=f"{ADDRESS}/chat/completions", headers=HEADERS)
            response = Response(
                attempt=0, turn=0, status=200, headers=HEADERS, whole=True, headers_ms=9, total_ms=40
            )  # fmt: skip
            at = len(waiting)
            waiting.append(Draft(request, run=run, cell=each.cell, causes=[each.seq], blobs={"body": asked}))
            waiting.append(Draft(response, run=run, cell=each.cell, causes=[Earlier(at)], blobs={"body": body}))
            events, (score,) = derivations(
                reply, Spot(run, each.cell, each.seq, Earlier(at + 1)), ask=suite.ask, stages=stages, case=each.case,
                rules=rules, frozen=frozen.rules, position=len(waiting),
            )  # fmt: skip
            scores[each.cell] = score
            waiting += events
            if len(waiting) >= 1000:
                ledger.append(*waiting)
                waiting = []
        ledger.append(*waiting)
        (tally,) = ledger.append(tally_draft(planned, rules[0], scores, frozen.rules[rules[0].label]))
        cells = len(planned.measurements)
        outcomes = {rules[0].label: json.loads(tally.body or "{}")["outcomes"]}
        close = Close(status="complete", planned=cells, asked=cells, outcomes=outcomes, reason="")
        ledger.append(Draft(close, run=run, causes=[planned.plan, tally.seq]))


def _answer(which: str, case: Any, number: int) -> bytes:
    """What came over the wire: right but for every seventh."""
    text = case.gold if which == "sums" else json.dumps({"proposals": _proposals(case)})
    choice = {
        "index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": text if number % 7 else '{"proposals": []}'},
    }  # fmt: skip
    usage = {"prompt_tokens": 420, "completion_tokens": 90, "total_tokens": 510}
    return json.dumps({"id": "c", "model": "bench-1", "choices": [choice], "usage": usage}).encode()


def _proposals(case: Any) -> list[Any]:
    return [
        {
            "type": wanted["type"], "source_item_id": wanted["source"], "target_item_id": wanted["target"],
            "cited_evidence_span": reference["span"], "scope_terms": reference["terms"], "rationale": "It says so.",
            "confidence": 0.9,
        }
        for wanted, reference in zip(case.gold["expected"], case.gold["reference"] or (), strict=False)
    ]  # fmt: skip


def check(path: Path, source: Path) -> None:
    """Verify a ledger and check it deeply, by the checks that this source installs; what it took, as JSON."""
    from ledger import Ledger, verify

    text = (source / "pyproject.toml").read_text("utf-8")
    points: dict[str, str] = tomllib.loads(text)["project"]["entry-points"]["eval_ledger.deep"]
    checks = [
        getattr(importlib.import_module(module), name) for module, name in (p.split(":") for p in points.values())
    ]
    start = time.process_time()
    verdict = verify(path)
    with Ledger.open(path, read_only=True) as ledger:
        found = [each(ledger) for each in checks]
    took = time.process_time() - start
    for each in found:
        assert verdict.ok and each.ok, "\n".join([each.sentence, *each.lines[:20]])
    print(json.dumps({"cpu": took, "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


# What measures them


@contextmanager
def older(folder: Path) -> Generator[Path | None]:
    """The code before, in a worktree; None where git hasn't got it."""
    tree = folder / "before"
    done = subprocess.run(
        ["git", "worktree", "add", "--detach", "--quiet", tree, BEFORE], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        print(
            f"the code before ({BEFORE}) isn't in git here, so there is nothing to compare with: {done.stderr.strip()}"
        )
        yield None
        return
    try:
        yield tree
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True, capture_output=True)


def by(source: Path, *arguments: object) -> str:
    """What this script says, run as a process that imports the packages from `source`."""
    environ = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, __file__, *map(str, arguments), "--source", str(source)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def measured(ledgers: dict[tuple[str, int], Path], sides: dict[str, Path], rounds: int) -> Iterator[tuple[Any, ...]]:
    """(which, cells, side, CPU, peak) of every ledger and side; the sides take turns."""
    for (which, cells), path in ledgers.items():
        found: dict[str, list[Any]] = {side: [] for side in sides}
        for number in range(rounds + 1):
            for side, source in sides.items():
                told = json.loads(by(source, "--check", path))
                if number:  # the first only warms up: files, bytecode
                    found[side].append(told)
        for side, each in found.items():
            yield which, cells, side, *(statistics.median(one[what] for one in each) for what in ("cpu", "mib"))


def compare(cells: int, rounds: int) -> int:
    """Make the ledgers, measure both sides, and print both; the exit status."""
    sizes = (max(cells // 5, 1), cells)
    with tempfile.TemporaryDirectory(prefix="bench-") as name, older(Path(name)) as before:
        folder = Path(name)
        sides = {**({"before": before} if before else {}), "after": ROOT}
        ledgers: dict[tuple[str, int], Path] = {}
        for which in ("sums", "authority"):
            for size in sizes:
                path = ledgers[which, size] = folder / f"{which}-{size}" / "ledger.db"
                path.parent.mkdir()
                by(before or ROOT, "--make", path, "--which", which, "--cells", size)
        found: dict[tuple[str, int], dict[str, tuple[float, float]]] = {}
        for which, size, side, cpu, mib in measured(ledgers, sides, rounds):
            found.setdefault((which, size), {})[side] = cpu, mib
            print(f"{which:<10}{size:>7,} cells  {side:<7}{cpu:>8.2f} s of CPU{mib:>7.0f} MiB at most", flush=True)
    worst = 0.0
    for (which, size), each in found.items():
        if "before" in each:
            ratio = each["after"][0] / each["before"][0]
            worst = max(worst, ratio if size == cells else 0)
            print(f"{which:<10}{size:>7,} cells  after takes {ratio:.2f} times the CPU of before")
    for which in dict.fromkeys(which for which, _ in found):
        for side in sides:
            small, large = (found[which, size][side][1] for size in sizes)
            print(f"{which:<10}{side}: {large - small:+.0f} MiB from {sizes[0]:,} to {sizes[1]:,} cells")
    return int(worst > AIM)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("size", nargs="?", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    for name in ("--make", "--check", "--source"):
        parser.add_argument(name, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--which", help=argparse.SUPPRESS)
    parser.add_argument("--cells", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.make:
        make(given.make, given.which, given.cells)
    elif given.check:
        check(given.check, given.source)
    else:
        return compare(given.size, given.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
