"""A hidden text is found however it is spelled, and what only looks like one by chance isn't."""

from __future__ import annotations

import base64
import gzip
import html
import json
import zlib
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.bundle._texts import QUOTED, HiddenTexts, keys_of, leaves


def hidden(*texts: str, common: str = "", **more: list[str]) -> HiddenTexts:
    found = HiddenTexts(common, **more)
    for text in texts:
        found.add(text)
    return found


LETTERS = st.characters(codec="utf-8", exclude_categories=["C", "Z"])
SPELLINGS = {
    "as it is": lambda text: f"x{text}y",
    "as JSON in ASCII": json.dumps,
    "as JSON thrice": lambda text: json.dumps(json.dumps(json.dumps({"a": text}))),
    "as HTML": html.escape,
    "as a URL": quote,
    "as base64": lambda text: base64.b64encode(text.encode()).decode(),
    "as base64 of URLs": lambda text: "ab" + base64.urlsafe_b64encode(f"say {text}!".encode()).decode(),
    "as hex digits": lambda text: text.encode().hex(),
}  # fmt: skip


@pytest.mark.parametrize("spelling", sorted(SPELLINGS))
@given(text=st.text(LETTERS, min_size=4, max_size=60))
def test_a_text_is_found_in_every_spelling(spelling: str, text: str) -> None:
    assert hidden(text).held_by(SPELLINGS[spelling](text)) or hidden(text).is_one(text)


@given(
    text=st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=QUOTED + 1, max_size=200),
    start=st.integers(0, 150),
    before=st.text(LETTERS, max_size=9),
)
def test_any_quotation_of_36_characters_of_a_long_text_is_found(text: str, start: int, before: str) -> None:
    start = min(start, len(text) - QUOTED)
    assert hidden(text).held_by(f"{before} {text[start : start + QUOTED]} and so on")


def test_white_space_and_capitals_make_no_difference() -> None:
    texts = hidden("Which door\n\n is   the GREEN one?")
    assert texts.held_by("which Door is the\tgreen one?")


def test_two_letters_of_a_script_that_says_much_with_few_are_looked_for_within_others() -> None:
    assert hidden("北京").held_by("the answer is 北京市")
    assert not hidden("ab").held_by("cab")
    assert hidden("ab").is_one("AB")


def test_what_a_hash_an_id_of_a_run_or_a_label_spells_is_chance() -> None:
    texts = hidden("2017", "qzxv", "openai/m", labels=["openai/m"], ids=["aaaaqzxvaaaa2222"])
    assert not texts.held_by("ab" * 20 + "2017" + "cd" * 10)
    assert not texts.held_by("exact@2017abcdef01")
    assert not texts.held_by("run aaaaqzxvaaaa2222 of openai/m")
    assert texts.held_by("run bbbbqzxvbbbb2222")
    assert texts.held_by("in 2017")


def test_a_hidden_digest_is_found_by_its_first_eight_digits() -> None:
    texts = HiddenTexts()
    texts.add_digest("0123abcd" + "9" * 56)
    assert texts.held_by("`0123ABCD9999`")
    assert not texts.held_by("0123abce" + "9" * 56)


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, lambda data: data], ids=["gzip", "zlib", "plain"])
def test_a_file_is_looked_into_packed_or_not(pack: object) -> None:
    data = pack(b"x" * 999 + b" the word is qzxv. " + b"y" * 999)  # type: ignore[operator]
    assert hidden("qzxv").held_by_bytes(data)
    assert not hidden("qzxw").held_by_bytes(data)


def test_a_file_found_clean_is_looked_into_again_once_there_are_more_texts() -> None:
    texts = hidden("qzxv")
    assert not texts.held_by_bytes(b"the other is vxzq")
    texts.add("vxzq")
    assert texts.held_by_bytes(b"the other is vxzq")


@pytest.mark.parametrize("count", [1, 400], ids=["few", "many"])
def test_many_texts_are_told_apart_as_few_are(count: int) -> None:
    texts = hidden(*(f"{chr(97 + at % 26)}{chr(97 + at // 26)}{at:05d}" for at in range(count)))
    everything = " ".join(f"{chr(97 + at % 26)}{chr(97 + at // 26)}{at:05d}"[:6] + "!" for at in range(count))
    assert not texts.held_by(everything)
    assert texts.held_by(everything + " aa00000 ")


def test_values_are_texts_by_themselves_and_keys_are_told_apart() -> None:
    value = {"answer": ["qzxv", 12.50, None, True], "more": {"deep": "x"}}
    assert list(leaves(value)) == ["qzxv", "12.5", "x"]
    assert keys_of(value) == {"answer", "more", "deep"}
