"""Figures over some of the cases and by group: with nothing left out they are the view's own."""

from __future__ import annotations

import json
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from harness._by import narrow
from harness._errors import UsageError
from harness._filter import read_filters
from harness._report import RunReport, read_report, render_report
from ledger import Ledger, find_run
from tests.harness.capitals import CAPITALS, Capitals, knows
from tests.harness.models import Answer, model_server
from tests.harness.reported import copied
from tests.harness.scored import case_line, scored_run

FIGURES = (
    "k", "n", "planned", "unmeasured", "rate", "low", "high", "sd", "worst", "best", "case_low", "case_high",
    "interval_low", "interval_high", "interval_by",
)  # fmt: skip


def figures(row: Any) -> dict[str, Any]:
    return {name: pytest.approx(row[name]) if isinstance(row[name], float) else row[name] for name in FIGURES}


def latest(ledger: Ledger) -> RunReport:
    return read_report(ledger, find_run(ledger, "latest"))


def ledger_of(folder: Path) -> Ledger:
    return Ledger.open(folder / "ledger.db", read_only=True)


@pytest.mark.parametrize("epochs", [1, 2])
def test_a_condition_that_every_case_meets_gives_the_figures_of_the_view(epochs: int, tmp_path: Path) -> None:
    copied(tmp_path, epochs=epochs)
    with ledger_of(tmp_path) as ledger:
        whole = latest(ledger)
        part = narrow(ledger, whole, read_filters(["fixture=v0"]))
    assert any(row["n"] < row["planned"] for row in whole.scoreboard), "something must be unmeasured"
    assert [figures(row) for row in whole.scoreboard] == [{n: row[n] for n in FIGURES} for row in part.scoreboard]
    assert part.data["unmeasured"] == whole.data["unmeasured"]
    assert (part.data["subset"]["cases"], part.data["subset"]["standing"]) == (part.data["subset"]["of"], "post hoc")


def test_repeats_that_are_twins_have_the_interval_that_repeats_in_epochs_have(tmp_path: Path) -> None:
    names = [f"c{at}/{twin}" for at in range(12) for twin in range(3)]
    lines = [case_line(each, text=f"- {each.partition('/')[0]}\n- two\n") for each in names]
    told = {each: "right" if int(each[1:].partition("/")[0]) < 9 else "wrong" for each in names}
    thrice = {each.partition("/")[0]: [told[each]] * 3 for each in names}
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        runs = scored_run(ledger, {"a/x": told}, lines=lines), scored_run(ledger, {"a/x": thrice}, epochs=3)
        twins, epochs = (read_report(ledger, run) for run in runs)
        part = narrow(ledger, twins, read_filters(["fixture=one"]))
        one = narrow(ledger, twins, read_filters(["id=c0/0"]))
    shown, row = (next(each for each in found.scoreboard if each["metric"] == "exact") for found in (twins, epochs))
    assert (row["k"], row["n"], row["interval_by"]) == (27, 36, "cases")
    assert figures(shown) == {name: row[name] for name in FIGURES}
    assert [figures(each) for each in twins.scoreboard] == [{n: each[n] for n in FIGURES} for each in part.scoreboard]
    assert {each["interval_by"] for each in one.scoreboard if each["n"]} == {"cells"}, "one cell repeats nothing"
    said = [str(each) for each in render_report(twins)]
    assert any("Some cases ask the very same input" in each for each in said)


def test_one_group_of_everything_is_the_whole_and_groups_add_up_to_it(tmp_path: Path) -> None:
    copied(tmp_path)
    with ledger_of(tmp_path) as ledger:
        whole = latest(ledger)
        (one,), every = (narrow(ledger, whole, by=key).data["groups"]["groups"] for key in ("fixture", "id"))
        rows = narrow(ledger, whole, by="fixture").data["groups"]["rows"]
        alone = narrow(ledger, whole, by="id").data["groups"]["rows"]
    assert (one["group"], one["cases"]) == ("v0", len(every))
    assert [figures(row) for row in whole.scoreboard] == [{n: row[n] for n in FIGURES} for row in rows]
    for row in whole.scoreboard:
        mine = [each for each in alone if all(each[n] == row[n] for n in ("rules", "candidate", "metric"))]
        assert [sum(each[n] or 0 for each in mine) for n in ("k", "n", "planned")] == [
            row["k"],
            row["n"],
            row["planned"],
        ]


def test_cells_that_nobody_scored_are_planned_in_a_part_too(tmp_path: Path) -> None:
    capitals, asked = Capitals(tmp_path), threading.Event()

    def answer(prompt: str) -> Answer:
        if "Norway" in prompt:
            asked.set()
            time.sleep(0.5)
        return knows(*CAPITALS)(prompt)

    with model_server(answer) as server:
        process = capitals.start(
            "harness", "run", "capitals", "--engine", "openai/a", "--base-url", server.openai, "--max-connections", "1"
        )  # fmt: skip
        assert asked.wait(60)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    with ledger_of(tmp_path) as ledger:
        whole = latest(ledger)
        part = narrow(ledger, whole, read_filters(["fixture=v0"]))
        asia = narrow(ledger, whole, read_filters(["meta.region=asia"]))
    assert {row["planned"] for row in whole.scoreboard if row["is_primary"]} == {6}
    assert [figures(row) for row in whole.scoreboard] == [{n: row[n] for n in FIGURES} for row in part.scoreboard]
    assert part.data["unmeasured"] == whole.data["unmeasured"]
    assert {(row["n"], row["planned"]) for row in asia.scoreboard if row["is_primary"]} == {(0, 2)}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Capitals:
    """Two models: one knows Europe but for Norway, the other everything."""
    capitals = Capitals(tmp_path_factory.mktemp("capitals"))
    with model_server(knows("France", "Italy")) as europe, model_server(knows(*CAPITALS)) as world:
        capitals.harness(
            "run", "capitals", "--engine", "openai/europe", "--engine", "openai/world", "--base-url", europe.openai,
            "--base-url", world.openai,
        )  # fmt: skip
    return capitals


def primary(rows: Any, candidate: str) -> list[Any]:
    return [row for row in rows if row["is_primary"] and row["candidate"] == candidate]


def test_report_by_group_has_a_row_for_each_value_and_one_for_cases_without_it(asked: Capitals) -> None:
    found = asked.harness("report", "latest", "--by", "meta.region")["groups"]
    assert found["groups"] == [
        {"group": "asia", "cases": 2}, {"group": "europe", "cases": 3}, {"group": None, "cases": 1},
    ]  # fmt: skip
    rows = {row["group"]: (row["k"], row["n"], row["planned"]) for row in primary(found["rows"], "openai/europe")}
    assert rows == {"asia": (0, 2, 2), "europe": (2, 3, 3), None: (0, 1, 1)}
    out, _ = asked.words("report", "latest", "--by", "meta.region")
    assert "By meta.region under strict@" in out and "(none)" in out and "2/3" in out and "post hoc" in out
    levels = asked.harness("report", "latest", "--by", "meta.level")["groups"]["groups"]
    assert [each["group"] for each in levels] == ["1", "2", "3"]


def test_report_of_some_cases_says_on_top_that_it_is_a_part_chosen_afterwards(asked: Capitals) -> None:
    found = asked.harness("report", "latest", "--filter", "meta.region=europe", "--filter", "meta.level=1")
    (row,) = primary(found["scoreboard"], "openai/europe")
    assert (row["k"], row["n"], row["planned"], row["standing"]) == (2, 2, 2, "post hoc")
    assert found["subset"]["filter"] == ["meta.region=europe", "meta.level=1"]
    assert (found["subset"]["cases"], found["subset"]["of"], found["bars"]) == (2, 6, [])
    out, _ = asked.words("report", "latest", "--filter", "meta.region=europe")
    assert "SUBSET: only cases where meta.region=europe (3 of 6), chosen when the answers were known" in out
    assert "(post hoc" in out and "confirmatory" not in out


def test_compare_of_some_cases_pairs_those_alone(asked: Capitals) -> None:
    whole = asked.harness("compare", "latest", "--metric", "correct")["comparisons"][0]
    part = asked.harness("compare", "latest", "--metric", "correct", "--filter", "meta.region!=asia")
    found = part["comparisons"][0]
    assert (whole["cases"], found["cases"], part["filter"]) == (6, 4, ["meta.region!=asia"])
    (metric,) = found["metrics"]
    assert (metric["both"], metric["only_a"], metric["only_b"], metric["neither"]) == (2, 0, 2, 0)
    assert found["missing"] == []
    every = asked.harness("compare", "latest", "--metric", "correct", "--filter", "meta.level>0")["comparisons"][0]
    assert every["metrics"] == whole["metrics"]
    out, _ = asked.words("compare", "latest", "--filter", "meta.region=asia")
    assert out.startswith("SUBSET: only cases where meta.region=asia")


def test_compare_by_group_pairs_the_cases_of_each_group(asked: Capitals) -> None:
    (pair,) = asked.harness("compare", "latest", "--metric", "correct", "--by", "meta.region")["comparisons"]
    groups = {each["group"]: (each["cases"], each["metrics"][0]["only_b"]) for each in pair["groups"]}
    assert groups == {"asia": (2, 2), "europe": (3, 1), None: (1, 1)}
    alone = asked.harness("compare", "latest", "--metric", "correct", "--filter", "meta.region=europe")
    europe = next(each for each in pair["groups"] if each["group"] == "europe")
    assert europe["metrics"] == alone["comparisons"][0]["metrics"]
    out, _ = asked.words("compare", "latest", "--by", "meta.region")
    assert "By meta.region, each group a part" in out and "(none)" in out and "by chance" in out
    assert "no case has 'meta.continent'" in asked.words("compare", "latest", "--by", "meta.continent", expect=2)[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--filter", "meta.region=africa"), "no case fits; meta.region is asia, europe"),
        (("--filter", "meta.regoin=asia"), "no case has 'meta.regoin'; did you mean meta.region?"),
        (
            ("--by", "region"),
            "--by: expected id, fixture or meta.NAME, got 'region'; a case's own label is meta.region",
        ),
        (("--by", "meta.continent"), "--by: no case has 'meta.continent'"),
        (("--by", "meta.region", "-o", "x.md"), "a report file is of a whole run"),
        (("--filter", "meta.level=1", "--format", "json"), "a report file is of a whole run"),
        (("--filter", "meta.level=1", "--gate"), "--gate holds a whole run to its bars"),
    ],
)
def test_what_a_report_cannot_part_by_is_one_sentence(asked: Capitals, arguments: Any, said: str) -> None:
    _, errors = asked.words("report", "latest", *arguments, expect=2)
    assert said in errors and errors.count("\n") == 1
    assert not (asked.folder / "x.md").exists()


def test_a_part_without_a_run_is_refused(asked: Capitals) -> None:
    assert "expected a RUN" in asked.words("report", "--by", "meta.region", expect=2)[1]


def test_more_than_fifty_groups_are_cut_for_people_and_whole_in_json(tmp_path: Path) -> None:
    capitals = Capitals(tmp_path)
    lines = [json.dumps({"id": f"c{n:02}", "input": "Peru", "gold": "Lima", "meta": {"n": n}}) for n in range(60)]
    (capitals.suite / "v0/cases.jsonl").write_text("\n".join(lines) + "\n")
    with model_server(knows("Peru")) as server:
        capitals.harness("run", "capitals", "--engine", "openai/a", "--base-url", server.openai)
    out, _ = capitals.words("report", "latest", "--by", "meta.n")
    assert "10 of the 60 groups are left out here; --json has all." in out
    found = capitals.harness("report", "latest", "--by", "meta.n")["groups"]["groups"]
    assert [each["group"] for each in found] == [str(n) for n in range(60)]


def test_where_the_cases_were_withheld_no_part_can_be_told(tmp_path: Path) -> None:
    capitals = Capitals(tmp_path)
    with model_server(knows(*CAPITALS)) as server:
        capitals.harness("run", "capitals", "--engine", "openai/a", "--base-url", server.openai)
    (seq,) = [each["seq"] for each in capitals.bodies("freeze") if each["what"] == "fixture"]
    capitals.ledger("redact", f"{seq}:file", "--category", "personal", "--reason", "a person asked for it")
    for command in (("report", "latest", "--by", "meta.region"), ("report", "latest", "--filter", "meta.level=1")):
        _, errors = capitals.words(*command, expect=4)
        assert "the cases of v0" in errors and "is not in the file" in errors
    capitals.words("report", "latest")


def test_a_key_is_checked_before_anything_is_read(tmp_path: Path) -> None:
    copied(tmp_path)
    with ledger_of(tmp_path) as ledger, pytest.raises(UsageError, match=r"expected id, fixture or meta\.NAME"):
        narrow(ledger, latest(ledger), by="topic")
