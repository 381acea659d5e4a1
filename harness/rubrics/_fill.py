"""The prompt of a judge suite: a template with what it shows of the rubric filled in from the manifest.

    [[criteria]] [[flags]] [[policy]] [[reply]]     filled in here, once, when the suite is loaded
    {{ task }} {{ text }} {{ reference }}           filled in for each case, when it is asked

The first line names the rubric by its digest, so answers to another wording are told apart. It is a comment of the
template's language, and no judge is shown it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files

from harness._errors import SuiteError
from harness.judging import Rubric, Threshold, naming_rubric
from harness.rubrics._files import read_inside, shown
from harness.rubrics._manifest import Manifest
from harness.rubrics._table import ID, got
from harness.suites._registry import stages

__all__ = ["BUILT_IN", "criteria_lines", "fill_in", "filled", "prompt_file"]

BUILT_IN = "grade"
"""The template that a suite has without one of its own."""
_MACRO = re.compile(r"\[\[([a-z_]+)\]\]")


def prompt_file(manifest: Manifest, name: str) -> bytes:
    """The template prompts/NAME.txt, filled in; the built-in one where the suite has none of that name and it is called
    `grade`. A variant's own goes before its base's. Raises SuiteError."""
    where = f"{manifest.layers[0].table.file}: prompt"
    if not ID.fullmatch(name):
        raise SuiteError(f"{where}: expected the name of a file in prompts/ without .txt, got {got(name)}")
    for layer in manifest.layers:
        path = layer.folder / "prompts" / f"{name}.txt"
        if path.exists() or path.is_symlink():
            template = read_inside(layer.folder, f"prompts/{name}.txt", where)
            return fill_in(template, manifest.rubric, shown(path))
    if name == BUILT_IN:
        template = (files("harness.rubrics") / f"{BUILT_IN}.txt").read_text("utf-8")
        return fill_in(template, manifest.rubric, f"the built-in prompt {BUILT_IN}")
    return fill_in(read_inside(manifest.base, f"prompts/{name}.txt", where), manifest.rubric, where)


def fill_in(template: str, rubric: Rubric, where: str) -> bytes:
    """A template with the rubric in it, checked by the stages. `where` begins a message. Raises SuiteError."""
    macros = {
        "criteria": criteria_lines(rubric, scales=True),
        "flags": _flags(rubric),
        "policy": _policy(rubric),
        "reply": _reply(rubric),
    }
    wanted = ("criteria", "reply", "flags") if rubric.flags else ("criteria", "reply")
    return filled(template, macros, wanted, rubric, where, "rubric")


def filled(
    template: str, macros: Mapping[str, str], wanted: Sequence[str], rubric: Rubric, where: str, stage_name: str
) -> bytes:
    """A template with `macros` filled in and its rubric named, checked by the stages; those `wanted` must stand in it.

    `where` begins a message. Raises SuiteError.
    """
    template = template.replace("\r\n", "\n")
    there = set(_MACRO.findall(template))
    if unknown := sorted(there - set(macros)):
        raise SuiteError(
            f"{where}: [[{unknown[0]}]] is nothing that can be filled in; there are [[{']], [['.join(macros)}]]"
        )
    for name in wanted:
        if name not in there:
            raise SuiteError(f"{where}: expected [[{name}]] in the prompt, or the judge would never see it")
    named = naming_rubric(rubric.digest, _MACRO.sub(lambda found: macros[found[1]], template))
    fault = stages(stage_name).check_prompt(named)
    if fault is not None:
        raise SuiteError(f"{where}: {fault}")
    return named.encode("utf-8")


def criteria_lines(rubric: Rubric, *, scales: bool) -> str:
    """The criteria as a judge is shown them, a line each; with the scale of each where scores are asked for."""
    weighted = len({each.weight for each in rubric.criteria}) > 1
    lines: list[str] = []
    for each in rubric.criteria:
        scale = f", a whole number from {each.least} to {each.most}" if scales else ""
        weight = f"{';' if scales else ','} weight {each.weight_text}" if weighted else ""
        said = each.description.strip().replace("\r\n", "\n").replace("\n", "\n  ")
        name = f" ({each.name.strip()})" if each.name.strip() != each.id else ""
        lines.append(f"- {each.id}{name}{scale}{weight}" + (f": {said}" if said else ""))
    return "\n".join(lines)


def _flags(rubric: Rubric) -> str:
    if not rubric.flags:
        return "There are none."
    return "\n".join(
        f"- {each.id}: " + each.description.strip().replace("\r\n", "\n").replace("\n", "\n  ") for each in rubric.flags
    )


def _policy(rubric: Rubric) -> str:
    passes, fails = rubric.reply.passes[0], rubric.reply.fails[0]
    if isinstance(rubric.policy, Threshold):
        same = len({each.weight for each in rubric.criteria}) == 1
        ranges = {(each.least, each.most) for each in rubric.criteria}
        share = "score" if ranges == {(0, 1)} else "(score - lowest) / (highest - lowest)"
        mean = (
            f"the mean of {share} over the criteria"
            if same
            else f"the mean of {share}, weighted by the criteria's weights,"
        )
        said = f'The verdict is "{passes}" if {mean} is at least {rubric.policy.text}'
    else:
        least = rubric.policy.least
        if len(least) == len(rubric.criteria) and len(set(least.values())) == 1:
            said = f'The verdict is "{passes}" if every score is at least {next(iter(least.values()))}'
        else:
            each = ", ".join(f"{name} at least {number}" for name, number in least.items())
            said = f'The verdict is "{passes}" if these scores are reached: {each}'
    blocks = f' A raised flag makes it "{fails}", whatever the scores.' if rubric.flags else ""
    return f'{said}; otherwise it is "{fails}".{blocks}'


def _reply(rubric: Rubric) -> str:
    passes, fails = rubric.reply.passes[0], rubric.reply.fails[0]
    scores = ", ".join(f"{json.dumps(each.id)}: <{each.least} to {each.most}>" for each in rubric.criteria)
    total = {
        "sum": "<the sum of the scores>", "weighted": "<the sum of each score times its weight>", "none": "",
    }[rubric.reply.total]  # fmt: skip
    parts = [f'"scores": {{ {scores} }}']
    parts += ['"flags": [<the ids of the flags that you raise, or nothing>]'] if rubric.flags else []
    parts += [f'"total": {total}'] if total else []
    parts.append(f'"verdict": {json.dumps(passes, ensure_ascii=False)} or {json.dumps(fails, ensure_ascii=False)}')
    parts += [f'"{rubric.reply.comments[0]}": "<one sentence>"'] if rubric.reply.comments else []
    return "{\n  " + ",\n  ".join(parts) + "\n}"
