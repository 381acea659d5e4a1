"""Rule sets: frozen files that say how replies are read, confirmed and scored.

    about = "one line for people"           optional
    [read]                                  extractor and leniencies (harness.parse.ReadRules)
    [confirm]                               clauses of the suite's confirmer
    [score]
    primary = { GROUP = "METRIC", … }       which metric is a cell's outcome, by the group of its case; the first
                                            that fits decides; a plain "METRIC" stands for every group
    [[score.metrics]]                       name, kind, applies, higher_is_better: as the suite defines them, written
                                            out so that the frozen file reads alone; another meaning is refused
    [unmeasured]                            a policy that counts some of the unmeasured (harness._unmeasured); optional
    [[bars]]                                what the figures must come to (harness._bars); optional
    [judge]                                 whose grades these are (harness._judged); only in a file that `harness
                                            grade` froze, never in one that a person wrote

A rule set's digest covers the file and the sources of the package modules that carry it out, so changed code under an
unchanged file is a different rule set. The metric that `primary` names for a case's group makes its cell correct or
incorrect (kind `rate`) or graded (kind `mean`); every group of the suite has one, so no measured cell is without an
outcome.
"""

from __future__ import annotations

import importlib.util
import pkgutil
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from blake3 import blake3

from harness._bars import Bar, read_bars
from harness._errors import HarnessError, RulesError
from harness._identity import file_digest
from harness._judged import read_judge
from harness._suite import Suite
from harness._unmeasured import Policy, read_policy
from harness.suites._registry import EVERY_GROUP, Metric, Stages, stages

if TYPE_CHECKING:
    from harness.parse import ReadRules

__all__ = [
    "RULES_VERSION",
    "RuleSet",
    "builtin_names",
    "builtin_rules",
    "load_rules",
    "moved_sources",
    "rules_digest",
    "ruleset_from_frozen",
    "stage_sources",
]

RULES_VERSION = 1
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
# What turns wire bytes into parse, confirm and score events beside the suite's own package.
_SPINE = ("harness._derive", "harness._json", "harness._outcomes", "harness._unmeasured", "harness.suites._registry")
_SECTIONS = ("read", "confirm", "score", "unmeasured")
_READER = "harness.parse"


@dataclass(frozen=True)
class RuleSet:
    """A rule set, ready to be applied.

    `sources` holds the source bytes of every module that carries it out, by module name; `digest` covers `file` and
    `sources`. `stages` is the registry entry it belongs to, or empty for reading alone. `read`, `confirm` and `score`
    are what the three stages take; `score` holds `primary` (group to metric), `metrics` (name to kind) and what the
    suite reads of its own. `policy` is None where the unmeasured are left out. `judge` says whose grades its scores
    are, where a judge's joined the run that it graded; else it is None.
    """

    name: str
    file: bytes
    stages: str
    sources: Mapping[str, bytes]
    digest: str
    read: ReadRules
    confirm: Mapping[str, Any]
    score: Mapping[str, Any]
    metrics: tuple[Metric, ...]
    primary: Mapping[str, str]
    policy: Policy | None = None
    bars: tuple[Bar, ...] = ()
    judge: Mapping[str, Any] | None = None

    @property
    def label(self) -> str:
        """How people and reports name it: the name, `@`, the first 12 digits of the digest."""
        return f"{self.name}@{self.digest[:12]}"

    @property
    def file_digest(self) -> str:
        """The plain BLAKE3 of the file alone."""
        return file_digest(self.file)


def load_rules(suite: Suite, name: str) -> RuleSet:
    """The rule set `name` of a suite: rules/NAME.toml in its folder, or the built-in one of that name.

    Raises `RulesError`.
    """
    name = name.removeprefix(f"{suite.name}/")
    file = suite.rule_file(name) if _NAME.fullmatch(name) else None
    if file is not None:
        found = _build(name, file, suite.stages, None)
        if found.judge is not None:
            raise RulesError(f"rule set {name}: [judge] stands only in what `harness grade` freezes; leave it out")
        return found
    # Those of a suite that is made hold its rubric, and one that is built in has none.
    built_in = () if suite.made else builtin_names()
    if name in built_in:
        return builtin_rules(name, suite.stages)
    here = [ascii(found)[1:-1] for found in suite.own_rules]
    raise RulesError(
        f"expected a rule set of suite {suite.name}, got {name!a}; it has {', '.join(here) or 'none of its own'}"
        + f", and built in: {', '.join(built_in)}" * bool(built_in)
        + (
            f"; put the file into {ascii(str(suite.folder / 'rules'))[1:-1]} to run or freeze under it"
            * name.endswith(".toml")
        )
    )


def builtin_rules(name: str = "default", stage_name: str = "") -> RuleSet:
    """A rule set that ships with the package. Without `stage_name` it reads, and neither confirms nor scores."""
    if name not in builtin_names():
        raise RulesError(f"expected a built-in rule set ({', '.join(builtin_names())}), got {name!a}")
    return _build(name, (files("harness") / "builtin" / f"{name}.toml").read_bytes(), stage_name, None)


def ruleset_from_frozen(name: str, file: bytes, stage_name: str, sources: Mapping[str, bytes] | None = None) -> RuleSet:
    """A rule set out of the blobs of its freeze, without the folder it came from.

    With `sources` (those that were frozen) the digest is the frozen one, whatever the code is now: `moved_sources`
    says where the two differ. Without, it is that of this code under that file.
    """
    return _build(name, file, stage_name, sources)


def moved_sources(rules: RuleSet) -> tuple[str, ...]:
    """The modules whose source isn't now what it is in `rules`, sorted; those that came or went are among them."""
    now = stage_sources(rules.stages)
    return tuple(sorted(name for name in {*now, *rules.sources} if now.get(name) != rules.sources.get(name)))


def rules_digest(file: bytes, sources: Mapping[str, bytes]) -> str:
    """BLAKE3 over a version line, the file's digest, and each module's name and digest in the order of their names."""
    lines = [f"eval-ledger rules {RULES_VERSION}", f"file {file_digest(file)}"]
    lines += [f"source {name} {file_digest(sources[name])}" for name in sorted(sources)]
    return blake3("".join(line + "\n" for line in lines).encode("ascii")).hexdigest()


@cache
def stage_sources(stage_name: str) -> Mapping[str, bytes]:
    """The sources of the modules that read replies, and, with a stage name, confirm and score them.

    As they were when first asked for: what is imported doesn't change with the files under a running process.
    """
    names = [*_SPINE, *_package_modules(_READER)]
    if stage_name:
        entry = stages(stage_name)
        for package in (entry.package, *entry.uses):
            names += _package_modules(package)
    return MappingProxyType({name: _source(name) for name in sorted(names)})


def _package_modules(package: str) -> list[str]:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        raise RulesError(f"the package {package} isn't there; install eval-ledger whole")
    inside = pkgutil.walk_packages(list(spec.submodule_search_locations), package + ".")
    return [package, *(found.name for found in inside)]


def _source(module: str) -> bytes:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        raise RulesError(
            f"the source of {module} isn't there; a rule set's digest covers it, so install the package whole"
        )
    return cast("Any", spec.loader).get_data(spec.origin)


@cache
def builtin_names() -> tuple[str, ...]:
    """The names of the rule sets that ship with the package."""
    return tuple(sorted(found.name.removesuffix(".toml") for found in (files("harness") / "builtin").iterdir()))


def _build(name: str, file: bytes, stage_name: str, sources: Mapping[str, bytes] | None) -> RuleSet:
    entry = stages(stage_name) if stage_name else None
    held = stage_sources(stage_name) if sources is None else MappingProxyType(dict(sources))
    try:
        table = _table(file)
        read, confirm = _read_rules(table.get("read")), _confirm_rules(table.get("confirm", {}), entry)
        own, metrics, primary = _score_rules(table.get("score", {}), entry)
        policy = read_policy(table["unmeasured"], metrics) if "unmeasured" in table else None
        bars = read_bars(table.get("bars", []), [metric.name for metric in metrics])
        judge = read_judge(table["judge"]) if "judge" in table else None
    except (ValueError, HarnessError) as error:
        raise RulesError(f"rule set {name}: {error}") from None
    return RuleSet(
        name=name,
        file=file,
        stages=stage_name,
        sources=held,
        digest=rules_digest(file, held),
        read=read,
        confirm=confirm,
        score=MappingProxyType(
            {**own, "primary": primary, "metrics": MappingProxyType({each.name: each.kind for each in metrics})}
        ),
        metrics=metrics,
        primary=primary,
        policy=policy,
        bars=bars,
        judge=judge,
    )


def _table(file: bytes) -> dict[str, Any]:
    try:
        table = tomllib.loads(file.decode("utf-8"), parse_float=Decimal)
    except UnicodeDecodeError as error:
        raise RulesError(f"not UTF-8 (byte {error.start}); save it as UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise RulesError(f"expected TOML, got text that isn't: {error}") from None
    unknown = set(table) - {"about", "bars", "judge", *_SECTIONS}
    if unknown:
        raise RulesError(f"unknown key {min(unknown)!a}; expected about, {', '.join(_SECTIONS)} and bars")
    if not isinstance(table.get("about", ""), str):
        raise RulesError("about: expected text")
    for section in _SECTIONS:
        if not isinstance(table.get(section, {}), dict):
            raise RulesError(f"{section}: expected a table")
    return table


def _read_rules(table: Mapping[str, Any] | None) -> ReadRules:
    from harness.parse import ReadRules

    if table is None:
        raise RulesError("expected a table [read], which says how replies are read, got none")
    try:
        return ReadRules.from_table(table)
    except ValueError as error:
        raise RulesError(str(error)) from None


def _confirm_rules(table: Mapping[str, Any], entry: Stages | None) -> Mapping[str, Any]:
    if entry is None:
        if table:
            raise RulesError("[confirm]: a rule set that belongs to no suite only reads")
        return MappingProxyType({})
    try:
        return entry.confirm_rules(table)
    except ValueError as error:
        raise RulesError(f"[confirm] {error}") from None


def _score_rules(
    table: Mapping[str, Any], entry: Stages | None
) -> tuple[Mapping[str, Any], tuple[Metric, ...], Mapping[str, str]]:
    if entry is not None and entry.score_rules is not None:
        try:
            read = entry.score_rules(table)
        except ValueError as error:
            raise RulesError(f"[score] {error}") from None
        return read.rules, read.metrics, read.primary
    unknown = set(table) - {"primary", "metrics"}
    if unknown:
        raise RulesError(f"[score] unknown key {min(unknown)!a}; expected primary and metrics")
    if entry is None:
        if table:
            raise RulesError("[score]: a rule set that belongs to no suite only reads")
        return {}, (), MappingProxyType({})
    listed = table.get("metrics")
    if listed is not None and (not isinstance(listed, list) or not listed):
        raise RulesError("[[score.metrics]]: expected name, kind, applies and higher_is_better in each")
    metrics = entry.metrics if listed is None else tuple(_metric(item, entry) for item in cast("list[Any]", listed))
    names = [metric.name for metric in metrics]
    if len(set(names)) != len(names):
        raise RulesError("[[score.metrics]]: a name stands twice")
    return {}, metrics, _primary(table.get("primary", entry.primary), metrics, entry)


def _metric(item: Any, entry: Stages) -> Metric:
    known = {metric.name: metric for metric in entry.metrics}
    if not isinstance(item, dict) or set(cast("dict[str, Any]", item)) != {
        "name",
        "kind",
        "applies",
        "higher_is_better",
    }:
        raise RulesError("[[score.metrics]]: expected name, kind, applies and higher_is_better in each")
    given = cast("dict[str, Any]", item)
    if not isinstance(given["name"], str) or given["name"] not in known:
        raise RulesError(f"[[score.metrics]] name: expected one of {', '.join(known)}, got {given['name']!a}")
    metric = known[given["name"]]
    for key in ("kind", "applies", "higher_is_better"):
        meant = getattr(metric, key)
        if given[key] != meant or type(given[key]) is not type(meant):
            raise RulesError(f"[[score.metrics]] {metric.name}: {key}: expected {meant!a}, got {given[key]!a}")
    return metric


def _primary(given: Any, metrics: tuple[Metric, ...], entry: Stages) -> Mapping[str, str]:
    table = {EVERY_GROUP: given} if isinstance(given, str) else given
    if not isinstance(table, Mapping):
        raise RulesError(f'[score] primary: expected {{ GROUP = "METRIC" }}, got {given!a}')
    chosen = cast("Mapping[str, Any]", table)
    applies = {metric.name: metric.applies for metric in metrics}
    for group, metric in chosen.items():
        if group not in (*entry.groups, EVERY_GROUP):
            raise RulesError(f"[score] primary: expected a group out of {', '.join(entry.groups)}, got {group!a}")
        if not isinstance(metric, str) or metric not in applies:
            raise RulesError(f"[score] primary.{group}: expected one of {', '.join(applies)}, got {metric!a}")
        if applies[metric] not in (group, EVERY_GROUP):
            raise RulesError(f"[score] primary.{group}: {metric} applies to {applies[metric]} cases only")
    for group in entry.groups:
        if group not in chosen and EVERY_GROUP not in chosen:
            raise RulesError(f"[score] primary: no metric for {group} cases; every group needs one")
    return MappingProxyType(dict(chosen))
