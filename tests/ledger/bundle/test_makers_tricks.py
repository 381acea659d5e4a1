"""What a maker may try who wants a better number believed, or a worse one forgotten: both readers find it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger import Draft, Ledger
from ledger.bundle import check_bundle
from ledger.bundle._make import Wanted, make_bundle, words_of
from ledger.checkpoints._timestamp import make_query
from ledger.kinds import Score, Tally
from tests.ledger.bundle.bundled import Bundled, bundled
from tests.ledger.bundle.edited import READERS, Parts, Said
from tests.ledger.checkpoints.authority import Certificates

SEED = "an auditor's"
Forged = Callable[[Ledger, Score, Tally], tuple[list[tuple[int, Score]], Tally]]


@pytest.fixture(scope="module")
def of(tmp_path_factory: pytest.TempPathFactory) -> Bundled:
    """A ledger, with two bundles of its run."""
    made = bundled(tmp_path_factory.mktemp("tricks"))
    make_bundle(made.db, Wanted((made.run,)), made.folder / "shown.zip")
    drawn = Wanted((made.run,), hide=words_of("gold"), reveal=2, seed=SEED)
    make_bundle(made.db, drawn, made.folder / "drawn.zip")
    make_bundle(made.db, Wanted(report=made.report), made.folder / "report.zip")
    return made


def found(path: Path, of: Bundled) -> dict[str, Said]:
    return {name: reader(path, of.key.verifier) for name, reader in READERS.items()}


def refused(said: dict[str, Said]) -> bool:
    assert all("Traceback" not in each.text for each in said.values())
    return {each.status for each in said.values()} in ({1}, {2})


def _run(parts: Parts, of: Bundled, which: str) -> dict[str, Any]:
    return next(each for each in parts.about["fixtures"][0]["runs"] if each["run"] == getattr(of, which))


def _withheld(parts: Parts, of: Bundled) -> None:
    """The response of a drawn cell, as if a redaction had taken it."""
    drawn = {each["cell"] for each in parts.about["reveal"]["drawn"]}
    seq = next(seq for seq in parts.seqs("response", of.run) if json.loads(parts.at(seq)["line"])["cell"] in drawn)
    parts.hide(seq, "redacted")
    parts.members = {name: data for name, data in parts.members.items() if not name.startswith(f"blobs/{seq}-")}


TRICKS: dict[str, tuple[str, Callable[[Parts, Bundled], object]]] = {
    "a superseded run as if it were in force": ("shown", lambda p, of: _run(p, of, "other").update(superseded_by=[])),
    "a run as if another had superseded it": ("shown", lambda p, of: _run(p, of, "run").update(superseded_by=[1])),
    "a fixture by a better name": ("shown", lambda p, of: p.about["fixtures"][0].update(name="gpqa/diamond")),
    "a count that is no whole number": ("shown", lambda p, of: p.about["claims"][0].update(k=9.0)),
    "a claim of a run that nobody asked for": ("report", lambda p, of: p.about["asked"].update(runs=[])),
    "a drawn reply as if it were redacted": ("drawn", _withheld),
}


@pytest.mark.parametrize("what", TRICKS)
def test_a_trick_with_the_bundle_is_found_by_both_readers(of: Bundled, what: str, tmp_path: Path) -> None:
    bundle, trick = TRICKS[what]
    parts = Parts.of(of.folder / f"{bundle}.zip")
    trick(parts, of)
    said = found(parts.write(tmp_path / "edited.zip"), of)
    assert refused(said), said


def _more_before(data: bytes) -> bytes:
    return b"#!/bin/sh\n" + data


def _two_zips(data: bytes) -> bytes:
    return data + data


def _more_after(data: bytes) -> bytes:
    return data + b"trailing words"


@pytest.mark.parametrize("change", [_more_before, _two_zips, _more_after])
def test_a_file_that_other_programs_may_read_as_another_zip_is_refused(
    of: Bundled, change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "edited.zip"
    path.write_bytes(change((of.folder / "shown.zip").read_bytes()))
    said = found(path, of)
    assert {name: each.status for name, each in said.items()} == dict.fromkeys(READERS, 2), said


def _nearly_right(ledger: Ledger, score: Score, tally: Tally) -> tuple[list[tuple[int, Score]], Tally]:
    """Twelve cells of 0.96 sum to 11.52, which is 12 once it is rounded."""
    scores = [
        (cell, score.model_copy(update={"outcome": "correct", "metrics": {"correct": 0.96}})) for cell in range(1, 13)
    ]
    own = tally.metrics[0].model_copy(update={"k": 12, "n": 12})
    outcomes = {"correct": 21, "incorrect": 2, "unmeasured": 1}
    return scores, tally.model_copy(update={"metrics": [own, *tally.metrics[1:]], "outcomes": outcomes})


def _other_outcomes(ledger: Ledger, score: Score, tally: Tally) -> tuple[list[tuple[int, Score]], Tally]:
    """The counts by outcome are other ones than the scores have; the figures are as they were."""
    return [], tally.model_copy(update={"outcomes": {"correct": sum(tally.outcomes.values())}})


@pytest.mark.parametrize(("forge", "told"), [(_nearly_right, "0 or 1"), (_other_outcomes, "its tally")])
def test_a_forged_tally_in_a_ledger_whose_chain_is_sound_is_found_by_both_readers(
    tmp_path: Path, forge: Forged, told: str
) -> None:
    of = bundled(tmp_path)
    with of.ledger() as ledger:
        first = next(ledger.events(kind="score", run=of.run, cell=1))
        last = list(ledger.events(kind="tally", run=of.run))[-1]
        score, tally = ledger.body(first), ledger.body(last)
        assert isinstance(score, Score) and isinstance(tally, Tally)
        scores, forged = forge(ledger, score, tally)
        for cell, body in scores:
            (old,) = ledger.events(kind="score", run=of.run, cell=cell)
            ledger.append(Draft(body, run=of.run, cell=cell, causes=old.causes))
        ledger.append(Draft(forged, run=of.run, causes=last.causes))
    of.checkpoint()
    path = tmp_path / "forged.zip"
    make_bundle(of.db, Wanted((of.run,)), path)
    said = found(path, of)
    assert refused(said), said
    assert all(told in each.text for each in said.values()), said


def test_a_name_that_looks_like_a_figure_stays_in_quotes(of: Bundled) -> None:
    for each in found(of.folder / "shown.zip", of).values():
        assert each.status == 0
        assert "'openai/first'" in each.text and "'correct'" in each.text


def test_what_is_told_of_hidden_cells_is_whose_they_are(of: Bundled, tmp_path: Path) -> None:
    path = tmp_path / "hidden.zip"
    make_bundle(of.db, Wanted((of.run,), hide=words_of("gold,prompts")), path)
    for each in found(path, of).values():
        assert each.status == 0
        assert any("by their places" in line and "old" in line.lower() for line in each.text.splitlines())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl, which makes the timestamps")
def test_a_real_timestamp_goes_into_the_bundle_and_is_a_witness(tmp_path: Path) -> None:
    of = bundled(tmp_path)
    note = of.checkpoint()
    certificates = Certificates(tmp_path)
    token = certificates.issue("clock", subject="/CN=Clock").answer(make_query(note.read_bytes()).data)
    note.with_name(f"{note.stem}.clock.tsr").write_bytes(token)
    path = tmp_path / "stamped.zip"
    make_bundle(of.db, Wanted((of.run,), hide=words_of("prompts,gold")), path)
    seen = check_bundle(path, keys=[of.key.verifier], tsa_roots=[certificates.root])
    assert (seen.exit_status, len(seen.timestamps)) == (0, 1), seen.lines
    assert "Clock" in seen.timestamps[0]
    assert READERS["verify.py"](path, of.key.verifier).status == 0
