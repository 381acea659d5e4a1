"""A ledger that holds a run of two candidates over two cases, whole from freeze to publication, with telling bytes."""

from __future__ import annotations

from pathlib import Path

from ledger import Draft, Event, Ledger, kinds
from tests.ledger.ledgers import DIGEST, RUN

LABEL = "strict@0123456789ab"
MODELS = ("openai/x", "openai/y")
SECRET = "sk-live-4242-do-not-keep"
"""Stands in what cell 1 was asked, answered and read as, and nowhere else."""


def _planned(freeze: int, cells: int) -> kinds.Plan:
    metric = kinds.PlanMetric(name="exact", kind="rate", planned=cells // len(MODELS), primary=True)
    return kinds.Plan(
        name="first", tags=[], purpose="evaluation", suite="authority", ask="object",
        fixtures=[kinds.PlanFixture(name="v0", freeze=freeze, cases=2)],
        rules=[kinds.PlanRules(name="strict", label=LABEL, identity=DIGEST, freeze=freeze + 1, metrics=[metric])],
        candidates=[
            kinds.PlanCandidate(
                label=label, protocol="openai", model=label, parameters={}, prompt=DIGEST, prompt_freeze=None,
                stream=False, digest=DIGEST, base_url="http://127.0.0.1/v1",
            )
            for label in MODELS
        ],
        arms=[], epochs=1, limit=None, cells=cells, via="live", environment={}, code={},
    )  # fmt: skip


def _answered(ledger: Ledger, cell: Event, text: str, freeze: int, *, right: bool) -> None:
    place = {"run": cell.run, "cell": cell.cell}
    attempt = {"attempt": 0, "turn": 0}
    request = kinds.Request(**attempt, method="POST", url="http://127.0.0.1/v1", headers=[("x-about", text)])
    response = kinds.Response(
        **attempt, status=200, headers=[("x-about", text)], whole=True, headers_ms=1, total_ms=2
    )  # fmt: skip
    asked = ledger.append(Draft(request, causes=[cell.seq], blobs={"body": f"ask {text}".encode()}, **place))[0]
    told = ledger.append(Draft(response, causes=[asked.seq], blobs={"body": f"say {text}".encode()}, **place))[0]
    parse = kinds.Parse(
        rules=LABEL, status="parsed", stage="", reason="", domain="", flags=["fence"], value=f'"{text}"', span=[(0, 1)],
        usage=None, stop="end", model="x-1",
    )  # fmt: skip
    read = ledger.append(Draft(parse, causes=[freeze + 1, told.seq], **place))[0]
    score = kinds.Score(
        rules=LABEL, outcome="correct" if right else "incorrect", status="parsed", stage="", reason="", domain="",
        value=None, applies=["exact"], metrics={"exact": float(right)},
    )  # fmt: skip
    ledger.append(Draft(score, causes=[cell.seq, read.seq], **place))


def measured_ledger(path: Path, *, answered: int = 4) -> Path:
    """Freezes 3 and 4, plan 5, cells 6 to 9; then request, response, parse and score of each cell, from 10 on; tally
    26, report 27, publication 28, where all four cells were `answered`. Every second answer is right. The file is left
    with its log."""
    with Ledger.create(path) as ledger:
        freezes = [
            Draft(kinds.Freeze(what=what, name=name, digest=DIGEST, identity=DIGEST), blobs={"file": name.encode() * 9})
            for what, name in (("fixture", "v0"), ("rules", "strict"))
        ]
        first, second = ledger.append(*freezes)
        (plan,) = ledger.append(Draft(_planned(first.seq, 4), run=RUN, causes=[first.seq, second.seq]))
        cells = [
            Draft(
                kinds.Cell(
                    case=f"case-{number}", fixture="v0", identity=f"{2 * at + number:064x}", input=DIGEST,
                    gold=DIGEST, candidate=label, arm="", epoch=0, twin=0,
                ),
                run=RUN, cell=2 * at + number, causes=[plan.seq],
            )
            for at, label in enumerate(MODELS)
            for number in (1, 2)
        ]  # fmt: skip
        for cell in ledger.append(*cells)[:answered]:
            text = SECRET if cell.cell == 1 else f"nothing {cell.cell}"
            _answered(ledger, cell, text, first.seq, right=cell.cell % 2 == 1)
        figures = [
            kinds.TallyMetric(
                candidate=label, metric="exact", kind="rate", k=1, total=None, n=2, planned=2, primary=True
            )
            for label in MODELS
        ]  # fmt: skip
        tally = kinds.Tally(rules=LABEL, freeze=second.seq, outcomes={"correct": 2, "incorrect": 2}, metrics=figures)
        (counted,) = ledger.append(Draft(tally, run=RUN, causes=[second.seq, plan.seq]))
        report = kinds.Report(run=RUN, format="text", digest=DIGEST, head=counted.hash, size=26, figures=[])
        (told,) = ledger.append(Draft(report, causes=[counted.seq], blobs={"file": b"50%"}))
        ledger.append(Draft(kinds.Publish(report=told.seq, to="the team"), causes=[told.seq]))
    return path
