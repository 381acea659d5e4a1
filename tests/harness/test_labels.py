"""A file of labels is taken whole or refused whole, with the line of every row at fault; nothing is guessed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._errors import UsageError
from harness._labels import Label, LabelFile, Target, read_labels

CELLS = [
    Target(1, "rain", "v0", "openai/small", 0), Target(2, "snow", "v0", "openai/small", 0),
    Target(3, "rain", "v0", "openai/small", 1), Target(4, "snow", "v0", "openai/small", 1),
    Target(5, "rain", "v0", "openai/large", 0), Target(6, "snow", "v0", "openai/large", 0),
]  # fmt: skip
SCALES = {"sound": (0, 3), "plain": (0, 1)}


def read(text: str | bytes, targets: list[Target] = CELLS) -> LabelFile:
    data = text if isinstance(text, bytes) else text.encode("utf-8")
    return read_labels(data, Path("human.csv"), targets, SCALES, "r1")


def refused(text: str | bytes, targets: list[Target] = CELLS) -> str:
    with pytest.raises(UsageError) as problem:
        read(text, targets)
    return str(problem.value)


def test_a_row_says_which_cell_who_labelled_it_and_what_they_said() -> None:
    found = read("cell,rater,verdict,sound,note\n1,ann,pass,3,fine\n1,bob,FAIL ,,\n2,ann,,0,\n")
    assert found.labels == (
        Label(1, "ann", "pass", {"sound": 3}), Label(1, "bob", "fail", {}), Label(2, "ann", None, {"sound": 0}),
    )  # fmt: skip
    assert (found.raters, found.criteria) == (("ann", "bob"), ("sound",))


def test_without_a_rater_everything_is_by_one_person() -> None:
    assert read("cell,verdict\n2,pass\n").labels == (Label(2, "human", "pass", {}),)


def test_a_case_stands_for_its_one_cell_and_further_columns_tell_several_apart() -> None:
    rows = "rain,openai/large,0,pass\nsnow,openai/small,1,fail\n"
    found = read(f"case,candidate,epoch,verdict\n{rows}")
    assert [(each.cell, each.verdict) for each in found.labels] == [(5, "pass"), (4, "fail")]
    assert read("case,verdict\nrain,pass\n", CELLS[:2]).labels[0].cell == 1


def test_a_case_that_is_several_cells_is_refused_and_says_what_tells_them_apart() -> None:
    said = refused("case,verdict\nrain,pass\n")
    assert "line 2: 3 cells of run r1 are of case 'rain': say which, by candidate and epoch or by cell" in said
    said = refused("case,candidate,verdict\nrain,openai/small,pass\n")
    assert "2 cells of run r1 are of case 'rain': say which, by epoch or by cell" in said


def test_a_case_may_be_called_as_reports_call_it() -> None:
    cells = [*CELLS[:2], Target(3, "rain", "v1", "openai/small", 0), Target(4, "v0/snow", "v1", "openai/small", 0)]
    found = read("case,verdict\nv0/rain,pass\nv1/rain,fail\n", cells)
    assert [(each.cell, each.verdict) for each in found.labels] == [(1, "pass"), (3, "fail")]
    assert read("case,verdict\nv0/snow,pass\n", cells).labels[0].cell == 4, "an id that is written so goes before"
    assert read("cell,case,verdict\n3,v1/rain,pass\n", cells).labels[0].cell == 3
    assert "cell 1 of run r1 is of case 'rain', not 'v1/rain'" in refused("cell,case,verdict\n1,v1/rain,pass\n", cells)
    assert "run r1 has no cell with case 'v2/rain'" in refused("case,verdict\nv2/rain,pass\n", cells)


def test_of_a_run_that_nobody_graded_the_message_says_what_tells_its_criteria() -> None:
    with pytest.raises(UsageError, match=r"'sound' may be a criterion.*grade the run first, or.*--judge SUITE"):
        read_labels(b"cell,sound\n1,3\n", Path("human.csv"), CELLS, {}, "r1")


def test_every_bad_row_is_named_with_its_line_and_none_is_taken() -> None:
    text = (
        "cell,case,rater,verdict,sound\n"
        "99,,a,pass,\n"
        "one,,a,pass,\n"
        "1,snow,a,pass,\n"
        ",,a,pass,\n"
        "1,,a,maybe,\n"
        "1,,a,,\n"
        "1,,a,pass,4\n"
        "1,,a,pass,2.0\n"
        ",hail,a,pass,\n"
        "2,,a,pass,1\n"
        '2,"snow",a,fail,1\n'
        "3,,a\n"
    )
    said = refused(text)
    assert said.startswith("human.csv: 11 of 12 rows can't be taken as labels, so none was: line 2: ")
    for each in (
        "line 2: run r1 has no cell '99'; it has 1 to 6",
        "line 3: run r1 has no cell 'one'",
        "line 4: cell 1 of run r1 is of case 'rain', not 'snow'",
        "line 5: cell and case are empty, so nobody knows which answer this is about",
        "line 6: verdict: expected pass or fail, got 'maybe'",
        "line 7: holds no label: neither a verdict nor a score",
        "line 8: sound: expected a whole number from 0 to 3, got '4'",
        "line 9: sound: expected a whole number from 0 to 3, got '2.0'",
        "line 10: run r1 has no cell with case 'hail'",
        "line 12: cell 2 is labelled by 'a' on line 11 too",
        "line 13: expected 5 cells, got 3: too few",
    ):
        assert each in said


def test_many_bad_rows_are_counted_and_the_first_of_them_shown() -> None:
    said = refused("cell,verdict\n" + "7,pass\n" * 50)
    assert said.startswith("human.csv: 50 of 50 rows") and said.endswith("; and 30 more") and said.count("line ") == 20


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_sheet_may_separate_by_comma_semicolon_or_tab_and_begin_with_a_byte_order_mark(
    separator: str, end: str
) -> None:
    lines = [
        separator.join(row) for row in (["cell", "verdict", "note"], ["1", "pass", '"a, b; c"'], ["2", "fail", ""])
    ]
    found = read(b"\xef\xbb\xbf" + (end.join(lines) + end).encode())
    assert [(each.cell, each.verdict) for each in found.labels] == [(1, "pass"), (2, "fail")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("verdict\npass\n", "expected a column cell or case"),
        ("cell\n1\n", "expected a column verdict, or one called as a criterion of the judge (sound, plain)"),
        ("cell,verdict,halo\n1,pass,1\n", "there is no criterion 'halo'"),
        ("cell,verdict,verdict\n1,pass,1\n", "the column 'verdict' stands twice"),
        ("cell,sound,criterion:sound\n1,1,1\n", "two columns are of the criterion 'sound'"),
        ("cell,verdict\n", "expected one label a row, got no row at all"),
        ("", "expected a header"),
        (b"cell,verdict\n1,p\xe4ss\n", "line 2: not UTF-8"),
        ("cell,verdict\n1,pass\n".encode("utf-16"), "line 1: not UTF-8 (byte 0); save the table as CSV in UTF-8"),
        (b"PK\x03\x04\xff", "this is a spreadsheet"),
        ('cell,verdict\n1,"pass\n', "a quote is opened and never closed"),
        ("cell,verdict,rater\n1,pass,a\x1b[2J\n", "rater: expected 1 to 100 printable characters"),
    ],
)
def test_a_file_that_is_none_of_labels_is_refused_in_one_sentence(text: str | bytes, said: str) -> None:
    assert said in refused(text) and "\n" not in refused(text) and "--" not in refused(text)


def test_a_criterion_that_is_called_like_a_column_has_a_name_of_its_own() -> None:
    data = b"cell,criterion:note\n1,2\n"
    assert read_labels(data, Path("f.csv"), CELLS, {"note": (0, 3)}).labels == (Label(1, "human", None, {"note": 2}),)
    with pytest.raises(UsageError, match="the column 'note' could be the criterion of that name"):
        read_labels(b"cell,note,verdict\n1,2,pass\n", Path("f.csv"), CELLS, {"note": (0, 3)})


def test_without_scales_a_further_column_is_a_criterion_with_any_whole_number() -> None:
    found = read_labels(b"cell,halo\n1,-7\n", Path("f.csv"), CELLS, None)
    assert found.labels == (Label(1, "human", None, {"halo": -7}),)


def test_nobody_labels_under_a_name_that_reads_as_another_s() -> None:
    with pytest.raises(UsageError, match="line 2: rater: expected 1 to 100 printable characters"):
        read_labels("cell,rater,verdict\n1,\u202enna,pass\n".encode(), Path("f.csv"), CELLS, {})


def test_a_file_of_many_labels_looks_each_up_once() -> None:
    class Named(str):
        """The id of a case, which counts how often it is held against another."""

        compared = 0

        def __eq__(self, other: object) -> bool:
            Named.compared += 1
            return str(self) == other

        __hash__ = str.__hash__

    cells = [Target(number, Named(f"c{number}"), "v0", "m", 0) for number in range(1, 301)]
    data = "case,verdict\n" + "".join(f"c{number},pass\n" for number in range(1, 301))
    assert len(read_labels(data.encode(), Path("f.csv"), cells, {}).labels) == 300
    assert Named.compared < 10 * len(cells)


@given(st.binary(max_size=300))
def test_any_bytes_at_all_are_read_or_refused_in_words(data: bytes) -> None:
    for head in (b"", b"cell,verdict,rater\n"):
        try:
            found = read_labels(head + data, Path("f.csv"), CELLS, SCALES)
        except UsageError as problem:
            assert str(problem).isprintable()
        else:
            assert found.labels and {each.cell for each in found.labels} <= {each.cell for each in CELLS}


def test_the_example_of_the_page_is_read_as_it_stands_there() -> None:
    page = (Path(__file__).parents[2] / "docs" / "JUDGES.md").read_text("utf-8")
    (example,) = re.findall(r"^```csv\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert read(example).labels == (
        Label(1, "ann", "pass", {"sound": 3, "plain": 1}), Label(2, "ann", "fail", {"sound": 1}),
        Label(2, "bob", "pass", {}),
    )  # fmt: skip
