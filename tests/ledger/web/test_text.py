"""Hostile text on a page: nothing acts, nothing hides, nothing is lost."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.web import MOST_SHOWN, Mark, excerpts, name, visible, visible_bytes

# Every code point, and often those that act, hide or are markup.
NASTY = st.sampled_from("\x00\x1b\r\n\t\x7f\x85\u200b\u202e\u2066\ufeff\u00a0\ud800\udfff\ue000<>&\"'é日👍\U0010ffff")
TEXTS = st.text(st.one_of(NASTY, st.characters(codec=None)))
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
SPANS = re.compile(r'<span class="(ctl|inv|sp)" title="([^"<>]*)">([^<>]*)</span>')


def undone(drawn: str) -> str:
    """The text that was drawn: what a reader makes of it who knows the three kinds of span."""

    def one(found: re.Match[str]) -> str:
        kind, title, shown = found.groups()
        if kind == "sp":
            return shown
        if title.startswith("a byte"):
            return "".join(chr(0xDC00 + int(each, 16)) for each in re.findall(r"\\x([0-9a-f]{2})", shown))
        code = chr(int(title.rpartition("U+")[2], 16))
        return code * (len(shown) if kind == "ctl" and "U+" not in shown else shown.count("U+"))

    return unescape(SPANS.sub(lambda found: one(found).replace("&", "&amp;"), re.sub("</?mark[^>]*>", "", drawn)))


@given(TEXTS)
def test_tags_stripped_and_marks_undone_give_the_text_back(text: str) -> None:
    assert undone(visible(text)) == text


@given(TEXTS)
def test_nothing_that_acts_is_left_and_no_tag_but_our_own(text: str) -> None:
    drawn = str(visible(text))
    assert not ACTING.search(drawn)
    assert "<" not in SPANS.sub("", drawn)


@given(st.binary())
def test_bytes_come_back_also_those_that_are_no_text(data: bytes) -> None:
    assert undone(visible_bytes(data)).encode("utf-8", "surrogateescape") == data


@given(TEXTS, st.lists(st.tuples(st.integers(-2, 60), st.integers(-2, 60)), max_size=6))
def test_marks_nested_overlapping_or_beyond_the_end_change_nothing_of_the_text(
    text: str, places: list[tuple[int, int]]
) -> None:
    marks = [Mark(start, end, "read", f"<{start}>") for start, end in places]
    drawn = str(visible(text, marks))
    assert undone(drawn) == text
    assert drawn.count("<mark ") == drawn.count("</mark>")


@given(st.text(st.characters(codec="utf-8")), st.data())
def test_a_mark_lies_on_the_characters_that_its_bytes_are(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    sizes = [len(text[:place].encode()) for place in (start, end)]
    drawn = str(visible(text, [Mark(*sizes, "cited")]))
    marked = re.fullmatch("(.*?)<mark[^>]*>(.*)</mark>(.*)", drawn, re.DOTALL)
    if start == end:
        assert marked is None
    else:
        assert marked is not None
        assert [undone(part) for part in marked.groups()] == [text[:start], text[start:end], text[end:]]


def test_a_mark_that_cuts_a_character_takes_the_whole_of_it() -> None:
    assert str(visible("aéb", [Mark(2, 3, "read")])) == 'a<mark class="read">é</mark>b'


def test_what_two_marks_share_carries_both_and_the_anchor_stands_once() -> None:
    drawn = str(visible("abcd", [Mark(0, 3, "read", "what was read", "span"), Mark(1, 4, "cited", "what was cited")]))
    assert drawn == (
        '<mark class="read" id="span" title="what was read">a</mark>'
        '<mark class="read cited" title="what was read; what was cited">bc</mark>'
        '<mark class="cited" title="what was cited">d</mark>'
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[K", '<span class="ctl" title="ESCAPE, U+001B">␛</span>[K'),
        ("a\r\nb", 'a<span class="ctl" title="CARRIAGE RETURN, U+000D">␍</span>\nb'),
        ("\x00\x00", '<span class="ctl" title="NULL, U+0000">␀␀</span>'),
        ("\u202e", '<span class="inv" title="RIGHT-TO-LEFT OVERRIDE, U+202E">U+202E</span>'),
        ("\u200b", '<span class="inv" title="ZERO WIDTH SPACE, U+200B">U+200B</span>'),
        ("\ud83d", '<span class="inv" title="LONE SURROGATE, U+D83D">U+D83D</span>'),
        ("1\u00a0000", '1<span class="sp" title="NO-BREAK SPACE, U+00A0">\u00a0</span>000'),
        ("<script>", "&lt;script&gt;"),
        ("日本 👍 שלום", "日本 👍 שלום"),
    ],
)
def test_each_kind_of_character_is_shown_as_what_it_is(text: str, shown: str) -> None:
    assert str(visible(text)) == shown


def test_a_byte_that_is_no_text_shows_as_its_number() -> None:
    assert str(visible_bytes(b"a\xffb")) == 'a<span class="ctl" title="a byte that is no UTF-8">\\xff</span>b'


def test_of_a_long_text_the_beginning_is_shown_and_what_is_around_each_mark_past_it() -> None:
    text = "é" * 1_000_000
    found = excerpts(text, [Mark(10, 12, "read"), Mark(1_500_000, 1_500_004, "cited")])
    assert [(each.start, each.end) for each in found] == [(0, MOST_SHOWN), (1_497_952, 1_504_096)]
    assert '<mark class="read">é</mark>' in found[0].drawn
    assert '<mark class="cited">éé</mark>' in found[1].drawn
    assert found[1].drawn.count("é") == (found[1].end - found[1].start) // 2


def test_a_short_text_is_one_excerpt_that_ends_where_it_ends() -> None:
    assert [(each.start, each.end, str(each.drawn)) for each in excerpts(b"a\xff")] == [
        (0, 2, str(visible_bytes(b"a\xff")))
    ]
    assert [(each.start, each.end) for each in excerpts("")] == [(0, 0)]


def test_a_text_of_nothing_but_controls_makes_no_endless_page() -> None:
    (found,) = excerpts("\x00\x1b" * 1_000_000)
    assert 0 < found.end < MOST_SHOWN
    assert len(found.drawn) <= 1 << 20
    assert undone(found.drawn) == ("\x00\x1b" * 1_000_000)[: found.end]


def test_a_name_stays_on_its_line_and_in_its_direction() -> None:
    assert str(name("a\nb\u202e<i>")) == "<bdi>a\\nb\\u202e&lt;i&gt;</bdi>"
    assert str(name("x" * 50, 9)) == f'<bdi title="{"x" * 50}">xxxx…xxxx</bdi>'
