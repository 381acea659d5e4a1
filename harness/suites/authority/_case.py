"""The parts of a case: its numbered items, its title, and what its gold says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from harness._json import JSON

__all__ = ["GROUPS", "TYPES", "Gold", "check_case", "group", "items", "read_gold", "title"]

TYPES = ("supersedes", "narrows_scope", "contradicts", "transfers_authority")
GROUPS = ("positive", "negative")

_ITEM = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(\S.*)", re.DOTALL)
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)", re.DOTALL)


@dataclass(frozen=True)
class Gold:
    """What the key says. `expected` holds (type, source, target); `forbidden` is never empty for a negative."""

    expected: tuple[tuple[str, str, str], ...]
    forbidden: frozenset[str]


def _lines(case_input: JSON) -> list[str]:
    text = case_input.get("text") if isinstance(case_input, Mapping) else None
    return [line.removesuffix("\r") for line in text.split("\n")] if isinstance(text, str) else []


def items(case_input: JSON) -> dict[str, str]:
    """The memory items of a case by id (M001, M002, …, in the order of their lines); empty when there are none."""
    found = [match[1].strip() for line in _lines(case_input) if (match := _ITEM.fullmatch(line))]
    return {f"M{number:03d}": text for number, text in enumerate(found, start=1)}


def title(case_input: JSON) -> str:
    """The text of the first markdown heading; empty when there is none."""
    return next((match[1].strip() for line in _lines(case_input) if (match := _HEADING.fullmatch(line))), "")


def read_gold(gold: JSON) -> Gold:
    """The gold of a case. What `check_case` would refuse is left out here, so that scoring never raises."""
    table: Mapping[str, JSON] = gold if isinstance(gold, Mapping) else {}
    expected: list[tuple[str, str, str]] = []
    listed = table.get("expected")
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, Mapping):
            kind, source, target = entry.get("type"), entry.get("source"), entry.get("target")
            if isinstance(kind, str) and isinstance(source, str) and isinstance(target, str):
                expected.append((kind, source, target))
    named = table.get("forbidden")
    forbidden = (
        frozenset(kind for kind in named if isinstance(kind, str)) if isinstance(named, list) else frozenset[str]()
    )
    return Gold(tuple(expected), forbidden or frozenset(TYPES))


def group(gold: JSON) -> frozenset[str]:
    """{"positive"} when the gold expects a relation, else {"negative"}."""
    return frozenset({"positive" if read_gold(gold).expected else "negative"})


def check_case(case_input: JSON, gold: JSON) -> str | None:
    """One sentence on what is wrong with a case, or None."""
    if not isinstance(case_input, Mapping) or set(case_input) != {"text"} or not isinstance(case_input["text"], str):
        return 'input: expected {"text": "markdown"} and nothing else'
    if "\x00" in case_input["text"]:
        return "input.text holds U+0000; take it out"
    known = items(case_input)
    if not known:
        return "input.text: expected at least one bulleted or numbered line, got none"
    if not isinstance(gold, Mapping):
        return 'gold: expected {"expected": […], "forbidden": […], "reference": …}'
    unknown = set(gold) - {"expected", "forbidden", "reference"}
    if unknown:
        return f"gold: unknown key {min(unknown)!a}; expected `expected`, `forbidden` and `reference`"
    return _check_expected(gold.get("expected"), known) or _check_forbidden(gold.get("forbidden"))


def _check_expected(listed: JSON, known: Mapping[str, str]) -> str | None:
    if not isinstance(listed, list):
        return "gold.expected: expected a list (an empty one for a negative)"
    for index, entry in enumerate(listed):
        where = f"gold.expected[{index}]"
        if not isinstance(entry, Mapping) or set(entry) != {"type", "source", "target"}:
            return f'{where}: expected {{"type", "source", "target"}} and nothing else'
        if entry["type"] not in TYPES:
            return f"{where}.type: expected one of {', '.join(TYPES)}, got {entry['type']!a}"
        for end in ("source", "target"):
            if entry[end] not in list(known):
                return f"{where}.{end}: expected an item of this case ({', '.join(known)}), got {entry[end]!a}"
    return None


def _check_forbidden(named: JSON) -> str | None:
    if not isinstance(named, list):
        return "gold.forbidden: expected a list of relation types (an empty one forbids all of them on a negative)"
    for kind in named:
        if kind not in TYPES:
            return f"gold.forbidden: expected one of {', '.join(TYPES)}, got {kind!a}"
    return None
