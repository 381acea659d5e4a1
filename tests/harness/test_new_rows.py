"""Tables are read as they stand: the text of a cell, the slice of a JSON line, and the line that each row begins on."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._errors import UsageError
from harness._new_rows import Table, read_table


def table(tmp_path: Path, text: str | bytes, name: str = "t.csv", **options: str) -> Table:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return read_table(path, **options)


def cells(found: Table) -> list[tuple[str, dict[str, object]]]:
    return [
        (row.where, {name: None if text is None else json.loads(text) for name, text in row.values.items()})
        for row in found.rows
    ]


def test_cells_are_text_and_never_guessed_at(tmp_path: Path) -> None:
    found = table(tmp_path, "a,b\n1.50,007\nTRUE, x \n1e5,=1+1\n")
    assert cells(found) == [
        ("line 2", {"a": "1.50", "b": "007"}), ("line 3", {"a": "TRUE", "b": " x "}),
        ("line 4", {"a": "1e5", "b": "=1+1"}),
    ]  # fmt: skip


def test_a_row_is_known_by_the_line_it_begins_on_whatever_stands_in_quotes(tmp_path: Path) -> None:
    found = table(tmp_path, 'a,b\r\n"x\r\ny ""z""\r\n",1\r\n\r\n2,3\r\n')
    assert cells(found) == [("line 2", {"a": 'x\r\ny "z"\r\n', "b": "1"}), ("line 6", {"a": "2", "b": "3"})]


def test_a_byte_order_mark_and_excels_separator_line_and_empty_columns_are_no_data(tmp_path: Path) -> None:
    found = table(tmp_path, "\ufeffsep=;\r\nquestion;answer;;\r\na;b;;\r\n;;;\r\nc;d;;\r\n")
    assert found.columns == ("question", "answer")
    assert cells(found) == [("line 3", {"question": "a", "answer": "b"}), ("line 5", {"question": "c", "answer": "d"})]
    assert found.empty == 1
    assert [row.number for row in found.rows] == [1, 3], "an empty row counts, so that ids stay with their rows"


def test_too_few_and_too_many_cells_are_a_rows_own_fault(tmp_path: Path) -> None:
    found = table(tmp_path, "a,b\n1\n1,2,3\n1,2\n")
    assert [(row.where, row.fault) for row in found.rows] == [
        ("line 2", "expected 2 cells, got 1: too few"),
        ("line 3", "expected 2 cells, got 3: too many; a cell with the delimiter in it needs quotes"),
        ("line 4", ""),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("question;answer\na;b\n", "the header has one column, 'question;answer'; try --delimiter ';'"),
        ("question\tanswer\na\tb\n", "try --delimiter tab"),
        ("a,b,a\n1,2,3\n", "the column 'a' stands twice; the header is a, b, a"),
        ("a,,b\n1,2,3\n", "column 2 has no name; the header is a, (no name), b"),
        ("", "expected a header"),
        ('a,b\n1,"x\n2,3\n', "the record that begins on line 2 can't be read: a quote is opened and never closed"),
        ('a,b\n1,2\n"x"y,3\n', "the record that begins on line 3 can't be read: text stands after a closing quote"),
        ("a,b\n1,\0\n", "line 2: holds a NUL character"),
        (b"a,b\n1,caf\xe9\n", "line 2: not UTF-8 (byte 9). It reads as Windows-1252 ('1,caf\xe9')"),
        ("a,b\n1,2\n".encode("utf-16"), "this is UTF-16"),
        (b"PK\x03\x04rest", "this is a spreadsheet"),
    ],
)  # fmt: skip
def test_what_cant_be_read_as_a_whole_is_one_sentence(tmp_path: Path, text: str | bytes, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        table(tmp_path, text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_delimiter_and_the_encoding_can_be_said(tmp_path: Path) -> None:
    assert cells(table(tmp_path, "a;b\n1,5;2\n", delimiter=";")) == [("line 2", {"a": "1,5", "b": "2"})]
    assert cells(table(tmp_path, "a\tb\n1\t2\n", delimiter="tab")) == [("line 2", {"a": "1", "b": "2"})]
    assert cells(table(tmp_path, "a\tb\n1\t2\n", "t.tsv")) == [("line 2", {"a": "1", "b": "2"})]
    assert cells(table(tmp_path, b"a,b\n1,caf\xe9\n", encoding="cp1252")) == [("line 2", {"a": "1", "b": "café"})]
    assert cells(table(tmp_path, "a,b\n1,é\n".encode("utf-16"), encoding="utf-16")) == [
        ("line 2", {"a": "1", "b": "é"})
    ]
    assert cells(table(tmp_path, "a\n1,2\n", delimiter=";")) == [("line 2", {"a": "1,2"})], "one column, as it was said"
    for wrong in ("ab", '"', "\n"):
        with pytest.raises(UsageError, match="--delimiter: expected one character"):
            table(tmp_path, "a,b\n", delimiter=wrong)
    with pytest.raises(UsageError, match="--encoding"):
        table(tmp_path, "a,b\n", encoding="nope")


def test_values_of_json_lines_keep_their_text(tmp_path: Path) -> None:
    found = table(tmp_path, '{"a": 1.50, "b": {"c": [1e3]}}\n\n{"a": null}\n{"a": " "}\nno\n[1]\n', "t.jsonl")
    assert [(row.where, dict(row.values)) for row in found.rows[:3]] == [
        ("line 1", {"a": "1.50", "b": '{"c": [1e3]}'}), ("line 3", {"a": None}), ("line 4", {"a": None}),
    ]  # fmt: skip
    assert [row.where for row in found.rows if row.fault] == ["line 5", "line 6"]
    assert found.columns == ("a", "b")


def test_parquet_is_read_with_its_types(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "odd [name]*.parquet"
    duckdb.sql(
        "SELECT * FROM (VALUES ('é', 7, 0.5::DOUBLE, 1.50::DECIMAL(4,2), ['x','y'], NULL, {'bytes': '\\x00'::BLOB}),"
        " ('', NULL, 'nan'::DOUBLE, 2, [], DATE '2020-01-02', NULL)) AS t(s, i, f, d, l, n, p)"
    ).write_parquet(str(tmp_path / "plain.parquet"))
    (tmp_path / "plain.parquet").rename(path)
    found = read_table(path)
    assert dict(found.rows[0].values) == {
        "s": '"é"', "i": "7", "f": "0.5", "d": "1.50", "l": '["x", "y"]', "n": None,
    }  # fmt: skip
    assert found.rows[0].images == {"p": b"\0"}
    assert (found.rows[1].where, found.rows[1].fault) == ("row 2", "column 'f': nan is no number that JSON has")


def test_files_of_other_kinds_are_refused_with_what_to_do(tmp_path: Path) -> None:
    for name, words in (("t.xlsx", "save the sheet as CSV"), ("t.json", "one object a line"), ("t", "got none")):
        with pytest.raises(UsageError, match=words):
            table(tmp_path, "x", name)
    with pytest.raises(UsageError, match="there is no such file"):
        read_table(tmp_path / "gone.csv")
    with pytest.raises(UsageError, match="can't be read as Parquet"):
        table(tmp_path, "no parquet", "t.parquet")


@given(st.lists(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
                         min_size=3, max_size=3), min_size=1, max_size=6))  # fmt: skip
def test_whatever_a_csv_writer_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]
) -> None:
    out = io.StringIO(newline="")
    csv.writer(out).writerows([["a", "b", "c"], *rows])
    found = table(tmp_path_factory.mktemp("t"), out.getvalue())
    kept = [row for row in rows if any(cell.strip() for cell in row)]
    assert [list(values.values()) for _, values in cells(found)] == [
        [cell if cell.strip() else None for cell in row] for row in kept
    ]
    assert found.empty == len(rows) - len(kept)


def test_a_persons_own_words_stay_readable_and_a_wrong_delimiter_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        table(tmp_path, "Frage;Lösung\x1b\na;b\n", delimiter="tab")
    assert "the header has one column, 'Frage;Lösung\\x1b'; try --delimiter ';'" in str(caught.value)
