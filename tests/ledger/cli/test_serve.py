"""`ledger serve` as a real process: it answers, says where, refuses what it can't do, and ends cleanly."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ledger import Draft, Ledger, kinds
from tests.ledger.cli.conftest import Command, clean
from tests.ledger.ledgers import tamper
from tests.ledger.lineages import make_lineage

Start = Callable[..., tuple[Any, str]]


@pytest.fixture
def start(command: Command, path: Path) -> Generator[Start]:
    """Starts the server in the folder of a ledger; gives the process and the address that it printed."""
    running: list[Any] = []

    def begin(*arguments: str) -> tuple[Any, str]:
        process = command.popen("serve", *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        running.append(process)
        line = process.stdout.readline().decode()
        assert line, process.stderr.read().decode()
        return process, line.split(" ")[0]

    assert path.parent == command.folder
    yield begin
    for process in running:
        process.kill()
        process.wait()


def ended(process: Any) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=20)
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_answers_where_it_says_and_a_signal_ends_it_without_a_word(start: Start, how: signal.Signals) -> None:
    process, address = start("--port", "0")
    assert address.startswith("http://127.0.0.1:") and address.endswith("/-/ledger")
    with httpx.Client() as client:
        # The connection stays open: it mustn't keep the server from ending.
        answer = client.get(address)
        assert answer.status_code == 200 and "eval-ledger/local" in answer.text
        assert client.get(address.replace("/-/ledger", "/nope")).status_code == 404
        process.send_signal(how)
        assert ended(process) == (0, "", "")


def test_a_signal_that_comes_before_it_answers_ends_it_all_the_same(command: Command, path: Path) -> None:
    slow = (
        "import os, signal, sys, time\n"
        "from datasette.app import Datasette\n"
        "from ledger.cli import main\n"
        "async def ended_at_once(self):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "Datasette.invoke_startup = ended_at_once\n"
        "sys.argv = ['ledger', 'serve', '--port', '0']\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", slow], cwd=path.parent, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_page_that_takes_long_does_not_keep_it_from_ending(path: Path) -> None:
    slow = (
        "import sys, time\n"
        "import ledger.web._answering as answering\n"
        "from ledger.cli import main\n"
        "answering._render = lambda *parts: time.sleep(60)\n"
        "sys.argv = ['ledger', 'serve', '--port', '0']\n"
        "sys.exit(main())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", slow], cwd=path.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().decode().split(" ")[0]
        with httpx.Client() as client, pytest.raises(httpx.ReadTimeout):
            client.get(address, timeout=1)
        process.send_signal(signal.SIGTERM)
        try:
            assert ended(process) == (0, "", "")
        finally:
            process.kill()


def test_pages_of_datasettes_own_can_stand_in_no_frame_and_tell_nobody_where_the_reader_was(start: Start) -> None:
    _, address = start("--port", "0")
    root = address.removesuffix("/-/ledger")
    for path in ("/", "/ledger/events", "/ledger/events.json", "/-/static/app.css", "/nope"):
        answer = httpx.get(root + path)
        assert answer.headers["content-security-policy"] == "frame-ancestors 'none'", path
        assert answer.headers["x-content-type-options"] == "nosniff", path
        assert answer.headers["referrer-policy"] in ("same-origin", "no-referrer"), path
    ours = httpx.get(address).headers
    assert ours.get_list("content-security-policy")[0].startswith("default-src 'none'")
    assert len(ours.get_list("content-security-policy")) == len(ours.get_list("x-content-type-options")) == 1


def test_the_address_is_one_line_that_names_the_ledger(start: Start, command: Command) -> None:
    process = command.popen("serve", "--port", "0", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        line = process.stdout.readline().decode()
        assert line.startswith("http://127.0.0.1:") and line.endswith(" shows ledger.db; Ctrl-C ends it\n")
    finally:
        process.send_signal(signal.SIGINT)
        assert ended(process) == (0, "", "")


def test_a_port_that_is_taken_is_a_sentence(command: Command, path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = command("serve", "--port", port)
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        f"error: 127.0.0.1, port {port} is taken by another program; --port 0 takes a free one\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--db", "nope.db"], "there is no ledger at nope.db"),
        (["--db", "."], ". is a folder, not a ledger"),
        (["--db", "text.db"], "text.db can't be read as a ledger"),
        (["--port", "70000"], "65535"),
        (["--host", "203.0.113.7"], "203.0.113.7, port 8001 can't be had"),
        (["--host", "no such host"], "'no such host' is no address of this machine"),
        (["--base-url", "/my evals/"], "the base URL '/my evals/': expected a path such as /evals/"),
        (["--base-url", "/evals/../x"], "expected a path such as /evals/"),
        (["--base-url", "http://other.example/"], "expected a path such as /evals/"),
        (["--run", "latest"], "give --static DIR as well"),
        (["--static", "out", "--run", "latest", "--report", "3"], "exclude each other"),
        (["--static", "out", "--port", "8001"], "--static writes files and serves nothing; leave --port away"),
        (["--static", "out", "--host", "127.0.0.1"], "--static writes files and serves nothing; leave --host away"),
        (["--static", "out", "--base-url", "/"], "--static writes files and serves nothing; leave --base-url away"),
        (["--static", "out", "--open", "--name", "x"], "serves nothing; leave --name and --open away"),
    ],
)
def test_what_cannot_be_served_is_a_sentence_and_status_2(
    command: Command, path: Path, arguments: list[str], said: str
) -> None:
    (command.folder / "text.db").write_text("no ledger\n" * 50)
    done = command("serve", *arguments)
    assert (done.status, done.out) == (2, "")
    assert said in done.err and done.err.startswith("error: ") and done.err.count("\n") == 1


def test_an_address_that_others_reach_is_warned_of(start: Start) -> None:
    process, address = start("--port", "0", "--host", "0.0.0.0")
    assert httpx.get(address).status_code == 200
    process.send_signal(signal.SIGTERM)
    status, _, err = ended(process)
    assert (status, err) == (0, "warning: everyone who reaches 0.0.0.0 can read this ledger; there is no password\n")


def test_behind_a_prefix_every_link_has_it(start: Start) -> None:
    _, address = start("--port", "0", "--base-url", "/evals")
    assert address.endswith("/evals/-/ledger")
    page = httpx.get(address)
    assert page.status_code == 200 and 'href="/evals/-/ledger/' in page.text and 'href="/-/' not in page.text
    # A proxy may take the prefix off, or leave it.
    assert httpx.get(address.replace("/evals", "")).status_code == 200


@pytest.mark.parametrize("base", ["/", "/evals/"])
def test_the_address_alone_leads_to_the_pages_and_to_nobody_else_s(start: Start, base: str) -> None:
    _, address = start("--port", "0", "--base-url", base)
    root = address.removesuffix(f"{base}-/ledger")
    # A proxy may take the prefix off, or leave it.
    for path in ("/", base, "/?a=b"):
        for method in ("GET", "HEAD"):
            answer = httpx.request(method, root + path)
            assert (answer.status_code, answer.headers["location"]) == (302, f"{base}-/ledger"), (method, path)
    assert httpx.get(f"{root}/", follow_redirects=True).url == address
    assert httpx.post(f"{root}/").status_code == 405
    assert httpx.get(f"{root}/", headers={"Host": "evil.example"}).status_code == 421
    assert httpx.get(f"{root}{base}ledger/events.json").status_code == 200, "tables stay where they are"


def test_a_page_of_another_site_cannot_reach_it_under_a_name_of_its_own(start: Start) -> None:
    _, address = start("--port", "0", "--name", "Evals.example")
    port = address.split(":")[2].partition("/")[0]
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example"):
        answer = httpx.get(address, headers={"Host": host})
        assert answer.status_code == 421 and "ledger" in answer.text and "eval-ledger/local" not in answer.text, host
    for host in ("localhost", f"localhost:{port}", f"[::1]:{port}", "127.0.0.1", "evals.example", "EVALS.example:443"):
        assert httpx.get(address, headers={"Host": host}).status_code == 200, host


def test_only_reading_is_answered_over_a_real_socket(start: Start) -> None:
    _, address = start("--port", "0")
    assert httpx.post(address, data={"a": "b"}).status_code == 405
    head = httpx.head(address)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-security-policy"].startswith("default-src 'none'")
    assert "server" not in head.headers
    root = address.removesuffix("/-/ledger")
    for path in ("/", "/ledger/events", "/ledger.json", "/ledger?sql=select+1", "/-/ledger", "/-/versions.json"):
        for method in ("POST", "PUT", "DELETE", "TRACE", "PROPFIND", "FROBNICATE"):
            answer = httpx.request(method, root + path)
            assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD"), (method, path)


def test_a_request_that_makes_no_sense_is_a_line_and_never_a_traceback(start: Start) -> None:
    process, address = start("--port", "0")
    port = int(address.split(":")[2].partition("/")[0])

    def asked(head: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(head + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return b"".join(iter(lambda: connection.recv(65536), b""))

    for head, status in (
        (b"GET /-/ledger HTTP/1.1\r\nCookie: ds_actor=\xff\xfe", b"400"),
        (b"GET /\xff HTTP/1.1", b"400"),
        (b"GET //evil.example/ HTTP/1.1", b"404"),
        (b"GET http://evil.example/nope HTTP/1.1", b"404"),
        (b"GET /-/ledger/ledger/event/%ff HTTP/1.1", b"404"),
        (b"GET /-/ledger HTTP/1.1\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", b"200"),
        (b"\x00\x01\x02", b"400"),
        (b"GET /-/ledger HTTP/1.1", b"200"),
    ):
        answer = asked(head)
        assert answer.startswith(b"HTTP/1.1 " + status), (head, answer[:200])
        assert b"location: //" not in answer.lower()
    process.send_signal(signal.SIGTERM)
    status, _, err = ended(process)
    assert status == 0 and "Traceback" not in err
    assert err.startswith("error: GET /-/ledger: UnicodeDecodeError") and err.count("\n") == 1


def test_pages_follow_a_ledger_that_grows_and_never_hold_its_writer(start: Start, path: Path) -> None:
    _, address = start("--port", "0")
    one = f"{address}/ledger/head"
    with Ledger.open(path) as ledger, httpx.Client() as client:
        for number in range(3, 30):
            begun = time.monotonic()
            ledger.append(Draft(kinds.Note(text=f"note {number}")))
            assert time.monotonic() - begun < 5
            assert client.get(one).json()["size"] == number
            assert f'data-size="{number}"' in client.get(address).text


def test_the_ledger_file_is_not_written(start: Start, path: Path) -> None:
    before = path.read_bytes()
    _, address = start("--port", "0")
    for page in ("", "/ledger/event/1", "/ledger/event/1/line"):
        assert httpx.get(address + page).status_code == 200
    base = address.removesuffix("/-/ledger")
    write = httpx.get(f"{base}/ledger", params={"sql": "delete from events"})
    assert write.status_code == 400
    assert path.read_bytes() == before


OTHER_USER = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


@pytest.fixture
def readable(path: Path) -> Generator[Path]:
    """A ledger that another user may read, in a folder that the user may not write to. Only root can become one."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root, with setpriv, can be another user")
    try_it = "import os, datasette, ledger.web; assert os.getuid() == 65534"
    tried = subprocess.run([*OTHER_USER, sys.executable, "-c", try_it], cwd="/", capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("another user can't run this Python")
    # Not below pytest's own folder, which nobody else may enter.
    folder = Path(tempfile.mkdtemp(prefix="eval-ledger-readable-"))
    shutil.copyfile(path, folder / "ledger.db").chmod(0o444)
    folder.chmod(0o555)
    yield folder / "ledger.db"
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_ledger_that_may_only_be_read_in_a_folder_that_may_only_be_read_is_served(readable: Path) -> None:
    before, there = readable.read_bytes(), sorted(readable.parent.iterdir())
    code = "from ledger.cli import main; main()"
    process = subprocess.Popen(
        [*OTHER_USER, sys.executable, "-c", code, "serve", "--port", "0", "--db", "ledger.db"],
        cwd=readable.parent, env=clean(None), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None and process.stderr is not None
        address = process.stdout.readline().decode().split(" ")[0]
        assert address, process.stderr.read().decode()
        root = address.removesuffix("/-/ledger")
        for page in ("/-/ledger", "/-/ledger/ledger/event/1", "/-/ledger/ledger/event/1/line", "/-/ledger/ledger/head",
                     "/-/ledger/ledger/search?q=a", "/ledger", "/ledger/events", "/ledger/events/1", "/ledger/runs",
                     "/ledger/events.json"):  # fmt: skip
            answer = httpx.get(root + page)
            assert answer.status_code == 200, (page, answer.text[-500:])
        assert "eval-ledger/local" in httpx.get(address).text
        process.send_signal(signal.SIGTERM)
        assert ended(process) == (0, "", "")
    finally:
        process.kill()
        process.wait()
    assert sorted(readable.parent.iterdir()) == there and readable.read_bytes() == before


def test_files_of_a_tampered_ledger_are_written_and_the_command_ends_in_1(command: Command) -> None:
    lineage = make_lineage(command.folder / "honest.db")
    lineage.ledger.close()
    bad = min(lineage.requests.values())
    verdict = tamper(
        command.folder / "honest.db", command.folder / "ledger.db",
        f"UPDATE events SET at = '2020-01-01T00:00:00.000000Z' WHERE seq = {bad}",
    )  # fmt: skip
    assert verdict.first_bad_seq == bad
    done = command("serve", "--static", "out")
    assert done.status == 1 and re.fullmatch(r"out/index.html: [0-9,]+ pages and .* bytes\n", done.out)
    assert done.err == (
        "TAMPERED: ledger.db isn't what was written, and every page says so; `ledger verify` says what is wrong\n"
    )
    for page in (command.folder / "out").rglob("*.html"):
        assert "TAMPERED" in page.read_text("utf-8"), page


def test_a_ledger_without_a_run_has_nothing_to_write_as_files(command: Command, path: Path) -> None:
    done = command("serve", "--static", "out")
    assert done.status == 2 and "holds no run yet" in done.err
    assert sorted(each.name for each in command.folder.iterdir() if "out" in each.name) == []


def test_the_command_is_in_the_help(command: Command) -> None:
    assert "serve" in command("--help").out
    told = command("serve", "--help").out
    for option in ("--db", "--port", "--host", "--base-url", "--open", "--static", "--run", "--report", "--name"):
        assert option in told


def test_the_command_says_what_it_wrote_and_ends_with_its_status(command: Command) -> None:
    make_lineage(command.folder / "ledger.db").ledger.close()
    done = command("serve", "--static", "out")
    assert done.status == 0 and re.fullmatch(
        r"out/index.html: [0-9,]+ pages and [0-9,]+ files, [0-9,]+ bytes\n", done.out
    )
    again = command("serve", "--static", ".")
    assert (again.status, again.out) == (2, "") and again.err.count("\n") == 1
    none = command("serve", "--static", "out2", "--run", "zzzz")
    assert (none.status, none.err) == (2, "error: no run fits 'zzzz'; `ledger runs` lists them\n")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ended_in_the_middle_it_leaves_nothing_behind(command: Command, how: signal.Signals) -> None:
    make_lineage(command.folder / "ledger.db").ledger.close()
    process = command.popen("serve", "--static", "out", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        until = time.monotonic() + 30
        while not any(each.name.startswith(".out") for each in command.folder.iterdir()):
            assert time.monotonic() < until and process.poll() is None
            time.sleep(0.005)
        process.send_signal(how)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (130, b"", b"interrupted\n")
    assert [each.name for each in command.folder.iterdir() if "out" in each.name] == []
