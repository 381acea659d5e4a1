"""Honest ledgers to forge from: made once a session by the commands themselves, with scripted models on loopback."""

from __future__ import annotations

import atexit
import json
import shutil
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from tests.forgeries.lab import CASES, Lab, busy_once, ferryman, first_run, grader, rows_of, seqs_of
from tests.harness.imports.artifacts import CASES as CASES_ELSEWHERE
from tests.harness.imports.artifacts import fixture, put, sample
from tests.harness.models import Answer, model_server
from tests.ledger.ledgers import settle

__all__ = ["BASES", "base", "made_by"]

ROOT = Path(__file__).resolve().parents[2]


def plain(lab: Lab) -> None:
    """Six cases asked of two models, each right in three."""
    with model_server(ferryman) as server:
        lab.run(server, "--engine", "openai/oar", "--engine", "openai/sail")


def resumed(lab: Lab) -> None:
    """Epochs, a limit, twins; two cells were answered with a 503, one retried at once and one by a resume."""
    lab.repeat_a_case()
    lab.put_cases(sorted(map(json.loads, (lab.suite / "v0/cases.jsonl").read_text().splitlines()), key=_twins_first))
    with model_server(busy_once("Elbe")) as server:
        more = ("--epochs", 2, "--limit", 5)
        lab.run(server, *more, "--max-retries", 0, expect=3)
        lab.call("harness", "resume", "latest", "--max-connections", 1)
    with model_server(busy_once("Rhine", "Elbe")) as server:
        lab.run(server, *more, "--max-wait", 0.01)


def _twins_first(case: dict[str, object]) -> bool:
    return not str(case["id"]).startswith("rhine")


def filtered(lab: Lab) -> None:
    """Only the cases of one coast."""
    with model_server(ferryman) as server:
        lab.run(server, "--filter", "meta.coast=south")


def armed(lab: Lab) -> None:
    """A run under a condition, and a suite of judging, which gives each fixture an arm of its own."""
    with model_server(ferryman) as server:
        lab.run(server, "--arm", "by night")
    with model_server(grader) as server:
        lab.call(
            "harness", "run", lab.folder / "pilots", "--engine", "openai/quill", "--base-url", server.openai,
            "--max-connections", 1,
        )  # fmt: skip


def reused(lab: Lab) -> None:
    """A run, and one that takes all its answers over."""
    with model_server(ferryman) as server:
        lab.run(server)
        lab.run(server, "--reuse")


def judged(lab: Lab) -> None:
    """A run that a judge graded; its scores joined."""
    with model_server(ferryman) as server:
        lab.run(server)
    with model_server(grader) as server:
        lab.grade(server, "latest")


def labelled(lab: Lab) -> None:
    """The same, and people's labels of the answers."""
    judged(lab)
    people = lab.folder / "people.csv"
    people.write_text("case,verdict,sound\n" + "".join(f"{name},pass,3\n" for name in CASES))
    run = first_run(lab.db)
    lab.call("harness", "grade", run, "--labels", people)


def imported(lab: Lab) -> None:
    """Answers that somebody had already, of two models."""
    answers = lab.folder / "answers.jsonl"
    rows = [
        {"id": name, "output": gold if model == "oar" else "Ulm", "model": model}
        for model in ("oar", "sail")
        for name, (_, gold, _) in CASES.items()
    ]
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows[:-1]))
    lab.call("harness", "import", "--suite", lab.suite, answers)


def redacted(lab: Lab) -> None:
    """A plain run of which a request and two replies were withheld since."""
    plain(lab)
    some = "(kind = 'response' AND cell IN (1, 2)) OR (kind = 'request' AND cell = 3)"
    seqs = [seq for (seq,) in rows_of(lab.db, f"SELECT seq FROM events WHERE {some} ORDER BY seq")]
    lab.call("ledger", "redact", *seqs, "--category", "personal", "--reason", "a name")


def decided(lab: Lab) -> None:
    """All that people do with a run: predicted, reported, published, corrected, gated, superseded, tainted, cleared."""
    expected = lab.folder / "expected.toml"
    expected.write_text('suite = "ferries"\n[[expect]]\nbar = "correct >= 1/3"\n')
    lab.call("harness", "freeze", "--prediction", expected)
    with model_server(ferryman) as server:
        lab.run(server, "--name", "too early")
        lab.run(server, "--name", "the one", "--note", "after the flood")
    early, one = (run for (run,) in rows_of(lab.db, "SELECT run FROM events WHERE kind = 'plan' ORDER BY seq"))
    report = lab.folder / "report.md"
    lab.call("harness", "report", one, "-o", report)
    lab.call("harness", "publish", report, "--to", "the harbour")
    lab.call("harness", "gate", one, "--against", early, "--margin", "90pp")
    lab.call("harness", "report", one, "--gate")
    lab.call(
        "ledger",
        "supersede",
        f"run:{early}",
        "--by",
        f"run:{one}",
        "--reason",
        "asked too early",
        "--category",
        "operator",
    )
    lab.call("ledger", "taint", f"run:{early}", "--reason", "the tide was wrong")
    lab.call("ledger", "clear", seqs_of(lab.db, "taint")[0], "--reason", "it was not")
    lab.call(
        "harness", "correct", report, "--rules", lab.suite / "rules/label.toml", "--reason", "case is no matter", "-o",
        lab.folder / "corrected.md",
    )  # fmt: skip


def priced(lab: Lab) -> None:
    """With a frozen price list, and a budget that ended the run; a resume without one went on."""
    prices = lab.folder / "prices.toml"
    prices.write_text(
        '["openai/oar"]\ninput = "1000"\noutput = "2000"\ncurrency = "EUR"\nsource = "made up"\nas_of = "2026-11-01"\n'
    )
    with model_server(ferryman) as server:
        lab.run(server, "--prices", prices, "--max-cost", "0.04EUR", expect=3)
        lab.call("harness", "resume", "latest", "--max-cost", "none")


def foreign(lab: Lab) -> None:
    """Runs that another project recorded, in a form of its own."""
    shutil.copytree(ROOT / "fixtures" / "authority", lab.folder / "fixtures" / "authority")
    cases, runs = put(lab.folder / "v0.json", fixture(CASES_ELSEWHERE)), put(lab.folder / "runs.json", sample())
    lab.call("harness", "import", "memory-authority-auditor", runs, "--fixture", cases)


def looked_up(lab: Lab) -> None:
    """Before the run, its server was asked for its version and its models."""

    def tell(path: str) -> object:
        if path.endswith("/api/version"):
            return {"version": "0.99"}
        return {"models": [{"name": "oar:latest", "model": "oar:latest", "digest": "ab" * 32}]}

    with model_server(ferryman, tell=tell) as server:
        more = ("-M", "max_tokens=9", "--temperature", 0.5)
        lab.call("harness", "run", lab.suite, "--engine", "ollama/oar", "--base-url", server.url, *more)


def retried(lab: Lab) -> None:
    """Two answers were cut; a resume asked for them again, twice."""
    cuts = ["Elbe", "Oder", "Elbe"]

    def answer(prompt: str) -> Answer:
        cut = next((each for each in cuts if each in prompt), None)
        if cut is None:
            return ferryman(prompt)
        cuts.remove(cut)
        choice = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "Cux"}}
        return Answer(body=json.dumps({"id": "c", "model": "oar-1", "choices": [choice]}).encode())

    with model_server(answer) as server:
        lab.run(server)
        lab.call("harness", "resume", "latest", "--retry-outcomes", "truncated")
        lab.call("harness", "resume", "latest", "--retry-outcomes", "truncated")


def rerolled(lab: Lab) -> None:
    """Wrong answers were asked for again, by a resume and by a run that took the right ones over; then reported."""
    wrong = ["Elbe", "Oder"]

    def answer(prompt: str) -> Answer:
        river = next((each for each in wrong if each in prompt), None)
        if river is None:
            return ferryman(prompt)
        wrong.remove(river)
        return Answer("Nowhere")

    with model_server(answer) as server:
        lab.run(server)
        lab.call("harness", "resume", "latest", "--retry-outcomes", "wrong")
        lab.run(server, "--reuse-outcomes", "correct")
    first, second = (run for (run,) in rows_of(lab.db, "SELECT run FROM events WHERE kind = 'plan' ORDER BY seq"))
    lab.call("harness", "report", second, "-o", lab.folder / "report.md")
    lab.call("harness", "gate", second, "--against", first, "--margin", "90pp")


def accepted(lab: Lab) -> None:
    """The server moved house in the middle, and a person accepted it."""
    with model_server(lambda prompt: Answer(status=500, body=b"{}") if "Po " in prompt else ferryman(prompt)) as server:
        lab.run(server, "--max-retries", 0, expect=3)
    with model_server(ferryman) as server:
        lab.call(
            "harness", "resume", "latest", "--base-url", server.openai, "--accept", "endpoint", "--reason", "it moved",
        )  # fmt: skip


def signed(lab: Lab) -> None:
    """A run, and a checkpoint of it."""
    with model_server(ferryman) as server:
        lab.run(server)
    with TemporaryDirectory() as elsewhere:
        key = ("--signing-key", Path(elsewhere) / "key")
        lab.call("ledger", "key", "new", *key)
        lab.call("ledger", "checkpoint", *key)


def reviewed(lab: Lab) -> None:
    """Cases with a note for whoever evaluates, which the suite names as people's."""
    path = lab.suite / "suite.toml"
    path.write_text(path.read_text().replace('rules = ["exact"]', 'rules = ["exact"]\npeople = ["note"]'))
    rows = map(json.loads, (lab.suite / "v0/cases.jsonl").read_text().splitlines())
    lab.put_cases([{**row, "meta": {**row["meta"], "note": f"mind the {row['id']}"}} for row in rows])
    with model_server(ferryman) as server:
        lab.run(server)


def probed(lab: Lab) -> None:
    """One question, outside any suite."""
    with model_server(ferryman) as server:
        lab.call("harness", "probe", "openai/oar", "--prompt", CASES["rhine"][0], "--base-url", server.openai)


def rescored(lab: Lab) -> None:
    """A run read again under other rules."""
    with model_server(ferryman) as server:
        lab.run(server)
    lab.call("harness", "rescore", "latest", "--rules", lab.suite / "rules/label.toml")


BASES: Mapping[str, Callable[[Lab], None]] = {
    make.__name__: make
    for make in (
        plain, resumed, filtered, armed, reused, judged, labelled, imported, redacted, decided, probed, rescored,
        priced, foreign, looked_up, retried, rerolled, accepted, signed, reviewed,
    )
}  # fmt: skip


@cache
def base(name: str) -> Path:
    """The folder of an honest ledger (ledger.db), made the first time that it is asked for. Not to be written to."""
    folder = Path(mkdtemp(prefix=f"eval-ledger-{name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made_by(name, Lab(folder))
    return folder


def made_by(name: str, lab: Lab) -> None:
    """Make such a ledger in a lab of one's own."""
    BASES[name](lab)
    settle(lab.db)
