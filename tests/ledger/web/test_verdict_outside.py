"""The verdict on a page, where checkpoints lie beside the ledger."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ledger.checkpoints._files import checkpoint_folder, note_path
from ledger.web._verdict import Verifier
from tests.ledger.signed import key_of, sign
from tests.ledger.web.pages import Served
from tests.ledger.web.test_verdict import Pretended, home, until


@pytest.fixture
def signed(original: Path, copy: Path) -> Path:
    shutil.copyfile(original, copy)
    sign(copy, 20)
    return copy


def test_the_page_says_which_checkpoint_and_that_nobody_checked_who_signed_it(signed: Path) -> None:
    html = home(Served(signed), "MATCHES CHECKPOINT")
    assert '<p class="good"><strong>MATCHES CHECKPOINT</strong>' in html
    assert "Checkpoint of 20 events (copy.db.checkpoints/000000000020.checkpoint)" in html
    assert str(signed.parent) not in html, "a page tells nobody where the ledger lies"
    assert "signature not checked, as no key was given" in html
    assert "whether events after the first 20 were cut off or written anew" in html
    assert "Nothing outside this file was consulted" not in html and "keep the head somewhere else" not in html


def test_the_key_in_the_environment_counts(signed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_VERIFY_KEY", str(key_of(signed, seed=66).verifier))
    html = home(Served(signed), "Failed: ")
    assert key_of(signed).verifier.label in html
    assert '<p class="warn"><strong>CONSISTENT</strong>' in html and "expected a signature by" in html
    assert "A checkpoint that isn&#39;t signed by your key" in html


def test_a_ledger_that_parts_from_its_checkpoint_is_loud(signed: Path) -> None:
    sign(signed, 10).rename(checkpoint_folder(signed) / "kept")
    note = note_path(checkpoint_folder(signed), 20)
    origin, size, _, *rest = note.read_text().split("\n")
    note.write_text("\n".join([origin, size, "A" * 43 + "=", *rest]))
    html = home(Served(signed), "TAMPERED")
    assert "No single event is known to be at fault." in html and "A ledger that parts from a checkpoint" in html


def test_a_checkpoint_that_comes_or_is_changed_is_looked_at_though_the_head_stays(signed: Path) -> None:
    pretended = Pretended()
    verifier = Verifier(signed, start=pretended.start, clock=lambda: pretended.clock)
    written = [
        lambda: None,
        lambda: sign(signed, 10),
        lambda: note_path(checkpoint_folder(signed), 20).write_bytes(b"changed"),
        lambda: shutil.rmtree(checkpoint_folder(signed)),
    ]
    for count, write in enumerate(written, start=1):
        write()
        pretended.clock += 1e6
        verifier.standing("h1")
        until(lambda: verifier.standing("h1").since is None)
        assert pretended.started == count
        pretended.clock += 1e6
        verifier.standing("h1")
        assert pretended.started == count, "nothing was written: nothing is checked again"
