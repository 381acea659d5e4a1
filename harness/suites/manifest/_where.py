"""Where in a reply the answer stands, as a rule set says it: the whole text, its first or last line, what follows a
mark, or a field of a JSON answer.

Nothing is chosen here. A mark that stands twice gives two regions, and whether they say the same is for the scorer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal, TypeVar

from harness._json import JSON, JSONError, loads
from harness.scorers import unfence, without_space
from harness.suites._registry import Answer
from harness.suites.manifest._options import Option, one_of, switch, text

__all__ = [
    "Fault", "Region", "Taken", "check_place", "descend", "fault", "field_of", "place_options", "plain_text",
    "regions", "sole", "taken", "whole_json",
]  # fmt: skip

Fault = Literal[
    "no_answer", "no_marker", "no_match", "number_unclear", "two_candidates", "no_json", "empty_fence",
    "schema_violation", "object_not_list", "string_not_list", "number_not_list", "boolean_not_list", "null_not_list",
    "case_unusable",
]  # fmt: skip
_STATUS: Mapping[str, Any] = {
    "two_candidates": "ambiguous", "empty_fence": "empty", "schema_violation": "wrong_shape", "case_unusable": "error",
}  # fmt: skip
_MARKS = "*_`"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Region:
    """text[start:end] is where the answer stands. `own` says whether `text` is the value that was read, and not a
    field of it."""

    text: str
    start: int
    end: int
    own: bool = True

    @property
    def slice(self) -> str:
        """The characters of the region."""
        return self.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Taken:
    """An answer as a scorer takes it: `value` is held against the gold, `key` says whether two are the same, and
    text[start:end] of the region's text is what it was taken from."""

    value: JSON
    key: Any
    region: Region


def place_options(*places: str, fence: bool = True) -> tuple[Option, ...]:
    """The options that say where the answer stands."""
    found = [
        Option("at", places[0], one_of(*places), f"where the answer stands: {', '.join(places)}"),
    ]
    if "after" in places:
        found.append(Option("marker", "", text, 'with `at = "after"`: the mark ahead of the answer, such as "Answer:"'))
    if "field" in places:
        found.append(Option("field", "", text, 'with `at = "field"`: the dotted path of a field of a JSON answer'))
    if fence:
        found.append(Option("fence", True, switch, "a code fence around the whole text is taken off"))
    return tuple(found)


def check_place(options: Mapping[str, Any]) -> None:
    """Raises ValueError where `at`, `marker` and `field` don't go together."""
    for at, key, example in (("after", "marker", '"Answer:"'), ("field", "field", '"answer"')):
        if options["at"] == at and not options.get(key):
            raise ValueError(f'{key}: expected a text with at = "{at}", such as {key} = {example}, got none')
        if options["at"] != at and options.get(key):
            raise ValueError(f'{key}: goes with at = "{at}" only; at is "{options["at"]}"')
    if options["at"] == "after" and not options["marker"].strip(_MARKS + " :\t"):
        raise ValueError(f"marker: expected a mark with a letter, a digit or a sign in it, got {options['marker']!r}")


def regions(value: JSON, options: Mapping[str, Any], *, rest: bool = False) -> list[Region] | Answer:
    """Where the answer may stand; an Answer with a status where there is no such place.

    `rest` takes all that follows a mark, not its line alone.
    """
    if options["at"] == "field":
        found = field_of(value, options["field"])
        if isinstance(found, Answer):
            return found
        whole = plain_text(found)
        return fault("no_answer") if whole is None else [Region(whole, *without_space(whole), own=False)]
    whole = plain_text(value)
    if whole is None:
        return fault("no_answer")
    start, end = unfence(whole) if options["fence"] else without_space(whole)
    if start == end:
        return fault("empty_fence" if without_space(whole) != (start, end) else "no_answer")
    if options["at"] == "first_line":
        return [Region(whole, *_trim(whole, start, _line_end(whole, start, end)))]
    if options["at"] == "last_line":
        start = _line_start(whole, start, end)
        return [Region(whole, *_trim(whole, start, end))]
    if options["at"] == "after":
        found = list(_after(whole, start, end, options["marker"], rest=rest))
        return found or fault("no_marker")
    return [Region(whole, start, end)]


def sole(places: Sequence[Region], read: Callable[[Region], Taken | Fault]) -> Taken | Answer:
    """The one answer that the regions hold. A region without any isn't one; two that differ are ambiguous."""
    found: list[Taken] = []
    faults: list[Fault] = []
    for region in places:
        each = read(region)
        if isinstance(each, Taken):
            found.append(each)
        elif each != "no_answer":
            faults.append(each)
    if faults:
        return fault(faults[0])
    if not found:
        return fault("no_answer")
    return fault("two_candidates") if any(each.key != found[0].key for each in found) else found[0]


def taken(one: Taken | Answer, value: JSON) -> Answer:
    """The answer of a cell: `value` goes to scoring, and the parse event keeps the slice it was taken from."""
    if isinstance(one, Answer):
        return one
    region = one.region
    return Answer(value, text=json.dumps(region.slice), span=(region.start, region.end) if region.own else None)


def fault(name: Fault) -> Answer:
    """No answer, and why."""
    return Answer(None, "wrong_shape" if name.endswith("_not_list") else _STATUS.get(name, "malformed"), name)


def plain_text(value: JSON) -> str | None:
    """A text, or a scalar as text; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        # Past this many digits Python writes no integer.
        return str(value) if value.bit_length() < 13_000 else None
    return str(value) if isinstance(value, Decimal) and value.is_finite() else None


def whole_json(value: JSON) -> JSON | Answer:
    """A value that was read as JSON, or the JSON that is the whole of a text, a fence around it taken off."""
    if not isinstance(value, str):
        return value
    start, end = unfence(value)
    try:
        return loads(value[start:end])
    except JSONError:
        return fault("no_json")


def field_of(value: JSON, path: str) -> JSON | Answer:
    """What stands at a dotted path. A number in it is an index of a list."""
    found = whole_json(value)
    if isinstance(found, Answer):
        return found
    there, inner = descend(found, path)
    return inner if there else fault("no_answer")


def descend(value: JSON, path: str) -> tuple[bool, JSON]:
    """(whether something stands at a dotted path, what)."""
    for step in path.split("."):
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isascii() and step.isdigit() and int(step[:9]) < len(value):
            value = value[int(step[:9])]
        else:
            return False, None
    return True, value


def _trim(whole: str, start: int, end: int) -> tuple[int, int]:
    first, last = without_space(whole[start:end])
    return start + first, start + last


def _line_start(whole: str, start: int, end: int) -> int:
    return max(start, whole.rfind("\n", start, end) + 1)


@lru_cache(maxsize=64)
def _marker(marker: str) -> re.Pattern[str]:
    """A mark in any case, in markdown or not: its words between any white space, its colon full-width or not."""
    bare = marker.strip()
    colon = bare.endswith((":", "\uff1a"))
    words = [re.escape(word) for word in bare.rstrip(":\uff1a").split()]
    edge = r"(?<![^\W_])" if bare[:1].isalnum() else ""
    end = rf"(?P<mid>[{_MARKS}]*)\s?[:\uff1a]" if colon else "(?P<mid>)"
    if not colon and bare[-1:].isalnum():
        end += r"(?![^\W_])"
    return re.compile(rf"(?P<open>(?<![{_MARKS}])[{_MARKS}]*){edge}" + r"\s+".join(words) + end, re.IGNORECASE)


def _after(whole: str, start: int, end: int, marker: str, *, rest: bool) -> Iterable[Region]:
    marks = list(_marker(marker).finditer(whole, start, end))
    # What follows a mark ends where the next one stands, so many marks are no more work than one.
    for found, stop in zip(marks, [*(each.start() for each in marks[1:]), end], strict=False):
        at, opened = found.end(), found["open"]
        if opened and found["mid"] != opened:
            if whole.startswith(opened, at):
                at, opened = at + len(opened), ""
        else:
            opened = ""
        first, last = _trim(whole, at, stop)
        if not rest and first < last:
            last = _line_end(whole, first, last)
        first, last = _trim(whole, first, last)
        inner = whole[first:last]
        if inner.startswith(("```", "~~~")):
            begin, close = unfence(whole[first : _trim(whole, at, stop)[1]])
            first, last = first + begin, first + close
        elif opened and inner.endswith(opened) and not inner.startswith(opened):
            first, last = _trim(whole, first, last - len(opened))
        yield Region(whole, first, last)


def _line_end(whole: str, start: int, end: int) -> int:
    found = whole.find("\n", start, end)
    return end if found < 0 else found
