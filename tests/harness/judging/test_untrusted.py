"""Untrusted text as data: the escape has an inverse, and no text holds the nonce that is around it."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.judging import _untrusted as module
from harness.judging import delimited, escape, looks_delimited, nonce_of, unescape

texts = st.text(st.characters(exclude_categories=["Cs"]))
marked = st.lists(st.sampled_from(["&", "<", ">", ";", "&lt;", "&#x7f;", "#x", "amp", "\r", "\x00", "\x85", "é", "\n"]))


@given(st.one_of(texts, marked.map("".join)))
@example("&amp;lt;&#x26;&#x1b;")
def test_what_is_escaped_comes_back_whole(text: str) -> None:
    sent = escape(text)
    assert unescape(sent) == text
    assert not re.search("[<>\x00-\x08\x0b-\x1f\x7f-\x9f]", sent)


def test_line_ends_and_tabs_of_a_text_stay_as_they_are() -> None:
    assert escape("a\n\tb\r\n") == "a\n\tb&#xd;\n"


@given(texts, st.booleans())
def test_no_text_holds_its_own_nonce(text: str, again: bool) -> None:
    asked = {"task": "t", "text": text}
    nonce = nonce_of(asked)
    assert re.fullmatch("[0-9a-f]{20}", nonce)
    # Put in afterwards, it is another text and has another nonce.
    inside = {"task": "t", "text": text + nonce * (1 + again)}
    assert nonce_of(inside) not in inside["text"]


def test_a_nonce_that_stood_inside_all_the_same_is_derived_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"task": "t", "text": "it holds ABCDEF0123 somewhere"}

    class Digest:
        def __init__(self, data: bytes, **_: str) -> None:
            self.data = data

        def hexdigest(self) -> str:
            return "abcdef0123" if self.data.endswith(b"}") else self.data.rpartition(b"\n")[2].decode() * 20

    monkeypatch.setattr(module, "blake3", Digest)
    monkeypatch.setattr(module, "_DIGITS", 10)
    assert nonce_of(asked) == "1" * 10
    assert nonce_of({**asked, "text": "it holds abcdef0123 and 1111111111"}) == "2" * 10


def test_a_nonce_is_of_the_request_alone() -> None:
    asked = {"task": "t", "text": "x"}
    assert nonce_of(asked) == nonce_of({"text": "x", "task": "t"}) != nonce_of({**asked, "reference": "r"})
    with pytest.raises(ValueError, match="can't be sent"):
        nonce_of({"text": "\ud800"})


def test_a_text_stands_between_two_lines() -> None:
    assert delimited("a < b\n", "f00") == '<untrusted id="f00">\na &lt; b\n\n</untrusted id="f00">'


@pytest.mark.parametrize(
    "text", ["<untrusted>", "</ Untrusted id=3", "&lt;/untrusted", "&#x3c;untrusted", "&#60;untrusted"]
)
def test_what_looks_like_a_delimiter_is_seen(text: str) -> None:
    ((start, _),) = looks_delimited(f"so: {text}>")
    assert start == 4
    assert not list(looks_delimited("an <untrustedness> of untrusted things, a<b"))


@pytest.mark.parametrize("text", ["<" + " " * 200_000, "&lt;" + "\n" * 100_000 + "/" + "\t" * 100_000, "< " * 100_000])
def test_looking_for_a_delimiter_takes_no_longer_than_the_text_does(text: str) -> None:
    began = time.process_time()
    assert not list(looks_delimited(text))
    assert list(looks_delimited(f"{text}</untrusted>"))
    assert time.process_time() - began < 2, "blanks tried over and over would take minutes"
