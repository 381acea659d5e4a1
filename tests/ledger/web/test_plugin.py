"""The plugin in a Datasette: who may see, what is refused, and what is said when something is wrong."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from datasette.app import Datasette

from ledger import Draft, Ledger, kinds
from ledger.web._answering import POLICY
from tests.ledger.ledgers import settle
from tests.ledger.web.pages import Served, noted


def _allowing(**databases: Any) -> dict[str, Any]:
    return {"databases": databases}


def test_plain_datasette_over_a_ledger_has_its_pages_and_looks_for_no_facets(path: Path) -> None:
    served = Served(datasette=Datasette([str(path)]))
    assert "eval-ledger/local" in served("/-/ledger").text
    assert served("/").status_code == 200, "its own first page stays where it was"
    assert served("/-/settings.json").json()["suggest_facets"] is False
    assert "suggested_facets" in served("/ledger/events.json").json()
    assert served("/ledger/events.json").json()["suggested_facets"] == []


def test_a_datasette_over_no_ledger_is_left_as_it_is(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, kind TEXT, body TEXT)")
        connection.execute("INSERT INTO events VALUES (1, 'note', NULL)")
    served = Served(datasette=Datasette([str(other)]))
    page = served("/other/events").text
    assert "ledger-tag" not in page and "withheld" not in page and "/-/ledger" not in page
    assert served("/-/settings.json").json()["suggest_facets"] is True
    assert served("/-/metadata.json").json() == {}
    answer = served("/-/ledger")
    assert answer.status_code == 404 and "none of the databases served here is a ledger" in answer.text
    assert served("/-/ledger/other").status_code == 404


@pytest.mark.parametrize(
    "metadata",
    [
        {"allow": False},
        _allowing(ledger={"allow": False}),
        *(_allowing(ledger={"tables": {table: {"allow": False}}}) for table in ("events", "blobs", "edges")),
        _allowing(ledger={"tables": {"EVENTS": {"allow": False}}}),
    ],
)
def test_who_may_not_see_the_tables_sees_no_page_and_no_query(path: Path, metadata: dict[str, Any]) -> None:
    served = Served(path, metadata=metadata)
    for address in ("/-/ledger", "/-/ledger/ledger", "/-/ledger/ledger/event/1", "/-/ledger/ledger/head"):
        answer = served(address)
        assert (answer.status_code, "eval-ledger/local" in answer.text) == (403, False), address
    assert served("/ledger/who_used_it.json").status_code in (403, 404)
    assert served("/ledger/changed_between_rules").status_code in (403, 404)
    assert "/-/ledger" not in served("/ledger").text.replace("/-/ledger/-/assets", "")


def test_an_actor_who_is_allowed_sees_what_others_do_not(path: Path) -> None:
    served = Served(path, metadata=_allowing(ledger={"allow": {"id": "auditor"}}))
    assert served("/-/ledger/ledger").status_code == 403
    assert served("/-/ledger/ledger", actor="somebody").status_code == 403
    seen = served("/-/ledger/ledger", actor="auditor")
    assert seen.status_code == 200 and "eval-ledger/local" in seen.text
    assert "no-store" in seen.headers["cache-control"]
    assert "/-/ledger/ledger" in served("/ledger", actor="auditor").text


def test_of_several_ledgers_the_first_page_lists_the_ones_that_may_be_seen(tmp_path: Path) -> None:
    names = ["one", "my ledger (1)", "a+b&c=d", "ü", "dotted.name", "a%41?b #c"]
    paths = [noted(tmp_path / f"{name}.db", name) for name in names]
    other = tmp_path / "plain.db"
    sqlite3.connect(other).execute("CREATE TABLE t (a)").connection.close()
    served = Served(*paths, metadata=_allowing(one={"allow": False}))
    first = served("/-/ledger")
    assert first.status_code == 200 and "one" not in _names_listed(first.text)
    for address, name in zip(_links_listed(first.text), names[1:], strict=True):
        page = served(address)
        assert page.status_code == 200, name
        assert f'href="{address}' in page.text
        tables = [each for each in _hrefs(page.text) if each.endswith("/events")]
        assert tables and served(tables[0]).status_code == 200, name
    assert served("/-/ledger/one").status_code == 403
    assert served("/-/ledger/no-such").status_code == 404


def _hrefs(page: str) -> list[str]:
    import html
    import re

    return [html.unescape(each) for each in re.findall(r'href="([^"]*)"', page)]


def _links_listed(page: str) -> list[str]:
    return [each for each in _hrefs(page) if each.startswith("/-/ledger/")]


def _names_listed(page: str) -> list[str]:
    import re

    return re.findall(r"<li><a[^>]*><bdi>([^<]*)</bdi>", page)


def test_when_every_ledger_is_forbidden_the_first_page_says_so(tmp_path: Path) -> None:
    paths = [noted(tmp_path / "one.db"), noted(tmp_path / "two.db")]
    assert Served(*paths, metadata={"allow": False})("/-/ledger").status_code == 403


def test_every_link_of_a_page_has_the_prefix_and_works_with_it(path: Path) -> None:
    served = Served(path, base_url="/evals")
    page = served("/-/ledger")
    assert page.status_code == 200
    links = [each for each in _hrefs(page.text) if not each.startswith(("#", "data:"))]
    assert len(links) > 3 and all(each.startswith("/evals/") for each in links)
    for each in links:
        assert served(each.removeprefix("/evals")).status_code == 200, each
    table = served("/ledger/events").text
    assert 'href="/evals/-/ledger/ledger' in table
    assert 'href="/evals/-/ledger/-/assets/ledger/ledger-tables.css' in table


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])
def test_nothing_but_reading_is_answered(path: Path, method: str) -> None:
    served = Served(path)
    for address in ("/-/ledger", "/-/ledger/ledger/event/1", "/-/ledger/-/assets/ledger/ledger.css"):
        answer = served(address, method=method)
        assert (answer.status_code, answer.headers.get("allow")) == (405, "GET, HEAD"), address


def test_head_answers_as_get_does_without_a_body(path: Path) -> None:
    served = Served(path)
    for address in ("/-/ledger/ledger", "/-/ledger/ledger/nope", "/-/ledger/-/assets/ledger/ledger.css"):
        whole, head = served(address), served(address, method="HEAD")
        assert (head.status_code, head.content) == (whole.status_code, b"")
        assert head.headers["content-type"] == whole.headers["content-type"]


@pytest.mark.parametrize(
    "path_of",
    [
        "nope", "event/0", "event/-1", "event/99999999999999999999", "event/1/", "event/%31", "event/%00", "event/1%0a",
        "event/..%2f..%2fetc%2fpasswd", "event/%F0%28%8C", "event/%e2%80%ae", "event//line",
        "<script>alert(1)</script>", "%3Cscript%3Ealert(1)%3C/script%3E", "event/1/blob/%3Cimg%20src=x%3E",
        "event/1/raw",
        "a" * 3000, "run/nope", "run/%27%20OR%201=1", "lineage/x", "event/1/line/extra", "~2e~2e", "event/1?",
    ],
)  # fmt: skip
def test_hostile_paths_get_a_page_of_ours_that_repeats_nothing_as_markup(path: Path, path_of: str) -> None:
    answer = Served(path)(f"/-/ledger/ledger/{path_of}")
    assert answer.status_code in (200, 400, 404)
    assert "<script>alert" not in answer.text and "<img" not in answer.text
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "query",
    ["q=" + "a" * 7000, "&" * 5000, "page=%00", "page=-1", "page=1e9", "page=%F0%28%8C%28", "q=" + "%3Cscript%3E" * 50],
)  # fmt: skip
def test_hostile_queries_are_answered_and_never_as_markup(path: Path, query: str) -> None:
    answer = Served(path)(f"/-/ledger/ledger?{query}")
    assert answer.status_code in (200, 404)
    assert "<script>%" not in answer.text and "<script><script>" not in answer.text


def test_a_query_string_without_end_is_refused(path: Path) -> None:
    answer = Served(path)("/-/ledger/ledger?" + "a" * 9000)
    assert answer.status_code == 414 and "too long" in answer.text


def test_the_host_header_changes_nothing_on_our_pages(path: Path) -> None:
    served = Served(path)
    assert served("/-/ledger", headers={"Host": "evil.example"}).text == served("/-/ledger").text


def test_a_missing_page_of_datasette_is_one_sentence_and_nothing_is_printed(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    served = Served(path)
    for address in ("/nope", "/ledger/nope", "/ledger/events/999999", "/-/nope/deep"):
        answer = served(address)
        assert answer.status_code == 404 and "Error 404" in answer.text, address
        told = served(f"{address}.json")
        assert told.status_code == 404 and told.json()["ok"] is False and told.json()["error"]
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


def test_an_unforeseen_failure_is_one_line_on_stderr_and_a_sentence_in_the_page(
    path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ledger.web import _answering

    def broken(*_: Any) -> Any:
        kept_to_itself = "a secret in a local variable"
        raise ZeroDivisionError(f"no {len(kept_to_itself)}\nsecond line")

    monkeypatch.setattr(_answering, "find_route", broken)
    answer = Served(path)("/-/ledger/ledger")
    assert answer.status_code == 500 and "ZeroDivisionError" in answer.text
    assert "secret" not in answer.text and "Traceback" not in answer.text
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err == "error: GET /-/ledger/ledger: ZeroDivisionError: no 28\\nsecond line\n"


def test_a_query_that_takes_too_long_is_told_how_to_be_quicker(path: Path) -> None:
    served = Served(path, sql_time_limit_ms=20)
    slow = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
    answer = served("/ledger", params={"sql": slow})
    assert answer.status_code == 400 and "20 ms" in answer.text and 'href="/ledger/runs"' in answer.text
    told = served("/ledger.json", params={"sql": slow}).json()
    assert told["ok"] is False and "run=" in told["error"] and "<" not in told["error"]


def test_an_immutable_ledger_says_on_its_pages_what_its_tables_leave_out(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settle(path)
    with Ledger.open(path) as ledger:
        ledger.append(Draft(kinds.Note(text="in the log only")))
        served = Served(datasette=Datasette([], immutables=[str(path)]))
        page = served("/-/ledger").text
        assert "end at event 2, and the ledger goes on to event 3" in page
        assert "warning: Datasette's own tables of ledger end at event 2" in capfd.readouterr().err
        assert served("/ledger/events.json?_shape=array").json()[0]["seq"] == 2
        assert 'data-size="3"' in page
    settle(path)
    after = Served(datasette=Datasette([], immutables=[str(path)]))
    assert "Serve it without -i" not in after("/-/ledger").text
    assert capfd.readouterr().err == ""


def test_another_file_under_the_same_name_is_read_anew(tmp_path: Path) -> None:
    place = noted(tmp_path / "ledger.db", "one")
    served = Served(place)
    assert served("/-/ledger").status_code == 200
    place.unlink()
    answer = served("/-/ledger/ledger")
    assert answer.status_code == 404 and "be read as a ledger: No such file" in answer.text
    noted(place, "two")
    assert served("/-/ledger/ledger").status_code == 200


def test_the_tables_too_are_of_the_file_that_stands_there_now(tmp_path: Path) -> None:
    place, address = noted(tmp_path / "ledger.db", "the secret"), "/ledger/events.json?kind=note&_shape=array"
    served = Served(place)
    # So often that every thread which reads has a connection.
    assert all("the secret" in served(address).text for _ in range(12))
    noted(tmp_path / "other.db", "nothing of it").replace(place)
    after = [served(address).text for _ in range(12)]
    assert all("nothing of it" in each and "the secret" not in each for each in after)


def test_a_copy_that_is_no_ledger_is_told_so(tmp_path: Path, path: Path) -> None:
    place = tmp_path / "copy.db"
    shutil.copy(path, place)
    served = Served(place)
    place.write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)
    answer = served("/-/ledger/copy")
    assert answer.status_code == 500 and "the database can&#39;t be read: file is not a database" in answer.text


def test_the_readers_own_metadata_goes_before_ours(path: Path) -> None:
    own = _allowing(ledger={"title": "Mine", "tables": {"events": {"description": "my words", "size": 1}}})
    served = Served(path, metadata=own)
    page = served("/ledger/events").text
    assert "my words" in page and "One row for each event" not in page
    assert "The event&#39;s place in the chain" in page
    assert len(served("/ledger/events.json?_shape=array").json()) == 1
    assert json.dumps(own).count("columns") == 0


def test_no_template_of_ours_stands_where_datasette_would_take_it_for_its_own() -> None:
    theirs = {each.name for each in (files("datasette") / "templates").iterdir()}
    ours = {each.name for each in (files("ledger.web") / "templates").iterdir() if each.is_file()}
    assert ours and not ours & theirs


def test_a_command_that_serves_nothing_never_loads_datasette() -> None:
    code = "import sys; sys.argv = ['ledger', 'serve', '--help']\nfrom ledger.cli import main\ntry: main()\n"
    code += (
        "except SystemExit: pass\nprint('datasette' in sys.modules, 'uvicorn' in sys.modules, 'jinja2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("False False False")


@pytest.mark.parametrize("before", [[], ["-i"]])
def test_the_command_datasette_serves_the_same_pages(path: Path, before: list[str]) -> None:
    settle(path)

    def shown(address: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "datasette", "serve", *before, str(path), "--get", address],
            capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
        return done.stdout

    page = shown("/-/ledger/ledger/event/1")
    # Only a server says from its start what is known of the chain; and what that is, it may know by now.
    assert page.partition("<footer>")[0] == Served(path)("/-/ledger/ledger/event/1").text.partition("<footer>")[0]
    assert "<footer>" in page and "chain holds" in page
    assert "ledger-tag" in shown("/ledger/events")


def test_a_page_of_one_run_that_takes_too_long_leads_to_the_runs_own_page(path: Path) -> None:
    served = Served(path, sql_time_limit_ms=20)
    slow = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*), :run from n"
    page = served("/ledger", params={"sql": slow, "run": "abcdefghijklmnop"})
    assert page.status_code == 400 and 'href="/-/ledger/ledger/run/abcdefghijklmnop"' in page.text
