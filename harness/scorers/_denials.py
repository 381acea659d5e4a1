"""Which sentences of a text deny something: what stands in one is not taken for what the text says."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import Final

from harness.scorers._words import Word

__all__ = ["DENIALS", "Denied"]


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


DENIALS: Final = _set(
    "not no never neither nor cannot without except wrong incorrect false untrue unlike excludes exclude excluded"
    " eliminate eliminates eliminated unlikely isn't aren't wasn't weren't doesn't don't didn't can't couldn't won't"
    " wouldn't shouldn't ain't isnt doesnt"
)
"""Words that deny, beside every other one that ends in n't."""

_SENTENCE: Final = re.compile(r"(?<!\b[A-Za-z])[.!?;]\s+(?=\S)|\n+|[\u3002\uff01\uff1f]")


class Denied:
    """The words of denial of a text, sentence by sentence; those of `let` are none here."""

    def __init__(self, text: str, found: Sequence[Word], let: Collection[str] = ()) -> None:
        self._seams = [seam.end() for seam in _SENTENCE.finditer(text)]
        self._at: dict[int, list[int]] = {}
        for at, word in enumerate(found):
            if (word.form in DENIALS and word.form not in let) or word.form.endswith("n't"):
                self._at.setdefault(bisect_right(self._seams, word.start), []).append(at)

    def beside(self, start: int) -> Sequence[int]:
        """The indices of the words of denial in the sentence that text[start] belongs to."""
        return self._at.get(bisect_right(self._seams, start), ())
