"""`ledger bundle` as a person types it: what it says, and one sentence for whatever goes wrong."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from ledger.cli import app, run_app
from ledger.tree import parse_proof
from tests.ledger.bundle.bundled import Bundled, bundled


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Bundled:
    return bundled(tmp_path_factory.mktemp("bundled"))


def cli(ledger: Bundled, *arguments: object) -> int:
    return run_app(app, "ledger", ["bundle", *map(str, arguments), "--db", str(ledger.db)])


def test_it_says_what_was_made_hidden_and_drawn(ledger: Bundled, capsys: pytest.CaptureFixture[str]) -> None:
    target = ledger.folder / "evidence.zip"
    assert cli(ledger, "the guards", "-o", target, "--hide", "prompts,gold", "--reveal", 2, "--seed", "s") == 0
    said = capsys.readouterr()
    assert said.out.startswith(f"Made {target}: 153 events proved against the checkpoint of 226, ")
    assert "Hidden: 22 cell, " in said.out
    assert f"of {ledger.run}" in said.out.splitlines()[-1]
    assert "undoes what this one hides" in said.err
    assert zipfile.is_zipfile(target)


def test_words_of_hide_that_are_given_one_by_one_all_hide(ledger: Bundled) -> None:
    target = ledger.folder / "one-by-one.zip"
    assert cli(ledger, "the guards", "-o", target, "--hide", "prompts", "--hide", "gold, replies") == 0
    with zipfile.ZipFile(target) as evidence:
        assert json.loads(evidence.read("bundle.json"))["hide"] == ["gold", "prompts", "replies"]


def test_json_stands_alone_on_stdout(ledger: Bundled, capsys: pytest.CaptureFixture[str]) -> None:
    target = ledger.folder / "told.zip"
    assert cli(ledger, ledger.run[:6], "-o", target, "--json", "--lines", "needed") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["bundle"], told["size"], told["claims"], told["complete"]) == (str(target), 226, 2, False)
    assert told["bytes"] == target.stat().st_size


def test_a_proof_of_one_event_carries_its_line(ledger: Bundled) -> None:
    target = ledger.folder / "one.tlog-proof"
    assert cli(ledger, 107, "-o", target) == 0
    proof = parse_proof(target.read_bytes())
    assert proof.index == 106
    assert proof.extra is not None
    proof.check(proof.extra)
    assert json.loads(proof.extra)["seq"] == 107


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["latest", "--hide", "golds"], 2, "error: --hide: expected gold, prompts, replies, got 'golds'"),
        (["latest", "--hide", ""], 2, "error: --hide: expected gold, prompts, replies, got nothing, which would hide"),
        (["latest", "--hide", "gold", "--reveal", "2"], 2, "error: --reveal 2 needs --seed, a text that the auditor"),
        (["latest", "--hide", "gold", "--seed", "s"], 2, "error: --seed needs --reveal N: how many cells it draws"),
        (["latest", "--reveal", "2", "--seed", "s"], 2, "error: --reveal needs --hide: without it, everything"),
        (["latest", "--hide", "gold", "--reveal", "2", "--seed", "a\nb"], 2, "error: --seed: expected at most 1000"),
        (["latest", "--hide", "gold", "--reveal", "99", "--seed", "s"], 2, "error: --reveal 99: there are 24 cells"),
        (["latest", "--lines", "some"], 2, "error: --lines: expected all or needed, got 'some'"),
        (["latest", "--key", "no key"], 2, "error: expected a verifier key"),
        (["nobody"], 2, "error: no run fits 'nobody'; `ledger runs"),
        (["227"], 2, "error: there is no event 227; the head is 226"),
        (["20", "--hide", "gold", "--reveal", "1", "--seed", "s"], 2, "error: --reveal 1: there are 0 cells"),
        ([], 2, "error: expected a run, an event's seq, or --report FILE"),
        (["--report", "no-such-file"], 2, "error: no-such-file: No such file"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence_and_makes_no_file(
    arguments: list[str], status: int, sentence: str, ledger: Bundled, capsys: pytest.CaptureFixture[str]
) -> None:
    target = ledger.folder / "mistake.zip"
    assert cli(ledger, *arguments, "-o", target) == status
    assert sentence in capsys.readouterr().err
    assert not target.exists()


def test_a_proof_is_of_one_event(ledger: Bundled, capsys: pytest.CaptureFixture[str]) -> None:
    target = ledger.folder / "two.tlog-proof"
    for arguments in ([20, 21], ["the guards"], [20, "--hide", "gold"]):
        assert cli(ledger, *arguments, "-o", target) == 2
        assert "a .tlog-proof is of one event: give one seq" in capsys.readouterr().err
    assert not target.exists()


def test_what_came_after_the_checkpoint_is_refused_until_there_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ledger import Draft
    from ledger.kinds import Note

    ledger = bundled(tmp_path)
    with ledger.ledger() as appended:
        appended.append(Draft(Note(text="seen"), run=ledger.run))
    assert cli(ledger, "the guards", "-o", tmp_path / "e.zip") == 4
    assert "its last event is 227, and the newest is of 226; `ledger checkpoint --db" in capsys.readouterr().err
    ledger.checkpoint()
    assert cli(ledger, "the guards", "-o", tmp_path / "e.zip") == 0
