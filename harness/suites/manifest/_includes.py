"""includes: the gold stands in the answer, as whole words. With a closed set of labels, an answer that names two is a
tie, and ambiguous as in every scorer. In a script without spaces, what may be a part of a longer word is neither hit
nor miss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from harness._json import JSON
from harness.scorers import Mention, Word, find_phrases, formulas, has_words, marks_fit, words
from harness.suites._registry import Answer, Confirmed
from harness.suites.manifest._golds import gold_texts, shown
from harness.suites.manifest._options import Option, texts
from harness.suites.manifest._scorer import CORRECT, Scorer, Tally, Unclear, primary
from harness.suites.manifest._where import Fault, Region, Taken, check_place, place_options, regions, sole, taken

__all__ = ["INCLUDES"]


def _answer(value: JSON, _: JSON, options: Mapping[str, Any]) -> Answer:
    places = regions(value, options, rest=True)
    if isinstance(places, Answer):
        return places

    def read(region: Region) -> Taken | Fault:
        text = region.slice
        if len({each.phrase for each in _mentions(text, options["labels"]) if each.sure}) > 1:
            return "two_candidates"
        return Taken(text, (tuple(_forms(words(text))), _brackets(text)), region) if text else "no_answer"

    one = sole(places, read)
    return one if isinstance(one, Answer) else taken(one, one.value)


def _brackets(text: str) -> str:
    """The brackets of a text with digits, where they tell two answers apart: [0, 1) and (0, 1)."""
    return "".join(each for each in text if each in "()[]{}") if any(map(str.isdecimal, text)) else ""


def _forms(found: list[Word]) -> list[str]:
    return [word.form for word in found]


def _fit(options: dict[str, Any]) -> None:
    check_place(options)
    seen: dict[tuple[str, ...], str] = {}
    for each in options["labels"]:
        if not has_words(each):
            raise ValueError(f"labels: {each!r} {_NO_WORDS}")
        before = seen.setdefault(tuple(_forms(words(each))), each)
        if before != each:
            raise ValueError(f"labels: {before!r} and {each!r} are the same words")


_NO_WORDS = 'has no words that could be looked for; exact or regex with normalise = "text" can compare it'


def _check_gold(_: JSON, gold: JSON, options: Mapping[str, Any]) -> str | None:
    found = gold_texts(gold)
    if found is None:
        return f"gold: expected a text, a number, or a list of those (any of them is right), got {shown(gold)}"
    for each in found:
        if not has_words(each):
            return f"gold: {each!r} {_NO_WORDS}"
        labels = options["labels"]
        if labels and not any(_forms(words(each)) == _forms(words(label)) for label in labels):
            return f"gold: expected one of the labels {', '.join(map(ascii, labels))}, got {each!r}"
    return None


def _score(answer: JSON, _: Confirmed, gold: JSON, options: Mapping[str, Any]) -> Tally | Unclear | None:
    golds = [each for each in gold_texts(gold) or () if has_words(each)]
    if not golds:
        return None
    text = answer if isinstance(answer, str) else ""
    if not options["labels"]:
        mentions = _mentions(text, golds)
        hit = any(each.sure for each in mentions) or any(any(formulas(text, each, words(each))) for each in golds)
        if mentions and not hit:
            return "word_unclear"
        return {"correct": int(hit)}, "hit" if hit else "miss"
    labels: Sequence[str] = options["labels"]
    mentions = _mentions(text, labels)
    named = {each.phrase for each in mentions if each.sure}
    if any(each.phrase not in named for each in mentions):
        return "word_unclear"
    wanted = [_forms(words(each)) for each in golds]
    hit = any(_forms(words(labels[index])) in wanted for index in named)
    return {"correct": int(hit)}, "hit" if hit else "miss" if named else "none_named"


def _mentions(text: str, wanted: Sequence[str]) -> list[Mention]:
    found, phrases = words(text), [words(each) for each in wanted]
    return find_phrases(found, phrases, marks_fit(text, found, wanted, phrases))


INCLUDES = Scorer(
    name="includes",
    version=2,
    about="the gold stands in the answer as whole words",
    options=(
        *place_options("whole", "first_line", "last_line", "after", "field"),
        Option("labels", (), texts, "a closed set of labels: an answer that names two of them is ambiguous"),
    ),
    metrics=(CORRECT,),
    primary=primary(every="correct"),
    verdicts=MappingProxyType(
        {
            "hit": "the gold stands in the answer, and no other label",
            "miss": "the gold doesn't; another label may",
            "none_named": "the answer names none of the labels",
        }
    ),
    answer=_answer,
    check_gold=_check_gold,
    score=_score,
    fit=_fit,
)
