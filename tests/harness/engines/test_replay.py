"""A recorded ledger answers byte-identical requests with what was recorded, once each, over real HTTP."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from harness._candidate import Candidate
from harness._capture import Exchange, Place
from harness._chat import user
from harness._errors import EngineError
from harness._identity import file_digest
from harness.engines import open_engine, open_replay, resolve_engine
from ledger import Draft, Ledger, new_run_id
from ledger.kinds import Clear, Freeze, Plan, PlanCandidate, PlanFixture, Supersede, Taint, Target
from tests.harness.asking import KEY, response_of
from tests.harness.servers import (
    ANSWERS,
    CLOSE,
    RESET,
    Pause,
    Reply,
    ScriptedServer,
    base_url,
    chunked_reply,
    cut_reply,
    head,
    json_reply,
    reply,
)

PROMPT = b"Answer: {{input}}"
PROTOCOLS = ["openai", "anthropic", "ollama"]


def _ask_all(ledger: Ledger, candidate: Candidate, questions: Sequence[str], run: str) -> list[Exchange]:
    async def go() -> list[Exchange]:
        async with open_engine(candidate, ledger, timeout=5) as engine:
            return [
                await engine.ask(user(candidate.prompt.replace("{{input}}", question)), Place(run, cell))
                for cell, question in enumerate(questions, 1)
            ]

    return asyncio.run(go())


def record(
    ledger: Ledger, server: ScriptedServer, protocol: str, questions: Sequence[str], *, suite: str = "s",
    fixture: str = "v0", stream: bool = False, parameters: Mapping[str, float] | None = None, via: str = "live",
) -> tuple[str, list[Exchange]]:  # fmt: skip
    """Record a run of these questions, with its freezes and its plan."""
    run = new_run_id()
    candidate = resolve_engine(
        f"{protocol}/m", base_url=base_url(server, protocol), stream=stream,
        parameters=dict(parameters or {"temperature": 0}),
        environ={"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY},
    ).with_prompt(PROMPT)  # fmt: skip
    digest = file_digest(PROMPT)
    frozen, fixed = ledger.append(
        Draft(Freeze(what="prompt", name="p", digest=digest, identity=digest), blobs={"file": PROMPT}),
        Draft(Freeze(what="fixture", name=fixture, digest=digest, identity=digest), blobs={"file": b"{}"}),
    )
    plan = Plan(
        name="", tags=[], purpose="evaluation", suite=suite, ask="text",
        fixtures=[PlanFixture(name=fixture, freeze=fixed.seq, cases=len(questions))], rules=[],
        candidates=[
            PlanCandidate(
                label=candidate.label, protocol=protocol, model="m", parameters=dict(candidate.parameters),
                prompt=candidate.prompt_digest, prompt_freeze=frozen.seq, stream=stream,
                digest=file_digest(repr(candidate).encode()), base_url=candidate.base_url,
            )
        ],
        arms=[""], epochs=1, limit=None, cells=len(questions), via="live" if via == "live" else "replay",
        environment={}, code={},
    )  # fmt: skip
    ledger.append(Draft(plan, run=run))
    return run, _ask_all(ledger, candidate, questions, run)


def _replayed(target: Ledger, spec: str, questions: Sequence[str], suite: str | None = "s") -> list[Exchange]:
    with open_replay(spec, suite, ["v0"]) as (candidate,):
        return _ask_all(target, candidate, questions, new_run_id())


SCRIPTS: dict[str, Reply] = {
    "whole": json_reply({"n": 1}, 200, [("X-Request-Id", "abc"), ("Set-Cookie", "a=b")]),
    "error": json_reply({"error": "slow down"}, 429, [("Retry-After", "7")]),
    "chunked": chunked_reply(b"data: 1\n\n", b"data: [DONE]\n\n"),
    "to the end": [head(200, [("Connection", "close")]) + b"data: 1\n\n", CLOSE],
    "empty": [head(204, [])],
    "unknown status": reply(b"{}", 529),
    "cut short": cut_reply(b'{"n":', 50),
    "cut stream": chunked_reply(b"data: 1\n\n", end=False),
    "reset": cut_reply(b'{"n":', 50, RESET),
    "reset to the end": [head(200, []) + b"data: 1\n\n", Pause(0.05), RESET],
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_replay_answers_with_the_recorded_status_headers_and_bytes(
    ledger: Ledger, tmp_path: Path, protocol: str, name: str
) -> None:
    with ScriptedServer(SCRIPTS[name]) as server:
        _, (live,) = record(ledger, server, protocol, ["one"], stream="stream" in name)
    with Ledger.create(tmp_path / "again.db") as target:
        (again,) = _replayed(target, f"replay/{ledger.path}", ["one"])
        assert target.blob(again.request or 0, "body") == ledger.blob(live.request or 0, "body")
        assert target.blob(again.response or 0, "body") == ledger.blob(live.response or 0, "body")
        first, second = response_of(ledger, live), response_of(target, again)
    assert (first.status, first.whole) == (second.status, second.whole)
    assert live.fault_reason == again.fault_reason
    framing = {"content-length", "transfer-encoding", "connection"}
    kept = [pair for pair in first.headers if pair[0].lower() not in framing]
    assert [pair for pair in second.headers if pair[0].lower() not in framing] == kept


def test_each_recording_is_given_once_in_the_order_of_the_record(ledger: Ledger) -> None:
    with ScriptedServer(*(json_reply({"n": number}) for number in range(3))) as server:
        record(ledger, server, "openai", ["same", "same", "other"])
    # Into the ledger that is being replayed, too.
    again = _replayed(ledger, f"replay/{ledger.path}", ["same", "other", "same", "same"])
    assert [json.loads(exchange.wire.body) for exchange in again[:3] if exchange.wire] == [{"n": 0}, {"n": 2}, {"n": 1}]
    last = again[3].wire
    assert last is not None and last.status == 404 and last.header("x-eval-ledger") == "no_recording"
    assert json.loads(last.body)["error"]["type"] == "no_recording"


def test_only_a_byte_identical_request_is_answered(ledger: Ledger) -> None:
    with ScriptedServer(json_reply({"n": 1})) as server:
        _, (live,) = record(ledger, server, "openai", ["one"])
    body = ledger.blob(live.request or 0, "body")
    with open_replay(f"replay/{ledger.path}") as (candidate,):
        address = urlsplit(candidate.url)
        asked = [
            ("POST", "/v1/chat/completions", body + b" "), ("POST", "/chat/completions", body),
            ("PUT", "/v1/chat/completions", body), ("POST", "/v1/chat/completions", body),
        ]  # fmt: skip
        found: list[int] = []
        for method, path, data in asked:
            connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=5)
            connection.request(method, path, data)
            found.append(connection.getresponse().status)
            connection.close()
    assert found == [404, 404, 404, 200]


def test_superseded_and_tainted_runs_are_never_replayed(ledger: Ledger) -> None:
    with ScriptedServer(*(json_reply({"n": number}) for number in range(3))) as server:
        bad, _ = record(ledger, server, "openai", ["one"])
        unsafe, _ = record(ledger, server, "openai", ["one"])
        record(ledger, server, "openai", ["one"])
    by = Supersede(target=Target(what="run", id=bad), by=None, category="harness", reason="broken")
    (_, taint) = ledger.append(
        Draft(by), Draft(Taint(target=Target(what="run", id=unsafe), reason="wrong model")),
    )  # fmt: skip
    first, second = _replayed(ledger, f"replay/{ledger.path}", ["one", "one"])
    assert first.wire is not None and json.loads(first.wire.body) == {"n": 2}
    assert second.wire is not None and second.wire.status == 404
    ledger.append(Draft(Clear(taint=taint.seq, reason="it was the right one")))
    (cleared,) = _replayed(ledger, f"replay/{ledger.path}", ["one"])
    assert cleared.wire is not None and json.loads(cleared.wire.body) == {"n": 1}


def test_replays_are_copies_and_live_runs_go_before_them(ledger: Ledger) -> None:
    with ScriptedServer(json_reply({"n": 0}), json_reply({"n": 1})) as server:
        record(ledger, server, "openai", ["one"], via="replay")
        record(ledger, server, "openai", ["one"])
    first, second = _replayed(ledger, f"replay/{ledger.path}", ["one", "one"])
    assert first.wire is not None and json.loads(first.wire.body) == {"n": 1}
    assert second.wire is not None and second.wire.status == 404


def test_every_recorded_candidate_is_given_and_one_can_be_named(ledger: Ledger) -> None:
    with ScriptedServer(json_reply(ANSWERS["openai"]("a"))) as server:
        record(ledger, server, "openai", ["one"])
        record(ledger, server, "openai", ["one"], parameters={"temperature": 1})
        record(ledger, server, "ollama", ["one"])
        record(ledger, server, "ollama", ["one"], suite="another")
    spec = f"replay/{ledger.path}"
    with open_replay(spec, "s", ["v0"]) as candidates:
        labels = [candidate.label for candidate in candidates]
        assert [label.partition("@")[0] for label in labels] == ["openai/m", "openai/m", "ollama/m"]
        assert len(set(labels)) == 3
        assert [candidate.parameters["temperature"] for candidate in candidates] == [0, 1, 0]
        assert {candidate.prompt for candidate in candidates} == {PROMPT.decode()}
        assert {urlsplit(candidate.url).path for candidate in candidates} == {"/v1", ""}
        assert {urlsplit(candidate.url).hostname for candidate in candidates} == {"127.0.0.1"}
    with open_replay(f"{spec}@ollama/m", "s") as (one,):
        assert one.protocol == "ollama"
    with open_replay(f"{spec}@{labels[1]}", "s") as (one,):
        assert one.parameters["temperature"] == 1


@pytest.mark.parametrize(
    ("spec", "suite", "fixtures", "says"),
    [
        ("replay/nowhere.db", None, [], "no file at 'nowhere.db'"),
        ("replay/", None, [], "LEDGER"),
        ("replay/{path}@x/y", "s", [], "openai/m"),
        ("replay/{path}", "t", [], "it has runs of s"),
        ("replay/{path}", "s", ["v9"], "v9"),
        ("replay/{other}", None, [], "can't be read as a ledger"),
    ],
)
def test_what_can_t_be_replayed_is_told_in_one_sentence(
    ledger: Ledger, tmp_path: Path, spec: str, suite: str | None, fixtures: list[str], says: str
) -> None:
    other = tmp_path / "text"
    other.write_text("not a database")
    with ScriptedServer(json_reply({})) as server:
        record(ledger, server, "openai", ["one"])
    with (
        pytest.raises(EngineError) as told,
        open_replay(spec.format(path=ledger.path, other=other), suite, fixtures),
    ):
        pass
    assert "\n" not in str(told.value)
    assert says in str(told.value)


def test_asking_many_at_once_gives_each_recording_once(ledger: Ledger) -> None:
    with ScriptedServer(*(json_reply({"n": number}) for number in range(40))) as server:
        record(ledger, server, "openai", ["same"] * 40)
    with open_replay(f"replay/{ledger.path}") as (candidate,):

        async def worker(run: str, first: int) -> list[bytes]:
            async with open_engine(candidate, ledger, timeout=10) as engine:
                found: list[bytes] = []
                for cell in range(first, first + 5):
                    exchange = await engine.ask(user("Answer: same"), Place(run, cell))
                    assert exchange.wire is not None
                    found.append(exchange.wire.body)
                return found

        async def go() -> list[list[bytes]]:
            run = new_run_id()
            return list(await asyncio.gather(*(worker(run, 1 + 5 * number) for number in range(8))))

        found = [json.loads(body)["n"] for bodies in asyncio.run(go()) for body in bodies]
    assert sorted(found) == list(range(40))
