"""A judge's report on a terminal: two screens, what was left out said, and all of it behind --explain."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness._report_short import MOST_ROWS
from tests.harness.judged import Bench, judge
from tests.harness.models import Answer
from tests.harness.reported import cli

SCREEN = 50


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """Twelve answers that a judge graded who can't add up: the ledger, the run that was graded, and the judge's."""
    bench = Bench(tmp_path_factory.mktemp("short"))
    run = bench.run(lambda prompt: Answer(f"It falls: {prompt[:14]}"), epochs=3)
    done = bench.grade(run, judge(total=9, verdict="pass"))
    assert done.finished.planned == 12
    return bench.db, run, done.finished.run


def shown(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert cli("report", *arguments) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("which", [1, 2])
def test_twelve_graded_cells_fit_two_screens_with_every_total_beside_the_one_worked_out(
    which: int, graded: tuple[Path, str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = shown(capsys, graded[which], "--db", graded[0])
    assert len(text.splitlines()) <= 2 * SCREEN
    totals = text[text.index("The judge's own totals") :].splitlines()[3 : 3 + MOST_ROWS]
    assert all(line.split()[2:5] == ["9", "4", "differs"] for line in totals)
    assert "Rows left out: Graded answers (5 of 0); The judge's own claims (8 of 0)." in " ".join(text.split())


def test_explain_shows_every_row_and_what_each_table_counts(
    graded: tuple[Path, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = " ".join(shown(capsys, graded[2], "--db", graded[0], "--explain").split())
    for said in ("no reply 0 12 0.0%", "fail over pass 0 12", "A silent judge is a miss only where", "both missed"):
        assert said in text
    assert "--explain" not in text


def test_what_is_left_out_for_want_of_room_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench(tmp_path)
    run = bench.run(lambda prompt: Answer(f"It falls: {prompt[:14]}"), epochs=4)
    bench.grade(run, judge(total=9))
    text = " ".join(shown(capsys, run, "--db", bench.db).split())
    assert "The judge's own totals, text by text (4 more)." in text
