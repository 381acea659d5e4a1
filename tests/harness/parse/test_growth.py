"""Reading takes time in proportion to the text: what once, or nearly, took its square is kept here."""

import time

import pytest

from harness.parse import Ask, ReadRules, read_text

SIZE = 60_000
PATIENCE = 8.0
"""Seconds for SIZE characters: tens of times what they take, and a small part of what the square would."""

UNITS = [
    "[", "{", "`", "```\n", "``` x ", '{"a":', "[{", "{[", "[1,", '{"', '"', "\\", '{"a" ', "<think>", "</think>",
    '<think>{"a":"</think>', '{"a" </think>', "{x", "}", "{}", "[0,1)", '{"a":1}', "{/*", "{'", "{'a':1,}", "<think ",
    "\x1b[K", "\x1b[2J", "```json\n{}\n```\n", "~~~\n", '["a",', '{"x":"</think>",', "[1]", "</", "not ", "(", "1",
    "<think></think>", "\n", " ", '{"a":1}\n', "x = 1\n", "```a", "\u00e9{}",
]  # fmt: skip
EVERY = ReadRules(
    fence=True, unclosed_fence=True, prose=True, reasoning=True, bom=True, trailing_comma=True, comment=True,
    single_quotes=True, python_literal=True, raw_control_char=True, terminal="render",
)  # fmt: skip
WAYS: list[tuple[Ask, ReadRules]] = [
    ("object", ReadRules.default()), ("object", ReadRules(fence=True)), ("array", EVERY),
    ("jsonl", ReadRules.default()), ("python", ReadRules.default()), ("text", ReadRules.default()),
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS, ids=[ascii(unit)[1:-1] for unit in UNITS])
def test_a_long_text_of_one_piece_is_read_in_time(unit: str) -> None:
    data = (unit * (SIZE // len(unit))).encode()
    for ask, rules in WAYS:
        begun = time.perf_counter()
        found = read_text(data, ask=ask, stop="end", rules=rules)
        assert time.perf_counter() - begun < PATIENCE, (ask, found.reason)
        assert len(found.span) <= 64
