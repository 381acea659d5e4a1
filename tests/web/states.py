"""Ledgers to look at: one with a run in every state that people meet, and one whose every foreign text is hostile."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

from ledger import Draft, Earlier, Ledger, kinds
from tests.harness.models import Answer, model_server
from tests.harness.reported import run_again, suite_with_bars
from tests.harness.scripted import questions, scripted_models
from tests.harness.servers import ScriptedServer, chunked_reply, json_reply, openai_answer
from tests.harness.test_run import ROOT, perfect

__all__ = ["ATTACKS", "HOSTILE_RUN", "MARKER", "command", "hostile", "interesting"]

MARKER = "pwned"
"""The word that an alert, a title or an address would hold if anything hostile were carried out."""

PRICES = """
["openai/small-model"]
input = "0.40"
output = "1.60"
currency = "USD"
as_of = 2026-11-29
"""


def command(*words: object, expect: int = 0) -> None:
    """A `harness` or `ledger` command in this process, as typed."""
    from harness.cli import app as harness_app
    from ledger.cli import app as ledger_app
    from ledger.cli import run_app

    program, *rest = [str(each) for each in words]
    status = run_app(harness_app if program == "harness" else ledger_app, program, rest)
    assert status == expect, f"{words}: exit {status}, expected {expect}"


def _stubborn() -> Callable[[str], Answer]:
    """Every third answer comes only after a 500, and every seventh not at all."""
    count = [0]

    def answer(prompt: str) -> Answer:
        count[0] += 1
        if count[0] % 3 == 0:
            return Answer(status=500, body=b'{"error": {"message": "overloaded, try again"}}')
        return Answer(perfect(prompt))

    return answer


def _streamed() -> Any:
    pieces = [
        {"choices": [{"index": 0, "delta": {"reasoning_content": "Let me see. M002 comes later."}}]},
        *({"choices": [{"index": 0, "delta": {"content": each}}]} for each in ('{"prop', 'osals":', " []}")),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    lines = [b"data: " + json.dumps({"id": "c", "model": "m-1", **each}).encode() + b"\n\n" for each in pieces]
    return chunked_reply(*lines, b"data: [DONE]\n\n")


def interesting(folder: Path) -> Path:
    """A ledger of real runs: mixed outcomes, repeats, retries, streaming, one cell, money, a post hoc rescore; one run
    superseded, one tainted, one cell withheld, a report published and corrected, notes, an unfinished run."""
    suite, db = suite_with_bars(folder), folder / "ledger.db"
    mixed = run_again(db, suite, name="mixed", tags=("main",))
    first = run_again(db, suite, name="repeats", epochs=3, limit=4)
    broken = run_again(db, suite, name="broken", answer=lambda prompt: Answer(status=400, body=b"no such model"))
    target = ["--db", db, "--max-connections", 1]
    with model_server(_stubborn()) as server:
        where = ["--engine", "openai/stubborn", "--base-url", server.openai, *target]
        command("harness", "run", f"{suite}/v0", "--name", "retried", "--max-wait", 0, "--limit", 6, *where)
    with ScriptedServer(_streamed()) as stream:
        where = ["--engine", "openai/streaming", "--base-url", f"{stream.url}/v1", *target]
        command("harness", "run", f"{suite}/v0", "--stream", "--name", "streamed", "--limit", 3, *where)
    with ScriptedServer(json_reply(openai_answer(perfect(_first_prompt())))) as one:
        where = ["--engine", "openai/one", "--base-url", f"{one.url}/v1", *target]
        command("harness", "run", f"{suite}/v0", "--name", "one cell", "--limit", 1, *where)
    (folder / "questions.csv").write_text(questions(60), "utf-8")
    (folder / "prices.toml").write_text(PRICES, "utf-8")
    with chdir(folder), scripted_models() as address:
        new = ["--input", "question", "--gold", "answer", "--meta", "topic", "--score", "number"]
        command("harness", "new", "sums", "questions.csv", *new)
        (folder / "prices.toml").write_text(PRICES, "utf-8")
        models = ["--engine", "openai/small-model", "--engine", "openai/large-model", "--base-url", address]
        command("harness", "run", "sums", *models, "--name", "sums", "--note", "the small one is cheaper", *target)
    at = ["--db", db]
    command("harness", "rescore", mixed, "--rules", suite / "rules/fence-span.toml", *at)
    command("harness", "report", mixed, "-o", folder / "report.html", *at)
    command("harness", "publish", folder / "report.html", "--to", "the review board", *at)
    command("ledger", "supersede", broken, "--by", mixed, "--category", "operator", "--reason", "wrong server", *at)
    command("ledger", "taint", first, "--reason", "one case's gold is wrong", *at)
    command("ledger", "note", "looked at by two people", "--run", mixed, *at)
    reason = ["--category", "personal", "--reason", "the person asked for it"]
    command("ledger", "redact", "--run", "sums", "--cell", 2, *reason, *at)
    _unfinished(db)
    return db


def _first_prompt() -> str:
    (first, *_) = (ROOT / "fixtures/authority/v0/cases.jsonl").read_text("utf-8").splitlines()
    return str(json.loads(first)["input"]["text"])


def _unfinished(db: Path) -> None:
    """A run that was killed after its first request."""
    with Ledger.open(db) as ledger:
        opened = _plan(ledger, "bbbbbbbbbbbbbbbb", "killed", 3)
        planned = [
            ledger.append(Draft(_cell(f"case-{cell}", "openai/m", cell), run=opened[0], cell=cell, causes=[opened[1]]))
            for cell in (1, 2, 3)
        ]
        request = kinds.Request(attempt=0, turn=0, method="POST", url="http://127.0.0.1:1/v1", headers=[])
        ledger.append(Draft(request, run=opened[0], cell=1, causes=[planned[0][0].seq], blobs={"body": b"{}"}))


ZERO = "0" * 64
HOSTILE_RUN = "hhhhhhhhhhhhhhhh"
ATTACKS = (
    f"<script>alert('{MARKER}')</script>",
    f"</pre><img src=x onerror=\"alert('{MARKER}')\">",
    f"</title></textarea></style></script><svg onload=alert('{MARKER}')>",
    f'"><a href="javascript:alert(\'{MARKER}\')" autofocus onfocus="alert(\'{MARKER}\')">x</a>',
    f"' onmouseover='alert(\"{MARKER}\")' x='",
    "{{7*7}} {% raw %} ${7*7} <%= 7*7 %>",
    f"javascript:alert('{MARKER}')",
    f"data:text/html,<script>alert('{MARKER}')</script>",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b31m \x08\x7f",
    "\u202egnp.exe\u202c \u2066isolate\u2069 \u200b\u200d\ufeff \u2028line\u2029 \u0301\u0301",
    "<base href=http://evil.example/><link rel=stylesheet href=http://evil.example/x.css><meta http-equiv=refresh"
    " content=0;url=http://evil.example/><iframe src=http://evil.example/></iframe><style>*{display:none}</style>",
    "=cmd|' /C calc'!A0 `rm -rf /` $(id) ../../etc/passwd %2e%2e%2f #?&=/",
)
"""Texts that would run, load, hide, or break out, were they not escaped."""

ALL = " ".join(ATTACKS)


def _plan(ledger: Ledger, run: str, text: str, cells: int, names: tuple[str, ...] = ()) -> tuple[str, int, str]:
    label = f"{text}@{ZERO[:12]}"
    case_lines = b"".join(
        json.dumps({"id": name, "input": {"text": ALL}, "gold": ALL, "meta": {"m": ALL}}).encode() + b"\n"
        for name in names
    )
    fixture, rules = (
        ledger.append(
            Draft(kinds.Freeze(what=what, name=text, digest=ZERO, identity=ZERO), blobs={"file": file})  # pyright: ignore
        )[0].seq
        for what, file in (("fixture", case_lines or b"x"), ("rules", ALL.encode()))
    )
    metrics = [
        kinds.PlanMetric(name=text[:90], kind="rate", planned=cells, primary=True),
        kinds.PlanMetric(name="mean " + text[:80], kind="mean", planned=cells, primary=False),
    ]
    plan = kinds.Plan(
        name=text, tags=[text], purpose="evaluation", suite=text, ask="object",
        fixtures=[kinds.PlanFixture(name=text, freeze=fixture, cases=cells)],
        rules=[kinds.PlanRules(name=text, label=label, identity=ZERO, freeze=rules, metrics=metrics)],
        candidates=[
            kinds.PlanCandidate(
                label=text if names else "openai/m", protocol="openai", model=text, parameters={text: text},
                prompt=ZERO, prompt_freeze=None, stream=False, digest=ZERO, base_url="http://127.0.0.1/v1",
            )
        ],
        arms=[], epochs=1, limit=None, cells=cells, via="live", environment={text: text}, code={}, given=ALL,
    )  # fmt: skip
    (opened,) = ledger.append(Draft(plan, run=run, causes=[fixture, rules]))
    return run, opened.seq, label


def _cell(case: str, candidate: str, ordinal: int) -> kinds.Cell:
    return kinds.Cell(
        case=case, fixture=candidate, identity=f"{ordinal:064x}", input=f"{ordinal:064x}", gold=ZERO,
        candidate=candidate, arm="", epoch=0, twin=0,
    )  # fmt: skip


def _wires() -> list[bytes]:
    """Bytes of replies: every attack in an envelope and bare, and what no text is."""
    enveloped = [
        json.dumps(openai_answer(each, more=each)).encode() for each in (*ATTACKS, ALL, "\u0000nul \ud800 lone")
    ]
    bare = [each.encode() for each in ATTACKS]
    odd = [
        b"\x00\x01\x02 NUL \xff\xfe\xc3( invalid",
        b"A" * (2 << 20),
        b"",
        json.dumps(openai_answer("B" * 2**21)).encode(),
    ]
    deep = [b"[" * 5000 + b"]" * 5000, b'{"a":' * 60 + b"1" + b"}" * 60]
    return [*enveloped, *bare, *odd, *deep]


def hostile(path: Path) -> Path:
    """A ledger whose names, tags, labels, cases, reasons, notes, headers, replies, findings and blob names attack."""
    text, wires = ALL, _wires()
    with Ledger.create(path) as ledger:
        cases = tuple(f"{ATTACKS[at % len(ATTACKS)]} {at}" for at in range(len(wires)))
        run, opened, label = _plan(ledger, HOSTILE_RUN, text, len(wires), cases)
        headers = [("content-type", "text/html"), (f"x-{MARKER}", ATTACKS[0]), ("location", ATTACKS[6])]
        for cell, wire in enumerate(wires, start=1):
            attack = ATTACKS[cell % len(ATTACKS)]
            request = kinds.Request(attempt=0, turn=0, method="POST", url=f"http://x/{attack}", headers=headers)
            response = kinds.Response(
                attempt=0, turn=0, status=200, headers=headers, whole=cell % 5 > 0, headers_ms=1, total_ms=2
            )
            parse = kinds.Parse(
                rules=label, status="parsed" if cell % 2 else "malformed", stage="" if cell % 2 else attack,
                reason="" if cell % 2 else attack, domain="" if cell % 2 else attack, flags=[attack],
                value=json.dumps({attack: [attack]}), span=[(0, 40)], usage={attack[:40]: 1}, stop=attack, model=attack,
            )  # fmt: skip
            finding = {"source": attack, "cited": attack, "span": [0, 10], attack: {"x": [attack]}}
            score = kinds.Score(
                rules=label, outcome="correct" if cell % 2 else "unmeasured", status=parse.status, stage=parse.stage,
                reason=parse.reason, domain=parse.domain, value=None, applies=[text[:90]],
                metrics={text[:90]: 1.0} if cell % 2 else {},
            )  # fmt: skip
            drafts = [
                Draft(_cell(cases[cell - 1], text, cell), run=run, cell=cell, causes=[opened]),
                Draft(request, run=run, cell=cell, causes=[Earlier(0)], blobs={"body": ALL.encode()}),
                Draft(response, run=run, cell=cell, causes=[Earlier(1)], blobs={"body": wire}),
                Draft(parse, run=run, cell=cell, causes=[Earlier(2)]),
                Draft(
                    kinds.Confirm(rules=label, findings=[finding], rejections=[{"reason": attack, "claim": attack}]),
                    run=run, cell=cell, causes=[Earlier(3)],
                ),
                Draft(score, run=run, cell=cell, causes=[Earlier(0), Earlier(4)]),
            ]  # fmt: skip
            ledger.append(*drafts)
        fault = kinds.Fault(
            attempt=1, turn=0, stage=text[:60], reason=text[:60], domain="provider", detail=text, total_ms=3
        )
        execute = kinds.Execute(argv=list(ATTACKS), isolation="none", exit=1, signal=None, limits=[text])
        ledger.append(
            Draft(fault, run=run, cell=1, causes=[opened]),
            Draft(execute, run=run, cell=1, causes=[opened], blobs={"stdout": ALL.encode(), "stderr": wires[-4]}),
            Draft(kinds.Accept(component=text, before=text, after=text, reason=text), run=run, causes=[opened]),
            Draft(kinds.Note(text=text), run=run, causes=[opened]),
            Draft(kinds.Import(format=text, tool=text, grade="text", digest=ZERO), blobs={"file": wires[-3]}),
        )
        (report,) = ledger.append(
            Draft(
                kinds.Report(run=run, format="html", digest=ZERO, head=ZERO, size=5, figures=[{"metric": text}]),
                causes=[opened], blobs={"file": ALL.encode()},
            )
        )  # fmt: skip
        ledger.append(Draft(kinds.Publish(report=report.seq, to=text), causes=[report.seq]))
        target = kinds.Target(what="run", id=run)
        ledger.append(Draft(kinds.Taint(target=target, reason=text), causes=[opened]))
        ledger.append(Draft(kinds.Supersede(target=target, by=None, category="operator", reason=text), causes=[opened]))
    return path
