"""A ledger with two runs of one plan, told apart by everything a target can name: for the tests of lineage.

Two fixtures, two prompts with a candidate each, two rule sets; every cell is asked twice (a failed attempt 0, then
attempt 1), read under both rule sets, tallied; a report of each run, published.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ledger import Draft, Earlier, Ledger, kinds

RUNS = ("aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb")
FIXTURES = ("v0", "v1")
CANDIDATES = ("openai/x", "ollama/y")
RULES = ("strict@111111111111", "fence@222222222222")
CODE = ("c" * 64, "d" * 64)
ZERO = "0" * 64


@dataclass
class Lineage:
    """Seqs by what they are."""

    ledger: Ledger
    fixtures: dict[str, int] = field(default_factory=dict[str, int])
    prompts: dict[str, int] = field(default_factory=dict[str, int])
    rules: dict[str, int] = field(default_factory=dict[str, int])
    plans: dict[str, int] = field(default_factory=dict[str, int])
    cells: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    requests: dict[tuple[str, int, int], int] = field(default_factory=dict[tuple[str, int, int], int])
    responses: dict[tuple[str, int, int], int] = field(default_factory=dict[tuple[str, int, int], int])
    parses: dict[tuple[str, int, str], int] = field(default_factory=dict[tuple[str, int, str], int])
    scores: dict[tuple[str, int, str], int] = field(default_factory=dict[tuple[str, int, str], int])
    tallies: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    reports: dict[str, int] = field(default_factory=dict[str, int])
    published: dict[str, int] = field(default_factory=dict[str, int])


def planned_cells() -> list[tuple[int, str, str]]:
    """(cell, candidate, fixture) of each run, as a plan lays them out."""
    pairs = [(candidate, fixture) for candidate in CANDIDATES for fixture in FIXTURES]
    return [(number, *pair) for number, pair in enumerate(pairs, start=1)]


def _freeze(lineage: Lineage) -> None:
    def one(what: str, name: str, identity: str) -> int:
        body = kinds.Freeze(what=what, name=name, digest=identity, identity=identity)  # pyright: ignore
        return lineage.ledger.append(Draft(body, blobs={"file": name.encode()}))[0].seq

    for number, name in enumerate(FIXTURES):
        lineage.fixtures[name] = one("fixture", f"suite/{name}", f"{number + 1}" * 63 + "a")
    for number, name in enumerate(CANDIDATES):
        lineage.prompts[name] = one("prompt", "suite/ask", f"{number + 1}" * 63 + "b")
    for label in RULES:
        name, _, digits = label.partition("@")
        lineage.rules[label] = one("rules", name, digits + ZERO[12:])


def _plan(lineage: Lineage, run: str, code: str) -> None:
    metrics = [kinds.PlanMetric(name="exact", kind="rate", planned=2, primary=True)]
    body = kinds.Plan(
        name=f"name-{run[0]}", tags=[], purpose="evaluation", suite="suite", ask="object",
        fixtures=[kinds.PlanFixture(name=name, freeze=lineage.fixtures[name], cases=1) for name in FIXTURES],
        rules=[
            kinds.PlanRules(
                name=label.partition("@")[0], label=label, identity=label.partition("@")[2] + ZERO[12:],
                freeze=lineage.rules[label], metrics=metrics,
            )
            for label in RULES
        ],
        candidates=[
            kinds.PlanCandidate(
                label=label, protocol=label.partition("/")[0], model=label.partition("/")[2], parameters={},
                prompt=ZERO, prompt_freeze=lineage.prompts[label], stream=False, digest=f"{number}" * 64,
                base_url="http://127.0.0.1/v1",
            )
            for number, label in enumerate(CANDIDATES, start=7)
        ],
        arms=[], epochs=1, limit=None, cells=4, via="live", environment={"eval-ledger": f"0.{code[0]}"},
        code={"harness": code},
    )  # fmt: skip
    causes = [*lineage.fixtures.values(), *lineage.prompts.values(), *lineage.rules.values()]
    lineage.plans[run] = lineage.ledger.append(Draft(body, run=run, causes=sorted(causes)))[0].seq


def _cell(lineage: Lineage, run: str, cell: int, candidate: str, fixture: str) -> None:
    place = {"run": run, "cell": cell}
    body = kinds.Cell(
        case=f"case-{fixture}", fixture=fixture, identity=f"{cell:064x}", input=ZERO, gold=ZERO,
        candidate=candidate, arm="", epoch=0, twin=0,
    )  # fmt: skip
    append = lineage.ledger.append
    seq = lineage.cells[run, cell] = append(Draft(body, causes=[lineage.plans[run]], **place))[0].seq
    for attempt, status in enumerate((503, 200)):
        request = kinds.Request(attempt=attempt, turn=0, method="POST", url="http://127.0.0.1/v1", headers=[])
        response = kinds.Response(
            attempt=attempt, turn=0, status=status, headers=[], whole=True, headers_ms=1, total_ms=2
        )
        asked, told = append(
            Draft(request, causes=[seq], blobs={"body": b"ask"}, **place),
            Draft(response, causes=[Earlier(0)], blobs={"body": b"say"}, **place),
        )
        lineage.requests[run, cell, attempt], lineage.responses[run, cell, attempt] = asked.seq, told.seq
    score_again(lineage, run, cell)


def score_again(lineage: Lineage, run: str, cell: int, rules: tuple[str, ...] = RULES) -> None:
    """Read the answer of a cell, and score it, under each rule set."""
    model = f"{CANDIDATES[(cell - 1) // 2].partition('/')[2]}-resolved"
    for label in rules:
        parse = kinds.Parse(
            rules=label, status="parsed", stage="", reason="", domain="", flags=[], value="1", span=[(0, 1)],
            usage=None, stop="end", model=model,
        )  # fmt: skip
        score = kinds.Score(
            rules=label, outcome="correct", status="parsed", stage="", reason="", domain="", value=None,
            applies=["exact"], metrics={"exact": 1.0},
        )  # fmt: skip
        read, scored = lineage.ledger.append(
            Draft(parse, run=run, cell=cell, causes=[lineage.rules[label], lineage.responses[run, cell, 1]]),
            Draft(score, run=run, cell=cell, causes=[lineage.cells[run, cell], Earlier(0)]),
        )
        lineage.parses[run, cell, label], lineage.scores[run, cell, label] = read.seq, scored.seq


def tally_again(lineage: Lineage, run: str, label: str) -> int:
    metrics = [
        kinds.TallyMetric(
            candidate=candidate, metric="exact", kind="rate", k=2, total=None, n=2, planned=2, primary=True
        )
        for candidate in CANDIDATES
    ]
    body = kinds.Tally(rules=label, freeze=lineage.rules[label], outcomes={"correct": 4}, metrics=metrics)
    causes = sorted([lineage.rules[label], lineage.plans[run]])
    seq = lineage.tallies[run, label] = lineage.ledger.append(Draft(body, run=run, causes=causes))[0].seq
    return seq


def report(lineage: Lineage, run: str, to: str, causes: list[int]) -> tuple[int, int]:
    """Write a report of the run down, and publish it: the seqs of both events."""
    body = kinds.Report(run=run, format="markdown", digest=ZERO, head=ZERO, size=1, figures=[])
    told = lineage.ledger.append(Draft(body, causes=causes, blobs={"file": b"x"}))[0].seq
    handed = lineage.ledger.append(Draft(kinds.Publish(report=told, to=to), causes=[told]))[0].seq
    return told, handed


def make_lineage(path: Path) -> Lineage:
    """The ledger, open, and its seqs."""
    lineage = Lineage(Ledger.create(path))
    _freeze(lineage)
    for run, code in zip(RUNS, CODE, strict=True):
        _plan(lineage, run, code)
        for cell, candidate, fixture in planned_cells():
            _cell(lineage, run, cell, candidate, fixture)
        tallies = [tally_again(lineage, run, label) for label in RULES]
        close = kinds.Close(status="complete", planned=4, asked=4, outcomes={}, reason="")
        lineage.ledger.append(Draft(close, run=run, causes=[lineage.plans[run], *tallies]))
        lineage.reports[run], lineage.published[run] = report(lineage, run, f"readers of {run[0]}", tallies)
    return lineage
