"""The canned queries: each gives what it promises, on a ledger whose answers are known."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from ledger import Draft, Ledger, kinds
from ledger._redact import redact
from ledger._redact_targets import find_targets
from ledger.web._canned import texts
from tests.ledger.lineages import FIXTURES, RULES, RUNS, ZERO, Lineage, make_lineage, report, score_again
from tests.ledger.web.pages import Served

OLD, NEW = RUNS
STRICT, FENCE = RULES


@pytest.fixture
def lineage(tmp_path: Path) -> Lineage:
    return make_lineage(tmp_path / "ledger.db")


def ask(lineage: Lineage, query: str, **parameters: str) -> list[dict[str, Any]]:
    answer = Served(lineage.ledger.path)(f"/ledger/{query}.json", params={"_shape": "array", **parameters})
    assert answer.status_code == 200, answer.text
    return answer.json()


def score(lineage: Lineage, run: str, cell: int, rules: str, outcome: str, **more: Any) -> int:
    """A later score of a cell, which is then the one that counts."""
    values: dict[str, Any] = {
        "status": "parsed", "stage": "", "reason": "", "domain": "", "value": None, "applies": ["exact"],
        "metrics": {"exact": 0.0}, **more,
    }  # fmt: skip
    draft = Draft(
        kinds.Score(rules=rules, outcome=outcome, **values), run=run, cell=cell,
        causes=sorted([lineage.cells[run, cell], lineage.parses[run, cell, rules]]),
    )  # fmt: skip
    return lineage.ledger.append(draft)[0].seq


def fail(lineage: Lineage, run: str, cell: int, rules: str, reason: str) -> int:
    return score(
        lineage, run, cell, rules, "unmeasured", status="malformed", stage="parse", reason=reason, domain="model",
        metrics={},
    )  # fmt: skip


def test_every_query_opens_with_what_it_promises_and_has_a_title_on_the_page(lineage: Lineage) -> None:
    assert {each.name for each in (files("ledger.web") / "queries").iterdir() if each.name.endswith(".sql")} >= {
        f"{name}.sql" for name in texts()
    }
    assert len(texts()) >= 10
    ask_page = Served(lineage.ledger.path)
    for name, text in texts().items():
        assert text.startswith("-- Promises: "), name
        page = ask_page(f"/ledger/{name}")
        assert page.status_code == 200 and "<h1" in page.text, name
        assert page.text.partition("<h1")[2].partition("</h1>")[0].rstrip().endswith("?"), name
        assert "message-error" not in page.text, name


def test_cells_that_changed_between_rule_sets_are_named_with_both_readings(lineage: Lineage) -> None:
    assert ask(lineage, "changed_between_rules") == []
    score(lineage, NEW, 2, FENCE, "incorrect")
    fail(lineage, OLD, 3, STRICT, "fenced")
    (row,) = ask(lineage, "changed_between_rules")
    assert (row["run"], row["cell"], row["case"]) == (NEW, 2, "case-v1")
    assert {row["rules"]: row["outcome"], row["other_rules"]: row["other_outcome"]} == {
        STRICT: "correct", FENCE: "incorrect",
    }  # fmt: skip
    (row,) = ask(lineage, "changed_between_rules", run=OLD)
    assert {row["reason"], row["other_reason"]} == {"fenced", ""}


def test_what_was_retried_is_each_attempt_that_another_followed(lineage: Lineage) -> None:
    waited = kinds.Wait(attempt=1, turn=0, seconds=1.0, why="overloaded", asked="")
    rows = ask(lineage, "what_was_retried")
    assert [(row["cell"], row["attempt"], row["http_status"]) for row in rows] == [
        (cell, 0, 503) for cell in (1, 2, 3, 4)
    ]
    for row in rows:
        assert row["request"] == lineage.requests[NEW, row["cell"], 0]
        assert row["asked_again"] == lineage.requests[NEW, row["cell"], 1]
        assert row["waited_for"] is None
    lineage.ledger.append(Draft(waited, run=NEW, cell=1, causes=[lineage.requests[NEW, 1, 0]]))
    assert ask(lineage, "what_was_retried", run=NEW)[0]["waited_for"] == "overloaded"
    assert {row["run"] for row in ask(lineage, "what_was_retried", run=OLD)} == {OLD}


def test_reports_at_risk_are_the_superseded_the_tainted_and_those_of_such_runs(lineage: Lineage) -> None:
    assert ask(lineage, "reports_at_risk") == []
    target = kinds.Target(what="run", id=OLD)
    by = kinds.Target(what="run", id=NEW)
    lineage.ledger.append(Draft(kinds.Supersede(target=target, by=by, category="parser", reason="read wrongly")))
    (row,) = ask(lineage, "reports_at_risk")
    assert (row["seq"], row["run_superseded"], row["run_superseded_by"]) == (lineage.reports[OLD], 1, NEW)
    assert json.loads(row["published_to"]) == ["readers of a"]
    lineage.ledger.append(Draft(kinds.Taint(target=by, reason="unsure")))
    assert [row["seq"] for row in ask(lineage, "reports_at_risk")] == [lineage.reports[NEW], lineage.reports[OLD]]


def test_failures_are_counted_once_by_reason_of_the_run_that_is_asked_about(lineage: Lineage) -> None:
    fail(lineage, NEW, 1, STRICT, "fenced")
    fail(lineage, NEW, 2, STRICT, "fenced")
    fail(lineage, NEW, 3, FENCE, "no_json")
    rows = ask(lineage, "failures_by_reason")
    assert [(row["rules"], row["candidate"], row["reason"], row["count"]) for row in rows] == [
        (STRICT, "openai/x", "fenced", 2), (FENCE, "ollama/y", "no_json", 1),
    ]  # fmt: skip
    assert ask(lineage, "failures_by_reason", run=OLD) == []


def test_who_used_it_finds_the_runs_of_a_fixture_a_prompt_and_a_rule_set(lineage: Lineage) -> None:
    rows = ask(lineage, "who_used_it", name=f"suite/{FIXTURES[0]}")
    assert [(row["run"], row["what"], row["freeze"]) for row in rows] == [
        (run, "fixture", lineage.fixtures["v0"]) for run in (NEW, OLD)
    ]
    assert {row["freeze"] for row in ask(lineage, "who_used_it", name=STRICT)} == {lineage.rules[STRICT]}
    assert {row["freeze"] for row in ask(lineage, "who_used_it", name="suite/ask")} == set(lineage.prompts.values())
    assert ask(lineage, "who_used_it", name="nobody") == []


def test_tokens_that_are_not_known_are_counted_apart_and_never_as_zero(lineage: Lineage) -> None:
    rows = ask(lineage, "tokens_by_candidate")
    assert [
        (row["candidate"], row["requests"], row["counted"], row["refused"], row["unknown"], row["output_tokens"])
        for row in rows
    ] == [("ollama/y", 4, 0, 2, 2, None), ("openai/x", 4, 0, 2, 2, None)]
    counted = kinds.Parse(
        rules=STRICT, status="parsed", stage="", reason="", domain="", flags=[], value="1", span=[(0, 1)],
        usage={"prompt_tokens": 7, "completion_tokens": 3}, stop="end", model="x",
    )  # fmt: skip
    run = "c" * 16
    plan = lineage.ledger.body(lineage.plans[NEW])
    start = lineage.ledger.append(Draft(plan, run=run, causes=[lineage.rules[STRICT]]))[0].seq
    body = lineage.ledger.body(lineage.cells[NEW, 1])
    asked, told = (lineage.ledger.body(each[NEW, 1, 1]) for each in (lineage.requests, lineage.responses))
    cell = lineage.ledger.append(Draft(body, run=run, cell=1, causes=[start]))[0].seq
    request = lineage.ledger.append(Draft(_bare(asked), run=run, cell=1, causes=[cell]))[0].seq
    response = lineage.ledger.append(Draft(_bare(told), run=run, cell=1, causes=[request]))[0].seq
    lineage.ledger.append(Draft(counted, run=run, cell=1, causes=[response]))
    (row,) = ask(lineage, "tokens_by_candidate")
    assert (row["run"], row["counted"], row["input_tokens"], row["output_tokens"]) == (run, 1, 7, 3)


def _bare(body: Any) -> Any:
    return body.model_copy(update={"blobs": {}})


def test_the_slowest_requests_come_first(lineage: Lineage) -> None:
    asked = lineage.ledger.append(
        Draft(
            kinds.Request(attempt=2, turn=0, method="POST", url="http://127.0.0.1/v1", headers=[]),
            run=NEW, cell=3, causes=[lineage.cells[NEW, 3]],
        )
    )[0].seq  # fmt: skip
    slow = kinds.Response(attempt=2, turn=0, status=200, headers=[], whole=True, headers_ms=1, total_ms=9_999)
    lineage.ledger.append(Draft(slow, run=NEW, cell=3, causes=[asked]))
    rows = ask(lineage, "slowest_requests")
    assert (rows[0]["request"], rows[0]["total_ms"], rows[0]["candidate"]) == (asked, 9_999, "ollama/y")
    assert len(rows) == 9 and {row["total_ms"] for row in rows[1:]} == {2}


def test_answers_that_differ_between_two_runs_are_found_by_identity(lineage: Lineage) -> None:
    # All cells of this ledger have one identity: every pair of them asks the same question.
    score_again(lineage, NEW, 1, (STRICT,))
    assert ask(lineage, "answers_that_differ") == []
    score(lineage, NEW, 1, STRICT, "incorrect")
    rows = ask(lineage, "answers_that_differ", run=NEW, other=OLD)
    assert {(row["run"], row["cell"], row["rules"], row["outcome"]) for row in rows} == {(NEW, 1, STRICT, "incorrect")}
    assert {(row["other_run"], row["other_outcome"], row["answer"]) for row in rows} == {(OLD, "correct", "1")}
    assert ask(lineage, "answers_that_differ") == rows


def test_what_was_frozen_after_the_first_response_is_told_apart(lineage: Lineage) -> None:
    rows = ask(lineage, "frozen_before_the_first_response", run=OLD)
    assert {row["freeze"] for row in rows} == {
        *lineage.fixtures.values(), *lineage.prompts.values(), *lineage.rules.values(),
    }  # fmt: skip
    assert {row["frozen"] for row in rows} == {"before"}
    assert {row["first_response"] for row in rows} == {lineage.responses[OLD, 1, 0]}
    late = kinds.Freeze(what="rules", name="late", digest=ZERO, identity="3" * 64)
    freeze = lineage.ledger.append(Draft(late, blobs={"file": b"late"}))[0].seq
    tally = kinds.Tally(rules="late@333333333333", freeze=freeze, outcomes={}, metrics=[])
    lineage.ledger.append(Draft(tally, run=OLD, causes=[lineage.plans[OLD], freeze]))
    rows = ask(lineage, "frozen_before_the_first_response", run=OLD)
    assert [(row["label"], row["standing"]) for row in rows if row["frozen"] == "after"] == [
        ("late@333333333333", "post hoc")
    ]


def test_what_was_redacted_comes_with_what_rests_on_it(lineage: Lineage) -> None:
    assert ask(lineage, "redacted_and_what_rests_on_it") == []
    target = lineage.responses[OLD, 1, 1]
    path = lineage.ledger.path
    found = find_targets(lineage.ledger, [str(target)])
    lineage.ledger.close()
    redact(path, found, category="personal", reason="a name")
    rows = ask(lineage, "redacted_and_what_rests_on_it")
    assert (rows[0]["role"], rows[0]["seq"], rows[0]["category"], rows[0]["reason"]) == (
        "withheld", target, "personal", "a name",
    )  # fmt: skip
    resting = {row["seq"] for row in rows if row["role"] == "rests on it"}
    assert {lineage.scores[OLD, 1, STRICT], lineage.reports[OLD], lineage.published[OLD]} <= resting
    assert lineage.reports[NEW] not in resting and target not in resting


def test_who_was_given_which_report(lineage: Lineage) -> None:
    told, handed = report(lineage, NEW, "the board", [lineage.tallies[NEW, STRICT]])
    rows = ask(lineage, "who_was_given_what")
    assert [(row["seq"], row["given_to"], row["report"], row["run"]) for row in rows] == [
        (handed, "the board", told, NEW), (lineage.published[NEW], "readers of b", lineage.reports[NEW], NEW),
        (lineage.published[OLD], "readers of a", lineage.reports[OLD], OLD),
    ]  # fmt: skip


def test_a_case_is_never_right_only_where_it_was_measured_and_always_missed(lineage: Lineage) -> None:
    assert ask(lineage, "never_right") == []
    for cell in (1, 3):
        score(lineage, NEW, cell, STRICT, "incorrect")
        fail(lineage, NEW, cell, FENCE, "no_json")
    score(lineage, NEW, 2, STRICT, "incorrect")
    (row,) = ask(lineage, "never_right")
    assert (row["rules"], row["case"], row["cells"], row["measured"]) == (STRICT, "case-v0", 2, 2)


def test_a_ledger_with_an_older_releases_views_is_asked_all_the_same(tmp_path: Path, lineage: Lineage) -> None:
    path = lineage.ledger.path
    fail(lineage, NEW, 1, STRICT, "fenced")
    lineage.ledger.append(Draft(kinds.Schema(release=4, digest=ZERO)))
    lineage.ledger.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        for name in ("usage", "failures", "standing_scoreboard"):
            connection.execute(f"DROP VIEW {name}")
    assert ask(lineage, "failures_by_reason")[0]["count"] == 1
    assert len(ask(lineage, "tokens_by_candidate")) == 2
    for name in texts():
        ask(lineage, name)


def test_an_empty_ledger_answers_every_query_with_nothing(path: Path) -> None:
    served = Served(path)
    for name in texts():
        answer = served(f"/ledger/{name}.json?_shape=array")
        assert (answer.status_code, answer.json()) == (200, []), name


def test_hostile_parameters_are_values_and_never_sql(path: Path) -> None:
    served = Served(path)
    for name in texts():
        hostile = "' OR 1=1; DROP TABLE events; --"
        answer = served(f"/ledger/{name}.json", params={"run": hostile, "other": hostile, "name": hostile})
        assert answer.status_code == 200 and answer.json()["rows"] == [], name
    with Ledger.open(path, read_only=True) as ledger:
        assert ledger.head()[0] == 2
