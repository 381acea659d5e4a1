"""`harness check` on what was forged, or drawn by another release: it passes as what was recorded, or not at all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness._check import Check, check_file, check_report
from harness._report_data import RENDERER, collect
from harness._report_file import FORMATS, render
from harness._report_write import write_report
from ledger import Draft, Ledger, find_run
from ledger._redact import redact
from ledger._redact_targets import find_targets
from tests.harness.reported import copied, written
from tests.harness.scored import case_line, scored_run


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return copied(tmp_path).parent


def since(db: Path, file: Path) -> Check:
    return check_file(db, file)


def withhold(db: Path, *references: str) -> None:
    with Ledger.open(db) as ledger:
        targets = find_targets(ledger, references)
    redact(db, targets, category="personal", reason="a name was in it")


def a_release_later(monkeypatch: pytest.MonkeyPatch) -> None:
    from harness import _check, _report_data

    for module in (_check, _report_data):
        monkeypatch.setattr(module, "RENDERER", _report_data.RENDERER + 1)


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_of_an_older_release_is_held_against_the_recorded_bytes_and_its_data_against_the_ledger(
    own: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(own / "ledger.db", own / f"old.{form}").path
    a_release_later(monkeypatch)
    assert since(own / "ledger.db", file).verdict == "reproduces"
    text = file.read_text("utf-8")
    digit = text.index("1", text.index("6"))
    file.write_text(text[:digit] + "2" + text[digit + 1 :], "utf-8")
    found = since(own / "ledger.db", file)
    line = text[:digit].count("\n") + 1
    assert f"line {line}" in {each.where for each in found.differences}


def test_a_report_with_fewer_keys_of_an_older_form_stays_checkable(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.open(own / "ledger.db") as ledger:
        data = collect(ledger, find_run(ledger, "latest"), ledger.head()[0])
        for name in ("fingerprints", "repeatability", "answers"):
            del data[name]
        for row in data["scoreboard"]:
            del row["case_low"]
        data["bars"][0]["why"] = "as an older release put it"
        drawn = render(data, "json")
        write_report(ledger, data, drawn, "json", own / "older.json")
        a_release_later(monkeypatch)
        found = check_report(ledger, drawn, "x")
        assert (found.verdict, found.reproduced) == ("reproduces", found.numbers)
        assert any("this release tells it otherwise" in note and "an older release" in note for note in found.notes)
        data["scoreboard"][0]["planned"] += 1
        found = check_report(ledger, render(data, "json"), "x")
    assert any(each.where.endswith(".planned") for each in found.differences)


@pytest.mark.parametrize("twins", [True, False])
def test_an_older_report_that_took_twins_as_independent_cases_is_told_so_and_only_of_twins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, twins: bool
) -> None:
    names = [f"c{at}" for at in range(6)]
    lines = [case_line(each, text=None if not twins else "- one\n- two\n") for each in names]
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        run = scored_run(ledger, {"a/x": dict.fromkeys(names, "right")}, lines=lines)
        data = collect(ledger, run, ledger.head()[0])
        row = next(each for each in data["scoreboard"] if each["n"] == 6)
        assert row["interval_by"] == ("cases, wilson" if twins else "cells")
        row |= {"interval_low": row["low"] if twins else 0.9, "interval_by": "cells"}
        drawn = render(data, "json")
        write_report(ledger, data, drawn, "json", tmp_path / "older.json")
        assert check_report(ledger, drawn, "x").verdict == "differs", "of this release it is a false number"
        a_release_later(monkeypatch)
        found = check_report(ledger, drawn, "x")
    assert found.verdict == ("reproduces" if twins else "differs")
    assert any("interval_low" in note for note in found.notes) is twins


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("renderer", [0, RENDERER + 1, 1.5, "1", None, True])
def test_a_file_that_names_another_renderer_passes_only_as_what_was_recorded(
    own: Path, form: str, renderer: object
) -> None:
    with Ledger.open(own / "ledger.db") as ledger:
        data = collect(ledger, find_run(ledger, "latest"), ledger.head()[0])
        lying = {**data, "renderer": renderer}
        text = render(lying, form).decode()
        shown, sep, carried = text.partition("The data that this report is made of")
        found = check_report(ledger, (re.sub(r"[0-9]/[0-9]", "9/9", shown) + sep + carried).encode(), "x")
        assert (found.verdict, found.exit_status) == ("differs", 1)
        assert "renderer" in {each.where for each in found.differences}


@pytest.mark.parametrize("form", ["md", "html"])
@pytest.mark.parametrize("renderer", range(RENDERER))
def test_a_text_that_lies_passes_not_even_where_an_event_records_it(
    own: Path, form: str, renderer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.open(own / "ledger.db") as ledger:
        data = collect(ledger, find_run(ledger, "latest"), ledger.head()[0])
        data["renderer"] = renderer
        shown, sep, carried = render(data, form).decode().partition("The data that this report is made of")
        lying = (re.sub(r"[0-9]/[0-9]", "9/\uff19", shown) + sep + carried).encode()
        write_report(ledger, data, lying, form, own / f"lying.{form}")
    assert since(own / "ledger.db", own / f"lying.{form}").verdict == "differs"
    a_release_later(monkeypatch)
    assert since(own / "ledger.db", own / f"lying.{form}").verdict == "differs"
    withhold(own / "ledger.db", "3:file")
    assert since(own / "ledger.db", own / f"lying.{form}").verdict == "differs"
    monkeypatch.undo()
    assert since(own / "ledger.db", own / f"lying.{form}").verdict == "differs"


@pytest.mark.parametrize(
    ("name", "value"),
    [("run", "b" * 16), ("size", 3), ("head", "0" * 64), ("corrects", 112), ("figures", [1, None]), ("figures", [])],
)
def test_an_event_that_records_a_report_otherwise_than_it_is_is_named(own: Path, name: str, value: object) -> None:
    file = own / "again.json"
    with Ledger.open(own / "ledger.db") as ledger:
        data = collect(ledger, find_run(ledger, "latest"), ledger.head()[0])
        drawn = render(data, "json")
        made = write_report(ledger, data, drawn, "json", file)
        assert check_report(ledger, drawn, "x").verdict == "reproduces"
        body = ledger.body(made.seq).model_copy(update={name: value, "blobs": {}})
        (event,) = ledger.append(Draft(body, causes=list(ledger.event(made.seq).causes), blobs={"file": drawn}))
        found = check_report(ledger, drawn, "x")
        assert (found.recorded, found.verdict) == (event.seq, "differs")
        assert all(f"event {event.seq}, which records it: {name}" in each.where for each in found.differences)
        ledger.append(Draft(ledger.body(made.seq).model_copy(update={"blobs": {}}), causes=[1], blobs={"file": drawn}))
        assert "causes" in check_report(ledger, drawn, "x").differences[0].where
