"""What a suite's companion says of a run: read as of an event, shown in every format; nothing where it says none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness._check import check_file
from harness._compare import compare
from harness._report import read_report
from harness._report_data import collect
from harness._report_file import render
from harness._rules import RuleSet
from harness._study import read_records
from harness._thaw import thaw_rules
from harness.suites import _companion
from ledger import Draft, Ledger, over_views
from ledger.kinds import Confirm, Report, Score
from tests.harness.reported import cli, copied, written
from tests.harness.scored import rule_set, scored_run
from tests.harness.studied import SEEN

OUTCOMES = {"ollama/a": {"one": "right", "two": "wrong", "three": "refused"}}


@pytest.fixture
def studied(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The suite authority with a companion."""
    monkeypatch.setattr(_companion, "_COMPANIONS", {"authority": "tests.harness.studied:COMPANION"})
    SEEN.clear()
    yield


def data_of(ledger: Ledger, run: str, size: int = 0) -> dict[str, Any]:
    return collect(ledger, run, size or ledger.head()[0])


def rules_of(ledger: Ledger, run: str) -> RuleSet:
    (row,) = ledger.rows(over_views("SELECT freeze FROM run_rules WHERE run = ?"), (run,))
    return thaw_rules(ledger, row["freeze"])


def test_a_suite_whose_companion_says_nothing_leaves_no_trace(ledger: Ledger) -> None:
    run = scored_run(ledger, OUTCOMES)
    report = read_report(ledger, run)
    assert "study" not in report.data
    assert "study" not in report.as_json()
    assert report.warnings() == []
    assert b"says of its cells" not in render(report.data, "md")


@pytest.mark.usefixtures("studied")
def test_a_study_has_every_cell_once_as_its_last_score_has_it(ledger: Ledger) -> None:
    run = scored_run(ledger, OUTCOMES)
    (found,) = data_of(ledger, run)["study"]
    assert (found["candidate"], found["rules"]) == ("ollama/a", rule_set().label)
    (records,) = SEEN
    told = [(each.case, each.outcome, each.status, each.reason) for each in records]
    assert told == [
        ("one", "correct", "parsed", ""), ("two", "incorrect", "parsed", ""),
        ("three", "unmeasured", "refused", "stop_refusal"),
    ]  # fmt: skip
    assert all(isinstance(each.gold, dict) and each.gold["forbidden"] == [] for each in records)
    assert found["tables"][0]["rows"][0] == ["right", 1, 1 / 3, 0.5]


@pytest.mark.usefixtures("studied")
def test_each_candidate_has_a_study_of_its_own_cells(ledger: Ledger) -> None:
    run = scored_run(ledger, {"ollama/a": {"one": "right"}, "ollama/b": {"one": "wrong"}})
    found = data_of(ledger, run)["study"]
    assert [(each["candidate"], each["tables"][0]["rows"][0][1]) for each in found] == [
        ("ollama/a", 1),
        ("ollama/b", 0),
    ]
    assert [{each.candidate for each in some} for some in SEEN] == [{"ollama/a"}, {"ollama/b"}]


@pytest.mark.usefixtures("studied")
def test_a_study_is_as_of_its_event_and_a_later_score_changes_only_later_ones(ledger: Ledger) -> None:
    run = scored_run(ledger, OUTCOMES)
    size, _ = ledger.head()
    before = data_of(ledger, run, size)["study"]
    planned, read = (
        ledger.rows(f"SELECT max(seq) AS seq FROM main.events WHERE run = ? AND cell = 2 AND kind = '{kind}'", (run,))
        for kind in ("cell", "parse")
    )  # fmt: skip
    finding = {"proposal": 0, "layer": "vector"}
    confirm = Confirm(rules=rule_set().label, findings=[finding], rejections=[])
    (held,) = ledger.append(Draft(confirm, run=run, cell=2, causes=[read[0]["seq"]]))
    score = Score(
        rules=rule_set().label, outcome="correct", status="parsed", stage="", reason="", domain="", value=None,
        applies=["exact"], metrics={"exact": 1.0}, verdict="pass", classes={"quality": "pass"}, blocked_by=["x"],
    )  # fmt: skip
    ledger.append(Draft(score, run=run, cell=2, causes=[planned[0]["seq"], held.seq]))
    assert data_of(ledger, run, size)["study"] == before
    assert data_of(ledger, run)["study"][0]["tables"][0]["rows"][0][1] == 2
    _, second, _ = SEEN[-1]
    assert (second.verdict, second.classes, second.blocked_by) == ("pass", {"quality": "pass"}, ("x",))
    assert second.findings == [finding]
    assert all(each.findings == () for each in SEEN[0])


@pytest.mark.usefixtures("studied")
def test_a_cell_that_nobody_scored_is_unmeasured_and_says_how_far_it_came(ledger: Ledger) -> None:
    run = scored_run(ledger, {"ollama/a": {"one": "right"}, "ollama/b": {}}, closed=False)
    (_, second) = read_records(ledger, lambda *given: ledger.rows(over_views(given[0]), given[1]), run, rule_set())
    assert (second.candidate, second.outcome, second.status) == ("ollama/b", "unmeasured", "not_asked")


@pytest.mark.usefixtures("studied")
def test_gold_that_a_redaction_withholds_is_none_and_the_numbers_stay(tmp_path: Path) -> None:
    db = tmp_path / "ledger.db"
    with Ledger.create(db) as ledger:
        run = scored_run(ledger, OUTCOMES)
        before = data_of(ledger, run)["study"]
        (freeze,) = ledger.rows(over_views("SELECT seq FROM freezes WHERE what = 'fixture'"))
    from ledger.cli import app, run_app

    blob = ["redact", f"{freeze['seq']}:file", "--reason", "a person's", "--category", "personal"]
    assert run_app(app, "ledger", [*blob, "--db", str(db)]) == 0
    with Ledger.open(db) as ledger:
        assert data_of(ledger, run)["study"] == before
        assert [each.gold for each in SEEN[-1]] == [None] * 3


@pytest.mark.usefixtures("studied")
def test_every_format_shows_the_tables_and_no_text_of_one_becomes_markup(tmp_path: Path) -> None:
    db = copied(tmp_path)
    for form in ("md", "html", "json"):
        written(db, tmp_path / f"report.{form}")
        text = (tmp_path / f"report.{form}").read_text("utf-8")
        assert "Rightness" in text
        assert form != "html" or "<script>" not in text
        assert "\u202e" not in text
        check = check_file(db, tmp_path / f"report.{form}")
        assert not check.differences
        assert check.reproduced == check.numbers
    shown = (tmp_path / "report.md").read_text("utf-8")
    assert "## What the suite says of its cells" in shown
    assert "100.0%" in shown and "0.500" in shown
    assert "`<script>alert(1)</script> \\x7c \\x60x\\x60 \\u202e`" in shown, "a code span that it can't end"


@pytest.mark.usefixtures("studied")
def test_a_number_of_a_study_that_somebody_altered_is_told(tmp_path: Path) -> None:
    db = copied(tmp_path)
    written(db, tmp_path / "report.json")
    data = json.loads((tmp_path / "report.json").read_text("utf-8"))
    data["study"][0]["tables"][0]["rows"][0][1] += 1
    (tmp_path / "report.json").write_text(json.dumps(data, indent=1) + "\n", "utf-8")
    told = [each.place[:1] for each in check_file(db, tmp_path / "report.json").differences if each.place]
    assert ("study",) in told


@pytest.mark.usefixtures("studied")
def test_the_event_of_a_report_carries_its_tables_with_what_they_rest_on(tmp_path: Path) -> None:
    db = copied(tmp_path)
    written(db, tmp_path / "report.json")
    data = json.loads((tmp_path / "report.json").read_text("utf-8"))
    with Ledger.open(db, read_only=True) as ledger:
        (event,) = list(ledger.events(kind="report"))
        body = ledger.body(event)
    assert isinstance(body, Report)
    carried = [each for each in body.figures if isinstance(each, dict) and each["kind"] == "study"]
    tables = [table for study in data["study"] for table in study["tables"]]
    assert [each["rows"] for each in carried] == [table["rows"] for table in tables]
    assert {each["tally"] for each in carried} == {each["event"] for each in data["receipt"]["tallies"]}
    assert {each["head"] for each in carried} == {data["receipt"]["head"]}


@pytest.mark.usefixtures("studied")
def test_the_terminal_and_json_show_it_and_a_part_of_the_cases_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = copied(tmp_path)
    assert cli("report", "latest", "--db", db) == 0
    assert "It says nothing else." not in (short := capsys.readouterr().out) and "\u202e" not in short
    assert cli("report", "latest", "--db", db, "--explain") == 0
    shown = capsys.readouterr().out
    assert "Rightness" in shown and "It says nothing else." in shown and "\u202e" not in shown
    assert cli("report", "latest", "--json", "--db", db) == 0
    assert json.loads(capsys.readouterr().out)["study"][0]["tables"][0]["title"] == "Rightness"
    assert cli("report", "latest", "--json", "--filter", "meta.class=contradicts", "--db", db) == 0
    assert "study" not in json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("studied")
def test_a_gate_says_aloud_what_a_study_warns_of_and_fails_nothing_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = copied(tmp_path)
    with Ledger.open(db) as ledger:
        (run,) = [row["run"] for row in ledger.rows(over_views("SELECT run FROM runs"))]
        status = read_report(ledger, run).gate()
    assert cli("report", "latest", "--db", db) == 0
    assert "warning:" not in capsys.readouterr().err
    assert cli("report", "latest", "--gate", "--db", db) == status
    assert "warning: one in 2 wobbles (openai/first under strict-cite@" in capsys.readouterr().err


@pytest.mark.usefixtures("studied")
def test_a_comparison_has_the_suite_s_tables_of_both_sides(ledger: Ledger) -> None:
    run = scored_run(
        ledger, {"ollama/a": {"one": "right", "two": "right"}, "ollama/b": {"one": "wrong", "two": "right"}}
    )
    (pair,) = compare(ledger, run).pairs
    (table,) = pair.as_json()["study"]
    assert table["rows"] == [["A", 2], ["B", 2]]


def test_a_comparison_of_a_suite_without_tables_has_no_such_key(ledger: Ledger) -> None:
    run = scored_run(ledger, {"ollama/a": {"one": "right"}, "ollama/b": {"one": "wrong"}})
    (pair,) = compare(ledger, run).pairs
    assert "study" not in pair.as_json()
