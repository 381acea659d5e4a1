"""The page of a cell over real evidence: what servers sent in every shape, what was taken over, imported, redacted."""

from __future__ import annotations

import gzip
import json
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness._attempts import Patience
from harness._job import Job, run_job
from harness._messages import read_asked
from harness._run import RunOptions
from harness._session import SilentProgress
from harness.imports import AnswersJob, import_answers
from harness.web._case import find_line
from ledger import Ledger
from tests.harness.answered import FENCED, ROOT, answered_run
from tests.harness.models import Answer, model_server
from tests.harness.scored import case_line
from tests.harness.servers import (
    Reply,
    ScriptedServer,
    chunked_reply,
    cut_reply,
    gzip_reply,
    json_reply,
    openai_answer,
    reply,
)
from tests.harness.test_run import BIN, perfect
from tests.harness.web.cell_pages import Shown, resolve, shown
from tests.harness.web.test_cell import HOSTILE, case_text

ANSWER = perfect(case_text(1))


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def asked(db: Path, *replies: Reply, stream: bool = False, retries: int = 0, **more: Any) -> str:
    """The first case of v0 asked of a server that sends these replies; the run's id."""
    with ScriptedServer(*replies) as server:
        options = RunOptions(
            limit=1, max_connections=1, patience=Patience(max_retries=retries, max_wait=5), timeout=5, **more
        )
        job = Job(
            str(ROOT / "authority/v0"), ["openai/m"], [f"{server.url}/v1"], ("strict-cite", "fence-cite"),
            stream=stream, options=options,
        )  # fmt: skip
        return run_job(job, db, SilentProgress()).finished.run


def cell(db: Path, run: str, number: int = 1) -> Shown:
    page = shown(db, f"run/{run}/cell/{number}")
    assert page.status == 200, page.text
    return page


# What a server sent


def test_a_packed_body_is_unpacked_for_reading_and_its_wire_bytes_stay_what_they_were(db: Path) -> None:
    data = json.dumps(openai_answer(ANSWER)).encode()
    page = cell(db, asked(db, gzip_reply(data)))
    assert [text for text, _ in page.marked("read")] == [ANSWER]
    assert "Shown without its coding, gzip ." in page.text
    assert f"Wire bytes: {len(gzip.compress(data, mtime=0))} bytes" in page.text
    assert resolve(db, page) > 20


def test_a_packed_body_that_breaks_off_shows_what_came_out_of_it(db: Path) -> None:
    data = gzip.compress(json.dumps(openai_answer(ANSWER)).encode(), mtime=0)[:-9]
    page = cell(db, asked(db, reply(data, headers=[("Content-Encoding", "gzip")])))
    assert "Its coding gzip could not be undone whole: decode_cut" in page.text
    assert "proposals" in page.text


def test_a_stream_is_shown_as_it_came_and_its_text_put_together(db: Path) -> None:
    pieces = [ANSWER[:40], ANSWER[40:]]
    events = [
        {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
        for piece in pieces
    ]
    events.append({"id": "c", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    sent = [f"data: {json.dumps(each)}\n\n".encode() for each in events]
    page = cell(db, asked(db, chunked_reply(*sent, b"data: [DONE]\n\n"), stream=True))
    assert [text for text, _ in page.marked("read")] == [ANSWER]
    assert "data: [DONE]" in page.text


def test_text_beside_a_filter_an_error_or_a_cut_is_shown_as_partial_and_is_never_scored(db: Path) -> None:
    failed = {"choices": [{"index": 0, "finish_reason": "error", "message": {"content": "half an answer"}}]}
    data = json.dumps(openai_answer("half an answer")).encode()
    for sent in (
        json_reply(openai_answer("half an answer", "content_filter")), json_reply(failed),
        cut_reply(data, len(data) + 9),
    ):  # fmt: skip
        page = cell(db, asked(db, sent))
        assert "It is partial : it came beside an error" in page.text and "half an answer" in page.text
        assert page.marked("read") == [] and "unmeasured" in page.text


def test_a_reply_that_was_cut_says_so_with_what_had_come_and_why(db: Path) -> None:
    data = json.dumps(openai_answer(ANSWER)).encode()
    page = cell(db, asked(db, cut_reply(data[:-30], len(data))))
    assert "cut ;" in page.text and "reply , short_body ( provider )" in page.text
    assert page.marked("read") == [], "what breaks off is never an answer"
    assert resolve(db, page) > 10


def test_attempts_stand_in_order_with_what_was_waited_for_and_what_the_server_asked(db: Path) -> None:
    busy = json_reply({"error": {"message": "slow down"}}, 429, headers=[("Retry-After", "1")])
    page = cell(db, asked(db, busy, json_reply(openai_answer(ANSWER)), retries=3))
    text = page.text
    first, waited, second = (text.index(each) for each in ("status 429", "Waited 1", "status 200"))
    assert first < waited < second
    assert "The server asked for 1 ." in text and "rate_limit" in text
    assert "Attempt 0" in text and "Attempt 1" in text
    assert page.html.count('<div class="said">') == 1, "what was sent again is not shown again"
    assert "The same body as in the attempt before, byte for byte." in text
    assert resolve(db, page) > 20


def test_hostile_headers_and_an_error_page_are_text(db: Path) -> None:
    hostile = '"><script>alert(1)</script>\x1b[31m'
    body = f"<html><script>alert(1)</script>{HOSTILE}".encode()
    answer = reply(body, 500, "text/html", headers=[("X-Evil", hostile), ("Set-Cookie", "session=secret-of-mine")])
    page = cell(db, asked(db, answer))
    assert "<script" not in page.html.partition("<main")[2] and "\x1b" not in page.html
    assert "&lt;html&gt;&lt;script&gt;" in page.html
    assert "secret-of-mine" not in page.html and "masked" in page.text
    assert "http_500" in page.text


def test_a_key_that_was_used_is_masked_and_the_page_says_where(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-this-is-a-key-of-mine-0123456789")
    page = cell(db, asked(db, json_reply({**openai_answer(ANSWER), "echo": "sk-this-is-a-key-of-mine-0123456789"})))
    assert "sk-this" not in page.html
    assert "Masked before anything was stored: header authorization" in page.text.replace(
        "Authorization", "authorization"
    )


# What was sent


def test_the_messages_that_were_sent_read_as_text_and_the_rest_folds(db: Path) -> None:
    page = cell(db, asked(db, json_reply(openai_answer(ANSWER))))
    sent = page.around("Asking", "Body of the request")
    assert "user" in sent and "Below are the items of a memory" in sent
    assert "What was sent beside the messages" in sent


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        ("openai", {"role": "user", "content": [
            {"type": "text", "text": "what is it?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]}),
        ("anthropic", {"role": "user", "content": [
            {"type": "text", "text": "what is it?"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}]}),
        ("ollama", {"role": "user", "content": "what is it?", "images": ["iVBORw0KGgo="]}),
    ],
)  # fmt: skip
def test_an_image_is_told_by_its_type_and_size_and_never_by_its_data(protocol: str, message: object) -> None:
    asked = read_asked(json.dumps({"model": "m", "messages": [message]}).encode(), protocol)
    assert asked is not None
    (said,) = asked.messages
    assert [(part.kind, part.size) for part in said.parts] == [("text", None), ("image", 8)]
    assert "iVBOR" not in repr(asked)


def test_tool_calls_a_system_text_and_parts_nobody_knows_are_all_there() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "look"}}]}
    body = {"system": "Be brief.", "messages": [call, {"role": "tool", "content": "42"}, {"odd": 1}, 7], "n": 1}
    asked = read_asked(json.dumps(body).encode(), "anthropic")
    assert asked is not None
    assert [said.role for said in asked.messages] == ["system", "assistant", "tool", "?", "?"]
    assert "look" in asked.messages[1].parts[0].text and asked.messages[3].parts[0].text == '{"odd": 1}'
    assert json.loads(asked.rest) == {"n": 1}


@pytest.mark.parametrize("body", [b"", b"\xff\x00", b"[]", b"null", b'{"messages": 1}', b"[" * 100_000])
def test_a_body_that_is_no_chat_is_left_to_its_bytes(body: bytes) -> None:
    assert read_asked(body, "openai") is None


# Evidence from elsewhere


def test_a_response_taken_over_leads_to_where_it_was_recorded(db: Path) -> None:
    first = asked(db, json_reply(openai_answer(ANSWER)))
    second = asked(db, json_reply(openai_answer("never asked")), reuse=True)
    page = cell(db, second)
    assert "Taken over" in page.text and "takes over" in page.text
    assert any(link.endswith(f"run/{first}/cell/1") for link in page.links)
    assert [text for text, _ in page.marked("read")] == [ANSWER]
    assert "the same" in page.text and resolve(db, page) > 15


def test_an_imported_answer_says_where_it_came_from_and_is_read_like_any(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    from harness._new import Wanted, new_suite

    monkeypatch.chdir(tmp_path)
    new_suite(Wanted("facts"))
    Path("a.jsonl").write_text(
        json.dumps({"id": "capital-1", "output": f"Oslo.{HOSTILE}", "model": "m"}) + "\n", "utf-8"
    )
    import_answers(AnswersJob("facts", [Path("a.jsonl")]), db)
    with Ledger.open(db, read_only=True) as ledger:
        run = next(iter(ledger.events(kind="plan"))).run
    page = cell(db, run)
    assert "Captured by somebody else" in page.text and "Nothing was asked here" in page.text
    assert "Oslo." in page.text and "<img" not in page.html
    assert "Never asked" in cell(db, run, 2).text
    assert resolve(db, page) > 5


def test_a_probe_is_read_and_scored_by_nobody(db: Path) -> None:
    from harness._candidate import Candidate
    from harness._probe import probe
    from harness._rules import builtin_rules

    rules = builtin_rules("default")
    with Ledger.create(db) as ledger, ScriptedServer(json_reply(openai_answer('So: {"a": 1}'))) as server:
        candidate = Candidate("openai/m", "openai", "m", {}, base_url=f"{server.url}/v1")
        done = probe(
            ledger, candidate, "Say {}.", ask="object", rules=rules.read, label=rules.label, patience=Patience(),
            timeout=5,
        )  # fmt: skip
    page = cell(db, done.run)
    assert [text for text, _ in page.marked("read")] == ['{"a": 1}']
    assert "a probe asks a text of its own and freezes none" in page.text
    assert "read, and not scored" in page.text


def test_a_quote_is_marked_where_it_stands_in_the_source(db: Path, tmp_path: Path, monkeypatch: Any) -> None:
    from harness.cli import app
    from ledger.cli import run_app

    monkeypatch.chdir(tmp_path)
    source = "Ünder the oak — 🌳 — three boys slept. Nobody saw them."
    row = {"question": "Who slept?", "document": source, "answer": "three boys slept"}
    Path("q.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    words = ["new", "quotes", "q.jsonl", "--input", "question", "--input", "document", "--gold", "answer", "--score",
             "quote", "--set", "source=document"]  # fmt: skip
    assert run_app(app, "harness", words) == 0
    with model_server(lambda _: Answer("three boys slept")) as server:
        command = ["run", "quotes", "--engine", "openai/m", "--base-url", server.openai, "--db", str(db)]
        assert run_app(app, "harness", command) == 0
    with Ledger.open(db, read_only=True) as ledger:
        run = next(iter(ledger.events(kind="plan"))).run
    page = cell(db, run)
    assert [text for text, _ in page.marked("cited")] == ["three boys slept"]
    assert resolve(db, page) > 15


# Redactions


def redact(db: Path, *targets: object) -> None:
    why = ("--reason", "a person's data", "--category", "other", "--db", str(db))
    done = subprocess.run(
        [BIN / "ledger", "redact", *map(str, targets), *why], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_is_withheld_says_by_which_event_and_the_rest_still_stands(db: Path) -> None:
    with Ledger.create(db) as ledger:
        run = answered_run(ledger, {1: FENCED}, rules=("strict-cite", "fence-cite"))
        kinds = {kind: ledger.newest(1, kind=kind, run=run.run, cell=1)[0].seq for kind in ("response", "confirm")}
        fixture = next(each.freeze for each in ledger.body(run.planned.plan).fixtures)  # type: ignore[attr-defined]
    before = cell(db, run.run)
    assert before.marked("read") and before.marked("cited")
    redact(db, kinds["response"])
    page = cell(db, run.run)
    assert "withheld by event" in page.text and "a person's data" in page.text
    assert page.marked("read") == [] and ANSWER not in page.text, "not even out of what was kept from before"
    assert "correct" in page.text, "a redaction takes no measurement away"
    redact(db, kinds["confirm"], f"{fixture}:file")
    page = cell(db, run.run)
    assert "Its input and gold can’t be shown" in page.text and page.marked("cited") == []
    assert resolve(db, page) > 8


def test_a_cell_whose_own_event_is_withheld_still_tells_its_story(db: Path) -> None:
    with Ledger.create(db) as ledger:
        run = answered_run(ledger, {}, rules=("strict-cite",))
        seq = ledger.newest(1, kind="cell", run=run.run, cell=1)[0].seq
    redact(db, seq)
    page = cell(db, run.run)
    assert "Which case this is can’t be told: its own event is withheld by event" in page.text
    assert "v0-supersedes" not in page.text.partition("Events")[0].partition("Asking")[0]
    assert "correct" in page.text
    assert resolve(db, page) > 5


# Long files of cases


def test_one_case_of_a_hundred_thousand_is_found_at_once_whatever_its_spelling() -> None:
    lines = [case_line(f"c{number}") for number in range(100_000)]
    lines[77_777] = lines[77_777].replace('"c77777"', '"c\\u0037\\u003777x"')
    data = "".join(line + "\n" for line in lines).encode()
    start = time.process_time()
    found = find_line(data, "c99999")
    assert found is not None and (found.id, found.line) == ("c99999", 100_000)
    assert time.process_time() - start < 0.2
    assert find_line(data[:5_000_000], "c1").line == 2  # type: ignore[union-attr]
    assert find_line(b'{"id": "\\u0061b", "input": 1, "gold": 2}\n', "ab") is not None
    assert find_line(data[:100_000], "nosuch") is None


def test_an_id_that_stands_in_other_cases_too_is_not_taken_for_them() -> None:
    other = case_line("a", text='- it says "b" here\n')
    found = find_line(f"{other}\n\n{case_line('b')}\n".encode(), "b")
    assert found is not None and (found.id, found.line) == ("b", 3)


@pytest.mark.parametrize("kind", ["cell", "request", "response", "parse", "confirm", "score"])
@pytest.mark.parametrize("body", ["{}", "no JSON <b>", "[1]", '{"schema":99}', "[" * 5_000])
def test_what_somebody_wrote_into_the_file_is_said_and_the_rest_still_stands(db: Path, kind: str, body: str) -> None:
    with Ledger.create(db) as ledger:
        run = answered_run(ledger, {}, rules=("strict-cite",))
        seq = ledger.newest(1, kind=kind, run=run.run, cell=1)[0].seq
    with closing(sqlite3.connect(db, isolation_level=None)) as connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{trigger}"')
        connection.execute("UPDATE events SET body = ? WHERE seq = ?", (body, seq))
    page = cell(db, run.run)
    assert f"{kind} unreadable not a body as one can be stored" in page.text
    assert "<b>" not in page.html and "Traceback" not in page.text


def test_a_count_under_a_hostile_name_is_found_again_by_its_place(db: Path) -> None:
    usage = {"a": 1, "\x1b[31m\u202ered'": 7, "z": 3}
    page = cell(db, asked(db, json_reply(openai_answer(ANSWER, usage=usage))))
    assert not {"\x1b", "\u202e"} & set(page.html)
    assert "\\x1b[31m\\u202ered' 7" in page.text
    assert resolve(db, page) > 20
