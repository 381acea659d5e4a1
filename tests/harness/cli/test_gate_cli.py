"""`harness gate` as it is typed: exit statuses, files for CI, and the recipe of docs/PIPELINE.md."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from harness.cli import app
from harness.links._broken import Finder
from harness.links._decided import check_gates
from ledger import Event, Ledger, find_run
from ledger.cli import app as ledger_app
from ledger.cli import run_app
from ledger.kinds import Gate
from tests.harness.experiments import Experiment
from tests.harness.models import Answer, model_server
from tests.harness.scored import scored_run
from tests.harness.test_run import perfect

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "PIPELINE.md").read_text("utf-8")
MANY = [f"c{number}" for number in range(60)]


def told(right: int, rest: str = "wrong") -> dict[str, str]:
    return {name: "right" if at < right else rest for at, name in enumerate(MANY)}


class Typed:
    def __init__(self, db: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.db, self.capsys = str(db), capsys

    def __call__(self, *arguments: str, expect: int) -> tuple[str, str]:
        assert run_app(app, "harness", ["gate", *arguments, "--db", self.db]) == expect
        shown = self.capsys.readouterr()
        assert "Traceback" not in shown.err
        return shown.out, shown.err


def newest(typed: Typed) -> tuple[Event, Gate]:
    """The newest verdict, and that `ledger verify --deep` has nothing against it."""
    with Ledger.open(typed.db, read_only=True) as ledger:
        (event,) = ledger.newest(1, kind="gate")
        body = ledger.body(event)
        finder = Finder()
        check_gates(ledger, finder)
    assert isinstance(body, Gate)
    assert finder.found == []
    return event, body


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five runs to hold against each other, written once."""
    path = tmp_path_factory.mktemp("made") / "ledger.db"
    with Ledger.create(path) as ledger:
        scored_run(ledger, {"a/x": told(60)}, name="base")
        scored_run(ledger, {"a/x": told(60)}, name="good")
        scored_run(ledger, {"a/x": told(20)}, name="bad")
        scored_run(ledger, {"a/x": told(50, "error")}, name="broken")
        scored_run(ledger, {"a/x": told(60)}, name="moved", arm="told")
    return path


@pytest.fixture
def db(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copyfile(made, tmp_path / "ledger.db"))


@pytest.fixture
def typed(db: Path, capsys: pytest.CaptureFixture[str]) -> Typed:
    return Typed(db, capsys)


@pytest.mark.parametrize(
    ("run", "margin", "status", "word"),
    [
        ("good", "10pp", 0, "PASS"), ("bad", "10pp", 1, "FAIL"), ("good", "1pp", 1, "INCONCLUSIVE"),
        ("broken", "10pp", 3, "INCOMPLETE"), ("moved", "10pp", 4, "NOT COMPARABLE"),
    ],
)  # fmt: skip
def test_the_exit_status_is_the_verdict(
    typed: Typed, tmp_path: Path, run: str, margin: str, status: int, word: str
) -> None:
    xml, page = tmp_path / "gate.xml", tmp_path / "gate.md"
    files = ("--junit", str(xml), "--markdown", str(page))
    out, _ = typed(run, "--against", "base", "--margin", margin, *files, expect=status)
    verdict, recorded = out.splitlines()[-2:]
    assert verdict.startswith(f"{word}: ")
    assert recorded == f"Recorded as event {newest(typed)[0].seq} of {typed.db}."
    assert "97.5% confidence at the one end that decides" in out
    root = ElementTree.parse(xml).getroot()
    bad = int(root.get("failures") or 0) + int(root.get("errors") or 0)
    assert (bad > 0) == (status > 0)
    assert page.read_text("utf-8").startswith("### ")
    out, _ = typed(run, "--against", "base", "--margin", margin, "--json", expect=status)
    found = json.loads(out)
    assert (found["exit_status"], found["outcome"].upper()) == (status, word)
    event, body = newest(typed)
    assert (found["event"], body.outcome.upper()) == (event.seq, word)


def test_a_verdict_rests_on_the_newest_tallies_of_both_runs(typed: Typed, db: Path) -> None:
    typed("bad", "--against", "base", "--margin", "10pp", expect=1)
    event, body = newest(typed)
    with Ledger.open(db, read_only=True) as ledger:
        runs = {run: find_run(ledger, run) for run in ("bad", "base")}
        tallies = {run: [*ledger.events(kind="tally", run=runs[run])][-1].seq for run in runs}
    assert event.causes == tuple(sorted(tallies.values()))
    assert (body.what, body.run, body.against, body.margin) == ("margin", runs["bad"], runs["base"], "0.1")
    (result,) = body.results
    assert isinstance(result, dict)
    assert [result[name] for name in ("tally", "k", "n", "planned")] == [tallies["bad"], 20, 60, 60]
    assert [result[f"against_{name}"] for name in ("tally", "k", "n", "planned")] == [tallies["base"], 60, 60, 60]


def test_impact_names_the_release_decisions_that_rested_on_a_run(
    typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    typed("good", "--against", "base", "--margin", "10pp", expect=0)
    event, body = newest(typed)
    for target, named in ((body.run, True), (body.against, True), ("bad", False)):
        assert run_app(ledger_app, "ledger", ["impact", target, "--db", typed.db, "--json"]) == 0
        gates = json.loads(capsys.readouterr().out)["gates"]
        assert [(each["seq"], each["outcome"]) for each in gates] == ([(event.seq, "pass")] if named else [])
    assert run_app(ledger_app, "ledger", ["impact", body.run, "--db", typed.db]) == 0
    out = capsys.readouterr().out
    assert re.search(rf"{event.seq} +{body.run} +{body.against}, margin 0.1 +pass", out)
    assert "1 release decision" in out


def test_a_verdict_that_nobody_wants_kept_leaves_the_ledger_as_it_is(typed: Typed, db: Path) -> None:
    before = db.read_bytes()
    out, _ = typed("good", "--against", "base", "--margin", "10pp", "--no-record", expect=0)
    assert out.splitlines()[-1] == "The verdict is not recorded, as --no-record asks."
    assert db.read_bytes() == before


def test_a_ledger_that_cannot_be_written_keeps_no_verdict_and_says_so(typed: Typed, db: Path) -> None:
    with closing(sqlite3.connect(db)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("ledger._connect.BUSY_SECONDS", 0.1)
            out, _ = typed("good", "--against", "base", "--margin", "10pp", expect=0)
    assert out.splitlines()[-1].startswith("The verdict is not recorded: ")


def test_inconclusive_pass_lets_through_and_says_so(typed: Typed) -> None:
    out, _ = typed("good", "--against", "base", "--margin", "1pp", "--inconclusive", "pass", expect=0)
    assert "let through by --inconclusive pass" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("good", "--against", "base", "--margin", "2%"), ("good", "--against", "base", "--margin", "2"),
        ("good", "--against", "nope", "--margin", "2pp"), ("nope", "--against", "base", "--margin", "2pp"),
        ("good", "--against", "base"), ("good", "--margin", "2pp"),
        ("good", "--against", "good", "--margin", "2pp"),
        ("good", "--against", "base", "--margin", "2pp", "--metric", "nope"),
        ("good", "--against", "base", "--margin", "2pp", "--inconclusive", "maybe"),
        ("good", "--against", "base", "--margin", "2pp", "--junit", "/nowhere/there/gate.xml"),
    ],
)  # fmt: skip
def test_wrong_usage_ends_in_2_with_one_sentence(typed: Typed, arguments: tuple[str, ...]) -> None:
    out, errors = typed(*arguments, expect=2)
    assert out == ""
    assert errors.strip()


def test_a_ledger_is_never_written_over(typed: Typed, db: Path) -> None:
    before = db.read_bytes()
    _, errors = typed("good", "--against", "base", "--margin", "2pp", "--junit", str(db), expect=2)
    assert "never written over" in errors and db.read_bytes() == before


def test_two_real_runs_against_a_tag(tmp_path: Path) -> None:
    experiment = Experiment(tmp_path / "work")
    with model_server(lambda prompt: Answer(perfect(prompt))) as good, model_server(lambda _: Answer("no")) as poor:
        experiment.run(good, "--tag", "main", suite="authority")
        experiment.run(good, "--name", "same", suite="authority")
        experiment.run(poor, "--name", "poor", suite="authority")
    passed = experiment.harness("gate", "same", "--against", "main", "--margin", "40pp")
    assert (passed["outcome"], passed["tag"]) == ("pass", "main")
    assert {each["metric"] for each in passed["results"]} == {"exact", "negative_pass"}, "each decides for its cases"
    held = experiment.harness("gate", "poor", "--against", "main", "--margin", "40pp", expect=1)
    assert held["outcome"] == "inconclusive", "nothing of it was measured, so nothing of it passes"
    assert experiment.verified() == "CONSISTENT"


# The recipe


def recipe() -> dict[str, Any]:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    return yaml.safe_load(text)


def test_the_recipe_is_a_workflow_and_every_command_and_flag_in_it_is_there() -> None:
    steps = recipe()["jobs"]["gate"]["steps"]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    commands = [step["run"] for step in steps if step.get("run", "").startswith(("harness ", "ledger "))]
    assert [each.split()[:2] for each in commands] == [["harness", "run"], ["harness", "gate"], ["ledger", "verify"]]
    commands += [line.strip() for line in PAGE.splitlines() if line.startswith("    harness ")]
    for command in commands:
        program, name, *rest = shlex.split(command)
        typer_app = app if program == "harness" else ledger_app
        (registered,) = [each for each in typer_app.registered_commands if each.name == name]
        from typer.main import get_command_from_info

        known = get_command_from_info(registered, pretty_exceptions_short=False, rich_markup_mode=None)
        flags = {option for parameter in known.params for option in parameter.opts}
        assert {each for each in rest if each.startswith("--")} <= flags, command


def test_the_recipe_posts_what_the_gate_writes() -> None:
    text = json.dumps(recipe())
    (gate,) = [step["run"] for step in recipe()["jobs"]["gate"]["steps"] if "harness gate" in step.get("run", "")]
    written = dict(zip(shlex.split(gate), shlex.split(gate)[1:], strict=False))
    assert f"--body-file {written['--markdown']}" in text and "GITHUB_STEP_SUMMARY" in text
    assert written["--junit"] in json.dumps(recipe()["jobs"]["gate"]["steps"][-1])


def test_the_page_names_every_exit_status_of_the_gate() -> None:
    assert re.findall(r"^\| ([0-9]) \|", PAGE, re.MULTILINE) == ["0", "1", "2", "3", "4"]
