"""Five cells in a row that end alike, and nothing else, give a candidate up."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from harness._alike import ALIKE_CELLS, Alike
from harness._capture import Exchange
from harness.parse import ReadRules, Wire, read_fault, read_reply, said_in

OK = b'{"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "4"}}]}'
PAGE = b"<html><head><title>Welcome</title><style>p {}</style></head><body><p>It &amp; works</p></body></html>"


def wire(status: int, body: bytes, *headers: tuple[str, str]) -> Wire:
    return Wire(status, headers or (("Content-Type", "application/json"),), body)


def ended(counted: Alike, came: Wire | tuple[str, str]) -> bool:
    """Count one cell that ended with this reply, or this fault."""
    found = came if isinstance(came, Wire) else None
    exchange = Exchange(1, None, None, found, None if isinstance(came, Wire) else came, datetime.now(UTC))
    if isinstance(came, Wire):
        reading = read_reply(came, protocol="openai", stream=False, ask="text", rules=ReadRules.default())
    else:
        reading = read_fault(*came)
    return counted.ends(exchange, reading)


@pytest.mark.parametrize(
    "came",
    [
        wire(404, b'{"error": {"message": "The model `x` does not exist", "code": "model_not_found"}}'),
        wire(404, b"404 page not found"),
        wire(405, b"{}"),
        wire(403, b"{}"),
        wire(301, b"", ("Location", "/x")),
        wire(200, PAGE, ("Content-Type", "text/html")),
        wire(400, b'{"error": {"message": "Unsupported parameter: max_tokens"}}'),
        ("transport", "connect_refused"),
        ("transport", "dns"),
        ("transport", "tls"),
    ],
)
def test_five_alike_in_a_row_are_enough_and_say_so_once(came: Wire | tuple[str, str]) -> None:
    counted = Alike()
    said = [ended(counted, came) for _ in range(8)]
    assert said == [at == ALIKE_CELLS - 1 for at in range(8)]


def test_another_status_or_an_answer_in_between_begins_anew() -> None:
    counted = Alike()
    missing, forbidden = wire(404, b"{}"), wire(403, b"{}")
    assert not any(ended(counted, each) for each in [missing] * 4 + [forbidden] + [missing] * 4 + [wire(200, OK)])
    assert [ended(counted, missing) for _ in range(5)] == [False] * 4 + [True]


def test_what_may_lie_with_a_case_or_pass_by_itself_never_counts() -> None:
    counted = Alike()
    long = b'{"error": {"message": "maximum context length is 8192 tokens", "code": "context_length_exceeded"}}'
    for came in (wire(400, long), wire(413, b"{}"), wire(500, b"{}"), wire(429, b"{}"), ("transport", "timeout")):
        assert not any(ended(counted, came) for _ in range(20)), came


def test_a_bad_request_counts_only_in_the_same_words_and_before_any_answer() -> None:
    counted = Alike()
    assert not any(ended(counted, wire(400, b'{"error": {"message": "case %d"}}' % at)) for at in range(20))
    counted = Alike()
    ended(counted, wire(200, OK))
    assert not any(ended(counted, wire(400, b'{"error": {"message": "no"}}')) for _ in range(20))


def test_a_servers_words_are_its_message_its_page_or_its_text_on_one_short_line() -> None:
    assert said_in(wire(404, b'{"error": {"message": "no\\nmodel"}}')) == "no model"
    assert said_in(wire(200, PAGE)) == "Welcome: It & works"
    assert said_in(wire(404, b"404 page\nnot found")) == "404 page not found"
    assert said_in(wire(500, b"")) == ""
    assert said_in(wire(500, b"x" * 5000)) == "x" * 299 + "…"
