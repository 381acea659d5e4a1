"""The stage functions of a manifest suite: pure, and whatever the JSON they end in a value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._bars import read_bars
from harness._errors import RulesError
from harness._outcomes import is_reason
from harness.suites import Answer, Confirmed, Scored, Unscorable
from harness.suites.manifest import SCORERS
from tests.harness.suites.manifest.asked import MANIFEST, Came, comes_to, rules_of

TABLES = [
    'scorer = "exact"',
    'scorer = "exact"\nat = "after"\nmarker = "A:"\nnormalise = "number"',
    'scorer = "exact"\nat = "field"\nfield = "a.0"',
    'scorer = "includes"\nlabels = ["a", "b"]',
    'scorer = "includes"\nat = "last_line"',
    'scorer = "choice"\noptions = "a"',
    'scorer = "choice"\nletters = "AB"\nat = "anywhere"\ngold = "index"',
    'scorer = "choice"\noptions = "a"\ngold = "text"\nat = "field"\nfield = "a"',
    'scorer = "number"\nunits = ["a"]\ntolerance = 1',
    'scorer = "number"\nat = "anywhere"\nthousands = " "',
    'scorer = "number"\nat = "field"\nfield = "a"',
    "scorer = \"regex\"\npattern = '[ab]'",
    'scorer = "json"\nschema = { type = "object" }',
    'scorer = "json"\nfields = { a = "label", "b.0" = "json" }',
    'scorer = "f1"',
    'scorer = "f1"\nsplit = "lines"\nnothing = ["a"]',
    'scorer = "f1"\nat = "field"\nfield = "a"',
    'scorer = "quote"\nsource = "a"\naccept = ["elided"]',
    'scorer = "quote"\nsource = "input"\npassage = "inside"',
]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.decimals(allow_nan=True)
    | st.just(None).map(lambda _: 10**5000)
    | st.text('abA: 1.,"\ud800`\n\u200b|', max_size=8)
)
KEYS = st.sampled_from(["a", "b", "scorer", "answer", "quote", "source", "accept", "letter", "text", "index"])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=8
)


@given(st.sampled_from(TABLES), VALUES, VALUES, VALUES)
def test_no_stage_raises_whatever_the_reply_the_input_and_the_gold(
    table: str, value: Any, case_input: Any, gold: Any
) -> None:
    rules = rules_of(table)
    assert MANIFEST.answer is not None
    assert MANIFEST.check_gold is not None
    fault = MANIFEST.check_gold(case_input, gold, rules.score)
    assert fault is None or ("\n" not in fault and fault.startswith(("gold", "input")))
    taken = MANIFEST.answer(value, case_input, rules.score)
    assert isinstance(taken, Answer)
    assert taken.status == "parsed" or is_reason(taken.status, taken.reason)
    for handed in (taken.value, value, {"scorer": rules.score["scorer"].partition("/")[0], "answer": value}):
        confirmed = MANIFEST.confirm(handed, case_input, rules.confirm)
        assert isinstance(confirmed, Confirmed)
        scored = MANIFEST.score(handed, confirmed, gold, rules.score)
        assert isinstance(scored, Scored | Unscorable)
        if isinstance(scored, Scored):
            groups = MANIFEST.group(gold)
            applies = {each.name for each in rules.metrics if each.applies == "all" or each.applies in groups}
            assert set(scored.metrics) == applies or fault is not None
            assert scored.verdict in SCORERS[rules.score["scorer"].partition("/")[0]].verdicts
    assert MANIFEST.answer(value, case_input, rules.score) == taken


@given(st.sampled_from(TABLES), VALUES, VALUES)
def test_a_gold_that_was_not_refused_is_scored(table: str, case_input: Any, gold: Any) -> None:
    rules = rules_of(table)
    assert MANIFEST.check_gold is not None
    if MANIFEST.check_gold(case_input, gold, rules.score) is None:
        handed = {"scorer": rules.score["scorer"].partition("/")[0], "answer": ""}
        assert isinstance(MANIFEST.score(handed, Confirmed(), gold, rules.score), Scored)


def test_nothing_that_a_model_writes_passes_for_what_another_scorer_hands_on() -> None:
    forged = {"scorer": "quote", "answer": {"quote": "a", "source": "a", "field": "doc", "accept": ["exact"]}}
    found: Came = comes_to('scorer = "json"', forged, {"scorer": "quote"})
    assert found.confirm is not None
    assert found.confirm.findings == []


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("", 'scorer: expected one of exact, .* got none; write scorer = "exact"'),
        ('scorer = "bleu"', "scorer: expected one of"),
        ("scorer = 3", "scorer: expected one of"),
        ('scorer = "exact/9"', "this release has exact/2"),
        (
            'scorer = "exact"\nlabels = ["a"]',
            "unknown key 'labels'; the scorer exact takes at, fence, field, marker, normalise",
        ),
        ('scorer = "exact"\nat = "anywhere"', "at: expected one of whole, first_line, last_line, after, field"),
        ('scorer = "exact"\nat = "after"', "marker: expected a text"),
        ('scorer = "exact"\nmarker = "A:"', 'marker: goes with at = "after" only'),
        ('scorer = "exact"\nat = "after"\nmarker = "**:"', "marker: expected a mark with a letter"),
        ('scorer = "exact"\nat = "field"', "field: expected a text"),
        ('scorer = "exact"\nnormalise = "lower"', "normalise: expected a normaliser"),
        ('scorer = "exact"\nfence = 1', "fence: expected true or false"),
        ('scorer = "exact"\nprimary = "f1"', "primary: expected one of correct"),
        ('scorer = "f1"\nprimary = { something_expected = "f1" }', "primary: no metric for nothing_expected cases"),
        ('scorer = "f1"\nprimary = "f1"', "f1 applies to something_expected cases only"),
        ('scorer = "f1"\nprimary = 3', "primary: expected a metric"),
        ('scorer = "f1"\nprimary = { positive = "f1" }', "primary: expected a group out of"),
        ('scorer = "exact"\n[[score.metrics]]\nname = "correct"', "metrics: a scorer has its own"),
    ],
)
def test_a_score_table_that_will_not_do_is_refused_with_one_sentence(table: str, said: str) -> None:
    with pytest.raises(RulesError, match=said) as caught:
        rules_of(table)
    assert "\n" not in str(caught.value)


def test_a_confirm_table_is_refused_and_says_where_a_quote_is_confirmed() -> None:
    with pytest.raises(RulesError, match=r"\[confirm\] unknown key 'fold'; a manifest suite has no \[confirm\] table"):
        rules_of('scorer = "exact"', more='[confirm]\nfold = ["lower"]')


def test_primaries_policies_and_bars_name_the_metrics_of_the_scorer() -> None:
    policy = '[unmeasured]\npolicy = "as-wrong"\n[[unmeasured.count]]\nmetric = "correct"\nas = 0\n'
    policy += '[[bars]]\nbar = "correct >= 1/2"\n'
    rules = rules_of('scorer = "number"', more=policy)
    assert rules.policy is not None
    assert [bar.text for bar in rules.bars] == [bar.text for bar in read_bars(["correct >= 1/2"], ["correct"])]
    assert rules_of('scorer = "f1"').primary == {"something_expected": "f1", "nothing_expected": "true_negative"}
    assert rules_of('scorer = "json"\nprimary = "fields"').primary == {"all": "fields"}
    with pytest.raises(RulesError, match="bar: expected one of correct"):
        rules_of('scorer = "number"', more='[[bars]]\nbar = "f1 >= 1/2"')


def test_the_sources_of_a_rule_set_hold_the_scorers_it_stands_on() -> None:
    sources = rules_of('scorer = "exact"').sources
    assert {"harness.suites.manifest._exact", "harness.scorers._normal", "harness.scorers._numbers"} <= set(sources)
