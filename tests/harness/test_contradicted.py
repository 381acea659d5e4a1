"""Whatever contradicts a run's figures is said wherever they are read, and no figure counts what wasn't planned."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness._check import check_file
from harness._report_data import collect
from harness._report_file import FORMATS, render
from harness.links import held_on_read
from ledger import Ledger, find_run, over_views, verify
from ledger.cli import app, run_app
from tests.forgeries.retold import Fact, Retold
from tests.harness.reported import cli, copied, written
from tests.harness.web.pages import Pages, words

DON_T_HOLD = "THESE NUMBERS DON'T HOLD"


def _again(story: Retold, **said: Any) -> Fact:
    """The first cell's event once more, right after it, saying something else."""
    first = story.all("cell")[0]
    assert first.body is not None
    cell = said.pop("cell", first.cell)
    fact = Fact("cell", first.run, cell, first.at, list(first.causes), {**first.body, **said}, {})
    story.insert(story.all("cell")[-1], fact)
    return fact


def outside_the_plan(story: Retold) -> None:
    _again(story, cell=story.one("plan")["cells"] + 1, case="another", identity="1" * 64)


def a_cell_twice(story: Retold) -> None:
    _again(story, case="another", identity="1" * 64)


def a_case_twice(story: Retold) -> None:
    first, second = story.all("cell")[:2]
    second.update(**{name: first[name] for name in ("case", "input", "gold", "identity")})


def a_label_twice(story: Retold) -> None:
    first, second = story.one("plan")["candidates"]
    for cell in story.all("cell"):
        if cell["candidate"] == second["label"]:
            cell["candidate"] = first["label"]
    second["label"] = first["label"]


def planned_too_small(story: Retold) -> None:
    for rules in story.one("plan")["rules"]:
        for metric in rules["metrics"]:
            metric["planned"] = 1


FORGED: Mapping[str, Callable[[Retold], None]] = {
    each.__name__: each for each in (outside_the_plan, a_cell_twice, a_case_twice, a_label_twice, planned_too_small)
}


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("honest"))


@pytest.fixture(scope="module", params=FORGED)
def forged(honest: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger whose every hash is right, and of which one thing is false."""
    story = Retold(honest)
    FORGED[request.param](story)
    target = tmp_path_factory.mktemp("forged") / "ledger.db"
    story.write(target)
    return target


def data_of(db: Path) -> dict[str, Any]:
    with Ledger.open(db, read_only=True) as ledger:
        return collect(ledger, find_run(ledger, "latest"), ledger.head()[0])


def test_sql_counts_each_planned_cell_once_and_marks_the_figures(forged: Path) -> None:
    with Ledger.open(forged, read_only=True) as ledger:
        rows = ledger.rows(over_views("SELECT * FROM scoreboard"))
        cells = ledger.rows(over_views('SELECT DISTINCT candidate, fixture, "case", epoch, rules FROM cells'))
        whole = ledger.rows(over_views("SELECT count(*) AS cells FROM cells"))[0]["cells"]
    assert all((row["k"] or 0) <= row["n"] <= row["planned"] for row in rows)
    assert len(cells) == whole
    marked = [row for row in rows if not row["held"]]
    assert marked and all(row["held_why"] for row in marked)
    assert not any(row["held_why"] for row in rows if row["held"])


def test_terminal_and_json_say_so_beside_the_figures_and_the_status_is_1(
    forged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli("report", "latest", "--db", forged) == 1
    shown = capsys.readouterr().out
    assert DON_T_HOLD in shown and "doesn't hold: " in shown
    assert cli("report", "latest", "--json", "--db", forged) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["contradicted"]["count"] >= 1
    assert {row["held"] for row in told["scoreboard"] if "held" in row} == {False}
    assert cli("report", "--db", forged) == 1
    assert "doesn't hold" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("form", FORMATS)
def test_report_files_say_so_and_their_check_fails(forged: Path, form: str, tmp_path: Path) -> None:
    data = data_of(forged)
    text = render(data, form).decode()
    first = data["contradicted"]["first"][0]
    assert f"event {first['event']}" in text and ("contradict" in text)
    db = tmp_path / "ledger.db"
    Retold(forged).write(db)
    file = written(db, tmp_path / f"report.{form}").path
    found = check_file(db, file)
    if verify(db).verdict == "TAMPERED":
        # A second cell event of one number is that already, before any link is looked at.
        assert (found.verdict, found.exit_status) == ("tampered", 1)
        return
    assert (found.verdict, found.exit_status) == ("contradicted", 1)
    assert any(DON_T_HOLD in each for each in found.sentences())


def test_the_page_of_the_run_says_so(forged: Path) -> None:
    with Pages(forged) as pages:
        shown = words(pages.run(data_of(forged)["run"]["id"]))
    assert DON_T_HOLD in shown


def test_a_citation_of_a_figure_says_so(forged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Ledger.open(forged, read_only=True) as ledger:
        (tally,) = ledger.sql("SELECT max(seq) FROM main.events WHERE kind = 'tally'").fetchone()
    assert run_app(app, "ledger", ["cite", str(tally), "--db", str(forged)]) == 0
    assert "doesn't hold" in capsys.readouterr().err


def test_an_honest_run_has_no_mark_anywhere(honest: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with Ledger.open(honest, read_only=True) as ledger:
        assert not held_on_read(ledger, find_run(ledger, "latest"))
        assert {row["held"] for row in ledger.rows(over_views("SELECT held FROM scoreboard"))} == {1}
    data = data_of(honest)
    assert "contradicted" not in data and not any("held" in row for row in data["scoreboard"])
    assert cli("report", "latest", "--db", honest) == 0
    assert "DON'T HOLD" not in capsys.readouterr().out
    db = tmp_path / "ledger.db"
    Retold(honest).write(db)
    assert check_file(db, written(db, tmp_path / "report.md").path).verdict == "reproduces"
