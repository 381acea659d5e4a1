"""The gate over real ledgers: what passes, what fails, what can't be told, and that failures never fall out of it."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._errors import UsageError
from harness._gate import Gate, GateResult, gate
from harness._gate_file import gate_markdown, junit
from harness._gate_named import find_against, read_margin
from harness._noninferior import paired_interval, tango
from ledger import Draft, Ledger, NotFound
from ledger.kinds import Cell, Plan, Supersede, Taint, Target
from tests.harness.scored import NEGATIVE, case_line, scored_run, suite_here

MANY = [f"c{number}" for number in range(60)]


def told(right: int, rest: str = "wrong", names: list[str] = MANY) -> dict[str, str]:
    return {name: "right" if at < right else rest for at, name in enumerate(names)}


def held(ledger: Ledger, run: str, against: str, margin: str = "10pp", **more: object) -> Gate:
    return gate(ledger, run, against, read_margin(margin), **more)  # type: ignore[arg-type]


def only(found: Gate) -> GateResult:
    (result,) = found.results
    return result


def tagged(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, right: int, tags: list[str]) -> str:
    """A run with tags, which the scripted runs have none of."""
    append = ledger.append

    def with_tags(*drafts: Draft) -> object:
        return append(
            *(
                Draft(
                    each.body.model_copy(update={"tags": tags}), run=each.run, cell=each.cell, causes=each.causes,
                    blobs=each.blobs,
                )
                if isinstance(each, Draft) and isinstance(each.body, Plan) else each
                for each in drafts
            )
        )  # fmt: skip

    with monkeypatch.context() as patch:
        patch.setattr(ledger, "append", with_tags)
        return scored_run(ledger, {"a/x": told(right)})


# Verdicts


def test_a_run_that_answers_alike_passes_by_a_margin_that_so_many_cases_can_show(ledger: Ledger) -> None:
    base, run = scored_run(ledger, {"a/x": told(40)}), scored_run(ledger, {"a/x": told(40)})
    found = held(ledger, run, base)
    assert (found.outcome, found.exit_status) == ("pass", 0)
    assert only(found).worst is not None
    assert only(found).worst.low == pytest.approx(-3.8415 / (60 + 3.8415), abs=1e-3), "Tango's, of no difference in 60"
    tight = held(ledger, run, base, "2pp")
    assert (tight.outcome, tight.exit_status) == ("inconclusive", 1), "60 cases can't show two points"


def test_three_cases_that_agree_pass_no_small_margin(ledger: Ledger) -> None:
    base, run = (scored_run(ledger, {"a/x": told(3, names=MANY[:3])}) for _ in range(2))
    assert held(ledger, run, base, "20pp").outcome == "inconclusive"


def test_a_run_that_is_much_worse_fails(ledger: Ledger) -> None:
    base, run = scored_run(ledger, {"a/x": told(55)}), scored_run(ledger, {"a/x": told(20)})
    found = held(ledger, run, base)
    assert (found.outcome, found.exit_status) == ("fail", 1)
    assert "its upper end is below -10pp" in only(found).why
    assert held(ledger, base, run, "0").outcome == "pass", "and the other way round it is better"


def test_inconclusive_passes_only_when_the_person_says_so(ledger: Ledger) -> None:
    base, run = scored_run(ledger, {"a/x": told(40)}), scored_run(ledger, {"a/x": told(37)})
    found = held(ledger, run, base, "5pp")
    assert (found.outcome, found.exit_status) == ("inconclusive", 1)
    assert held(ledger, run, base, "5pp", lenient=True).exit_status == 0
    worse = scored_run(ledger, {"a/x": told(5)})
    assert held(ledger, worse, base, "5pp", lenient=True).exit_status == 1, "a fail isn't let through by it"


def test_where_lower_is_better_the_sign_is_turned(ledger: Ledger) -> None:
    lines = [case_line(name, gold=NEGATIVE) for name in MANY]
    good, bad = (scored_run(ledger, {"a/x": told(right)}, lines=lines) for right in (55, 20))
    found = held(ledger, bad, good, metrics=["false_fire"])
    assert (only(found).higher_is_better, found.outcome) == (False, "fail")
    assert only(found).seen is not None and only(found).seen.difference < 0, "below zero is worse"
    assert held(ledger, good, bad, metrics=["false_fire"]).outcome == "pass"


# What is missing


@pytest.mark.parametrize("word", ["malformed", "truncated", "refused"])
def test_a_run_whose_hard_cases_all_go_unmeasured_does_not_pass(ledger: Ledger, word: str) -> None:
    base, run = scored_run(ledger, {"a/x": told(60)}), scored_run(ledger, {"a/x": told(45, word)})
    found = held(ledger, run, base)
    result = only(found)
    assert result.seen is not None and result.seen.low > -0.10, "on what both measured it would pass"
    assert (found.outcome, found.exit_status) == ("inconclusive", 1)
    assert "it would pass on the 45 cases that both measured" in result.why
    assert dict(result.missing)[next(why for why, _ in result.missing if why.startswith("RUN"))] == 15


def test_a_reference_whose_hard_cases_went_unmeasured_gives_no_pass_either(ledger: Ledger) -> None:
    base, run = scored_run(ledger, {"a/x": told(45, "malformed")}), scored_run(ledger, {"a/x": told(45)})
    assert held(ledger, run, base).outcome == "inconclusive"


def test_a_pass_that_holds_whatever_the_missing_were_is_a_pass(ledger: Ledger) -> None:
    base = scored_run(ledger, {"a/x": told(40)})
    run = scored_run(ledger, {"a/x": told(40) | {"c59": "malformed"}})
    found = held(ledger, run, base, "20pp")
    assert found.outcome == "pass"
    assert "with the 1 case that lacks a measurement counted against it" in only(found).why
    both = scored_run(ledger, {"a/x": told(40) | {"c58": "malformed", "c59": "malformed"}})
    said = only(held(ledger, both, run, "30pp")).why
    assert "the 2 cases that lack a measurement (2 in RUN, 1 in AGAINST, 1 of them in both)" in said


def test_two_candidates_of_one_run_are_told_apart_in_every_form(ledger: Ledger) -> None:
    run = scored_run(ledger, {"a/x": told(40), "b/y": told(40)})
    found = held(ledger, f"{run}@a/x", f"{run}@b/y")
    assert found.sentence().startswith(f"PASS: run {run}@a/x is not more than 10pp worse than run {run}@b/y")
    assert only(found).sentence().startswith("PASS: a/x against b/y under ")
    assert "`a/x against b/y`" in gate_markdown(found) and b"a/x against b/y exact" in junit(found)


def test_two_suites_are_not_comparable_and_no_rescore_is_named(ledger: Ledger) -> None:
    base = scored_run(ledger, {"a/x": told(40)})
    run = scored_run(ledger, {"a/x": told(40)}, suite=replace(suite_here(), name="other"))
    found = held(ledger, run, base)
    assert found.outcome == "not comparable"
    said = only(found).sentence()
    assert "RUN is of the suite other and AGAINST of authority" in said and "no rescore mends that" in said
    assert ", :" not in said and only(found).mend == ()


def test_a_run_with_errors_is_incomplete_and_that_goes_before_a_fail(ledger: Ledger) -> None:
    base, run = scored_run(ledger, {"a/x": told(60)}), scored_run(ledger, {"a/x": told(10, "error")})
    found = held(ledger, run, base)
    assert (found.outcome, found.exit_status) == ("incomplete", 3)
    assert held(ledger, run, base, lenient=True).exit_status == 3


def test_a_run_of_fewer_cases_does_not_pass_on_those_that_it_picked(ledger: Ledger) -> None:
    base, run = scored_run(ledger, {"a/x": told(60)}), scored_run(ledger, {"a/x": told(60)}, limit=50)
    found = held(ledger, run, base)
    assert found.outcome == "inconclusive"
    assert only(found).unmeasured_cases == 10
    assert dict(only(found).missing) == {"RUN: not planned": 10}
    assert held(ledger, run, base, "40pp").outcome == "pass", "as bad as they can be, they leave that much"


def test_cases_that_the_reference_never_planned_are_listed_and_hold_nothing_up(ledger: Ledger) -> None:
    base, run = scored_run(ledger, {"a/x": told(60)}, limit=50), scored_run(ledger, {"a/x": told(60)})
    found = held(ledger, run, base)
    assert found.outcome == "pass"
    assert only(found).unmeasured_cases == 0
    assert dict(only(found).missing) == {"AGAINST: not planned": 10}


def test_a_part_passes_against_the_same_part(ledger: Ledger) -> None:
    base, run = (scored_run(ledger, {"a/x": told(60)}, limit=50) for _ in range(2))
    assert held(ledger, run, base).outcome == "pass"


def test_missing_epochs_count_against_their_case_alone(ledger: Ledger) -> None:
    base = scored_run(ledger, {"a/x": {name: ["right"] * 3 for name in MANY}}, epochs=3)
    run = scored_run(
        ledger, {"a/x": {name: ["right", "right", "malformed" if at < 3 else "right"] for at, name in enumerate(MANY)}},
        epochs=3,
    )  # fmt: skip
    result = only(held(ledger, run, base, "20pp"))
    assert result.worst is not None and result.worst.difference == pytest.approx(-3 / 3 / 60)
    assert (result.worst.cases, result.unmeasured_cases) == (60, 3), "three epochs of a case are one case"


def test_twins_of_one_input_are_one_case_to_the_gate(ledger: Ledger) -> None:
    names = [f"c{at}/{twin}" for at in range(6) for twin in range(10)]
    lines = [case_line(each, text=f"- {each[:2]}\n- two\n") for each in names]
    base, run = (scored_run(ledger, {"a/x": told(60, names=names)}, lines=lines) for _ in range(2))
    found = held(ledger, run, base)
    assert (found.outcome, only(found).ours) == ("inconclusive", "60/60"), "six texts are six, however often asked"
    assert only(found).worst is not None
    assert only(found).worst.cases == 6
    unread = scored_run(ledger, {"a/x": {**told(60, names=names), "c0/9": "malformed"}}, lines=lines)
    lacking = only(held(ledger, unread, base))
    assert lacking.unmeasured_cases == 1
    assert lacking.worst is not None
    assert lacking.worst.difference == pytest.approx(-1 / 60), "one repeat of ten of one case of six"


# What may be held against what


def test_more_that_moved_than_the_candidate_is_not_comparable(ledger: Ledger) -> None:
    base, run = scored_run(ledger, {"a/x": told(60)}), scored_run(ledger, {"a/x": told(60)}, arm="told")
    found = held(ledger, run, base)
    assert (found.outcome, found.exit_status) == ("not comparable", 4)
    assert "arm moved" in only(found).why


def test_each_candidate_is_held_against_its_namesake_and_one_without_is_no_pass(ledger: Ledger) -> None:
    base = scored_run(ledger, {"a/x": told(60), "b/y": told(60), "c/z": told(1)})
    run = scored_run(ledger, {"a/x": told(60), "b/y": told(10), "d/new": told(60)})
    found = held(ledger, run, base)
    assert {each.candidate: each.outcome for each in found.results} == {
        "a/x": "pass", "b/y": "fail", "d/new": "inconclusive"
    }  # fmt: skip
    assert any("has c/z too" in each for each in found.warnings)
    assert held(ledger, f"{run}@a/x", base).exit_status == 0


def test_no_pass_rests_on_numbers_that_the_ledger_contradicts(ledger: Ledger) -> None:
    before, after = (scored_run(ledger, {"a/x": told(60)}) for _ in range(2))
    assert only(held(ledger, after, before)).outcome == "pass"
    body = ledger.rows("SELECT body FROM main.events WHERE run = ? AND kind = 'cell' AND cell = 1", (after,))[0]["body"]
    ledger.append(Draft(Cell.model_validate_json(body), run=after, cell=61))
    result = only(held(ledger, after, before))
    assert result.outcome == "inconclusive"
    assert f"the numbers of run {after} don't hold" in result.why


def test_no_pass_rests_on_what_was_superseded_or_tainted(ledger: Ledger) -> None:
    base, run = scored_run(ledger, {"a/x": told(60)}), scored_run(ledger, {"a/x": told(60)})
    assert held(ledger, run, base).outcome == "pass"
    ledger.append(Draft(Taint(target=Target(what="run", id=run), reason="unsure")))
    assert "taints" in only(held(ledger, run, base)).why
    third = scored_run(ledger, {"a/x": told(60)})
    gone = Supersede(target=Target(what="run", id=base), by=None, category="operator", reason="wrong")
    ledger.append(Draft(gone))
    assert held(ledger, third, base).outcome == "inconclusive"


def test_a_tag_names_the_newest_run_with_it_that_stands_and_never_the_run_itself(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tagged(ledger, monkeypatch, 60, ["main"])
    second = tagged(ledger, monkeypatch, 59, ["main", "nightly"])
    run = tagged(ledger, monkeypatch, 58, ["main"])
    assert find_against(ledger, run, "main").text == second
    assert find_against(ledger, run, "main@a/x").text == f"{second}@a/x"
    assert held(ledger, run, "main").tag == "main"
    gone = Supersede(target=Target(what="run", id=second), by=None, category="operator", reason="wrong")
    ledger.append(Draft(gone))
    assert find_against(ledger, run, "main").text == first
    ledger.append(Draft(Taint(target=Target(what="run", id=first), reason="unsure")))
    with pytest.raises(UsageError, match="no other run of"):
        find_against(ledger, run, "main")
    with pytest.raises(NotFound, match="no run has this tag"):
        find_against(ledger, run, "release")


def test_one_run_under_two_rule_sets_and_a_run_against_itself_are_refused(ledger: Ledger) -> None:
    run = scored_run(ledger, {"a/x": told(3, names=MANY[:3])})
    with pytest.raises(UsageError):
        held(ledger, run, run)
    with pytest.raises(UsageError):
        held(ledger, run, run, rules=["strict-cite", "strict-cite"])


# The margin


@pytest.mark.parametrize(
    ("text", "share"),
    [("2pp", "0.02"), ("0.02", "0.02"), (".05", "0.05"), ("2.5 pp", "0.025"), ("0", "0"), ("0pp", "0")],
)
def test_a_margin_is_points_or_a_share(text: str, share: str) -> None:
    assert read_margin(text) == Decimal(share)


@pytest.mark.parametrize(
    ("text", "says"),
    [("2%", "write 2pp"), ("2", "such as 2pp"), ("-0.02", "such as"), ("1", "such as"), ("1e-2", "such as"),
     ("nan", "such as"), ("", "such as"), ("２pp", "such as"), ("200pp", "such as"), ("0.02\n%", "0.02")],
)  # fmt: skip
def test_what_could_mean_two_things_is_no_margin(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_margin(text)


# The intervals


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 80))
def test_tangos_interval_holds_the_estimate_and_mirrors_itself(better: int, worse: int, ties: int) -> None:
    n = better + worse + ties
    low, high = tango(better, worse, n)
    assert -1 <= low <= (better - worse) / n <= high <= 1
    assert low < high
    assert tango(worse, better, n) == (pytest.approx(-high, abs=1e-9), pytest.approx(-low, abs=1e-9))


def test_tangos_interval_is_the_published_one() -> None:
    # Tango 1998, the crossover of 44 patients of whom one changed.
    assert tango(0, 1, 44) == (pytest.approx(-0.118, abs=1e-3), pytest.approx(0.059, abs=1e-3))


def test_more_differences_never_make_an_interval_of_repeats_narrower_than_one_of_none() -> None:
    none = paired_interval([0.0] * 50, whole=False)
    some = paired_interval([0.0] * 45 + [-0.2, 0.2, -0.2, 0.2, 0.2], whole=False)
    assert none is not None and some is not None
    assert some.high - some.low >= none.high - none.low > 0.1


# What CI systems read


def evil() -> Gate:
    name = 'x"><script>&]]>\x00\x1b[31m`|\ud800\u202e\ufffe'
    results = (
        GateResult(name, name, name, name, "pass", name), GateResult(name, name, name, name, "fail", name),
        GateResult(name, "", "", "", "inconclusive", name), GateResult(name, name, name, "", "not comparable", name),
    )  # fmt: skip
    names = (name, name, name, name)
    return Gate(*names, Decimal("0.02"), lenient=False, unfinished=True, results=results, warnings=(name,))


def test_junit_is_xml_whatever_the_names_are() -> None:
    text = junit(evil())
    root = ElementTree.fromstring(text)
    assert text.isascii() and b"\x00" not in text and b"&#" not in text.replace(b"&#10;", b"")
    cases = root.findall("testsuite/testcase")
    assert [[child.tag for child in case] for case in cases] == [
        ["system-out"], ["failure"], ["failure"], ["error"], ["error"]
    ]  # fmt: skip
    suite = root.find("testsuite")
    assert suite is not None
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5", "failures": "2", "errors": "2", "skipped": "0"
    }  # fmt: skip
    assert "\\x1b[31m" in (cases[0].get("name") or "")


def test_what_was_let_through_is_skipped_in_junit(ledger: Ledger) -> None:
    base, run = scored_run(ledger, {"a/x": told(40)}), scored_run(ledger, {"a/x": told(37)})
    root = ElementTree.fromstring(junit(held(ledger, run, base, "5pp", lenient=True)))
    assert [child.tag for child in root.findall("testsuite/testcase")[0]] == ["skipped"]


def test_a_comment_holds_no_markup_of_others() -> None:
    text = gate_markdown(evil())
    outside = "".join(part for at, part in enumerate(text.split("`")) if at % 2 == 0)
    assert "script" not in outside and "\x1b" not in text and "\u202e" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {line.count("|") for line in rows} == {10}, "no name breaks a row"


# How often it errs


def test_at_exactly_the_margin_about_one_in_forty_passes_and_no_more() -> None:
    rates = {
        name: sum(_passes(draw, random.Random(at), 0.1) for at in range(400)) / 400
        for name, draw in (("single", _single), ("repeated", _repeated))
    }
    assert all(rate <= 0.05 for rate in rates.values()), rates


@pytest.mark.long
@pytest.mark.parametrize("margin", [0.05, 0.1])
@pytest.mark.parametrize("cases", [20, 50, 100, 300])
def test_at_exactly_the_margin_the_gate_passes_at_most_three_in_a_hundred(cases: int, margin: float) -> None:
    draws = 2_000
    for name, draw in (("single", _single), ("repeated", _repeated)):
        rate = sum(_passes(draw, random.Random(at), margin, cases) for at in range(draws)) / draws
        print(f"{name}, {cases} cases, {margin:g}: {rate:.4f} pass")
        # 2.5% and two standard errors of so many draws.
        assert rate <= 0.025 + 2 * (0.025 * 0.975 / draws) ** 0.5, (name, rate)


def _passes(draw: object, rng: random.Random, margin: float, cases: int = 100) -> bool:
    differences, whole = draw(rng, margin, cases)  # type: ignore[operator]
    found = paired_interval(differences, whole=whole)
    assert found is not None
    return found.low > -margin


def _single(rng: random.Random, margin: float, cases: int) -> tuple[list[float], bool]:
    """One answer a case: a tenth goes either way, and the margin more the worse way."""
    draws = [rng.random() for _ in range(cases)]
    return [-1.0 if each < margin + 0.1 else 1.0 if each < margin + 0.2 else 0.0 for each in draws], True


def _repeated(rng: random.Random, margin: float, cases: int) -> tuple[list[float], bool]:
    """Five answers a case, of cases that differ much: the run is worse in proportion to how easy a case is."""
    found: list[float] = []
    for _ in range(cases):
        easy = rng.betavariate(1, 1)
        ours = sum(rng.random() < easy * (1 - 2 * margin) for _ in range(5))
        found.append((ours - sum(rng.random() < easy for _ in range(5))) / 5)
    return found, False


def test_a_bootstrap_would_let_through_what_the_gate_does_not(tmp_path: Path) -> None:
    from harness._stats import paired_bootstrap

    found = paired_bootstrap([([1.0], [1.0])] * 20)
    assert found is not None and found.low == 0 > -0.001, "no width: any margin would do"
    ours = paired_interval([0.0] * 20, whole=True)
    assert ours is not None and ours.low < -0.15
