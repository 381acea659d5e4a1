"""A ledger whose every hash is right, and one thing in it false: all who hold that link notice, and name the pair."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.links._table import LINKS
from tests.forgeries.all_rows import FORGERIES
from tests.forgeries.bases import base
from tests.forgeries.holders import HOLDERS, ask
from tests.forgeries.retold import Retold
from tests.forgeries.table import Forgery

HELD = {each.name: each.held for each in LINKS}


def test_every_link_has_a_forgery_and_every_forgery_a_link() -> None:
    assert {each.link for each in FORGERIES.values()} == set(HELD)
    assert len(FORGERIES) >= 60


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_everybody_who_holds_it_notices_it(forgery: Forgery, tmp_path: Path) -> None:
    story, db = Retold(base(forgery.base) / "ledger.db"), tmp_path / "ledger.db"
    pair = forgery.forge(story)
    seqs = story.write(db)
    holders = [each for each in HOLDERS if each in HELD[forgery.link] - forgery.unseen]
    found = ask(db, *holders)
    assert {holder: said.status for holder, said in found.items()} == dict.fromkeys(holders, 1), found
    said = found["verify" if "verify" in found else "deep"].text
    for fact in pair:
        assert re.search(rf"\bevent {seqs[fact.mark]}\b", said), f"a {fact.kind}, event {seqs[fact.mark]}: {said}"
