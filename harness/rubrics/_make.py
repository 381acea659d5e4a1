"""A suite out of its manifest: cases, prompt and whole rule files, in memory, as every other suite has them on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from harness._errors import SuiteError
from harness.rubrics._cases import cases_of_arms
from harness.rubrics._files import shown
from harness.rubrics._fill import BUILT_IN, prompt_file
from harness.rubrics._manifest import Manifest, read_manifest
from harness.rubrics._table import listed
from harness.rubrics._whole import BUILT_IN_RULES, rule_files, whole_file
from harness.suites._companion import Made

__all__ = ["make", "prompt", "remake"]

_T = TypeVar("_T")


def make(folder: Path, values: Mapping[str, Any]) -> Made:
    """The suite of a folder, `values` being its suite.toml. Raises SuiteError and RefusedError."""
    return _guarded(folder, lambda: _made(read_manifest(folder, values)))


def _made(manifest: Manifest) -> Made:
    rules = rule_files(manifest)
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
