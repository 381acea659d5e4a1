"""The suite of choosing that belongs to a suite of grading: the same criteria, shown to choose between two texts.

Prompt and rule file are made of the same manifest. The prompt is `pairwise_prompt` of the manifest, prompts/pair.txt of
the suite, or the built-in one; what it may have filled in is [[criteria]]. The rule file has the suite's rubric and
detectors, and the built-in reading.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from harness._errors import SuiteError
from harness._suite import Suite
from harness.judging import Rubric
from harness.rubrics._files import file_inside, read_inside, shown
from harness.rubrics._fill import criteria_lines, filled
from harness.rubrics._manifest import Manifest, read_manifest
from harness.rubrics._names import PAIR
from harness.rubrics._whole import whole_file
from harness.suites._companion import Made

__all__ = ["pair_suite", "remake_pair"]

_STAGES = "pairwise"
_RULES = b'about = "Which of two texts meets the rubric better; each pair is asked in both orders."\n'
_BARS = b"""
[[bars]]
bar = "readable >= 100%"
when_planned = true
fails = "Some replies of the judge can't be read, so some pairs have no outcome."
"""


def pair_suite(suite: Suite, cases: bytes = b"") -> Suite:
    """The suite of choosing of a suite of grading; `cases` is its one fixture, `pair`.

    Raises SuiteError where the suite is none of grading, or its prompt for pairs won't do.
    """
    if suite.stages != "rubric" or suite.made is None:
        raise SuiteError(
            f'--judge: expected a suite of judging (stages = "rubric"), got {suite.name}, of stages {suite.stages}'
        )
    manifest = read_manifest(suite.folder, tomllib.loads(suite.manifest.decode("utf-8")))
    name = manifest.pairwise_prompt or PAIR
    made = Made(
        name=suite.name,
        prompt_name=name,
        prompt=_prompt(manifest, name),
        fixtures={PAIR: cases},
        rules={PAIR: _whole(manifest, _RULES, "the built-in rules for pairs")},
        rule_names=(PAIR,),
        parameters=suite.made.parameters,
        arms={PAIR: PAIR},
        engine=suite.made.engine,
        base_url=suite.made.base_url,
    )
    return replace(
        suite,
        stages=_STAGES,
        prompt_name=name,
        prompt_file=made.prompt,
        fixtures=(PAIR,),
        rule_names=(PAIR,),
        made=made,
    )


def remake_pair(folder: Path, values: Mapping[str, Any], file: bytes) -> bytes:
    """A rule file of a person for choosing, made whole: rubric, detectors, and the bars of choosing where it has none.

    Raises SuiteError.
    """
    return _whole(read_manifest(folder, values), file, "the rule file")


def _whole(manifest: Manifest, file: bytes, where: str) -> bytes:
    try:
        own = tomllib.loads(file.decode("utf-8"))
    except (ValueError, RecursionError):
        own = {"bars": ()}  # what is wrong with it is said by what reads it next
    return whole_file(manifest, file if "bars" in own or "score" in own else file + _BARS, where)


def _prompt(manifest: Manifest, name: str) -> bytes:
    """The template, the criteria filled in, a variant's own going before its base's; checked by the stages."""
    where = f"{manifest.layers[0].table.file}: pairwise_prompt"
    for layer in manifest.layers:
        path = layer.folder / "prompts" / f"{name}.txt"
        if path.exists() or path.is_symlink():
            template = read_inside(layer.folder, f"prompts/{name}.txt", where)
            return _filled(template, manifest.rubric, shown(path))
    if name == PAIR and not manifest.pairwise_prompt:
        template = (files("harness.rubrics") / f"{PAIR}.txt").read_text("utf-8")
        return _filled(template, manifest.rubric, "the built-in prompt for pairs")
    file_inside(manifest.base, f"prompts/{name}.txt", where)
    raise SuiteError(f"{where}: there is no prompts/{name}.txt")


def _filled(template: str, rubric: Rubric, where: str) -> bytes:
    macros = {"criteria": criteria_lines(rubric, scales=False)}
    return filled(template, macros, ("criteria",), rubric, where, _STAGES)
