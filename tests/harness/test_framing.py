"""A body whose framing says that it was cut is cut, also where what came of it is whole; and what came after a body's
end is no part of it, nor of the next one."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from harness._attempts import read_exchange
from harness._capture import Exchange
from harness.engines import resolve_engine
from harness.parse import Reading
from ledger import Ledger
from tests.harness.asking import ask
from tests.harness.servers import ANSWERS, CLOSE, Pause, Reply, ScriptedServer, base_url, chunk, head, json_reply

PROTOCOLS = list(ANSWERS)
ASKED = [*((protocol, False) for protocol in PROTOCOLS), ("openai", True), ("anthropic", True)]
"""Not Ollama's stream: there one whole line that says `done` is the provider's own end mark."""


def whole(protocol: str, text: str = "hello") -> bytes:
    return json.dumps(ANSWERS[protocol](text)).encode()


def framed(body: bytes, **headers: str) -> bytes:
    return (
        head(200, [("Content-Type", "application/json"), *((k.replace("_", "-"), v) for k, v in headers.items())])
        + body
    )


def with_length(body: bytes, promised: int) -> Reply:
    return [framed(body, Content_Length=str(promised)), CLOSE]


def readings(ledger: Ledger, protocol: str, *replies: Reply, stream: bool = False) -> list[tuple[Exchange, Reading]]:
    """What each of these replies, one after the other, reads as."""
    with ScriptedServer(*replies) as server:
        exchanges = ask(ledger, server, protocol, times=len(replies), timeout=3, stream=stream)
        candidate = resolve_engine(f"{protocol}/m", base_url=base_url(server, protocol), stream=stream, environ=ENVIRON)
    return [(each, read_exchange(each, candidate, max_wait=60)) for each in exchanges]


ENVIRON: Mapping[str, str] = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}


def cut(protocol: str) -> dict[str, tuple[Reply, str]]:
    body = whole(protocol)
    chunked = framed(b"", Transfer_Encoding="chunked")
    return {
        "one byte short": (with_length(body, len(body) + 1), "short_body"),
        "many bytes short": (with_length(body, len(body) + 9000), "short_body"),
        "no last chunk": ([chunked, chunk(body), CLOSE], "stream_cut"),
        "amid the last chunk's line": ([chunked, chunk(body), b"0\r\n", CLOSE], "stream_cut"),
        "amid a chunk": ([chunked, b"%x\r\n" % (len(body) + 9), body, CLOSE], "stream_cut"),
        "chunked and with a length": (
            [framed(b"", Transfer_Encoding="chunked", Content_Length=str(len(body))), chunk(body), CLOSE], "stream_cut",
        ),
        "two lengths": (
            [head(200, [("Content-Length", str(len(body))), ("Content-Length", "9")]) + body, CLOSE], "protocol",
        ),
        "no number": ([framed(body, Content_Length="many"), CLOSE], "protocol"),
    }  # fmt: skip


@pytest.mark.parametrize(("protocol", "stream"), ASKED)
@pytest.mark.parametrize("name", list(cut("openai")))
def test_a_body_that_its_framing_says_was_cut_is_cut_also_where_its_json_is_whole(
    ledger: Ledger, protocol: str, name: str, stream: bool
) -> None:
    script, reason = cut(protocol)[name]
    ((_, found),) = readings(ledger, protocol, script, stream=stream)
    assert (found.status, found.reason, found.retry, found.value) == ("error", reason, "backoff", None)
    if reason != "protocol":
        assert (found.text, found.flags) == ("hello", ("partial_text",))


WHOLE: dict[str, bytes] = {
    "the connection's end": b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\n",
    "the same length twice": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nContent-Length: %d\r\n\r\n",
    "HTTP/1.0 with a length": b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n",
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", WHOLE)
def test_a_body_whose_end_is_told_otherwise_is_whole(ledger: Ledger, protocol: str, name: str) -> None:
    body = whole(protocol)
    start = WHOLE[name]
    start = start % ((len(body),) * start.count(b"%d"))
    ((_, found),) = readings(ledger, protocol, [start + body, CLOSE])
    assert (found.status, found.value) == ("parsed", '"hello"')


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_where_only_the_connection_s_end_tells_a_body_s_end_its_json_does(ledger: Ledger, protocol: str) -> None:
    body = whole(protocol)
    for start in (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\n"):
        for end in (len(body) - 1, len(body) // 2, 9):
            ((_, found),) = readings(ledger, protocol, [start + body[:end], CLOSE])
            assert (found.status, found.reason, found.retry) == ("error", "stream_cut", "backoff")
    ((_, found),) = readings(ledger, protocol, with_length(body[:-1], len(body) - 1))
    assert (found.status, found.reason, found.retry) == ("error", "not_json", "never")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("rest", ["a whole reply", "garbage", "blanks"])
def test_what_comes_after_a_body_s_end_is_never_the_answer_to_the_next_request(
    ledger: Ledger, protocol: str, rest: str
) -> None:
    first, second = (json_reply(ANSWERS[protocol](text))[0] for text in ("first", "nobody asked for this"))
    assert isinstance(first, bytes) and isinstance(second, bytes)
    more = {"a whole reply": second, "garbage": b"x" * 50, "blanks": b"\r\n\r\n"}[rest]
    next_one = json_reply(ANSWERS[protocol]("next"))
    found = readings(ledger, protocol, [first + more], next_one, next_one)
    assert [reading.value for _, reading in found] == ['"first"', '"next"', '"next"']


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_connection_that_holds_nothing_more_is_used_again(ledger: Ledger, protocol: str) -> None:
    for script in (
        json_reply(ANSWERS[protocol]("x")),
        [framed(b"", Transfer_Encoding="chunked"), chunk(whole(protocol)), b"0\r\n\r\n"],
    ):
        with ScriptedServer(script) as server:
            ask(ledger, server, protocol, times=3)
            assert (len(server.requests), server.connections) == (3, 1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_reply_longer_than_it_promised_is_read_as_far_as_it_promised(ledger: Ledger, protocol: str) -> None:
    body = whole(protocol)
    ((exchange, found),) = readings(ledger, protocol, [framed(body + body, Content_Length=str(len(body))), Pause(0.05)])
    assert found.value == '"hello"' and exchange.wire is not None and exchange.wire.body == body
