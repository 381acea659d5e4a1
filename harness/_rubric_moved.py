"""Where two rule files differ in what a judge was shown: the rubric, by its digests and by what in it differs.

Scores of answers to another wording of a rubric mean something else, and no rescore mends that: the answers themselves
would have been others.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

__all__ = ["OF_THE_RUBRIC", "RubricMoved", "rubric_moved"]

OF_THE_RUBRIC = ("score", "metrics", "primary")
"""The sections of a rule set that differ with the rubric itself."""


@dataclass(frozen=True)
class RubricMoved:
    """The digests of two rubrics, and the places that differ, such as `criteria tone description`."""

    before: str
    after: str
    paths: tuple[str, ...]


def rubric_moved(before: bytes, after: bytes) -> RubricMoved | None:
    """How the rubric of one rule file differs from another's; None where a judge was shown the same, and for rules of
    anything but judging."""
    ours, theirs = _score(before), _score(after)
    digests = ours.get("rubric"), theirs.get("rubric")
    if digests[0] == digests[1] or not all(isinstance(each, str) for each in digests):
        return None
    found = tuple(_differ(_shown(ours), _shown(theirs), ""))
    return RubricMoved(str(digests[0]), str(digests[1]), found)


def _shown(score: Mapping[str, Any]) -> dict[str, Any]:
    """What of a [score] table a judge is shown: how its reply is read, and what follows from it, is no part of that."""
    found = {key: value for key, value in score.items() if key not in ("rubric", "version")}
    if isinstance(reply := found.get("reply"), dict):
        found["reply"] = {key: value for key, value in cast("dict[str, Any]", reply).items() if key != "whole"}
    return found


def _score(file: bytes) -> Mapping[str, Any]:
    try:
        table = tomllib.loads(file.decode("utf-8"), parse_float=Decimal)
    except (ValueError, RecursionError):
        return {}
    found = table.get("score")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _differ(ours: Any, theirs: Any, path: str) -> Iterator[str]:
    """The places that differ, tables of a list by their ids; a place that one side lacks whole is named alone."""
    if ours == theirs:
        return
    ours, theirs = _by_id(ours), _by_id(theirs)
    if not isinstance(ours, Mapping) or not isinstance(theirs, Mapping):
        yield path
        return
    left, right = cast("Mapping[str, Any]", ours), cast("Mapping[str, Any]", theirs)
    same = True
    for key in dict.fromkeys((*left, *right)):
        if left.get(key) != right.get(key):
            same = False
            yield from _differ(left.get(key), right.get(key), f"{path} {key}".strip())
    if same:
        yield f"{path} order".strip()


def _by_id(value: Any) -> object:
    """A list of tables with ids, as a table by their ids."""
    tables = cast("list[Any]", value) if isinstance(value, list) else []
    if not tables:
        return cast("object", value)
    if not all(isinstance(each, dict) and isinstance(cast("Any", each).get("id"), str) for each in tables):
        return tables
    return {each["id"]: each for each in cast("list[dict[str, Any]]", tables)}
