"""Searching: what is found and where it leads, whatever is typed, and never what was withheld."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import Draft, Ledger, kinds, supersede
from ledger._lineage import clear, taint
from ledger._redact import redact
from ledger._redact_targets import find_targets
from ledger.web._index import GROUPS, Hit, SearchIndex
from ledger.web._search import excerpt
from tests.ledger.ledgers import OTHER_RUN, RUN, example_draft, withhold
from tests.ledger.web.pages import Served

SECRET = "sk-live-4242"


def fault(detail: str, *, run: str = RUN, cell: int = 1) -> Draft:
    body = kinds.Fault(
        attempt=0, turn=0, stage="transport", reason="connect_refused", domain="provider", detail=detail, total_ms=1
    )
    return Draft(body, run=run, cell=cell)


def unmeasured(cell: int, stage: str = "parse", reason: str = "no_json", rules: str = "strict@0123456789ab") -> Draft:
    body = kinds.Score(
        rules=rules, outcome="unmeasured", status="malformed", stage=stage, reason=reason, domain="model", value=None,
        applies=[], metrics={},
    )  # fmt: skip
    return Draft(body, run=RUN, cell=cell)


@pytest.fixture
def searched(path: Path) -> Path:
    """A run with something in every place that is searched."""
    with Ledger.open(path) as ledger:
        ledger.append(example_draft("freeze"), example_draft("plan"), example_draft("plan", run=OTHER_RUN))
        ledger.append(example_draft("cell"), example_draft("cell", cell=2))
        ledger.append(fault("the gateway was starved"), unmeasured(1), unmeasured(2), unmeasured(2, "parse", "no_json"))
        ledger.append(Draft(kinds.Note(text="Überraschend langsam heute"), run=RUN))
        ledger.append(Draft(kinds.Note(text="about the ledger itself")))
        ledger.append(example_draft("accept"), example_draft("close"), example_draft("import"))
        supersede(ledger, OTHER_RUN, by=None, category="operator", reason="wrong endpoint entirely")
        event, _ = taint(ledger, f"run:{RUN}", reason="gold was mistyped")
        clear(ledger, event.seq, reason="it was right after all")
        report = ledger.append(example_draft("report"))[0].seq
        ledger.append(Draft(kinds.Publish(report=report, to="the review board"), causes=[report]))
    return path


def ask(served: Served, query: str, **more: object) -> str:
    """The page of results, once the index has all of it."""
    address = "/-/ledger/ledger/search?" + urlencode({"q": query, **more}, errors="surrogatepass")
    end = time.monotonic() + 60
    while True:
        answer = served(address)
        assert answer.status_code == 200, answer.text
        if "The index is being made" not in answer.text:
            return str(answer.text)
        assert time.monotonic() < end


def found(html: str) -> dict[str, list[str]]:
    """By group, the words of each result."""
    parts = re.findall(r'<h2 id="in-([a-z]+)">(.*?)</section>', html, re.DOTALL)
    return {group: [words(each) for each in re.findall("<li>(.*?)</li>", rest, re.DOTALL)] for group, rest in parts}


def words(html: str) -> str:
    bare = re.sub("</?(?:bdi|mark|a|span)(?: [^>]*)?>", "", html)
    return " ".join(unescape(re.sub("<[^>]*>", " ", bare)).split())


def said(html: str) -> str:
    return " ".join(words(each) for each in re.findall(r'<p class="(?:warn|notice)"[^>]*>(.*?)</p>', html, re.DOTALL))


@pytest.fixture
def index(searched: Path) -> Iterator[SearchIndex]:
    made = SearchIndex(searched)
    yield made
    made.close()


def all_of(index: SearchIndex, *terms: str) -> dict[str, list[Hit]]:
    covered, problem = index.reach(10_000, patience=30)
    assert not problem
    return {
        group: [hit for place in hits.places for hit in place]
        for group in GROUPS
        if (hits := index.find(terms, covered, group)).count
    }


@pytest.mark.parametrize(
    ("query", "group", "expected"),
    [
        ("abcdefghij", "runs", f"{RUN} run: {RUN}"),
        ("firs", "runs", "name: first"),
        ("authority", "runs", "suite: authority"),
        ("openai/x", "runs", "candidate: openai/x"),
        ("no_json", "runs", "unmeasured: parse/no_json (cells under strict@0123456789ab)"),
        (
            "starved",
            "cells",
            "cell 1 of run abcdefghijklmnop fault: transport/connect_refused: the gateway was starved",
        ),
        ("überraschend", "events", "note: Überraschend langsam heute"),
        ("itself", "events", "note: about the ledger itself"),
        ("moved house", "events", "accepted: base_url: moved house"),
        ("wrong endpoint", "events", f"superseded: run {OTHER_RUN}: operator: wrong endpoint entirely"),
        ("mistyped", "events", f"tainted: run {RUN}: gold was mistyped"),
        ("after all", "events", "cleared: it was right after all"),
        ("review board", "events", "published to: the review board"),
        ("rules strict", "events", "frozen: rules strict"),
        ("other 1.0", "events", "imported: log other 1.0"),
        ("GATEWAY starv", "cells", "the gateway was starved"),
    ],
)
def test_what_people_look_for_is_found(searched: Path, query: str, group: str, expected: str) -> None:
    results = found(ask(Served(searched), query))
    assert any(expected in each for each in results[group]), results


def test_results_lead_to_runs_cells_and_events(searched: Path) -> None:
    served = Served(searched)
    html = ask(served, "starved")
    assert re.search(rf'href="/-/ledger/ledger/run/{RUN}/cell/1"', html)
    html = ask(served, "no_json")
    assert re.search(rf'href="/-/ledger/ledger/run/{RUN}\?rules=strict%400123456789ab&amp;reason=no_json"', html)
    html = ask(served, "itself")
    (seq,) = re.findall(r'href="/-/ledger/ledger/event/([0-9]+)"><bdi>event', html)
    assert "about the ledger itself" in served(f"/-/ledger/ledger/event/{seq}").text


def test_why_cells_are_unmeasured_is_found_once_a_run_and_rule_set_however_many_they_are(index: SearchIndex) -> None:
    (why,) = all_of(index, "no_json")["runs"]
    assert (why.run, why.cell, why.more) == (RUN, 0, "strict@0123456789ab")


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("a", "one word needs at least three characters"),
        ("ab", "one word needs at least three characters"),
        ("a b c", "one word needs at least three characters"),
        ("\u00e9\u00e9", "one word needs at least three characters"),
        ("x" * 201, "two hundred characters are the most"),
        ("abc def ghi jkl mno pqr stu vwx yza bcd efg hij klm", "twelve are the most"),
        ("abc\x00def", "No text in a ledger holds that character"),
    ],
)
def test_what_can_t_be_searched_for_is_said_in_a_sentence(searched: Path, query: str, sentence: str) -> None:
    html = ask(Served(searched), query)
    assert sentence in said(html)
    assert found(html) == {}


def test_ten_thousand_characters_are_refused_in_a_sentence(searched: Path) -> None:
    answer = Served(searched)("/-/ledger/ledger/search?q=" + "x" * 10_000)
    assert answer.status_code in (200, 414)
    assert "too long" in answer.text
    assert "Traceback" not in answer.text


def test_nothing_typed_is_no_mistake(searched: Path) -> None:
    served = Served(searched)
    for query in ("", "   ", "\t\n"):
        html = ask(served, query)
        assert said(html) == ""
        assert "What is found holds every word that you give" in words(html)


HOSTILE = [
    '"', '""', '"''""', "'''", 'abc"', '"abc', "AND", "NOT", "abc AND NOT", "NEAR(a b)", "text:abc", "abc*", "^abc",
    "(abc", "abc)", "-abc", "+abc", "{text}", "%%%", "___", "abc%", "\\\\\\", "'; DROP TABLE texts; --",
    "<script>alert(1)</script>", "</title><img src=x onerror=alert(1)>", "\u202eabc\u202d", "\x1b[31mred",
    "\ud800\ud800\ud800", "\U0001f600" * 3, "a\u0301b\u0301c\u0301",
]  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE)
def test_hostile_words_are_looked_for_as_they_are(searched: Path, query: str) -> None:
    html = ask(Served(searched), query)
    assert "<script>" not in html
    assert "<img" not in html
    assert "\u202e" not in re.sub('value="[^"]*"', "", html.partition("<main")[2])
    assert found(html) == {}
    assert "can't be searched now" not in html


@pytest.mark.parametrize("query", [each for each in HOSTILE if "\ud800" not in each])
@pytest.mark.parametrize("plain", [False, True])
def test_what_is_written_in_a_note_is_found_by_its_own_words(path: Path, query: str, *, plain: bool) -> None:
    with Ledger.open(path) as ledger:
        ledger.append(Draft(kinds.Note(text=f"before{query}after")), Draft(kinds.Note(text="something else")))
    index = SearchIndex(path, plain=plain)
    terms = f"before{query}after".split()
    (hit,) = all_of(index, *terms)["events"]
    assert hit.text == f"before{query}after"
    index.close()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=3, max_size=30), data=st.data())
def test_any_part_of_any_text_is_found_with_an_index_and_without(
    tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("any") / "ledger.db"
    with Ledger.create(path) as ledger:
        ledger.append(Draft(kinds.Note(text="other words")), Draft(kinds.Note(text=text)))
    start = data.draw(st.integers(0, len(text) - 3))
    part = text[start : data.draw(st.integers(start + 3, len(text)))]
    for plain in (False, True):
        index = SearchIndex(path, plain=plain)
        assert text in [hit.text for hit in all_of(index, part)["events"]]
        index.close()


@pytest.mark.parametrize("plain", [False, True])
def test_an_index_says_the_same_with_and_without_full_text_tables(searched: Path, *, plain: bool) -> None:
    index = SearchIndex(searched, plain=plain)
    assert [hit.text for hit in all_of(index, "starved", "gateway")["cells"]] == [
        "transport/connect_refused: the gateway was starved"
    ]
    assert all_of(index, "starved", "mistyped") == {}
    index.close()


def test_results_are_paged_with_none_lost_and_newest_first(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.append(example_draft("plan"))
        ledger.append(*[Draft(kinds.Note(text=f"remark number {each}")) for each in range(60)])
        ledger.append(*[fault("timeout of mine", cell=each) for each in range(1, 13)])
    served = Served(path)
    html = ask(served, "remark")
    assert len(found(html)["events"]) == 10
    assert re.search(r"1–10 of 60", html)
    seen: list[str] = []
    for page in (1, 2, 3):
        seen += found(ask(served, "remark", **{"in": "events"}, page=page))["events"]
    assert [re.search("number ([0-9]+)", each)[1] for each in seen] == [str(each) for each in range(59, -1, -1)]  # type: ignore
    assert len(found(ask(served, "timeout", **{"in": "cells"}))["cells"]) == 12
    assert served("/-/ledger/ledger/search?q=abc&in=nothing").status_code == 404
    assert served("/-/ledger/ledger/search?q=abc&page=x").status_code == 404


def test_so_many_texts_that_only_the_newest_are_looked_at_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger.web._index._MOST", 5)
    with Ledger.open(path) as ledger:
        ledger.append(*[Draft(kinds.Note(text=f"remark number {each}")) for each in range(9)])
    html = ask(Served(path), "remark")
    assert "only the newest were looked at" in words(html)
    assert len(found(html)["events"]) == 5
    assert "number 8" in found(html)["events"][0]


def test_what_is_appended_is_found_from_then_on(path: Path) -> None:
    served = Served(path)
    for number in range(3):
        with Ledger.open(path) as ledger:
            ledger.append(Draft(kinds.Note(text=f"remark number {number}")))
        assert len(found(ask(served, "remark"))["events"]) == number + 1


def test_a_page_of_an_older_moment_finds_nothing_that_came_later(index: SearchIndex, searched: Path) -> None:
    with Ledger.open(searched) as ledger:
        size = ledger.head()[0]
        ledger.append(Draft(kinds.Note(text="Überraschend schnell")))
    all_of(index, "schnell")
    assert index.find(["überraschend"], size, "events").count == 1
    assert index.find(["überraschend"], size + 1, "events").count == 2


def withheld_note(path: Path) -> int:
    with Ledger.open(path) as ledger:
        return ledger.append(Draft(kinds.Note(text=f"a key was {SECRET} there")), fault(f"echoed {SECRET}"))[0].seq


def test_what_was_withheld_is_never_found_again(searched: Path) -> None:
    note = withheld_note(searched)
    served = Served(searched)
    before = found(ask(served, SECRET))
    assert set(before) == {"events", "cells"}
    with Ledger.open(searched, read_only=True) as ledger:
        targets = find_targets(ledger, [str(note), str(note + 1)])
    redact(searched, targets, category="secret", reason="it leaked")
    answer = served(f"/-/ledger/ledger/search?q={SECRET}")
    assert found(answer.text) == {}
    assert found(ask(served, SECRET)) == {}
    assert any("withheld: secret: it leaked" in each for each in found(ask(served, "leaked"))["events"])
    assert any("starved" in each for each in found(ask(served, "starved"))["cells"]), "the rest is found as before"


def test_the_index_of_before_is_not_asked_while_a_new_one_is_made(searched: Path) -> None:
    note = withheld_note(searched)
    index = SearchIndex(searched)
    assert all_of(index, SECRET)
    withhold(searched, [note, note + 1], [])
    # Nobody has begun the new one: and there is nothing that could be found.
    assert index.find([SECRET], 10_000, "events").count == 0
    assert index.find(["überraschend"], 10_000, "events").count == 0
    assert all_of(index, SECRET) == {}
    assert all_of(index, "überraschend")
    index.close()


def test_a_redaction_in_the_middle_of_the_making_begins_it_anew(searched: Path) -> None:
    note = withheld_note(searched)
    with Ledger.open(searched) as ledger:
        ledger.append(*[Draft(kinds.Note(text=f"remark {each}")) for each in range(200)])
        size = ledger.head()[0]
    index = SearchIndex(searched, chunk=1)
    covered, _ = index.reach(size, patience=0.05)
    while covered <= note + 1:
        covered, _ = index.reach(size, patience=0.05)
    withhold(searched, [note, note + 1], [])
    assert all_of(index, SECRET) == {}
    assert all_of(index, "remark")
    assert index.reach(size, patience=30)[0] >= size
    assert index.find(["remark"], size, "events").count == 200
    index.close()


def test_while_it_is_made_there_is_a_part_and_the_page_says_so(searched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.open(searched) as ledger:
        ledger.append(*[Draft(kinds.Note(text=f"remark {each}")) for each in range(300)])
    monkeypatch.setattr("ledger.web._search.SearchIndex", lambda path: SearchIndex(path, chunk=1))
    monkeypatch.setattr("ledger.web._search._PATIENCE", 0.0)
    served = Served(searched)
    html = served("/-/ledger/ledger/search?q=number").text
    assert re.search(r"The index is being made: it has come to event [0-9]+ of [0-9]+", said(html))
    assert "Nothing was found so far" in words(html)
    assert len(found(ask(served, "remark", **{"in": "events"}))["events"]) == 25


def test_nothing_is_written_beside_the_ledger(searched: Path) -> None:
    before = {each.name for each in searched.parent.iterdir()}
    index = SearchIndex(searched)
    all_of(index, "starved")
    assert {each.name for each in searched.parent.iterdir()} - before <= {"ledger.db-wal", "ledger.db-shm"}
    index.close()


def test_a_body_that_somebody_broke_is_left_out_and_the_rest_is_found(searched: Path) -> None:
    with sqlite3.connect(searched) as connection:
        connection.execute("DROP TRIGGER events_update")
        connection.execute("UPDATE events SET body = '{' WHERE kind = 'note' AND run = ''")
        connection.execute("UPDATE events SET body = '[]' WHERE kind = 'clear'")
    connection.close()
    index = SearchIndex(searched)
    assert all_of(index, "itself") == {}
    assert all_of(index, "starved")
    index.close()


def test_a_file_that_can_t_be_read_is_said_and_tried_again(searched: Path) -> None:
    index = SearchIndex(searched.with_name("gone.db"))
    _, problem = index.reach(5, patience=30)
    assert "unable to open" in problem
    assert index.find(["abc"], 5, "events").count == 0
    searched.rename(searched.with_name("gone.db"))
    assert all_of(index, "starved")
    index.close()


def test_what_is_closed_finds_nothing_and_is_not_made_again(index: SearchIndex) -> None:
    assert all_of(index, "starved")
    index.close()
    assert index.find(["starved"], 10_000, "cells").count == 0
    assert index.reach(10_000, patience=1) == (0, "")


def test_the_form_keeps_what_was_typed_as_text(searched: Path) -> None:
    html = ask(Served(searched), '">x<"')
    assert 'value="&#34;&gt;x&lt;&#34;"' in html


def test_an_excerpt_is_cut_around_the_word_and_keeps_the_word_whole() -> None:
    hit = Hit(1, "note", "", 0, "note", "", "a" * 500 + " Needle " + "b" * 500)
    part = excerpt(hit, ["needle"])
    assert part.at == "Needle"
    assert part.before == "…" + "a" * 59 + " "
    assert part.after == " " + "b" * 119 + "…"
