"""A text wins a pair only where the judge chose it in both orders; what flips with the position is nobody's win."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from harness._clusters import interval_by_case
from harness._errors import RefusedError, UsageError
from harness._job import Job
from harness._json import JSON
from harness._named_rules import find_rule_sets
from harness._pair_contrast import pair_contrast
from harness._pair_outcomes import JudgedPair, pair_outcomes, pair_tables
from harness._pairs_asked import PairJob, PairsDone, grade_pairs
from harness._replay_check import check_run
from harness._report import read_report
from harness._rescore import rescore_run
from harness._resume import ResumeJob, resume_job
from harness._run import RunOptions, SilentProgress
from harness._stats import wilson
from harness.suites._companion import Record, StudyTable
from ledger import Draft, verify
from ledger.kinds import Plan, Supersede, Taint, Target
from tests.harness.judged import Bench, target
from tests.harness.models import Answer, model_server

# What became of a pair


def cell(pair: str, order: int, said: str, *, epoch: int = 0, gold: bool = True, case: str = "") -> Record:
    """One cell as its events have it; `said` is a winner, or why there is none."""
    read = said in ("first", "second", "tie")
    sides = {"first": "ab"[order], "second": "ba"[order]}
    known: JSON = {"condition": "pair", "pair": pair, "order": order, **sides, "case": case, "a": "r@x", "b": "s@y"}
    return Record(
        cell=1, case=f"{pair}/{order}", fixture="pair", candidate="judge", arm="pair", epoch=epoch, twin=0, input="",
        outcome="graded" if read else "unmeasured", status="parsed" if read else "wrong_shape",
        reason="" if read else said, value=0.5 if read else None, verdict=said if read else "", metrics={}, classes={},
        blocked_by=(), findings=(), rejections=(), gold=known if gold else None,
    )  # fmt: skip


def pair(one: str, other: str, name: str = "p", **more: Any) -> list[Record]:
    return [cell(name, 0, one, **more), cell(name, 1, other, **more)]


@pytest.mark.parametrize(
    ("a_first", "b_first", "outcome", "position"),
    [
        ("first", "second", "a", ""),
        ("second", "first", "b", ""),
        ("tie", "tie", "tie", ""),
        ("first", "first", "inconsistent", "first"),
        ("second", "second", "inconsistent", "second"),
        ("first", "tie", "inconsistent", ""),
        ("tie", "first", "inconsistent", ""),
        ("second", "tie", "inconsistent", ""),
        ("bad_winner", "second", "unmeasured", ""),
        ("first", "no_json", "unmeasured", ""),
        ("stop_length", "stop_length", "unmeasured", ""),
    ],
)
def test_an_outcome_is_what_both_orders_say_together(a_first: str, b_first: str, outcome: str, position: str) -> None:
    (found,) = pair_outcomes(pair(a_first, b_first))
    assert (found.outcome, found.position, found.said) == (outcome, position, (a_first, b_first))


def test_half_a_pair_is_unmeasured_and_so_is_one_whose_case_is_withheld() -> None:
    (half,) = pair_outcomes([cell("p", 1, "first")])
    assert half == JudgedPair("p", "", 0, "unmeasured", ("not planned", "first"), (False, True))
    (withheld,) = pair_outcomes([cell("p", 1, "first", gold=False)])
    assert (withheld.outcome, withheld.said) == ("unmeasured", ("withheld", "withheld"))


def test_a_pair_that_was_asked_twice_counts_twice_and_its_askings_arent_mixed() -> None:
    found = pair_outcomes([*pair("first", "second", epoch=0), *pair("second", "first", epoch=1)])
    assert [(each.epoch, each.outcome) for each in found] == [(0, "a"), (1, "b")]


def rows(table: StudyTable) -> Mapping[str, tuple[Any, ...]]:
    return {str(row[0]): row[1:] for row in table.rows}


def test_shares_are_of_the_measured_pairs_and_the_unmeasured_of_the_planned_ones() -> None:
    records = [
        *pair("first", "second", "1"), *pair("first", "second", "2"), *pair("second", "first", "3"),
        *pair("tie", "tie", "4"), *pair("first", "first", "5"), *pair("first", "bad_winner", "6"),
    ]  # fmt: skip
    outcomes, position, undecided = pair_tables(records)
    assert "A is r@x, B is s@y" in outcomes.about
    found = rows(outcomes)
    assert {name: row[:2] for name, row in found.items()} == {
        "A wins": (2, 5), "B wins": (1, 5), "tie": (1, 5), "inconsistent": (1, 5), "unmeasured": (1, 6),
    }  # fmt: skip
    for name, k, n in (("A wins", 2, 5), ("unmeasured", 1, 6)):
        assert found[name][2:] == (k / n, *(wilson(k, n) or ()))
    assert rows(position)["the first, in both orders"][:2] == (1, 5)
    assert rows(position)["the first, of all replies"][:2] == (6, 11)
    assert undecided.rows == (
        ("5", "", "inconsistent", "first", "first"), ("6", "", "unmeasured", "first", "bad_winner"),
    )  # fmt: skip


def test_pairs_of_one_case_are_said_not_to_be_independent() -> None:
    apart = pair_tables([*pair("tie", "tie", "1", case="x"), *pair("tie", "tie", "2", case="y")])
    together = pair_tables([*pair("tie", "tie", "1", case="x"), *pair("tie", "tie", "2", case="x")])
    said = "The 2 pairs are of 1 cases; pairs of one case aren't independent"
    assert not any(note.startswith(said) for note in apart[0].notes)
    assert any(note.startswith(said) for note in together[0].notes)


def test_where_nothing_could_be_read_there_is_no_share_and_no_table_of_nothing() -> None:
    outcomes, position, _ = pair_tables(pair("no_json", "no_json"))
    assert rows(outcomes)["A wins"] == (0, 0, None, None, None) and rows(outcomes)["unmeasured"][:3] == (1, 1, 1.0)
    assert rows(position)["the first, of all replies"] == (0, 0, None, None, None)
    assert pair_tables([]) == ()


def test_two_judges_of_the_same_pairs_are_held_against_each_other_pair_by_pair() -> None:
    ours = [
        *pair("first", "second", "1"),
        *pair("second", "first", "2"),
        *pair("tie", "tie", "3"),
        *pair("first", "x", "4"),
    ]
    theirs = [
        *pair("first", "second", "1"), *pair("first", "first", "2"), *pair("tie", "tie", "3"), *pair("tie", "tie", "4"),
        *pair("tie", "tie", "another"),
    ]  # fmt: skip
    agreed, apart = pair_contrast(ours, theirs)
    (row,) = [dict(zip([column.name for column in agreed.columns], row, strict=True)) for row in agreed.rows]
    assert (row["n"], row["alike"], row["pairs of both"]) == (3, 2, 4)
    assert row["kappa"] == pytest.approx((2 / 3 - 2 / 9) / (1 - 2 / 9))
    assert apart.rows == (("2", "", "b", "inconsistent"), ("4", "", "unmeasured", "tie"))
    assert pair_contrast(ours, pair("tie", "tie", "another")) == ()
    same, *none = pair_contrast(pair("tie", "tie"), pair("tie", "tie"))
    assert not none and same.rows[0][5] is None and "Kappa is undefined" in same.notes[0]


def test_what_detectors_found_is_told_by_whose_text_it_stood_in_and_whether_that_won() -> None:
    found = [{"layer": "detector", "detector": "override", "in": "first", "span": [0, 3]}]
    also = [{"layer": "detector", "detector": "override", "in": "second", "span": [0, 3]}]
    one, other = pair("first", "second", "1")
    records = [replace(one, findings=found), replace(other, findings=also), *pair("tie", "tie", "2")]
    detected = next(each for each in pair_tables(records) if each.title == "Detectors")
    assert detected.rows == (("override", 1, 0, 1, 1),), "in both orders it is A's text, which won"
    assert "Detectors" not in [each.title for each in pair_tables(pair("tie", "tie"))]


def test_a_pair_that_is_asked_again_counts_anew_for_what_detectors_found() -> None:
    found = [{"layer": "detector", "detector": "override", "in": "first", "span": [0, 3]}]
    records = [
        replace(each, findings=found) if each.case.endswith("/0") else each
        for each in [*pair("first", "second"), *pair("second", "first", epoch=1)]
    ]
    detected = next(each for each in pair_tables(records) if each.title == "Detectors")
    assert detected.rows == (("override", 2, 0, 2, 1),)


@pytest.mark.parametrize(
    ("said", "outcome", "by_position"),
    [
        (("tie", "tie"), "tie", False),
        (("first", "first"), "inconsistent", True),
        (("first", "second"), "inconsistent", True),
        (("first", "tie"), "inconsistent", True),
        (("first", "no_json"), "unmeasured", False),
    ],
)
def test_a_preference_between_identical_texts_is_nobodys_win(
    said: tuple[str, str], outcome: str, by_position: bool
) -> None:
    (found,) = pair_outcomes([replace(each, input="one") for each in pair(*said)])
    assert (found.outcome, found.by_position, found.same) == (outcome, by_position, True)
    (position,) = [each for each in pair_tables([replace(each, input="one") for each in pair(*said)])
                   if each.title == "Position"]  # fmt: skip
    assert bool(position.warns) == by_position


def test_how_often_the_position_decided_is_warned_of_over_cases() -> None:
    stuck = [*pair("first", "first", "1", case="x"), *pair("second", "second", "2", case="x")]
    firm = [*pair("first", "second", "3", case="y"), *pair("tie", "tie", "4", case="z")]
    (position,) = [each for each in pair_tables([*stuck, *firm]) if each.title == "Position"]
    (said,) = position.warns
    assert said.startswith("the judge goes by the position: in 2 of 4 measured pairs") and "fails no bar" in said
    by_case = interval_by_case([(2, 2), (0, 1), (0, 1)])
    assert by_case is not None
    assert f"(95% interval over cases {100 * by_case.low:.1f} to {100 * by_case.high:.1f}%)" in said
    alone = [each for each in pair_tables(firm) if each.title == "Position"]
    assert [each.warns for each in alone] == [()]


# Asking for pairs


BLOCK = re.compile(r'<untrusted id="([0-9a-f]{20})">\n(.*?)\n</untrusted id="\1">', re.DOTALL)


def texts(prompt: str) -> list[str]:
    """The two texts that a judge was shown, in their order; a reference, which stands ahead of them, is none."""
    return [text for _, text in BLOCK.findall(prompt)][-2:]


def longer(prompt: str) -> Answer:
    """A judge that goes by what the texts are."""
    first, second = texts(prompt)
    winner = "tie" if len(first) == len(second) else "first" if len(first) > len(second) else "second"
    return Answer(json.dumps({"winner": winner, "reason": "it says more"}))


def says(text: str) -> Callable[[str], Answer]:
    return lambda prompt: Answer(text)


def short(prompt: str) -> Answer:
    return target(prompt) if "fog" in prompt else Answer(f"Short {prompt[-6:-1]}")


def long(prompt: str) -> Answer:
    return target(prompt) if "hail" in prompt else Answer(f"A good deal longer, about {prompt[-6:-1]}")


@dataclass
class Sides:
    """Two runs of one suite whose answers a judge can be asked to choose between."""

    bench: Bench
    a: str
    b: str

    def ask(
        self, judge: Callable[[str], Answer], *, say: Callable[[str], object] = str, a: str = "", b: str = "",
        options: Mapping[str, Any] | None = None, **more: Any,
    ) -> PairsDone:  # fmt: skip
        with model_server(judge) as server:
            asking = Job(
                str(self.bench.folder / "essays"), ["openai/inspector"], [server.openai],
                options=RunOptions(**(options or {})),
            )  # fmt: skip
            done = grade_pairs(
                PairJob(a or self.a, b or self.b, asking, **more), self.bench.db, SilentProgress(), say=say
            )
            self.prompts = [body.decode() for _, body in server.requests]
        return done


@pytest.fixture
def sides(tmp_path: Path) -> Sides:
    bench = Bench(tmp_path)
    return Sides(bench, bench.run(short, "m"), bench.run(long, "m"))


def outcomes(done: PairsDone) -> dict[str, tuple[int, int]]:
    """k of n by outcome, as the report has them."""
    (study,) = done.report.data["study"]
    table = next(each for each in study["tables"] if each["title"] == "Pairs")
    return {row[0]: (row[1], row[2]) for row in table["rows"]}


def test_a_judge_that_goes_by_the_texts_gives_every_pair_to_one_side_in_both_orders(sides: Sides) -> None:
    done = sides.ask(longer)
    assert outcomes(done) == {
        "A wins": (0, 2), "B wins": (2, 2), "tie": (0, 2), "inconsistent": (0, 2), "unmeasured": (0, 2),
    }  # fmt: skip
    assert (done.pairs, done.finished.planned, done.finished.status) == (2, 4, "complete")
    swapped = sides.ask(longer, a=sides.b, b=sides.a)
    assert outcomes(swapped)["A wins"] == (2, 2), "who is called A decides nothing"


@pytest.mark.parametrize("what", ["text", "side"])
def test_a_pair_that_isnt_of_the_answers_themselves_is_found_by_a_replay_check(
    sides: Sides, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    from harness import _graded, _pairs_asked

    real, paired = _graded.text_of, _pairs_asked._paired  # pyright: ignore[reportPrivateUsage]

    def crossed(a: Any, b: Any) -> Any:
        pairs, missing = paired(a, b)
        return [each._replace(a=replace(each.a, text=each.b.text), b=replace(each.b, text=each.a.text))
                for each in pairs], missing  # fmt: skip

    with monkeypatch.context() as patched:
        if what == "text":
            patched.setattr(_graded, "text_of", lambda reading: (real(reading) or "") + " And it is right.")
        else:
            patched.setattr(_pairs_asked, "_paired", crossed)
        forged = sides.ask(says('{"winner": "tie"}'), options={"limit": 1})
    with sides.bench.ledger() as ledger:
        found = [each.sentence() for each in check_run(ledger, forged.finished.run).strays]
        true = sides.ask(says('{"winner": "tie"}'), options={"limit": 1}).finished.run
        assert check_run(ledger, true).ok
    assert len(found) == 2
    assert all("first: recorded" in each and "second: recorded" in each for each in found)


def test_a_judge_that_always_says_first_gives_nobody_a_win(sides: Sides) -> None:
    done = sides.ask(says('{"winner": "first"}'))
    assert outcomes(done)["inconsistent"] == (2, 2)
    assert {outcomes(done)[each][0] for each in ("A wins", "B wins", "tie")} == {0}
    figures = {row["metric"]: row for row in done.report.scoreboard}
    assert (figures["first_share"]["rate"], figures["first_share"]["n"]) == (1.0, 4)
    (said,) = done.report.warnings()
    assert (
        said.startswith("warning: the judge goes by the position: in 2 of 2 measured pairs") and "95% interval" in said
    )
    assert done.report.gate() == 0


def test_identical_texts_are_seen_to_be_so_and_a_pair_beside_its_gold_says_that(sides: Sides) -> None:
    done = sides.ask(says('{"winner": "first"}'), a=sides.a, b=sides.bench.run(short, "m"), reference=True)
    (study,) = done.report.data["study"]
    tables = {each["title"]: each for each in study["tables"]}
    rows = {row[0]: row[1:3] for row in tables["Position"]["rows"]}
    assert rows["a preference between identical texts"] == [done.pairs, done.pairs]
    notes = " ".join(tables["Pairs"]["notes"])
    assert f"{done.pairs} pairs are of two identical texts" in notes
    assert f"In {2 * done.pairs} of the {2 * done.pairs} cells the judge was shown the case's gold" in notes


def test_a_judge_that_cant_be_read_measures_nothing_and_isnt_a_tie(sides: Sides) -> None:
    done = sides.ask(says("The first one, or maybe the second."))
    assert outcomes(done) == {
        "A wins": (0, 0), "B wins": (0, 0), "tie": (0, 0), "inconsistent": (0, 0), "unmeasured": (2, 2),
    }  # fmt: skip
    (readable,) = [row for row in done.report.scoreboard if row["metric"] == "readable"]
    assert readable["rate"] == 0, "an unreadable judge fails its bar"
    assert done.report.gate() == 1


def test_both_orders_of_a_pair_are_asked_and_each_text_is_data(sides: Sides) -> None:
    sides.ask(longer)
    shown = [tuple(texts(json.loads(prompt)["messages"][-1]["content"])) for prompt in sides.prompts]
    assert len(shown) == 4 and {pair[::-1] for pair in shown} == set(shown)
    assert all({text.split()[0] for text in pair} == {"Short", "A"} for pair in shown)
    assert all("oracle" not in prompt and sides.a not in prompt for prompt in sides.prompts)
    assert all("What it says is so." in prompt for prompt in sides.prompts), "the criteria are shown"


def test_every_cell_rests_on_both_answers_and_the_plan_names_both_runs(sides: Sides) -> None:
    done = sides.ask(longer)
    with sides.bench.ledger() as ledger:
        plan = next(ledger.events(kind="plan", run=done.finished.run))
        cells = list(ledger.events(kind="cell", run=done.finished.run))
        body = ledger.body(plan)
        assert isinstance(body, Plan) and body.grades == [sides.a, sides.b] and body.arms == ["pair"]
        for cell in cells:
            answers = [ledger.event(seq) for seq in cell.causes if seq != plan.seq]
            assert [(each.kind, each.run) for each in answers] == [("response", sides.a), ("response", sides.b)]
            assert len({each.cell for each in answers}) == 1, "one case on both sides"
        assert verify(ledger.path).verdict == "CONSISTENT"
        assert check_run(ledger, done.finished.run).ok


def test_what_either_side_lacks_is_listed_and_kept_with_the_run(sides: Sides) -> None:
    told: list[str] = []
    done = sides.ask(longer, say=told.append)
    assert {(each.side, each.case.split("/")[-1], each.why) for each in done.unpaired} == {
        ("a", "fog", "truncated (stop_length)"), ("b", "hail", "error (auth)"),
    }  # fmt: skip
    said = "No pair for want of an answer: A truncated (stop_length) 1 (v0/fog); B error (auth) 1 (v0/hail)."
    assert said in told and said in str(done.report.as_json())


def test_a_limit_counts_pairs_and_never_halves_one(sides: Sides) -> None:
    done = sides.ask(longer, options={"limit": 1})
    assert (done.pairs, done.finished.planned) == (1, 2) and outcomes(done)["B wins"] == (1, 1)


def test_epochs_are_paired_with_their_like(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    sides = Sides(bench, bench.run(short, "m", epochs=2), bench.run(long, "m", epochs=3))
    done = sides.ask(longer)
    assert done.pairs == 4 and sum(each.why == "not planned" for each in done.unpaired) == 4
    (study,) = done.report.data["study"]
    assert any("The 4 pairs are of 2 cases" in note for note in study["tables"][0]["notes"])


def test_what_cant_be_paired_is_refused_before_anything_is_asked(sides: Sides) -> None:
    before = sides.bench.rows("SELECT count(*) AS n FROM main.events")
    with pytest.raises(UsageError, match="A and B are the same answers"):
        sides.ask(longer, b=sides.a)
    with pytest.raises(UsageError, match="expected a rule set of suite essays, got 'judge'; it has pair"):
        asking = Job(str(sides.bench.folder / "essays"), ["openai/m"], ["http://h/v1"], ("judge",))
        grade_pairs(PairJob(sides.a, sides.b, asking), sides.bench.db, SilentProgress())
    with pytest.raises(UsageError, match=r"expected a suite of judging|no suite of judging"):
        grade_pairs(
            PairJob(sides.a, sides.b, Job(str(sides.bench.folder / "weather"), ["openai/m"], ["http://h/v1"])),
            sides.bench.db, SilentProgress(),
        )  # fmt: skip
    both = sides.bench.run(short, "m", "n")
    before = sides.bench.rows("SELECT count(*) AS n FROM main.events")
    with pytest.raises(UsageError, match="has 2 candidates, and a side of a pair is one"):
        sides.ask(longer, a=both)
    assert sides.bench.rows("SELECT count(*) AS n FROM main.events") == before
    done = sides.ask(longer, a=f"{both}@openai/m", b=f"{both}@openai/n")
    assert outcomes(done)["tie"] == (3, 3), "two candidates of one run, with the same answers"


def test_runs_of_two_suites_arent_held_against_each_other(sides: Sides) -> None:
    suite = sides.bench.folder / "weather"
    (suite / "suite.toml").write_text((suite / "suite.toml").read_text().replace('"weather"', '"climate"'))
    other = sides.bench.run(long, "m")
    with pytest.raises(RefusedError, match=r"not comparable: .* answered the suite weather, and .* the suite climate"):
        sides.ask(longer, b=other)


def test_pairs_that_broke_off_are_resumed_in_both_orders_and_rest_on_the_same_answers(sides: Sides) -> None:
    broken: list[str] = []

    def sometimes(prompt: str) -> Answer:
        if not broken:
            broken.append(prompt)
            return Answer("no", status=400)
        return longer(prompt)

    done = sides.ask(sometimes)
    assert outcomes(done)["unmeasured"] == (1, 2) and done.finished.status != "complete"
    with model_server(longer) as server:
        again = resume_job(
            ResumeJob(done.finished.run, base_urls=[server.openai], accept=["endpoint"], reason="moved"),
            sides.bench.db, SilentProgress(),
        )  # fmt: skip
    (study,) = again.report.data["study"]
    assert {row[0]: row[1] for row in study["tables"][0]["rows"]}["B wins"] == 2
    with sides.bench.ledger() as ledger:
        assert check_run(ledger, done.finished.run).ok


def test_what_is_found_out_about_either_side_later_marks_the_pairs_and_a_new_asking_is_refused(sides: Sides) -> None:
    done = sides.ask(longer)
    with sides.bench.ledger() as ledger:
        target = Target(what="run", id=sides.b)
        ledger.append(
            Draft(Supersede(target=target, by=None, category="operator", reason="wrong server")),
            Draft(Taint(target=Target(what="run", id=sides.a), reason="leaked key")),
        )
        data = read_report(ledger, done.finished.run).data
    assert data["taints"][0]["reason"] == "leaked key" and all(row["tainted"] for row in data["scoreboard"])
    assert [each["id"] for each in data["rests_on_superseded"]] == [sides.b]
    with pytest.raises(RefusedError, match="leaked key"):
        sides.ask(longer)
    with pytest.raises(RefusedError, match="wrong server"):
        sides.ask(longer, even_tainted=True)
    assert outcomes(sides.ask(longer, even_tainted=True, even_superseded=True))["B wins"] == (2, 2)


def test_the_case_s_gold_is_shown_as_a_reference_only_where_it_was_asked_for(sides: Sides) -> None:
    sides.ask(longer)
    assert not any("about rain" in prompt and "A reference" in prompt for prompt in sides.prompts)
    sides.ask(longer, reference=True)
    said = [json.loads(prompt)["messages"][-1]["content"] for prompt in sides.prompts]
    assert all("A reference, shown to you beside the texts" in each for each in said)
    assert sorted({BLOCK.findall(each)[-3][1] for each in said}) == ["about rain", "about snow"]


def test_pairs_are_scored_again_under_a_rule_file_of_ones_own_that_is_made_whole(sides: Sides) -> None:
    done = sides.ask(says('The winner: {"winner": "first"}'))
    assert outcomes(done)["inconsistent"] == (2, 2), "in prose, as the built-in reading has it"
    own = sides.bench.folder / "bare.toml"
    own.write_text('about = "Nothing around the object."\n\n[read]\n')
    with sides.bench.ledger() as ledger:
        (rules,) = find_rule_sets(ledger, done.finished.run, [str(own)])
        assert [bar.text for bar in rules.bars] == ["readable >= 100%"] and len(rules.confirm["detectors"]) > 5
        rescore_run(ledger, done.finished.run, [rules])
        data = read_report(ledger, done.finished.run, [rules.label]).data
        assert [each.name for each in find_rule_sets(ledger, done.finished.run, ["pair"])] == ["pair"]
    (study,) = data["study"]
    assert {row[0]: row[1] for row in study["tables"][0]["rows"]}["unmeasured"] == 2
