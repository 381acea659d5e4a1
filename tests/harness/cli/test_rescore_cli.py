"""`harness rescore` at the command line: what it prints, and JSON alone when asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

from harness._rescore import rescore_run
from ledger import Ledger, verify
from tests.harness.answered import FENCED, answered_run, rules_of
from tests.harness.experiments import Experiment
from tests.harness.models import Answer, model_server
from tests.harness.test_run import BIN, ROOT, wait_for
from tests.started import finished


def harness(db: Path, *arguments: str, expect: int = 0) -> tuple[str, str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("LEDGER", "HARNESS"))}
    done = finished("harness", [*arguments, "--db", db], cwd=ROOT, environ=environ)
    assert done.returncode == expect, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def test_the_command_prints_the_difference_and_json_alone_when_asked(ledger: Ledger) -> None:
    hostile = '```json\n{"proposals": [], "x": "\x1b]0;owned\x07"}\n```'
    made = answered_run(ledger, {1: FENCED, 5: hostile})
    ledger.close()
    out, errors = harness(ledger.path, "rescore", made.run[:8], "--rules", "fence-cite", "--dry-run")
    assert "would append" in out
    assert "parse: fence" in out
    assert "exact unmeasured → 1" in out
    assert "\x1b" not in out + errors
    out, _ = harness(ledger.path, "rescore", "latest", "--rules", "fence-cite", "--json")
    found = json.loads(out)
    assert list(found)[:3] == ["run", "appended", "rules"]
    assert found["appended"] > 0
    assert {"cell", "case", "metric", "before", "after", "stage"} <= set(found["flips"][0])
    out, _ = harness(ledger.path, "rescore", "latest", "--rules", "fence-cite")
    assert "nothing was appended" in out


def test_several_runs_are_rescored_at_once_and_nothing_is_appended_when_one_is_refused(ledger: Ledger) -> None:
    runs = [answered_run(ledger, {1: FENCED}).run for _ in range(2)]
    ledger.close()
    out, _ = harness(ledger.path, "rescore", *runs, "--rules", "fence-cite", "--json")
    assert [each["run"] for each in json.loads(out)["runs"]] == runs
    before = ledger.path.read_bytes()
    _, errors = harness(ledger.path, "rescore", runs[0], "zzzz", "--rules", "fence-span", expect=2)
    assert "no run fits" in errors
    _, errors = harness(ledger.path, "rescore", runs[0], "--rules", "fence-span", "--rules", "no-such", expect=2)
    assert "no-such" in errors
    assert ledger.path.read_bytes() == before


def test_a_probe_has_no_rule_set_to_move_against(tmp_path: Path) -> None:
    lab = Experiment(tmp_path)
    with model_server(lambda prompt: Answer("{}")) as server:
        run = lab.harness("probe", "ollama/m", "--prompt", "hi", "--base-url", server.url, "--ask", "object")["run"]
    assert "is a probe" in lab.harness("rescore", run, "--rules", "default", expect=2)["errors"]


def test_ctrl_c_ends_it_in_a_word_and_whatever_was_appended_is_whole(ledger: Ledger) -> None:
    made = answered_run(ledger, epochs=250)
    ledger.close()
    process = subprocess.Popen(
        [BIN / "harness", "rescore", made.run, "--rules", "fence-cite", "--workers", "2", "--db", ledger.path],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    with Ledger.open(ledger.path, read_only=True) as reader:
        planned = len(list(reader.events(kind="score")))
        # The rule set is frozen first, so by then the processes are on their way.
        wait_for(lambda: len(list(reader.events(kind="freeze"))) == 4 or process.poll() is not None)
    os.killpg(process.pid, signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "interrupted\n"), out
    with Ledger.open(ledger.path) as writer:
        done = rescore_run(writer, made.run, rules_of("fence-cite"))
        assert len(list(writer.events(kind="score"))) == 2 * planned
        assert len(list(writer.events(kind="freeze"))) == 4
        assert done.derived[done.rules[0]] > 0
    assert verify(ledger.path).verdict == "CONSISTENT"
