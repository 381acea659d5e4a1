"""Frames: whole numbers stay whole, unknown stays unknown, nothing writes; and the notebook page runs as it stands."""

from __future__ import annotations

import builtins
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas
import pytest

import ledger
from ledger import BadQuery, Ledger, LedgerError, NotFound
from ledger._schema import RELEASE, release_objects
from tests.harness.scored import scored_run
from tests.ledger.measured import measured_ledger

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "NOTEBOOK.md").read_text("utf-8")


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Ledger]:
    measured_ledger(tmp_path / "eval.db")
    with ledger.open(tmp_path / "eval.db") as opened:
        yield opened


def test_open_reads_and_cannot_append(book: Ledger, tmp_path: Path) -> None:
    assert book.read_only
    with ledger.open(tmp_path / "eval.db", read_only=False) as writable:
        assert not writable.read_only
    with pytest.raises(LedgerError):
        ledger.open(tmp_path / "none.db")
    assert builtins.open is not ledger.open


def test_the_scoreboard_is_a_frame_whose_counts_are_whole_and_whose_unknowns_are_unknown(book: Ledger) -> None:
    board = book.frame()
    assert len(board) == len(book.rows("SELECT * FROM scoreboard")) > 0
    assert {str(board[name].dtype) for name in ("n", "planned")} == {"Int64"}
    assert str(board["candidate"].dtype).startswith("string")
    assert book.frame("SELECT 1 AS n UNION ALL SELECT NULL")["n"].tolist() == [1, pandas.NA]
    assert str(book.frame("SELECT 1 AS n UNION ALL SELECT NULL")["n"].dtype) == "Int64"


def test_a_column_keeps_what_it_holds(book: Ledger) -> None:
    found = book.frame("SELECT 9007199254740993 AS big, 1.5 AS real, 'x' AS text, x'00ff' AS bytes, NULL AS none_")
    assert found["big"][0] == 9007199254740993, "as a float it would be another number"
    assert (str(found["real"].dtype), str(found["bytes"].dtype)) == ("Float64", "object")
    assert found["bytes"][0] == b"\x00\xff"
    assert found["none_"][0] is None or found["none_"].isna()[0]
    mixed = book.frame("SELECT 1 AS v UNION ALL SELECT 'x'")
    assert mixed["v"].tolist() == [1, "x"]


def test_no_rows_are_a_frame_with_the_columns(book: Ledger) -> None:
    found = book.frame("SELECT seq, kind FROM events WHERE seq < 0")
    assert (list(found.columns), len(found)) == (["seq", "kind"], 0)


def test_parameters_go_by_place_and_by_name(book: Ledger) -> None:
    assert book.frame("SELECT ? + 1 AS n", [1])["n"][0] == 2
    assert book.frame("SELECT :n + 1 AS n", {"n": 1})["n"][0] == 2


@pytest.mark.parametrize("name", ["events", "blobs", "edges", *(
    name for kind, name, _, _ in (release_objects(RELEASE) or pytest.fail()).rows if kind == "view"
)])  # fmt: skip
def test_every_view_and_table_is_a_frame(book: Ledger, name: str) -> None:
    added = ["question", "gold", "answer", "reply", "meta"] if name == "answers" else []
    assert list(book.frame(name).columns) == [
        *(row["name"] for row in book.rows("SELECT name FROM pragma_table_info(?)", (name,))), *added
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("DELETE FROM events", "starts with SELECT"), ("PRAGMA query_only=OFF", "starts with SELECT"),
        ("ATTACH 'x.db' AS x", "starts with SELECT"), ("SELECT * FROM nowhere", "no such table"),
        ("SELECT 1 AS a, 2 AS a", "two columns are called 'a'"), ("SELECT ?", "can't be run"),
        ("WITH x AS (SELECT 1) DELETE FROM events", "can't be run"), ("SELECT 1; SELECT 2", "can't be run"),
        ("", "expected"),
    ],
)  # fmt: skip
def test_what_does_not_read_is_one_sentence(book: Ledger, query: str, says: str) -> None:
    with pytest.raises(BadQuery, match=re.escape(says)) as told:
        book.frame(query)
    assert told.value.exit_status == 2 and "\n" not in str(told.value)


def test_a_view_that_is_none_lists_those_that_are(book: Ledger) -> None:
    with pytest.raises(NotFound, match="scoreboard"):
        book.frame("scores_board")


def test_without_pandas_one_sentence_says_what_to_install(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(BadQuery, match=re.escape("pip install 'eval-ledger[pandas]'")):
        book.frame()


def test_pandas_is_loaded_by_nothing_else(tmp_path: Path) -> None:
    code = (
        "import sys, ledger\n"
        f"book = ledger.open({str(measured_ledger(tmp_path / 'x.db'))!r})\n"
        "book.rows('SELECT 1'); assert 'pandas' not in sys.modules\n"
        "book.frame(); assert 'pandas' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.create(tmp_path / "eval.db") as made:
        scored_run(made, {"a/x": {"c": "right", "d": "wrong", "e": "malformed"}, "b/y": {"c": "right", "d": "right"}})
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) >= 6
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example, "docs/NOTEBOOK.md", "exec"), names)
    differ, failures = names["differ"], names["failures"]
    assert isinstance(differ, pandas.DataFrame) and isinstance(failures, pandas.DataFrame)
    assert differ.index.get_level_values("case").tolist() == ["d"], "e is missing on a side, which is no difference"
    assert failures["cells"].sum() >= 1
    assert names["text"] == b"right"
    best = names["best"]
    assert isinstance(best, pandas.DataFrame) and {"k", "n", "planned"} <= set(best.columns) and len(best) == 2
    assert (tmp_path / "cells.parquet").is_file()
