"""The page of an event: recomputed as it is drawn, and drawn for whatever somebody made of the row."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from html import unescape
from pathlib import Path

import pytest
from blake3 import blake3

from ledger import Draft, Ledger, kinds
from ledger._look import inspect
from tests.ledger.ledgers import OTHER_RUN, RUN, drop_guards, example_draft
from tests.ledger.test_tamper import BLOB_COLUMNS, EVENT_COLUMNS, changes
from tests.ledger.web.pages import Served


class Pages:
    """The pages of one ledger."""

    def __init__(self, db: Path) -> None:
        self.db = db
        self._served = Served(db)

    def at(self, path: str) -> tuple[int, str]:
        """Status and text of a page under the ledger's own address."""
        answer = self._served(f"/-/ledger/{self.db.stem}/{path}")
        return answer.status_code, answer.text


@pytest.fixture(scope="module")
def pages(original: Path) -> Pages:
    return Pages(original)


def at(pages: Pages, path: str, status: int = 200) -> str:
    found, text = pages.at(path)
    assert found == status, (path, found, text[:2000])
    return text


def plain(html: str) -> str:
    """The words of a page, on one line."""
    main = html.partition('<main id="main">')[2].partition("</main>")[0]
    return " ".join(unescape(re.sub("<[^>]*>", " ", re.sub("</?(?:bdi|data)[^>]*>", "", main))).split())


def changed(source: Path, copy: Path, change: Callable[[sqlite3.Connection], object] | str) -> Path:
    """A copy of the ledger that somebody changed by plain sqlite3."""
    shutil.copyfile(source, copy)
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        drop_guards(connection)
        if isinstance(change, str):
            connection.execute(change)
        else:
            change(connection)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return copy


# As written


def test_every_event_of_a_whole_ledger_is_shown_with_what_it_is(pages: Pages) -> None:
    with Ledger.open(pages.db, read_only=True) as ledger:
        for event in ledger.events():
            html = at(pages, f"event/{event.seq}")
            words = plain(html)
            assert words.startswith(f"Event {event.seq} {event.kind} ")
            assert event.hash in words
            assert "recomputed: matches" in words
            assert "DOES NOT MATCH" not in words
            assert (kinds.KINDS[event.kind].__doc__ or "").partition(".")[0] in words


def test_the_line_is_checked_by_the_command_that_the_page_shows(pages: Pages) -> None:
    html = at(pages, "event/7")
    line = unescape(re.findall(r'<pre class="line">\n(.*?)</pre>', html, re.DOTALL)[0])
    command = unescape(re.findall(r"<pre>\n(printf .*?)</pre>", html, re.DOTALL)[0])
    printed = subprocess.run(["sh", "-c", command.removesuffix(" | b3sum")], capture_output=True, check=True).stdout
    assert printed == line.encode()
    assert blake3(printed).hexdigest() in html


def test_the_body_is_folded_and_its_seqs_lead_to_the_events(pages: Pages) -> None:
    html = at(pages, "event/4")
    assert '<code class="json-key"><bdi>fixtures</bdi></code>' in html
    assert re.search(
        r'<bdi>prompt_freeze</bdi></code> <a href="[^"]*/event/3"><code class="json-num">3</code></a>', html
    )
    assert not re.search(r"<bdi>cells</bdi></code> <a ", html)


def test_neighbours_lead_along_the_chain_and_along_the_run(pages: Pages) -> None:
    with Ledger.open(pages.db, read_only=True) as ledger:
        of_run = [event.seq for event in ledger.events(run=OTHER_RUN)]
    first, second = of_run[0], of_run[1]
    words = plain(at(pages, f"event/{first}"))
    assert f"← event {first - 1} event {first + 1} → of this run: {second} →" in words
    assert "← of this run" not in words
    assert "of this run: " not in plain(at(pages, "event/2"))


def test_causes_and_effects_stand_in_lists_and_in_the_graph(pages: Pages) -> None:
    html = at(pages, "event/4")
    graph = html.partition('<svg class="graph"')[2].partition("</svg>")[0]
    for seq in (3, 5, 6):
        assert re.search(rf'<a class="node[^"]*" href="[^"]*/event/{seq}">', graph)
        assert re.search(rf'<li><a href="[^"]*/event/{seq}">', html)
    assert "plan 4" in graph


def test_what_speaks_of_an_event_is_said_at_its_head(tmp_path: Path) -> None:
    path = tmp_path / "said.db"
    with Ledger.create(path) as ledger:
        freeze = ledger.append(example_draft("freeze"))[0].seq
        plan = ledger.append(example_draft("plan", causes=[freeze]))[0].seq
        target = kinds.Target(what="event", id=str(plan))
        taint = ledger.append(Draft(kinds.Taint(target=target, reason="a <wrong> key"), causes=[plan]))[0].seq
        gone = kinds.Supersede(target=kinds.Target(what="run", id=RUN), by=None, category="operator", reason="again")
        said = ledger.append(Draft(gone, causes=[plan]))[0].seq
    pages = Pages(path)
    words = plain(at(pages, f"event/{plan}"))
    assert f"superseded, by event {said} , without a successor" in words
    assert f"found unsafe: taint {taint} of the event {plan}, “a <wrong> key”" in words
    assert f"A supersession speaks of it: event {said}" in words
    assert "found unsafe" not in plain(at(pages, f"event/{freeze}"))


def test_many_causes_and_effects_are_one_box_a_kind_and_a_capped_list(tmp_path: Path) -> None:
    path = tmp_path / "many.db"
    with Ledger.create(path) as ledger:
        many = [each.seq for each in ledger.append(*(Draft(kinds.Note(text=str(each))) for each in range(4096)))]
        middle = ledger.append(Draft(kinds.Note(text="middle"), causes=many))[0].seq
        ledger.append(*(Draft(kinds.Note(text="after"), causes=[middle]) for _ in range(6000)))
    pages = Pages(path)
    html = at(pages, f"event/{middle}")
    assert html.count("<svg") == 1
    assert "4,096 events" in html
    assert "6,000 events" in html
    assert html.count("<li>") < 120
    assert plain(html).count("and more: all of them in the table") == 2
    assert len(html) < 100_000
    assert f"b3sum event-{middle}-line.txt" in html


def test_a_withheld_body_and_blob_name_the_redaction(pages: Pages) -> None:
    with Ledger.open(pages.db, read_only=True) as ledger:
        redact = ledger.newest(1, kind="redact")[0]
        body = ledger.body(redact)
        assert isinstance(body, kinds.Redact)
        owner = ledger.sql("SELECT seq FROM main.blobs WHERE hash = ?", (body.blobs_withheld[0],)).fetchone()[0]
    for seq in body.bodies:
        words = plain(at(pages, f"event/{seq}"))
        assert f"Withheld by event {redact.seq} , category secret: “a key leaked”" in words
        assert "recomputed: matches" in words
        assert "body withheld" in words
        assert f"withheld by event {redact.seq} (secret: a key leaked)" in at(pages, f"event/{seq}/body", 404)
    assert f"withheld by event {redact.seq} , secret: “a key leaked”" in plain(at(pages, f"event/{owner}"))


@pytest.mark.parametrize("seq", ["0", "33", "9999999999999999", "-1", "1e3", "abc", "٣", "1%0A", "%00", "01"])
def test_an_address_of_no_event_is_answered_in_a_sentence(pages: Pages, seq: str) -> None:
    assert re.search(
        "there is no event|expected an event’s seq|expected an event&#39;s seq", at(pages, f"event/{seq}", 404)
    )


# Changed by somebody


@pytest.mark.parametrize("column", EVENT_COLUMNS)
def test_whatever_stands_in_a_column_no_page_breaks_and_the_event_says_so(
    original: Path, tmp_path: Path, column: str
) -> None:
    with closing(sqlite3.connect(original)) as connection:
        (value,) = connection.execute(f"SELECT {column} FROM events WHERE seq = 12").fetchone()
    others = [*(other for other in changes(value) if other != value), b"\xff\xfe\x00"]
    for number, other in enumerate(others):
        bytes_as_text = "CAST(? AS TEXT)" if isinstance(other, bytes) else "?"
        if isinstance(value, int) and isinstance(other, bytes):
            continue
        path = changed(
            original, tmp_path / f"{number}.db",
            lambda db, s=f"UPDATE events SET {column} = {bytes_as_text} WHERE seq = 12", o=other: db.execute(s, (o,)),
        )  # fmt: skip
        pages = Pages(path)
        status, html = pages.at("event/12")
        assert status in (200, 404), (column, other, html)
        said = "DOES NOT MATCH|can't be read|gap in the chain|chain is broken"
        assert re.search(said, html), (column, other, plain(html))
        for part in ("event/11", "event/13", "event/12/line", "event/12/body", f"lineage/{RUN}", "event/12/blob/x"):
            assert pages.at(part)[0] < 500, (column, other, part)


@pytest.mark.parametrize("column", BLOB_COLUMNS[1:])
def test_whatever_stands_in_a_column_of_a_blob_no_page_breaks_and_the_event_says_so(
    original: Path, tmp_path: Path, column: str
) -> None:
    with closing(sqlite3.connect(original)) as connection:
        seq, value = connection.execute(f"SELECT seq, {column} FROM blobs WHERE id = 2").fetchone()
    for number, other in enumerate([*(other for other in changes(value) if other != value), b"\xff\xfe\x00"]):
        if isinstance(value, int) and isinstance(other, bytes):
            continue
        marks = "CAST(? AS TEXT)" if isinstance(other, bytes) and column != "data" else "?"
        path = changed(
            original, tmp_path / f"{number}.db",
            lambda db, s=f"UPDATE blobs SET {column} = {marks} WHERE id = 2", o=other: db.execute(s, (o,)),
        )  # fmt: skip
        pages = Pages(path)
        html = at(pages, f"event/{seq}")
        assert re.search(r'class="(bad|tag bad)"', html), (column, other)
        for part in ("body", "extra", "nothing"):
            for further in ("", "/raw", "?view=hex"):
                assert pages.at(f"event/{seq}/blob/{part}{further}")[0] < 500, (column, other)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE events SET body = body || ' ' WHERE seq = 12", "The body does not match its commitment"),
        ("UPDATE events SET kind = 'note' WHERE seq = 12", "The line does not match its hash"),
        ("UPDATE events SET body = NULL, salt = NULL WHERE seq = 12", "The body is gone, and no redaction names it"),
        ("DELETE FROM events WHERE seq = 11", "The event before this one is missing from the file"),
        ("UPDATE events SET hash = replace(hash, 'a', 'b') WHERE seq = 11", "prev isn't the hash of the event before"),
        ("UPDATE events SET causes = '[1, 2]' WHERE seq = 12", "causes: not of the form that the format fixes"),
        ("UPDATE events SET causes = '[2,1]' WHERE seq = 12", "causes: expected causes strictly ascending"),
        ("UPDATE events SET body = CAST(x'7bff7d' AS TEXT) WHERE seq = 12", "body: expected UTF-8"),
    ],
)  # fmt: skip
def test_what_was_changed_is_said_in_a_sentence(original: Path, copy: Path, change: str, said: str) -> None:
    pages = Pages(changed(original, copy, change))
    assert said in plain(at(pages, "event/12"))


def test_the_command_line_says_too_that_causes_are_spelled_otherwise(original: Path, copy: Path) -> None:
    change = "UPDATE events SET causes = replace(causes, ',', ', ') WHERE seq = 12"
    with Ledger.open(original, read_only=True) as ledger:
        assert inspect(ledger, "12").line_matches
    with Ledger.open(changed(original, copy, change), read_only=True) as ledger:
        assert not inspect(ledger, "12").line_matches


def test_a_missing_event_is_called_a_gap(original: Path, copy: Path) -> None:
    pages = Pages(changed(original, copy, "DELETE FROM events WHERE seq = 12"))
    assert "a gap in the chain" in at(pages, "event/12", 404)


def test_a_body_that_is_no_json_is_shown_as_the_text_that_it_is(original: Path, copy: Path) -> None:
    change = "UPDATE events SET body = '{\"a\": <b>\x1b[2J' WHERE seq = 12"
    pages = Pages(changed(original, copy, change))
    html = at(pages, "event/12")
    assert "Shown as text: it is no JSON." in html
    assert '&lt;b&gt;<span class="ctl" title="ESCAPE, U+001B">␛</span>[2J' in html
    assert "The body does not match its commitment" in html


def test_an_event_is_shown_although_another_row_can_not_be_read(original: Path, copy: Path) -> None:
    change = "UPDATE events SET kind = CAST(x'ff' AS TEXT) WHERE seq = 11"
    pages = Pages(changed(original, copy, change))
    words = plain(at(pages, "event/12"))
    assert "recomputed: matches" in words
    assert "Part of this page can't be told" in words
