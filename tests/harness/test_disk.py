"""A dry run says how much disk a run will take, within a fifth of what it then takes, and needs no key."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.harness.limited import questions
from tests.harness.models import Answer, model_server
from tests.started import finished


def harness(lab: Path, *arguments: str, key: str = "") -> Any:
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("LEDGER", "HARNESS", "OPENAI"))
    }
    more = {"OPENAI_API_KEY": key} if key else {}
    done = finished("harness", [*arguments, "--json"], cwd=lab, environ=environ | more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def lab_of(lab: Path, count: int, prompt: int) -> None:
    suite = questions(lab, count)
    cases = [{"id": f"c{at}", "input": "x" * prompt + f" {at}", "gold": str(at)} for at in range(count)]
    (suite / "v0" / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))


@pytest.mark.parametrize(("count", "prompt", "reply"), [(60, 10, 900), (40, 3_000, 20), (20, 60_000, 900)])
def test_what_it_says_is_within_a_fifth_of_what_the_run_takes(
    tmp_path: Path, count: int, prompt: int, reply: int
) -> None:
    lab_of(tmp_path, count, prompt)
    db = tmp_path / "ledger.db"
    with model_server(lambda asked: Answer(f"{'y ' * (reply // 2)}{asked.split()[-1]}")) as at:
        run = ["run", "numbers", "--engine", "openai/m", "--base-url", at.openai]
        first = harness(tmp_path, *run, "--dry-run")["disk"]
        assert not db.exists()
        harness(tmp_path, *run)
        took = db.stat().st_size
        assert first["recorded_replies"] == 0
        # What a reply takes isn't known yet; this one is told apart from what is assumed.
        known = first["total"] + count * 3 * (reply + 260 - first["reply_bytes"])
        assert abs(known - took) < took / 5, (first, took)
        second = harness(tmp_path, *run, "--dry-run")["disk"]
        harness(tmp_path, *run)
        grew = db.stat().st_size - took
        assert second["recorded_replies"] == count and second["files"] == 0
        assert abs(second["total"] - grew) < grew / 5, (second, grew)


def test_a_dry_run_needs_no_key_and_says_it_for_people(tmp_path: Path) -> None:
    lab_of(tmp_path, 3, 10)
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("LEDGER", "HARNESS", "OPENAI"))
    }
    engines = ["--engine", "openai/m", "--engine", "anthropic/m", "--engine", "groq/m"]
    environ.pop("ANTHROPIC_API_KEY", None)
    done = finished("harness", ["run", "numbers", *engines, "--dry-run"], cwd=tmp_path, environ=environ)
    assert done.returncode == 0, done.stderr
    assert "On disk: about " in done.stdout and "bytes each, assumed" in done.stdout
    real = finished("harness", ["run", "numbers", *engines], cwd=tmp_path, environ=environ)
    assert real.returncode == 2
    # All three are named before anything is sent or written.
    for engine, variable in (("openai/m", "OPENAI"), ("anthropic/m", "ANTHROPIC"), ("groq/m", "GROQ")):
        assert f"{engine} needs a key at" in real.stderr and f"{variable}_API_KEY" in real.stderr
    assert not (tmp_path / "ledger.db").exists()
