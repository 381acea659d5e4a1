"""Which modules of a frozen rule set aren't the ones here, to which stage each belongs, and how the sources differ."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness._rules import RuleSet, moved_sources, stage_sources
from harness.suites import stages

__all__ = ["DERIVING", "MovedModule", "moved_modules", "source_diff"]

DERIVING = "deriving"
"""What belongs to all stages alike: the spine between them, and what nothing narrower can be said of."""

_ORDER = ("parse", "confirm", "score", DERIVING)


@dataclass(frozen=True, slots=True)
class MovedModule:
    """A module whose source isn't the frozen one. `stages` are those of parse, confirm, score and deriving that it is
    part of; `came` and `went` say that it is there only now, or only was."""

    name: str
    stages: tuple[str, ...]
    came: bool = False
    went: bool = False

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {"module": self.name, "stages": list(self.stages), "came": self.came, "went": self.went}


def moved_modules(rules: RuleSet) -> tuple[MovedModule, ...]:
    """The modules whose source here isn't the one that `rules` was frozen with, in the order of their names."""
    moved = moved_sources(rules)
    if not moved:
        return ()
    now = stage_sources(rules.stages)
    reach = _reach(rules, {**rules.sources, **now})
    return tuple(
        MovedModule(
            name, tuple(stage for stage in _ORDER if name in reach[stage]) or (DERIVING,),
            name not in rules.sources, name not in now,
        )
        for name in moved
    )  # fmt: skip


def _reach(rules: RuleSet, sources: Mapping[str, bytes]) -> dict[str, set[str]]:
    """The modules that each stage is made of: its own function's, and those of the suite which that one imports."""
    found: dict[str, set[str]] = {stage: set() for stage in _ORDER}
    found["parse"] |= {name for name in sources if name == "harness.parse" or name.startswith("harness.parse.")}
    found["score"].add("harness._unmeasured")
    if not rules.stages:
        return found
    entry = stages(rules.stages)
    inside = {name for name in sources if name.startswith(entry.package + ".")}
    imports = {name: _imports(sources[name]) & inside for name in inside}
    for stage, function in (("parse", entry.schema), ("confirm", entry.confirm), ("score", entry.score)):
        waiting = [getattr(function, "__module__", "")]
        while waiting:
            name = waiting.pop()
            if name in inside and name not in found[stage]:
                found[stage].add(name)
                waiting += imports[name]
    return found


def _imports(source: bytes) -> set[str]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    return found


def source_diff(rules: RuleSet, module: str) -> Iterator[str]:
    """The frozen source of a module against the one here, as the lines of a unified diff."""
    before, after = rules.sources.get(module, b""), stage_sources(rules.stages).get(module, b"")
    yield from difflib.unified_diff(
        before.decode("utf-8", "replace").splitlines(), after.decode("utf-8", "replace").splitlines(),
        f"{module} as frozen in {rules.label}", f"{module} here", lineterm="",
    )  # fmt: skip
