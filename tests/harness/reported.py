"""Ledgers to report on: a run of the authority suite with bars, once per session, and one made of hostile text."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from harness._job import Job, run_job
from harness._report_data import collect
from harness._report_file import render
from harness._report_write import Written, check_target, write_report
from harness._run import RunOptions
from harness._session import SilentProgress
from ledger import Draft, Earlier, Ledger, find_run, kinds
from tests.harness.models import Answer, model_server
from tests.harness.test_run import ROOT, perfect

__all__ = ["BARS", "HOSTILE", "asked", "cli", "copied", "hostile_ledger", "run_again", "suite_with_bars", "written"]

BARS = """
[[bars]]
bar = "exact >= 1/4"
fails = "No use in production."

[[bars]]
bar = "false_fire_without_confirmer <= 1/6"
fails = "It fires | where `nothing` <b>happened</b>."
"""
HOSTILE = "\x1b[31m\u202eevil\u2066 | `x` <script>alert(1)</script> [l](http://x.example) ![i](x) \n# h &amp; ```\n"


def suite_with_bars(folder: Path) -> Path:
    """A copy of the authority suite whose rule set strict-cite sets bars, and whose fence-cite sets none."""
    suite = folder / "authority"
    shutil.copytree(ROOT / "fixtures/authority", suite)
    rules = suite / "rules/strict-cite.toml"
    rules.write_text(rules.read_text("utf-8") + BARS, "utf-8")
    fence = suite / "rules/fence-cite.toml"
    fence.write_text(fence.read_text("utf-8").partition("\n[[bars]]")[0], "utf-8")
    return suite


def asked() -> Any:
    """What the scripted model says: some answers fenced, one not JSON, the rest as the key has them."""
    count = [0]

    def answer(prompt: str) -> Answer:
        count[0] += 1
        if count[0] % 4 == 0:
            return Answer(f"```json\n{perfect(prompt)}\n```")
        return Answer("I'd rather not." if count[0] % 5 == 0 else perfect(prompt))

    return answer


def run_again(db: Path, suite: Path, *, fixture: str = "v0", epochs: int = 1, answer: Any = None, **more: Any) -> str:
    """A run in this process; the id it got."""
    with model_server(answer or asked()) as server:
        options = RunOptions(max_connections=1, epochs=epochs, **more)
        engines = ["openai/first", "openai/second"]
        job = Job(f"{suite}/{fixture}", engines, [server.openai], ("strict-cite", "fence-cite"), options=options)
        return run_job(job, db, SilentProgress()).finished.run


@cache
def _made(epochs: int) -> Path:
    folder = Path(mkdtemp(prefix="eval-ledger-reported-"))
    import atexit

    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    suite = suite_with_bars(folder)
    run_again(folder / "ledger.db", suite, epochs=epochs)
    return folder


def copied(folder: Path, *, epochs: int = 1) -> Path:
    """A ledger with one such run, and its suite beside it; the run is made once and copied."""
    made = _made(epochs)
    shutil.copytree(made, folder, dirs_exist_ok=True)
    return folder / "ledger.db"


def written(db: Path, file: Path, run: str = "latest", rules: tuple[str, ...] = ()) -> Written:
    """A report of the run as `harness report -o` writes it."""
    form = file.suffix[1:]
    with Ledger.open(db) as ledger:
        data = collect(ledger, find_run(ledger, run), ledger.head()[0], rules)
        return write_report(ledger, data, render(data, form), form, check_target(ledger, file, force=False))


def cli(*arguments: object) -> int:
    """A `harness` command in this process; its exit status."""
    from harness.cli import app
    from ledger.cli import run_app

    return run_app(app, "harness", [str(each) for each in arguments])


def hostile_ledger(path: Path, *, cells: int = 3, reasons: int = 1) -> str:
    """A run whose every text is hostile, with a rate and a mean, measured once and unmeasured otherwise; its id."""
    run = "aaaaaaaaaaaaaaaa"
    zero = "0" * 64
    with Ledger.create(path) as ledger:
        frozen = [
            ledger.append(
                Draft(
                    kinds.Freeze(what=what, name=HOSTILE, digest=zero, identity=zero),  # pyright: ignore
                    # A fixture without a file: of its runs no link can be held, whatever their text.
                    blobs={} if what == "fixture" else {"file": b"x"},
                )
            )[0].seq
            for what in ("fixture", "rules")
        ]
        label = f"{HOSTILE}@{zero[:12]}"
        metrics = [
            kinds.PlanMetric(name=HOSTILE, kind="rate", planned=cells, primary=True),
            kinds.PlanMetric(name="mean" + HOSTILE, kind="mean", planned=cells, primary=False),
        ]
        plan = kinds.Plan(
            name=HOSTILE, tags=[HOSTILE], purpose="evaluation", suite=HOSTILE, ask="object",
            fixtures=[kinds.PlanFixture(name=HOSTILE, freeze=frozen[0], cases=cells)],
            rules=[kinds.PlanRules(name=HOSTILE, label=label, identity=zero, freeze=frozen[1], metrics=metrics)],
            candidates=[
                kinds.PlanCandidate(
                    label=HOSTILE, protocol="openai", model="x", parameters={}, prompt=zero, prompt_freeze=None,
                    stream=False, digest=zero, base_url="http://127.0.0.1/v1",
                )
            ],
            arms=[], epochs=1, limit=None, cells=cells, via="live", environment={}, code={},
        )  # fmt: skip
        (opened,) = ledger.append(Draft(plan, run=run, causes=frozen))
        for cell in range(1, cells + 1):
            body = kinds.Cell(
                case=f"{HOSTILE}{cell}", fixture=HOSTILE, identity=f"{cell:064x}", input=f"{cell:064x}", gold=zero,
                candidate=HOSTILE, arm="", epoch=0, twin=0,
            )  # fmt: skip
            measured = cell in (1, 2)
            score = kinds.Score(
                rules=label, outcome="correct" if measured else "unmeasured", status="parsed" if measured else "error",
                stage="" if measured else HOSTILE, reason="" if measured else f"{HOSTILE}{cell % reasons}",
                domain="" if measured else HOSTILE, value=None, applies=[HOSTILE, "mean" + HOSTILE],
                metrics={HOSTILE: 1.0, "mean" + HOSTILE: 0.25 * cell} if measured else {},
            )  # fmt: skip
            ledger.append(
                Draft(body, run=run, cell=cell, causes=[opened.seq]),
                Draft(score, run=run, cell=cell, causes=[Earlier(0)]),
            )
        accept = kinds.Accept(component=HOSTILE, before=HOSTILE, after=HOSTILE, reason=HOSTILE)
        ledger.append(Draft(accept, run=run, causes=[opened.seq]))
        said = kinds.Taint(target=kinds.Target(what="run", id=run), reason=HOSTILE)
        ledger.append(Draft(said, causes=[opened.seq]))
    return run
