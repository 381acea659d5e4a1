"""Finding runs in daily life: by tag, suite, time and name; and what is said when a name isn't one run's alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ledger import Draft, Ledger, LedgerError, NotFound, find_run, find_tagged, new_run_id, supersede
from ledger._runs import list_runs, since_when
from ledger.cli import app, run_app
from ledger.kinds import Note, Plan

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def plan(
    ledger: Ledger,
    run: str = "",
    *,
    name: str = "",
    tags: tuple[str, ...] = (),
    suite: str = "s",
    grades: Sequence[str] = (),
) -> str:
    run = run or new_run_id()
    body = Plan(
        name=name, tags=list(tags), purpose="evaluation", suite=suite, ask="text", fixtures=[], rules=[],
        candidates=[], arms=[], epochs=1, limit=None, cells=0, via="live", environment={}, code={},
        grades=list(grades),
    )  # fmt: skip
    ledger.append(Draft(body, run=run))
    return run


def listed(ledger: Ledger, **only: object) -> list[str]:
    return [row["run"] for row in list_runs(ledger, **only)]  # type: ignore[arg-type]


def test_runs_are_kept_by_suite_name_and_every_tag_named(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "l.db") as ledger:
        one = plan(ledger, name="a", tags=("nightly", "eu"))
        two = plan(ledger, name="b", tags=("nightly",), suite="other")
        assert listed(ledger) == [two, one]
        assert listed(ledger, suite="other") == [two]
        assert listed(ledger, name="a") == [one]
        assert listed(ledger, tags=["nightly"]) == [two, one]
        assert listed(ledger, tags=["nightly", "eu"]) == [one]
        assert listed(ledger, tags=["night"]) == []


def test_a_judge_s_run_says_which_runs_it_grades_in_the_list_and_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Ledger.create(tmp_path / "l.db") as ledger:
        one, two = plan(ledger), plan(ledger)
        judge = plan(ledger, suite="judges", grades=(one, two))
        rows = {row["run"]: row["grades"] for row in list_runs(ledger)}
        assert (rows[one], rows[two], rows[judge]) == ([], [], [one, two])
    assert run_app(app, "ledger", ["runs", "--suite", "judges", "--db", str(tmp_path / "l.db")]) == 0
    header, row = [line for line in capsys.readouterr().out.splitlines() if line.strip()][:2]
    assert header.split()[-1] == "grades" and row.split()[-2:] == [f"{one[:8]},", two[:8]]
    assert run_app(app, "ledger", ["runs", "--suite", "judges", "--db", str(tmp_path / "l.db"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["grades"] == [one, two]


def test_since_keeps_what_opened_then_or_later(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "l.db") as ledger:
        run = plan(ledger)
        opened = since_when(str(next(iter(ledger.view("runs")))["opened_at"]))
        assert listed(ledger, since=opened) == [run]
        assert listed(ledger, since=opened + timedelta(microseconds=1)) == []


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=UTC)),
        ("2026-11-01T10:00Z", datetime(2026, 11, 1, 10, tzinfo=UTC)),
        ("2026-11-01T10:00", datetime(2026, 11, 1, 10, tzinfo=UTC)),
        ("2026-11-01T10:00+02:00", datetime(2026, 11, 1, 8, tzinfo=UTC)),
        ("7d", NOW - timedelta(days=7)),
        ("24h", NOW - timedelta(hours=24)),
        ("90m", NOW - timedelta(minutes=90)),
        ("2w", NOW - timedelta(weeks=2)),
    ],
)
def test_a_time_is_a_day_a_moment_or_how_long_ago(text: str, meant: datetime) -> None:
    assert since_when(text, NOW) == meant


@pytest.mark.parametrize("text", ["", "yesterday", "7", "d", "999999w", "2026-13-01", "-7d"])
def test_what_is_no_time_is_one_sentence(text: str) -> None:
    with pytest.raises(LedgerError, match=r"--since: expected a day or a time such as 2026-11-01.* got ") as said:
        since_when(text, NOW)
    assert said.value.exit_status == 2


def test_a_name_that_several_runs_have_lists_them_with_their_times(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "l.db") as ledger:
        one, two = plan(ledger, name="nightly"), plan(ledger, name="nightly")
        with pytest.raises(NotFound, match="is the name of 2 runs") as said:
            find_run(ledger, "nightly")
        assert one in str(said.value) and two in str(said.value) and "name one by its id" in str(said.value)


def test_the_start_of_several_ids_lists_them(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "l.db") as ledger:
        plan(ledger, "abc0000000000001")
        plan(ledger, "abc0000000000002")
        with pytest.raises(NotFound, match=r"'abc' fits 2 runs .*give more of the id"):
            find_run(ledger, "abc")
        assert find_run(ledger, "abc0000000000002") == "abc0000000000002"


def test_a_name_that_looks_like_the_start_of_an_id_names_its_own_run_and_a_whole_id_its_own(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "l.db") as ledger:
        plan(ledger, "abc0000000000001")
        named = plan(ledger, name="abc")
        other = plan(ledger, name="abc0000000000001")
        assert find_run(ledger, "abc") == named
        assert find_run(ledger, "abc0000000000001") == "abc0000000000001" != other


def test_a_tag_names_the_newest_run_that_stands(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "l.db") as ledger:
        old, new = plan(ledger, tags=("main",)), plan(ledger, tags=("main", "x"))
        assert find_tagged(ledger, "main") == new
        supersede(ledger, new, by=None, category="operator", reason="wrong server")
        assert find_tagged(ledger, "main") == old
        with pytest.raises(NotFound, match=r"every run with the tag 'x' was superseded or is tainted"):
            find_tagged(ledger, "x")
        with pytest.raises(NotFound, match="no run has the tag 'y'; there are main, x"):
            find_tagged(ledger, "y")


def test_notes_on_a_run_are_listed_with_it(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "l.db") as ledger:
        run = plan(ledger)
        ledger.append(Draft(Note(text="the first")), Draft(Note(text="with the new prompt"), run=run))
        assert [row["notes"] for row in list_runs(ledger)] == [["with the new prompt"]]
