"""A ledger file as a server reads it: one moment a page, and never another file's past."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from ledger import Draft, Ledger, LedgerError, NotALedger, kinds
from ledger.web._reading import Shelf
from tests.ledger.ledgers import settle


def note(path: Path, text: str) -> int:
    with Ledger.open(path) as ledger:
        return ledger.append(Draft(kinds.Note(text=text)))[0].seq


def seen(shelf: Shelf) -> tuple[int, str]:
    with shelf.reading() as ledger:
        return ledger.head()


def test_everything_in_a_page_is_of_one_moment_and_the_next_page_of_a_newer_one(path: Path) -> None:
    shelf = Shelf(path)
    with shelf.reading() as ledger:
        before = ledger.head()
        note(path, "meanwhile")
        assert ledger.head() == before
    assert seen(shelf)[0] == before[0] + 1
    shelf.close()


def test_a_page_that_fails_gives_its_connection_back_with_no_moment_held(path: Path) -> None:
    shelf = Shelf(path)
    with pytest.raises(KeyError), shelf.reading() as first:
        raise KeyError("a page's own")
    note(path, "later")
    with shelf.reading() as second:
        assert second is first
        assert second.head()[0] == 3
    shelf.close()


def test_pages_at_once_have_a_connection_each_and_few_stay_open(path: Path) -> None:
    shelf = Shelf(path)

    def used_at_once() -> set[Ledger]:
        here = threading.Barrier(12)
        used: set[Ledger] = set()

        def page() -> None:
            with shelf.reading() as ledger:
                here.wait(30)
                used.add(ledger)
                here.wait(30)

        threads = [threading.Thread(target=page) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return used

    first = used_at_once()
    assert len(first) == 12
    again = used_at_once()
    assert len(again) == 12
    assert len(first & again) == 8
    shelf.close()


def test_a_file_that_is_put_in_its_place_is_read_from_then_on_and_nothing_of_the_old_is_kept(
    path: Path, tmp_path: Path
) -> None:
    shelf = Shelf(path)
    with shelf.reading() as ledger:
        memory = shelf.memory_of(ledger)
        memory.kept(ledger, 2, "", "what", lambda held: held.genesis.id)
    Ledger.create(tmp_path / "other.db").close()
    note(tmp_path / "other.db", "another")
    settle(tmp_path / "other.db")
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    (tmp_path / "other.db").replace(path)
    with shelf.reading() as ledger:
        assert ledger.head()[0] == 3
        assert shelf.memory_of(ledger) is not memory
        assert shelf.memory_of(ledger) is shelf.memory
        found = shelf.memory.kept(ledger, 3, "", "what", lambda held: held.genesis.id)
        assert found.value == ledger.genesis.id
    shelf.close()


def test_a_page_that_outlasts_its_file_keeps_to_its_own_memory_and_its_connection_is_not_used_again(
    path: Path, tmp_path: Path
) -> None:
    shelf = Shelf(path)
    Ledger.create(tmp_path / "other.db").close()
    with shelf.reading() as old:
        mine = shelf.memory_of(old)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        (tmp_path / "other.db").replace(path)
        with shelf.reading() as new:
            assert new.genesis.id != old.genesis.id
        assert shelf.memory_of(old) is mine
        assert shelf.memory is not mine
        kept = old.genesis.id
    for _ in range(10):
        with shelf.reading() as ledger:
            assert ledger.genesis.id != kept
    shelf.close()


def test_a_ledger_restored_from_a_copy_in_the_same_place_is_noticed(path: Path, tmp_path: Path) -> None:
    settle(path)
    shutil.copyfile(path, tmp_path / "copy.db")
    note(path, "to be lost")
    shelf = Shelf(path)
    with shelf.reading() as ledger:
        before = shelf.memory_of(ledger)
        assert ledger.head()[0] == 3
    settle(path)
    with (tmp_path / "copy.db").open("rb") as source, path.open("r+b") as target:
        target.write(source.read())
        target.truncate()
    note(path, "another third event")
    with shelf.reading() as ledger:
        assert b"another" in str(ledger.event(3).body).encode()
        assert shelf.memory_of(ledger) is not before
    shelf.close()


def test_a_file_that_is_gone_or_is_none_is_said_in_a_sentence(path: Path, tmp_path: Path) -> None:
    shelf = Shelf(path)
    seen(shelf)
    path.unlink()
    with pytest.raises(NotALedger, match=r"can't be read as a ledger: No such file"), shelf.reading():
        pass
    path.write_bytes(b"something else altogether")
    with pytest.raises(LedgerError, match="as a ledger"), shelf.reading():
        pass
    shelf.close()


def test_damage_that_shows_while_a_page_is_made_is_said_in_a_sentence_and_the_connection_goes(path: Path) -> None:
    shelf = Shelf(path)
    with pytest.raises(LedgerError, match="syntax error"), shelf.reading() as first:
        first.sql("SELECT nothing of main.events").fetchall()
    with shelf.reading() as second:
        assert second is not first
    shelf.close()
