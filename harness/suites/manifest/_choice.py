"""choice: which of several options the answer names, by letter or by the option's words, wherever it stands.

What is compared is the option, not its place: with a gold by text, a case whose options are shuffled comes out the
same.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from harness._json import JSON
from harness.scorers import Named, OptionText, clashing, find_choice, label, read_choice
from harness.suites._registry import Answer, Confirmed
from harness.suites.manifest._options import Option, one_of, text
from harness.suites.manifest._scorer import CORRECT, Scorer, Tally, primary
from harness.suites.manifest._where import (
    Fault,
    Region,
    Taken,
    check_place,
    descend,
    fault,
    place_options,
    plain_text,
    regions,
    sole,
    taken,
)

__all__ = ["CHOICE"]

_LETTER = re.compile(r"[^\W\d_]|\d{1,3}")


def _letters(given: Any) -> str:
    found = text(given)
    if not all(map(str.isalpha, found)) or len(set(found.upper())) != len(found):
        raise ValueError(f'expected letters, none of them twice, such as "ABCD", got {given!r}')
    if len(found) < 2:
        raise ValueError(f"expected at least two letters, got {given!r}")
    return found.upper()


def _fit(options: dict[str, Any]) -> None:
    check_place(options)
    if bool(options["options"]) == bool(options["letters"]):
        raise ValueError(
            'options: expected the field of a case that holds its options (options = "options"), or the letters that'
            ' there are (letters = "ABCD"), one of the two'
        )
    if options["letters"] and options["gold"] == "text":
        raise ValueError('gold: "text" needs the texts of the options, and letters are all there is')
    if options["letters"] and options["by"] == "text":
        raise ValueError('by: "text" needs the texts of the options, and letters are all there is')


def _options_of(case_input: JSON, options: Mapping[str, Any]) -> list[OptionText] | str:
    """The options of a case, or a sentence on why it has none."""
    if options["letters"]:
        return [OptionText(letter) for letter in options["letters"]]
    where = f"input.{options['options']}"
    there, given = descend(case_input, options["options"])
    if not there:
        return f"{where}: expected the options, a list of texts or an object of letter and text, got nothing"
    if isinstance(given, list):
        if len(given) > len(string.ascii_uppercase) and options["by"] != "text":
            return (
                f"{where}: expected at most 26 options in a list, got {len(given)};"
                ' give an object of number and text, or say by = "text"'
            )
        letters = string.ascii_uppercase if options["by"] != "text" else [str(at) for at in range(1, len(given) + 1)]
        pairs = list(zip(letters, given, strict=False))
    elif isinstance(given, Mapping):
        by_text = options["by"] == "text"  # then no key is ever looked for
        wrong = next((key for key in given if not by_text and not _LETTER.fullmatch(key)), None)
        if wrong is not None:
            return (
                f'{where}: expected a letter or a number for each option, got {wrong!r}; change it, or say by = "text"'
            )
        pairs = list(given.items())
    else:
        return f"{where}: expected a list of texts or an object of letter and text"
    found = [OptionText(letter, plain_text(each) or "") for letter, each in pairs]
    if len(found) < 2:
        return f"{where}: expected at least two options, got {len(found)}"
    empty = next((each.letter for each in found if not label(each.text)), None)
    if empty is not None:
        return f"{where}: option {empty} has no text that could be compared"
    clash = clashing(found, options["by"])
    if clash is not None:
        one, other = (found[at] for at in clash)
        if label(one.text) == label(other.text):
            return f"{where}: options {one.letter} and {other.letter} have the same text, {one.text[:40]!r}; change one"
        return (
            f"{where}: the text of option {one.letter}, {one.text[:40]!r}, is the letter of option {other.letter};"
            ' say by = "letter" or by = "text", or change one'
        )
    return found


def _answer(value: JSON, case_input: JSON, options: Mapping[str, Any]) -> Answer:
    anywhere = options["at"] == "anywhere"
    places = regions(value, options)
    if isinstance(places, Answer):
        return places
    there = _options_of(case_input, options)
    if isinstance(there, str):
        return fault("case_unusable")  # found out before anything is asked; should it come here, it is no model's fault
    by: Named = options["by"]

    def read(region: Region) -> Taken | Fault:
        found = (find_choice if anywhere else read_choice)(region.text, there, by, region.start, region.end)
        if found.option is None:
            if found.why == "no_answer" and not anywhere:
                # Words around two options aren't an answer with something around it: it names two.
                again = find_choice(region.text, there, by, region.start, region.end)
                return "two_candidates" if again.why == "two_candidates" else "no_answer"
            return "two_candidates" if found.why == "two_candidates" else "no_answer"
        return Taken(None, found.option, Region(region.text, found.start, found.end, region.own))

    one = sole(places, read)
    if isinstance(one, Answer):
        return one
    index = int(one.key)
    option = there[index]
    return taken(one, {"letter": option.letter, "text": option.text, "index": index})


def _gold_index(gold: JSON, there: list[OptionText], form: str) -> int | str:
    """The option that a gold names, or a sentence."""
    named = plain_text(gold) if not isinstance(gold, bool) else None
    if form == "index":
        if isinstance(gold, str) and re.fullmatch(r"[0-9]{1,3}", gold):
            gold = int(gold)
        if isinstance(gold, bool) or not isinstance(gold, int) or not 0 <= gold < len(there):
            return f"gold: expected the index of an option, from 0 to {len(there) - 1}, got {_shown(gold)}"
        return gold
    if named is None:
        return f"gold: expected the {form} of an option, got {_shown(gold)}"
    for index, option in enumerate(there):
        if form == "letter" and named.strip().casefold() == option.letter.casefold():
            return index
        if form == "text" and label(named) == label(option.text):
            return index
    if form == "letter":
        return f"gold: expected one of the letters {', '.join(each.letter for each in there)}, got {_shown(gold)}"
    return f"gold: expected the text of one of the options, got {_shown(gold)}"


def _check_gold(case_input: JSON, gold: JSON, options: Mapping[str, Any]) -> str | None:
    there = _options_of(case_input, options)
    if isinstance(there, str):
        return there
    for each in _each(gold):
        found = _gold_index(each, there, options["gold"])
        if isinstance(found, str):
            return found
    return None if _each(gold) else "gold: expected an option, got an empty list"


def _each(gold: JSON) -> list[JSON]:
    return gold if isinstance(gold, list) else [gold]


def _score(answer: JSON, _: Confirmed, gold: JSON, options: Mapping[str, Any]) -> Tally | None:
    chosen: Mapping[str, JSON] = answer if isinstance(answer, Mapping) else {}
    wanted = [_key(each, options["gold"]) for each in _each(gold)]
    if not wanted or None in wanted:
        return None
    right = _key(chosen.get(options["gold"]), options["gold"]) in wanted
    return {"correct": int(right)}, "right" if right else "wrong"


def _key(given: JSON, form: str) -> str | int | None:
    """What two names of one option have in common, by the form of the gold; None for no name."""
    if form == "index":
        if isinstance(given, str) and re.fullmatch(r"[0-9]{1,3}", given):
            return int(given)
        return given if isinstance(given, int) and not isinstance(given, bool) else None
    named = plain_text(given) if not isinstance(given, bool) else None
    if named is None:
        return None
    return (named.strip().upper() if form == "letter" else label(named)) or None


def _shown(given: JSON) -> str:
    named = plain_text(given)
    return f"{named[:60]!r}" if named is not None else "null" if given is None else "a list or an object"


CHOICE = Scorer(
    name="choice",
    version=2,
    about="the option that the answer names, by letter or by words, is the gold",
    options=(
        *place_options("whole", "first_line", "last_line", "after", "anywhere", "field"),
        Option(
            "options", "", text, "the field of the input that holds the options: a list, or an object of letter: text"
        ),
        Option("letters", "", _letters, 'instead of `options`: the letters that there are, such as "ABCD"'),
        Option("by", "both", one_of("both", "letter", "text"), "by what an answer may name an option"),
        Option("gold", "letter", one_of("letter", "text", "index"), "how the gold names it; an index counts from 0"),
    ),
    metrics=(CORRECT,),
    primary=primary(every="correct"),
    verdicts=MappingProxyType({"right": "the option named is the gold", "wrong": "it is another"}),
    answer=_answer,
    check_gold=_check_gold,
    score=_score,
    fit=_fit,
)
