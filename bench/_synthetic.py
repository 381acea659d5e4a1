"""A ledger of many runs, made through the one append function with the bodies a real run writes. Shared by benches."""

from __future__ import annotations

from pathlib import Path

from ledger import Draft, Earlier, Ledger, new_run_id
from ledger.kinds import (
    Cell,
    Close,
    Confirm,
    Freeze,
    Parse,
    Plan,
    PlanCandidate,
    PlanFixture,
    PlanMetric,
    PlanRules,
    Request,
    Response,
    Score,
    Tally,
    TallyMetric,
)  # fmt: skip

ZERO = "0" * 64
LABELS = ("strict@aaaaaaaaaaaa", "fence@bbbbbbbbbbbb")
EVENTS_A_CELL = 3 + 3 * len(LABELS)


def make_ledger(path: Path, events: int, *, cells_a_run: int = 1000) -> Ledger:
    """A ledger of at least `events` events; the last run is complete."""
    ledger = Ledger.create(path)
    while ledger.head()[0] < events:
        _add_run(ledger, cells_a_run)
    return ledger


def _add_run(ledger: Ledger, cells: int) -> str:
    run = new_run_id()
    (fixture,) = ledger.append(Draft(Freeze(what="fixture", name=f"bench/{run}", digest=ZERO, identity=ZERO)))
    metrics = [PlanMetric(name="exact", kind="rate", planned=cells, primary=True)]
    plan = Plan(
        name="", tags=[], purpose="evaluation", suite="bench", ask="object",
        fixtures=[PlanFixture(name="f", freeze=fixture.seq, cases=cells)],
        rules=[
            PlanRules(name=label.split("@")[0], label=label, identity=ZERO, freeze=fixture.seq, metrics=metrics)
            for label in LABELS
        ],
        candidates=[
            PlanCandidate(
                label="openai/m", protocol="openai", model="m", parameters={"temperature": 0}, prompt=ZERO,
                prompt_freeze=None, stream=False, digest=ZERO, base_url="http://127.0.0.1:1/v1",
            )
        ],
        arms=[], epochs=1, limit=None, cells=cells, via="live", environment={}, code={},
    )  # fmt: skip
    (opened,) = ledger.append(Draft(plan, run=run, causes=[fixture.seq]))
    for start in range(0, cells, 20):
        drafts: list[Draft] = []
        for cell in range(start + 1, min(start + 20, cells) + 1):
            drafts += _cell(run, cell, opened.seq, len(drafts))
        ledger.append(*drafts)
    for label in LABELS:
        figure = TallyMetric(
            candidate="openai/m", metric="exact", kind="rate", k=cells, total=None, n=cells, planned=cells, primary=True
        )
        tally = Tally(rules=label, freeze=fixture.seq, outcomes={"correct": cells}, metrics=[figure])
        ledger.append(Draft(tally, run=run, causes=[opened.seq]))
    ledger.append(
        Draft(
            Close(status="complete", planned=cells, asked=cells, outcomes={}, reason=""), run=run, causes=[opened.seq]
        )
    )
    return run


def _cell(run: str, cell: int, plan: int, base: int) -> list[Draft]:
    wrong = cell % 7 == 0
    planned = Cell(
        case=f"case-{cell}", fixture="f", identity=f"{cell:064x}", input=f"{cell:064x}", gold=ZERO,
        candidate="openai/m", arm="", epoch=0, twin=0,
    )  # fmt: skip
    headers = [("content-type", "application/json"), ("authorization", "***"), ("accept-encoding", "identity")]
    request = Request(attempt=0, turn=0, method="POST", url="http://127.0.0.1:1/v1/chat/completions", headers=headers)
    response = Response(attempt=0, turn=0, status=200, headers=headers, whole=True, headers_ms=12, total_ms=40)
    drafts = [
        Draft(planned, run=run, cell=cell, causes=[plan]),
        Draft(request, run=run, cell=cell, causes=[Earlier(base)], blobs={"body": b"x" * 900}),
        Draft(response, run=run, cell=cell, causes=[Earlier(base + 1)], blobs={"body": b"y" * 1200}),
    ]
    for label in LABELS:
        at = base + len(drafts)
        parse = Parse(
            rules=label, status="parsed", stage="", reason="", domain="", flags=[], value='{"proposals":[]}',
            span=[(0, 16)], usage={"prompt_tokens": 300, "completion_tokens": 40}, stop="stop", model="m-1",
        )  # fmt: skip
        score = Score(
            rules=label, outcome="incorrect" if wrong else "correct", status="parsed", stage="", reason="", domain="",
            value=None, applies=["exact"], metrics={"exact": 0.0 if wrong else 1.0},
        )  # fmt: skip
        drafts += [
            Draft(parse, run=run, cell=cell, causes=[Earlier(base + 2)]),
            Draft(Confirm(rules=label, findings=[], rejections=[]), run=run, cell=cell, causes=[Earlier(at)]),
            Draft(score, run=run, cell=cell, causes=[Earlier(base), Earlier(at + 1)]),
        ]
    return drafts
