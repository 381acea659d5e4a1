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
    " wouldn't shouldn't ain't isnt doesnt instead \u274c \u2717 \u2718 \u2716"
)
"""Words that deny, beside every other one that ends in n't, and the pairs below."""

_PAIRS: Final = frozenset(
    (first, second)
    for firsts, second in (
        ("other rather", "than"), ("anything all everything everyone", "but"), ("rule rules ruled ruling", "out")
    )
    for first in firsts.split()
)  # fmt: skip
_STRUCK: Final = re.compile(r"~~[^~]+~~")

_SENTENCE: Final = re.compile(r"(?<!\b[A-Za-z])[.!?;]\s+(?=\S)|\n+|[\u3002\uff01\uff1f]")


class Denied:
    """The words of denial of a text, sentence by sentence; those of `let` are none here."""

    def __init__(self, text: str, found: Sequence[Word], let: Collection[str] = ()) -> None:
        self._seams = [seam.end() for seam in _SENTENCE.finditer(text)]
        self._struck = [struck.span() for struck in _STRUCK.finditer(text)]
        self._at: dict[int, list[int]] = {}
        for at, word in enumerate(found):
            before = found[at - 1].form if at else ""
            denies = (word.form in DENIALS and word.form not in let) or word.form.endswith("n't")
            if denies or (before, word.form) in _PAIRS:
                self._at.setdefault(bisect_right(self._seams, word.start), []).append(at)

    def beside(self, start: int) -> Sequence[int]:
        """The indices of the words of denial in the sentence that text[start] belongs to; -1 where it is struck out."""
        at = bisect_right(self._struck, (start, start)) - 1
        if at >= 0 and start < self._struck[at][1]:
            return (-1,)
        return self._at.get(bisect_right(self._seams, start), ())
