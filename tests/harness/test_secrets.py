"""No key is in the ledger, in whatever form and wherever a server echoes it."""

from __future__ import annotations

import base64
import gzip
import json
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
from tests.harness.asking import KEY, ask, bytes_on_disk, request_of, response_of
from tests.harness.servers import Pause, ScriptedServer, chunk, head, json_reply, reply

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
