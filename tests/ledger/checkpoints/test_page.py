"""The page on checkpoints: its commands and its code run as they stand, against an authority on loopback."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ledger.checkpoints._files import read_checkpoint
from ledger.tree import VerifierKey
from tests.ledger.checkpoints.authority import Authority, Certificates, authority_server
from tests.ledger.cli.conftest import Command, clean

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "CHECKPOINTS.md").read_text("utf-8")
COMMANDS = [line.strip().split("  #")[0].rstrip() for line in PAGE.splitlines() if line.startswith("    ")]
CODE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_every_command_and_every_piece_of_code_of_the_page_does_what_it_says(
    tmp_path: Path, authority: Authority, certificates: Certificates
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    shutil.copyfile(certificates.root, work / "root.pem")
    command = Command(work)
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config")}

    def run(line: str) -> str:
        line = re.sub(r"\$\((.*?)\)", lambda inner: run(inner[1]).strip(), line)
        program, *arguments = shlex.split(line)
        if program == "openssl":
            return subprocess.run([program, *arguments], cwd=work, capture_output=True, text=True, check=True).stdout
        assert program == "ledger"
        done = command(*arguments, environ=environ)
        assert done.status == 0, (line, done)
        return done.out

    run("ledger init")
    folder = work / "ledger.db.checkpoints"
    out: list[str] = []
    with authority_server(authority.answer) as (url, _):
        for line in (each for each in COMMANDS if each.startswith(("ledger ", "openssl "))):
            here = line.replace("http://timestamp.example", url)
            if "/N." in here:
                (token,) = folder.glob("*.tsr")
                here = here.replace("/N.", f"/{token.name.partition('.')[0]}.")
            out.append(run(here))
    assert len(out) == 15
    words = {"TIMESTAMPED": 1, "MATCHES CHECKPOINT": 3, "Verification: OK": 1, "PROVED.": 1}
    assert {word: sum(said.startswith(word) for said in out) for word in words} == words
    note_reader, proof_reader, in_python = CODE
    proved = python(proof_reader, work, "event.tlog-proof")
    assert proved.startswith('{"v":1,"seq":2,') and proved == run("ledger export").splitlines(keepends=True)[1]
    assert python(note_reader, work, "checkpoint", run("ledger key show").strip()).startswith("eval-ledger/local/")
    newest = sorted(folder.glob("*.checkpoint"))[-1]
    key = run("ledger key show --signing-key ../second.key").strip()
    found = read_checkpoint(newest).signed
    assert found is not None
    assert python(note_reader, work, newest, key) == found.checkpoint.text
    key_file = next((tmp_path / "config").rglob("*.key"))
    name, size, key, fresh = python(in_python, work, LEDGER_SIGNING_KEY=str(key_file)).split()
    assert (name, fresh) == (f"{int(size):012d}.checkpoint", "True")
    assert VerifierKey.parse(key).name == found.checkpoint.origin


def python(code: str, folder: Path, *arguments: object, **environ: str) -> str:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=clean(environ), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("change", ["text", "key"])
def test_the_page_s_reader_of_notes_refuses_what_is_not_signed(tmp_path: Path, change: str) -> None:
    from ledger.tree import Checkpoint, SigningKey

    key = SigningKey.generate("a/b")
    note = bytes(key.sign(Checkpoint("a/b", 3, bytes(32)).text))
    (tmp_path / "note").write_bytes(note.replace(b"\n3\n", b"\n4\n") if change == "text" else note)
    other = SigningKey.generate("a/b") if change == "key" else key
    command = [sys.executable, "-c", CODE[0], str(tmp_path / "note"), str(other.verifier)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize("change", ["line", "place", "root"])
def test_the_page_s_reader_of_proofs_refuses_what_is_not_in_the_tree(tmp_path: Path, change: str) -> None:
    from ledger.tree import Checkpoint, Proof, SigningKey, Tree, leaf_hash, parse_checkpoint

    tree = Tree([leaf_hash(b"%d" % number) for number in range(7)])
    root = bytes(32) if change == "root" else tree.root()
    signed = parse_checkpoint(bytes(SigningKey.generate("a/b").sign(Checkpoint("a/b", 7, root).text)))
    at, line = (4 if change == "place" else 5), (b"6" if change == "line" else b"5")
    (tmp_path / "proof").write_bytes(bytes(Proof(at, tuple(tree.inclusion(5, 7)), signed, line)))
    command = [sys.executable, "-c", CODE[1], str(tmp_path / "proof")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert not (tmp_path / "checkpoint").exists()
