"""Each command does what it says, in words and in JSON."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ledger import Draft, Ledger, hold_run, kinds
from ledger._schema import RELEASE
from tests.ledger.cli.conftest import Command
from tests.ledger.ledgers import OTHER_RUN, RUN, example_draft, tamper


def test_init_makes_a_ledger_once(command: Command) -> None:
    made = command("init", "--origin", "team/evals", "--json")
    assert (made.status, made.json["origin"], made.json["seq"]) == (0, "team/evals", 2)
    assert "team/evals" in made.err
    again = command("init")
    assert (again.status, again.out) == (2, "")
    assert again.err == "error: ledger.db exists already; name another file, or use this one as it is\n"


def test_note_makes_the_ledger_on_first_use_and_says_so(command: Command) -> None:
    first = command("note", "hello", "--json")
    assert (first.status, first.json["seq"]) == (0, 3)
    assert "there was no ledger at ledger.db; made it" in first.err
    second = command("note", "again", "--about", "3", "--about", "1")
    assert (second.status, second.err) == (0, "")
    with Ledger.open(command.folder / "ledger.db") as ledger:
        event = ledger.event(4)
    assert (event.kind, event.causes, json.loads(event.body or "")["text"]) == ("note", (1, 3), "again")
    missing = command("note", "no", "--about", "99")
    assert (missing.status, missing.err) == (2, "error: there is no event 99; the head is 4\n")
    assert "--cell needs --run" in command("note", "no", "--cell", "1").err


def test_reading_commands_never_make_a_ledger(command: Command) -> None:
    for arguments in (
        ["verify"], ["log"], ["show", 1], ["runs"], ["export"], ["snapshot", "s.db"], ["upgrade"],
    ):  # fmt: skip
        done = command(*arguments)
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith("error: there is no ledger at ledger.db")
        assert done.err.count("\n") == 1
    assert list(command.folder.iterdir()) == []


def test_verify_gives_the_verdict_and_what_it_rests_on(command: Command, original: Path) -> None:
    done = command("verify", "--db", original)
    assert done.status == 0
    first, head, checked, *rest = done.out.splitlines()
    assert first.startswith("CONSISTENT: ")
    assert head.startswith("Head: ")
    assert checked.startswith("Checked: ")
    assert any(line.startswith("Can't tell: whether events were cut off the end") for line in rest)
    as_json = command("verify", "--db", original, "--json")
    assert set(as_json.json) >= {
        "verdict", "events", "blobs", "withheld", "head", "first_bad_seq", "problems",
    }  # fmt: skip
    assert (as_json.json["verdict"], as_json.json["first_bad_seq"], as_json.json["problems"]) == (
        "CONSISTENT",
        None,
        [],
    )
    assert as_json.err.startswith("CONSISTENT: ")


def test_verify_ends_in_1_when_a_ledger_was_tampered_with(command: Command, original: Path, copy: Path) -> None:
    tamper(original, copy, "UPDATE events SET at = '2020-01-01T00:00:00.000000Z' WHERE seq = 5")
    done = command("verify", "--db", copy, "--json")
    assert (done.status, done.json["verdict"], done.json["first_bad_seq"]) == (1, "TAMPERED", 5)
    assert {"seq", "what", "expected", "got"} == set(done.json["problems"][0])
    words = command("verify", "--db", copy, "--problems", "1")
    assert words.status == 1
    assert "First bad event: 5" in words.out
    assert "What to do: " in words.out
    assert "Can't tell" not in words.out


def test_log_filters_and_takes_either_end(command: Command, original: Path) -> None:
    def seqs(*arguments: object) -> list[int]:
        done = command("log", "--db", original, "--json", *arguments)
        assert done.status == 0
        return [event["seq"] for event in done.json["events"]]

    with Ledger.open(original, read_only=True) as ledger:
        events = list(ledger.events())
    everything = [event.seq for event in events]
    assert seqs() == everything
    assert seqs("--limit", 3) == everything[-3:]
    assert seqs("--after", 4, "--limit", 2) == [5, 6]
    assert seqs("--kind", "note") == [event.seq for event in events if event.kind == "note"]
    assert seqs("--run", RUN[:5], "--cell", 1) == [e.seq for e in events if e.run == RUN and e.cell == 1]
    assert seqs("--run", "latest") == [event.seq for event in events if event.run == OTHER_RUN]
    assert seqs("--kind", "nothing") == []
    lines = command("log", "--db", original).out.splitlines()
    assert [int(line.split()[0]) for line in lines] == everything


def test_show_prints_an_event_by_seq_and_by_hash(command: Command, original: Path) -> None:
    with Ledger.open(original, read_only=True) as ledger:
        event = next(iter(ledger.events(kind="response")))
        effects = [row["effect"] for row in ledger.rows("SELECT effect FROM main.edges WHERE cause = ?", (event.seq,))]
    shown = [command("show", name, "--db", original, "--json") for name in (event.seq, event.hash, event.hash[:10])]
    assert [done.status for done in shown] == [0, 0, 0]
    assert shown[0].json == shown[1].json == shown[2].json
    seen = shown[0].json
    assert (seen["hash"], seen["line"], seen["matches"]) == (event.hash, event.line.decode(), True)
    assert (seen["causes"], seen["effects"]) == (list(event.causes), effects)
    assert sorted((blob["name"], blob["size"], blob["state"]) for blob in seen["blobs"]) == [
        ("body", 6, "matches"), ("extra", 0, "matches"),
    ]  # fmt: skip
    words = command("show", event.seq, "--db", original).out
    assert "matches the line" in words
    assert '  "status": 200,' in words


def test_show_says_what_is_withheld_and_ends_in_0(command: Command, original: Path) -> None:
    with Ledger.open(original, read_only=True) as ledger:
        withheld = [event.seq for event in ledger.events() if event.body is None]
    assert withheld
    for seq in withheld:
        done = command("show", seq, "--db", original)
        assert (done.status, "withheld by event 30 (secret: a key leaked)" in done.out) == (0, True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE events SET at = '2020-01-01T00:00:00.000000Z' WHERE seq = 9", "DOES NOT MATCH the line"),
        ("UPDATE events SET body = replace(body, '200', '201') WHERE seq = 9", "DOES NOT MATCH its commitment"),
        ("UPDATE blobs SET data = x'00' WHERE seq = 9", "DOES NOT MATCH its hash"),
        ("UPDATE blobs SET data = x'00', encoding = 'zlib' WHERE seq = 9", "can't be read"),
        ("DELETE FROM blobs WHERE seq = 9", "missing from the file"),
    ],
)
def test_show_ends_in_1_where_something_does_not_match(
    command: Command, original: Path, copy: Path, change: str, said: str
) -> None:
    with Ledger.open(original, read_only=True) as ledger:
        seq = next(iter(ledger.events(kind="response"))).seq
    tamper(original, copy, change.replace("seq = 9", f"seq = {seq}"))
    done = command("show", seq, "--db", copy)
    assert (done.status, said in done.out) == (1, True)
    assert command("show", seq, "--db", copy, "--json").status == 1


@pytest.mark.parametrize(
    ("wanted", "said"),
    [("999", "there is no event 999"), ("xyz", "expected a seq, or a hash"), ("0000000000", "no event has a hash")],
)
def test_show_says_what_it_could_not_find(command: Command, original: Path, wanted: str, said: str) -> None:
    done = command("show", wanted, "--db", original)
    assert (done.status, done.out) == (2, "")
    assert said in done.err


def test_runs_lists_the_newest_first_and_says_interrupted_when_nobody_holds_an_open_one(command: Command) -> None:
    path = command.folder / "ledger.db"
    with Ledger.create(path) as ledger:
        ledger.append(example_draft("plan"), example_draft("close"))
        ledger.append(example_draft("plan", run=OTHER_RUN))
        target, by = kinds.Target(what="run", id=RUN), kinds.Target(what="run", id=OTHER_RUN)
        ledger.append(Draft(kinds.Supersede(target=target, by=by, category="parser", reason="read wrongly")))

    def listed() -> list[tuple[str, str, str | None]]:
        done = command("runs", "--json")
        assert (done.status, set(done.json)) == (0, {"runs"})
        assert {"run", "name", "suite", "status", "planned", "superseded_by"} <= set(done.json["runs"][0])
        return [(run["run"], run["status"], run["superseded_by"]) for run in done.json["runs"]]

    assert listed() == [(OTHER_RUN, "interrupted", None), (RUN, "complete", OTHER_RUN)]
    with hold_run(path, OTHER_RUN):
        assert listed()[0][1] == "open"
        assert "open" in command("runs").out.splitlines()[1]
    assert command("runs").out.splitlines()[2].split()[:2] == [RUN, "complete"]


def test_runs_refuses_a_ledger_whose_view_is_gone_instead_of_showing_none(command: Command) -> None:
    Ledger.create(command.folder / "ledger.db").close()
    with closing(sqlite3.connect(command.folder / "ledger.db")) as connection:
        connection.execute("DROP VIEW runs")
        connection.commit()
    done = command("runs", "--json")
    assert (done.status, done.out) == (2, "")
    assert "`ledger upgrade` puts it back" in done.err
    assert command("upgrade", "--json").json == {"release": RELEASE, "before": RELEASE, "altered": True, "seq": 3}
    assert command("runs", "--json").json == {"runs": []}
    assert command("upgrade").out.startswith("Nothing to do")


def test_export_writes_the_same_lines_to_a_file_and_to_stdout(command: Command, original: Path) -> None:
    out = command("export", "--db", original)
    into = command("export", "--db", original, "-o", "events.jsonl")
    assert (out.status, into.status, into.out) == (0, 0, "")
    assert (command.folder / "events.jsonl").read_text() == out.out
    assert out.out.splitlines()[0].startswith('{"v":1,"seq":1,')
    nowhere = command("export", "--db", original, "-o", "no/events.jsonl")
    assert (nowhere.status, nowhere.err.count("\n")) == (2, 1)


def test_snapshot_copies_and_refuses_to_write_over(command: Command, original: Path) -> None:
    done = command("snapshot", "copy.db", "--db", original, "--json")
    assert (done.status, done.json["snapshot"]) == (0, "copy.db")
    assert command("verify", "--db", "copy.db", "--json").json["head"] == done.json["head"]
    assert command("snapshot", "copy.db", "--db", original).status == 2


def test_a_ledger_that_is_only_one_copied_file_is_read(command: Command, original: Path) -> None:
    shutil.copyfile(original, command.folder / "ledger.db")
    assert command("verify").status == 0
