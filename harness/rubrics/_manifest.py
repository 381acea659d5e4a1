"""A suite.toml of judging, read whole: every key known, every reference to something that is there.

docs/JUDGES.md is the reference of what may stand in one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from harness.judging import Rubric
from harness.rubrics._arms import Arms, check_invariants, read_arms, read_invariants
from harness.rubrics._extends import Layer, resolve
from harness.rubrics._rubric import read_rubric
from harness.rubrics._table import ID, Table, got
from harness.rubrics._texts import FixtureText, Reference, read_fixtures, read_references, read_tasks

__all__ = ["Manifest", "read_manifest"]

_KEYS = (
    "name", "about", "stages", "prompt", "pairwise_prompt", "rules", "judge", "sampling", "criteria", "flags", "policy",
    "reply", "tasks", "references", "fixtures", "invariants", "arms", "bars",
)  # fmt: skip
_MOST_DEPTH = 32


@dataclass(frozen=True)
class Manifest:
    """A manifest, and of a variant the one that it extends with what the variant changes.

    `name` is the name of the suite that is measured: a variant's is its base's. `layers` are the folders a prompt may
    lie in, the variant's own first and the base's last; `base` is the base's, where rules and texts lie.
    """

    name: str
    about: str
    table: Table
    layers: tuple[Layer, ...]
    prompt: str
    pairwise_prompt: str
    engine: str
    base_url: str
    sampling: Mapping[str, Any]
    rubric: Rubric
    tasks: Mapping[str, str]
    references: Mapping[str, Reference]
    fixtures: Mapping[str, FixtureText]
    arms: Arms
    rule_names: tuple[str, ...]
    bars: Any

    @property
    def base(self) -> Path:
        """The folder of the suite that is measured."""
        return self.layers[-1].folder


def read_manifest(folder: Path, values: Mapping[str, Any]) -> Manifest:
    """The manifest of the suite in `folder`, `values` being its suite.toml.

    Raises SuiteError with one sentence that names file and place, and RefusedError where two texts that must be the
    same bytes aren't.
    """
    layers = resolve(folder, values)
    table = layers[-1].table
    table.only(*_KEYS)
    rubric = read_rubric(table)
    tasks = read_tasks(table, layers[-1].folder)
    references = read_references(table, layers[-1].folder, rubric)
    fixtures = read_fixtures(table, layers[-1].folder, tasks, rubric)
    invariants = read_invariants(table, fixtures)
    arms = read_arms(table, fixtures=fixtures, references=references, tasks=tasks, invariants=invariants)
    check_invariants(table, invariants, arms, fixtures)
    judge = next(
        (layer.table.table("judge") for layer in layers if "judge" in layer.table.values), table.table("judge")
    )
    judge.only("engine", "base_url")
    if "base_url" in judge.values and "engine" not in judge.values:
        raise judge.fault("base_url", 'goes with an engine; name one, such as engine = "openai/local-model"')
    return Manifest(
        name=table.id("name"),
        about=layers[0].table.text("about", "", empty=True),
        table=table,
        layers=layers,
        prompt=next((_file_name(each.table, "prompt") for each in layers if "prompt" in each.table.values), ""),
        pairwise_prompt=_file_name(table, "pairwise_prompt"),
        engine=_line(judge, "engine"),
        base_url=_line(judge, "base_url"),
        sampling=_sampling(layers),
        rubric=rubric,
        tasks=tasks,
        references=references,
        fixtures=fixtures,
        arms=arms,
        rule_names=table.texts("rules", empty=False),
        bars=table.values.get("bars"),
    )


def _file_name(table: Table, key: str) -> str:
    if key not in table.values:
        return ""
    name = table.text(key)
    if not ID.fullmatch(name) or name != name.lower():
        raise table.fault(key, f"expected the name of a file in prompts/ without .txt, got {got(name)}")
    return name


def _line(table: Table, key: str) -> str:
    if key not in table.values:
        return ""
    text = table.text(key)
    if text != text.strip() or not text.isprintable():
        raise table.fault(key, f"expected one line without white space around it, got {got(text)}")
    return text


def _sampling(layers: tuple[Layer, ...]) -> dict[str, Any]:
    """The parameters of the base, with the variants' in their place, key by key."""
    found: dict[str, Any] = {}
    for layer in reversed(layers):
        table = layer.table.table("sampling")
        for key, value in table.values.items():
            if not _plain(value, _MOST_DEPTH):
                raise table.fault(key, f"expected what JSON can hold, got {got(value)}")
            found[key] = value
    return found


def _plain(value: Any, depth: int) -> bool:
    if isinstance(value, list | dict) and depth > 0:
        inner = cast("Any", value).values() if isinstance(value, dict) else cast("list[Any]", value)
        return all(_plain(each, depth - 1) for each in inner)
    if isinstance(value, str):
        return "\0" not in value
    if isinstance(value, bool):
        return True
    if isinstance(value, int):
        return abs(value) < 1 << 53
    return isinstance(value, float) and value - value == 0
