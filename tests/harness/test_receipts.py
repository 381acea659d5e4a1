"""Reports of real runs, from the command line to the verdict: real processes, a real server, a real ledger file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.harness.experiments import Experiment, answering
from tests.harness.models import Answer, model_server
from tests.harness.test_run import perfect


def say(experiment: Experiment, *arguments: object, expect: int = 0) -> str:
    """Both streams of a `harness` command."""
    process = experiment.start("harness", *map(str, arguments))
    out, errors = process.communicate(timeout=120)
    assert process.returncode == expect, f"exit {process.returncode}, expected {expect}\n{out}\n{errors}"
    assert "Traceback" not in errors
    return out + errors


def fenced(prompt: str) -> Answer:
    return Answer(f"```json\n{perfect(prompt)}\n```")


def test_from_report_to_check_to_a_digit_to_supersession_to_tampering(tmp_path: Path) -> None:
    experiment = Experiment(tmp_path)
    with model_server(fenced) as server:
        run = experiment.run(server)["run"]
    say(experiment, "report", run, "--format", "html", "-o", "r.html")
    assert "numbers reproduce, and nothing" in say(experiment, "check", "r.html")
    text = (tmp_path / "r.html").read_text("utf-8")
    (tmp_path / "forged.html").write_text(text.replace(">4/4<", ">3/4<", 1), "utf-8")
    line = text[: text.index(">4/4<")].count("\n") + 1
    told = say(experiment, "check", "forged.html", expect=1)
    assert f"DIFFERS: line {line}: the file says 3/4, it should be 4/4" in told
    experiment.ledger("supersede", run, "--no-successor", "--category", "parser", "--reason", "read wrongly")
    told = say(experiment, "check", "r.html", expect=1)
    assert f"run {run} was superseded" in told and "read wrongly" in told
    with closing(sqlite3.connect(experiment.db)) as connection, connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE events SET at = '2020-01-01T00:00:00.000000Z' WHERE seq = 9")
        for _, sql in triggers:
            connection.execute(sql)
    told = say(experiment, "check", "r.html", expect=1)
    assert "TAMPERED" in told and "event 9" in told
    assert "numbers reproduce" not in told


def test_published_to_two_then_corrected_under_rules_that_came_later(tmp_path: Path) -> None:
    experiment = Experiment(tmp_path)
    with model_server(fenced) as server:
        experiment.run(server, "--rules", "strict-cite")
    say(experiment, "report", "latest", "-o", "old.md")
    say(experiment, "publish", "old.md", "--to", "Ada", "--to", "the board")
    why = "fenced answers were thrown away"
    told = say(experiment, "correct", "old.md", "--rules", "fence-cite", "--reason", why, "-o", "new.md")
    assert "was given the old one: Ada" in told and "was given the old one: the board" in told
    assert (
        "exact, ollama/m: no data (4 planned) under strict-cite" in told and "4/4 (4 planned) under fence-cite" in told
    )
    assert "by parse: fence" in told
    assert "superseded by" in say(experiment, "check", "old.md", expect=1)
    assert "nothing it rests on was superseded" in say(experiment, "check", "new.md")
    assert "(post hoc)" in (tmp_path / "new.md").read_text("utf-8")
    impact = experiment.ledger("impact", "latest")
    assert "Ada" in impact and "the board" in impact
    assert experiment.verified() == "CONSISTENT"


def test_reports_before_and_after_a_resume_and_a_rescore_are_each_true_of_their_moment(tmp_path: Path) -> None:
    experiment = Experiment(tmp_path)
    with model_server(answering(3)) as server:
        run = experiment.run(server, "--rules", "strict-cite", expect=3)["run"]
        say(experiment, "report", run, "-o", "first.json")
        say(experiment, "report", run, "--gate", expect=2)
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        moved = ("--base-url", server.url, "--accept", "endpoint", "--reason", "another port")
        assert experiment.resume(run, *moved)["status"] == "complete"
    say(experiment, "report", run, "-o", "second.md")
    say(experiment, "rescore", run, "--rules", "fence-span")
    say(experiment, "report", run, "-o", "third.html")
    found: list[Any] = [experiment.harness("check", name) for name in ("first.json", "second.md", "third.html")]
    assert [each["verdict"] for each in found] == ["reproduces"] * 3
    assert {each["what"] for each in found[0]["since"]} == {"rules", "went on"}
    assert {each["what"] for each in found[1]["since"]} == {"rules"}
    assert found[2]["since"] == []
    assert "incomplete" in (tmp_path / "first.json").read_text("utf-8")
    assert "ACCEPTED by event" in (tmp_path / "second.md").read_text("utf-8")
