"""Confirmatory or post hoc follows from the order of the chain, and from nothing that anybody can set."""

from pathlib import Path
from typing import Any

import pytest

from harness._rescore import rescore_run
from harness._rules import load_rules
from harness._suite import load_suite
from ledger import Draft, Ledger, as_of, over_views
from ledger.kinds import Freeze, Tally
from tests.harness.experiments import Experiment
from tests.harness.models import Answer, model_server
from tests.harness.test_run import perfect

STANDING = over_views("SELECT rules, standing, because FROM rule_standing WHERE run = ?")


def standing(lab: Experiment, run: str) -> dict[str, str]:
    with Ledger.open(lab.db, read_only=True) as ledger:
        found = {row["rules"].partition("@")[0]: row["standing"] for row in ledger.rows(STANDING, (run,))}
        board = ledger.rows("SELECT DISTINCT rules, standing FROM main.scoreboard WHERE run = ?", (run,))
    assert {row["rules"].partition("@")[0]: row["standing"] for row in board} == found
    return found


@pytest.fixture
def lab(tmp_path: Path) -> Experiment:
    return Experiment(tmp_path)


def ask(lab: Experiment, *arguments: str) -> Any:
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        return lab.run(server, *arguments)["run"]


def test_rules_frozen_before_the_first_response_are_confirmatory_and_later_ones_post_hoc(lab: Experiment) -> None:
    lab.harness("freeze", "authority", "--rules", "strict-cite")
    run = ask(lab, "--rules", "strict-cite")
    assert standing(lab, run) == {"strict-cite": "confirmatory"}
    lab.harness("freeze", "authority", "--rules", "fence-cite")
    lab.harness("rescore", run, "--rules", "fence-cite")
    assert standing(lab, run) == {"strict-cite": "confirmatory", "fence-cite": "post hoc"}
    again = ask(lab, "--rules", "fence-cite")
    assert standing(lab, again) == {"fence-cite": "confirmatory"}


def test_a_clock_and_a_file_s_name_change_nothing(lab: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ask(lab, "--rules", "strict-cite")
    rules = lab.suite / "rules"
    (rules / "aaa-first.toml").write_bytes((rules / "fence-cite.toml").read_bytes())
    monkeypatch.setattr("ledger._append.now_text", lambda: "2001-01-01T00:00:00.000000Z")
    with Ledger.open(lab.db) as ledger:
        rescore_run(ledger, run, [load_rules(load_suite(str(lab.suite))[0], "aaa-first")])
        early = [event.at for event in ledger.events(kind="freeze") if event.at.startswith("2001")]
    assert len(early) == 1
    assert standing(lab, run) == {"strict-cite": "confirmatory", "aaa-first": "post hoc"}


def test_answers_that_were_taken_over_count_where_they_were_first_recorded(lab: Experiment) -> None:
    ask(lab, "--rules", "strict-cite")
    lab.harness("freeze", "authority", "--rules", "fence-cite")
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        taken = lab.run(server, "--rules", "fence-cite", "--reuse")
    assert taken["reused"] == 6
    assert standing(lab, taken["run"]) == {"fence-cite": "post hoc"}


def test_as_of_an_earlier_event_the_later_rule_set_was_not_there(lab: Experiment) -> None:
    run = ask(lab, "--rules", "strict-cite")
    with Ledger.open(lab.db, read_only=True) as ledger:
        size, _ = ledger.head()
        before = ledger.rows(over_views("SELECT * FROM scoreboard WHERE run = ?", as_of(size)), (run,))
    lab.harness("rescore", run, "--rules", "fence-cite")
    with Ledger.open(lab.db, read_only=True) as ledger:
        assert ledger.rows(over_views("SELECT * FROM scoreboard WHERE run = ?", as_of(size)), (run,)) == before
        assert len(ledger.rows("SELECT * FROM main.scoreboard WHERE run = ?", (run,))) == 2 * len(before)


def test_a_tally_that_names_a_freeze_of_another_rule_set_makes_nothing_confirmatory(lab: Experiment) -> None:
    lab.harness("freeze", "authority", "--rules", "strict-cite")
    run = ask(lab, "--rules", "strict-cite")
    lab.harness("rescore", run, "--rules", "fence-cite")
    with Ledger.open(lab.db) as ledger:
        rules = {event.seq: ledger.body(event) for event in ledger.events(kind="freeze")}
        early = next(seq for seq, body in rules.items() if isinstance(body, Freeze) and body.what == "rules")
        told = ledger.body(list(ledger.events(kind="tally", run=run))[-1])
        assert isinstance(told, Tally)
        assert told.freeze > early
        forged = told.model_copy(update={"freeze": early, "blobs": {}})
        plan = next(ledger.events(kind="plan", run=run))
        ledger.append(Draft(forged, run=run, causes=[early, plan.seq]))
    assert standing(lab, run) == {"strict-cite": "confirmatory", "fence-cite": "post hoc"}
    report, file = lab.harness("report", run), lab.folder / "r.md"
    assert {row["rules"].partition("@")[0]: row["standing"] for row in report["scoreboard"]}["fence-cite"] == "post hoc"
    lab.harness("report", run, "-o", str(file))
    lab.harness("check", str(file))
    lab.harness("compare", run, "--rules", "strict-cite", "--rules", "fence-cite")


def test_a_rule_set_of_which_no_freeze_is_named_is_post_hoc_and_breaks_no_command(lab: Experiment) -> None:
    run = ask(lab, "--rules", "strict-cite")
    with Ledger.open(lab.db) as ledger:
        told = ledger.body(next(ledger.events(kind="tally", run=run)))
        assert isinstance(told, Tally)
        forged = told.model_copy(update={"rules": "unheard@000000000000", "blobs": {}})
        plan = next(ledger.events(kind="plan", run=run))
        ledger.append(Draft(forged, run=run, causes=[plan.seq]))
    assert standing(lab, run)["unheard"] == "post hoc"
    file = lab.folder / "r.html"
    lab.harness("report", run, "-o", str(file))
    lab.harness("check", str(file))
    lab.harness("compare", run, "--rules", "strict-cite", "--rules", "unheard", "--force", expect=2)
    lab.harness("replay", "--check", run, expect=1)
    lab.harness("rules", "list")
