"""What a bundle claims is what the newest tallies, or the report, say; and every run on the fixtures is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ledger import Draft, kinds
from ledger._lineage import clear, supersede, taint
from tests.ledger.bundle.bundled import Bundled, bundled
from tests.ledger.bundle.opened import Opened, made
from tests.ledger.ledgers import EXAMPLES


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Bundled:
    return bundled(tmp_path_factory.mktemp("bundled"))


def runs_of(bundle: Opened) -> dict[str, dict[str, object]]:
    (fixture,) = bundle.bundle["fixtures"]
    return {each["run"]: each for each in fixture["runs"]}


def test_claims_are_the_figures_of_the_newest_tally(ledger: Bundled) -> None:
    bundle = made(ledger, name="newest.zip")
    (tally,) = [row for row in bundle.events.values() if (row["at"]["kind"], row["at"]["run"]) == ("tally", ledger.run)]
    body = json.loads(tally["body"])
    shared = {"run": ledger.run, "rules": body["rules"], "tally": tally["at"]["seq"]}
    assert bundle.bundle["claims"] == [{**figure, **shared} for figure in body["metrics"]]
    assert bundle.bundle["asked"] == {"runs": [ledger.run], "events": [], "report": None}


def test_of_two_tallies_under_one_rule_set_the_later_counts_and_another_rule_set_stands_beside_it(
    tmp_path: Path,
) -> None:
    ledger = bundled(tmp_path)
    with ledger.ledger() as appended:
        (first,) = appended.events(kind="tally", run=ledger.run)
        body = appended.body(first)
        assert isinstance(body, kinds.Tally)
        figure = body.metrics[0].model_copy(update={"k": 8})
        again = body.model_copy(update={"metrics": [figure, *body.metrics[1:]]})
        other = body.model_copy(update={"rules": "lenient@0123456789ab"})
        appended.append(*(Draft(each, run=ledger.run, causes=first.causes) for each in (other, again)))
    ledger.checkpoint()
    claims = made(ledger).bundle["claims"]
    assert [(each["rules"].partition("@")[0], each["candidate"], each["k"], each["tally"]) for each in claims] == [
        ("lenient", "openai/first", 9, 227), ("lenient", "openai/second", 9, 227),
        ("exact", "openai/first", 8, 228), ("exact", "openai/second", 9, 228),
    ]  # fmt: skip


def test_with_a_report_its_figures_are_claimed_though_a_later_tally_says_otherwise(tmp_path: Path) -> None:
    ledger = bundled(tmp_path)
    with ledger.ledger() as appended:
        (first,) = appended.events(kind="tally", run=ledger.run)
        body = appended.body(first)
        assert isinstance(body, kinds.Tally)
        again = body.model_copy(update={"metrics": [each.model_copy(update={"k": 0}) for each in body.metrics]})
        appended.append(Draft(again, run=ledger.run, causes=first.causes))
    ledger.checkpoint()
    bundle = made(ledger, report=ledger.report, hide="gold,prompts")
    assert [(each["k"], each["n"], each["planned"], each["tally"]) for each in bundle.bundle["claims"]] == [
        (9, 11, 12, first.seq), (9, 11, 12, first.seq),
    ]  # fmt: skip
    assert len(bundle.bundle["asked"]["report"]) == 64
    reports = {seq: row for seq, row in bundle.events.items() if row["at"]["kind"] == "report"}
    (row,) = reports.values()
    assert row["body"] is not None
    assert row["blobs"]["file"] == {"salt": None, "file": None, "why": "hidden: gold, prompts"}


def test_every_run_on_the_fixture_is_listed_with_what_became_of_it(ledger: Bundled) -> None:
    bundle = made(ledger, name="runs.zip")
    (report,) = [seq for seq, row in bundle.events.items() if row["at"]["kind"] == "report"]
    (said,) = [seq for seq, row in bundle.events.items() if row["at"]["kind"] == "supersede"]
    other, run = runs_of(bundle)[ledger.other], runs_of(bundle)[ledger.run]
    assert (other["cells"], other["reports"], other["superseded_by"], other["tainted_by"]) == (12, [], [said], [])
    assert (run["cells"], run["reports"], run["superseded_by"], run["tainted_by"]) == (24, [report], [], [])
    assert (run["purpose"], run["status"]) == ("evaluation", "incomplete")
    assert bundle.bundle["fixtures"][0]["name"] == "guild/v0"


def test_a_supersession_taken_back_and_a_cleared_taint_are_no_longer_said_of_the_run(tmp_path: Path) -> None:
    ledger = bundled(tmp_path)
    with ledger.ledger() as appended:
        (said,) = appended.events(kind="supersede")
        found, _ = taint(appended, f"run:{ledger.run}", reason="unsure")
        withdrawn, _ = taint(appended, f"run:{ledger.other}", reason="unsure as well")
        clear(appended, withdrawn.seq, reason="sure again")
        supersede(appended, f"supersession:{said.seq}", by=None, category="operator", reason="it stands after all")
    ledger.checkpoint()
    bundle = made(ledger)
    runs = runs_of(bundle)
    assert (runs[ledger.other]["superseded_by"], runs[ledger.other]["tainted_by"]) == ([], [])
    assert runs[ledger.run]["tainted_by"] == [found.seq]
    assert {"taint", "clear", "supersede"} <= bundle.kinds()


def test_what_came_after_the_checkpoint_is_not_said(tmp_path: Path) -> None:
    ledger = bundled(tmp_path)
    with ledger.ledger() as appended:
        taint(appended, f"run:{ledger.other}", reason="later")
        appended.append(Draft(EXAMPLES["note"], run=ledger.other, causes=[]))
    bundle = made(ledger)
    assert bundle.made.size == 226
    assert runs_of(bundle)[ledger.other]["tainted_by"] == []
    assert max(bundle.events) <= 226


def test_a_hidden_plan_says_no_purpose_and_is_told_when_cells_are_revealed(ledger: Bundled) -> None:
    hidden = made(ledger, hide="prompts", name="hidden.zip").bundle
    assert {run["purpose"] for run in hidden["fixtures"][0]["runs"]} == {None}
    assert hidden["told"] is None
    told = made(ledger, hide="prompts", reveal=1, seed="7", name="told.zip").bundle["told"]
    assert told[ledger.run]["ask"] == "text"
    assert [each["label"] for each in told[ledger.run]["candidates"]] == ["openai/first", "openai/second"]
    assert made(ledger, hide="gold", reveal=1, seed="7", name="shown.zip").bundle["told"] is None


def test_an_event_alone_claims_nothing(ledger: Bundled) -> None:
    bundle = made(ledger, "20", name="alone.zip").bundle
    assert (bundle["claims"], bundle["fixtures"], bundle["asked"]["events"]) == ([], [], [20])
