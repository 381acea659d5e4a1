"""Where a file differs from what it should say: by line of its text, and by place in its data. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, cast

__all__ = ["Difference", "compare_data", "compare_text", "count_numbers", "line_endings"]

_LONGEST = 200
_FEW = 20
_CROWDED = 4_000_000
_NAMES = ("what", "rules", "candidate", "metric", "bar", "stage", "reason", "flag", "case", "label", "name")
_NOT_NUMBERS = frozenset({"version", "renderer"})
_PART_OF_TOKEN = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%./–@_-+")


@dataclass(frozen=True, slots=True)
class Difference:
    """One place, what the file says there, and what it should say. None stands for nothing at all.

    `number` says that it is a number of the data; `place` is the path to it (empty for text).
    """

    where: str
    says: str | None
    should: str | None
    number: bool = False
    place: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        if self.says is None:
            return f"{self.where}: missing: {self.should}"
        if self.should is None:
            return f"{self.where}: doesn't belong there: {self.says}"
        return f"{self.where}: the file says {self.says}, it should be {self.should}"


# Text


def line_endings(text: str) -> tuple[str, list[str]]:
    """The text without what an editor puts in or takes out unasked, and a sentence on each such change."""
    said: list[str] = []
    if text.startswith("\ufeff"):
        text = text.removeprefix("\ufeff")
        said.append("a byte order mark was put before it")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        said.append("its line endings were changed")
    stripped = text.rstrip("\n")
    if text != stripped + "\n":
        said.append("the newline at its end was changed")
    return stripped + "\n", said


def compare_text(text: str, should: str) -> list[Difference]:
    """Every line that differs, by its number in `text`; what was left out stands after the line it should follow."""
    if text == should:
        return []
    here, there = text.rstrip("\n").split("\n"), should.rstrip("\n").split("\n")
    if text.strip() and should.startswith(text.rstrip("\n")) and len(here) < len(there):
        gone = f"{len(there) - len(here)} lines are gone"
        gone += "" if here[-1] == there[len(here) - 1] else ", and the end of this one"
        return [Difference(f"after line {len(here)}", None, f"the file is cut off here: {gone}")]
    start = 0
    while start < min(len(here), len(there)) and here[start] == there[start]:
        start += 1
    end = 0
    while end < min(len(here), len(there)) - start and here[-1 - end] == there[-1 - end]:
        end += 1
    ours, theirs = here[start : len(here) - end], there[start : len(there) - end]
    found: list[Difference] = []
    if len(ours) == len(theirs):
        # Nothing was put in or taken out, unless what follows a place is all shifted.
        apart = [number for number, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other]
        if len(apart) <= max(_FEW, len(ours) // 10):
            return [each for at in apart for each in _hunk([ours[at]], [theirs[at]], start + at + 1)]
    # Lines such as a lone bracket stand everywhere: in a long text they say little, and cost much.
    crowded = len(ours) * len(theirs) > _CROWDED
    for tag, i, j, k, m in SequenceMatcher(None, ours, theirs, autojunk=crowded).get_opcodes():
        if tag != "equal":
            found += _hunk(ours[i:j], theirs[k:m], start + i + 1)
    return found


def _hunk(ours: Sequence[str], theirs: Sequence[str], first: int) -> Iterator[Difference]:
    for offset in range(max(len(ours), len(theirs))):
        if offset >= len(ours):
            yield Difference(f"after line {first + len(ours) - 1}", None, _cut(theirs[offset]))
        elif offset >= len(theirs):
            yield Difference(f"line {first + offset}", _cut(ours[offset]), None)
        else:
            says, should = _narrowed(ours[offset], theirs[offset])
            yield Difference(f"line {first + offset}", says, should)


def _narrowed(says: str, should: str) -> tuple[str, str]:
    """The part of two lines in which they differ, widened to whole words."""
    shorter = min(len(says), len(should))
    start = next((i for i in range(shorter) if says[i] != should[i]), shorter)
    end = next((i for i in range(shorter - start) if says[-1 - i] != should[-1 - i]), shorter - start)
    while start and says[start - 1] in _PART_OF_TOKEN:
        start -= 1
    while end and says[len(says) - end] in _PART_OF_TOKEN:
        end -= 1
    return _cut(says[start : len(says) - end]), _cut(should[start : len(should) - end])


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


# Data


def count_numbers(value: Any, key: str = "") -> int:
    """How many numbers the data hold, without the versions of their form."""
    if isinstance(value, Mapping):
        return sum(count_numbers(each, name) for name, each in cast("Mapping[str, Any]", value).items())
    if isinstance(value, list):
        return sum(count_numbers(each) for each in cast("list[Any]", value))
    return int(_is_number(value) and key not in _NOT_NUMBERS)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def compare_data(
    says: Any, should: Any, *, whole: bool, close: bool, where: str = "", at: tuple[str | int, ...] = ()
) -> Iterator[Difference]:
    """Every place where the data of a file differ from those recomputed.

    `whole`: what the file leaves out is a difference too (a file of an older release has fewer keys). `close`: floats
    may differ in their last digits (the file's bytes are known to be the recorded ones; another SQLite sums otherwise).
    """
    if isinstance(says, dict) and isinstance(should, dict):
        ours, theirs = cast("dict[str, Any]", says), cast("dict[str, Any]", should)
        for name in [*theirs, *(name for name in ours if name not in theirs)]:
            place = f"{where}.{name}" if where else name
            if name not in ours:
                if whole:
                    yield Difference(place, None, _shown(theirs[name]), count_numbers(theirs[name]) > 0, (*at, name))
            elif name not in theirs:
                if whole:
                    yield Difference(place, _shown(ours[name]), None, count_numbers(ours[name]) > 0, (*at, name))
            else:
                yield from compare_data(ours[name], theirs[name], whole=whole, close=close, where=place, at=(*at, name))
    elif isinstance(says, list) and isinstance(should, list):
        yield from _compare_lists(cast("list[Any]", says), cast("list[Any]", should), whole, close, where, at)
    elif not _same(says, should, close=close):
        yield Difference(where, _shown(says), _shown(should), _is_number(says) or _is_number(should), at)


def _same(says: Any, should: Any, *, close: bool) -> bool:
    if isinstance(says, bool) or isinstance(should, bool) or says is None or should is None:
        return says is should
    if close and isinstance(says, float) and isinstance(should, float):
        return math.isclose(says, should, rel_tol=1e-9, abs_tol=1e-12)
    if _is_number(says) and _is_number(should):
        # JSON knows one kind of number: another program writes 1.0 as 1.
        return says == should
    return type(says) is type(should) and says == should


def _compare_lists(
    says: list[Any], should: list[Any], whole: bool, close: bool, where: str, at: tuple[str | int, ...]
) -> Iterator[Difference]:
    if len(says) == len(should):
        for number, (one, other) in enumerate(zip(says, should, strict=True)):
            place = f"{where}[{_named(other, number)}]"
            yield from compare_data(one, other, whole=whole, close=close, where=place, at=(*at, number))
        return
    ours, theirs = [_shown(each) for each in says], [_shown(each) for each in should]
    for tag, i, j, k, m in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for offset in range(min(j - i, m - k)):
            place = f"{where}[{_named(should[k + offset], k + offset)}]"
            yield from compare_data(
                says[i + offset], should[k + offset], whole=whole, close=close, where=place, at=(*at, i + offset)
            )
        for number in range(i + (m - k), j):
            yield Difference(
                f"{where}[{_named(says[number], number)}]",
                _cut(ours[number]),
                None,
                count_numbers(says[number]) > 0,
                (*at, number),
            )
        for number in range(k + (j - i), m):
            yield Difference(
                f"{where}[{_named(should[number], number)}]",
                None,
                _cut(theirs[number]),
                count_numbers(should[number]) > 0,
                at,
            )


def _named(row: Any, number: int) -> str:
    """A row by what it is called, for people; by its number where it has no name."""
    if isinstance(row, dict):
        named = [str(row[name]) for name in _NAMES if isinstance(row.get(name), str)]  # pyright: ignore
        if named:
            return ", ".join(_cut(name) for name in named)
    return str(number)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)
