"""Predictions: refused when they name what there isn't, frozen once, and judged against what came."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness._errors import UsageError
from harness._freeze_job import freeze_all
from harness._prediction import Held, freeze_prediction, parse_prediction, predictions_for
from harness.cli import app
from ledger import Draft, Ledger
from ledger._redact import redact
from ledger._redact_targets import find_targets
from ledger.cli import run_app
from ledger.kinds import Freeze, Supersede, Target
from tests.harness.scored import ROOT, rule_set, scored_run, suite_here

TWELVE = [f"c{number}" for number in range(12)]
BAR = 'suite = "authority"\nabout = "as told"\n[[expect]]\nbar = "direction >= 9/12"\n'
ABOVE = 'suite = "authority"\n[[expect]]\nmetric = "exact"\nhigher = "a/x"\nthan = "b/y"\n'


@pytest.fixture(autouse=True)
def _beside_the_suites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT.parent)


def written(folder: Path, text: str, name: str = "expected") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text, "utf-8")
    return path


def outcomes(right: int, other: str = "wrong") -> dict[str, str]:
    return {name: "right" if at < right else other for at, name in enumerate(TWELVE)}


def the_only(ledger: Ledger, run: str) -> Held:
    (held,) = predictions_for(ledger, run)
    return held


def statuses(held: Held) -> list[tuple[str, str]]:
    return [(each.candidate, each.status) for each in held.results]


# Written


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("suite = ", "expected TOML"),
        ('suite = "authority"\n', r"expected at least one \[\[expect\]\]"),
        ('suite = "authority"\nexpect = []\n', r"expected at least one \[\[expect\]\]"),
        ('suite = "authority"\nexpect = [3]\n', r"\[\[expect\]\] 1: expected bar .* got nothing"),
        (BAR.replace("suite", "sweet"), "unknown key 'sweet'"),
        (BAR.replace('suite = "authority"\n', ""), "suite: expected text, got nothing"),
        (BAR.replace('"authority"', "3"), "suite: expected text, got 3"),
        (BAR.replace('"as told"', '""'), "about: expected text, got ''"),
        (BAR.replace("authority", "nowhere"), "suite: expected a suite"),
        (BAR.replace("direction", "wit"), r"\[\[expect\]\] 1: bar: expected one of exact, .*, got 'wit'"),
        (BAR.replace("9/12", "nine"), "bar: expected METRIC >= K/N"),
        (BAR.replace("9/12", "13/12"), "at most 1"),
        (BAR + 'metric = "exact"\n', "expected bar .*; got bar, metric"),
        (BAR + "candidate = 4\n", "candidate: expected text, got 4"),
        (BAR.replace("[[expect]]", 'rules = "loose"\n[[expect]]'), "rules: "),
        (BAR.replace("[[expect]]", 'rules = "strict-cite@000000000000"\n[[expect]]'), "no rule set .* frozen here"),
        (ABOVE.replace("exact", "wit"), "metric: expected one of exact, .*, got 'wit'"),
        (ABOVE.replace("b/y", "a/x"), "higher and than both name 'a/x'"),
        (ABOVE.replace('than = "b/y"\n', ""), "expected bar .*; got higher, metric"),
        (ABOVE + "by = 3\n", "got by, higher, metric, than"),
        ("suite = '" + "x" * (1 << 20) + "'", "at most 1 MiB"),
    ],
)
def test_what_a_prediction_may_not_say_is_refused_in_one_sentence_and_nothing_is_frozen(
    ledger: Ledger, tmp_path: Path, text: str, said: str
) -> None:
    path = written(tmp_path, text)
    before = ledger.head()
    with pytest.raises(UsageError, match=said) as problem:
        freeze_prediction(ledger, path)
    assert str(path) in str(problem.value)
    assert "\n" not in str(problem.value)
    assert ledger.head() == before


def test_a_file_that_can_not_be_read_is_named(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b"suite = '\xff'")
    os.mkfifo(tmp_path / "pipe.toml")
    for name, said in (
        ("none.toml", "can't be read"), ("latin.toml", "not UTF-8"), ("pipe.toml", "got something else"), (".", "got"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=said):
            freeze_prediction(ledger, tmp_path / name)


def test_a_bad_prediction_makes_no_ledger_and_freezes_no_suite(tmp_path: Path) -> None:
    db = tmp_path / "new.db"
    with pytest.raises(UsageError, match="expected one of"):
        freeze_all("authority", (), [written(tmp_path, BAR.replace("direction", "wit"))], db)
    assert not db.exists()
    with pytest.raises(UsageError, match="expected a suite to freeze, or --prediction FILE"):
        freeze_all("", (), [], db)
    (tmp_path / "a").mkdir()
    same = [written(tmp_path, BAR), written(tmp_path / "a", ABOVE)]
    with pytest.raises(UsageError, match="two predictions are called 'expected'"):
        freeze_all("", (), same, db)


def test_freeze_takes_a_prediction_alone_or_beside_a_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = tmp_path / "new.db"

    def freeze(*arguments: str) -> Any:
        assert run_app(app, "harness", ["freeze", *arguments, "--db", str(db), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    path = str(written(tmp_path, BAR))
    alone = freeze("--prediction", path)
    assert alone == {"prompts": {}, "fixtures": {}, "rules": {}, "predictions": {"expected": 3}, "new": 1}
    again = freeze("authority", "--prediction", path)
    assert again["predictions"] == {"expected": 3}
    assert again["new"] == sum(len(again[name]) for name in ("prompts", "fixtures", "rules"))
    assert freeze("authority", "--prediction", path)["new"] == 0
    with Ledger.open(db, read_only=True) as ledger:
        (row,) = ledger.rows("SELECT what, name FROM freezes WHERE what = 'prediction'")
        assert (row["what"], row["name"]) == ("prediction", "expected")
        assert ledger.blob(3, "file") == Path(path).read_bytes()


def test_a_suite_that_is_known_from_the_ledger_alone_can_be_predicted(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored_run(ledger, {"a/x": outcomes(9)})
    monkeypatch.chdir(tmp_path)
    assert freeze_prediction(ledger, written(tmp_path, BAR))[1]
    label = rule_set().label
    held = written(tmp_path, BAR.replace("[[expect]]", f'rules = "{label}"\n[[expect]]'), "labelled")
    assert freeze_prediction(ledger, held)[1]


# Which came first


def test_a_prediction_before_the_first_response_is_confirmatory_and_one_after_it_post_hoc(
    ledger: Ledger, tmp_path: Path
) -> None:
    first, _ = freeze_prediction(ledger, written(tmp_path, BAR, "early"))
    run = scored_run(ledger, {"a/x": outcomes(9)})
    second, _ = freeze_prediction(ledger, written(tmp_path, ABOVE, "late"))
    early, late = predictions_for(ledger, run)
    assert (early.seq, early.name, early.before, early.standing) == (first, "early", True, "confirmatory")
    assert (late.seq, late.name, late.before, late.standing) == (second, "late", False, "post hoc")
    assert "frozen after the first response" in late.because
    assert [held.before for held in predictions_for(ledger, scored_run(ledger, {"a/x": outcomes(3)}))] == [True, True]


def test_another_file_name_and_another_clock_change_nothing(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = scored_run(ledger, {"a/x": outcomes(9)})
    # A clock that claims that all of this was long ago.
    monkeypatch.setattr("ledger._append.now_text", lambda: "2001-01-01T00:00:00.000000Z")
    path = written(tmp_path, BAR, "2001-01-01-before-everything")
    os.utime(path, (0, 0))
    seq, _ = freeze_prediction(ledger, path)
    assert ledger.event(seq).at.startswith("2001-01-01")
    assert the_only(ledger, run).before is False


def test_the_same_file_under_another_name_counts_where_it_was_first(ledger: Ledger, tmp_path: Path) -> None:
    first = freeze_prediction(ledger, written(tmp_path, BAR, "one"))
    assert freeze_prediction(ledger, written(tmp_path, BAR, "two")) == (first[0], False)
    run = scored_run(ledger, {"a/x": outcomes(9)})
    assert the_only(ledger, run).name == "one"


def test_predictions_of_other_suites_are_not_among_them_and_as_of_an_earlier_size_later_ones_are_not(
    ledger: Ledger, tmp_path: Path
) -> None:
    run = scored_run(ledger, {"a/x": outcomes(9)})
    other = scored_run(ledger, {"a/x": outcomes(9)}, suite=replace(suite_here(), name="seniority"))
    size = ledger.head()[0]
    freeze_prediction(ledger, written(tmp_path, BAR))
    assert the_only(ledger, run).name == "expected"
    assert predictions_for(ledger, other) == []
    assert predictions_for(ledger, run, size=size) == []


def test_a_superseded_prediction_is_marked_and_a_withheld_one_is_listed_unread(ledger: Ledger, tmp_path: Path) -> None:
    seq, _ = freeze_prediction(ledger, written(tmp_path, BAR))
    run = scored_run(ledger, {"a/x": outcomes(9)})
    target = Target(what="freeze", id=str(seq))
    ledger.append(Draft(Supersede(target=target, by=None, category="other", reason="a typing error")))
    assert the_only(ledger, run).superseded
    redact(ledger.path, find_targets(ledger, [f"{seq}:file"]), category="other", reason="a test")
    held = the_only(ledger, run)
    assert (held.prediction, held.results) == (None, ())
    assert "not in the file" in held.unread
    again, fresh = freeze_prediction(ledger, written(tmp_path, BAR))
    assert fresh, "what nobody can read is no prediction any more"
    assert the_only(ledger, run).seq == again


# Judged


@pytest.mark.parametrize(
    ("right", "other", "status"),
    [(9, "wrong", "met"), (8, "wrong", "not met"), (8, "error", "undecided"), (12, "wrong", "met"), (0, "error", None)],
)
def test_a_bar_is_met_not_met_or_undecided_where_the_unmeasured_could_turn_it(
    ledger: Ledger, tmp_path: Path, right: int, other: str, status: str | None
) -> None:
    freeze_prediction(ledger, written(tmp_path, BAR))
    held = the_only(ledger, scored_run(ledger, {"a/x": outcomes(right, other)}))
    ((judged),) = held.results
    assert (judged.candidate, judged.status) == ("a/x", status or "undecided")
    assert judged.figure == ("no data" if status is None else f"{right}/{12 if other == 'wrong' else right}")
    assert judged.standing == "confirmatory"


def test_a_bar_is_held_for_every_candidate_unless_it_names_one(ledger: Ledger, tmp_path: Path) -> None:
    freeze_prediction(ledger, written(tmp_path, BAR, "all"))
    freeze_prediction(ledger, written(tmp_path, BAR + 'candidate = "b/y"\n', "one"))
    freeze_prediction(ledger, written(tmp_path, BAR + 'candidate = "nobody"\n', "none"))
    run = scored_run(ledger, {"a/x": outcomes(10), "b/y": outcomes(2)})
    every, one, none = predictions_for(ledger, run)
    assert statuses(every) == [("a/x", "met"), ("b/y", "not met")]
    assert statuses(one) == [("b/y", "not met")]
    assert statuses(none) == [("nobody", "undecided")]


@pytest.mark.parametrize(
    ("a", "b", "status", "why"),
    [
        (outcomes(10), outcomes(4), "met", "a/x is 0.500 above b/y."),
        (outcomes(4), outcomes(10), "not met", "a/x is 0.500 below b/y."),
        (outcomes(4), outcomes(4), "not met", "The two are the same."),
        (outcomes(4), outcomes(0, "refused"), "undecided", "b/y has no measured cell."),
        (outcomes(4), None, "undecided", "b/y has no figure of this metric in the run."),
        (outcomes(1, "error"), outcomes(6), "undecided", "on what was measured, but the 11 left out could turn it."),
        (outcomes(6), outcomes(6, "error"), "not met", "a/x is 0.500 below b/y."),
        (outcomes(8), outcomes(6, "error"), "undecided", "but the 6 left out could turn it."),
        (outcomes(10, "refused"), outcomes(4), "met", "a/x is 0.667 above b/y."),
        (outcomes(3), outcomes(4, "refused"), "not met", "a/x is 0.750 below b/y."),
    ],
)
def test_one_candidate_above_another_is_judged_by_their_rates(
    ledger: Ledger, tmp_path: Path, a: dict[str, str], b: dict[str, str] | None, status: str, why: str
) -> None:
    freeze_prediction(ledger, written(tmp_path, ABOVE))
    held = the_only(ledger, scored_run(ledger, {"a/x": a, **({"b/y": b} if b else {})}))
    ((judged),) = held.results
    assert (judged.status, judged.candidate) == (status, "a/x above b/y")
    assert judged.why.endswith(why)


def test_rules_narrow_it_to_one_rule_set_and_without_them_each_is_judged_with_its_standing(
    ledger: Ledger, tmp_path: Path
) -> None:
    freeze_prediction(ledger, written(tmp_path, BAR, "any"))
    freeze_prediction(ledger, written(tmp_path, BAR.replace("[[", 'rules = "fence-cite"\n[[', 1), "fence"))
    freeze_prediction(ledger, written(tmp_path, BAR.replace("[[", 'rules = "strict-span"\n[[', 1), "span"))
    sets = [rule_set("strict-cite"), rule_set("fence-cite")]
    run = scored_run(ledger, {"a/x": outcomes(9)}, rules=sets)
    anything, fence, span = predictions_for(ledger, run)
    assert [each.rules for each in anything.results] == [each.label for each in sets]
    assert [each.rules for each in fence.results] == [sets[1].label]
    assert [(each.rules, each.status, each.standing) for each in span.results] == [("strict-span", "undecided", "")]
    assert json.loads(json.dumps([each.as_json() for each in (anything, fence, span)]))


def test_a_prediction_of_another_release_does_not_stop_the_others(ledger: Ledger, tmp_path: Path) -> None:
    freeze = Freeze(what="prediction", name="future", digest="1" * 64, identity="1" * 64)
    ledger.append(Draft(freeze, blobs={"file": b"suite = 'authority'\nodds = 3\n"}))
    freeze_prediction(ledger, written(tmp_path, BAR))
    future, ours = predictions_for(ledger, scored_run(ledger, {"a/x": outcomes(9)}))
    assert (future.prediction, ours.results[0].status) == (None, "met")
    assert "unknown key 'odds'" in future.unread


def test_what_is_parsed_is_what_was_written() -> None:
    found = parse_prediction(
        (BAR + 'candidate = "b/y"\n' + ABOVE.partition("\n")[2]).encode(), "here", ["direction", "exact"]
    )
    assert [each.text for each in found.expect] == ["direction >= 9/12 (b/y)", "exact: a/x above b/y"]
    assert (found.suite, found.rules, found.about) == ("authority", "", "as told")
