"""What the three protocols send and receive is stored byte for byte, over real connections."""

from __future__ import annotations

import gzip
import json

import pytest

from ledger import Ledger
from tests.harness.asking import MESSAGES, ask, bytes_on_disk, fault_of, request_of, response_of
from tests.harness.servers import ANSWERS, PATHS, ScriptedServer, chunked_reply, gzip_reply, json_reply, reply

PROTOCOLS = ["openai", "anthropic", "ollama"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_stored_bytes_are_those_that_the_server_received_and_sent(
    ledger: Ledger, protocol: str, stream: bool
) -> None:
    answer = json.dumps(ANSWERS[protocol]("né \U0001f642")).encode()
    script = chunked_reply(b"data: " + answer + b"\n\n", b"data: [DONE]") if stream else reply(answer)
    with ScriptedServer(script) as server:
        (exchange,) = ask(ledger, server, protocol, stream=stream, parameters={"temperature": 0.5, "max_tokens": 7})
        (received,) = server.requests
    assert exchange.fault is None and exchange.wire is not None and exchange.wire.whole
    assert ledger.blob(exchange.request or 0, "body") == received.body
    expected = b"data: " + answer + b"\n\ndata: [DONE]" if stream else answer
    assert ledger.blob(exchange.response or 0, "body") == expected == exchange.wire.body
    request = request_of(ledger, exchange)
    assert (request.method, request.url) == ("POST", server.url + PATHS[protocol])
    sent = [tuple(line.split(": ", 1)) for line in received.head.decode().split("\r\n")[1:-2]]
    secret = {"authorization", "x-api-key"}
    assert [pair for pair in request.headers if pair[0].lower() not in secret] == [
        pair for pair in sent if pair[0].lower() not in secret
    ]
    assert {name.lower() for name, _ in request.headers} == set(received.headers)
    assert received.headers["accept-encoding"] == "identity"
    response = response_of(ledger, exchange)
    assert response.status == 200 and response.whole and 0 <= response.headers_ms <= response.total_ms
    assert ("Content-Type", "text/event-stream" if stream else "application/json") in response.headers
    assert ledger.event(exchange.response or 0).causes == (exchange.request,)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_same_question_gives_the_same_bytes(ledger: Ledger, protocol: str) -> None:
    with ScriptedServer(json_reply(ANSWERS[protocol]("a"))) as server:
        ask(ledger, server, protocol, parameters={"temperature": 0, "seed": 3})
        ask(ledger, server, protocol, parameters={"seed": 3, "temperature": 0})
        first, second = server.requests
    assert first.body == second.body


def test_openai_parameters_are_top_level_and_its_path_follows_the_base_url(ledger: Ledger) -> None:
    with ScriptedServer(json_reply({})) as server:
        ask(ledger, server, "openai", parameters={"max_tokens": 5, "response_format": {"type": "json_object"}})
        (received,) = server.requests
    assert received.path == "/v1/chat/completions"
    assert json.loads(received.body) == {
        "model": "m", "messages": MESSAGES, "max_tokens": 5, "response_format": {"type": "json_object"},
    }  # fmt: skip
    assert received.headers["user-agent"].startswith("eval-ledger")


def test_ollama_parameters_are_options_but_for_a_few(ledger: Ledger) -> None:
    with ScriptedServer(json_reply({})) as server:
        ask(ledger, server, "ollama", parameters={"max_tokens": 5, "think": False, "temperature": 0, "format": "json"})
        (received,) = server.requests
    assert json.loads(received.body) == {
        "model": "m", "messages": MESSAGES, "stream": False, "think": False, "format": "json",
        "options": {"num_predict": 5, "temperature": 0},
    }  # fmt: skip


def test_anthropic_gets_its_max_tokens_and_system_messages_in_their_field(ledger: Ledger) -> None:
    messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}]
    with ScriptedServer(json_reply({})) as server:
        ask(ledger, server, "anthropic", parameters={"temperature": 0, "top_k": 4}, messages=messages)
        (received,) = server.requests
    assert json.loads(received.body) == {
        "model": "m", "max_tokens": 1024, "messages": messages[1:], "system": "be brief", "temperature": 0, "top_k": 4,
    }  # fmt: skip
    assert received.headers["anthropic-version"] and "Anthropic" in received.headers["user-agent"]


def test_a_long_answer_may_be_asked_for_without_streaming(ledger: Ledger) -> None:
    with ScriptedServer(json_reply(ANSWERS["anthropic"]("a"))) as server:
        (exchange,) = ask(ledger, server, "anthropic", parameters={"max_tokens": 200_000})
        assert json.loads(server.requests[0].body)["max_tokens"] == 200_000
    assert exchange.fault is None


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "script",
    [
        reply(b"not json at all"),
        json_reply({"error": {"type": "x"}}, 429),
        json_reply({"no": "such shape"}),
        reply(b""),
    ],
)
def test_what_a_library_makes_of_the_bytes_changes_nothing(ledger: Ledger, protocol: str, script: list[bytes]) -> None:
    with ScriptedServer(script) as server:
        (exchange,) = ask(ledger, server, protocol)
        assert len(server.requests) == 1, "no retry of the library's own"
    assert exchange.fault is None and exchange.wire is not None and exchange.wire.whole
    assert script[0].endswith(b"\r\n\r\n" + exchange.wire.body)
    assert exchange.wire.status == int(script[0].split(b" ")[1])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_content_coding_stays_on_the_stored_body(ledger: Ledger, protocol: str) -> None:
    plain = json.dumps(ANSWERS[protocol]("hello")).encode()
    with ScriptedServer(gzip_reply(plain)) as server:
        (exchange,) = ask(ledger, server, protocol)
    assert ledger.blob(exchange.response or 0, "body") == gzip.compress(plain, mtime=0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_redirects_are_recorded_and_not_followed(ledger: Ledger, protocol: str) -> None:
    with ScriptedServer(json_reply({})) as elsewhere:
        script = reply(b"", 307, headers=[("Location", elsewhere.url + "/v1/messages")])
        with ScriptedServer(script) as server:
            (exchange,) = ask(ledger, server, protocol)
        assert elsewhere.connections == 0
    assert exchange.wire is not None and exchange.wire.status == 307
    assert exchange.wire.header("location") == elsewhere.url + "/v1/messages"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_proxy_of_the_environment_is_ignored_for_loopback(
    ledger: Ledger, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedServer(json_reply({})) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with ScriptedServer(json_reply({})) as server:
            (exchange,) = ask(ledger, server, protocol)
            assert len(server.requests) == 1
        assert proxy.connections == 0
        assert exchange.wire is not None
        path = "/v1" if protocol == "openai" else ""
        (through,) = ask(ledger, f"http://model.invalid{path}", protocol)
        assert proxy.requests[0].path.startswith("http://model.invalid/"), "and honoured otherwise"
    assert through.wire is not None


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_cookies_are_not_carried_into_the_next_request(ledger: Ledger, protocol: str) -> None:
    with ScriptedServer(json_reply({}, headers=[("Set-Cookie", "session=opensesame; Path=/")])) as server:
        ask(ledger, server, protocol, times=2)
        assert server.connections == 1, "one connection serves one worker"
        assert all("cookie" not in received.headers for received in server.requests)
    assert b"opensesame" not in bytes_on_disk(ledger)


def test_a_question_that_can_t_be_sent_is_a_fault_of_the_harness(ledger: Ledger) -> None:
    with ScriptedServer(json_reply({})) as server:
        (exchange,) = ask(ledger, server, "anthropic", messages=[{"role": "user", "content": "half \ud83d"}])
        assert server.requests == []
    fault = fault_of(ledger, exchange)
    assert (fault.stage, fault.reason, fault.domain) == ("harness", "internal", "harness")
    assert exchange.request is None and exchange.evidence == exchange.fault


def test_half_a_surrogate_pair_goes_out_escaped_where_the_body_is_ours(ledger: Ledger) -> None:
    with ScriptedServer(json_reply({})) as server:
        ask(ledger, server, "openai", messages=[{"role": "user", "content": "half \ud83d"}])
        assert b"half \\ud83d" in server.requests[0].body
