"""The taxonomy is whole: every reason can happen, and every reason has what people need."""

from __future__ import annotations

import json

import pytest

from harness._join import why_not_graded
from harness._outcomes import FLAGS, PATTERNS, REASONS, Status, flag_sentence, is_flag, is_reason, reason
from harness.parse import Reading, read_fault
from ledger.kinds import Score
from tests.harness.parse.test_cases import CASES, read
from tests.harness.parse.test_replies import ERRORS, MESSAGES
from tests.harness.parse.test_replies import read as read_wire
from tests.harness.parse.wires import reply, sent, sse, zlibbed
from tests.harness.suites.manifest.asked import case_of, derived, rules_of
from tests.harness.suites.pairwise.test_pairwise import judged as chosen
from tests.harness.suites.rubric.graded import criterion, rule_file
from tests.harness.suites.rubric.graded import derived as judgement

TRANSPORT = (
    "dns", "connect_refused", "connection_reset", "tls", "tls_cut", "timeout", "protocol", "command_failed",
    "command_missing", "proxy_refused",
)  # fmt: skip
HARNESS = (
    "no_recording", "sandbox", "internal", "not_asked", "fate_unknown", "reported", "not_captured", "withheld",
)  # fmt: skip


def produced() -> list[Reading]:
    """Readings of all that the tests of reading have as data, and of the few bodies that theirs make themselves."""
    packed = zlibbed(json.dumps(reply("openai")).encode(), 31)
    two = reply("openai")
    two["choices"] *= 2
    short = sent(b"{")
    return [
        *[read(case) for case in CASES],
        *[read_wire(row[2], row[1]) for row in MESSAGES],
        *[read_wire(sent(row[1], row[0])) for row in ERRORS],
        *[read_wire(sent(body)) for body in (b"", b"<html>", b'{"a":1,"a":2}', b"\xff", {"error": "m"}, two)],
        read_wire(sent(packed[:-1], content_encoding="gzip")),
        read_wire(sent(packed, content_encoding="zstd")),
        read_wire(sent(sse(done=False) + b": x\n\n"), stream=True),
        read_wire(type(short)(200, (), b"{", whole=False, fault=("reply", "short_body"))),
        *[read_fault("transport", name) for name in TRANSPORT],
        *[read_fault("harness", name) for name in HARNESS],
    ]


JUDGED = (
    ('scorer = "includes"', "東京都", "京都"),
    ('scorer = "exact"\nat = "after"\nmarker = "Answer:"', "Paris", "Paris"),
    ('scorer = "exact"\nat = "after"\nmarker = "Answer:"', "Answer:", "Paris"),
    ("scorer = \"regex\"\npattern = 'x+'", "y", "x"),
    ('scorer = "number"', "1,000", 1),
    ('scorer = "json"\nschema = { type = "array" }', {}, [1]),
    ('scorer = "exact"', "Paris", None),
    ('scorer = "choice"\noptions = "options"', "B", "B"),
    ('scorer = "quote"\nsource = "text"', "a quote", "a quote"),
)
"""[score] tables, answers and golds, of which none comes to a measurement."""


GRADED = (
    {"p": 1, "scores": {"p": 1}}, {}, {"p": 1, "q": 1}, {"p": True}, {"p": 2}, {"p": 1}, {"p": 1, "flags": 0},
)  # fmt: skip
"""Replies of a judge that are no judgement."""


CHOSEN = ("{}", '{"winner": "both"}', '{"winner": "tie", "loser": "none"}')
"""Replies of a judge that are no choice between two texts."""


def judged() -> list[Score]:
    """What follows, by a rubric, as a choice and by a scorer, from replies that could be read."""
    rubric = rule_file(criterion("p"), "threshold = 1", flags=("f",))
    newer = rubric.replace(b"[score]\n", b"[score]\nversion = 2\n")
    return [
        *[judgement(rubric, reply).score for reply in GRADED],
        judgement(newer, {"p\u200b": 1}).score,
        *map(chosen, CHOSEN),
        *[derived(rules_of(table), answer, case_of(gold)).score for table, answer, gold in JUDGED],
    ]


def test_a_case_that_lacks_what_a_scorer_needs_is_no_fault_of_the_model_and_no_wrong_answer() -> None:
    for score in judged()[-3:]:
        assert (score.outcome, score.status, score.stage, score.domain) == ("unmeasured", "error", "score", "harness")


def test_every_reason_is_produced_by_some_test_of_reading_or_scoring() -> None:
    read_all = produced()
    found = {(one.status, one.reason) for one in (*read_all, *judged())} | {why_not_graded(one) for one in read_all}
    assert set(REASONS) - found == set()
    for _, kind in PATTERNS:
        stem = kind.name.rstrip("N")
        assert any(status == kind.status and name.startswith(stem) for status, name in found)


def test_every_reason_has_a_stage_a_domain_and_one_sentence() -> None:
    for (status, name), one in REASONS.items():
        assert (one.status, one.name) == (status, name)
        assert (status == "parsed") == (one.stage == "") == (one.domain == "") == (name == "")
        assert one.sentence.endswith(".") and one.sentence[0].isupper() and "\n" not in one.sentence
        assert one.sentence.isascii()
    assert len({one.sentence for one in REASONS.values()}) == len(REASONS)


def test_a_score_bears_its_reason_s_stage_and_domain() -> None:
    for one in judged():
        known = REASONS[one.status, one.reason]
        assert (one.outcome, one.stage, one.domain) == ("unmeasured", known.stage, known.domain)


def test_a_reading_bears_its_reason_s_stage_domain_and_advice() -> None:
    for one in produced():
        known = reason(one.status, one.reason)
        assert (one.stage, one.domain) == (known.stage, known.domain)
        assert one.retry == known.retry or one.reason == "error_in_200"


@pytest.mark.parametrize(
    ("status", "name", "retry"),
    [
        ("error", "http_404", "never"), ("error", "http_408", "backoff"), ("error", "http_502", "backoff"),
        ("error", "http_505", "never"), ("malformed", "bad_line_12", "never"),
    ],
)  # fmt: skip
def test_a_numbered_reason_is_known_and_says_its_number(status: Status, name: str, retry: str) -> None:
    found = reason(status, name)
    assert (found.name, found.retry) == (name, retry)
    assert name.rpartition("_")[2] in found.sentence


@pytest.mark.parametrize(
    ("status", "name"),
    [
        ("error", "http_99"), ("error", "http_600"), ("malformed", "bad_line_0"), ("malformed", "malformed"),
        ("parsed", "no_json"), ("error", "no_json"), ("wrong_shape", "missing_proposals"), ("malformed", "no_json\n"),
    ],
)  # fmt: skip
def test_a_name_that_the_taxonomy_lacks_is_refused(status: Status, name: str) -> None:
    assert not is_reason(status, name)
    with pytest.raises(LookupError, match="no reason"):
        reason(status, name)


def test_a_suite_s_own_reason_is_one_of_wrong_shape_and_of_nothing_else() -> None:
    own = {"missing_parts": "The object has no parts."}
    found = reason("wrong_shape", "missing_parts", own)
    assert (found.stage, found.domain, found.sentence) == ("parse", "model", own["missing_parts"])
    assert not is_reason("malformed", "missing_parts", own)


def test_flags_are_a_closed_set_with_a_sentence_each() -> None:
    for name in FLAGS:
        assert flag_sentence(name).endswith(".")
    assert is_flag("inner_429") and "429" in flag_sentence("inner_429")
    assert not is_flag("inner_42") and not is_flag("anything")
    with pytest.raises(LookupError):
        flag_sentence("anything")
