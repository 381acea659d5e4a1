"""No key is in the ledger, in whatever form and wherever a server echoes it."""

from __future__ import annotations

import base64
import gzip
import json
import re
import time
import zlib
from urllib.parse import quote, quote_plus

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._recode import mask_body
from harness._secrets import Secrets, secrets_in_url
from harness.engines import resolve_engine
from ledger import Ledger
from tests.harness.asking import KEY, ask, bytes_on_disk, fault_of, request_of, response_of
from tests.harness.servers import CLOSE, Pause, ScriptedServer, chunk, head, json_reply, reply

PROTOCOLS = ["openai", "anthropic", "ollama"]
FORMS = {
    "plain": KEY,
    "json": json.dumps(KEY)[1:-1].replace("/", "\\/"),
    "json, all escaped": "".join(f"\\u{ord(letter):04X}" for letter in KEY),
    "json inside json": json.dumps(json.dumps(KEY).replace("/", "\\/"))[1:-1],
    "url": quote(KEY, safe=""),
    "form": quote_plus(KEY),
    "url, lower case": quote(KEY, safe="").replace("%2F", "%2f").replace("%2B", "%2b"),
    "url, twice": quote(quote(KEY, safe=""), safe=""),
    "html": KEY.replace("/", "&#47;").replace("+", "&#x2B;"),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64 of a header": base64.b64encode(f"Bearer {KEY}".encode()).decode(),
    "base64 of more": base64.b64encode(f"user:{KEY}:x".encode()).decode(),
    "hex": KEY.encode().hex(),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_keys_that_are_used_are_nowhere_in_the_file(ledger: Ledger, protocol: str) -> None:
    with ScriptedServer(json_reply({"error": f"Incorrect API key provided: {KEY}."}, 401)) as server:
        (exchange,) = ask(ledger, server, protocol)
        (received,) = server.requests
    ((carrier, carried),) = [(name, value) for name, value in received.headers.items() if KEY in value]
    assert KEY.encode() not in bytes_on_disk(ledger)
    stored = ledger.blob(exchange.response or 0, "body")
    assert stored == json.dumps({"error": f"Incorrect API key provided: {'*' * len(KEY)}."}).encode()
    (place,) = response_of(ledger, exchange).masked
    assert (place.where, place.times, place.bytes) == (f"body, byte {stored.index(b'*')}", 1, len(KEY))
    (in_request,) = request_of(ledger, exchange).masked
    assert in_request.where.lower() == f"header {carrier}" and in_request.bytes == len(carried)
    headers = {name.lower(): value for name, value in request_of(ledger, exchange).headers}
    assert headers[carrier] == "*" * len(carried)


@pytest.mark.parametrize("form", FORMS)
def test_an_echo_is_masked_in_every_form(form: str) -> None:
    data = f'{{"message": "your key {FORMS[form]} is wrong"}}'.encode()
    masked, places = Secrets([KEY]).mask(data, "body")
    assert len(masked) == len(data)
    kept = masked.replace(b"*", b"")
    assert kept.startswith(b'{"message": "your key ') and kept.endswith(b' is wrong"}')
    assert len(kept) <= len(b'{"message": "your key  is wrong"}') + 12, "a few letters of base64 belong to both sides"
    assert sum(place.bytes for place in places) == masked.count(b"*") >= len(KEY)


def test_an_echo_that_is_split_across_chunks_is_masked(ledger: Ledger) -> None:
    pieces = [chunk(KEY[:9].encode()), Pause(0.05), chunk(KEY[9:].encode() + b" is no key")]
    start = head(401, [("Content-Type", "text/plain"), ("Transfer-Encoding", "chunked")])
    with ScriptedServer([start, *pieces, b"0\r\n\r\n"]) as server:
        (exchange,) = ask(ledger, server)
    assert ledger.blob(exchange.response or 0, "body") == b"*" * len(KEY) + b" is no key"


def test_an_echo_that_a_stream_spells_out_piece_by_piece_is_masked(ledger: Ledger) -> None:
    lines = [
        f"data: {json.dumps({'choices': [{'delta': {'content': piece}}]})}\n\n" for piece in ("key ", *KEY, " end")
    ]
    with ScriptedServer(reply("".join(lines).encode(), content_type="text/event-stream")) as server:
        (exchange,) = ask(ledger, server, stream=True)
    stored = ledger.blob(exchange.response or 0, "body").decode()
    texts = [json.loads(line[6:])["choices"][0]["delta"]["content"] for line in stored.split("\n\n") if line]
    assert "".join(texts) == f"key {'*' * len(KEY)} end"


def said(*pieces: str, field: str = '"content":') -> str:
    return "".join(f'data: {{"choices": [{{"delta": {{{field} {json.dumps(piece)}}}}}]}}\n\n' for piece in pieces)


SPREAD = {
    "field names that are escaped": said(KEY[:9], KEY[9:], field='"c\\u006fntent" :'),
    "a value in a data line of its own": said(KEY[:9], KEY[9:], field='"content":\ndata:'),
    "text first in a string, then in a part": said(KEY[:9])
    + said(KEY[9:], field='"content": [{"type": "text", "text":'),
    "parts of one message": json.dumps({"content": [{"type": "text", "text": KEY[:9]}, {"text": KEY[9:]}]}),
    "with reasoning in between": said(KEY[:9]) + said("hm", field='"reasoning_content":') + said(KEY[9:]),
    "reasoning under two names": said(KEY[:9], field='"thinking":') + said(KEY[9:], field='"reasoning":'),
}


@pytest.mark.parametrize("way", SPREAD)
def test_an_echo_that_a_reader_would_join_is_masked(way: str) -> None:
    masked, places = Secrets([KEY]).mask(SPREAD[way].encode(), "body")
    assert sum(place.bytes for place in places) == masked.count(b"*") == len(KEY)
    assert re.sub(rb"\*+", b"", masked) == SPREAD[way].replace(KEY[:9], "").replace(KEY[9:], "").encode()


@pytest.mark.parametrize(
    "filler", ["\\", "\\/", '\\"', "s", "%", "%25", "&#0", '"', '":"', '"content":"', "data:", " "]
)
def test_a_body_made_to_be_slow_to_search_is_not(filler: str) -> None:
    data = f'{{"content":"{filler * (200_000 // len(filler))}'.encode()
    started = time.process_time()
    assert Secrets([KEY]).mask(data + KEY.encode(), "body")[1]
    assert time.process_time() - started < 5, "a quadratic search takes minutes"


def test_a_key_in_a_longer_error_than_is_kept_leaves_no_part_of_itself(ledger: Ledger) -> None:
    for length in range(330, 400, 10):
        line = b"x" * length + b" " + KEY.encode()
        with ScriptedServer([b"HTTP/1.1 200 OK\r\n" + line + b"\r\n\r\n", CLOSE]) as server:
            (exchange,) = ask(ledger, server)
        detail = fault_of(ledger, exchange).detail
        assert len(detail) <= 400 and "xxx" in detail
        assert KEY[:4] not in detail


CODERS = {
    "gzip": (lambda data: gzip.compress(data, mtime=0), gzip.decompress),
    "deflate": (zlib.compress, zlib.decompress),
    "br": (brotli.compress, brotli.decompress),
}


@pytest.mark.parametrize("coding", CODERS)
def test_an_echo_inside_a_compressed_body_is_masked_and_the_coding_put_back(ledger: Ledger, coding: str) -> None:
    code, decode = CODERS[coding]
    plain = json.dumps({"error": f"no such key: {KEY}"}).encode()
    with ScriptedServer(reply(code(plain), 401, headers=[("Content-Encoding", coding)])) as server:
        (exchange,) = ask(ledger, server)
    assert decode(ledger.blob(exchange.response or 0, "body")) == plain.replace(KEY.encode(), b"*" * len(KEY))
    assert coding in response_of(ledger, exchange).masked[0].where


@pytest.mark.parametrize(
    "coding", ["gzip, gzip", "gzip,identity", "GZIP ,", "br, gzip", "x-gzip, deflate", "gzip, gzip, gzip"]
)
def test_an_echo_under_several_codings_is_masked_in_the_innermost(ledger: Ledger, coding: str) -> None:
    names = [name.strip().lower().removeprefix("x-") for name in coding.split(",")]
    names = [name for name in names if name in CODERS]
    plain = json.dumps({"error": f"no such key: {KEY}"}).encode()
    coded = plain
    for name in names:
        coded = CODERS[name][0](coded)
    with ScriptedServer(reply(coded, 401, headers=[("Content-Encoding", coding)])) as server:
        (exchange,) = ask(ledger, server)
    stored = ledger.blob(exchange.response or 0, "body")
    for name in reversed(names):
        stored = CODERS[name][1](stored)
    assert stored == plain.replace(KEY.encode(), b"*" * len(KEY))


def test_no_number_of_codings_is_too_many() -> None:
    body = gzip.compress(KEY.encode())
    assert mask_body(Secrets([KEY]), body, ",".join(["gzip"] * 100_000))[1]
    assert mask_body(Secrets([KEY]), body, ",".join(["unheard-of"] * 100_000)) == (body, [])


def test_a_compressed_body_that_was_cut_or_broke_stays_so() -> None:
    plain = KEY.encode() + bytes(range(256)) * 20
    coded = gzip.compress(plain, mtime=0)
    secrets = Secrets([KEY])
    cut, places = mask_body(secrets, coded[: len(coded) - 12], "gzip")
    decoder = zlib.decompressobj(31)
    assert places and decoder.decompress(cut).startswith(b"*" * len(KEY)) and not decoder.eof
    deflate = zlib.compressobj(wbits=31)
    begun = deflate.compress(plain) + deflate.flush(zlib.Z_SYNC_FLUSH)
    broken, places = mask_body(secrets, begun + b"\xff" * 20, "gzip")
    assert places
    with pytest.raises(zlib.error):
        zlib.decompressobj(31).decompress(broken)
    untouched, places = mask_body(Secrets(["another-key"]), coded, "gzip")
    assert (untouched, places) == (coded, [])


def test_headers_that_carry_secrets_are_masked_and_others_are_kept() -> None:
    headers, places = Secrets([KEY]).mask_headers(
        [
            (b"Authorization", b"Bearer abc"), (b"X-API-Key", b"abc"), (b"api-key", b"abc"), (b"Cookie", b"a=b"),
            (b"Set-Cookie", b"a=b"), (b"Proxy-Authorization", b"Basic eA=="), (b"X-Echo", f"<{KEY}>".encode()),
            (b"Content-Type", b"text/plain"), (b"X-Request-Id", b"\xe9"),
        ]
    )  # fmt: skip
    assert all(set(value) == {"*"} for _, value in headers[:6])
    assert headers[6:] == [("X-Echo", f"<{'*' * len(KEY)}>"), ("Content-Type", "text/plain"), ("X-Request-Id", "é")]
    assert len(places) == 7


def test_a_short_placeholder_is_masked_in_headers_and_left_alone_in_words() -> None:
    secrets = Secrets(["ollama"])
    assert secrets.mask(b"ollama runs llamas", "body") == (b"ollama runs llamas", [])
    assert secrets.mask_headers([(b"X-Own", b"ollama")])[0] == [("X-Own", "******")]


def test_urls_keep_their_harmless_parts() -> None:
    shown, places = Secrets().mask_url("https://me:pa@ss@host:1/v1/x?api-version=2&key=abc&X-Amz-Signature=def#f")
    assert shown == "https://***@host:1/v1/x?api-version=2&key=***&X-Amz-Signature=***#f"
    assert len(places) == 3
    assert Secrets().mask_url("https://host/a?q=token")[0] == "https://host/a?q=token"
    assert {"pa ss", "abc"} <= set(secrets_in_url("https://me:pa%20ss@host?key=abc"))


def test_a_key_in_the_base_url_is_sent_and_not_stored(ledger: Ledger) -> None:
    with ScriptedServer(json_reply({"error": "abcdef-123456 is no key"})) as server:
        (exchange,) = ask(ledger, f"{server.url}/v1?api-version=7&key=abcdef-123456", environ={})
        assert server.requests[0].path == "/v1/chat/completions?api-version=7&key=abcdef-123456"
    assert request_of(ledger, exchange).url == f"{server.url}/v1/chat/completions?api-version=7&key=***"
    assert b"abcdef-123456" not in bytes_on_disk(ledger)


def test_no_repr_shows_a_key() -> None:
    candidate = resolve_engine("openai/m", base_url=f"http://h/v1?key={KEY}", environ={"OPENAI_API_KEY": KEY})
    assert KEY not in repr(candidate) + repr(Secrets([KEY])) and KEY not in candidate.base_url
    assert KEY in candidate.url


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_whatever_lies_around_a_key_is_left_as_it_is(before: bytes, after: bytes) -> None:
    masked, _ = Secrets([KEY]).mask(before + KEY.encode() + after, "body")
    assert masked == before + b"*" * len(KEY) + after
