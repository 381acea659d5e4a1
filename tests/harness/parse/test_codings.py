"""Content codings that are applied twice, or that nobody knows: undone as often as named, or named."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._outcomes import flag_sentence, is_flag
from harness.parse import Reading, ReadRules, Wire, read_reply
from tests.harness.parse.wires import chunk, reply, sse, zlibbed

BODY = json.dumps(reply("openai")).encode()


def brotli(data: bytes) -> bytes:
    import brotli as library  # pyright: ignore[reportMissingTypeStubs]

    packed: bytes = library.compress(data)
    return packed


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: zlibbed(data, 31), "x-gzip": gzip.compress, "deflate": lambda data: zlibbed(data, 15),
    "br": brotli, "identity": lambda data: data, "": lambda data: data,
}  # fmt: skip


def read(body: bytes, *codings: str, stream: bool = False, whole: bool = True) -> Reading:
    """The reading of a body with a Content-Encoding line for each of these values."""
    headers = tuple(("Content-Encoding", each) for each in codings)
    fault = None if whole else ("reply", "short_body")
    return read_reply(
        Wire(200, headers, body, whole, fault), protocol="openai", stream=stream, ask="text", rules=ReadRules.default()
    )  # fmt: skip


def packed(data: bytes, *codings: str) -> bytes:
    for each in codings:
        data = PACK[each](data)
    return data


@given(st.lists(st.sampled_from(list(PACK)), max_size=4), st.booleans(), st.booleans())
def test_codings_are_undone_as_often_as_they_are_named_in_one_line_or_several(
    codings: list[str], lines: bool, upper: bool
) -> None:
    data = packed(BODY, *codings)
    named = [each.upper() if upper else each for each in codings]
    found = read(data, *named) if lines else read(data, " ,\t".join(named))
    assert (found.status, found.value) == ("parsed", '"hello"')


@pytest.mark.parametrize("lines", [("gzip, gzip",), ("gzip", "gzip"), ("gzip", "identity, x-gzip")])
def test_gzip_twice_is_undone_twice(lines: tuple[str, ...]) -> None:
    assert read(packed(BODY, "gzip", "gzip"), *lines).value == '"hello"'


def test_twice_packed_and_once_named_or_the_other_way_round_is_no_answer() -> None:
    for body, coding in ((packed(BODY, "gzip", "gzip"), "gzip"), (packed(BODY, "gzip"), "gzip, gzip")):
        found = read(body, coding)
        assert (found.status, found.value) == ("error", None)
        assert found.reason in ("invalid_utf8", "decode_failed")


STREAM = sse(chunk("hel"), chunk("lo"), chunk(stop="stop"))


@pytest.mark.parametrize("codings", [("gzip", "gzip"), ("br", "gzip"), ("deflate", "gzip"), ("gzip", "br")])
def test_a_cut_in_the_outer_or_the_inner_coding_is_a_cut(codings: tuple[str, str]) -> None:
    outer = packed(STREAM, *codings)[:-5]
    inner = packed(packed(STREAM, codings[0])[:-5], codings[1])
    for body in (outer, inner):
        for stream in (False, True):
            found = read(body, ", ".join(codings), stream=stream)
            assert (found.status, found.reason, found.retry) == ("error", "decode_cut", "backoff"), codings


def test_what_a_cut_coding_still_held_is_kept_as_partial() -> None:
    long = sse(chunk("hello "), *[chunk(f"{n} ") for n in range(4000)])
    body = packed(long, "gzip", "gzip")
    found = read(body[: len(body) // 2], "gzip, gzip", stream=True)
    assert (found.reason, found.value) == ("decode_cut", None)
    assert found.text is not None and found.text.startswith("hello 0 1 2 ") and "partial_text" in found.flags


def test_a_body_that_the_connection_cut_has_the_connection_s_fault_whatever_its_coding() -> None:
    for body in (packed(BODY, "gzip")[:-9], packed(BODY, "gzip", "gzip")[:-9], b"\x1f\x8b"):
        found = read(body, "gzip" if body[-1:] != b"x" else "", whole=False)
        assert (found.status, found.reason) == ("error", "short_body")


@pytest.mark.parametrize(
    ("coding", "flag"),
    [
        ("zstd", "coding_zstd"),
        ("compress", "coding_compress"),
        ("aws-chunked", "coding_aws-chunked"),
        ("UTF-8", "coding_utf-8"),
        ("gzip, zstd", "coding_zstd"),
        ("\x1b[2Jevil" + "x" * 99, "coding_2jevil" + "x" * 14),
        ("*", "coding_unnamed"),
    ],
)
def test_a_coding_that_nobody_undoes_is_named(coding: str, flag: str) -> None:
    for stream in (False, True):
        found = read(BODY, coding, stream=stream)
        assert (found.status, found.reason, found.flags) == ("error", "decode_failed", (flag,))
        assert is_flag(flag) and flag.removeprefix("coding_") in flag_sentence(flag)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br"])
def test_bytes_after_the_end_mark_are_a_failure(coding: str) -> None:
    body: Any = packed(BODY, coding)
    assert read(body + b"tail", coding).reason == "decode_failed"
    assert read(packed(body + b"tail", "gzip"), f"{coding}, gzip").reason == "decode_failed"


def test_several_gzip_members_are_one_body_at_every_depth() -> None:
    parts = packed(BODY[:40], "gzip") + packed(BODY[40:], "gzip")
    assert read(parts, "gzip").value == '"hello"'
    half = len(parts) // 2
    assert read(packed(parts[:half], "gzip") + packed(parts[half:], "gzip"), "gzip, gzip").value == '"hello"'
