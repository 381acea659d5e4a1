"""An authority's certificates, made once; a ledger with a key of its own for every test."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from ledger import Draft, Ledger, Made, make_checkpoint
from ledger.kinds import Note
from ledger.tree import SigningKey
from tests.ledger.checkpoints.authority import Authority, Certificates
from tests.ledger.signed import origin_of


@dataclass(frozen=True)
class Signed:
    """A ledger, its key, and what is done to it."""

    path: Path
    key: SigningKey

    @property
    def folder(self) -> Path:
        return self.path.with_name(self.path.name + ".checkpoints")

    def note(self, *texts: str) -> int:
        with Ledger.open(self.path) as ledger:
            ledger.append(*(Draft(Note(text=text)) for text in texts))
            return ledger.head()[0]

    def sign(self, *without: int) -> Made:
        return make_checkpoint(self.path, self.key, without=without)

    def files(self) -> list[str]:
        return sorted(each.name for each in self.folder.iterdir()) if self.folder.is_dir() else []

    def kinds(self) -> list[str]:
        with Ledger.open(self.path, read_only=True) as ledger:
            return [event.kind for event in ledger.events()]


def signed_at(path: Path) -> Signed:
    Ledger.create(path, origin="team/evals").close()
    return Signed(path, SigningKey.generate(origin_of(path)))


@pytest.fixture
def signed(tmp_path: Path) -> Signed:
    (tmp_path / "work").mkdir()
    return signed_at(tmp_path / "work" / "ledger.db")


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed; `apt-get install openssl`")
    return Certificates(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def authority(certificates: Certificates) -> Authority:
    return certificates.issue("tsa", subject="/O=Loopback Time/CN=Loopback TSA")
