"""Suites as they lie on disk: a manifest, prompts, rule files, and fixtures of cases.

    fixtures/SUITE/suite.toml              name, stages, ask, prompt, rules and people (optional), [parameters]
    fixtures/SUITE/prompts/NAME.txt        the template that `prompt` names
    fixtures/SUITE/rules/NAME.toml         rule sets (see harness._rules)
    fixtures/SUITE/FIXTURE/cases.jsonl     one {"id", "input", "gold", "meta"} a line

A suite of judging has criteria, texts and arms in its manifest instead (docs/JUDGES.md), of which its cases and whole
rule files are made; `extends` makes a variant of one. Everything is checked before the first request: a person learns
of a bad line from its number, not from a run.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast, get_args

from harness._carried import FIXTURES, carried_root, list_suites, places
from harness._errors import IdentityError, SuiteError
from harness._identity import file_digest, tagged_form
from harness._json import JSON, JSONError, loads, members
from harness._people import check_people, read_people
from harness.suites._companion import Made, companion
from harness.suites._registry import Stages, stage_names, stages
from ledger import printable

__all__ = [
    "Ask", "Case", "Fixture", "Suite", "case_of_line", "find_made", "has_fixture", "load_prompt",
    "load_suite", "made_suite", "parse_cases",
]  # fmt: skip

Ask = Literal["object", "array", "jsonl", "python", "text"]

_BOM = b"\xef\xbb\xbf"
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_KEYS = frozenset({"name", "about", "stages", "ask", "prompt", "rules", "parameters", "people"})
_CASE_KEYS = ("id", "input", "gold", "meta")
_NOT_FIXTURES = frozenset({"prompts", "rules"})


@dataclass(frozen=True)
class Case:
    """One case. The three texts are exact slices of the file; `line` is its line there, from 1."""

    id: str
    input_text: str
    gold_text: str
    meta_text: str
    line: int

    @cached_property
    def input(self) -> JSON:
        """What may reach the model."""
        return loads(self.input_text)

    @cached_property
    def gold(self) -> JSON:
        """What only scoring sees."""
        return loads(self.gold_text)

    @cached_property
    def meta(self) -> JSON:
        """What neither sees: labels for people."""
        return loads(self.meta_text)


@dataclass(frozen=True)
class Fixture:
    """A file of cases, in file order, with the file's bytes as read."""

    suite: str
    name: str
    file: bytes
    cases: tuple[Case, ...]

    @property
    def digest(self) -> str:
        """The plain BLAKE3 of the file (64 lower-case hex digits)."""
        return file_digest(self.file)


@dataclass(frozen=True)
class Suite:
    """A suite's manifest, as read, and what lies beside it. `fixtures` names every fixture in the folder, sorted;
    `rule_names` the rule sets that a run uses unless told otherwise, in the manifest's order.

    `made` is what a manifest of judging comes to, None for a suite of files; `arms` names the condition that each of
    its fixtures measures. `people` names the fields of `meta` that people judge by (harness._people), sorted.
    """

    name: str
    folder: Path
    manifest: bytes
    stages: str
    ask: Ask
    prompt_name: str
    prompt_file: bytes
    parameters: Mapping[str, Any]
    fixtures: tuple[str, ...]
    rule_names: tuple[str, ...]
    made: Made | None = field(default=None, repr=False)
    people: tuple[str, ...] = ()

    @property
    def arms(self) -> Mapping[str, str]:
        """The condition that each fixture's cells measure, where the suite says so."""
        return self.made.arms if self.made else MappingProxyType({})

    @property
    def own_rules(self) -> tuple[str, ...]:
        """The names of the suite's own rule sets, sorted."""
        return tuple(sorted(self.made.rules if self.made else _stems(self.folder)))

    def rule_file(self, name: str) -> bytes | None:
        """The rule file of that name, whole; None where the suite has none."""
        if self.made:
            return self.made.rules.get(name)
        path = self.folder / "rules" / f"{name}.toml"
        return path.read_bytes() if path.is_file() else None

    def whole_rules(self, file: bytes) -> bytes:
        """A rule file of a person's own as it is frozen: of judging, with the rubric in it. Raises SuiteError."""
        remake = companion(self.stages).remake if self.made else None
        return file if remake is None else remake(self.folder, _toml(self.manifest, self.folder / "suite.toml"), file)

    def made_prompt(self, name: str) -> bytes | None:
        """The template prompts/NAME.txt of a suite that is made, as it is asked; None for a suite of files, whose file
        is the template. Raises SuiteError."""
        fill = companion(self.stages).prompt if self.made else None
        return None if fill is None else fill(self.folder, _toml(self.manifest, self.folder / "suite.toml"), name)

    @property
    def prompt(self) -> str:
        """The prompt template."""
        return self.prompt_file.decode("utf-8")

    @property
    def stage_functions(self) -> Stages:
        """The registry's entry for `stages`."""
        return stages(self.stages)


def load_suite(reference: str, root: Path = FIXTURES) -> tuple[Suite, tuple[Fixture, ...]]:
    """The suite that `reference` names, and the fixtures it asks for: all of them, or the one named.

    `reference` is NAME or NAME/FIXTURE under `root`, or the path of a suite's folder, or that path/FIXTURE. A name
    goes before a path, and both before a suite that the package carries. Raises `SuiteError`, naming file and line.
    """
    folder, wanted = _find(reference, root)
    suite = _load_manifest(folder, named=folder.parent in (root, carried_root()))
    names = suite.fixtures if wanted is None else (wanted,)
    return suite, tuple(_load_fixture(suite, name) for name in names)


def has_fixture(folder: Path, name: str) -> bool:
    """Whether the suite in `folder` has a fixture of that name. Raises SuiteError for a suite that can't be read."""
    if (folder / name / "cases.jsonl").is_file():
        return True
    path = folder / "suite.toml"
    return (
        path.is_file() and _is_made(_toml(_read(path), path)) and name in _load_manifest(folder, named=False).fixtures
    )


def made_suite(folder: Path) -> Suite | None:
    """The suite of a folder whose cases are made of its manifest; None for a suite of files, and where there is none.

    Raises SuiteError for one that can't be read.
    """
    path = folder / "suite.toml"
    return _load_manifest(folder, named=False) if path.is_file() and _is_made(_toml(_read(path), path)) else None


def find_made(reference: str, root: Path = FIXTURES) -> Suite | None:
    """The suite that `reference` names as for `load_suite`, where it is made of its manifest; else None."""
    return made_suite(_find(reference, root)[0])


def _stems(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(found.stem for found in (folder / "rules").glob("*.toml")))


def _is_made(table: Mapping[str, Any]) -> bool:
    stage_name = table.get("stages")
    return "extends" in table or (isinstance(stage_name, str) and companion(stage_name).make is not None)


def _find(reference: str, root: Path) -> tuple[Path, str | None]:
    for base in places(reference, root):
        if (base / "suite.toml").is_file():
            return base, None
        if (base.parent / "suite.toml").is_file() and base.name not in _NOT_FIXTURES:
            if has_fixture(base.parent, base.name):
                return base.parent, base.name
            there = _load_manifest(base.parent, named=False).fixtures
            raise SuiteError(f"{_show(base.parent)} has no fixture {base.name!r}; it has {_listed(there)}")
    raise SuiteError(
        f"expected a suite, SUITE/FIXTURE, or the path of a suite's folder, got {reference!r}; "
        f"{_show(root)} has {_listed(list_suites(root))}{_carried_too(root)}"
    )


def _carried_too(root: Path) -> str:
    carried = carried_root() if root == FIXTURES else None
    return f", and eval-ledger carries {_listed(list_suites(carried))}" if carried else ""


def _fixture_names(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(p.parent.name for p in folder.glob("*/cases.jsonl") if p.parent.name not in _NOT_FIXTURES))


def _load_manifest(folder: Path, *, named: bool) -> Suite:
    path = folder / "suite.toml"
    manifest = _read(path)
    table = _toml(manifest, path)
    named_stages = table.get("stages")
    if isinstance(named_stages, str) and named_stages and named_stages not in stage_names():
        # What may stand in a manifest follows from it.
        raise SuiteError(
            f"{_show(path)}: stages: expected one of {', '.join(stage_names())}, got {named_stages[:64]!a}"
        )
    if _is_made(table):
        return _make(folder, path, manifest, table, named=named)
    unknown = set(table) - _KEYS
    if unknown and "stages" not in table:
        raise SuiteError(f"{_show(path)}: stages: expected one of {', '.join(stage_names())}, got nothing")
    if unknown:
        raise SuiteError(f"{_show(path)}: unknown key {min(unknown)!r}; expected {', '.join(sorted(_KEYS))}")
    name = _text(table, "name", path)
    if not _NAME.fullmatch(name):
        raise SuiteError(f"{_show(path)}: name: expected lower-case letters, digits, _ . and -, got {name!r}")
    if named and name != folder.name:
        raise SuiteError(f"{_show(path)}: name is {name!r} and the folder is {folder.name!r}; give both the same name")
    ask = _text(table, "ask", path)
    if ask not in get_args(Ask):
        raise SuiteError(f"{_show(path)}: ask: expected one of {', '.join(get_args(Ask))}, got {ask!r}")
    stage_name = _text(table, "stages", path)
    entry = stages(stage_name)
    prompt_name = "" if entry.prompt and "prompt" not in table else _text(table, "prompt", path)
    prompt_file = load_prompt(folder, prompt_name, entry, path) if prompt_name else entry.prompt.encode()
    fixtures = _fixture_names(folder)
    if not fixtures:
        raise SuiteError(f"{_show(folder)} has no fixture; put cases in {_show(folder / 'NAME' / 'cases.jsonl')}")
    for fixture in fixtures:
        if not _NAME.fullmatch(fixture):
            raise SuiteError(
                f"{_show(folder)}: expected a fixture's name in lower-case letters, digits, _ . and -, got {fixture!r}"
            )
    return Suite(
        name=name,
        folder=folder,
        manifest=manifest,
        stages=stage_name,
        ask=cast("Ask", ask),
        prompt_name=prompt_name,
        prompt_file=prompt_file,
        parameters=_parameters(table.get("parameters", {}), path),
        fixtures=fixtures,
        rule_names=_rule_names(table.get("rules"), folder, path),
        people=read_people(table.get("people", []), _show(path)),
    )


def _make(folder: Path, path: Path, manifest: bytes, table: Mapping[str, Any], *, named: bool) -> Suite:
    """A suite whose cases and rule files are made of its manifest, or of the one that it extends."""
    stage_name = _text(table, "stages", path) if "stages" in table else "rubric"
    name = _text(table, "name", path)
    if named and name != folder.name:
        raise SuiteError(f"{_show(path)}: name is {name!r} and the folder is {folder.name!r}; give both the same name")
    make = companion(stage_name).make
    if make is None:
        raise SuiteError(f"{_show(path)}: a suite of {stage_name} extends no other")
    made = make(folder, table)
    for each in (name, made.name, *made.fixtures):
        if not _NAME.fullmatch(each):
            raise SuiteError(f"{_show(path)}: expected names in lower-case letters, digits, _ . and -, got {each!r}")
    return Suite(
        name=made.name, folder=folder, manifest=manifest, stages=stage_name, ask="object",
        prompt_name=made.prompt_name, prompt_file=made.prompt, parameters=_parameters(dict(made.parameters), path),
        fixtures=tuple(made.fixtures), rule_names=made.rule_names, made=made,
    )  # fmt: skip


def load_prompt(folder: Path, name: str, entry: Stages, manifest: Path) -> bytes:
    """The template prompts/NAME.txt of a suite's folder, as read and checked by its stages.

    `manifest` is the file that names it, for messages. Raises `SuiteError`.
    """
    if not _NAME.fullmatch(name):
        raise SuiteError(
            f"{_show(manifest)}: prompt: expected the name of a file in prompts/ without .txt, got {name!r}"
        )
    path = folder / "prompts" / f"{name}.txt"
    data = _read(path)
    fault = entry.check_prompt(_decode(data, path))
    if fault is not None:
        raise SuiteError(f"{_show(path)}: {fault}")
    return data


def _rule_names(listed: Any, folder: Path, path: Path) -> tuple[str, ...]:
    there = _stems(folder)
    if listed is None:
        return there or ("default",)
    names = cast("list[str]", listed)
    if not isinstance(listed, list) or not names or not all(isinstance(name, str) for name in cast("list[Any]", names)):
        raise SuiteError(f"{_show(path)}: rules: expected a list of names of files in rules/, got {names!r}")
    for name in names:
        if name not in there and name != "default":
            raise SuiteError(f"{_show(path)}: rules: {name!r} is not in rules/, which has {_listed(there)}")
    if len(set(names)) != len(names):
        raise SuiteError(f"{_show(path)}: rules: a name stands twice in {names!r}")
    return tuple(names)


def _parameters(table: Any, path: Path) -> Mapping[str, Any]:
    if not isinstance(table, dict):
        raise SuiteError(f"{_show(path)}: parameters: expected a table, got {table!r}")
    parameters = cast("dict[str, Any]", table)
    for name, value in parameters.items():
        if not _plain(value):
            raise SuiteError(f"{_show(path)}: parameters.{name}: expected what JSON can hold, got {value!r}")
    return MappingProxyType(parameters)


def _plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(_plain(item) for item in cast("list[Any]", value))
    if isinstance(value, dict):
        return all(_plain(item) for item in cast("dict[str, Any]", value).values())
    if isinstance(value, float):
        return value - value == 0  # neither NaN nor infinite
    return isinstance(value, str | bool | int)


def _load_fixture(suite: Suite, name: str) -> Fixture:
    path = suite.folder / name / "cases.jsonl"
    data = suite.made.fixtures[name] if suite.made else _read(path)
    cases = parse_cases(data, path, suite.stage_functions)
    check_people(((case.line, case.meta_text) for case in cases), suite.people, _show(path))
    return Fixture(suite.name, name, data, cases)


def parse_cases(data: bytes, path: Path, entry: Stages) -> tuple[Case, ...]:
    """The cases of a cases.jsonl, checked by the suite's stages. `path` is for messages only.

    Lines end with LF or CRLF; those of white space alone are skipped. Raises `SuiteError` for the first bad line, for
    an id that stands twice (naming both lines), and when there is no case.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        raise SuiteError(f"{_show(path)}: starts with a byte order mark; save it as UTF-8 without one")
    cases: list[Case] = []
    lines: dict[str, int] = {}
    for number, raw in enumerate(data.split(b"\n"), start=1):
        if not raw.strip():
            continue
        where = f"{_show(path)}:{number}"
        case = _parse_case(_decode(raw, where), number, where)
        if case.id in lines:
            raise SuiteError(
                f"{where}: the id {case.id!r} stands on line {lines[case.id]} too; give each case its own id"
            )
        lines[case.id] = number
        fault = entry.check_case(case.input, case.gold)
        if fault is not None:
            raise SuiteError(f"{where}: {fault}")
        cases.append(case)
    if not cases:
        raise SuiteError(f"{_show(path)}: expected one case a line, got none")
    return tuple(cases)


def case_of_line(line: bytes, number: int, where: str) -> Case:
    """One case out of one line of a cases.jsonl. `where` is for messages. Raises `SuiteError`."""
    return _parse_case(_decode(line, where), number, where)


def _parse_case(text: str, number: int, where: str) -> Case:
    try:
        found = members(text)
    except JSONError as error:
        raise SuiteError(f"{where}: expected one JSON object, got a line that isn't: {error}") from None
    unknown = set(found) - set(_CASE_KEYS)
    if unknown:
        raise SuiteError(f"{where}: unknown key {min(unknown)!r}; expected {', '.join(_CASE_KEYS)}")
    for key in _CASE_KEYS[:3]:
        if key not in found:
            raise SuiteError(f"{where}: missing key {key!r}; a case has {', '.join(_CASE_KEYS)}")
    name = loads(found["id"])
    if not isinstance(name, str) or not 0 < len(name) <= 200 or _UNPRINTABLE.search(name):
        raise SuiteError(f"{where}: id: expected 1 to 200 printable characters, got {repr(name)[:220]}")
    for key in ("input", "gold"):
        try:
            tagged_form(found[key])
        except IdentityError as error:
            raise SuiteError(f"{where}: {key}: {error}") from None
    return Case(name, found["input"], found["gold"], found.get("meta", "{}"), number)


def _read(path: Path) -> bytes:
    if path.exists() and not path.is_file() and not path.is_dir():
        # It could be waited for for ever.
        raise SuiteError(f"{_show(path)}: expected a file, got a pipe or a device")
    try:
        return path.read_bytes()
    except OSError as error:
        raise SuiteError(f"{_show(path)}: can't be read: {error.strerror}") from None


def _decode(data: bytes, where: Path | str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        shown = _show(where) if isinstance(where, Path) else where
        raise SuiteError(f"{shown}: not UTF-8 (byte {error.start}); save it as UTF-8") from None


def _toml(data: bytes, path: Path) -> dict[str, Any]:
    if data.startswith(_BOM):
        raise SuiteError(f"{_show(path)}: starts with a byte order mark; save it as UTF-8 without one")
    try:
        return tomllib.loads(_decode(data, path))
    except (ValueError, RecursionError) as error:  # tomllib lets pass what int() says of 5,000 digits
        raise SuiteError(f"{_show(path)}: expected TOML, got text that isn't: {error}") from None


def _text(table: Mapping[str, Any], key: str, path: Path) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        got = "nothing" if key not in table else repr(value)
        raise SuiteError(f"{_show(path)}: {key}: expected text, got {got}")
    return value


def _show(path: Path) -> str:
    return printable(str(path))


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(printable(name) for name in names) or "none"
