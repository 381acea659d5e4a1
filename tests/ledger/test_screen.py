"""What reaches a terminal is what can be seen."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x9b31m \x7f \x85 \x00", "\\x9b31m \\x7f \\x85 \\x00"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\u202egnp.exe \u2066x\u2069", "\\u202egnp.exe \\u2066x\\u2069"),
        ("zero\u200bwidth\u200d\ufeff\u00ad", "zero\\u200bwidth\\u200d\\ufeff\\xad"),
        ("\u2028\u2029\ud800", "\\u2028\\u2029\\ud800"),
        ("tag\U000e0041 \ufe0f \u3164 \u2800", "tag\\U000e0041 \\ufe0f \\u3164 \\u2800"),
        ("[bold]not markup[/bold]", "[bold]not markup[/bold]"),
        ("café 你好 \u3000\u00a0 😀", "café 你好 \u3000\u00a0 😀"),
    ],
)
def test_text_shows_and_what_steers_a_terminal_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_several_lines_stay_lines_when_they_may_and_a_carriage_return_never_does() -> None:
    assert printable("a\n\tb\rc\x1b", multiline=True) == "a\n\tb\\rc\\x1b"


@given(st.text(st.characters(codec=None)))
def test_nothing_that_a_terminal_obeys_or_hides_ever_gets_through(text: str) -> None:
    shown = printable(text)
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}]
    assert printable(shown) == shown
    assert len(shown) >= len(text)
