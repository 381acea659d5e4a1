"""The pages of a run as plain files: whole, closed in themselves, harmless, and never in place of anything else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import sqlite3
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from ledger import Draft, Ledger, kinds
from ledger.web import _files
from ledger.web._files import Written, write_pages
from ledger.web._folder import MARKER, FolderRefused
from tests.ledger.lineages import RULES, RUNS, Lineage, make_lineage

OLD, NEW = RUNS
HOSTILE = "</style></pre><script>alert(1)</script><img src=x onerror=alert(1)> http://evil.example/ \u202e"


class Links(HTMLParser):
    """What a page asks for or leads to, and what stands in it that a file mustn't have."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.policies: list[str] = []
        self.styles: list[str] = []
        self.tags: set[str] = set()
        self._style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self._style = tag == "style"
        self.links += [given[name] for name in ("href", "src", "action", "data", "poster", "srcset") if name in given]
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if given.get("http-equiv", "").lower() == "content-security-policy":
            self.policies.append(given["content"])
        assert not any(name.startswith("on") or name == "style" for name in given), (tag, given)

    def handle_endtag(self, tag: str) -> None:
        self._style = False

    def handle_data(self, data: str) -> None:
        if self._style:
            self.styles.append(data)


@pytest.fixture
def lineage(tmp_path: Path) -> Lineage:
    made = make_lineage(tmp_path / "ledger.db")
    target = kinds.Target(what="run", id=OLD)
    made.ledger.append(Draft(kinds.Taint(target=target, reason=HOSTILE)))
    return made


def written(lineage: Lineage, folder: Path, **more: Any) -> Written:
    return write_pages(lineage.ledger.path, folder, **{"run": None, "report": None, "told": print, **more})


def parsed(folder: Path) -> dict[Path, Links]:
    return {each.relative_to(folder): Links(each.read_text("utf-8")) for each in sorted(folder.rglob("*.html"))}


def test_every_link_leads_to_a_file_that_is_there_and_to_a_place_in_it(lineage: Lineage, tmp_path: Path) -> None:
    written(lineage, tmp_path / "out")
    pages = parsed(tmp_path / "out")
    seen = 0
    for page, found in pages.items():
        for link in found.links:
            if link == "data:,":
                continue
            assert not urlsplit(link).scheme and not urlsplit(link).netloc and not link.startswith("/"), (page, link)
            assert not urlsplit(link).query and link != "None", (page, link)
            target = (tmp_path / "out" / page).parent / unquote(urlsplit(link).path) if urlsplit(link).path else None
            if target is not None:
                assert target.resolve().is_relative_to(tmp_path / "out") and target.is_file(), (page, link)
                seen += 1
            where = page if target is None else target.resolve().relative_to((tmp_path / "out").resolve())
            if (place := urlsplit(link).fragment) and where.suffix == ".html":
                assert place in pages[where].ids, (page, link)
    assert seen > 200


def test_every_page_allows_its_own_sheet_and_nothing_else(lineage: Lineage, tmp_path: Path) -> None:
    written(lineage, tmp_path / "out")
    for page, found in parsed(tmp_path / "out").items():
        (policy,) = found.policies
        digest = base64.b64encode(hashlib.sha256("".join(found.styles).encode()).digest()).decode()
        assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'; "), page
        assert not found.tags & {"script", "iframe", "object", "embed", "base", "form"}, page
        assert "link" not in found.tags or set(found.links) & {"data:,"}


def test_no_file_speaks_to_the_outside_or_holds_foreign_markup(lineage: Lineage, tmp_path: Path) -> None:
    written(lineage, tmp_path / "out", run=OLD)
    whole = "".join(each.read_text("utf-8") for each in (tmp_path / "out").rglob("*.html"))
    assert "alert(1)" in whole and "\u202e" not in whole
    for reference in re.findall(r'(?:href|src|action|srcset|url\()\s*=?\s*"?([^"\s)>]*)', whole):
        assert not reference.lower().startswith(("http", "//", "javascript"))


def test_every_cell_and_event_of_the_run_and_what_it_stands_on_has_its_page(lineage: Lineage, tmp_path: Path) -> None:
    written(lineage, tmp_path / "out")
    there = {each.relative_to(tmp_path / "out").as_posix() for each in (tmp_path / "out").rglob("*") if each.is_file()}
    with Ledger.open(lineage.ledger.path, read_only=True) as ledger:
        own = [int(row["seq"]) for row in ledger.rows("SELECT seq FROM main.events WHERE run = ?", (NEW,))]
        other = [int(row["seq"]) for row in ledger.rows("SELECT seq FROM main.events WHERE run = ?", (OLD,))]
    also = [*lineage.fixtures.values(), *lineage.prompts.values(), *lineage.rules.values(), lineage.reports[NEW]]
    for seq in (*own, *also, lineage.published[NEW]):
        assert {f"events/{seq}.html", f"events/{seq}.line.txt", f"events/{seq}.body.json"} <= there, seq
    assert {f"cells/{cell}.html" for cell in (1, 2, 3, 4)} <= there
    assert {"index.html", "lineage.html", MARKER} <= there
    assert not {f"events/{seq}.html" for seq in (*other, lineage.reports[OLD])} & there


def test_files_hold_the_exact_bytes(lineage: Lineage, tmp_path: Path) -> None:
    written(lineage, tmp_path / "out")
    with Ledger.open(lineage.ledger.path, read_only=True) as ledger:
        event = ledger.event(lineage.responses[NEW, 1, 1])
        assert (tmp_path / f"out/events/{event.seq}.line.txt").read_bytes() == event.line
        assert (tmp_path / f"out/events/{event.seq}.body.json").read_text("utf-8") == event.body
        assert (tmp_path / f"out/blobs/{event.seq}-body.bin").read_bytes() == ledger.blob(event, "body") == b"say"
    executable = [each for each in (tmp_path / "out/blobs").iterdir() if each.suffix not in (".html", ".bin")]
    assert executable == []


def test_a_report_comes_with_its_run_and_its_file(lineage: Lineage, tmp_path: Path) -> None:
    done = written(lineage, tmp_path / "out", report=lineage.reports[OLD])
    index = done.index.read_text("utf-8")
    assert done.index == tmp_path / "out/index.html"
    assert f'href="blobs/{lineage.reports[OLD]}-file.bin"' in index
    assert (tmp_path / f"out/blobs/{lineage.reports[OLD]}-file.bin").read_bytes() == b"x"
    assert OLD in (tmp_path / "out/run.html").read_text("utf-8")
    assert not (tmp_path / f"out/events/{lineage.reports[OLD]}.html").exists()


def test_what_is_named_must_be_there(lineage: Lineage, tmp_path: Path) -> None:
    from ledger import NotFound

    for more, said in (
        ({"run": "nobody"}, "no run fits 'nobody'"),
        ({"report": lineage.plans[NEW]}, "is no report"),
        ({"report": 9_999}, "event 9999 is no report"),
    ):
        with pytest.raises(NotFound, match=re.escape(said)):
            written(lineage, tmp_path / "out", **more)
        assert not (tmp_path / "out").exists()


def test_the_same_ledger_gives_the_same_names_and_no_two_that_differ_in_case_alone(
    lineage: Lineage, tmp_path: Path
) -> None:
    assert lineage.ledger.append(
        Draft(
            kinds.Freeze(what="prompt", name="odd", digest="0" * 64, identity="4" * 64),
            blobs={name: name.encode() for name in ("FILE", "file", "File", "con", "a.b", "x" * 41)},
        )
    )  # fmt: skip
    odd = lineage.ledger.head()[0]
    tally = kinds.Tally(rules=RULES[0], freeze=lineage.rules[RULES[0]], outcomes={}, metrics=[])
    lineage.ledger.append(Draft(tally, run=NEW, causes=[lineage.plans[NEW], odd]))
    for folder in ("one", "two"):
        written(lineage, tmp_path / folder)
    names = [
        sorted(
            each.relative_to(tmp_path / folder).as_posix() for each in (tmp_path / folder).rglob("*") if each.is_file()
        )
        for folder in ("one", "two")
    ]
    assert names[0] == names[1]
    assert len({each.lower() for each in names[0]}) == len(names[0])
    kept = {each.read_bytes() for each in (tmp_path / "one/blobs").glob(f"{odd}-*.bin")}
    assert kept == {name.encode() for name in ("FILE", "file", "File", "con", "a.b", "x" * 41)}
    assert all(re.fullmatch(r"[a-z0-9./-]+", each) for each in names[0])


def test_a_folder_that_holds_anything_else_is_left_alone(lineage: Lineage, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    with pytest.raises(FolderRefused, match=r"holds other files \('thesis.txt'\)"):
        written(lineage, mine)
    (mine / MARKER).write_text("forged")
    with pytest.raises(FolderRefused, match="holds other files"):
        written(lineage, mine)
    assert (mine / "thesis.txt").read_text() == "years of work"
    for odd in (tmp_path / "ledger.db", tmp_path / "no/such/parent"):
        with pytest.raises(FolderRefused):
            written(lineage, odd)
    (tmp_path / "link").symlink_to(mine)
    with pytest.raises(FolderRefused, match="is no folder"):
        written(lineage, tmp_path / "link")


def test_its_own_folder_is_replaced_and_an_empty_one_is_taken(lineage: Lineage, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    written(lineage, out, run=OLD)
    assert (out / f"events/{lineage.plans[OLD]}.html").is_file()
    written(lineage, out, run=NEW)
    assert (out / f"events/{lineage.plans[NEW]}.html").is_file()
    assert not (out / f"events/{lineage.plans[OLD]}.html").exists()
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_what_breaks_leaves_the_folder_as_it_was(
    lineage: Lineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    written(lineage, out, run=OLD)
    before = {each: each.read_bytes() for each in out.rglob("*") if each.is_file()}
    drawn = _files.draw

    def breaks(page: Any, view: Any, **more: Any) -> str:
        count.append(1)
        if len(count) > 5:
            raise OSError(28, "No space left on device")
        return drawn(page, view, **more)

    count: list[int] = []
    monkeypatch.setattr(_files, "draw", breaks)
    with pytest.raises(FolderRefused, match="can't be written: No space left on device"):
        written(lineage, out, run=NEW)
    assert {each: each.read_bytes() for each in out.rglob("*") if each.is_file()} == before
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_an_event_that_somebody_changed_keeps_no_other_page_from_being_written(
    lineage: Lineage, tmp_path: Path
) -> None:
    path = lineage.ledger.path
    lineage.ledger.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER events_update")
        changed = "UPDATE events SET body = json_set(body, '$.flags', json('[1, []]')) WHERE kind = 'parse' AND run = ?"
        assert connection.execute(changed, (NEW,)).rowcount > 0
        connection.commit()
    done = write_pages(path, tmp_path / "out", run=NEW, report=None, told=print)
    assert done.tampered
    said = done.index.read_text("utf-8")
    assert re.search(r"this page can&#39;t be (drawn|worked out) \(TypeError", said)
    assert "isn&#39;t what was written" in said and "`ledger verify` says which" in said
    cells = list((tmp_path / "out/cells").glob("*.html"))
    assert cells and not any("this page can&#39;t be" in each.read_text("utf-8") for each in cells)


def test_a_withheld_blob_has_a_page_that_says_so_and_no_file(lineage: Lineage, tmp_path: Path) -> None:
    from ledger._redact import redact
    from ledger._redact_targets import find_targets

    seq, path = lineage.responses[NEW, 1, 1], lineage.ledger.path
    digest = str(lineage.ledger.rows("SELECT hash FROM main.blobs WHERE seq = ?", (seq,))[0]["hash"])
    found = find_targets(lineage.ledger, [str(seq), digest])
    lineage.ledger.close()
    redact(path, found, category="personal", reason="a name")
    written(lineage, tmp_path / "out")
    page = (tmp_path / f"out/events/{seq}.html").read_text("utf-8")
    assert "ithheld by" in page and "a name" in page
    assert not (tmp_path / f"out/events/{seq}.body.json").exists()
    assert list((tmp_path / "out/blobs").glob(f"{seq}-*.bin")) == []
    for page, links in parsed(tmp_path / "out").items():
        for link in (each for each in links.links if urlsplit(each).path and each != "data:,"):
            assert (tmp_path / "out" / page.parent / unquote(urlsplit(link).path)).is_file(), (page, link)


def test_a_narrowed_page_leads_to_no_page_that_is_narrowed_otherwise(lineage: Lineage, tmp_path: Path) -> None:
    done = written(lineage, tmp_path / "out")
    narrowed = list((tmp_path / "out/runs").glob("*.html"))
    assert 0 < len(narrowed) < 60, "filters must not multiply with one another"
    assert done.files == sum(each.is_file() for each in (tmp_path / "out").rglob("*")) - 1


def test_numbers_and_sources_stand_in_the_files_as_on_the_pages(lineage: Lineage, tmp_path: Path) -> None:
    written(lineage, tmp_path / "out")
    found = re.findall(r'<data value="([^"]*)"[^>]*>([^<]*)</data>', (tmp_path / "out/index.html").read_text("utf-8"))
    assert len(found) > 5
    for value, _ in found:
        json.loads(html.unescape(value))
