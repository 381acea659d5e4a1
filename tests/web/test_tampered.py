"""Pages of a ledger that was tampered with: each says so once it is known, and leads to the first bad event."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from ledger import Ledger, find_run, verify
from ledger.web._files import write_pages
from tests.harness.reported import copied
from tests.ledger.ledgers import tamper
from tests.ledger.web.pages import Served

OTHER_TIME = "UPDATE events SET at = '2020-01-01T00:00:00.000000Z' WHERE seq = {}"


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("honest"))


@pytest.fixture(scope="module")
def bad(honest: Path) -> int:
    """The event that is changed: one in the middle, a request."""
    with Ledger.open(honest, read_only=True) as ledger:
        return int(ledger.sql("SELECT max(seq) FROM events WHERE kind = 'request'").fetchone()[0])


@pytest.fixture(scope="module")
def tampered(honest: Path, bad: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    changed = tmp_path_factory.mktemp("tampered") / "tampered.db"
    assert tamper(honest, changed, OTHER_TIME.format(bad)).first_bad_seq == bad
    return changed


def pages_of(path: Path) -> list[str]:
    """One of every kind of page but the first."""
    with Ledger.open(path, read_only=True) as ledger:
        run = find_run(ledger, "latest")
        response = ledger.sql("SELECT min(seq) FROM events WHERE kind = 'response'").fetchone()[0]
    start = f"/-/ledger/{path.stem}"
    sides = f"a={run}@openai/first&b={run}@openai/second"
    return [
        f"{start}/{each}"
        for each in (
            f"run/{run}", f"run/{run}?outcome=unmeasured", f"run/{run}/cell/1", f"compare?{sides}", "event/1",
            f"event/{response}", f"event/{response}/blob/body", f"lineage/{run}", "compare", "search?q=a",
        )
    ]  # fmt: skip


def once_known(served: Served, name: str, word: str) -> str:
    """The first page, once it says what a check found."""
    until = time.monotonic() + 60
    while word not in (text := served(f"/-/ledger/{name}").text):
        assert time.monotonic() < until, "no verdict came"
        time.sleep(0.05)
    return text


def test_once_it_is_known_every_page_says_tampered_first_and_leads_to_the_first_bad_event(
    tampered: Path, bad: int
) -> None:
    served = Served(tampered)
    for path in pages_of(tampered):
        assert "TAMPERED" not in served(path).text, f"{path}: nobody has looked yet"
    once_known(served, "tampered", "TAMPERED")
    link = f'<a href="/-/ledger/tampered/event/{bad}"><data value="{bad}" data-cli="ledger verify"'
    for path in pages_of(tampered):
        answer = served(path)
        if answer.status_code == 404:
            continue
        assert answer.status_code == 200, path
        main = answer.text.partition("<main")[2]
        banner = re.search(r'<p class="bad loud" role="alert">.*?</p>', main, re.DOTALL)
        assert banner is not None, path
        assert link in banner[0] and 'href="/-/ledger/tampered"' in banner[0], path
        assert banner.start() < main.index("<h1"), path
        assert "said TAMPERED of events up to" in answer.text.partition("<footer")[2], path
    event = served(f"/-/ledger/tampered/event/{bad}").text
    assert event.count('role="alert"') >= 1 and "2020-01-01" in event


def test_a_server_that_checks_as_it_starts_says_so_though_nobody_looked_at_the_first_page(tampered: Path) -> None:
    served = Served(tampered, verify=True)
    path = pages_of(tampered)[2]
    until = time.monotonic() + 60
    while "TAMPERED" not in served(path).text:
        assert time.monotonic() < until, "no verdict came"
        time.sleep(0.05)


def test_pages_of_an_honest_ledger_say_up_to_which_event_it_was_found_consistent(honest: Path) -> None:
    served, name = Served(honest), honest.stem
    once_known(served, name, "CONSISTENT")
    events = verify(honest).events
    for path in pages_of(honest):
        answer = served(path)
        if answer.status_code == 404:
            continue
        foot = answer.text.partition("<footer")[2]
        said = r"said CONSISTENT of events up to <data value=\"(\d+)\" data-cli=\"ledger verify\" data-at=\"/events\""
        found = re.search(said, foot)
        assert found is not None and int(found[1]) == events, path
        assert "TAMPERED" not in answer.text, path


def test_files_of_a_tampered_ledger_each_say_so(tampered: Path, bad: int, tmp_path: Path) -> None:
    done = write_pages(tampered, tmp_path / "out", run=None, report=None, told=print)
    assert done.tampered
    files = sorted((tmp_path / "out").rglob("*.html"))
    assert len(files) == done.pages > 100
    for file in files:
        text = file.read_text("utf-8")
        main, _, foot = text.partition("<main")[2].partition("<footer")
        assert "TAMPERED" in main, file
        assert "said TAMPERED of events up to" in foot, file
    event = next(each for each in files if each.name == f"{bad}.html" and each.parent.name == "events")
    assert "2020-01-01" in event.read_text("utf-8")


def test_files_of_an_honest_ledger_each_say_what_was_found(honest: Path, tmp_path: Path) -> None:
    done = write_pages(honest, tmp_path / "out", run=None, report=None, told=print)
    assert not done.tampered
    events = verify(honest).events
    for file in (tmp_path / "out").rglob("*.html"):
        text = file.read_text("utf-8")
        assert re.search(rf'said CONSISTENT of events up to <data value="{events}"', text), file
        assert "TAMPERED" not in text, file
