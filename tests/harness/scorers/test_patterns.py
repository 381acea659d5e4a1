"""Patterns in linear time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import HarnessError
from harness.scorers import check_pattern, pattern_spans


@given(st.text(st.sampled_from("ab1 \u00e9\U0001f600\n"), max_size=30))
def test_spans_are_those_of_characters_and_agree_with_python_on_what_both_know(text: str) -> None:
    for pattern in ("a+", "b(1+)", "(?:a|\u00e9)b?", "\U0001f600(.)"):
        mine = [found.span(1 if re.compile(pattern).groups else 0) for found in re.finditer(pattern, text)]
        assert pattern_spans(text, pattern) == mine


def test_half_of_a_surrogate_pair_is_no_text_to_look_in() -> None:
    assert pattern_spans("a\ud800a", "a") == []


@pytest.mark.parametrize("pattern", ["(", "(?<=a)b", "a*", "(a)(b)", "\ud800"])
def test_a_pattern_that_will_not_do_raises_one_sentence_and_writes_nothing(
    pattern: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(HarnessError) as caught:
        check_pattern(pattern)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


def test_time_grows_with_the_text() -> None:
    started = time.process_time()
    assert pattern_spans("a" * 100_000 + "!", "(?:a|aa)+$") == []
    assert time.process_time() - started < 5
