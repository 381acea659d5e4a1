"""An auditor's seed draws cells that nobody could choose, and what it draws is shown whole."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import NotFound
from ledger.bundle._draw import rank
from tests.ledger.bundle.bundled import GOLDS, Bundled, bundled
from tests.ledger.bundle.opened import Opened, made

SEED = "17 dice: 3 3 1 6"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Bundled:
    return bundled(tmp_path_factory.mktemp("bundled"))


@pytest.fixture(scope="module")
def drawn(ledger: Bundled) -> Opened:
    return made(ledger, hide="prompts,gold", reveal=4, seed=SEED, name="drawn.zip")


def by_hand(bundle: Opened, runs: list[str], count: int, seed: str) -> list[dict[str, object]]:
    """The draw as docs/BUNDLES.md says it, over every line of the ledger."""
    root = bundle.members["checkpoint"].decode().split("\n")[2]
    lines = [json.loads(line) for line in bundle.members["lines.txt"].splitlines()]
    cells = [(line["run"], line["cell"]) for line in lines if line["kind"] == "cell" and line["run"] in runs]
    ranked = sorted(
        cells,
        key=lambda each: hashlib.sha256(f"eval-ledger/draw@v1\n{root}\n{each[0]}\n{each[1]}\n{seed}".encode()).digest(),
    )
    return [{"run": run, "cell": cell} for run, cell in ranked[:count]]


def test_the_cells_of_the_smallest_ranks_are_drawn(drawn: Opened, ledger: Bundled) -> None:
    reveal = drawn.bundle["reveal"]
    assert (reveal["n"], reveal["seed"]) == (4, SEED)
    assert reveal["drawn"] == by_hand(drawn, [ledger.run], 4, SEED)


def test_cells_of_every_asked_run_are_drawn_from_and_another_seed_draws_others(ledger: Bundled) -> None:
    both = made(ledger, ledger.run, ledger.other, hide="gold", reveal=12, seed="é", name="both.zip")
    assert both.bundle["reveal"]["drawn"] == by_hand(both, [ledger.run, ledger.other], 12, "é")
    assert {each["run"] for each in both.bundle["reveal"]["drawn"]} == {ledger.run, ledger.other}


@settings(max_examples=50)
@given(st.binary(min_size=32, max_size=32), st.integers(1, 10**6), st.text(st.characters(codec="utf-8")))
def test_a_rank_rests_on_the_root_the_run_the_cell_and_the_seed(root: bytes, cell: int, seed: str) -> None:
    text = "eval-ledger/draw@v1\n" + base64.b64encode(root).decode() + f"\nrun\n{cell}\n" + seed
    assert rank(root, "run", cell, seed) == hashlib.sha256(text.encode()).digest()


def test_what_is_drawn_is_shown_whole_and_of_the_rest_only_what_counts_need(drawn: Opened, ledger: Bundled) -> None:
    cells = {(each["run"], each["cell"]) for each in drawn.bundle["reveal"]["drawn"]}
    private = {"cell", "request", "response", "fault", "parse", "confirm"}
    for row in drawn.events.values():
        at = row["at"]
        if at["kind"] in private:
            assert (row["body"] is not None) == ((at["run"], at["cell"]) in cells), at
            assert all(each["file"] in drawn.members for each in row["blobs"].values())
    assert drawn.events[1]["body"] is not None


def test_the_cases_of_drawn_cells_are_there_once_in_the_order_of_the_file_and_no_others(drawn: Opened) -> None:
    rows = [json.loads(line) for line in drawn.members["cases.jsonl"].splitlines()]
    shown = {row["case"] for row in drawn.bodies("cell")}
    ids = [json.loads(row["line"])["id"] for row in rows]
    assert ids == sorted(shown)
    assert {row["fixture"] for row in rows} == {"v0"}
    others = set(GOLDS) - {json.loads(row["line"])["gold"] for row in rows}
    assert not [gold for gold in others if gold.encode() in drawn.told]


def test_more_cells_than_there_are_is_refused_with_their_number(ledger: Bundled) -> None:
    with pytest.raises(NotFound, match="--reveal 25: there are 24 cells to draw from"):
        made(ledger, hide="gold", reveal=25, seed="s", name="more.zip")
