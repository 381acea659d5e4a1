"""Where in a case the evidence of a claim stands: which item of its source, and which stretch of that.

A suite that confirms has its own words for it, so each is read by a function of its own here. It lies outside the
suites' packages because their sources are part of every rule set's digest, and how a page shows a claim decides
nothing of what a score means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from harness._json import JSON

__all__ = ["Evidence", "evidence_of", "said_of"]


@dataclass(frozen=True)
class Evidence:
    """An item of the case's source that a claim names. `spans` are [start, end) in characters of its text; `note` says
    what the item is to the claim."""

    item: str
    text: str
    spans: tuple[tuple[int, int], ...] = ()
    note: str = ""


Finder = Callable[[JSON, Mapping[str, Any], JSON, Mapping[str, Any]], Sequence[Evidence]]
"""(the case's input, the finding or rejection, what the model said there, the [confirm] rules) to the items."""


def evidence_of(
    stages: str, case_input: JSON, claim: Mapping[str, Any], said: JSON, rules: Mapping[str, Any]
) -> Sequence[Evidence]:
    """The items of a case that a finding or a rejection rests on; none where its suite has no way to say."""
    finder = _FINDERS.get(stages)
    return finder(case_input, claim, said, rules) if finder is not None else ()


def said_of(value: JSON, claim: Mapping[str, Any]) -> JSON:
    """What the model said where a claim's `proposal` counts it in the parsed value; None where that is one whole."""
    at = claim.get("proposal")
    listed = value.get("proposals") if isinstance(value, Mapping) else value
    if isinstance(listed, list) and isinstance(at, int) and 0 <= at < len(listed):
        return listed[at]
    return None


def _authority(case_input: JSON, claim: Mapping[str, Any], said: JSON, rules: Mapping[str, Any]) -> Sequence[Evidence]:
    from harness.suites.authority._case import items
    from harness.suites.authority._confirm import locate

    known = items(case_input)
    table: Mapping[str, Any] = said if isinstance(said, Mapping) else {}
    source, target = (claim.get(end, table.get(f"{end}_item_id")) for end in ("source", "target"))
    spans = _pairs([claim.get("span")])
    cited = table.get("cited_evidence_span")
    note = "the source, with the cited span"
    if not spans and isinstance(source, str) and source in known and isinstance(cited, str) and cited.strip():
        # A rejection keeps no place: another clause failed it, and the span may well stand there.
        try:
            spans = (locate(cited, known[source], tuple(rules.get("fold", ("lower", "space")))),)
        except (ValueError, IndexError):
            note = "the source, where the cited span doesn't stand"
    elif not spans:
        note = "the source"
    found: list[Evidence] = []
    if isinstance(source, str):
        found.append(_item(known, source, spans, note))
    if isinstance(target, str):
        found.append(_item(known, target, (), "the target"))
    return found


def _item(known: Mapping[str, str], name: str, spans: tuple[tuple[int, int], ...], note: str) -> Evidence:
    if name in known:
        return Evidence(name, known[name], spans, note)
    return Evidence(name, "", (), f"{note.partition(',')[0]}, and no item of this case")


def _quote(case_input: JSON, claim: Mapping[str, Any], _: JSON, __: Mapping[str, Any]) -> Sequence[Evidence]:
    from harness.suites.manifest._where import descend

    field = claim.get("source")
    if not isinstance(field, str):
        return ()
    value = case_input if isinstance(case_input, str) else descend(case_input, field)[1]
    if not isinstance(value, str):
        return ()
    return (Evidence(field, value, _pairs(claim.get("spans")), "the source, with where the quote stands"),)


def _pairs(listed: object) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    for each in cast("list[Any]", listed) if isinstance(listed, list) else []:
        match each:
            case [int(start), int(end)] if 0 <= start < end:
                found.append((start, end))
            case _:
                pass
    return tuple(found)


_FINDERS: Mapping[str, Finder] = MappingProxyType({"authority": _authority, "manifest": _quote})
