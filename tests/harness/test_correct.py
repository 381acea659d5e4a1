"""A report that was handed out and turns out wrong: the corrected one beside it, both checkable, and who must hear."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness._basis import Basis
from harness._check import check_file
from harness._correct import correct_report
from harness._correction import correction_of
from harness._errors import RefusedError, UsageError
from harness._recollect import with_correction
from harness._report_data import collect
from harness._report_file import FORMATS, data_in, render
from harness._report_write import write_file
from ledger import AppendFailed, Draft, Ledger, find_run, kinds
from tests.harness.reported import HOSTILE, cli, copied, written


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return copied(tmp_path)


def said(db: Path, file: Path) -> Any:
    return check_file(db, file).as_json()


def events(db: Path, kind: str) -> list[Any]:
    with Ledger.open(db, read_only=True) as ledger:
        return [(event.seq, ledger.body(event)) for event in ledger.events(kind=kind)]


def impact(db: Path, target: object, capsys: pytest.CaptureFixture[str]) -> Any:
    from ledger.cli import app, run_app

    capsys.readouterr()
    assert run_app(app, "ledger", ["impact", str(target), "--db", str(db), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("form", FORMATS)
def test_a_published_report_is_corrected_and_both_check_out_as_what_they_are(
    db: Path, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / f"old.{form}", tmp_path / f"new.{form}"
    assert cli("report", "latest", "--rules", "strict-cite", "-o", old, "--db", db) == 0
    assert cli("publish", old, "--to", "Ada", "--to", "the board", "--db", db) == 0
    why = "strict reading threw fenced answers away"
    capsys.readouterr()
    assert cli("correct", old, "--rules", "fence-cite", "--reason", why, "-o", new, "--db", db, "--json") == 0
    out, words = capsys.readouterr()
    done = json.loads(out)
    ((first, _), (second, body)) = events(db, "report")
    ((gone, supersession),) = events(db, "supersede")
    assert (done["corrects"], done["report"], done["supersession"]) == (first, second, gone)
    assert body.corrects == first
    assert (supersession.target.id, supersession.by.id, supersession.category) == (str(first), str(second), "parser")
    assert done["recipients"] == ["Ada", "the board"]
    assert done["appended"] == 0
    assert "was given the old one: Ada" in words and "A notice, ready to send:" in words

    before, after = said(db, old), said(db, new)
    assert (before["verdict"], before["reproduced"]) == ("set aside", before["numbers"])
    assert before["since"][0]["what"] == "report superseded"
    assert before["since"][0]["by"] == str(second)
    assert cli("check", old, "--db", db) == 1
    assert (after["verdict"], after["reproduced"]) == ("reproduces", after["numbers"])
    assert cli("check", new, "--db", db) == 0
    assert f"superseded by {second}" in capsys.readouterr().out

    data = data_in(new.read_text("utf-8"), form)  # pyright: ignore[reportArgumentType]
    correction = data["correction"]
    assert (correction["corrects"], correction["reason"]) == (first, why)
    figures = {(row["candidate"], row["metric"]): row for row in data["scoreboard"]}
    assert len(correction["numbers"]) == len(figures)
    for row in correction["numbers"]:
        assert row["after"]["k"] == figures[row["candidate"], row["metric"]]["k"]
        assert (row["rules_before"].split("@")[0], row["rules_after"].split("@")[0]) == ("strict-cite", "fence-cite")
    assert {flip["stage"] for flip in correction["flips"]} == {"parse: fence"}
    assert {flip["before"] for flip in correction["flips"]} == {None}
    assert correction["flips"] == done["flips"]
    assert impact(db, "latest", capsys)["published"] == [
        {"seq": seq, "at": at, "report": first, "to": to}
        for (seq, _), at, to in zip(events(db, "publish"), _times(db), ("Ada", "the board"), strict=True)
    ]
    assert why in done["notice"] and "under fence-cite" in done["notice"]


def _times(db: Path) -> list[str]:
    with Ledger.open(db, read_only=True) as ledger:
        return [event.at for event in ledger.events(kind="publish")]


def test_a_digit_changed_in_what_a_correction_says_is_found(db: Path, tmp_path: Path) -> None:
    old, new = tmp_path / "old.md", tmp_path / "new.md"
    assert cli("report", "latest", "--rules", "strict-cite", "-o", old, "--db", db) == 0
    assert cli("correct", old, "--rules", "fence-cite", "--reason", "v2", "-o", new, "--db", db) == 0
    text = new.read_text("utf-8")
    data = data_in(text, "md")
    for change in ("before", "after"):
        altered = json.loads(json.dumps(data))
        row = next(row for row in altered["correction"]["numbers"] if row["after"]["n"])
        row[change]["n"] += 1
        new.write_bytes(render(altered, "md"))
        found = said(db, new)
        assert found["verdict"] == "differs"
        assert any(each["where"].endswith(f".{change}.n") for each in found["differences"])
    altered = json.loads(json.dumps(data))
    altered["correction"]["flips"][0]["cell"] += 1
    altered["correction"]["reason"] = "v3"
    new.write_bytes(render(altered, "md"))
    where = {each["where"].rpartition(".")[2] for each in said(db, new)["differences"]}
    assert {"cell", "reason"} <= where


@pytest.mark.parametrize("figure", [1, None, {}, {"candidate": 1}, ["x"], "figure"])
def test_a_report_whose_event_holds_no_figures_that_can_be_read_is_not_corrected(
    db: Path, tmp_path: Path, figure: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    old = written(db, tmp_path / "old.json", rules=("strict-cite",))
    with Ledger.open(db) as ledger:
        body = ledger.body(old.seq).model_copy(update={"figures": [figure], "blobs": {}})
        (odd,) = ledger.append(Draft(body, causes=[old.seq], blobs={"file": old.path.read_bytes()}))
        before = ledger.head()
    new = tmp_path / "new.md"
    assert cli("correct", odd.seq, "--rules", "fence-cite", "--reason", "x", "-o", new, "--db", db) == 2
    assert "a figure that this release can't read" in capsys.readouterr().err
    with Ledger.open(db, read_only=True) as ledger:
        assert (ledger.head(), new.exists()) == (before, False)


@pytest.mark.parametrize("form", FORMATS)
def test_the_words_of_a_correction_are_those_that_were_recorded(db: Path, tmp_path: Path, form: str) -> None:
    old, new = tmp_path / f"old.{form}", tmp_path / f"new.{form}"
    assert cli("report", "latest", "--rules", "strict-cite", "-o", old, "--db", db) == 0
    assert cli("correct", old, "--rules", "fence-cite", "--reason", "v2", "-o", new, "--db", db) == 0
    data = data_in(new.read_text("utf-8"), form)  # pyright: ignore[reportArgumentType]
    assert said(db, new)["verdict"] == "reproduces"
    for name, word in (("category", "fixture"), ("category", None), ("reason", "v3"), ("reason", ["v2"])):
        new.write_bytes(render({**data, "correction": {**data["correction"], name: word}}, form))
        found = said(db, new)
        assert found["verdict"] == "differs", (name, word)
        assert f"correction.{name}" in {each["where"] for each in found["differences"]}


def test_a_correction_that_nobody_made_is_found(db: Path, tmp_path: Path) -> None:
    old, new = written(db, tmp_path / "old.json", rules=("strict-cite",)), tmp_path / "new.json"
    with Ledger.open(db, read_only=True) as ledger:
        run = find_run(ledger, "latest")
        tried = [row["rules"] for row in collect(ledger, run, ledger.head()[0])["rules"]]
        fence = next(label for label in tried if label.startswith("fence-cite"))
        basis = Basis(run, ledger.head()[0], (fence,))
        data = collect(ledger, run, basis.size, basis.labels)
        forged = correction_of(ledger, old.seq, basis, data["scoreboard"], reason="it was wrong", category="parser")
    new.write_bytes(render(with_correction(data, forged), "json"))
    found = said(db, new)
    assert found["verdict"] == "differs"
    assert {each["where"] for each in found["differences"]} >= {"correction"}


def test_a_run_that_was_not_read_under_the_rules_yet_is_rescored_first(db: Path, tmp_path: Path) -> None:
    rules = tmp_path / "authority/rules/strict-cite.toml"
    lenient = tmp_path / "lenient.toml"
    lenient.write_text(rules.read_text("utf-8").replace("[read]\n", "[read]\nfence = true\n"), "utf-8")
    old, new = tmp_path / "old.html", tmp_path / "new.md"
    assert cli("report", "latest", "-o", old, "--db", db) == 0
    given = ("correct", old, "--rules", lenient, "--reason", "x", "--format", "md", "-o", new, "--db", db)
    assert cli(*given) == 0
    assert said(db, new)["verdict"] == "reproduces"
    assert said(db, old)["verdict"] == "set aside"
    data = data_in(new.read_text("utf-8"), "md")
    assert [row["standing"] for row in data["rules"]] == ["post hoc"]
    assert "post hoc" in new.read_text("utf-8")
    assert {row["rules_before"].split("@")[0] for row in data["correction"]["numbers"]} == {"strict-cite", "fence-cite"}
    assert len(data["other_rules"]) == 2
    kinds_after = [event.kind for event in _all(db)][-4:]
    assert kinds_after == ["score", "tally", "report", "supersede"], "nothing false whatever stops it in between"
    assert cli(*given) == 4, "it was corrected already"


def _all(db: Path) -> list[Any]:
    with Ledger.open(db, read_only=True) as ledger:
        return list(ledger.events())


def test_a_correction_that_stopped_before_the_supersession_is_gone_on_with(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness import _correct

    old, new = written(db, tmp_path / "old.md", rules=("strict-cite",)), tmp_path / "new.md"

    def stopped(*_: object, **__: object) -> None:
        raise AppendFailed("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(_correct, "supersede", stopped)
        with Ledger.open(db) as ledger, pytest.raises(AppendFailed):
            correct_report(ledger, str(old.path), "fence-cite", new, reason="v2")
    assert not new.exists()
    found = said(db, old.path)
    assert found["verdict"] == "set aside" and found["since"][0]["what"] == "report corrected"
    with Ledger.open(db) as ledger:
        done = correct_report(ledger, str(old.seq), "fence-cite", new, reason="v2")
    assert [seq for seq, _ in events(db, "report")] == [old.seq, done.new.seq], "the one that was recorded is used"
    assert said(db, new)["verdict"] == "reproduces"
    assert said(db, old.path)["since"][0]["what"] == "report superseded"


def test_what_can_not_be_corrected_is_refused_before_anything_is_written(db: Path, tmp_path: Path) -> None:
    old = written(db, tmp_path / "old.md")
    notes = tmp_path / "notes.md"
    notes.write_text("mine", "utf-8")
    altered = tmp_path / "altered.md"
    altered.write_text(old.path.read_text("utf-8").replace("1/4", "2/4"), "utf-8")
    size = len(_all(db))
    new = tmp_path / "new.md"
    for reference, rules, out, reason in (
        (altered, "fence-cite", new, "x"),
        (old.seq - 1, "fence-cite", new, "x"),
        ("ffffffff", "fence-cite", new, "x"),
        (old.path, "no-such-rules", new, "x"),
        (old.path, "fence-cite", notes, "x"),
        (old.path, "fence-cite", old.path, "x"),
        (old.path, "fence-cite", db, "x"),
        (old.path, "fence-cite", new, "  "),
    ):
        given = ("correct", reference, "--rules", rules, "--reason", reason, "-o", out, "--db", db)
        assert cli(*given) == 2, given
    assert len(_all(db)) == size
    assert notes.read_text("utf-8") == "mine" and not new.exists()
    with Ledger.open(db) as ledger:
        done = correct_report(ledger, old.digest[:10], "fence-cite", new, reason="v2")
        with pytest.raises(RefusedError, match=f"by event {done.new.seq}"):
            correct_report(ledger, str(old.seq), "strict-cite", tmp_path / "third.md", reason="v3")
        third = correct_report(ledger, str(done.new.seq), "strict-cite", tmp_path / "third.md", reason="v3")
    assert said(db, tmp_path / "third.md")["verdict"] == "reproduces"
    assert said(db, new)["since"][0]["by"] == str(third.new.seq)


def test_tainting_what_was_wrong_leaves_the_corrected_report_standing(db: Path, tmp_path: Path) -> None:
    old, new = written(db, tmp_path / "old.md", rules=("strict-cite",)), tmp_path / "new.md"
    with Ledger.open(db) as ledger:
        correct_report(ledger, str(old.seq), "fence-cite", new, reason="v2")
        (label,) = [
            row["rules"] for row in ledger.rows("SELECT DISTINCT rules FROM run_rules WHERE rules LIKE 'strict%'")
        ]
        ledger.append(Draft(kinds.Taint(target=kinds.Target(what="rules", id=label), reason="drops answers")))
    assert said(db, new)["verdict"] == "reproduces"
    assert {each["what"] for each in said(db, old.path)["since"] if each["bad"]} == {"report superseded", "tainted"}


# Publishing


def test_only_the_very_bytes_that_are_recorded_can_be_published(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = written(db, tmp_path / "r.html")
    other = tmp_path / "other.html"
    other.write_bytes(made.path.read_bytes() + b"\n")
    assert cli("publish", other, "--to", "Ada", "--db", db) == 2
    assert cli("publish", made.path, "--to", " ", "--db", db) == 2
    assert cli("publish", made.path, "--db", db) == 2
    assert events(db, "publish") == []
    assert cli("publish", made.digest[:12], "--to", "Ada", "--to", "Ada", "--to", HOSTILE, "--db", db) == 0
    assert [body.to for _, body in events(db, "publish")] == ["Ada", HOSTILE]
    assert all(_all(db)[seq - 1].causes == (made.seq,) for seq, _ in events(db, "publish"))
    out, words = capsys.readouterr()
    assert "WARNING" not in words and "\x1b" not in out + words
    assert cli("publish", made.path, "--to", "Ada", "--db", db) == 0
    assert "had been given it before" in capsys.readouterr().out


@pytest.mark.parametrize("how", ["superseded", "tainted", "run superseded"])
def test_what_can_not_stand_is_published_with_a_loud_warning_and_recorded(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    made = written(db, tmp_path / "r.md")
    with Ledger.open(db) as ledger:
        run = data_in(made.path.read_text("utf-8"), "md")["run"]["id"]
        if how == "tainted":
            ledger.append(Draft(kinds.Taint(target=kinds.Target(what="run", id=run), reason="why")))
        else:
            target = kinds.Target(what="run", id=run) if how.startswith("run") else None
            target = target or kinds.Target(what="report", id=str(made.seq))
            ledger.append(Draft(kinds.Supersede(target=target, by=None, category="parser", reason="why")))
    assert cli("publish", made.path, "--to", "Ada", "--db", db, "--json") == 0
    out, words = capsys.readouterr()
    assert json.loads(out)["warnings"]
    assert words.count("WARNING") >= 2 and "why" in words
    assert len(events(db, "publish")) == 1


def test_a_file_gets_its_name_only_when_all_is_written(tmp_path: Path) -> None:
    target = tmp_path / "r.md"
    with pytest.raises(UsageError), write_file(target, b"x"):
        assert not target.exists()
        raise UsageError("no")
    assert list(tmp_path.iterdir()) == []
    with write_file(target, b"x"):
        pass
    assert target.read_bytes() == b"x"
    assert [path.name for path in tmp_path.iterdir()] == ["r.md"]


def test_a_report_that_had_the_rules_of_the_correction_already_is_told_so_number_by_number(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old.md", tmp_path / "new.md"
    assert cli("report", "latest", "-o", old, "--db", db) == 0
    capsys.readouterr()
    assert cli("correct", old, "--rules", "fence-cite", "--reason", "why", "-o", new, "--db", db, "--json") == 0
    done = json.loads(capsys.readouterr().out)
    assert "not reported" not in done["notice"]
    assert all(row["before"] is not None and row["after"] is not None for row in done["numbers"])
    same = [row for row in done["numbers"] if row["rules_before"] == row["rules_after"]]
    assert len(same) == len(done["numbers"]) / 2
    assert all(row["before"] == row["after"] for row in same)
    assert {flip["rules_before"].partition("@")[0] for flip in done["flips"]} == {"strict-cite"}
    assert cli("check", new, "--db", db) == 0
