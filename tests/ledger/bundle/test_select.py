"""Which events are in a bundle: what was asked for, what it rests on, and what shows that nothing was left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ledger import Draft, NotFound, kinds
from ledger._errors import Refused
from ledger.bundle._select import find_asked, select
from tests.harness.judged import Bench, target
from tests.ledger.bundle.bundled import Bundled, bundled
from tests.ledger.ledgers import EXAMPLES


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Bundled:
    return bundled(tmp_path_factory.mktemp("bundled"))


def selected(ledger: Bundled, *targets: str, report: Path | None = None) -> dict[int, tuple[str, str]]:
    """Kind and run of every selected event, by seq."""
    with ledger.ledger() as read:
        found = select(read, find_asked(read, targets, report), read.head()[0])
        return {seq: (read.event(seq).kind, read.event(seq).run) for seq in found.seqs}


def test_a_run_comes_whole_with_its_freezes_and_everything_said_of_any_run(ledger: Bundled) -> None:
    found = selected(ledger, ledger.run)
    with ledger.ledger() as read:
        own = [event.seq for event in read.events(run=ledger.run)]
    assert set(own) <= set(found)
    rest = {kind for seq, (kind, run) in found.items() if run != ledger.run}
    assert rest == {"genesis", "freeze", "plan", "close", "report", "supersede"}
    assert list(found) == sorted(found)


def test_of_other_runs_on_the_fixture_there_are_the_plan_and_the_newest_close(ledger: Bundled) -> None:
    assert [kind for kind, run in selected(ledger, ledger.run).values() if run == ledger.other] == ["plan", "close"]


def test_one_event_comes_with_genesis_alone(ledger: Bundled) -> None:
    assert [kind for kind, _ in selected(ledger, "20").values()] == ["genesis", "response"]


def test_a_report_brings_the_run_that_its_figures_are_of(ledger: Bundled) -> None:
    with ledger.ledger() as read:
        asked = find_asked(read, (), ledger.report)
        (event,) = read.events(kind="report")
    assert asked.runs == (ledger.run,)
    assert asked.events == (asked.report,) == (event.seq,)
    assert selected(ledger, report=ledger.report) == selected(ledger, ledger.run)


def test_a_file_that_is_no_recorded_report_is_refused_with_its_digest(ledger: Bundled) -> None:
    changed = ledger.folder / "changed.md"
    changed.write_bytes(ledger.report.read_bytes() + b"!")
    with (
        ledger.ledger() as read,
        pytest.raises(NotFound, match=r"changed\.md: no report event .* \(BLAKE3 [0-9a-f]{64}\)"),
    ):
        find_asked(read, (), changed)


def test_what_is_beyond_the_checkpoint_is_refused_with_the_command_that_makes_one(ledger: Bundled) -> None:
    with ledger.ledger() as read:
        head = read.head()[0]
        with pytest.raises(
            Refused, match=rf"no checkpoint covers event {head}: the newest is of 100 .*`ledger checkpoint`"
        ):
            select(read, find_asked(read, (str(head),), None), 100)
        with pytest.raises(Refused, match=rf"no checkpoint covers run {ledger.run}: its last event is \d+, .* of 100;"):
            select(read, find_asked(read, (ledger.run,), None), 100)


def test_an_unknown_run_and_an_unknown_event_are_named(ledger: Bundled) -> None:
    with ledger.ledger() as read:
        with pytest.raises(NotFound, match="no run fits 'zebra'"):
            find_asked(read, ("zebra",), None)
        with pytest.raises(NotFound, match="there is no event 99999"):
            find_asked(read, ("99999",), None)


def test_every_freeze_of_the_same_file_counts_as_the_fixture_and_every_run_on_any_of_them(tmp_path: Path) -> None:
    ledger = bundled(tmp_path)
    with ledger.ledger() as appended:
        first = next(
            event for event in appended.events(kind="freeze") if json.loads(event.body or "")["what"] == "fixture"
        )
        body = appended.body(first)
        assert isinstance(body, kinds.Freeze)
        again = body.model_copy(update={"name": "guild/renamed", "blobs": {}})
        (second,) = appended.append(Draft(again, blobs={"file": appended.blob(first, "file")}))
        (third,) = appended.append(Draft(EXAMPLES["plan"], run="quietrun22222222", causes=[second.seq]))
        found = select(appended, find_asked(appended, (ledger.run,), None), third.seq)
    (fixture,) = found.fixtures
    assert fixture.freezes == (first.seq, second.seq)
    assert [run for run, _ in fixture.plans] == [ledger.other, ledger.run, "quietrun22222222"]
    assert third.seq in found.seqs
    assert third.seq in found.context


def test_a_judges_run_brings_the_answers_that_it_judged_with_their_cells_and_plan(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    graded = bench.run(target)
    judged = bench.grade(graded).finished.run
    with bench.ledger() as read:
        found = select(read, find_asked(read, (judged,), None), read.head()[0])
        reached = [read.event(seq) for seq in found.seqs]
    assert {event.kind for event in reached if event.run == graded} >= {"response", "request", "cell", "plan"}
    assert {event.run for event in reached} == {"", graded, judged}
