"""What a new suite's rules make of the replies that models commonly write."""

from __future__ import annotations

from typing import Any

import pytest

from harness._new_cases import Made
from harness._new_kits import KITS
from harness._new_rules import Asked, fit_rules
from harness._rules import ruleset_from_frozen
from tests.harness.suites.manifest.asked import case_of, derived

ASKED: Any = {"question": "Capital of France?", "options": ["London", "Paris", "Rome"]}


def outcome(score: str, reply: Any, gold: Any, asked: Any = "?") -> str:
    made = [Made("line 1", "", "", asked, gold)]
    fitted = fit_rules(KITS[score], Asked(["question"], made, options=isinstance(asked, dict)))
    rules = ruleset_from_frozen(score, fitted.rules.encode("utf-8"), "manifest")
    held = derived(rules, reply, case_of(gold, asked)).score
    return held.reason if held.outcome == "unmeasured" else held.outcome


@pytest.mark.parametrize(
    "reply",
    [
        "B", "b)", "**B**", "B. Paris", "**Answer:** B) Paris", "The answer is (B).", "\\boxed{B}",
        "Option B is correct.",
        "It's Paris.", "B\n\nParis lies on the Seine.", "The capital of France is Paris (B).", "<answer>B</answer>",
        "<think>A? No.</think>\nB", "```\nB\n```", "I believe it is B, since Paris is the capital.",
    ],
)  # fmt: skip
def test_a_new_choice_reads_the_option_that_a_reply_names(reply: str) -> None:
    assert outcome("choice", reply, "B", ASKED) == "correct"
    assert outcome("choice", reply, "A", ASKED) == "incorrect"


@pytest.mark.parametrize(
    "reply", ["Neither A nor B", "A and B", "It's not B", "B, not A", "I can't say.", "None of them"]
)
def test_a_new_choice_makes_nothing_up(reply: str) -> None:
    assert outcome("choice", reply, "B", ASKED) in ("no_answer", "two_candidates")


@pytest.mark.parametrize(
    "reply",
    [
        "42", "42.", "**42**", "The answer is 42.", "**Answer:** 42", "#### 42", "$\\boxed{42}$", "x = 42", "42.0",
        "There are 42 apples.", "42 apples", "So he has 42 left, that is 42.", "```\n42\n```", "\uff14\uff12", "$42$",
    ],
)  # fmt: skip
def test_a_new_number_reads_the_one_number_of_a_reply(reply: str) -> None:
    assert outcome("number", reply, 42) == "correct"
    assert outcome("number", reply, 24) == "incorrect"


@pytest.mark.parametrize(
    "reply",
    ["6 * 7 = 42", "42,000", "1/42", "42%", "$42", "about 42 or 43", "- 42", "It isn't 42.", "42 million", "> 42"],
)
def test_a_new_number_makes_nothing_up(reply: str) -> None:
    assert outcome("number", reply, 42) in ("number_unclear", "two_candidates", "no_answer")


@pytest.mark.parametrize(
    "reply",
    [
        "Answer: Cem", "Hm.\n**Answer:** Cem", "**Answer: Cem**", "### Answer: Cem", "Final answer: Cem.",
        "answer: **cem**",
        "The final answer: Cem", "So.\r\nAnswer: Cem\r\n", "Answer: Cem\n\nAnswer: cem",
    ],
)  # fmt: skip
def test_a_new_pattern_finds_the_line_that_was_asked_for(reply: str) -> None:
    assert outcome("regex", reply, "Cem") == "correct"


def test_a_new_pattern_makes_nothing_up() -> None:
    assert outcome("regex", "It is Cem.", "Cem") == "no_match"
    assert outcome("regex", "Answer: Ann\nAnswer: Cem", "Cem") == "two_candidates"


def test_a_new_exact_takes_marks_off_and_no_words() -> None:
    for reply in ("Oslo", "**Oslo**.", "oslo", "\u201cOslo\u201d", "```\nOslo\n```", "- Oslo", "Os\u00adlo"):
        assert outcome("exact", reply, "Oslo") == "correct"
    assert outcome("exact", "Oslo, Norway", "Oslo") == "incorrect"
