"""What an evidence bundle shows is derived again: all of a run, or the cells that a seed drew, by the code here."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness._rederive import rederive
from harness._rescore import rescore_run
from ledger import Ledger
from ledger.bundle import BundleVerdict, check_bundle
from ledger.bundle import _rederived as rederived
from ledger.bundle._make import Wanted, make_bundle, words_of
from ledger.cli import app, run_app
from ledger.kinds import Score
from ledger.tree import SigningKey
from tests.harness.answered import FENCED, OPEN, UNASKED, Down, answered_run, ask_again, rules_of
from tests.harness.test_replay_check import count, forge, of_kind
from tests.ledger.bundle.bundled import bundled, checkpointed
from tests.ledger.bundle.edited import Parts

ROOT = Path(__file__).resolve().parents[2]
MIXED: dict[int, object] = {1: FENCED, 2: Down(), 3: OPEN, 4: UNASKED, 5: "not json"}


def checked(ledger: Ledger, run: str, name: str = "evidence.zip", *, hide: str = "", **wanted: Any) -> BundleVerdict:
    """A bundle of the run as it is now, made and checked."""
    key = SigningKey.generate(f"{ledger.genesis.origin}/{ledger.genesis.id}")
    checkpointed(ledger.path, key)
    path = ledger.path.with_name(name)
    make_bundle(ledger.path, Wanted((run,), hide=words_of(hide), **wanted), path)
    return check_bundle(path, keys=[key.verifier], seed=wanted.get("seed"))


def test_a_run_that_is_shown_whole_is_derived_again_whole(ledger: Ledger) -> None:
    made = answered_run(ledger, MIXED, rules=["strict-cite", "fence-cite"])
    rescore_run(ledger, made.run, rules_of("fence-span", "as-of-2026-07-01"))
    ask_again(ledger, made, 2, "perfect")
    found = checked(ledger, made.run)
    assert (found.verdict, found.exit_status) == ("PROVED", 0), found.lines
    assert found.rederived is not None
    assert found.rederived.reproduced == found.rederived.total
    assert found.rederived.total == count(ledger, made.run, "parse", "confirm", "score", "tally")


@pytest.mark.parametrize("hide", ["gold", "prompts,gold"])
def test_what_the_seed_drew_is_derived_again_and_the_rest_is_counted_only(tmp_path: Path, hide: str) -> None:
    of = bundled(tmp_path)
    with of.ledger() as ledger:
        found = checked(ledger, of.run, hide=hide, reveal=5, seed="the auditor's")
        about = json.loads(Parts.of(tmp_path / "evidence.zip").members["bundle.json"])
        drawn = [each["cell"] for each in about["reveal"]["drawn"]]
        derived = sum(event.cell in drawn for kind in ("parse", "confirm", "score")
                      for event in ledger.events(kind=kind, run=of.run))  # fmt: skip
        whole = count(ledger, of.run, "parse", "confirm", "score", "tally")
    assert (found.verdict, found.exit_status) == ("PROVED", 0), found.lines
    assert found.rederived is not None
    assert (found.rederived.reproduced, found.rederived.total) == (derived, whole)
    assert any(
        f"{derived} of {whole}" in line and f"{whole - derived} are counted only" in line for line in found.lines
    )


def test_where_a_reply_is_withheld_what_was_drawn_is_proved_in_part(ledger: Ledger) -> None:
    made = answered_run(ledger)
    reply = str(of_kind(ledger, "response", made.run, 2).seq)
    why = ["--reason", "a test", "--category", "other"]
    assert run_app(app, "ledger", ["redact", reply, *why, "--db", str(ledger.path)]) == 0
    found = checked(ledger, made.run, hide="gold", reveal=6, seed="s")
    assert (found.verdict, found.exit_status) == ("PROVED IN PART", 3), found.lines
    assert any("3 of 18 derivations could not be made again" in line for line in found.partly), found.partly


def test_nothing_is_derived_again_where_all_is_hidden(ledger: Ledger) -> None:
    made = answered_run(ledger)
    found = checked(ledger, made.run, hide="prompts,gold")
    assert found.rederived is not None
    assert (found.exit_status, found.rederived.reproduced) == (0, 0)


@pytest.mark.parametrize("drawn", [{}, {"hide": "gold", "reveal": 24, "seed": "s"}], ids=["shown", "drawn"])
def test_a_score_that_its_bytes_dont_give_is_found_though_it_is_in_the_chain(
    tmp_path: Path, drawn: dict[str, Any]
) -> None:
    of = bundled(tmp_path)
    with of.ledger() as ledger:
        wrong, right = (of_kind(ledger, "score", of.run, cell) for cell in (3, 1))
        body = ledger.body(right)
        assert isinstance(body, Score) and body.outcome == "correct"
        seq = forge(ledger, wrong, 3, wrong.causes, **body.model_dump(exclude={"version", "blobs"}))
        found = checked(ledger, of.run, **drawn)
    assert (found.verdict, found.exit_status) == ("FALSE", 1)
    assert any(
        re.search(rf"event {seq}, a score of run \w+, cell 3: event \d+ scores", line) for line in found.lines
    ), found.lines


def test_where_nobody_can_derive_again_it_is_said_and_fails_only_what_was_drawn(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = answered_run(ledger)
    monkeypatch.setattr(rederived, "derivers", list)
    shown = checked(ledger, made.run)
    drawn = checked(ledger, made.run, "drawn.zip", hide="gold", reveal=2, seed="s")
    assert (shown.exit_status, shown.rederived) == (0, None)
    assert any("was not derived again" in line for line in shown.told)
    assert (drawn.verdict, drawn.exit_status) == ("NOT PROVED", 1)
    assert any("was not derived again" in line for line in drawn.failures)


def test_a_case_that_isnt_given_or_is_another_is_named(ledger: Ledger) -> None:
    made = answered_run(ledger)
    cases = [json.dumps({"id": case.id, "input": case.input, "gold": case.gold, "meta": {}})
             for case in (each.case for each in made.planned.measurements)]  # fmt: skip
    cell = ledger.body(of_kind(ledger, "cell", made.run, 2))
    fixture = cell.fixture  # type: ignore[attr-defined]
    other = json.dumps({**json.loads(cases[1]), "gold": None})
    given = rederived.Part(made.run, (1, 2, 3), ((fixture, cases[0]), (fixture, other)), None)
    found = rederive(ledger, given)
    assert not found.ok, found.lines
    assert any("cell 2" in line and "not the one that was measured" in line for line in found.lines), found.lines
    assert any("cell 3" in line and "not among those given" in line for line in found.lines)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's own ledger, of real runs by older code, copied."""
    return Path(shutil.copy(ROOT / "ledger.db", tmp_path_factory.mktemp("history") / "ledger.db"))


def test_a_judges_run_and_the_run_that_its_grades_joined_are_derived_again_but_for_the_grades(history: Path) -> None:
    with Ledger.open(history) as ledger:
        plans = {event.run: ledger.body(event) for event in ledger.events(kind="plan")}
        judge = next(run for run, plan in plans.items() if plan.grades)  # type: ignore[attr-defined]
        graded = plans[judge].grades[0]  # type: ignore[attr-defined]
        for run in (judge, graded):
            found = checked(ledger, run, f"{run}.zip")
            assert (found.problem_count, found.exit_status) == (0, 0), found.lines
            assert found.rederived is not None and found.rederived.reproduced > 0
        assert found.rederived.reproduced < found.rederived.total, "its joined grades are counted only"
