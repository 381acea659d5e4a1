"""Deriving is a pure function: any bytes give one outcome, and bodies that a ledger takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness._derive import VALUE_IN_BODY, Derived, Reply, derive, unmeasured_score
from harness._rules import load_rules
from harness._suite import load_suite
from harness.parse import Wire
from ledger import Draft
from ledger._drafts import prepare

ROOT = Path(__file__).resolve().parents[2]
SUITE, (FIXTURE,) = load_suite("authority/v0", ROOT / "fixtures")
STAGES = SUITE.stage_functions
FENCE = load_rules(SUITE, "fence-cite")
STRICT = load_rules(SUITE, "strict-cite")
POSITIVE = next(case for case in FIXTURE.cases if "positive" in STAGES.group(case.gold))


def wire(body: bytes, status: int = 200) -> Wire:
    return Wire(status, (("content-type", "application/json"),), body, True, None)


def openai(text: str, **fields: object) -> bytes:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return json.dumps({"id": "c", "model": "m-1", "choices": [choice], **fields}).encode()


def run(body: bytes, status: int = 200, rules: object = FENCE) -> Derived:
    assert rules is FENCE or rules is STRICT
    reply = Reply(wire(body, status), None, "openai", False)
    return derive(reply, ask=SUITE.ask, stages=STAGES, case=POSITIVE, rules=rules)


def appendable(derived: Derived) -> None:
    prepared = [Draft(derived.score, run="a" * 16, cell=1)]
    if derived.parse is not None:
        prepared.append(Draft(derived.parse, run="a" * 16, cell=1, blobs=derived.parse_blobs))
    if derived.confirm is not None:
        prepared.append(Draft(derived.confirm, run="a" * 16, cell=1))
    for draft in prepared:
        prepare(draft)


@given(st.binary(max_size=400), st.sampled_from([200, 400, 429, 500, 302]))
def test_any_bytes_end_in_one_outcome_that_the_ledger_takes(body: bytes, status: int) -> None:
    derived = run(body, status)
    assert derived.score.outcome == "unmeasured"
    assert derived.score.stage
    assert derived.score.reason
    assert derived.score.metrics == {}
    appendable(derived)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@given(JSON_VALUES)
@settings(max_examples=200)
def test_any_json_a_model_writes_derives_the_same_twice_and_is_never_measured_by_accident(value: object) -> None:
    body = openai(json.dumps({"proposals": value}))
    first, second = run(body), run(body)
    assert (first.parse, first.confirm, first.score) == (second.parse, second.confirm, second.score)
    appendable(first)
    if first.score.outcome != "unmeasured":
        assert isinstance(value, list)
    if first.score.outcome == "correct":
        raise AssertionError("random proposals can't cite the text")


@pytest.mark.parametrize("model", ["a\x00b", "x\ud800y", "\x1b[31mred", ""])
def test_a_hostile_model_name_is_kept_as_visible_escapes(model: str) -> None:
    derived = run(openai('{"proposals": []}', model=model))
    appendable(derived)
    assert derived.parse is not None
    assert derived.parse.model is None or "\x00" not in derived.parse.model


@pytest.mark.parametrize(
    "fields",
    [
        {"model": "m" * 2_000_000},
        {"model": "\x00" * 999_999},
        {"usage": {f"k{number}": number for number in range(100_000)}},
        {"usage": {"k" * 1_100_000: 1, "o": {"i" * 1_100_000: 2}}},
        {"choices": [{"index": 0, "finish_reason": "s" * 2_000_000, "message": {"content": "{}"}}]},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_an_envelope_that_goes_on_and_on_is_cut_to_what_a_body_holds(fields: dict[str, object]) -> None:
    body = json.loads(openai('{"proposals": []}')) | fields
    derived = run(json.dumps(body).encode())
    appendable(derived)
    assert derived.parse is not None
    if "usage" not in fields:
        assert "characters)" in f"{derived.parse.model}{derived.parse.stop}"


def test_a_long_value_goes_into_a_blob_and_is_scored_all_the_same() -> None:
    rationale = "é" * VALUE_IN_BODY
    proposal = {
        "type": "supersedes", "source_item_id": "M009", "target_item_id": "M001", "cited_evidence_span": "nowhere",
        "scope_terms": ["x"], "rationale": rationale, "confidence": 0.9,
    }  # fmt: skip
    text = json.dumps({"proposals": [proposal]}, ensure_ascii=False)
    derived = run(openai(text))
    assert derived.parse is not None
    assert derived.parse.value is None
    assert derived.parse_blobs["value"].decode("utf-8") == text
    assert derived.score.outcome == "incorrect"
    appendable(derived)


def test_the_same_bytes_are_fenced_under_strict_and_measured_under_fence() -> None:
    body = openai('```json\n{"proposals": []}\n```')
    assert (run(body, rules=STRICT).score.reason, run(body, rules=STRICT).score.outcome) == ("fenced", "unmeasured")
    assert run(body, rules=FENCE).score.outcome == "incorrect"


def test_no_response_gives_no_parse_and_names_the_fault() -> None:
    reply = Reply(None, ("transport", "timeout"), "openai", False)
    derived = derive(reply, ask="object", stages=STAGES, case=POSITIVE, rules=FENCE)
    assert derived.parse is None
    assert derived.confirm is None
    assert (derived.score.status, derived.score.stage, derived.score.reason) == ("error", "transport", "timeout")


def test_an_unmeasured_cell_still_says_which_metrics_it_is_missing_from() -> None:
    score = unmeasured_score(
        FENCE, STAGES, POSITIVE, status="not_asked", stage="harness", reason="not_asked", domain="harness"
    )
    assert score.applies == ["exact", "direction"]
    assert score.metrics == {}
