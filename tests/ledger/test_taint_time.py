"""Taints by time: every run of a span, by suite, harness and model; what it touches is said before it is written."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import ledger._append
from ledger import BadBody, Ledger, NotFound
from ledger._impact import impact_of
from ledger._standing import standing_of_runs
from ledger._taint_time import Span, runs_in, taint_runs
from ledger._targets import find_target
from ledger.cli import app, run_app
from tests.ledger.lineages import RUNS, make_lineage
from tests.ledger.test_runs_filter import listed, plan

DAY = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """What the writer's clock says next: the last one given."""
    now = [DAY]
    monkeypatch.setattr(ledger._append, "now_text", lambda: now[-1].strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    return now


@pytest.fixture
def days(tmp_path: Path, clock: list[datetime]) -> tuple[Path, list[str]]:
    """A ledger with a run at the start of each of five days."""
    path, runs = tmp_path / "l.db", list[str]()
    with Ledger.create(path) as opened:
        for number in range(5):
            clock.append(DAY + timedelta(days=number))
            runs.append(plan(opened, suite="s" if number % 2 else "other"))
    return path, runs


def span(start: int | None, end: int, **only: str) -> Span:
    return Span(None if start is None else DAY + timedelta(days=start), DAY + timedelta(days=end), **only)


@pytest.mark.parametrize(
    ("which", "wanted"),
    [
        (span(None, 2), [0, 1]), (span(1, 3), [1, 2]), (span(4, 9), [4]), (span(None, 9, suite="other"), [0, 2, 4]),
        (span(5, 9), []),
    ],
)  # fmt: skip
def test_a_run_counts_by_its_plan_s_time_from_the_start_on_and_before_the_end(
    days: tuple[Path, list[str]], which: Span, wanted: list[int]
) -> None:
    path, runs = days
    with Ledger.open(path) as opened:
        assert [each.target.id for each in runs_in(opened, which).runs] == [runs[number] for number in wanted]


def test_each_run_gets_a_taint_of_its_own_all_in_one_append_and_only_once(days: tuple[Path, list[str]]) -> None:
    path, runs = days
    with Ledger.open(path) as opened:
        events = taint_runs(opened, runs_in(opened, span(1, 3)).runs, reason="another model was served")
        assert [event.seq for event in events] == list(range(events[0].seq, events[0].seq + 2))
        tainted = {run for run, stands in standing_of_runs(opened).items() if stands.taints}
        assert tainted == set(runs[1:3])
        again = runs_in(opened, span(None, 3))
        assert ([each.target.id for each in again.runs], again.tainted) == ([runs[0]], tuple(runs[1:3]))
        head = opened.head()
        with pytest.raises(NotFound, match="no run of that time is left to taint; nothing was written"):
            taint_runs(opened, runs_in(opened, span(1, 3)).runs, reason="again")
        with pytest.raises(BadBody, match="expected a reason"):
            taint_runs(opened, again.runs, reason=" ")
        with pytest.raises(BadBody, match="begins before it ends"):
            runs_in(opened, span(3, 3))
        assert opened.head() == head


def test_a_clock_that_jumped_back_is_listed(days: tuple[Path, list[str]], clock: list[datetime]) -> None:
    path, _ = days
    with Ledger.open(path) as opened:
        clock.append(DAY - timedelta(days=30))
        back = plan(opened)
        ((_, run, at, after),) = runs_in(opened, span(None, 1)).jumped
    assert run == back and at < after


def test_what_rests_on_the_span_is_what_rests_on_its_runs_one_by_one(tmp_path: Path) -> None:
    with make_lineage(tmp_path / "ledger.db").ledger as opened:
        touched = runs_in(opened, Span(None, datetime(2100, 1, 1, tzinfo=UTC)))
        assert {each.target.id for each in touched.runs} == set(RUNS)
        alone = [impact_of(opened, find_target(opened, f"run:{run}")) for run in RUNS]
        for name, number in (("reports", touched.reports), ("gates", touched.gates)):
            assert number == len({row["seq"] for each in alone for row in getattr(each, name)}), name
        assert touched.reports == 2
        assert touched.recipients == len({row["to"] for each in alone for row in each.published}) > 0
        figures = [row for row in opened.view("run_metrics") if row["run"] in RUNS]
        assert touched.figures == len(figures)
        assert touched.resting == len({row["run"] for each in alone for row in each.runs} - set(RUNS))


def test_the_command_looks_first_and_writes_unless_told_not_to(
    days: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    path, runs = days

    def typed(*words: str) -> tuple[int, str, str]:
        status = run_app(app, "ledger", ["taint", *words, "--reason", "x", "--db", str(path)])
        said = capsys.readouterr()
        return status, said.out, said.err

    before = path.read_bytes()
    status, out, _ = typed("--before", "2026-11-22", "--dry-run")
    assert (status, out.splitlines()[-1]) == (0, "Nothing was written.")
    assert "it takes in 2 runs; nothing rests on that." in out and path.read_bytes() == before
    status, out, _ = typed("--between", "2026-11-22", "2026-11-23T00:00Z", "--json")
    assert (status, json.loads(out)["runs"]) == (0, [runs[2]])
    status, out, _ = typed("--before", "2026-11-22", "--suite", "other")
    assert "Tainted 1 run, as event" in out
    with Ledger.open(path) as opened:
        assert {run for run, stands in standing_of_runs(opened).items() if stands.taints} == {runs[0], runs[2]}
    for words, wanted in (
        ((), "expected a TARGET, or --before WHEN, or --between A B: one of the three"),
        ((runs[0], "--before", "7d"), "one of the three"),
        ((runs[0], "--dry-run"), "--dry-run go with --before or --between"),
        (("--before", "soon"), "--before: expected a day or a time"),
        (("--before", "2026-11-22", "--model", "gone"), "gone"),
    ):
        status, out, err = typed(*words)
        assert (status, out) == (2, "") and wanted in err, err


def test_runs_are_listed_until_a_time(days: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    path, runs = days
    with Ledger.open(path) as opened:
        assert listed(opened, until=DAY + timedelta(days=2)) == runs[1::-1]
    assert run_app(app, "ledger", ["runs", "--until", "2026-11-21", "--json", "--db", str(path)]) == 0
    assert [row["run"] for row in json.loads(capsys.readouterr().out)["runs"]] == runs[:1]
