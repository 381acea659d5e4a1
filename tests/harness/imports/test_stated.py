"""Totals that an artifact states are held against its own rows: where they differ, both numbers are said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._stated import Stated, agrees
from tests.harness.imports.artifacts import CASES, FORMAT, artifact, cell, fixture, good, put, reply
from tests.harness.imports.commands import Commands

RIGHT: dict[str, Any] = {
    "cases": 4, "positives": 2, "positives_caught": 1, "positive_misses": 1, "negatives": 2, "negatives_passed": 1,
    "negative_false_fires": 1, "malformed_cases": 1, "accuracy": 0.5, "recall": "50%", "false_fire_rate": 0.5,
    "remove_confirmer_negative_false_fires": 1, "remove_citation_negative_false_fires": 0,
}  # fmt: skip


def scored(name: str, output: str, *reasons: str, positive: bool, hit: bool) -> dict[str, Any]:
    score = {
        "expected_positive": positive, "caught": hit if positive else None, "missed": not hit if positive else None,
        "negative_passed": None if positive else hit,
    }  # fmt: skip
    more: dict[str, Any] = {
        "ablation_remove_confirmer": {"would_false_fire_without_confirmation": not hit},
        "ablation_remove_citation_requirement": {"negative_passed": True},
    }
    return cell(name, output, *reasons, score=score, **({} if positive else more))


ROWS = [
    scored("seedlings", good(CASES[0]), positive=True, hit=True),
    scored("vents", "nothing to say", "proposer returned non-json output", positive=True, hit=False),
    scored("frost history", reply(), positive=False, hit=True),
    scored("orchids / 2", reply(), positive=False, hit=False),
]


def made(folder: Path, summary: dict[str, Any], rows: list[dict[str, Any]] | None = None, **more: Any) -> Commands:
    """A ledger with the artifact in it, imported at the command line; `said` is what that said."""
    whole = artifact({"small": ROWS if rows is None else rows}, **more)
    whole["engines"][0]["summary"] = summary
    commands = Commands(folder / "ledger.db")
    put(folder / "run.json", whole)
    put(folder / "cases.json", fixture())
    status = commands.call("import", FORMAT, str(folder / "run.json"), "--fixture", str(folder / "cases.json"))
    assert status == 0, commands.said
    return commands


def test_totals_that_the_rows_bear_out_are_kept_and_nothing_is_said_of_them(tmp_path: Path) -> None:
    commands = made(tmp_path, RIGHT)
    assert "STATED" not in commands.said and "Stated" not in commands.said
    (row,) = commands.json("report", "latest")["imported"]
    assert {each["total"]: each["stated"] for each in row["totals"]} == {key: str(RIGHT[key]) for key in RIGHT}
    assert not any(each["differs"] for each in row["totals"])
    assert {each["total"]: each["rows"] for each in row["totals"]}["accuracy"] == "2/4"


@pytest.mark.parametrize(
    ("name", "stated", "rows"),
    [
        ("positives_caught", 2, "1"), ("negatives_passed", 2, "1"), ("malformed_cases", 0, "1"), ("cases", 40, "4"),
        ("accuracy", 0.75, "2/4"), ("accuracy", 1, "2/4"), ("recall", "100%", "1/2"), ("pass_rate", 0.51, "2/4"),
        ("positives_caught", "two", "1"), ("positives_caught", 100, "1"), ("negative_false_fires", 1.5, "1"),
    ],
)  # fmt: skip
def test_a_total_that_the_rows_dont_give_is_said_with_both_numbers_on_import_and_on_every_report(
    name: str, stated: Any, rows: str, tmp_path: Path
) -> None:
    commands = made(tmp_path, {**RIGHT, name: stated})
    words = f"states {name} {stated}, and its own rows come to {rows}"
    assert f"STATED OTHERWISE: small {words}" in " ".join(commands.said.split())
    assert commands.call("report", "latest") == 0
    assert f"STATED OTHERWISE: the artifact {words}" in " ".join(commands.out.split())
    for form in ("md", "html"):
        file = tmp_path / f"report.{form}"
        assert commands.call("report", "latest", "-o", str(file)) == 0
        assert "STATED OTHERWISE" in file.read_text("utf-8")
        assert commands.call("check", str(file)) == 0, commands.out
    (row,) = commands.json("report", "latest")["imported"]
    assert [each["total"] for each in row["totals"] if each["differs"]] == [name]


def test_what_no_row_tells_is_said_to_be_held_by_nothing(tmp_path: Path) -> None:
    silent = [{key: value for key, value in row.items() if key != "score"} for row in ROWS]
    commands = made(tmp_path, {"positives_caught": 9, "elegance": 0.9, "cases": 4}, silent)
    assert "Stated, and nothing in the rows of small tells: elegance 0.9, positives_caught 9" in " ".join(
        commands.said.split()
    )
    assert commands.call("report", "latest") == 0
    assert "nothing in the rows of the artifact tells: elegance 0.9, positives_caught 9" in " ".join(
        commands.out.split()
    )


def test_totals_of_the_whole_file_are_of_all_its_engines_and_those_by_engine_of_one(tmp_path: Path) -> None:
    whole = artifact({"a": ROWS, "b": ROWS}, summary={"cases": 9, "b": {"positives_caught": 2}}, accuracy=0.5)
    commands = Commands(tmp_path / "ledger.db")
    put(tmp_path / "run.json", whole)
    put(tmp_path / "cases.json", fixture())
    assert commands.call("import", FORMAT, str(tmp_path / "run.json"), "--fixture", str(tmp_path / "cases.json")) == 0
    said = " ".join(commands.said.split())
    assert "states all engines cases 9, and its own rows come to 8" in said
    assert "b states summary.positives_caught 2, and its own rows come to 1" in said
    assert "a states summary.positives_caught" not in said


@pytest.mark.parametrize(
    "summary", [None, [], "fine", {"cases": None, "positives": [], "accuracy": {"a": 1}, "x": True}, {"cases": "\x00"}]
)
def test_what_is_no_total_is_none(summary: Any, tmp_path: Path) -> None:
    made(tmp_path, summary)


@given(st.integers(0, 50), st.integers(1, 50), st.integers(0, 12))
def test_a_share_agrees_with_itself_however_it_is_rounded_and_with_no_other(k: int, n: int, places: int) -> None:
    k = min(k, n)
    share, text = k / n, f"{k}/{n}"
    assert agrees(repr(share), text) and agrees(text, text)
    if places:
        assert agrees(f"{share:.{places}f}", text) and agrees(f"{100 * share:.{places}f}%", text)
    assert agrees(f"{100 * share:.0f}%", text)
    # Far from it, and with places enough that no rounding makes the two one.
    assert not agrees(repr(share + 0.0200001), text) and not agrees(f"{100 * share + 2:.1f}%", text)


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_a_count_agrees_with_itself_alone(stated: int, rows: int) -> None:
    assert Stated("x", str(stated), str(rows)).differs is (stated != rows)
    assert agrees(f"{rows}.0", str(rows)) and not agrees(f"{rows}%", str(rows))
    assert not agrees("NaN", str(rows)) and not agrees("", str(rows)) and not agrees("Infinity", str(rows))


@given(st.integers(0, 200), st.integers(1, 200))
def test_a_share_agrees_with_itself_as_any_arithmetic_of_floats_writes_it(k: int, n: int) -> None:
    k = min(k, n)
    text = f"{k}/{n}"
    for scale, ways in (
        (1, [k / n, 1 - (n - k) / n, sum([1 / n] * k)]),
        (100, [100 * (k / n), 100 * k / n, 100 - 100 * (n - k) / n]),
    ):
        for way in ways:
            # From 1 down it is a share, so a percentage that low wants its sign.
            if scale == 1 or way > 1 + 1e-9:
                assert agrees(repr(way), text), (way, text)
            if scale == 100:
                assert agrees(f"{way!r}%", text), (way, text)
    assert not agrees(repr(k / n + 1e-9), text) and not agrees(f"{100 * k / n + 1e-6!r}%", text)


@pytest.mark.parametrize(
    ("stated", "rows"),
    [
        ("57.99999999999999", "58/100"), ("66.66666666666666", "2/3"), ("85.71428571428572%", "6/7"),
        ("99.99999999999999", "1/1"), ("100.00000000000001", "7/7"), ("1.0000000000000002", "7/7"),
    ],
)  # fmt: skip
def test_a_binary_fraction_is_no_other_number(stated: str, rows: str) -> None:
    assert agrees(stated, rows)
