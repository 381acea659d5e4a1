"""The recorded runs of the project memory-authority-auditor.

Its fixture is {"packet", "cases": [{"id", "class", "text", "expected_relations", "expected_no_relations"}]}; an
artifact is {"run_id", "generated_at_utc", "fixture", "engines": [{"engine", "cases": [{"case_id", "malformed",
"malformed_reasons", "raw_output", …}]}]}. It kept the text that it captured, not the bytes of HTTP: the grade is text.
What else stands in either file is neither needed nor looked at, and kept with the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from harness._errors import SuiteError, UsageError
from harness._stated import stated_in, stated_words
from harness._suite import Case, Fixture, case_of_line
from harness.imports._auditor_totals import totals_of
from harness.imports._files import json_claim, read_json, shown, text_claim, what
from harness.imports._foreign import ForeignCell, ForeignFixture, ForeignRun
from harness.imports._reported import failure_in
from harness.suites.authority._case import TYPES, items

__all__ = ["read_artifact", "read_fixture"]

_SUITE: Final = "authority"
_MAX_NAME: Final = 1_000
_NOT_IN_A_NAME: Final = re.compile(r"[^a-z0-9_.-]+")
_SHOWN: Final = 5


def read_fixture(data: bytes, path: Path) -> ForeignFixture:
    """Their cases in this suite's form. Raises UsageError for the first that is broken, naming its place.

    A case's input is {"text"}, its gold {expected, forbidden, reference}: the types that any of its
    `expected_no_relations` forbids are forbidden, whichever items that names, as their scoring has it.
    """
    where = shown(path)
    root = read_json(data, where)
    listed = _list(root, "cases", where, hint="is this the fixture, and not an artifact?")
    lines: list[bytes] = []
    cases: list[Case] = []
    places: dict[str, int] = {}
    for index, entry in enumerate(listed):
        place = f"{where}: cases[{index}]"
        line = _case_line(entry, place)
        try:
            case = case_of_line(line, index + 1, place)
        except SuiteError as error:
            raise UsageError(str(error)) from None
        if case.id in places:
            raise UsageError(f"{place}: the id {case.id!r} is that of cases[{places[case.id]}] too; expected each once")
        places[case.id] = index
        lines.append(line)
        cases.append(case)
    if not cases:
        raise UsageError(f"{where}: expected at least one case, got none")
    packet = root.get("packet")
    name = _fixture_name(packet if isinstance(packet, str) else path.stem)
    fixture = Fixture(_SUITE, name, data, tuple(cases))
    known_as = frozenset({path.stem, packet} if isinstance(packet, str) else {path.stem})
    return ForeignFixture(fixture, b"".join(lines), known_as)


def _fixture_name(called: str) -> str:
    return _NOT_IN_A_NAME.sub("-", called.lower()).strip("-._")[:64] or "imported"


def _case_line(entry: Any, place: str) -> bytes:
    case = _object(entry, place)
    name, text = _text(case, "id", place), _text(case, "text", place)
    expected = [_relation(each, f"{place}.expected_relations[{index}]", items({"text": text}))
                for index, each in enumerate(_entries(case, "expected_relations", place))]  # fmt: skip
    forbidden: set[str] = set()
    reference: list[dict[str, Any]] = [about for _, about in expected]
    for index, each in enumerate(_entries(case, "expected_no_relations", place)):
        none = f"{place}.expected_no_relations[{index}]"
        entry = _object(each, none)
        kinds = _entries(entry, "forbidden_types", none)
        if not all(isinstance(kind, str) for kind in kinds):
            raise UsageError(f"{none}.forbidden_types: expected a list of texts")
        forbidden |= set(kinds)
        if isinstance(entry.get("reason"), str):
            reference.append({"reason": entry["reason"]})
    gold = {"expected": [relation for relation, _ in expected], "forbidden": sorted(forbidden), "reference": reference}
    meta = {"class": case["class"]} if isinstance(case.get("class"), str) else {}
    return json.dumps({"id": name, "input": {"text": text}, "gold": gold, "meta": meta}).encode() + b"\n"


def _relation(entry: Any, place: str, known: Mapping[str, str]) -> tuple[dict[str, str], dict[str, Any]]:
    """An expected relation as gold, and what the key cites for it. It must be one that a reply could meet."""
    given = _object(entry, place)
    kind, source, target = (_text(given, key, place) for key in ("type", "source_item_id", "target_item_id"))
    if kind not in TYPES:
        raise UsageError(f"{place}.type: expected one of {', '.join(TYPES)}, got {kind[:100]!r}")
    for key, item in (("source_item_id", source), ("target_item_id", target)):
        if item not in known:
            there = ", ".join(known) or "none"
            raise UsageError(f"{place}.{key}: expected an item of the case's text ({there}), got {item[:100]!r}")
    terms = given.get("scope_terms")
    cited = {
        "span": given["cited_evidence_span"] if isinstance(given.get("cited_evidence_span"), str) else "",
        "terms": [term for term in cast("list[Any]", terms) if isinstance(term, str)]
        if isinstance(terms, list)
        else [],
    }
    return {"type": kind, "source": source, "target": target}, cited


def read_artifact(data: bytes, path: Path, fixture: ForeignFixture) -> tuple[list[ForeignRun], list[str]]:
    """The runs of one artifact, one an engine, and what a person should know of it.

    Raises UsageError for a file of another shape, an engine or a case that stands twice, and cases that the fixture
    hasn't. Cases of the fixture that the artifact hasn't are simply not among a run's cells.
    """
    where = shown(path)
    root = read_json(data, where)
    engines = _list(root, "engines", where, hint="is this an artifact, and not a fixture?")
    if not engines:
        raise UsageError(f"{where}: engines: expected at least one, got none")
    top = {key: json_claim(root[key]) for key in ("run_id", "generated_at_utc", "fixture") if key in root}
    runs: list[ForeignRun] = []
    places: dict[str, int] = {}
    for index, entry in enumerate(engines):
        place = f"{where}: engines[{index}]"
        engine = _object(entry, place)
        label = _engine_name(engine, place)
        if label in places:
            raise UsageError(
                f"{place}: the engine {label[:100]!r} is that of engines[{places[label]}] too, and two runs of one name"
                " can't be told apart; give each a file of its own"
            )
        places[label] = index
        cells = _cells(engine, place, fixture, shown(path))
        claimed = {**top, "engine": label, **totals_of(root, engine, label)}
        runs.append(ForeignRun(label, _run_name(root.get("run_id"), label), cells, claimed))
    told = [
        f"{where}: {said}" for run in runs for said in stated_words(stated_in(run.claimed), text_claim(run.candidate))
    ]  # fmt: skip
    return runs, [*_notes(root.get("fixture"), where, fixture), *told]


def _notes(named: Any, where: str, fixture: ForeignFixture) -> list[str]:
    if not isinstance(named, str):
        return []
    stem = re.split(r"[/\\]", named)[-1].removesuffix(".json")
    if stem in fixture.known_as:
        return []
    return [
        f"{where} says that its fixture is {text_claim(named)!r}, and {fixture.fixture.name} was given; every case id"
        " is in both, but nothing else shows that the texts and keys are the same"
    ]


def _engine_name(engine: Mapping[str, Any], place: str) -> str:
    name = _text(engine, "engine", place)
    if not 0 < len(name) <= _MAX_NAME or text_claim(name) != name:
        raise UsageError(
            f"{place}.engine: expected 1 to {_MAX_NAME} characters without U+0000 or half a surrogate pair,"
            f" got {name[:100]!r}"
        )
    return name


def _run_name(run_id: Any, engine: str) -> str:
    name = f"{run_id}/{engine}" if isinstance(run_id, str) and run_id else ""
    return name if name.isprintable() and len(name) <= 200 else ""


def _cells(engine: Mapping[str, Any], place: str, fixture: ForeignFixture, where: str) -> Mapping[str, ForeignCell]:
    cells: dict[str, ForeignCell] = {}
    places: dict[str, int] = {}
    for index, entry in enumerate(_list(engine, "cases", place)):
        here = f"{place}.cases[{index}]"
        recorded = _object(entry, here)
        case = _text(recorded, "case_id", here)
        if case in places:
            raise UsageError(
                f"{here}: the case {case[:200]!r} is that of cases[{places[case]}] too; expected each once"
            )
        places[case] = index
        cells[case] = _cell(case, recorded, here)
    known = {each.id for each in fixture.fixture.cases}
    strange = [case for case in cells if case not in known]
    if strange:
        named = ", ".join(f"{case[:200]!r}" for case in strange[:_SHOWN]) + (", …" if len(strange) > _SHOWN else "")
        raise UsageError(
            f"{place}: {len(strange)} of {len(cells)} cases are not in the fixture {fixture.fixture.name} ({named});"
            f" give the fixture that {where} was recorded with"
        )
    return cells


def _cell(case: str, recorded: Mapping[str, Any], place: str) -> ForeignCell:
    raw = recorded.get("raw_output")
    if raw is not None and not isinstance(raw, str):
        raise UsageError(f"{place}.raw_output: expected a text or null, got {what(raw)}")
    malformed, reasons = recorded.get("malformed"), recorded.get("malformed_reasons")
    claimed = {key: json_claim(recorded[key]) for key in ("malformed", "malformed_reasons") if key in recorded}
    score = recorded.get("score")
    if isinstance(score, dict):
        given = cast("Mapping[str, Any]", score)
        claimed |= {
            f"score.{key}": json_claim(given[key])
            for key in ("caught", "negative_passed")
            if given.get(key) is not None
        }
    failure = None
    if raw is None or not raw.strip():
        listed = cast("list[Any]", reasons) if isinstance(reasons, list) else [reasons]
        failure = failure_in([words for words in listed if isinstance(words, str)])
        if failure is None and raw is None:
            failure = ("not_captured", "")
    # A lone surrogate has no UTF-8; written as it is, the bytes are read as what they are: no UTF-8.
    output = (raw or "").encode("utf-8", "surrogatepass")
    return ForeignCell(case, output, failure, not malformed if isinstance(malformed, bool) else None, claimed)


def _object(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{place}: expected an object, got {what(value)}")
    return cast("Mapping[str, Any]", value)


def _list(value: Any, key: str, place: str, *, hint: str = "") -> list[Any]:
    """The list under `key`, which must be there."""
    given = _object(value, place).get(key)
    if not isinstance(given, list):
        got = what(given) if key in value else "nothing"
        raise UsageError(f"{place}: {key}: expected a list, got {got}" + (f"; {hint}" if hint else ""))
    return cast("list[Any]", given)


def _entries(value: Mapping[str, Any], key: str, place: str) -> list[Any]:
    """The list under `key`; none when it is missing or null."""
    return [] if value.get(key) is None else _list(value, key, place)


def _text(value: Mapping[str, Any], key: str, place: str) -> str:
    given = value.get(key)
    if not isinstance(given, str):
        got = what(given) if key in value else "nothing"
        raise UsageError(f"{place}.{key}: expected a text, got {got}")
    return given
