"""What would mend a refusal: options of `harness new`, each tried on the whole table before it is named."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any, Final

from harness._errors import UsageError
from harness._json import JSON
from harness._new_cases import Made, make_cases
from harness._new_draft import Wanted, draft
from harness._new_golds import scalars
from harness._new_kits import find_kit
from harness._new_rows import Table
from harness._new_settings import read_settings
from harness.suites.manifest import SCORERS, Scorer

__all__ = ["advice"]

_SPLITS: Final = (";", "|", ",", "\n")
_AROUND: Final = re.compile(r"\s*([^\s\d.,'_+-][^\d]*?)?\s*([+-]?[\d.,'_\u066c\s]*\d)\s*([^\s\d].*?)?\s*", re.DOTALL)
_POWER: Final = re.compile(r"\^[-+]?\d")
_MOST_TRIED: Final = 40


def advice(wanted: Wanted, table: Table, folder: Path, bad: Sequence[str]) -> Sequence[str]:
    """Options, as they would be typed, with which every row of the table makes a case; none where none are known.

    Several are ways of reading the golds that differ, and a person has to choose. `bad` says where the rows stand that
    are refused now; they are tried first, since one that still is ends a try.
    """
    first = frozenset(bad)
    ahead = [row for row in table.rows if row.where in first]
    sorted_ = replace(table, rows=(*ahead, *(row for row in table.rows if row.where not in first)))
    if any(row.fault for row in ahead):
        return ()
    if wanted.score == "number":
        found = _numbers(wanted, sorted_, folder)
        if found:
            return found
    for tried, _ in zip(_others(wanted, table), range(_MOST_TRIED), strict=False):
        if _mends(tried, sorted_, folder):
            return [_typed(wanted, tried)]
    return ()


def _anything(_: JSON, __: JSON) -> None:
    return None


def _mends(tried: Wanted, table: Table, folder: Path) -> bool:
    try:
        made, bad = draft(tried, table, folder).cases(table, folder, stop=True)
    except UsageError:
        return False
    return bool(made) and not bad


def _others(wanted: Wanted, table: Table) -> Iterator[Wanted]:
    """What may mend a table under a scorer, the least change first."""
    columns = wanted.columns
    set_ = [setting.partition("=")[0] for setting in wanted.settings]
    for setting in _settings(wanted):
        if setting.partition("=")[0] not in set_:
            yield replace(wanted, settings=(*wanted.settings, setting))
    if not wanted.empty_gold and wanted.score in ("f1", "quote"):
        yield replace(wanted, empty_gold=True)
    if not columns.gold_json and not columns.gold_split:
        if wanted.score in ("json", "f1", "exact") and not table.typed:
            yield replace(wanted, columns=replace(columns, gold_json=True))
        if wanted.score == "f1":
            for split in _splits(wanted, table):
                yield replace(wanted, columns=replace(columns, gold_split=split))
                if not wanted.empty_gold:
                    yield replace(wanted, columns=replace(columns, gold_split=split), empty_gold=True)
    for score in {"includes": ("exact",), "json": ("exact",), "exact": ("json",)}.get(wanted.score, ()):
        yield replace(wanted, score=score, settings=())
    if wanted.score == "includes":
        yield replace(wanted, score="exact", settings=("normalise=text",))


def _settings(wanted: Wanted) -> Iterator[str]:
    if wanted.score == "choice":
        yield from ("by=text", "by=letter", "gold=text", "gold=index", "gold=letter")
    if wanted.score in ("exact", "regex", "f1"):
        yield from ("normalise=text",)
    if wanted.score == "json":
        yield from ("normalise=json",)
    if wanted.score == "quote":
        yield from (f"source={name}" for name in wanted.columns.input)
        yield "least=0"


def _splits(wanted: Wanted, table: Table) -> Sequence[str]:
    """What may stand between the items of a gold cell: what does stand in some, and else a semicolon."""
    cells = [text for row in table.rows for name in wanted.columns.gold if (text := row.values.get(name))]
    texts = [json.loads(cell) for cell in cells if cell.startswith('"')]
    return [each for each in _SPLITS if any(each in text for text in texts)] or [";"]


def _typed(before: Wanted, after: Wanted) -> str:
    """The options that tell two wants apart, as they are typed."""
    words: list[str] = []
    if after.score != before.score:
        words += ["--score", after.score]
    for setting in after.settings[len(before.settings) if after.score == before.score else 0 :]:
        words += ["--set", setting]
    if after.columns.gold_json and not before.columns.gold_json:
        words.append("--gold-json")
    if after.columns.gold_split != before.columns.gold_split:
        words += ["--gold-split", after.columns.gold_split]
    if after.empty_gold and not before.empty_gold:
        words.append("--empty-gold")
    return shlex.join(words)


# Numbers, of which one spelling can be two


def _numbers(wanted: Wanted, table: Table, folder: Path) -> Sequence[str]:
    """The fewest settings under which every gold is a number; several where they give other numbers."""
    columns = replace(wanted.columns, empty_gold="")
    made, bad = make_cases(table, columns, folder, _anything)
    if bad or not made:
        return ()
    given = {setting.partition("=")[0] for setting in wanted.settings}
    found: dict[tuple[Any, ...], str] = {}
    for size, settings in sorted(_ways(made), key=lambda way: way[0]):
        if given & {each.partition("=")[0] for each in settings}:
            continue
        if found and size > min(len(shlex.split(each)) // 2 for each in found.values()):
            break
        tried = replace(wanted, settings=(*wanted.settings, *settings))
        numbers = _read(tried, made)
        if numbers is not None and numbers not in found and _mends(tried, table, folder):
            found[numbers] = _typed(wanted, tried)
    return list(found.values())


def _ways(made: Sequence[Made]) -> Iterator[tuple[int, list[str]]]:
    """Ways of writing numbers, as settings, with how many there are."""
    units = _units(made)
    for decimal, thousands, unit in product(("", ","), ("", ",", ".", " ", "'", "_", "\u066c"), ("", *units)):
        if thousands == (decimal or "."):
            continue
        settings = [f"decimal={decimal}"] * bool(decimal) + [f"thousands={thousands}"] * bool(thousands)
        settings += [f"units={unit}"] * bool(unit)
        if settings:
            yield len(settings), settings


def _units(made: Sequence[Made]) -> Sequence[str]:
    """The one thing that stands beside the numbers of golds, where it is one alone."""
    beside: set[str] = set()
    for each in made:
        for gold in scalars(each.gold):
            found = _AROUND.fullmatch(gold) if isinstance(gold, str) else None
            beside.update(part for part in (found[1], found[3]) if part) if found else None
    # What has digits is no unit, but for a power: 1/2, m^2.
    digits = any(map(str.isdecimal, _POWER.sub("", "".join(beside))))
    return tuple(beside) if len(beside) == 1 and not digits else ()


def _read(tried: Wanted, made: Sequence[Made]) -> tuple[Any, ...] | None:
    """The numbers that all golds are under settings, or None."""
    scorer = SCORERS["number"]
    given = read_settings(find_kit("number"), tried.settings)
    options = scorer.read(
        {name: tomllib.loads(f"x = {form}", parse_float=Decimal)["x"] for name, form in given.items()}
    )
    found: list[Any] = []
    for each in made:
        if scorer.check_gold(each.input, each.gold, options) is not None:
            return None
        found += [_value(scorer, item, options) for item in scalars(each.gold)]
    return tuple(found)


def _value(scorer: Scorer, gold: JSON, options: Mapping[str, Any]) -> JSON:
    return scorer.answer(gold, None, {**options, "at": "whole"}).value
