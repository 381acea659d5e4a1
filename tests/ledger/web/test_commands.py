"""Commands that a page shows for copying name the ledger that the page is of."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from ledger import Draft, Ledger, kinds
from tests.ledger.web.pages import Served, noted


def commands(served: Served, address: str) -> list[str]:
    answer = served(address)
    assert answer.status_code == 200, answer.text
    main = answer.text.partition("<main")[2].partition("<footer")[0]
    return [unescape(each) for each in re.findall("<code>((?:ledger|harness) (?!verify)[^<]*)</code>", main)]


def test_a_command_names_the_ledger_as_it_was_given_and_quotes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    noted(Path("my notes.db"))
    assert commands(Served(Path("my notes.db")), "/-/ledger/my notes/event/2") == [
        "ledger show 2 --db 'my notes.db'", "ledger cite 2 --db 'my notes.db'",
    ]  # fmt: skip


def test_the_ledger_that_commands_read_by_themselves_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    noted(Path("ledger.db"))
    assert commands(Served(Path("ledger.db")), "/-/ledger/ledger/event/2") == ["ledger show 2", "ledger cite 2"]


def test_the_page_of_a_blob_names_it_in_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    zero = "0" * 64
    with Ledger.create(Path("frozen.db")) as ledger:
        body = kinds.Freeze(what="fixture", name="f", digest=zero, identity=zero)
        (event,) = ledger.append(Draft(body, blobs={"file": b"bytes"}))
    assert commands(Served(Path("frozen.db")), f"/-/ledger/frozen/event/{event.seq}/blob/file") == [
        f"ledger show {event.seq} --blob file --db frozen.db"
    ]
