"""`ledger export --full` and `ledger import`, as they are typed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from ledger import Ledger
from tests.ledger.cli.conftest import Command
from tests.ledger.test_snapshot import rows


def test_a_ledger_goes_out_as_text_and_comes_back(command: Command, original: Path) -> None:
    out = command("export", "--full", "--db", original)
    into = command("export", "--full", "--db", original, "-o", "full.jsonl")
    assert (out.status, into.status, into.out) == (0, 0, "")
    assert (command.folder / "full.jsonl").read_text() == out.out
    made = command("import", "full.jsonl", "--db", "new.db", "--json")
    with Ledger.open(original, read_only=True) as ledger:
        seq, head = ledger.head()
    assert f"head {seq} {head}" in into.err
    assert (made.status, made.json["ledger"], made.json["seq"], made.json["head"]) == (0, "new.db", seq, head)
    assert made.err.startswith("Made new.db out of full.jsonl: head ")
    assert rows(command.folder / "new.db") == rows(original)
    again = command("import", "full.jsonl", "--db", "new.db")
    assert (again.status, again.err.count("\n")) == (2, 1)
    assert "new.db exists already" in again.err


def test_what_is_no_full_export_is_one_sentence_and_2(command: Command, original: Path) -> None:
    assert command("export", "--db", original, "-o", "lines.jsonl").status == 0
    for name, said in (("lines.jsonl", "line 1: these are event lines alone"), ("none.jsonl", "No such file")):
        done = command("import", name, "--db", "new.db")
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith(f"error: {name}")
        assert said in done.err
    assert not (command.folder / "new.db").exists()


def test_a_pipe_carries_a_ledger(command: Command, original: Path) -> None:
    sent = command.popen("export", "--full", "--db", str(original), stdout=subprocess.PIPE)
    taken = command.popen("import", "-", "--db", "new.db", "--json", stdin=sent.stdout, stdout=subprocess.PIPE)
    out, _ = taken.communicate(timeout=60)
    assert (sent.wait(timeout=60), taken.returncode) == (0, 0)
    assert json.loads(out)["ledger"] == "new.db"
    assert rows(command.folder / "new.db") == rows(original)
