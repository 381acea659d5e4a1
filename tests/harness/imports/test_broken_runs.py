"""A fenced run, one out of credit and one through a terminal: imported, and told for what they were by other rules."""

from pathlib import Path

import pytest

from tests.harness.imports.artifacts import CASES, FORMAT, artifact, cell, fixture, good, put, sample
from tests.harness.imports.commands import Commands

DAY = "as-of-2026-07-01"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """Runs RUN/ENGINE out of two artifacts, rescored under all that the suite has."""
    folder = tmp_path_factory.mktemp("broken")
    fenced = artifact(
        {"fenced": [cell(case["id"], good(case, fence=True), "proposer returned non-json output") for case in CASES]},
        run_id="later",
    )
    files = [put(folder / "first.json", sample()), put(folder / "later.json", fenced)]
    commands = Commands(folder / "ledger.db")
    found = commands.json(
        "import", FORMAT, *map(str, files), "--fixture", str(put(folder / "glasshouse_v0.json", fixture()))
    )
    for each in found["runs"]:
        commands.json("rescore", each["run"], *(f"--rules={name}" for name in ("fence-cite", "fence-span", DAY)))
    return commands


def test_what_was_fenced_is_recovered_and_every_flip_names_the_fence(imported: Commands) -> None:
    found = imported.json("rescore", "later/fenced", "--rules", "fence-cite", "--dry-run")
    assert {flip["stage"] for flip in found["flips"]} == {"parse: fence"}
    assert sorted({flip["case"] for flip in found["flips"]}) == sorted(case["id"] for case in CASES)
    strict, fence = (imported.figures(imported.json("report", "later/fenced"), rules, "fenced")
                     for rules in ("strict-cite", "fence-cite"))  # fmt: skip
    assert (strict["planned"], strict["measured"]) == (4, 0)
    assert fence == {
        "planned": 4, "measured": 4, "positives": 2, "exact": 2, "direction": 2, "negatives": 2, "negative_pass": 2,
        "false_fire": 0, "false_fire_without_confirmer": 0,
    }  # fmt: skip


def test_under_its_day_s_policy_the_unmeasured_count_and_are_marked(imported: Commands) -> None:
    run = "20270101T000000Z/paid one"
    rules = imported.label("20270101T000000Z", "paid one", DAY)
    rows = {row["metric"]: row for row in imported.json("report", run, "--rules", rules)["scoreboard"]}
    figures = [[rows[name][key] for key in ("k", "n", "unmeasured")] for name in ("exact", "negative_pass")]
    assert figures == [[0, 2, 2], [2, 2, 2]]


def test_under_the_fence_the_same_run_says_what_it_was(imported: Commands) -> None:
    reasons = {}
    for engine in ("paid one", "local_small"):
        rules = imported.label("20270101T000000Z", engine, "fence-cite")
        found = imported.json("report", f"20270101T000000Z/{engine}", "--rules", rules)
        reasons[engine] = {row["reason"]: (row["count"], row["domain"]) for row in found["unmeasured"]}
    assert reasons == {
        "paid one": {"billing": (3, "provider")}, "local_small": {"terminal_control_bytes": (1, "harness")},
    }  # fmt: skip


def test_the_relation_clause_tells_two_citations_apart(imported: Commands) -> None:
    found = imported.json("rescore", "later/fenced", "--rules", "fence-span", "--against", "fence-cite", "--dry-run")
    assert {(flip["case"], flip["stage"]) for flip in found["flips"]} <= {
        (case["id"], "confirm: relation_in_span") for case in CASES
    }
    cite, span = (
        imported.figures(imported.json("report", "20270101T000000Z/local_small"), rules, "local_small")
        for rules in ("fence-cite", "fence-span")
    )
    assert (cite["false_fire"], span["false_fire"]) == (1, 0)
    assert (cite["direction"], span["direction"]) == (2, 1)


def test_nothing_was_asked_and_the_ledger_holds_together(imported: Commands) -> None:
    assert imported.verdict() == "CONSISTENT"
    assert imported.call("replay", "--check") == 0, imported.said
    with imported.ledger() as ledger:
        assert {event.kind for event in ledger.events()} & {"request", "response"} == set()
    assert imported.call("resume", "later/fenced") == 4
    assert "was imported" in imported.said


def test_an_import_reports_itself_as_post_hoc_whatever_was_frozen_before(imported: Commands, tmp_path: Path) -> None:
    again = put(tmp_path / "third.json", artifact({"e": [cell("vents", good(CASES[1]))]}, run_id="third"))
    imported.json("import", FORMAT, str(again), "--fixture", str(put(tmp_path / "glasshouse_v0.json", fixture())))
    assert {row["standing"] for row in imported.json("report", "third/e")["scoreboard"]} == {"post hoc"}
