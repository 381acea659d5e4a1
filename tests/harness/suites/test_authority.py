"""The authority suite: its cases can be answered, its confirmer believes the text alone, its scores count that."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._json import loads
from harness._outcomes import reason
from harness._suite import Case, load_suite
from harness.suites import Confirmed, stages
from harness.suites.authority._case import TYPES, items, title
from harness.suites.authority._confirm import fold, locate
from harness.suites.authority._schema import FIELDS, MOST

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
SUITE, (V0, V1) = load_suite("authority", FIXTURES)
AUTHORITY = stages("authority")
CITE = AUTHORITY.confirm_rules({})
SPAN = AUTHORITY.confirm_rules({"relation_in_span": True})
SCORE = {"primary": AUTHORITY.primary, "metrics": {metric.name: metric.kind for metric in AUTHORITY.metrics}}
CASES = [*V0.cases, *V1.cases]
POSITIVES = [case for case in CASES if AUTHORITY.group(case.gold) == {"positive"}]
NEGATIVES = [case for case in CASES if AUTHORITY.group(case.gold) == {"negative"}]

MEMORY = {
    "text": "# Desk\n\n- Refunds go out to all customers within a day.\n"
    "- Refunds stop.  For new\tcustomers refunds now take a week.\n- Coffee is at ten.\n"
}
GOLD = {"expected": [{"type": "supersedes", "source": "M002", "target": "M001"}], "forbidden": [], "reference": []}
NOTHING = {"expected": [], "forbidden": ["supersedes", "contradicts"], "reference": []}


def proposal(**changed: object) -> dict[str, Any]:
    whole = {
        "type": "supersedes",
        "source_item_id": "M002",
        "target_item_id": "M001",
        "cited_evidence_span": "Refunds stop.",
        "scope_terms": ["refunds"],
        "rationale": "because",
        "confidence": Decimal("0.9"),
    }
    return {key: value for key, value in (whole | changed).items() if value is not ...}


def reject(changed: dict[str, object], rules: Any = CITE) -> list[str]:
    """The reasons for which the proposal, changed so, is not confirmed; none when it is."""
    found = AUTHORITY.confirm([proposal(**changed)], MEMORY, rules)
    assert len(found.findings) + len(found.rejections) == 1
    if found.findings:
        return []
    assert found.rejections[0]["reason"] == found.rejections[0]["reasons"][0]
    return list(found.rejections[0]["reasons"])


def metrics(value: Any, gold: Any, memory: Any = MEMORY) -> tuple[str, dict[str, float]]:
    scored = AUTHORITY.score(value, AUTHORITY.confirm(value, memory, CITE), gold, SCORE)
    assert scored.value is None
    return scored.outcome, dict(scored.metrics)


# The cases


def test_v0_has_one_positive_of_each_relation_and_two_topic_mentions() -> None:
    assert sorted(str(case.meta["class"]) for case in V0.cases) == sorted([*TYPES, "topic_mention", "topic_mention"])  # type: ignore[index,call-overload]


def test_v1_has_three_positives_of_each_relation_and_six_negatives_of_three_kinds() -> None:
    wanted = [*TYPES * 3, *["topic_mention"] * 3, *["restatement"] * 2, "coexistence"]
    assert sorted(str(case.meta["class"]) for case in V1.cases) == sorted(wanted)  # type: ignore[index,call-overload]


def test_no_two_cases_share_an_id_an_input_or_an_item() -> None:
    lines = [text for case in CASES for text in items(case.input).values()]
    assert len({case.id for case in CASES}) == len({case.input_text for case in CASES}) == 24
    assert len(set(lines)) == len(lines)


@pytest.mark.parametrize("case", POSITIVES, ids=lambda case: case.id)
def test_a_proposal_built_from_the_gold_is_confirmed_and_exact(case: Case) -> None:
    gold: Any = case.gold
    assert len(gold["expected"]) == len(gold["reference"])
    built = [
        proposal(
            type=relation["type"],
            source_item_id=relation["source"],
            target_item_id=relation["target"],
            cited_evidence_span=cited["span"],
            scope_terms=cited["terms"],
        )
        for relation, cited in zip(gold["expected"], gold["reference"], strict=True)
    ]
    misfit, value = AUTHORITY.schema({"proposals": built})  # type: ignore[dict-item]
    assert misfit is None
    assert metrics(value, gold, case.input) == ("correct", {"exact": 1, "direction": 1})
    for cited, finding in zip(gold["reference"], AUTHORITY.confirm(value, case.input, CITE).findings, strict=True):
        start, end = finding["span"]
        assert items(case.input)[finding["source"]][start:end] == cited["span"]
        assert all(AUTHORITY.confirm([{**one, "scope_terms": [term]}], case.input, CITE).findings
                   for one in built for term in cited["terms"])  # fmt: skip


@pytest.mark.parametrize("case", POSITIVES, ids=lambda case: case.id)
def test_an_empty_answer_to_a_positive_is_a_miss(case: Case) -> None:
    assert metrics([], case.gold, case.input) == ("incorrect", {"exact": 0, "direction": 0})


@pytest.mark.parametrize("case", NEGATIVES, ids=lambda case: case.id)
def test_an_empty_answer_to_a_negative_passes(case: Case) -> None:
    misfit, value = AUTHORITY.schema({"proposals": []})
    assert (misfit, value) == (None, [])
    passed = ("correct", {"negative_pass": 1, "false_fire": 0, "false_fire_without_confirmer": 0})
    assert metrics(value, case.gold, case.input) == passed


# The prompt


def test_the_message_shows_every_item_with_its_id_and_nothing_of_the_gold() -> None:
    for case in CASES:
        (message,) = AUTHORITY.messages(SUITE.prompt, case.input).messages
        assert message["role"] == "user"
        assert "{{" not in message["content"]
        assert all(f"\n{name}: {text}\n" in message["content"] for name, text in items(case.input).items())
        assert case.id not in message["content"]
        assert str(case.meta["why"]) not in message["content"]  # type: ignore[index,call-overload]


def test_a_case_that_holds_a_placeholder_is_not_filled_in_again() -> None:
    (message,) = AUTHORITY.messages("{{title}}|{{items}}", {"text": "# {{items}}\n- {{title}}\n"}).messages
    assert message["content"] == "{{items}}|M001: {{title}}"


def test_items_are_bulleted_and_numbered_lines_in_order() -> None:
    text = "# Head\npara\n- a\n* b\n+ c\n  - d\n1. e\n12) f\n\n-g\n--- \n1.h\n- \n-\n \t3.  i  \r\n- j\u2028k\n"
    assert list(items({"text": text}).values()) == ["a", "b", "c", "d", "e", "f", "i", "j\u2028k"]
    assert list(items({"text": text}))[:2] == ["M001", "M002"]
    assert title({"text": text}) == "Head"
    assert title({"text": "- a"}) == ""


# The shape


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (None, "root_not_object"),
        ("x", "root_not_object"),
        (3, "root_not_object"),
        (True, "root_not_object"),
        ({}, "missing_proposals"),
        ({"Proposals": []}, "missing_proposals"),
        ({"proposals": None}, "proposals_not_list"),
        ({"proposals": {}}, "proposals_not_list"),
        ({"proposals": ""}, "proposals_not_list"),
        ({"proposals": [None]}, "proposal_not_object"),
        ([[]], "proposal_not_object"),
        (["M001"], "proposal_not_object"),
        ([proposal()] * (MOST + 1), "too_many_proposals"),
        ([proposal(type="replaces")], "unknown_type"),
        ([proposal(type="")], "unknown_type"),
        ([proposal(type="Supersedes")], "unknown_type"),
        ([proposal(type=" supersedes")], "unknown_type"),
        ([proposal(type=None)], "bad_type"),
        ([proposal(type=["supersedes"])], "bad_type"),
        ([proposal(source_item_id=2)], "bad_source_item_id"),
        ([proposal(target_item_id=["M001"])], "bad_target_item_id"),
        ([proposal(cited_evidence_span=None)], "bad_cited_evidence_span"),
        ([proposal(scope_terms="refunds")], "bad_scope_terms"),
        ([proposal(scope_terms=None)], "bad_scope_terms"),
        ([proposal(scope_terms=[1])], "bad_scope_terms"),
        ([proposal(rationale={})], "bad_rationale"),
        ([proposal(confidence="0.9")], "bad_confidence"),
        ([proposal(confidence=True)], "bad_confidence"),
        ([proposal(confidence=None)], "bad_confidence"),
        ([proposal(confidence=[1])], "bad_confidence"),
        ([proposal(confidence=Decimal("NaN"))], "bad_confidence"),
        ([proposal(), proposal(type="no")], "unknown_type"),
        *[([proposal(**{field: ...})], f"missing_field_{field}") for field in FIELDS],
    ],
)
def test_a_wrong_shape_has_a_reason_of_its_own(value: Any, named: str) -> None:
    assert AUTHORITY.schema(value) == (named, None)
    assert reason("wrong_shape", named, own=AUTHORITY.reasons).stage == "parse"


@pytest.mark.parametrize(
    "fits",
    [proposal(), proposal(extra=[None]), proposal(confidence=1), proposal(scope_terms=[]), proposal(rationale="")],
)
def test_a_bare_list_counts_as_the_proposals_and_nothing_in_it_is_changed(fits: Any) -> None:
    assert AUTHORITY.schema([fits]) == (None, [fits])
    assert AUTHORITY.schema({"proposals": [fits], "note": 1}) == (None, [fits])


# The confirmer


def test_a_sound_proposal_is_confirmed_with_the_place_of_its_span() -> None:
    found = AUTHORITY.confirm([proposal(cited_evidence_span="refunds  STOP.\nfor new", scope_terms=["x", "Refunds"])],
                              MEMORY, AUTHORITY.confirm_rules({"bounded_customers": False}))  # fmt: skip
    assert found.rejections == ()
    assert found.findings == (
        {"proposal": 0, "type": "supersedes", "source": "M002", "target": "M001", "span": [0, 22], "term": 1},
    )
    assert items(MEMORY)["M002"][0:22] == "Refunds stop.  For new"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "reasons"),
    [
        ({"source_item_id": "M009"}, ["unknown_source"]),
        ({"source_item_id": ""}, ["unknown_source"]),
        ({"source_item_id": "m002"}, ["unknown_source"]),
        ({"target_item_id": "M004"}, ["unknown_target"]),
        ({"confidence": Decimal("0.5999999999999999999999")}, ["low_confidence"]),
        ({"confidence": 0}, ["low_confidence"]),
        ({"cited_evidence_span": ""}, ["empty_span"]),
        ({"cited_evidence_span": " \n\u00a0"}, ["empty_span"]),
        ({"cited_evidence_span": "Refunds start."}, ["span_not_in_source"]),
        ({"cited_evidence_span": "Refunds go out"}, ["span_not_in_source"]),
        ({"cited_evidence_span": '"Refunds stop."'}, ["span_not_in_source"]),
        ({"scope_terms": []}, ["no_shared_scope_term"]),
        ({"scope_terms": ["", " "]}, ["no_shared_scope_term"]),
        ({"scope_terms": ["week", "day"]}, ["no_shared_scope_term"]),
        ({"target_item_id": "M003"}, ["no_shared_scope_term"]),
        ({"confidence": 0, "cited_evidence_span": "", "scope_terms": []},
         ["low_confidence", "empty_span", "no_shared_scope_term"]),
    ],
)  # fmt: skip
def test_what_the_text_does_not_bear_out_is_rejected_with_every_reason(
    changed: dict[str, object], reasons: list[str]
) -> None:
    assert reject(changed) == reasons
    assert set(reasons) <= set(AUTHORITY.rejections)


@pytest.mark.parametrize("confidence", ["0.6", "0.60", "0.600000", "6e-1", "1", "1.0"])
def test_the_gate_lets_its_own_number_pass_however_it_is_written(confidence: str) -> None:
    assert reject({"confidence": loads(confidence)}) == []


def test_a_supersession_for_some_customers_cannot_retire_a_rule_for_all() -> None:
    bounded = {"cited_evidence_span": "For new customers refunds now take a week."}
    assert reject(bounded) == ["bounded_span"]
    assert reject(bounded | {"type": "narrows_scope"}) == []
    assert reject(bounded, AUTHORITY.confirm_rules({"bounded_customers": False})) == []
    assert reject({"cited_evidence_span": "refunds now take a week"}) == []


@pytest.mark.parametrize(
    ("span", "target", "bounded"),
    [
        ("for new customers only", "holds for all customers", True),
        ("for our enterprise customers", "in every region", True),
        ("for customers in Ohio", "the global rule", False),
        ("for all customers", "all customers", False),
        ("for all of our customers", "all customers", False),
        ("for a month. customers pay", "all customers", False),
        ("before new customers", "all customers", False),
        ("for new customers", "some customers", False),
        ("for new customers", "globally minded", False),
    ],
)
def test_what_counts_as_bounded_and_as_universal(span: str, target: str, bounded: bool) -> None:
    memory = {"text": f"- fees {target}\n- fees {span}\n"}
    value = [proposal(cited_evidence_span=span, scope_terms=["fees"])]
    assert bool(AUTHORITY.confirm(value, memory, CITE).rejections) == bounded


@pytest.mark.parametrize(
    ("span", "terms", "holds"),
    [
        ("Refunds are replaced.", ["refunds"], True),
        ("Refunds end; they no\n longer exist", ["refunds"], True),
        ("Now! Refunds end.", ["refunds"], False),
        ("Refunds end. Fees apply now.", ["refunds"], False),
        ("Refunds end. Fees apply now.", ["refunds", "fees"], True),
        ("Refunds are known.", ["refunds"], False),
        ("Refunds of replacements.", ["refunds"], False),
        ("Refunds deprecates", ["refunds"], False),
        ("ONLY refunds", ["", "REFUNDS"], True),
        ("Only this", ["", " "], False),
    ],
)
def test_the_span_clause_wants_a_scope_term_and_a_relation_word_in_one_sentence(
    span: str, terms: list[str], holds: bool
) -> None:
    memory = {"text": "- x refunds fees\n- x " + span.replace("\n", " ") + "\n"}
    value = [proposal(cited_evidence_span=span, scope_terms=[*terms, "x"])]
    assert not AUTHORITY.confirm(value, memory, {**CITE, "min_span": 0}).rejections
    reasons = [entry["reasons"] for entry in AUTHORITY.confirm(value, memory, {**SPAN, "min_span": 0}).rejections]
    assert reasons == ([] if holds else [["no_relation_in_span"]])


@pytest.mark.parametrize(
    ("span", "reasons"),
    [
        ("the", ["too_short"]), ("a", ["too_short"]), (".", ["too_short"]), ("of the", ["too_short"]),
        ("fund", ["too_short"]),
        ("The team", []), ("refunds", []), (" ", ["empty_span"]), ("退款", []), ("退", ["too_short"]),
        ("zz", ["span_not_in_source", "too_short"]),
    ],
)  # fmt: skip
def test_a_trivial_piece_of_an_item_is_no_evidence(span: str, reasons: list[str]) -> None:
    memory = {"text": "- The team of the day refunds fees. 退款。\n- refunds\n"}
    value = [proposal(cited_evidence_span=span, source_item_id="M001", target_item_id="M002", scope_terms=["refunds"])]
    found = AUTHORITY.confirm(value, memory, CITE)
    assert [each["reasons"] for each in found.rejections] == ([reasons] if reasons else [])
    assert all(reason in AUTHORITY.rejections for reason in reasons)
    off = AUTHORITY.confirm(value, memory, {**CITE, "min_span": 0})
    assert "too_short" not in [reason for each in off.rejections for reason in each["reasons"]]


def test_all_of_a_short_item_is_evidence() -> None:
    value = [proposal(cited_evidence_span="No", source_item_id="M001", target_item_id="M002", scope_terms=["no"])]
    assert not AUTHORITY.confirm(value, {"text": "- No.\n- no more\n"}, CITE).rejections


RELATION_WORDS = """
    replace replaces replaced retire retires retired deprecate deprecated supersede supersedes superseded override
    overrides overridden discontinue discontinued revoke revoked instead only now
"""


@pytest.mark.parametrize("word", RELATION_WORDS.split())
def test_every_relation_word_counts_as_a_whole_word(word: str) -> None:
    memory = {"text": f"- refunds\n- refunds {word}, and refunds un{word}\n"}
    assert not AUTHORITY.confirm([proposal(cited_evidence_span=f"refunds {word}")], memory, SPAN).rejections
    assert AUTHORITY.confirm([proposal(cited_evidence_span=f"refunds un{word}")], memory, SPAN).rejections


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"min_confidnce": 1}, "unknown key 'min_confidnce'"),
        ({"min_confidence": True}, "min_confidence"),
        ({"min_confidence": "0.6"}, "min_confidence"),
        ({"min_confidence": Decimal("NaN")}, "min_confidence"),
        ({"min_confidence": Decimal("1.1")}, "min_confidence"),
        ({"min_confidence": -1}, "min_confidence"),
        ({"fold": "lower"}, "fold"),
        ({"fold": ["upper"]}, "fold"),
        ({"fold": [{}]}, "fold"),
        ({"shared_scope_terms": True}, "shared_scope_terms"),
        ({"shared_scope_terms": -1}, "shared_scope_terms"),
        ({"min_span": -1}, "min_span"),
        ({"min_span": "4"}, "min_span"),
        ({"bounded_customers": 1}, "bounded_customers"),
        ({"relation_in_span": "yes"}, "relation_in_span"),
    ],
)
def test_a_confirm_table_that_says_something_else_is_refused(table: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        AUTHORITY.confirm_rules(table)


def test_every_clause_can_be_set_by_the_rules() -> None:
    assert reject({"confidence": 0}, AUTHORITY.confirm_rules({"min_confidence": 0})) == []
    assert reject({"scope_terms": []}, AUTHORITY.confirm_rules({"shared_scope_terms": 0})) == []
    assert reject({"scope_terms": ["refunds"]}, AUTHORITY.confirm_rules({"shared_scope_terms": 2})) == [
        "no_shared_scope_term"
    ]
    verbatim = AUTHORITY.confirm_rules({"fold": []})
    assert reject({"scope_terms": ["Refunds"]}, verbatim) == []
    assert reject({"cited_evidence_span": "refunds stop.", "scope_terms": ["Refunds"]}, verbatim) == [
        "span_not_in_source"
    ]


SCRAPS = st.text("aA \t\u00a0\u0130\u03a3\u03c3\u00df.", max_size=12)


@given(SCRAPS, SCRAPS, SCRAPS, st.sets(st.sampled_from(["lower", "space"])))
def test_a_located_span_folds_to_what_was_cited(before: str, span: str, after: str, ways: set[str]) -> None:
    folds = tuple(ways)
    source = before + span + after
    wanted = fold(span, folds)
    if wanted and wanted in fold(source, folds):
        start, end = locate(span, source, folds)
        found = fold(source[start:end], folds)
        # A capital that lower-cases to two characters can stand at the edge; a final sigma depends on its neighbours.
        assert wanted.replace("\u03c2", "\u03c3") in found.replace("\u03c2", "\u03c3")


# Any JSON at all

WORDS = st.sampled_from([*FIELDS, *TYPES, "proposals", "M001", "M002", "refunds", "text", "\x00", "\ud800"]) | st.text(
    max_size=5
)
NUMBERS = st.integers() | st.decimals()
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=8),
    max_leaves=20,
)
NEARLY = st.builds(
    lambda changed: proposal(**changed), st.dictionaries(st.sampled_from(FIELDS), ANYTHING | st.just(...), max_size=3)
)


@given(st.lists(NEARLY | ANYTHING, max_size=4) | ANYTHING, ANYTHING | st.just(MEMORY), ANYTHING | st.just(GOLD))
def test_no_json_makes_a_stage_raise_and_nothing_in_it_gets_lost(value: Any, memory: Any, gold: Any) -> None:
    named, proposals = AUTHORITY.schema(value)
    assert named is None or named in AUTHORITY.reasons
    for held in (value, proposals):
        for rules in (CITE, SPAN):
            found = AUTHORITY.confirm(held, memory, rules)
            indexes = sorted(entry["proposal"] for entry in (*found.findings, *found.rejections))
            assert indexes == list(range(len(held) if isinstance(held, list) else 0))
            json.dumps([found.findings, found.rejections], allow_nan=False).encode("ascii")
            assert AUTHORITY.score(held, found, gold, SCORE).outcome in ("correct", "incorrect")
    assert AUTHORITY.group(gold) in ({"positive"}, {"negative"})
    AUTHORITY.messages(SUITE.prompt, memory)
    assert AUTHORITY.check_case(memory, gold) is None or isinstance(AUTHORITY.check_case(memory, gold), str)


# Scoring


def test_a_positive_is_exact_only_with_type_source_and_target() -> None:
    assert metrics([proposal()], GOLD) == ("correct", {"exact": 1, "direction": 1})
    assert metrics([proposal(type="contradicts")], GOLD) == ("incorrect", {"exact": 0, "direction": 1})
    assert metrics([proposal(confidence=0)], GOLD) == ("incorrect", {"exact": 0, "direction": 0})
    swapped = proposal(source_item_id="M001", target_item_id="M002", cited_evidence_span="Refunds go out")
    assert metrics([swapped], GOLD) == ("incorrect", {"exact": 0, "direction": 0})


def test_every_expected_relation_has_to_be_found_and_more_may_be() -> None:
    both = GOLD | {"expected": [*GOLD["expected"], {"type": "narrows_scope", "source": "M002", "target": "M001"}]}  # type: ignore[misc]
    assert metrics([proposal()], both) == ("incorrect", {"exact": 0, "direction": 1})
    assert metrics([proposal(), proposal(type="narrows_scope")], both)[0] == "correct"
    assert metrics([proposal(), proposal(type="contradicts")], GOLD)[0] == "correct"


def test_a_negative_fails_by_a_confirmed_finding_of_a_forbidden_type_alone() -> None:
    assert metrics([proposal()], NOTHING) == (
        "incorrect",
        {"negative_pass": 0, "false_fire": 1, "false_fire_without_confirmer": 1},
    )
    assert metrics([proposal(confidence=0)], NOTHING) == (
        "correct",
        {"negative_pass": 1, "false_fire": 0, "false_fire_without_confirmer": 1},
    )
    allowed = [proposal(type="transfers_authority")]
    assert metrics(allowed, NOTHING) == (
        "correct",
        {"negative_pass": 1, "false_fire": 0, "false_fire_without_confirmer": 0},
    )


def test_a_negative_that_names_no_forbidden_type_forbids_them_all() -> None:
    open_gold = NOTHING | {"forbidden": []}
    for kind in TYPES:
        assert metrics([proposal(type=kind)], open_gold)[0] == "incorrect"


def test_only_the_metrics_that_the_rules_list_are_given() -> None:
    rules = {"primary": {"positive": "direction"}, "metrics": {"direction": "rate"}}
    scored = AUTHORITY.score([], Confirmed(), GOLD, rules)
    assert (scored.outcome, dict(scored.metrics)) == ("incorrect", {"direction": 0})
