"""A ledger in Datasette's own tables: described, linked, folded, and harmless whatever stands in it."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from ledger import Draft, Ledger, kinds
from ledger.web import _narrow
from ledger.web._described import columns_of, relations
from tests.ledger.ledgers import OTHER_RUN, RUN
from tests.ledger.lineages import RUNS, Lineage, make_lineage
from tests.ledger.web.pages import Served, noted

HOSTILE = "<script>alert(1)</script></pre><img src=x onerror=alert(1)>\x1b[2K\u202egnp.exe"


@pytest.fixture
def lineage(tmp_path: Path) -> Lineage:
    found = make_lineage(tmp_path / "ledger.db")
    found.ledger.close()
    return found


def served(lineage: Lineage, **more: object) -> Served:
    return Served(lineage.ledger.path, **more)


def hrefs(page: str) -> set[str]:
    return {html.unescape(each) for each in re.findall(r'href="([^"]*)"', page)}


def test_every_table_view_and_column_is_described(path: Path) -> None:
    with Ledger.open(path, read_only=True) as ledger:
        found = {
            str(row["name"]): [
                str(each["name"]) for each in ledger.rows("SELECT name FROM pragma_table_info(?)", (row["name"],))
            ]
            for row in ledger.rows("SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view')")
        }
    assert set(relations()) == set(found)
    for name, columns in found.items():
        assert len(relations()[name]) > 20
        assert list(columns_of(name)) == columns, f"{name}: not every column is described"
        assert all(said.endswith((".", "…")) for said in columns_of(name).values()), name


def test_no_description_is_of_a_column_that_is_not_there() -> None:
    import tomllib
    from importlib.resources import files

    listed = tomllib.loads((files("ledger.web") / "columns.toml").read_text("utf-8"))
    there = {column for name in relations() for column in columns_of(name)}
    assert set(listed.pop("any")) <= there
    assert set(listed.pop("table")) == {"events", "blobs", "edges"}
    for name, columns in listed.items():
        assert set(columns) <= set(columns_of(name)), name


def test_descriptions_stand_on_the_pages(path: Path) -> None:
    page = Served(path)("/ledger/cells").text
    assert "Every planned cell once under each rule set" in page
    assert "How the cell ended under this rule set" in page


def test_the_newest_events_come_first_and_each_leads_to_its_page(lineage: Lineage) -> None:
    with Ledger.open(lineage.ledger.path, read_only=True) as ledger:
        size, _ = ledger.head()
    page = served(lineage)("/ledger/events")
    assert page.text.index(f"/ledger/events/{size}") < page.text.index(f"/ledger/events/{size - 1}")
    found = hrefs(page.text)
    assert f"/-/ledger/ledger/event/{size}" in found
    assert f"/-/ledger/ledger/run/{RUNS[1]}" in found
    assert f"/-/ledger/ledger/run/{RUNS[1]}/cell/4" in found
    for cause in (lineage.plans[RUNS[1]], lineage.tallies[RUNS[1], "strict@111111111111"]):
        assert f"/-/ledger/ledger/event/{cause}" in found
    assert '<span class="ledger-tag"><bdi>publish</bdi></span>' in page.text


def test_seqs_of_views_lead_to_events_and_cells_to_cells(lineage: Lineage) -> None:
    ask = served(lineage)
    attempts = hrefs(ask(f"/ledger/attempts?run={RUNS[0]}").text)
    key = (RUNS[0], 1, 0)
    assert {
        f"/-/ledger/ledger/event/{lineage.requests[key]}",
        f"/-/ledger/ledger/event/{lineage.responses[key]}",
        f"/-/ledger/ledger/run/{RUNS[0]}/cell/1",
    } <= attempts  # fmt: skip
    edges = hrefs(ask("/ledger/edges").text)
    assert f"/-/ledger/ledger/event/{lineage.reports[RUNS[1]]}" in edges
    assert f"/-/ledger/ledger/event/{lineage.published[RUNS[1]]}" in edges


def test_a_blob_is_its_size_and_a_link_to_its_bytes_and_never_the_bytes(lineage: Lineage) -> None:
    ask = served(lineage)
    page = ask("/ledger/blobs").text
    assert f"/-/ledger/ledger/event/{lineage.reports[RUNS[1]]}/blob/file" in hrefs(page)
    assert "1 byte<" in page and "3 bytes<" in page and "blob-download" not in page
    with Ledger.open(lineage.ledger.path, read_only=True) as ledger:
        views = [str(row["name"]) for row in ledger.rows("SELECT name FROM main.sqlite_schema WHERE type = 'view'")]
    for view in views:
        assert ask(f"/ledger/{view}").status_code == 200, view
        assert "data" not in columns_of(view), "a BLOB in a view is a 500 in Datasette"


def test_bodies_fold_and_long_ones_lead_to_their_event(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.create(path) as ledger:
        ledger.append(Draft(kinds.Note(text="short but longer than one line of a table, which is why it is folded up")))
        ledger.append(Draft(kinds.Note(text="x" * 100_000)))
    page = Served(path)("/ledger/events").text
    assert "<details><summary><code>" in page and 'class="tree"' in page
    assert re.search(r'<a href="/-/ledger/ledger/event/4">100,0\d\d characters</a>', page)
    assert len(page) < 60_000


def test_what_is_withheld_says_so(original: Path) -> None:
    page = Served(original)("/ledger/events?_size=max").text
    with Ledger.open(original, read_only=True) as ledger:
        gone = len(ledger.rows("SELECT seq FROM main.events WHERE body IS NULL"))
        blobs = len(ledger.rows("SELECT id FROM main.blobs WHERE data IS NULL"))
    assert gone > 0 and blobs > 0
    assert page.count('<em class="ledger-gone">withheld</em>') == 2 * gone
    page = Served(original)("/ledger/blobs?_size=max").text
    assert page.count('<em class="ledger-gone">withheld</em>') == 2 * blobs


def test_every_kind_of_event_and_every_view_can_be_looked_at(original: Path) -> None:
    ask = Served(original)
    for name in relations():
        for query in ("", f"?run={RUN}", f"?run={OTHER_RUN}"):
            if query and "run" not in columns_of(name):
                continue
            assert ask(f"/ledger/{name}{query}").status_code == 200, name + query
    assert ask("/ledger/events/5").status_code == 200


def test_foreign_text_is_escaped_and_what_acts_or_hides_is_shown(tmp_path: Path) -> None:
    path = noted(tmp_path / "ledger.db", HOSTILE)
    with Ledger.open(path) as ledger:
        ledger.append(Draft(kinds.Taint(target=kinds.Target(what="run", id=RUN), reason=HOSTILE)))
        ledger.append(Draft(kinds.Taint(target=kinds.Target(what="run", id=RUN), reason="http://evil.example/ now")))
        ledger.append(Draft(kinds.Taint(target=kinds.Target(what="run", id=RUN), reason="https://evil.example/")))
    ask = Served(path)
    for address in (
        "/ledger/events",
        "/ledger/taints",
        "/ledger/events/4",
        "/ledger?sql=select+reason,+reason+as+run+from+taints",
    ):
        page = ask(address).text
        assert "alert(1)" in page, address
        assert "<script>alert" not in page and "<img src=x" not in page, address
        assert "\x1b" not in page and "\u202e" not in page, address
        assert 'href="http://evil' not in page and 'href="https://evil' not in page, address
        if "taints" in address:
            assert "\\x1b" in page and "\\u202e" in page, address


def test_json_and_csv_give_the_stored_values(lineage: Lineage) -> None:
    ask = served(lineage)
    with Ledger.open(lineage.ledger.path, read_only=True) as ledger:
        stored = ledger.rows("SELECT * FROM main.scoreboard ORDER BY run, rules, candidate")
        event = ledger.rows("SELECT * FROM main.events WHERE seq = 9")[0]
    shown = ask("/ledger/scoreboard.json?_shape=array").json()
    assert sorted(shown, key=lambda row: (row["run"], row["rules"], row["candidate"])) == stored
    assert ask("/ledger/events.json?_shape=array&seq=9").json() == [event]
    assert str(event["body"]).replace('"', '""') in ask("/ledger/events.csv?seq=9").text


def test_views_of_a_large_ledger_show_the_newest_run_and_say_so(
    lineage: Lineage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_narrow, "LARGE", 10)
    ask = served(lineage)
    page = ask("/ledger/cells").text
    assert f"/run/{RUNS[1]}/cell/1" in page and f"/run/{RUNS[0]}/cell/1" not in page
    assert f"{RUNS[1]}&#34;, the newest" in page
    assert "8 rows" in page
    for query in (f"?run={RUNS[0]}", "?run__notblank=1", f"?run__startswith={RUNS[0][:4]}"):
        assert f"/run/{RUNS[0]}/cell/1" in ask(f"/ledger/cells{query}").text
    assert {row["run"] for row in ask("/ledger/cells.json?_shape=array").json()} == set(RUNS)
    assert set(re.findall(r"^(\w{16}),", ask("/ledger/cells.csv").text, re.MULTILINE)) == set(RUNS)
    chain = ask("/ledger/chain").text
    assert "the newest (all of them" in chain


def test_views_of_a_small_ledger_are_whole(lineage: Lineage) -> None:
    page = served(lineage)("/ledger/cells").text
    assert all(f"/run/{run}/cell/1" in page for run in RUNS) and "the newest" not in page


def test_datasettes_pages_lead_to_ours(lineage: Lineage) -> None:
    ask = served(lineage)
    for address in ("/ledger", "/ledger/cells", "/ledger/events", "/"):
        assert "/-/ledger/ledger" in hrefs(ask(address).text), address
    assert any("ledger-tables.css" in each for each in hrefs(ask("/ledger/cells").text))
    sheet = next(each for each in hrefs(ask("/ledger/cells").text) if "ledger-tables.css" in each)
    assert ask(sheet).headers["content-type"].startswith("text/css")


def test_the_count_above_a_table_gives_up_soon_and_the_table_stands_without_it(
    lineage: Lineage, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = served(lineage)
    assert "16 rows" in ask("/ledger/cells?run__notblank=1").text
    monkeypatch.setattr(_narrow, "_COUNT_MS", 0.0001)
    page = ask("/ledger/cells?run__notblank=1")
    assert page.status_code == 200 and f"/run/{RUNS[0]}/cell/1" in page.text and "16 rows" not in page.text
    assert ask("/ledger.json?sql=select+count(*)+from+cells&_shape=arrays").json()["rows"] == [[16]]


@pytest.mark.parametrize("far", [0, 1_000])
def test_the_newest_events_of_a_large_run_are_found_where_they_lie_and_none_is_left_out(
    lineage: Lineage, monkeypatch: pytest.MonkeyPatch, far: int
) -> None:
    ask = served(lineage)
    for run in RUNS:
        monkeypatch.setattr(_narrow, "_MANY_EVENTS", 10_000)
        address = f"/ledger/events.json?_shape=array&_size=max&run={run}"
        plain = ask(address).json()
        monkeypatch.setattr(_narrow, "_MANY_EVENTS", 2)
        monkeypatch.setattr(_narrow, "_FAR", far)
        assert ask(address).json() == plain
        assert len(plain) == 40
        sql = ask(f"/ledger/events.json?run={run}").json()
        assert "likelihood" in sql["query"]["sql"] and sql["filtered_table_rows_count"] == len(plain)
        assert "likelihood" not in ask(f"/ledger/events.json?run={run}&kind=score").json()["query"]["sql"]
