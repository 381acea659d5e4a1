"""Giving a finished file its name, where links or renames fail."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ledger._errors import LedgerExists
from ledger._files import claim_name


def fails(number: int) -> object:
    def failing(*given: object, **more: object) -> None:
        raise OSError(number, os.strerror(number))

    return failing


@pytest.fixture
def made(tmp_path: Path) -> Path:
    path = tmp_path / "made"
    path.write_bytes(b"whole")
    return path


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_has_no_room_for_a_name_is_left_without_it(
    made: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(os, "link", fails(number))
    with pytest.raises(OSError, match=os.strerror(number)):
        claim_name(made, made.with_name("named"))
    assert sorted(each.name for each in made.parent.iterdir()) == ["made"]


def test_where_there_are_no_links_a_rename_that_fails_leaves_no_empty_file(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", fails(errno.EPERM))
    monkeypatch.setattr(Path, "replace", fails(errno.ENOSPC))
    with pytest.raises(OSError, match="space"):
        claim_name(made, made.with_name("named"))
    assert sorted(each.name for each in made.parent.iterdir()) == ["made"]


def test_where_there_are_no_links_the_name_is_given_and_never_taken_from_another(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", fails(errno.EPERM))
    taken = made.with_name("taken")
    taken.write_bytes(b"theirs")
    with pytest.raises(LedgerExists):
        claim_name(made, taken)
    assert taken.read_bytes() == b"theirs"
    claim_name(made, made.with_name("named"))
    assert made.with_name("named").read_bytes() == b"whole"
