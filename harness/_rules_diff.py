"""What a rule set says, switch by switch, and how two of them differ: in their switches, and in the code that carries
them out.

A switch is named by its place in the file, such as `read.fence`, and has the value that is in force, written out or
not. So two files that differ in comments or order have no switch that differs.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, TypeAlias, cast

from harness._identity import file_digest
from harness._rules import RuleSet

__all__ = ["ModuleDifference", "RulesDifference", "SwitchDifference", "code_diff", "diff_rules", "switches"]

Value: TypeAlias = "bool | int | str | list[str] | None"


@dataclass(frozen=True)
class SwitchDifference:
    """A switch whose value differs; None where a rule set doesn't have it (another suite's, or a clause less)."""

    switch: str
    a: Value
    b: Value


@dataclass(frozen=True)
class ModuleDifference:
    """A module whose source differs, by the plain BLAKE3 of the two; None where it is not among the sources."""

    module: str
    a: str | None
    b: str | None


@dataclass(frozen=True)
class RulesDifference:
    """How two rule sets differ. `same` is whether they are one, whatever they are called."""

    a: RuleSet
    b: RuleSet
    switches: tuple[SwitchDifference, ...]
    code: tuple[ModuleDifference, ...]

    @property
    def same(self) -> bool:
        """Whether one digest covers both: the same file, carried out by the same code."""
        return self.a.digest == self.b.digest

    @property
    def same_file(self) -> bool:
        """Whether the two files are the same bytes."""
        return self.a.file == self.b.file

    def sentence(self) -> str:
        """The whole of it in one sentence."""
        if self.same:
            return "the same rule set"
        if self.same_file:
            return f"the same file, and other code: {_many(len(self.code), 'module')}"
        apart = [] if not self.switches else [_many(len(self.switches), "switch")]
        apart += [] if not self.code else [_many(len(self.code), "module")]
        if self.switches:
            return f"two rule sets, which differ in {' and '.join(apart)}"
        said = "files that differ in words alone: every switch is the same"
        return f"{said}; other code: {apart[0]}" if apart else f"{said}, and so is the code"

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "a": _name(self.a), "b": _name(self.b), "same": self.same, "same_file": self.same_file,
            "says": self.sentence(),
            "switches": [{"switch": each.switch, "a": each.a, "b": each.b} for each in self.switches],
            "code": [{"module": each.module, "a": each.a, "b": each.b} for each in self.code],
        }  # fmt: skip


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}{'es' if what.endswith('ch') else 's'}"


def _name(rules: RuleSet) -> dict[str, str]:
    return {"label": rules.label, "digest": rules.digest, "file": rules.file_digest, "suite": rules.stages}


def diff_rules(a: RuleSet, b: RuleSet) -> RulesDifference:
    """Hold two rule sets against one another."""
    first, second = switches(a), switches(b)
    names = [*first, *(name for name in second if name not in first)]
    moved = [
        SwitchDifference(name, first.get(name), second.get(name))
        for name in names
        if first.get(name) != second.get(name) or (name in first) != (name in second)
    ]
    code = [
        ModuleDifference(module, _digest(a.sources, module), _digest(b.sources, module))
        for module in sorted({*a.sources, *b.sources})
        if a.sources.get(module) != b.sources.get(module)
    ]
    return RulesDifference(a, b, tuple(moved), tuple(code))


def _digest(sources: Mapping[str, bytes], module: str) -> str | None:
    return file_digest(sources[module]) if module in sources else None


def code_diff(a: RuleSet, b: RuleSet) -> Iterator[str]:
    """The modules that differ as lines of a unified diff, without line ends."""
    for module in sorted({*a.sources, *b.sources}):
        old, new = (each.sources.get(module, b"").decode("utf-8", "replace").splitlines() for each in (a, b))
        yield from difflib.unified_diff(old, new, f"{a.label}/{module}", f"{b.label}/{module}", lineterm="")


def switches(rules: RuleSet) -> dict[str, Value]:
    """Every switch of a rule set with the value in force, in the order of a rule file."""
    found: dict[str, Value] = {f"read.{field.name}": getattr(rules.read, field.name) for field in fields(rules.read)}
    found |= {f"confirm.{name}": each for name, value in rules.confirm.items() for name, each in _named(name, value)}
    found |= {f"score.primary.{group}": metric for group, metric in rules.primary.items()}
    own = {name: value for name, value in rules.score.items() if name not in ("primary", "metrics")}
    found |= {f"score.{name}": each for name, value in own.items() for name, each in _spread(name, value)}
    found["score.metrics"] = [metric.name for metric in rules.metrics]
    found["unmeasured.policy"] = rules.policy.name if rules.policy else "leave-out"
    for index, count in enumerate(rules.policy.counts if rules.policy else (), start=1):
        which = [*sorted(count.statuses), *sorted(count.reasons)] or ["every unmeasured cell"]
        found[f"unmeasured.count.{index}"] = f"{count.metric} as {count.value:g}: {', '.join(which)}"
    for bar in rules.bars:
        only = " (judged only where cells of it are planned)" if bar.when_planned else ""
        found[f"bars.{bar.metric} {bar.op} {bar.threshold}"] = (bar.fails or "fails without a conclusion") + only
    for name, value in (rules.judge or {}).items():
        found[f"judge.{name}"] = value if isinstance(value, str) else ", ".join(value)
    return found


def _spread(name: str, value: Any) -> Iterator[tuple[str, Value]]:
    """A table of a rule file, entry by entry: each is a switch."""
    if not isinstance(value, Mapping):
        yield from _named(name, value)
        return
    for key, inner in cast("Mapping[str, Any]", value).items():
        yield f"{name}.{key}", _plain(inner)


def _named(name: str, value: Any) -> Iterator[tuple[str, Value]]:
    """A list of parts that have an id or a name, part by part: each is a switch."""
    parts: list[Any] = list(cast("Any", value)) if isinstance(value, list | tuple) else []
    ids = [getattr(each, "id", None) or getattr(each, "name", None) for each in parts]
    if not parts or not all(isinstance(each, str) for each in ids):
        yield name, _plain(value)
        return
    for known_by, each in zip(ids, parts, strict=True):
        yield f"{name}.{known_by}", str(each)


def _plain(value: Any) -> Value:
    if isinstance(value, Decimal):
        # 0.6 and 0.60 are one gate.
        return f"{value:f}".rstrip("0").rstrip(".") if "." in f"{value:f}" else f"{value:f}"
    if isinstance(value, list | tuple):
        return [str(item) for item in cast("list[Any]", value)]
    return value if isinstance(value, bool | int | str) or value is None else str(value)
