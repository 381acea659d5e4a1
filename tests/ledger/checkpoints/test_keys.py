"""A signing key stays where only its owner reads it, and shows in no message."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ledger._errors import BadKey
from ledger.checkpoints import default_key_path, find_key, make_key, read_key
from ledger.tree import SigningKey
from tests.ledger.checkpoints.conftest import Signed
from tests.ledger.cli.conftest import Command, clean


def encoded(key: SigningKey) -> str:
    """The part of the key's text that is secret: base64, which may have plus signs of its own."""
    return key.secret_text().split("+", 4)[4]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def kept(signed: Signed, home: Path) -> Path:
    """The file of the ledger's key."""
    path = home / "a.key"
    path.touch(0o600)
    path.write_text(signed.key.secret_text() + "\n")
    return path


@pytest.fixture
def command(signed: Signed) -> Command:
    return Command(signed.path.parent)


def test_a_new_key_is_in_a_file_that_only_its_owner_reads_whatever_the_umask(signed: Signed, home: Path) -> None:
    before = os.umask(0)
    try:
        path = make_key(signed.key.name, signed.path, environ={"XDG_CONFIG_HOME": str(home)})
    finally:
        os.umask(before)
    assert path == home / "eval-ledger" / "keys" / f"{signed.key.name.rpartition('/')[2]}.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    key = read_key(path, signed.path)
    assert (key.name, path.read_text()) == (signed.key.name, f"{key.secret_text()}\n")


def test_the_default_place_is_in_the_folder_for_settings(home: Path) -> None:
    assert default_key_path("f" * 32, {"XDG_CONFIG_HOME": str(home)}) == home / "eval-ledger/keys" / f"{'f' * 32}.key"
    for named in ({}, {"XDG_CONFIG_HOME": "relative"}, {"XDG_CONFIG_HOME": ""}):
        assert default_key_path("f" * 32, named) == Path.home() / ".config/eval-ledger/keys" / f"{'f' * 32}.key"


@pytest.mark.parametrize("what", ["file", "link", "dangling link"])
def test_a_key_is_never_written_over_and_never_through_a_link(signed: Signed, home: Path, what: str) -> None:
    target = home / "taken.key"
    if what == "file":
        target.write_text("precious")
    else:
        target.symlink_to(home / "elsewhere")
        if what == "link":
            (home / "elsewhere").write_text("precious")
    with pytest.raises(BadKey, match="exists already; a key is never written over"):
        make_key(signed.key.name, signed.path, target)
    assert [each.read_text() for each in home.iterdir() if each.exists()] in (["precious"], ["precious"] * 2, [])


@pytest.mark.parametrize("place", ["in a work tree", "by a link into one", "beside the ledger", "with the checkpoints"])
def test_a_key_is_neither_made_nor_read_where_it_would_be_handed_on(signed: Signed, home: Path, place: str) -> None:
    repository = home / "repository"
    (repository / "deep").mkdir(parents=True)
    (repository / ".git").mkdir()
    (home / "outside").symlink_to(repository / "deep")
    signed.folder.mkdir()
    folder, said = {
        "in a work tree": (repository / "deep", f"lies in the git work tree {repository}"),
        "by a link into one": (home / "outside", f"lies in the git work tree {repository}"),
        "beside the ledger": (signed.path.parent, "lies beside the ledger"),
        "with the checkpoints": (signed.folder, "lies beside the ledger"),
    }[place]
    with pytest.raises(BadKey, match=said):
        make_key(signed.key.name, signed.path, folder / "new.key")
    assert not (folder / "new.key").exists()
    (folder / "old.key").touch(0o600)
    (folder / "old.key").write_text(signed.key.secret_text())
    with pytest.raises(BadKey, match=said):
        read_key(folder / "old.key", signed.path)


def test_a_key_that_others_may_read_is_refused_with_the_command_that_mends_it(signed: Signed, kept: Path) -> None:
    for mode in (0o644, 0o640, 0o602):
        kept.chmod(mode)
        with pytest.raises(BadKey, match=f"others may read .*mode {mode:04o}.*`chmod 600 {kept}` mends it"):
            read_key(kept, signed.path)
    kept.chmod(0o400)
    assert read_key(kept, signed.path) == signed.key


def test_the_file_that_is_named_goes_before_the_environment_and_that_before_the_default_place(
    signed: Signed, kept: Path, home: Path
) -> None:
    name, ledger = signed.key.name, signed.path
    others = [SigningKey.generate(name) for _ in range(2)]
    environ = {"XDG_CONFIG_HOME": str(home)}
    default = make_key(name, ledger, environ=environ)
    identifier = name.rpartition("/")[2]
    (home / "b.key").touch(0o600)
    (home / "b.key").write_text(others[0].secret_text())
    assert find_key(identifier, ledger, None, environ) == read_key(default, ledger)
    assert find_key(identifier, ledger, None, {**environ, "LEDGER_SIGNING_KEY": f" {kept}\n"}) == signed.key
    text = {**environ, "LEDGER_SIGNING_KEY": f"{others[1].secret_text()}\n"}
    assert find_key(identifier, ledger, None, text) == others[1]
    assert find_key(identifier, ledger, home / "b.key", text) == others[0]


def broken(key: SigningKey) -> list[str]:
    whole = key.secret_text()
    return [whole.removeprefix("PRIVATE+"), whole.removeprefix("PRIVATE+KEY+"), whole[8:], whole[:-5], whole + "AAAA",
            whole.replace("+KEY+", "+"), encoded(key), whole.replace("PRIVATE", "private")]  # fmt: skip


def test_a_key_that_is_broken_shows_in_no_message(signed: Signed, home: Path) -> None:
    secret = encoded(signed.key)
    pieces = {secret[start : start + 12] for start in range(len(secret) - 12)}
    for number, text in enumerate(broken(signed.key)):
        path = home / f"{number}.key"
        path.touch(0o600)
        path.write_text(text)
        for call in (
            lambda text=text: find_key("f" * 32, signed.path, None, {"LEDGER_SIGNING_KEY": text}),
            lambda path=path: find_key("f" * 32, signed.path, path, {}),
        ):
            with pytest.raises(BadKey) as problem:
                call()
            assert not [each for each in pieces if each in str(problem.value)], text
            assert problem.value.__cause__ is None
            assert problem.value.__suppress_context__ or problem.value.__context__ is None


def test_a_key_on_the_command_line_is_refused_and_not_repeated(signed: Signed, command: Command) -> None:
    for arguments in (["checkpoint"], ["key", "show"], ["key", "new"]):
        done = command(*arguments, "--signing-key", signed.key.secret_text())
        assert (done.status, done.out) == (2, "")
        assert "(not shown)" in done.err
        assert encoded(signed.key) not in done.err


def test_the_key_is_in_no_file_that_a_checkpoint_writes_and_in_no_output(
    signed: Signed, command: Command, kept: Path
) -> None:
    for environ in ({"LEDGER_SIGNING_KEY": signed.key.secret_text()}, {"LEDGER_SIGNING_KEY": str(kept)}):
        signed.note("more")
        for arguments in (["checkpoint", "--json"], ["key", "show"], ["checkpoint"], ["key", "show", "--json"]):
            done = command(*arguments, environ=environ)
            assert done.status == 0, done
            assert str(signed.key.verifier) in done.out or "Nothing new" in done.out
            assert "PRIVATE" not in done.out + done.err
    secret = signed.key.seed
    for each in (path for path in signed.path.parent.rglob("*") if path.is_file()):
        assert secret not in each.read_bytes()
        assert encoded(signed.key).encode() not in each.read_bytes()


def test_key_new_makes_a_key_that_checkpoint_finds_and_verify_accepts(
    signed: Signed, command: Command, home: Path
) -> None:
    environ = {"XDG_CONFIG_HOME": str(home)}
    missing = command("checkpoint", environ=environ)
    assert missing.status == 2
    assert missing.err.endswith("`ledger key new` makes one\n")
    made = command("key", "new", "--json", environ=environ)
    assert made.json["file"].startswith(str(home))
    assert command("key", "show", environ=environ).out == f"{made.json['key']}\n"
    done = command("checkpoint", "--json", environ=environ)
    assert (done.status, done.json["size"], done.json["fresh"], done.json["key"]) == (0, 2, True, made.json["key"])
    checked = command("verify", "--key", made.json["key"], "--require-checkpoint")
    assert (checked.status, checked.out.startswith("MATCHES CHECKPOINT")) == (0, True)
    again = command("key", "new", environ=environ)
    assert (again.status, "never written over" in again.err) == (2, True)
    set_too = {**environ, "LEDGER_SIGNING_KEY": signed.key.secret_text()}
    assert "LEDGER_SIGNING_KEY is set" in command("key", "new", "--signing-key", home / "c.key", environ=set_too).out


def test_a_key_in_dotenv_is_used_and_shown_by_nothing(signed: Signed, command: Command) -> None:
    (command.folder / ".env").write_text(f"LEDGER_SIGNING_KEY='{signed.key.secret_text()}'\n")
    done = command("checkpoint", "--json")
    assert (done.status, done.json["key"]) == (0, str(signed.key.verifier))
    assert "PRIVATE" not in done.out + done.err


def test_a_pipe_or_a_folder_is_no_key_and_is_not_waited_for(signed: Signed, home: Path) -> None:
    os.mkfifo(home / "pipe", 0o600)
    for name in ("pipe", "."):
        with pytest.raises(BadKey, match="is no file"):
            read_key(home / name, signed.path)


def test_a_fault_with_the_key_at_hand_shows_a_traceback_without_it(signed: Signed) -> None:
    code = (
        "import ledger.checkpoints._make as making\n"
        "from ledger.tree import SigningKey\nimport os, sys\n"
        "def fails(*_): raise RuntimeError('a fault')\n"
        "making.store = fails\n"
        "key = SigningKey.parse(os.environ['SECRET'])\n"
        "print(key, key.verifier)\n"
        "making.make_checkpoint(sys.argv[1], key)\n"
    )
    environ = {**clean({}), "SECRET": signed.key.secret_text()}
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", code, signed.path], env=environ, capture_output=True, text=True, timeout=60
    )
    assert "RuntimeError: a fault" in done.stderr
    assert encoded(signed.key) not in done.stdout + done.stderr
    assert repr(signed.key.seed) not in done.stdout + done.stderr
