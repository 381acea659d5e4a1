"""f1: the items of an answer against the expected ones, without order. Nothing expected and nothing found is an outcome
of its own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from harness._json import JSON, JSONError, loads
from harness.scorers import compare_sets, label
from harness.suites._registry import Answer, Confirmed
from harness.suites.manifest._golds import first_empty, shown
from harness.suites.manifest._options import Option, normal, normalise, one_of, texts
from harness.suites.manifest._scorer import NOTHING, SOMETHING, Scorer, Tally, mean, primary, rate
from harness.suites.manifest._where import (
    Fault,
    Region,
    Taken,
    check_place,
    fault,
    field_of,
    place_options,
    plain_text,
    regions,
    sole,
    taken,
)

__all__ = ["F1"]

_NUMBERED = re.compile(r"\s*(?:[-*\u2022]\s+)?\(?[0-9]{1,4}[.)]\s+")
_BULLET = re.compile(r"\s*[-*\u2022]\s+")
_MARKS = {"lines": "\n", "commas": ",", "semicolons": ";"}


def _answer(value: JSON, _: JSON, options: Mapping[str, Any]) -> Answer:
    if options["at"] == "field":
        found = field_of(value, options["field"])
        if isinstance(found, Answer):
            return found
        value, options = found, {**options, "at": "whole"}
        answered = _answer(value, None, options)
        # The span would be that of the field, and not of the text that was read.
        return Answer(answered.value, answered.status, answered.reason)
    if not isinstance(value, str):
        items = _listed(value, options)
        return fault(items) if isinstance(items, str) else Answer(items)
    places = regions(value, options, rest=True)
    if isinstance(places, Answer):
        return places

    def read(region: Region) -> Taken | Fault:
        items = _items(region.slice, options)
        return items if isinstance(items, str) else Taken(items, sorted(map(normal(options), items)), region)

    one = sole(places, read)
    return one if isinstance(one, Answer) else taken(one, one.value)


def _listed(value: JSON, options: Mapping[str, Any]) -> list[JSON] | Fault:
    """The items of a JSON value, as texts; one that is no text or number has no normal form, and matches nothing."""
    if not isinstance(value, list):
        if isinstance(value, Mapping):
            return "object_not_list"
        kinds: dict[type, Fault] = {str: "string_not_list", bool: "boolean_not_list", type(None): "null_not_list"}
        return kinds.get(type(value), "number_not_list")
    items: list[JSON] = [plain_text(each) or "" for each in value]
    return [] if len(items) == 1 and _is_nothing(str(items[0]), options) else items


def _items(given: str, options: Mapping[str, Any]) -> list[Any] | Fault:
    """The items that a text lists. A piece that says nothing, such as a rule of dashes, is none."""
    if not given:
        return "no_answer"
    if _is_nothing(given, options):
        return []
    if options["split"] == "json":
        try:
            return _listed(loads(given), options)
        except JSONError:
            return "no_json"
    pieces = [piece for piece in given.split(_MARKS[options["split"]]) if piece.strip()]
    # A dash ahead of one of them and not of all may be its sign.
    bullets = options["split"] == "lines" and all(map(_BULLET.match, pieces))
    pieces = [_unlisted(piece, bullets=bullets) for piece in pieces]
    found = [piece for piece in pieces if any(unicodedata.category(each)[0] in "LNS" for each in piece)]
    return found or "no_answer"


def _unlisted(piece: str, *, bullets: bool) -> str:
    """A piece without the number or the bullet that it has as one of a list."""
    bare = _NUMBERED.sub("", piece, count=1)
    if bare == piece and (bullets or not re.match(r"\s*-\s+[\d.]", piece)):
        bare = _BULLET.sub("", piece, count=1)
    return bare.strip()


def _is_nothing(given: str, options: Mapping[str, Any]) -> bool:
    return label(given) in {label(each) for each in options["nothing"]} - {""}


def _gold(gold: JSON, options: Mapping[str, Any]) -> list[str] | None:
    """The expected items; a text is split as an answer is. None where the gold is no list of texts."""
    if gold is None or gold == "":
        return []
    if isinstance(gold, str):
        if options["split"] == "json" or _is_nothing(gold, options):
            return None
        pieces = _items(gold, options)
        return [str(each) for each in pieces] if isinstance(pieces, list) else None
    if not isinstance(gold, list):
        return None
    found = [plain_text(each) for each in gold]
    return None if None in found else [each for each in found if each is not None]


def _check_gold(_: JSON, gold: JSON, options: Mapping[str, Any]) -> str | None:
    items = _gold(gold, options)
    if items is None:
        hint = (
            "; a text is split only where `split` says how, and nothing expected is []" if isinstance(gold, str) else ""
        )
        return f"gold: expected a list of texts or numbers, got {shown(gold)}{hint}"
    empty = first_empty(items, normal(options))
    return None if empty is None else f"gold: {empty!r} has no normal form under {options['normalise']}"


def _score(answer: JSON, _: Confirmed, gold: JSON, options: Mapping[str, Any]) -> Tally | None:
    wanted = _gold(gold, options)
    if wanted is None or first_empty(wanted, normal(options)) is not None:
        return None
    found: Sequence[JSON] = answer if isinstance(answer, list) else []
    held = compare_sets([each if isinstance(each, str) else "" for each in found], wanted, normal(options))
    if held.f1 is None or held.recall is None:
        # Nothing is expected, so neither is defined, whatever was found.
        negative = int(held.outcome == "true_negative")
        return {"exact": int(held.exact), "true_negative": negative}, held.outcome
    return {"exact": int(held.exact), "f1": held.f1, "recall": held.recall}, held.outcome


F1 = Scorer(
    name="f1",
    version=2,
    about="the items of the answer are the expected ones, in any order",
    options=(
        *place_options("whole", "first_line", "last_line", "after", "field"),
        Option(
            "split", "json", one_of("json", *_MARKS), "how a text lists its items: a JSON array, or by what parts them"
        ),
        Option("nothing", (), texts, "words with which an answer says that there is nothing, such as none"),
        Option("normalise", normalise("label"), normalise, "the normaliser under which items are compared"),
    ),
    metrics=(mean("f1", SOMETHING), mean("recall", SOMETHING), rate("exact"), rate("true_negative", NOTHING)),
    primary=primary(something_expected="f1", nothing_expected="true_negative"),
    verdicts=MappingProxyType(
        {
            "exact": "the items found are the expected ones",
            "partial": "some of them are",
            "disjoint": "none of them is",
            "false_negative": "something was expected and nothing found",
            "false_positive": "nothing was expected and something found",
            "true_negative": "nothing was expected and nothing found",
        }
    ),
    answer=_answer,
    check_gold=_check_gold,
    score=_score,
    fit=check_place,
)
