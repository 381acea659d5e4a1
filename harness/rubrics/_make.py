"""A suite out of its manifest: cases, prompt and whole rule files, in memory, as every other suite has them on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from harness._errors import RulesError, SuiteError
from harness._rules import ruleset_from_frozen
from harness.rubrics._cases import cases_of_arms
from harness.rubrics._files import shown
from harness.rubrics._fill import BUILT_IN, prompt_file
from harness.rubrics._manifest import Manifest, read_manifest
from harness.rubrics._table import listed
from harness.rubrics._whole import BUILT_IN_RULES, rule_files, whole_file
from harness.suites._companion import Made

__all__ = ["make", "prompt", "remake"]

_T = TypeVar("_T")
_STAGES = "rubric"


def make(folder: Path, values: Mapping[str, Any]) -> Made:
    """The suite of a folder, `values` being its suite.toml. Raises SuiteError and RefusedError."""
    return _guarded(folder, lambda: _made(read_manifest(folder, values)))


def _made(manifest: Manifest) -> Made:
    rules = rule_files(manifest)
    for name, file in rules.items():
        _check_rules(manifest, name, file)
    fixtures = cases_of_arms(manifest)
    for name in manifest.rule_names:
        if name not in rules:
            raise manifest.table.fault("rules", f"{name!a} is not in rules/, which has {listed(sorted(rules))}")
    own = tuple(sorted(set(rules) - {BUILT_IN_RULES})) or (BUILT_IN_RULES,)
    prompt_name = manifest.prompt or BUILT_IN
    return Made(
        name=manifest.name,
        prompt_name=prompt_name,
        prompt=prompt_file(manifest, prompt_name),
        fixtures=fixtures,
        rules=rules,
        rule_names=manifest.rule_names or own,
        parameters=manifest.sampling,
        arms={name: name for name in fixtures},
        engine=manifest.engine,
        base_url=manifest.base_url,
        trigger={name: manifest.tasks[name] for name in manifest.arms.trigger},
    )


def _check_rules(manifest: Manifest, name: str, file: bytes) -> None:
    """Raises SuiteError for a rule file that no run could use: what it says itself, or the manifest's bars in it."""
    path = manifest.base / "rules" / f"{name}.toml"
    if fault := _fault_of(name, file):
        raise SuiteError(f"{shown(path) if path.is_file() else manifest.table.file}: {fault}")


@lru_cache(maxsize=64)
def _fault_of(name: str, file: bytes) -> str:
    """Why a whole rule file can't be read, or "". A suite is loaded more than once in a process, its rules are few."""
    try:
        # Only whether it can be read matters here, so the sources of a digest aren't collected.
        ruleset_from_frozen(name, file, _STAGES, {})
    except RulesError as error:
        return str(error)
    return ""


def remake(folder: Path, values: Mapping[str, Any], file: bytes) -> bytes:
    """A rule file of a person, made whole as those of the suite are. Raises SuiteError."""
    return _guarded(folder, lambda: whole_file(read_manifest(folder, values), file, "the rule file"))


def prompt(folder: Path, values: Mapping[str, Any], name: str) -> bytes:
    """The template prompts/NAME.txt of a suite, filled in as `Made.prompt` is. Raises SuiteError."""
    return _guarded(folder, lambda: prompt_file(read_manifest(folder, values), name))


def _guarded(folder: Path, work: Callable[[], _T]) -> _T:
    try:
        return work()
    except RecursionError:  # dotted keys nest without end, and a parser lets them pass
        raise SuiteError(f"{shown(folder / 'suite.toml')}: nested too deeply to be read") from None
