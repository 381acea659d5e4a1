"""Superseding: nothing is un-said, successors make no circle, and what is named has to be there."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import BadBody, Draft, Ledger, LedgerError, NotFound, Refused, runs_set_aside, verify
from ledger._lineage import CATEGORIES, clear, supersede, taint
from ledger._runs import list_runs
from ledger._standing import standing_of, standing_scoreboard
from ledger._targets import find_target
from ledger.kinds import Supersede, Taint, Target
from tests.ledger.ledgers import example_draft
from tests.ledger.lineages import CODE, RUNS, Lineage, make_lineage

A, B = RUNS


@pytest.fixture
def lineage(tmp_path: Path) -> Iterator[Lineage]:
    made = make_lineage(tmp_path / "ledger.db")
    with made.ledger:
        yield made


def say(ledger: Ledger, target: str, by: str | None, reason: str = "read wrongly") -> int:
    return supersede(ledger, target, by=by, category="parser", reason=reason).event.seq


def superseded(ledger: Ledger) -> dict[str, str | None]:
    """By the view that lies in the file, and by the command's own list: they have to agree."""
    by_view = {row["run"]: row["superseded_by"] for row in ledger.rows("SELECT * FROM main.runs") if row["superseded"]}
    assert by_view == {row["run"]: row["superseded_by"] for row in list_runs(ledger) if row["superseded"]}
    return by_view


def test_a_superseded_run_stays_in_every_list_marked_with_its_direct_successor(lineage: Lineage) -> None:
    before = lineage.ledger.rows("SELECT * FROM main.scoreboard")
    done = supersede(lineage.ledger, "name-a", by=B, category="harness", reason="wrong timeout")
    assert done.event.causes == (lineage.plans[A], lineage.plans[B])
    assert superseded(lineage.ledger) == {A: B}
    assert len(list(list_runs(lineage.ledger))) == 2
    after = lineage.ledger.rows("SELECT * FROM main.scoreboard")
    assert [row | {"superseded": 0} for row in after] == before
    assert {(row["run"], row["superseded"]) for row in after} == {(A, 1), (B, 0)}
    standing = standing_of(lineage.ledger, A)
    assert (standing.superseded, standing.by, standing.category, standing.reason) == (
        done.event.seq, B, "harness", "wrong timeout",
    )  # fmt: skip
    assert verify(lineage.ledger.path).verdict == "CONSISTENT"


def test_the_default_scoreboard_leaves_superseded_runs_out_and_says_how_many(lineage: Lineage) -> None:
    rows, left_out = standing_scoreboard(lineage.ledger)
    assert (len(rows), left_out) == (8, 0)
    say(lineage.ledger, A, None)
    rows, left_out = standing_scoreboard(lineage.ledger)
    assert ({row["run"] for row in rows}, len(rows), left_out) == ({B}, 4, 1)
    assert {row["left_out"] for row in lineage.ledger.rows("SELECT * FROM main.standing_scoreboard")} == {1}
    say(lineage.ledger, B, None)
    assert standing_scoreboard(lineage.ledger) == ([], 2)


def test_a_supersession_can_be_taken_back_and_the_taking_back_too_and_all_of_it_stays(lineage: Lineage) -> None:
    first = say(lineage.ledger, A, B)
    second = say(lineage.ledger, str(first), None, "it was the other run")
    assert superseded(lineage.ledger) == {}
    third = say(lineage.ledger, f"supersession:{second}", None, "no, it was this one")
    assert superseded(lineage.ledger) == {A: B}
    rows = lineage.ledger.rows("SELECT seq, what, id, in_force FROM main.supersessions")
    assert [tuple(row.values()) for row in rows] == [
        (first, "run", A, 1), (second, "supersession", str(first), 0), (third, "supersession", str(second), 1),
    ]  # fmt: skip


def test_the_last_supersession_of_a_run_counts_and_without_it_the_one_before(lineage: Lineage) -> None:
    say(lineage.ledger, A, None)
    later = supersede(lineage.ledger, A, by=B, category="other", reason="this one does")
    assert (superseded(lineage.ledger), later.overrides) == ({A: B}, later.event.seq - 1)
    say(lineage.ledger, str(later.event.seq), None)
    assert superseded(lineage.ledger) == {A: None}


@pytest.mark.parametrize(
    ("target", "by", "why"),
    [(A, A, "by itself"), (A, "latest", "already"), ("freeze:3", "freeze:7", "freezes a fixture, and .* a rules"),
     (A, "freeze:3", "only be superseded by another run")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(lineage: Lineage, target: str, by: str, why: str) -> None:
    say(lineage.ledger, A, B)
    head = lineage.ledger.head()
    with pytest.raises(Refused, match=why):
        say(lineage.ledger, target, by)
    assert lineage.ledger.head() == head


def test_circles_are_refused_also_one_that_an_old_supersession_would_close(lineage: Lineage) -> None:
    lineage.ledger.append(example_draft("plan", run="c" * 16, causes=[3]))
    old = say(lineage.ledger, A, B)
    say(lineage.ledger, B, "c" * 16)
    with pytest.raises(Refused, match=f"circle of successors .*ledger supersede {old + 1} "):
        say(lineage.ledger, "c" * 16, A)
    back = say(lineage.ledger, str(old), None)
    say(lineage.ledger, "c" * 16, A)
    with pytest.raises(Refused, match="circle of successors"):
        say(lineage.ledger, str(back), None)
    assert superseded(lineage.ledger) == {B: "c" * 16, "c" * 16: A}


@pytest.mark.parametrize("target", ["nothing", "run:nothing", "999999", "freeze:999", "report:abc", "", "run:", "3#"])
def test_what_the_ledger_does_not_hold_is_not_found(lineage: Lineage, target: str) -> None:
    head = lineage.ledger.head()
    for ask in (
        lambda: say(lineage.ledger, target, None),
        lambda: say(lineage.ledger, A, target),
        lambda: taint(lineage.ledger, target, reason="x"),
    ):
        with pytest.raises(NotFound):
            ask()
    assert lineage.ledger.head() == head


def test_only_runs_freezes_reports_and_supersessions_can_be_superseded(lineage: Lineage) -> None:
    with pytest.raises(NotFound, match=f"event {lineage.scores[A, 1, 'strict@111111111111']} is a score; .*run:{A}"):
        say(lineage.ledger, str(lineage.scores[A, 1, "strict@111111111111"]), None)
    with pytest.raises(NotFound, match="expected one of run"):
        say(lineage.ledger, "model:x-resolved", None)
    say(lineage.ledger, str(lineage.reports[A]), f"report:{lineage.reports[B]}")
    say(lineage.ledger, "suite/v0", "suite/v1")
    marked = lineage.ledger.rows("SELECT seq, superseded_by FROM main.reports WHERE superseded")
    marked += lineage.ledger.rows("SELECT seq, superseded_by FROM main.freezes WHERE superseded")
    assert [tuple(row.values()) for row in marked] == [
        (lineage.reports[A], str(lineage.reports[B])), (lineage.fixtures["v0"], str(lineage.fixtures["v1"])),
    ]  # fmt: skip


def test_a_reason_is_asked_for(lineage: Lineage) -> None:
    head = lineage.ledger.head()
    for ask in (
        lambda: say(lineage.ledger, A, None, " "),
        lambda: taint(lineage.ledger, A, reason=""),
        lambda: clear(lineage.ledger, 3, reason="\n"),
    ):
        with pytest.raises(BadBody, match="reason"):
            ask()
    assert lineage.ledger.head() == head


def test_every_category_of_the_body_can_be_said() -> None:
    assert Supersede.model_fields["category"].annotation.__args__ == CATEGORIES  # type: ignore[union-attr]


def test_a_taint_is_cleared_once_and_by_its_own_seq(lineage: Lineage) -> None:
    event, found = taint(lineage.ledger, "latest", reason="the server was another")
    assert (str(found), event.causes) == (f"run:{B}", (lineage.plans[B],))
    cleared, body = clear(lineage.ledger, event.seq, reason="it was not")
    assert isinstance(body, Taint)
    assert cleared.causes == (event.seq,)
    with pytest.raises(Refused, match=f"cleared by event {cleared.seq} already"):
        clear(lineage.ledger, event.seq, reason="again")
    with pytest.raises(NotFound, match="not a taint"):
        clear(lineage.ledger, cleared.seq, reason="again")
    with pytest.raises(NotFound):
        clear(lineage.ledger, 10**9, reason="again")
    (row,) = lineage.ledger.rows("SELECT seq, what, id, cleared_by, cleared_because FROM main.taints")
    assert tuple(row.values()) == (event.seq, "run", B, cleared.seq, "it was not")
    assert lineage.ledger.rows("SELECT * FROM main.taints_in_force") == []
    taint(lineage.ledger, B, reason="it was, after all")
    assert len(lineage.ledger.rows("SELECT * FROM main.taints_in_force")) == 1


@pytest.mark.parametrize(
    ("called", "is_what"),
    [
        (A, f"run:{A}"), ("name-b", f"run:{B}"), ("bbb", f"run:{B}"), ("latest", f"run:{B}"), ("3", "freeze:3"),
        ("suite/v1", "freeze:4"), ("fixture", None), ("freeze:22222222222200", "freeze:8"),
        ("strict@111111111111", "rules:strict@111111111111"), ("strict", "rules:strict@111111111111"),
        ("openai/x", "candidate:openai/x"), ("candidate:77777777", "candidate:" + "7" * 64),
        ("x-resolved", "model:x-resolved"), ("0.c", "harness:0.c"), (CODE[1][:8], f"harness:{CODE[1]}"),
        ("suite/ask", None), ("event:999", None),
    ],
)  # fmt: skip
def test_a_target_is_found_by_what_people_call_it(lineage: Lineage, called: str, is_what: str | None) -> None:
    if is_what is None:
        with pytest.raises(NotFound):
            find_target(lineage.ledger, called)
    else:
        assert str(find_target(lineage.ledger, called)) == is_what


def test_events_and_blobs_are_found_by_their_hashes(lineage: Lineage) -> None:
    event = lineage.ledger.event(lineage.scores[A, 1, "strict@111111111111"])
    assert str(find_target(lineage.ledger, event.hash[:12])) == f"event:{event.seq}"
    blob = lineage.ledger.rows("SELECT hash, seq FROM main.blobs ORDER BY id LIMIT 1")[0]
    found = find_target(lineage.ledger, blob["hash"][:12])
    assert (str(found), found.events) == (f"blob:{blob['hash']}", (blob["seq"],))


def test_a_name_that_fits_several_things_is_refused_and_says_which(lineage: Lineage) -> None:
    plan = example_draft("plan", run="e" * 16, causes=[3])
    lineage.ledger.append(Draft(plan.body.model_copy(update={"name": "x-resolved"}), run="e" * 16, causes=[3]))
    with pytest.raises(NotFound, match=r"run:eeeeeeeeeeeeeeee, model:x-resolved.*say which"):
        find_target(lineage.ledger, "x-resolved")
    assert str(find_target(lineage.ledger, "model:x-resolved")) == "model:x-resolved"
    with pytest.raises(NotFound, match="freeze:5, freeze:6"):
        find_target(lineage.ledger, "suite/ask")


def test_what_is_superseded_or_tainted_is_not_built_on_any_more(lineage: Lineage) -> None:
    assert dict(runs_set_aside(lineage.ledger)) == {}
    event, _ = taint(lineage.ledger, "openai/x", reason="x")
    assert dict(runs_set_aside(lineage.ledger)) == {A: "tainted", B: "tainted"}
    clear(lineage.ledger, event.seq, reason="y")
    say(lineage.ledger, A, B)
    assert dict(runs_set_aside(lineage.ledger)) == {A: "superseded"}


def test_answers_stay_good_when_only_the_reading_of_them_is_tainted(lineage: Lineage) -> None:
    for target in ("rules:strict@111111111111", "freeze:8", f"event:{lineage.parses[A, 1, 'fence@222222222222']}"):
        taint(lineage.ledger, target, reason="x")
    assert dict(runs_set_aside(lineage.ledger)) == {}
    taint(lineage.ledger, str(lineage.responses[A, 1, 0]), reason="x")
    assert dict(runs_set_aside(lineage.ledger)) == {A: "tainted"}


def _race(path: str, target: str, by: str, go: multiprocessing.Event) -> None:  # type: ignore[valid-type]
    with Ledger.open(path) as ledger:
        go.wait()
        try:
            say(ledger, target, by)
        except LedgerError:
            raise SystemExit(4) from None


def test_two_processes_can_not_make_a_circle_together(lineage: Lineage) -> None:
    context = multiprocessing.get_context("spawn")
    go = context.Event()
    racers = [context.Process(target=_race, args=(str(lineage.ledger.path), *pair, go)) for pair in ((A, B), (B, A))]
    for racer in racers:
        racer.start()
    go.set()
    for racer in racers:
        racer.join(60)
    assert sorted(racer.exitcode or 0 for racer in racers) == [0, 4]
    assert len(superseded(lineage.ledger)) == 1


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=9))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_supersession_is_in_force_unless_one_in_force_names_it(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[int, bool]]
) -> None:
    with Ledger.create(tmp_path_factory.mktemp("l") / "l.db") as ledger:
        seqs: list[int] = []
        named: dict[int, int | None] = {}
        for which, is_run in said:
            back = None if is_run or not seqs else seqs[which % len(seqs)]
            target = Target(what="run", id=A) if back is None else Target(what="supersession", id=str(back))
            body = Supersede(target=target, by=None, category="other", reason="x")
            (event,) = ledger.append(Draft(body))
            seqs.append(event.seq)
            named[event.seq] = back
        force: dict[int, bool] = {}
        for seq in reversed(seqs):
            force[seq] = not any(force[later] for later, back in named.items() if back == seq and later > seq)
        rows = ledger.rows("SELECT seq, in_force FROM main.supersessions")
        assert {row["seq"]: bool(row["in_force"]) for row in rows} == force
