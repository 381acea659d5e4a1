"""What both readers say in words: what was left out, how a run went, what an event says, what is missing."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from ledger import Draft, Ledger
from ledger.bundle import check_bundle
from ledger.bundle._make import Wanted, make_bundle, words_of
from ledger.cli import app, run_app
from ledger.kinds import Close, Plan
from ledger.tree import SigningKey
from tests.ledger.bundle.bundled import Bundled, bundled
from tests.ledger.bundle.edited import READERS, SCRIPT, Parts, Reader, alone

SEED = "said by the auditor"
BOTH = pytest.mark.parametrize("reader", READERS.values(), ids=READERS)


@pytest.fixture(scope="module")
def of(tmp_path_factory: pytest.TempPathFactory) -> Bundled:
    made = bundled(tmp_path_factory.mktemp("said"))
    for name, wanted in {
        "shown": Wanted((made.run,)),
        "hidden": Wanted((made.run,), hide=words_of("prompts,gold")),
        "drawn": Wanted((made.run,), hide=words_of("gold"), reveal=2, seed=SEED),
        "event": Wanted(("17",)),
    }.items():
        make_bundle(made.db, wanted, made.folder / f"{name}.zip")
    return made


def checkpoint_of(of: Bundled) -> Path:
    (path,) = (of.folder / "ledger.db.checkpoints").glob("*.checkpoint")
    return path


@BOTH
def test_a_draw_is_held_against_the_auditors_own_checkpoint(of: Bundled, reader: Reader, tmp_path: Path) -> None:
    path, told = of.folder / "drawn.zip", "that the root is from before the seed was known"
    without = reader(path, of.key.verifier, seed=SEED)
    assert without.status == 0 and told in without.text
    own = reader(path, of.key.verifier, seed=SEED, own=checkpoint_of(of))
    assert own.status == 0 and told not in own.text and "stands on your own checkpoint" in own.text

    copy = Bundled(Path(shutil.copy(of.db, tmp_path / "ledger.db")), of.key, of.run, of.other, of.report)
    with copy.ledger() as ledger:
        ledger.append(Draft(next(iter(_bodies(ledger, "close", of.run))), run=of.run))
    other = reader(path, of.key.verifier, seed=SEED, own=copy.checkpoint())
    assert other.status == 1 and "yours" in other.text
    assert reader(path, of.key.verifier, own=of.db).status in (1, 2)


def _bodies(ledger: Ledger, kind: str, run: str) -> list[Any]:
    return [ledger.body(event) for event in ledger.events(kind=kind, run=run)]


def test_the_command_takes_a_checkpoint_for_a_bundle(of: Bundled, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["verify", str(of.folder / "drawn.zip"), "--key", str(of.key.verifier), "--seed", SEED]
    assert run_app(app, "ledger", [*arguments, "--checkpoint", str(checkpoint_of(of))]) == 0
    assert "stands on your own checkpoint" in capsys.readouterr().out
    assert run_app(app, "ledger", [*arguments, "--checkpoint", "no-such-file"]) == 1
    assert "no-such-file can't be read" in capsys.readouterr().out


@BOTH
def test_the_figure_that_is_left_out_is_named(of: Bundled, reader: Reader, tmp_path: Path) -> None:
    parts = Parts.of(of.folder / "shown.zip")
    parts.about["claims"] = parts.about["claims"][:1]
    said = reader(parts.write(tmp_path / "edited.zip"), of.key.verifier)
    (line,) = [line for line in said.text.splitlines() if "claim" in line and "left out" in line]
    assert line.startswith(("False: ", "FALSE: ")) and "9/11" in line and "'openai/second'" in line


@BOTH
def test_a_tally_that_is_hidden_is_no_way_to_drop_its_figures(of: Bundled, reader: Reader, tmp_path: Path) -> None:
    parts = Parts.of(of.folder / "shown.zip")
    parts.hide(parts.seqs("tally", of.run)[-1], "hidden: holds hidden text")
    parts.about["claims"] = []
    said = reader(parts.write(tmp_path / "edited.zip"), of.key.verifier)
    assert said.status == 3 and "the figures of its tally" in said.text


@BOTH
def test_how_a_run_was_asked_and_ended_is_said(of: Bundled, reader: Reader, tmp_path: Path) -> None:
    shown = reader(of.folder / "shown.zip", of.key.verifier).text
    assert f"run {of.run}: asked live, incomplete, 24 of 24 asked" in shown
    hidden = reader(of.folder / "hidden.zip", of.key.verifier).text
    (line,) = [line for line in hidden.splitlines() if f"run {of.run}: UNKNOWN whether asked live or a replay" in line]
    assert "told" in line.lower()


@BOTH
def test_a_replay_and_a_run_that_was_interrupted_say_so(of: Bundled, reader: Reader, tmp_path: Path) -> None:
    db = tmp_path / "ledger.db"
    shutil.copy(of.db, db)
    with Ledger.open(db) as ledger:
        plan, close = (_bodies(ledger, kind, of.run)[-1] for kind in ("plan", "close"))
        assert isinstance(plan, Plan) and isinstance(close, Close)
        (old,) = ledger.events(kind="plan", run=of.run)
        ledger.append(Draft(plan.model_copy(update={"via": "replay"}), run="r" * 16, causes=old.causes))
        ledger.append(Draft(close.model_copy(update={"status": "interrupted", "asked": 3}), run="r" * 16))
    copy = Bundled(db, of.key, of.run, of.other, of.report)
    copy.checkpoint()
    make_bundle(db, Wanted((of.run,)), tmp_path / "evidence.zip")
    said = reader(tmp_path / "evidence.zip", of.key.verifier)
    assert said.status == 0
    assert re.search(r"r{16}\W+(0 cells, )?a REPLAY of recorded answers, interrupted, 3 of 24 asked", said.text)


@BOTH
def test_an_event_that_was_asked_for_is_named_with_what_it_says(of: Bundled, reader: Reader) -> None:
    with of.ledger() as ledger:
        event = ledger.event(17)
    said = reader(of.folder / "event.zip", of.key.verifier)
    (line,) = [line for line in said.text.splitlines() if "event 17 is a " in line]
    assert said.status == 0 and f"{event.kind} of run {event.run}, cell {event.cell}: " in line
    assert (event.body or "")[:40] in line and len(line) < 300


def test_the_json_proves_nothing_without_a_key_and_has_claims_as_fields(of: Bundled) -> None:
    signed = check_bundle(of.folder / "shown.zip", keys=[of.key.verifier]).as_json()
    bare = check_bundle(of.folder / "shown.zip").as_json()
    assert (bare["proved"], bare["proved_in_part"], bare["verdict"]) == ([], [], "NOT PROVED")
    assert any("no key was given" in each for each in bare["failures"])
    assert bare["unsigned"] == signed["proved"] and signed["failures"] == []
    (claim, _) = signed["claims"]
    assert (claim["run"], claim["candidate"], claim["metric"]) == (of.run, "openai/first", "correct")
    assert (claim["k"], claim["n"], claim["planned"], claim["status"]) == (9, 11, 12, "proved")
    assert {each["status"] for each in bare["claims"]} == {"not proved"}


@BOTH
def test_a_wrong_key_is_said_in_a_sentence_and_no_line_stands_twice(of: Bundled, reader: Reader) -> None:
    said = reader(of.folder / "hidden.zip", SigningKey.generate(of.key.name).verifier)
    assert said.status == 1 and "wrong key" in said.text
    for text in (said.text, reader(of.folder / "hidden.zip", of.key.verifier).text):
        lines = text.splitlines()
        assert len(lines) == len(set(lines))
        assert not re.search(r"\b1 (\w+ )?(runs|things|events|cells|blobs)\b|[a-z]Error\b|BadZipFile", text)


@pytest.mark.parametrize("missing", ["blake3", "cryptography.exceptions"])
def test_without_its_packages_verify_py_says_how_to_get_them(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(SCRIPT))
    assert ended.value.code == 2
    assert capsys.readouterr().err == "two packages are needed: python -m pip install blake3 cryptography\n"


def test_no_class_name_of_python_is_in_what_verify_py_says(of: Bundled, tmp_path: Path) -> None:
    parts = Parts.of(of.folder / "event.zip")
    for change in ({"claims": [{}]}, {"fixtures": [3]}, {"asked": {"runs": ["x"], "events": [], "report": None}}):
        kept = dict(parts.about)
        parts.about.update(change)
        said = alone(parts.write(tmp_path / "edited.zip"), of.key.verifier)
        assert said.status in (1, 2) and not re.search(r"[a-z]Error\b", said.text), json.dumps(change)
        parts.about = kept
    (tmp_path / "no.zip").write_bytes(b"PK no zip")
    assert alone(tmp_path / "no.zip", of.key.verifier).text == "can't be read: File is not a zip file\n"
