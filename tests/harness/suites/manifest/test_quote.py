"""The scorer quote: how faithfully an answer stands in its source, and what is kept is the source's own text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness._errors import RulesError
from harness.scorers._characters import is_mark
from tests.harness.suites.manifest.asked import MANIFEST, comes_to, rules_of, score_table

QUOTE = 'scorer = "quote"\nsource = "doc"'
ANY = QUOTE + "\nleast = 0"
ALL = ANY + '\naccept = ["exact", "folded", "elided"]'
SOURCE = {"doc": "The “valve”  was\nclosed at 09–10 h … by A. Naïve operators do not. It was closed again."}
# Without what belongs to the character before it: category M, and vowels and finals of Hangul too.
TEXTS = st.text(
    st.characters(exclude_categories=("C", "M")).filter(lambda each: not is_mark(each)), min_size=5, max_size=40
)


@given(TEXTS, st.data())
def test_a_slice_of_the_source_is_exact_and_its_span_is_where_it_stands(source: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(source) - 1))
    end = data.draw(st.integers(start + 1, len(source)))
    said = source[start:end].strip()
    assume(any(each.isalnum() for each in said))
    found = comes_to(ANY, said, None, {"doc": source})
    assert (found.outcome, found.verdict) == ("correct", "exact")
    assert found.confirm is not None
    ((begin, stop),) = found.confirm.findings[0]["spans"]
    assert source[begin:stop] == said


@given(TEXTS, TEXTS)
def test_no_text_of_the_model_stands_in_what_is_confirmed(source: str, said: str) -> None:
    assume(any(each.isalnum() for each in said) and source.strip())
    found = comes_to(ALL, said, None, {"doc": source})
    assume(found.confirm is not None)
    assert found.confirm is not None
    for each in (*found.confirm.findings, *found.confirm.rejections):
        assert set(each) <= {"proposal", "reason", "reasons", "tier", "source", "spans"}
        assert each.get("source", "doc") == "doc"


@pytest.mark.parametrize(
    ("said", "gold", "comes"),
    [
        ("was\nclosed at", None, "correct, exact"),
        ('The "valve" was closed', "", "correct, folded"),
        ("was closed ... by A.", [], "correct, elided"),
        ("The valve was closed", None, "incorrect, none"),
        ("Naïve operators", "operators do not", "correct, exact"),
        ("Naïve operators", "was closed again", "incorrect, elsewhere"),
        ("was closed", "was closed again", "correct, exact"),
        ("“was closed again”", None, "correct, exact"),
        ("NAÏVE operators", None, "incorrect, none"),
        ("Naïve operators", ["no", "do not"][1:], "incorrect, elsewhere"),
        ("operators do not", ["by A.", "do not"], "correct, exact"),
    ],
)
def test_a_quote_comes_to_its_tier_and_to_its_place(said: str, gold: Any, comes: str) -> None:
    assert str(comes_to(ALL, said, gold, SOURCE)) == comes


def test_a_tier_that_is_not_accepted_is_rejected_and_still_said() -> None:
    found = comes_to(ANY, "was closed ... by A.", "by A.", SOURCE)
    assert (found.outcome, found.verdict, found.metrics) == ("incorrect", "elided", {"verbatim": 0, "found": 0})
    assert found.confirm is not None
    assert found.confirm.rejections[0]["reason"] == "tier_not_accepted"
    assert found.confirm.rejections[0]["reason"] in MANIFEST.rejections


def test_a_passage_may_have_to_hold_all_of_the_quote() -> None:
    inside = QUOTE + '\npassage = "inside"'
    assert comes_to(inside, "operators do", "Naïve operators do not.", SOURCE).metrics["found"] == 1
    assert comes_to(inside, "by A. Naïve", "Naïve operators do not.", SOURCE).metrics["found"] == 0
    ignored = rules_of(QUOTE + '\npassage = "ignore"')
    assert [metric.name for metric in ignored.metrics] == ["verbatim"]


@pytest.mark.parametrize(
    ("case_input", "gold"),
    [
        ("text", None),
        ({}, None),
        ({"doc": 3}, None),
        ({"doc": " "}, None),
        ({"doc": "a b"}, "c"),
        ({"doc": "a b"}, ["a", "c"]),
        ({"doc": "a"}, {}),
    ],
)
def test_a_case_without_a_source_or_whose_gold_is_not_in_it_is_refused(case_input: Any, gold: Any) -> None:
    assert MANIFEST.check_gold is not None
    assert (MANIFEST.check_gold(case_input, gold, score_table(QUOTE)) or "").startswith(("gold:", "input.doc:"))


def test_the_input_itself_may_be_the_source() -> None:
    assert comes_to('scorer = "quote"\nsource = "input"', "closed", None, "it was closed").verdict == "exact"


@pytest.mark.parametrize("table", ["", 'source = "doc"\naccept = ["none"]', 'source = "doc"\naccept = []'])
def test_rules_without_a_source_or_a_tier_are_refused(table: str) -> None:
    with pytest.raises(RulesError, match=r"source|accept"):
        rules_of(f'scorer = "quote"\n{table}')


def test_the_given_quotes_reach_their_tiers_through_the_scorer(shared: Path) -> None:
    lines = (shared / "cases" / "others.jsonl").read_text("utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if case["case"] == "D11"]
    assert cases
    for case in cases:
        found = comes_to(ALL, case["input"]["quote"], None, {"doc": case["input"]["source"]})
        if case["input"]["quote"] == "":
            assert str(found) == "empty: no_bytes", case["id"]
        else:
            assert found.verdict == case["expected"]["tier"], case["id"]


@pytest.mark.parametrize(
    ("said", "more", "found"),
    [
        ("was", "", 0),
        ("e", "", 0),
        ("was", "share = 0", 1),
        ("It was closed", "share = 1", 0),
        ("It was closed again.", "share = 1", 1),
        ("Naïve operators do not. It was closed again.", "", 1),
        ("Naïve operators do not. It was closed again.", 'passage = "inside"', 0),
        ("was", 'passage = "inside"', 0),
        ("Naïve … closed again.", "", 1),
    ],
)
def test_a_quote_has_to_hold_its_share_of_the_passage(said: str, more: str, found: int) -> None:
    assert comes_to(f"{ALL}\n{more}", said, "It was closed again.", SOURCE).metrics["found"] == found


@given(st.text("ab", min_size=1, max_size=14), st.data(), st.sampled_from(["overlap", "inside"]))
def test_a_quote_is_found_where_any_two_of_the_places_go_together(source: str, data: st.DataObject, how: str) -> None:
    def part() -> str:
        start = data.draw(st.integers(0, len(source) - 1))
        return source[start : data.draw(st.integers(start + 1, len(source)))]

    def places(text: str) -> list[set[int]]:
        return [set(range(at, at + len(text))) for at in range(len(source)) if source.startswith(text, at)]

    quote, passage = part(), part()
    expected = any(
        2 * len(q & p) >= len(p) and (how == "overlap" or q <= p) for q in places(quote) for p in places(passage)
    )
    found = comes_to(f'{ANY}\npassage = "{how}"', quote, passage, {"doc": source})
    assert found.metrics["found"] == int(expected)


def test_a_share_is_at_most_the_whole() -> None:
    with pytest.raises(RulesError, match="share"):
        rules_of(f"{QUOTE}\nshare = 50")


# The least length

LONG = {
    "doc": "The operators closed the valve at 9 h, and it is to be or not to be. Oslo, 1889. 北京是中国的首都。"
    " 東京です。 서울에서 만났다. ราคาสูง. Der Hund und das Haus. И в Москве. “Yes”, he said: a b c."
    " At h, IBM 704 was the IBM."
}


@pytest.mark.parametrize(
    "said",
    [
        "the", "The", "a", "e", "it is", "at 9", "the h", "is 9 h",
        "and it is", "to be", "at", "9", "of", "he", "b c", "h", "tors", "erato",
        "losed",
        "京", "国", "の", "です", "서", "ร", "und das",
        "Der", "И в", "Yes", "“Yes”", "Yes … it is", "a … b … c", "The … the … it",
    ],
)  # fmt: skip
def test_a_trivial_piece_of_a_source_is_too_short_and_never_verbatim(said: str) -> None:
    found = comes_to(QUOTE + '\naccept = ["exact", "folded", "elided"]', said, None, LONG)
    assert (found.outcome, found.verdict, found.metrics) == ("incorrect", "too_short", {"verbatim": 0})
    assert found.confirm is not None and not found.confirm.findings
    (rejection,) = found.confirm.rejections
    assert rejection["reason"] == "too_short" == rejection["reasons"][0]
    assert "too_short" in MANIFEST.rejections


@pytest.mark.parametrize("said", [".", ",", "“", "…", " . ", "—", "!?", "()", "\u200b.", "。"])
def test_white_space_and_punctuation_are_no_quote(said: str) -> None:
    found = comes_to(QUOTE, said, None, {"doc": LONG["doc"] + " … — !? ()"})
    assert (found.outcome, found.verdict) == ("incorrect", "too_short")


@pytest.mark.parametrize(
    "said",
    [
        "closed the valve", "valve", "Oslo", "1889", "to be or not to be", "operators", "北京",
        "IBM", "704", "the IBM", "h, IBM",
        "首都", "東京", "서울", "만났다", "ราคา", "Hund", "Москве", "Haus", "he said", "it is to be or",
    ],
)  # fmt: skip
def test_what_says_something_is_a_quote_in_any_script(said: str) -> None:
    assert str(comes_to(QUOTE, said, None, LONG)) == "correct, exact"


@pytest.mark.parametrize(
    ("source", "said"),
    [("Yes.", "Yes"), ("Yes.", "Yes."), ("No", "No"), ("是", "是"), ("a", "a"), (" The… ", "The"), ("7", "7")],
)
def test_all_of_a_short_source_is_a_quote(source: str, said: str) -> None:
    assert str(comes_to(QUOTE, said, None, {"doc": source})) == "correct, exact"
    assert str(comes_to(QUOTE, said, None, {"doc": f"{source} It was so."})) == "incorrect, too_short"


def test_the_least_length_is_for_the_rules_to_say() -> None:
    assert str(comes_to(f"{QUOTE}\nleast = 20", "closed the valve", None, LONG)) == "incorrect, too_short"
    assert str(comes_to(f"{QUOTE}\nleast = 11", "closed the valve", None, LONG)) == "correct, exact"
    assert str(comes_to(f"{QUOTE}\nleast = 0", "the", None, LONG)) == "correct, exact"
    assert str(comes_to(f"{QUOTE}\nleast = 0", ".", None, LONG)) == "incorrect, none"
    for wrong in ("-1", "1.5", "true", '"4"', "1001"):
        with pytest.raises(RulesError, match="least: expected a whole number"):
            rules_of(f"{QUOTE}\nleast = {wrong}")


def test_a_gold_that_no_answer_could_quote_is_refused() -> None:
    assert MANIFEST.check_gold is not None
    fault = MANIFEST.check_gold(LONG, "at 9", score_table(QUOTE)) or ""
    assert fault.startswith("gold: 'at 9' is too short to be quoted (least = 3)")
    assert MANIFEST.check_gold(LONG, "at 9", score_table(ANY)) is None
    assert MANIFEST.check_gold({"doc": "No."}, "No", score_table(QUOTE)) is None


@given(TEXTS, st.data(), st.integers(0, 30))
def test_a_longer_least_never_lets_more_through(source: str, data: st.DataObject, least: int) -> None:
    start = data.draw(st.integers(0, len(source) - 1))
    said = source[start : data.draw(st.integers(start + 1, len(source)))]
    assume(said.strip())
    held = [comes_to(f"{QUOTE}\nleast = {each}", said, None, {"doc": source}) for each in (least, least + 1)]
    assert held[0].metrics.get("verbatim", 0) >= held[1].metrics.get("verbatim", 0)


def test_many_places_of_a_short_quote_take_no_time() -> None:
    assert comes_to(QUOTE, "ab", None, {"doc": "xaby " * 40_000}).verdict == "too_short"
    assert comes_to(QUOTE, "a" * 10_000, None, {"doc": "a" * 40_000}).verdict == "too_short"
