"""The part of a text that says something: fences around all of it come off, and no others."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scorers import unfence


def bare(text: str) -> str:
    start, end = unfence(text)
    return text[start:end]


@given(
    st.text(st.characters(exclude_characters="`~", exclude_categories=("Cs",)), max_size=30),
    st.integers(3, 5),
    st.integers(0, 3),
)
def test_fences_around_all_of_a_text_come_off_layer_by_layer(text: str, run: int, layers: int) -> None:
    wrapped = text
    for layer in range(layers):
        wrapped = f"\n{'`' * (run + layer)}info\n{wrapped}\n{'`' * (run + layer)}\n"
    assert bare(wrapped) == bare(text)


@pytest.mark.parametrize(
    "text",
    [
        "a\n```\nb\n```",
        "```\na\n```\nb",
        "```\na",
        "```\na\n``",
        "```\na\n~~~",
        "```a```",
        "``\na\n``",
        "```\na\n```\n```\nb\n```",
    ],
)
def test_a_fence_that_is_not_around_all_of_it_stays(text: str) -> None:
    assert bare(text) == text


def test_a_fence_inside_a_longer_one_is_a_layer_and_a_tilde_does_as_well() -> None:
    assert bare("~~~\n```\na\n```\n~~~") == "a"
    assert bare("````md\n```\na\n````") == "```\na"
    assert bare("```\n```") == ""


def test_many_fences_take_no_time() -> None:
    started = time.process_time()
    unfence("```\n" * 100_000)
    unfence("".join("`" * n + "\n" for n in range(400, 3, -1)) + "x")
    assert time.process_time() - started < 5
