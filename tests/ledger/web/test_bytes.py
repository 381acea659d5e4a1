"""The exact bytes of an event: downloads that hash to what the page says, and views as text and hex of any bytes."""

from __future__ import annotations

import re
import tracemalloc
import zlib
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from ledger import Draft, Ledger, kinds
from ledger.web._bytes import hex_lines
from ledger.web._files import write_pages
from tests.ledger.ledgers import OTHER_RUN, example_draft
from tests.ledger.lineages import RUNS, make_lineage
from tests.ledger.test_tamper import changes
from tests.ledger.web.pages import Served
from tests.ledger.web.test_event import changed

NAMES = (
    "../../x", "..", ".", "a/b", "a b", "a?b#c", 'q"uote', "'; DROP", "<script>", "日本", "\u202egnp", "-rf", "%2e%2e",
    ".hidden", "x" * 200, "con\r\nSet-Cookie: a=b", "a\\b", "+", "&", "e\u0301",
)  # fmt: skip
BIG = 3 << 20
BLOBS = {
    "empty": b"", "text": "a<b>\x1b[2J\u202e café".encode(), "bad": b"ok \xff\xfe\x00 \xe2\x82",
    "json": b'{"b":1.0,"a":[2]}', "long": b"x" * BIG, "nul": b"\x00\x1b" * 200_000, "split": "é".encode() * 40_000,
}  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bytes") / "bytes.db"
    with Ledger.create(path) as ledger:
        ledger.append(Draft(kinds.Note(text="names"), blobs={name: name.encode() for name in NAMES}))
        ledger.append(Draft(kinds.Note(text="bytes"), blobs=BLOBS))
        ledger.append(example_draft("plan"))
        response = kinds.Response(
            attempt=0, turn=0, status=200, headers=[("Content-Encoding", "gzip"), ("content-type", "text/<b>")],
            whole=True, headers_ms=1, total_ms=2,
        )  # fmt: skip
        plan = example_draft("plan", run=OTHER_RUN)
        ledger.append(plan, Draft(response, run=OTHER_RUN, cell=1, blobs={"body": zlib.compress(b"wire")}))
    return path


@pytest.fixture(scope="module")
def served(path: Path) -> Iterator[Served]:
    yield Served(path)


def get(served: Served, path: str, status: int = 200) -> str:
    answer = served(f"/-/ledger/bytes/{path}")
    assert answer.status_code == status, (path, answer.status_code, answer.text[:1000])
    return answer.text


def shown(html: str) -> str:
    """What stands in the view of the bytes."""
    return unescape(
        re.sub("<[^>]*>", "", re.findall(r'<pre class="(?:text|hex)"[^>]*>\n(.*?)</pre>', html, re.DOTALL)[0])
    )


def test_a_download_is_the_very_bytes_with_their_own_hash_and_no_browser_shows_it(served: Served) -> None:
    for name, data in BLOBS.items():
        answer = served(f"/-/ledger/bytes/event/4/blob/{name}/raw")
        assert answer.content == data
        assert answer.headers["x-blake3"] == blake3(data).hexdigest()
        assert answer.headers["content-disposition"] == f'attachment; filename="event-4-{name}.bin"'
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in answer.headers["content-security-policy"]
        html = get(served, f"event/4/blob/{name}")
        assert blake3(data).hexdigest() in html
        assert f"b3sum event-4-{name}.bin" in html
        assert "recomputed: matches" in html


@pytest.mark.parametrize("name", NAMES)
def test_a_blob_of_any_name_is_reached_by_the_links_of_its_event_and_saved_under_a_safe_name(
    served: Served, path: Path, name: str
) -> None:
    with Ledger.open(path, read_only=True) as ledger:
        digest = ledger.body(3).blobs[name].hash
    event = get(served, "event/3")
    row = next(row for row in re.findall("<tr>.*?</tr>", event, re.DOTALL) if digest in row)
    addresses = [unescape(each) for each in re.findall('href="([^"]*)"', row)]
    assert len(addresses) == 3
    assert served(addresses[0]).status_code == served(addresses[1]).status_code == 200
    answer = served(addresses[2])
    assert answer.content == name.encode()
    filename = re.fullmatch(
        r'attachment; filename="(event-3-[A-Za-z0-9._-]+\.bin)"', answer.headers["content-disposition"]
    )
    assert filename is not None
    assert len(filename[1]) < 100
    assert "set-cookie" not in answer.headers
    assert served(f"/-/ledger/bytes/event/3/blob/{digest}/raw").content == name.encode()


def test_the_line_and_the_body_are_downloads_that_hash_to_what_the_chain_says(served: Served, path: Path) -> None:
    with Ledger.open(path, read_only=True) as ledger:
        for event in ledger.events():
            line = served(f"/-/ledger/bytes/event/{event.seq}/line")
            assert line.content == event.line
            assert line.headers["x-blake3"] == event.hash
            body = served(f"/-/ledger/bytes/event/{event.seq}/body")
            assert event.body is not None
            assert body.content == event.body.encode()
            assert blake3(bytes.fromhex(event.salt or "") + body.content).hexdigest() == event.body_hash


def test_text_is_shown_as_text_with_what_acts_made_visible(served: Served) -> None:
    html = get(served, "event/4/blob/text")
    assert 'a&lt;b&gt;<span class="ctl" title="ESCAPE, U+001B">␛</span>[2J' in html
    assert shown(get(served, "event/4/blob/bad")) == "ok \\xff\\xfe␀ \\xe2\\x82"


def test_json_is_folded_too(served: Served) -> None:
    assert '<code class="json-num">1.0</code>' in get(served, "event/4/blob/json")
    assert "As JSON" not in get(served, "event/4/blob/text")


def test_an_empty_blob_is_called_empty(served: Served) -> None:
    for view in ("text", "hex"):
        assert "It is empty." in get(served, f"event/4/blob/empty?view={view}")


def test_what_the_server_said_of_a_response_stands_beside_its_bytes(served: Served) -> None:
    html = get(served, "event/7/blob/body")
    assert "<dt><bdi>Content-Encoding</bdi></dt><dd><bdi>gzip</bdi>" in html
    assert "text/&lt;b&gt;" in html


@pytest.mark.parametrize("name", ["long", "nul", "split", "bad"])
@pytest.mark.parametrize("view", ["text", "hex"])
def test_turning_page_by_page_shows_every_byte_once(served: Served, name: str, view: str) -> None:
    data, at, pieces, pages = BLOBS[name], 0, "", 0
    while True:
        html = get(served, f"event/4/blob/{name}?view={view}&at={at}")
        assert len(html) < 2_000_000
        pieces += shown(html) + ("\n" if view == "hex" else "")
        pages += 1
        further = [int(each) for each in re.findall(rf'{view}(?:&amp;|&)at=([0-9]+)"><bdi>after', html)]
        if not further or pages == 12:
            break
        assert further[0] > at
        at = further[0]
    end = len(data) if not further else further[0]
    if view == "hex":
        assert pieces == "".join(f"{line}\n" for line in hex_lines(data[:end]))
    else:
        spelled = data[:end].decode("utf-8", "backslashreplace").replace("\x00", "␀").replace("\x1b", "␛")
        assert pieces == spelled


def test_a_big_blob_can_be_looked_at_from_its_end(served: Served) -> None:
    html = get(served, f"event/4/blob/long?view=hex&at={BIG - 1}")
    assert shown(html) == hex_lines(b"x" * 16, BIG - 16)[0]
    assert "after →" not in html
    assert "at: expected an offset into the blob" in get(served, f"event/4/blob/long?at={BIG}", 404)


@pytest.mark.parametrize(
    "address",
    ["event/4/blob/nothing", "event/4/blob/nothing/raw", "event/99/blob/text", "event/4/blob/text?view=image",
     "event/4/blob/text?at=-1", "event/4/blob/text?at=x", "event/4/blob/text?at=99999999999999999999",
     f"event/4/blob/{'0' * 64}", f"event/1/blob/{quote('../../etc/passwd', safe='')}/raw"],
)  # fmt: skip
def test_what_is_not_there_is_answered_in_a_sentence(served: Served, address: str) -> None:
    html = get(served, address, 404)
    assert re.search("has no blob|there is no event|expected", html)
    assert "Traceback" not in html


def test_a_withheld_blob_names_the_redaction_and_has_no_bytes(original: Path) -> None:
    served = Served(original)
    with Ledger.open(original, read_only=True) as ledger:
        seq, digest = ledger.sql("SELECT seq, hash FROM main.blobs WHERE data IS NULL").fetchone()
        redact = ledger.newest(1, kind="redact")[0].seq
    html = served(f"/-/ledger/{original.stem}/event/{seq}/blob/{digest}").text
    assert re.search(rf'Withheld by <a href="[^"]*/event/{redact}">', html)
    assert "a key leaked" in html
    answer = served(f"/-/ledger/{original.stem}/event/{seq}/blob/{digest}/raw")
    assert answer.status_code == 404
    assert f"withheld by event {redact}" in answer.text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE blobs SET data = x'00' WHERE id = 1", "DOES NOT MATCH its hash"),
        ("UPDATE blobs SET encoding = 'zlib' WHERE id = 1", "can&#39;t be read"),
        ("DELETE FROM blobs WHERE id = 1", "missing from the file"),
        ("UPDATE blobs SET data = NULL, salt = NULL WHERE id = 1", "GONE, and no redaction names it"),
        ("UPDATE blobs SET salt = salt || char(10) WHERE id = 1", "DOES NOT MATCH its hash"),
    ],
)
def test_what_became_of_a_blob_is_said(original: Path, copy: Path, change: str, said: str) -> None:
    served = Served(changed(original, copy, change))
    with Ledger.open(original, read_only=True) as ledger:
        (seq,) = ledger.sql("SELECT seq FROM main.blobs WHERE id = 1").fetchone()
        name = next(iter(ledger.body(seq).blobs))
    for path in (f"event/{seq}", f"event/{seq}/blob/{name}", f"event/{seq}/blob/{name}?view=hex"):
        answer = served(f"/-/ledger/{copy.stem}/{path}")
        assert answer.status_code == 200
        assert said in answer.text
        assert 'class="bad"' in answer.text


def test_a_packed_blob_is_given_as_the_bytes_that_it_stands_for(original: Path, copy: Path) -> None:
    with Ledger.open(original, read_only=True) as ledger:
        seq, data = ledger.sql("SELECT seq, data FROM main.blobs WHERE id = 1").fetchone()
        name = next(iter(ledger.body(seq).blobs))
    packed = zlib.compress(data)
    path = changed(
        original, copy, lambda db: db.execute("UPDATE blobs SET encoding = 'zlib', data = ? WHERE id = 1", (packed,))
    )
    assert next(iter(changes(packed))) == b""
    assert Served(path)(f"/-/ledger/copy/event/{seq}/blob/{name}/raw").content == data


def test_few_bytes_that_stand_for_very_many_are_checked_and_never_held_by_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = bytes(64 << 20)
    with Ledger.create(tmp_path / "plain.db") as ledger:
        (event,) = ledger.append(Draft(kinds.Note(text="a bomb"), blobs={"file": plain}))
    packed = zlib.compress(plain)
    del plain
    place = changed(
        tmp_path / "plain.db", tmp_path / "bomb.db",
        lambda db: db.execute("UPDATE blobs SET encoding = 'zlib', data = ?", (packed,)),
    )  # fmt: skip
    monkeypatch.setattr("ledger.web._bytes.MOST_HELD", 32 << 20)
    bomb = Served(place)
    bomb("/-/ledger/bomb/event/1")
    tracemalloc.start()
    try:
        of_event = bomb(f"/-/ledger/bomb/event/{event.seq}")
        text = bomb(f"/-/ledger/bomb/event/{event.seq}/blob/file")
        raw = bomb(f"/-/ledger/bomb/event/{event.seq}/blob/file/raw")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 24 << 20
    assert of_event.status_code == 200 and "67,108,864 bytes" in of_event.text and 'class="bad"' not in of_event.text
    assert text.status_code == 200 and "it matches, and is too long for a page" in text.text
    assert raw.status_code == 404 and f"`ledger show {event.seq} --blob NAME` writes it" in raw.text


@given(st.binary(max_size=200), st.integers(0, 1 << 20))
def test_hex_lines_read_back_are_the_bytes(data: bytes, start: int) -> None:
    lines = hex_lines(data, start * 16)
    read = b"".join(bytes.fromhex(line[10:58]) for line in lines)
    assert read == data
    assert [int(line[:8], 16) for line in lines] == [start * 16 + 16 * number for number in range(len(lines))]
    for number, line in enumerate(lines):
        row = data[16 * number : 16 * number + 16]
        assert line[60:] == "|" + "".join(chr(each) if 32 <= each < 127 else "." for each in row) + "|"
        assert len(line) == 62 + len(row)


def test_the_command_on_a_page_in_a_folder_names_the_file_that_lies_there(tmp_path: Path) -> None:
    ledger = make_lineage(tmp_path / "ledger.db").ledger
    ledger.close()
    folder = tmp_path / "pages"
    write_pages(ledger.path, folder, run=RUNS[0], report=None, told=lambda _: None)
    named = 0
    for page in folder.glob("blobs/*.html"):
        for file in re.findall("<code>b3sum ([^<]*)</code>", page.read_text("utf-8")):
            data = (page.parent / file).read_bytes()
            assert blake3(data).hexdigest() in page.read_text("utf-8")
            named += 1
    assert named > 4
