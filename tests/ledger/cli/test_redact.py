"""`ledger redact`, in words and in JSON, and what other commands say of what it withheld."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ledger import Ledger
from tests.ledger.cli.conftest import Command
from tests.ledger.ledgers import RUN
from tests.ledger.measured import LABEL, SECRET, measured_ledger

WHY = ("--reason", "a key leaked", "--category", "secret")


@pytest.fixture
def path(command: Command) -> Path:
    return measured_ledger(command.folder / "ledger.db")


def bytes_of(path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*") if each.is_file())


def head(path: Path) -> tuple[int, str]:
    with Ledger.open(path, read_only=True) as ledger:
        return ledger.head()


def test_a_dry_run_lists_what_it_comes_to_and_appends_nothing(command: Command, path: Path) -> None:
    before = head(path)
    done = command("redact", 11, "10:body", "--dry-run")
    assert (done.status, head(path)) == (0, before)
    lines = done.out.splitlines()
    assert lines[0] == "Would withhold: 1 body and 1 blob."
    assert "  the body of event 11 (response)" in lines
    assert f"  run {RUN} under {LABEL}: 1 score, tally 26" in lines
    assert "  publication 28 to the team" in lines
    assert any(line.startswith("  git history") for line in lines)
    as_json = command("redact", 11, "10:body", "--dry-run", "--json")
    value = as_json.json
    assert (value["dry_run"], value["bodies"]) == (True, [11])
    assert [(blob["seq"], blob["name"]) for blob in value["blobs"]] == [(10, "body")]
    assert value["not_reproducible"]["tally"] == [26]
    assert head(path) == before


def test_it_withholds_and_every_other_command_copes(command: Command, path: Path) -> None:
    done = command("redact", "--run", "latest", "--cell", 1, *WHY)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[0] == f"Withheld by event 29 {head(path)[1]}"
    assert done.out.splitlines()[1] == "Withheld: 4 bodies and 2 blobs."
    assert done.out.splitlines()[-1] == "Erased: nothing of it is left in ledger.db or its write-ahead log."
    assert SECRET.encode() not in bytes_of(path)
    verified = command("verify")
    assert verified.status == 0
    assert "CONSISTENT: 29 events, 11 blobs, 6 withheld." in verified.out
    assert "Withheld by event 29: 4 bodies, 2 blobs (secret: a key leaked)" in verified.out
    assert command("verify", "--json").json["withheld_by"] == [
        {"seq": 29, "bodies": 4, "blobs": 2, "category": "secret", "reason": "a key leaked"}
    ]
    log = command("log", "--run", RUN, "--cell", 1)
    assert (log.status, log.out.count("(withheld)")) == (0, 4)
    shown = command("show", 11)
    assert shown.status == 0
    assert shown.out.count("withheld by event 29 (secret: a key leaked)") == 2
    assert command("show", 11, "--json").json["withheld"] == "withheld by event 29 (secret: a key leaked)"
    (run,) = command("runs", "--json").json["runs"]
    assert (run["planned"], run["asked"]) == (4, 4)
    assert command("export").status == 0
    copied = command("snapshot", "copy.db")
    assert copied.status == 0
    assert command("verify", "--db", "copy.db", "--json").json["withheld"] == 6
    assert SECRET.encode() not in bytes_of(command.folder / "copy.db")


def test_show_doesnt_call_it_withheld_when_no_redaction_did_it(command: Command, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER events_update")
        connection.execute("UPDATE events SET body = NULL, salt = NULL WHERE seq = 12")
        connection.commit()
    shown = command("show", 12)
    assert (shown.status, "GONE, and no redaction names it" in shown.out) == (1, True)


def test_with_a_reader_open_it_is_not_yet_erased_and_finish_completes_it(command: Command, path: Path) -> None:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()
        done = command("redact", "--run", "latest", "--cell", 1, *WHY, "--wait", 0.05, "--json")
        assert (done.status, done.json["erased"], done.json["seq"]) == (3, False, 29)
        assert "not yet erased" in done.err
        assert "Erased" not in done.err
        assert SECRET.encode() in bytes_of(path)
        assert command("redact", "--finish", "--wait", 0.05, "--json").json == {"erased": False}
        again = command("redact", "--run", "latest", "--cell", 1, *WHY, "--wait", 0.05)
        assert (again.status, head(path)[0]) == (3, 29)
    finished = command("redact", "--finish")
    assert (finished.status, finished.err) == (0, "")
    assert finished.out.startswith("Erased: ")
    assert SECRET.encode() not in bytes_of(path)
    repeated = command("redact", "--run", "latest", "--cell", 1, *WHY)
    assert (repeated.status, head(path)[0]) == (0, 29)
    assert "  the body of event 11 is withheld already, by event 29" in repeated.out.splitlines()


def test_finish_has_nothing_to_do_in_a_ledger_without_redactions(command: Command, path: Path) -> None:
    done = command("redact", "--finish")
    assert (done.status, done.out) == (0, "Nothing to erase: ledger.db holds no redaction.\n")
    assert head(path)[0] == 28


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        ([5, *WHY], 4, "event 5 is a plan, and its body is never withheld"),
        ([11, "--reason", "x"], 2, "--reason and --category are needed"),
        ([11, "--category", "secret", "--reason", "  "], 2, "--reason and --category are needed"),
        ([11, "--category", "boredom", "--reason", "x"], 2, "boredom"),
        (list(WHY), 2, "name either TARGETs, or a cell"),
        ([11, "--run", "latest", "--cell", 1, *WHY], 2, "name either TARGETs, or a cell"),
        (["--run", "latest", *WHY], 2, "--run and --cell go together"),
        (["--run", "latest", "--cell", 1, "--blob", "body", *WHY], 2, "--blob goes with TARGETs"),
        (["--finish", 11], 2, "--finish takes no target"),
        ([99, *WHY], 2, "there is no event 99"),
        ([11, "--reason", f"it said {SECRET}", "--category", "secret"], 4, "the reason repeats"),
    ],
)
def test_what_is_refused_is_one_sentence_and_appends_nothing(
    command: Command, path: Path, arguments: list[object], status: int, says: str
) -> None:
    done = command("redact", *arguments)
    assert (done.status, done.out) == (status, "")
    assert says in done.err
    assert done.err.count("\n") == 1
    assert head(path)[0] == 28


def test_blob_takes_the_blobs_of_that_name_and_leaves_the_bodies(command: Command, path: Path) -> None:
    done = command("redact", 10, 11, "--blob", "body", *WHY, "--json")
    assert (done.status, done.json["bodies"], len(done.json["blobs"])) == (0, [], 2)
    assert "Withheld: 0 bodies and 2 blobs." in done.err
    with Ledger.open(path) as ledger:
        assert ledger.event(10).body is not None


def test_nothing_that_was_recorded_reaches_the_terminal_unescaped(command: Command, path: Path) -> None:
    from ledger import Draft, kinds

    with Ledger.open(path) as ledger:
        told = ledger.newest(1, kind="report")[0].seq
        ledger.append(Draft(kinds.Publish(report=told, to="\x1b[31mred\x07"), causes=[told]))
    done = command("redact", 11, "--reason", "\x1b[2J", "--category", "other")
    assert done.status == 0
    for each in (done, command("verify"), command("show", 11)):
        assert "\x1b" not in each.out + each.err
