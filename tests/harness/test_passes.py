"""pass@k and pass^k for any k: by hand, by drawing, in SQL, and at the command line."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._errors import UsageError
from harness._passes import Samples, estimate, read_ks
from harness._report import read_report, render_report
from ledger import Ledger, over_views
from tests.harness.reported import cli
from tests.harness.scored import scored_run
from tests.harness.test_repeats import run_of, told


@given(st.lists(st.lists(st.booleans(), max_size=6), min_size=1, max_size=6), st.integers(1, 7))
def test_both_are_means_over_every_way_to_draw_k_answers_of_the_cases_that_have_so_many(
    answers: list[list[bool]], k: int
) -> None:
    found = estimate([Samples(str(at), len(each), sum(each)) for at, each in enumerate(answers)], k)
    enough = [list(combinations(each, k)) for each in answers if len(each) >= k]
    assert (found["cases"], found["left_out"]) == (len(enough), len(answers) - len(enough))
    if not enough:
        why = "k_exceeds_n" if any(answers) else "no_data"
        assert (found["pass_at"], found["pass_hat"], found["reason"]) == (None, None, why)
        return
    for name, hit in (("pass_at", any), ("pass_hat", all)):
        mean = sum(sum(map(hit, draws)) / len(draws) for draws in enough) / len(enough)
        assert found[name] == pytest.approx(mean, abs=1e-12)
        assert found[f"{name}_low"] <= found[name] + 1e-12 and found[name] - 1e-12 <= found[f"{name}_high"]


def test_a_case_with_too_few_measured_answers_is_left_out_and_counted_and_unmeasured_is_no_failure(
    ledger: Ledger,
) -> None:
    run = run_of(ledger, 4, a="rrww", b="rrrm", c="wmmm", d="mmmm")
    report = read_report(ledger, run)
    (row,) = report.data["repeatability"]
    once, four = row["passes"]
    assert (once["k"], once["pass_at"], once["cases"], once["left_out"]) == (1, pytest.approx((0.5 + 1 + 0) / 3), 3, 1)
    assert (four["pass_at"], four["pass_hat"], four["left_out"]) == (1.0, 0.0, 3)
    text = " ".join(told(render_report(report)).split())
    assert "pass@1 0.500 (1 of 4 cases left out: fewer measured answers than 1)" in text
    assert "pass@4 1.000 and pass^4 0.000 (3 of 4 cases left out: fewer measured answers than 4)" in text


def test_the_view_gives_the_same_for_every_k(ledger: Ledger) -> None:
    cases = {"a": "rrwww", "b": "rrrmm", "c": "wwwww", "d": "rrrrr", "e": "mmmmm", "f": "rwmmm"}
    run = run_of(ledger, 5, **cases)
    rows = ledger.rows(over_views("SELECT * FROM passes WHERE run = ? ORDER BY k"), (run,))
    samples = [Samples(name, len(said.replace("m", "")), said.count("r")) for name, said in cases.items()]
    assert [row["k"] for row in rows] == [1, 2, 3, 4, 5]
    for row in rows:
        found = estimate(samples, row["k"])
        assert (row["cases"], row["left_out"]) == (found["cases"], found["left_out"])
        assert row["pass_at"] == pytest.approx(found["pass_at"], abs=1e-12)
        assert row["pass_hat"] == pytest.approx(found["pass_hat"], abs=1e-12)


def test_twins_of_one_input_are_one_cluster_of_the_interval() -> None:
    apart = estimate([Samples(str(at), 2, at % 3) for at in range(30)], 1)
    together = estimate([Samples(str(at % 3), 2, at % 3) for at in range(30)], 1)
    assert apart["pass_at"] == together["pass_at"]
    assert together["pass_at_high"] - together["pass_at_low"] > apart["pass_at_high"] - apart["pass_at_low"]


def test_the_command_line_gives_any_k_by_rule_set_and_says_why_there_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = tmp_path / "ledger.db"
    with Ledger.create(db, origin="test/passes") as ledger:
        run = run_of(ledger, 3, a="rrw", b="wrm", c="rrr")
    assert cli("report", run, "--db", db, "--pass-at", "2, 1,2,9", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["pass_at"]
    assert [(row["k"], row["cases"], row["left_out"], row["reason"]) for row in rows] == [
        (1, 3, 0, ""), (2, 3, 0, ""), (9, 0, 3, "k_exceeds_n"),
    ]  # fmt: skip
    assert rows[1]["pass_at"] == pytest.approx((1 + 1 + 1) / 3)
    assert rows[1]["pass_hat"] == pytest.approx((1 / 3 + 0 + 1) / 3)
    assert cli("report", run, "--db", db, "--pass-at", "2,9") == 0
    text = capsys.readouterr().out
    assert "pass@k and pass^k" in text and "too few answers" in text and "0.444" in text


@pytest.mark.parametrize("said", ["0", "-1", "1.5", "one", "1;2", "", " ", "1,,2", "9999999", "\u0661", "1e2"])
def test_what_is_no_k_is_refused_in_one_sentence(said: str) -> None:
    with pytest.raises(UsageError, match="--pass-at: expected whole numbers"):
        read_ks(said)


@pytest.mark.parametrize("more", [["--format", "md"], ["--by", "meta.x"], ["--filter", "meta.x=1"]])
def test_a_part_and_a_file_have_none(more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = tmp_path / "ledger.db"
    with Ledger.create(db, origin="test/passes") as ledger:
        run = scored_run(ledger, {"a/x": {"a": ["right", "wrong"]}}, epochs=2)
    assert cli("report", run, "--db", db, "--pass-at", "2", *more) == 2
    assert "--pass-at is of one whole run" in capsys.readouterr().err
