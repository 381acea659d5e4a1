"""The verdict on a page: what `ledger verify` says, of which event, and never a process left behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from ledger import Draft, Ledger, LedgerError, kinds, verify
from ledger._verify_apart import VerifyProcess
from ledger.web import View
from ledger.web._memory import Memory
from ledger.web._verdict import Verifier, verdict_of
from tests.ledger.ledgers import drop_guards, tamper
from tests.ledger.web.pages import Served


class Elsewhere:
    """Links of a page that stands alone."""

    def to(self, route: str, query: Mapping[str, object] | None = None, /, **parts: object) -> str | None:
        return None

    def table(self, name: str, row: object = None, /, **filters: object) -> str | None:
        return None

    def asset(self, package: str, name: str) -> str | None:
        return None


@contextmanager
def held_back(path: Path) -> Iterator[None]:
    """Whoever reads the ledger meanwhile has to wait."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        yield
        connection.execute("ROLLBACK")


def until(condition: Callable[[], Any], seconds: float = 30.0) -> Any:
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it didn't come about"
        time.sleep(0.02)
    return found


def gone(process: int) -> bool:
    with suppress(OSError):
        # A zombie has ended too: whoever inherits it reaps it.
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


def home(served: Served, wanted: str) -> str:
    """The first page, once it says what is wanted."""

    def look() -> str:
        answer = served("/-/ledger/")
        assert answer.status_code == 200
        return answer.text if wanted in answer.text else ""

    return until(look)


def figures(html: str, command: str) -> dict[str, Any]:
    found = re.findall(r'<data value="([^"]*)" data-cli="([^"]*)" data-at="([^"]*)"', html)
    return {at: json.loads(value.replace("&#34;", '"')) for value, cli, at in found if cli == command}


def test_a_process_of_its_own_says_what_verify_says(original: Path) -> None:
    assert VerifyProcess(original).verdict() == verify(original).as_json()


def test_no_ledger_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger at"):
        VerifyProcess(tmp_path / "none.db").verdict()


def test_one_that_is_stopped_gives_no_verdict(path: Path) -> None:
    with held_back(path):
        running = VerifyProcess(path)
        running.stop()
        with pytest.raises(LedgerError, match="ended without a verdict"):
            running.verdict()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for the process in /proc")
def test_a_check_ends_with_whoever_started_it_even_when_that_is_killed(path: Path) -> None:
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom ledger._verify_apart import VerifyProcess\n"
        "running = VerifyProcess(Path(sys.argv[1]))\nprint(running._process.pid, flush=True)\ntime.sleep(60)\n"
    )
    with held_back(path):
        server = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        child = int(server.stdout.readline())
        assert not gone(child)
        server.send_signal(signal.SIGKILL)
        server.wait()
        server.stdout.close()
        until(lambda: gone(child))


def test_the_first_page_says_verify_s_word_and_numbers_and_what_it_speaks_of(original: Path) -> None:
    html = home(Served(original), "CONSISTENT")
    expected = verify(original)
    assert figures(html, "ledger verify") == {
        "/events": expected.events, "/blobs": expected.blobs, "/withheld": expected.withheld
    }  # fmt: skip
    assert "Nothing outside this file was consulted." in html
    assert "Can&#39;t tell: whether events were cut off the end" in html
    assert re.search(r"Said by <code>ledger verify</code> on <time datetime=\"20", html)


def test_until_a_verdict_is_there_the_page_says_that_none_is(path: Path) -> None:
    with Ledger.open(path, read_only=True) as ledger, ledger.at_one_moment():
        size, head = ledger.head()
        memory = Memory(path)
        view = View(ledger, size, head, Elsewhere(), {}, memory)
        shown = verdict_of(view)
        assert shown.word == ""
        assert shown.standing.checked is None
        assert shown.standing.since is not None
        found = until(lambda: verdict_of(view).word)
        assert found == "CONSISTENT"
        memory.close()


def test_a_changed_event_is_loud_at_the_top_and_leads_to_the_first_bad_one(original: Path, copy: Path) -> None:
    expected = tamper(original, copy, "UPDATE events SET at = '2020-01-01T00:00:00.000000Z' WHERE seq = 5")
    assert expected.first_bad_seq == 5
    html = home(Served(copy), "TAMPERED")
    main = html.partition("<main")[2]
    assert main.index("TAMPERED") < main.index("<dt>Size</dt>")
    assert re.search(r'The first bad event is <a href="/-/ledger/copy/event/5"><data value="5"', main)
    assert "CONSISTENT" not in html
    first = expected.problems[0]
    assert first.what in html


def test_events_that_came_since_are_counted_and_not_vouched_for(path: Path) -> None:
    served = Served(path)
    home(served, "CONSISTENT")
    with Ledger.open(path) as ledger:
        ledger.append(*[Draft(kinds.Note(text=str(number))) for number in range(3)])
    html = home(served, "Since then")
    assert re.search(r"Since then <data value=\"3\" data-sql=\"SELECT max\(seq\) - 2 FROM events\"", html)


class Pretended:
    """A check that takes as long, and says, what the test wants."""

    def __init__(self) -> None:
        self.started = 0
        self.clock = 1000.0
        self.says: Mapping[str, Any] | None = {"verdict": "CONSISTENT", "head": "h1"}
        self.takes = 5.0
        self.stopped = False

    def start(self, path: Path) -> Any:
        self.started += 1
        return self

    def verdict(self) -> Mapping[str, Any]:
        self.clock += self.takes
        if self.says is None:
            raise LedgerError("it can't be read now")
        return self.says

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def pretended() -> Pretended:
    return Pretended()


@pytest.fixture
def verifier(pretended: Pretended) -> Verifier:
    return Verifier(Path("ledger.db"), start=pretended.start, clock=lambda: pretended.clock)


def settled(verifier: Verifier, head: str) -> Any:
    return until(lambda: (found := verifier.standing(head)).since is None and found)


def test_a_head_that_was_verified_is_not_verified_again(verifier: Verifier, pretended: Pretended) -> None:
    verifier.standing("h1")
    assert settled(verifier, "h1").checked.verdict == pretended.says
    pretended.clock += 1e6
    verifier.standing("h1")
    assert pretended.started == 1


def test_an_event_changed_in_its_place_while_pages_are_served_is_found_though_the_head_stays(
    original: Path, copy: Path, pretended: Pretended
) -> None:
    shutil.copyfile(original, copy)
    with Ledger.open(copy, read_only=True) as reading:
        _, head = reading.head()
        verifier = Verifier(copy, clock=lambda: pretended.clock)
        verifier.standing(head)
        assert settled(verifier, head).checked.verdict["verdict"] == "CONSISTENT"
        pretended.clock += 1e6
        assert verifier.standing(head).since is None, "nothing was written: nothing is checked again"
        with closing(sqlite3.connect(copy)) as connection:
            guards = drop_guards(connection)
            connection.execute("UPDATE events SET at = '2020-01-01T00:00:00.000000Z' WHERE seq = 5")
            for text in guards:
                connection.execute(text)
            connection.commit()
        assert reading.head()[1] == head
        found = settled(verifier, head).checked.verdict
    assert (found["verdict"], found["first_bad_seq"]) == ("TAMPERED", 5)
    verifier.close()


def test_a_head_that_moved_waits_ten_times_as_long_as_a_check_takes(verifier: Verifier, pretended: Pretended) -> None:
    verifier.standing("h1")
    settled(verifier, "h1")
    pretended.clock += 49
    verifier.standing("h2")
    assert pretended.started == 1
    pretended.clock += 2
    pretended.says = {"verdict": "CONSISTENT", "head": "h2"}
    verifier.standing("h2")
    assert pretended.started == 2
    assert settled(verifier, "h2").checked.verdict["head"] == "h2"


def test_checks_that_take_no_time_are_half_a_minute_apart(verifier: Verifier, pretended: Pretended) -> None:
    pretended.takes = 0.0
    verifier.standing("h1")
    settled(verifier, "h1")
    pretended.clock += 29
    verifier.standing("h2")
    assert pretended.started == 1
    pretended.clock += 2
    verifier.standing("h2")
    assert pretended.started == 2


def test_a_check_that_failed_says_why_keeps_the_older_verdict_and_is_tried_again(
    verifier: Verifier, pretended: Pretended
) -> None:
    verifier.standing("h1")
    settled(verifier, "h1")
    pretended.says, pretended.clock = None, pretended.clock + 100
    verifier.standing("h2")
    found = settled(verifier, "h2")
    assert found.problem == "it can't be read now"
    assert found.checked.verdict["head"] == "h1"
    pretended.clock += 100
    verifier.standing("h1")
    assert pretended.started == 3


def test_no_process_at_all_is_said_in_words(pretended: Pretended) -> None:
    def refuse(path: Path) -> Any:
        raise OSError(11, os.strerror(11))

    verifier = Verifier(Path("ledger.db"), start=refuse, clock=lambda: pretended.clock)
    verifier.standing("h1")
    assert verifier.standing("h1").problem.startswith("no process can be started: Resource temporarily unavailable")


def test_what_is_closed_starts_no_check_and_ends_the_one_that_runs(path: Path) -> None:
    with held_back(path):
        verifier = Verifier(path)
        verifier.standing("h")
        until(lambda: verifier.standing("h").since)
        verifier.close()
        found = until(lambda: (found := verifier.standing("h")).problem and found)
    assert "ended without a verdict" in found.problem
    assert found.since is None


def test_a_page_that_becomes_a_file_is_verified_on_the_spot(path: Path) -> None:
    with Ledger.open(path, read_only=True) as ledger, ledger.at_one_moment():
        size, head = ledger.head()
        shown = verdict_of(View(ledger, size, head, Elsewhere(), {}, Memory(path), fixed=True))
    assert shown.word == "CONSISTENT"
    assert shown.covers is not None
    assert shown.covers.value == size
    assert shown.since is None
