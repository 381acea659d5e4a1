"""JSON folded into lists: as stored, escaped, and text where it can't be folded."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.web import tree

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def words(drawn: str) -> list[str]:
    """What stands in the tree, tags stripped."""
    return [unescape(each) for each in re.sub("<[^>]*>", "\n", drawn).split("\n") if each.strip()]


def test_keys_keep_their_order_and_numbers_their_spelling() -> None:
    found = words(tree('{"b": 1.0, "a": 1e5, "c": [10, -0.50, NaN]}'))
    assert found == ["{3 keys}", "b", "1.0", "a", "1e5", "c", "[3 items]", "10", "-0.50", "NaN"]


def test_a_key_that_comes_twice_is_shown_twice() -> None:
    assert words(tree('{"a": 1, "a": 2}')) == ["{2 keys}", "a", "1", "a", "2"]


@given(JSON)
def test_any_json_is_drawn_with_our_own_tags_alone(value: object) -> None:
    drawn = str(tree(json.dumps(value)))
    assert set(re.findall(r"</?([a-z]+)", drawn)) <= {
        "div", "details", "summary", "code", "ul", "ol", "li", "bdi", "span", "pre", "p", "a",
    }  # fmt: skip
    for tag in ("details", "ul", "ol", "li", "code", "pre"):
        assert len(re.findall(f"<{tag}[ >]", drawn)) == drawn.count(f"</{tag}>")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", drawn)


def test_markup_in_keys_and_texts_is_text() -> None:
    drawn = str(tree({"</code><script>": "<img onerror=alert(1)>"}))
    assert "<script" not in drawn
    assert "<img" not in drawn
    assert words(drawn)[1:] == ["</code><script>", "“", "<img onerror=alert(1)>", "”"]


def test_a_long_text_folds_and_shows_how_it_begins() -> None:
    drawn = str(tree({"t": "first\nsecond"}))
    assert '<summary><code class="json-key"><bdi>t</bdi></code>' in drawn
    assert '<pre class="text" dir="auto">\nfirst\nsecond</pre>' in drawn


@pytest.mark.parametrize(
    ("text", "why"),
    [("{", "no JSON"), ("", "no JSON"), ("[" * 70 + "]" * 70, "nested deeper"), ("[" * 100_000, "nested deeper"),
     ('"' + "a" * 300_000 + '"', "too long")],
)  # fmt: skip
def test_what_can_not_be_folded_is_the_text_that_it_is(text: str, why: str) -> None:
    drawn = str(tree(text))
    assert why in drawn
    assert "<details" not in drawn
    assert unescape(drawn.partition('<pre class="text" dir="auto">\n')[2]).startswith(text[:1000])


def test_very_many_values_are_cut_with_a_word_on_it() -> None:
    drawn = str(tree("[" + "0," * 100_000 + "0]"))
    assert len(drawn) < 500_000
    assert drawn.count("and more, which isn’t shown here") == 1


def test_numbers_that_name_something_are_linked() -> None:
    drawn = str(
        tree('{"of": 7, "n": 7, "list": [7]}', link=lambda path, number: f"/{number}" if path == ("of",) else None)
    )
    assert drawn.count('<a href="/7">') == 1
