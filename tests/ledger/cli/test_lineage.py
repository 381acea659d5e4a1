"""`ledger supersede`, `taint`, `clear`, `impact` and `cite`, as a person calls them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger import Draft, Ledger, verify
from ledger.kinds import Publish, Report, Supersede, Target
from tests.ledger.cli.conftest import Command
from tests.ledger.lineages import RUNS, ZERO, Lineage, make_lineage

A, B = RUNS


@pytest.fixture
def lineage(command: Command) -> Lineage:
    made = make_lineage(command.folder / "ledger.db")
    made.ledger.close()
    return made


def ok(command: Command, *arguments: object) -> str:
    done = command(*arguments)
    assert (done.status, done.err) == (0, "")
    return done.out


def test_a_superseded_run_its_successor_and_a_taint_on_the_fixture_show_everywhere(
    command: Command, lineage: Lineage
) -> None:
    said = ok(command, "supersede", "name-a", "--by", B, "--category", "parser", "--reason", "read wrongly")
    assert said.startswith(f"Superseded run:{A} by run:{B}, as event 93 ")
    said = ok(command, "taint", "suite/v0", "--reason", "gold of case 1 is wrong")
    assert said.startswith(f"Tainted freeze:{lineage.fixtures['v0']}, as event 94 ")
    assert "rest 2 runs, 8 scores, 2 reports, 2 recipients." in said
    listed = ok(command, "runs").splitlines()
    assert listed[1].split()[-1] == "94"
    assert listed[2].split()[-2:] == [B, "94"]
    assert listed[3] == "1 superseded (the default scoreboard leaves them out), 2 tainted."
    rows = command("runs", "--json").json["runs"]
    assert [(row["superseded"], row["superseded_by"], row["tainted"], row["taints"]) for row in rows] == [
        (False, None, True, [94]), (True, B, True, [94]),
    ]  # fmt: skip
    found = ok(command, "impact", "suite/v0")
    order = ["Runs", A, "name-a", "Scores", "case-v0", "Tallies", "Reports", "markdown", "Published to", "readers of b"]
    places = [found.index(each) for each in order]
    assert places == sorted(places)
    assert "case-v1" not in found
    assert found.splitlines()[-1] == "On freeze:3 rest 2 runs, 8 scores, 2 reports, 2 recipients."
    assert "Cleared taint 94 of freeze:3" in ok(command, "clear", 94, "--reason", "it was right")
    assert "tainted" not in ok(command, "runs").splitlines()[1]
    assert verify(command.folder / "ledger.db").verdict == "CONSISTENT"


def test_json_stands_alone_on_stdout_and_the_picture_is_plain_text(command: Command, lineage: Lineage) -> None:
    for arguments in (
        ("supersede", A, "--no-successor", "--category", "other", "--reason", "x"), ("taint", B, "--reason", "x"),
        ("clear", 94, "--reason", "y"), ("impact", A), ("cite", "3#/name"),
    ):  # fmt: skip
        assert isinstance(command(*arguments, "--json").json, dict)
    found = command("impact", A, "--json").json
    assert (found["target"], len(found["scores"])) == ({"what": "run", "id": A}, 8)
    assert ok(command, "impact", A, "--mermaid").startswith("flowchart LR\n  n0[")


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("supersede", A, "--category", "parser", "--reason", "x"), 2, "either --by"),
        (("supersede", A, "--by", B, "--no-successor", "--category", "parser", "--reason", "x"), 2, "either --by"),
        (("supersede", A, "--by", B, "--category", "boredom", "--reason", "x"), 2, "--category"),
        (("supersede", A, "--by", B, "--category", "parser"), 2, "--reason"),
        (("supersede", A, "--by", B, "--category", "parser", "--reason", " "), 2, "expected a reason"),
        (("supersede", A, "--by", A, "--category", "parser", "--reason", "x"), 4, "by itself"),
        (("supersede", "nobody", "--by", A, "--category", "parser", "--reason", "x"), 2, "nothing in"),
        (("supersede", B, "--by", "nobody", "--category", "parser", "--reason", "x"), 2, "nothing in"),
        (("taint", "nobody", "--reason", "x"), 2, "nothing in"),
        (("taint", "\x1b[31mred", "--reason", "x"), 2, "\\x1b[31mred"),
        (("clear", "3", "--reason", "x"), 2, "not a taint"),
        (("clear", "x", "--reason", "x"), 2, "error: "),
        (("impact", "nobody"), 2, "nothing in"),
        (("impact", A, "--mermaid", "--json"), 2, "--mermaid or --json"),
        (("cite", "x"), 2, "expected SEQ"),
        (("cite", "3#/none"), 2, "the body has no 'none'"),
        (("cite", "--check", "x"), 2, "expected a locator"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence_and_nothing_is_written(
    command: Command, lineage: Lineage, arguments: tuple[str, ...], status: int, said: str
) -> None:
    done = command(*arguments)
    assert (done.status, done.out, done.err.count("\n")) == (status, "", 1)
    assert said in done.err
    assert "\x1b" not in done.err
    with Ledger.open(command.folder / "ledger.db", read_only=True) as ledger:
        assert ledger.head()[0] == 92


def test_a_circle_is_refused_with_4(command: Command, lineage: Lineage) -> None:
    ok(command, "supersede", A, "--by", B, "--category", "parser", "--reason", "x")
    done = command("supersede", B, "--by", A, "--category", "parser", "--reason", "x")
    assert (done.status, done.out) == (4, "")
    assert "circle of successors" in done.err
    again = command("supersede", A, "--by", B, "--category", "parser", "--reason", "x")
    assert (again.status, "by event 93" in again.err) == (4, True)
    said = ok(command, "supersede", A, "--no-successor", "--category", "parser", "--reason", "x")
    assert "It overrides what event 93 said of it." in said


def test_a_locator_is_printed_and_checked_and_fails_with_1_saying_what_stands_there(
    command: Command, lineage: Lineage
) -> None:
    seq = lineage.responses[A, 1, 0]
    locator = ok(command, "cite", f"{seq}#/status").strip()
    assert locator.isascii()
    assert ok(command, "cite", "--check", locator).startswith(f"HOLDS: event {seq}, a response of run {A} cell 1 ")
    wrong = command("cite", "--check", locator.replace("attempt=0", "attempt=1"))
    assert wrong.status == 1
    assert wrong.out.startswith("DOES NOT HOLD: it names attempt 1, and event")
    assert "There stands event" in wrong.out
    assert f"cell 1 turn 0 attempt 0, hash {locator.partition('#')[0].split('/')[-2]}" in wrong.out
    found = command("cite", "--check", locator.replace("/status", "/whole"), "--json")
    assert (found.status, found.json["holds"], found.json["value"]) == (1, False, True)


def test_names_out_of_the_ledger_reach_a_terminal_escaped(command: Command, lineage: Lineage) -> None:
    with Ledger.open(command.folder / "ledger.db") as ledger:
        nasty = "\x1b[2Jred\u202e"
        report = Report(run=A, format=nasty, digest=ZERO, head=ZERO, size=1, figures=[])
        (told,) = ledger.append(Draft(report, causes=[lineage.tallies[A, "strict@111111111111"]]))
        ledger.append(Draft(Publish(report=told.seq, to=nasty), causes=[told.seq]))
        ledger.append(Draft(Supersede(target=Target(what="run", id=A), by=None, category="other", reason=nasty)))
    for arguments in (("impact", A), ("impact", A, "--mermaid"), ("impact", A, "--json"), ("runs",),
                      ("cite", f"{told.seq}#/format"), ("cite", f"{told.seq}#/format", "--json")):  # fmt: skip
        done = command(*arguments)
        assert done.status == 0
        out = done.out + done.err
        assert not [each for each in out if (ord(each) < 32 and each != "\n") or each == "\u202e"]


def test_a_ledger_of_release_1_is_asked_and_added_to_as_well(command: Command, lineage: Lineage, tmp_path: Path,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    import ledger._schema
    import ledger._store

    with monkeypatch.context() as then:
        then.setattr(ledger._schema, "RELEASE", 1)
        then.setattr(ledger._store, "RELEASE", 1)
        old = make_lineage(tmp_path / "old.db")
        old.ledger.close()
    db = ("--db", tmp_path / "old.db")
    ok(command, "supersede", A, "--by", B, "--category", "parser", "--reason", "x", *db)
    ok(command, "taint", "suite/v1", "--reason", "x", *db)
    rows = command("runs", "--json", *db).json["runs"]
    assert [(row["superseded_by"], row["taints"]) for row in rows] == [(None, [94]), (B, [94])]
    assert command("impact", A, "--json", *db).json["scores"] == command("impact", A, "--json").json["scores"]
    ok(command, "upgrade", *db)
    assert [row["taints"] for row in command("runs", "--json", *db).json["runs"]] == [[94], [94]]
    assert verify(tmp_path / "old.db").verdict == "CONSISTENT"
