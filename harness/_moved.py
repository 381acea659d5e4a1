"""What moved: a plan held, component by component, against what is on disk and asked for now.

Nothing here asks, writes or refuses; it names. `accept` says which of `endpoint` and `code` a person may accept it as;
where it is empty, going on would be another experiment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from harness._candidate import Candidate
from harness._identity import digest, tagged_form
from harness._json import members
from harness._people import people_text
from harness._plan import arms_of, code_digests, digest_of_candidate
from harness._recorded import Record
from harness._rubric_moved import rubric_moved
from harness._rules import RuleSet, moved_sources
from harness._suite import Fixture, Suite
from ledger.kinds import Freeze, Plan, PlanCandidate

__all__ = [
    "FrozenCase", "FrozenFixture", "FrozenRules", "Moved", "changed_paths", "moved_arms", "moved_candidates",
    "moved_cases", "moved_code", "moved_people", "moved_people_names", "moved_rules", "moved_servers",
    "read_frozen_cases",
]  # fmt: skip

_ABSENT = "absent"
_PATHS_SHOWN = 8


@dataclass(frozen=True)
class Moved:
    """One component that isn't what the plan says. `where` names the case, candidate or rule set it belongs to.

    `before` and `after` are digests, or the values where those are no secret; `paths` are JSON pointers into the case,
    or the modules that moved.
    """

    component: str
    where: str
    before: str
    after: str
    paths: tuple[str, ...] = ()
    accept: Literal["", "endpoint", "code"] = ""

    def sentence(self) -> str:
        """What moved, from what to what, and where in it."""
        of = f" of {self.where}" if self.where else ""
        shown = ", ".join(self.paths[:_PATHS_SHOWN])
        more = f" and {len(self.paths) - _PATHS_SHOWN} more" if len(self.paths) > _PATHS_SHOWN else ""
        at = f" (at {shown}{more})" if self.paths else ""
        return f"{self.component}{of} moved from {_short(self.before)} to {_short(self.after)}{at}"

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "component": self.component, "where": self.where, "before": self.before, "after": self.after,
            "paths": list(self.paths), "accept": self.accept,
        }  # fmt: skip


def _short(value: str) -> str:
    """Digests at the length that labels have; the JSON form has them whole."""
    head, space, tail = value.rpartition(" ")
    if len(tail) == 64 and all(letter in "0123456789abcdef" for letter in tail):
        return head + space + tail[:12]
    return value


# Cases


@dataclass(frozen=True)
class FrozenCase:
    """A case as its freeze lists it: keyed digests, and its line in the frozen file."""

    id: str
    line: int
    input: str
    gold: str


@dataclass(frozen=True)
class FrozenFixture:
    """A fixture as it was frozen. `file` is None when the frozen file was withheld.

    Where its list of cases was withheld too, `cases` are those that the plan's cells tell of, and `listed` is false:
    what else the file had isn't known.
    """

    name: str
    cases: tuple[FrozenCase, ...]
    file: bytes | None
    listed: bool = True

    def text(self, case: FrozenCase, part: str) -> str | None:
        """What a case of the frozen file has under that key, as written; None where nobody can tell any more."""
        if self.file is None:
            return None
        return members(self.file.split(b"\n")[case.line - 1].decode("utf-8")).get(part)


def read_frozen_cases(listed: bytes) -> tuple[FrozenCase, ...]:
    """The blob `cases` of a fixture's freeze, in file order."""
    rows = [json.loads(line) for line in listed.split(b"\n") if line]
    return tuple(FrozenCase(row["id"], row["line"], row["input"], row["gold"]) for row in rows)


def moved_cases(frozen: FrozenFixture, now: Fixture | None, key: bytes) -> list[Moved]:
    """Cases whose input or gold is another value, that are gone, and that came. The order of lines is no value."""
    if now is None:
        return [Moved("fixture", frozen.name, f"{len(frozen.cases)} cases", _ABSENT)]
    here = {case.id: case for case in now.cases}
    found: list[Moved] = []
    for before in frozen.cases:
        where = f"case {frozen.name}/{before.id}"
        case = here.pop(before.id, None)
        if case is None:
            found.append(Moved("case", where, before.input, _ABSENT))
            continue
        for part, was, text in (("input", before.input, case.input_text), ("gold", before.gold, case.gold_text)):
            is_now = digest(text, key)
            if is_now != was:
                found.append(Moved(part, where, was, is_now, _paths(frozen, before, part, text)))
    for case in here.values() if frozen.listed else ():
        found.append(Moved("case", f"case {frozen.name}/{case.id}", _ABSENT, digest(case.input_text, key)))
    return found


def _paths(frozen: FrozenFixture, case: FrozenCase, part: str, now: str) -> tuple[str, ...]:
    before = frozen.text(case, part)
    return () if before is None else tuple(f"/{part}{path}" for path in changed_paths(before, now))


def moved_people(record: Record, frozen: FrozenFixture, now: Fixture | None, key: bytes) -> list[Moved]:
    """Fields of `meta` that the plan names as people's and that have another value, case by case; none for a plan that
    names none. What a cell's digest doesn't tell (a case that isn't planned) the frozen file does."""
    names = record.plan.people or ()
    if now is None or not names:
        return []
    told = {body.case: body.people for _, body in record.cells.values() if body.fixture == frozen.name}
    here = {case.id: case for case in now.cases}
    found: list[Moved] = []
    for case in frozen.cases:
        if case.id not in here:
            continue
        text = people_text(here[case.id].meta_text, names)
        before = None if frozen.file is None else people_text(frozen.text(case, "meta") or "{}", names)
        was, is_now = told.get(case.id) or (before and digest(before, key)), digest(text, key)
        if was and was != is_now:
            paths = () if before is None else tuple(f"/meta{path}" for path in changed_paths(before, text))
            found.append(Moved("people", f"case {frozen.name}/{case.id}", was, is_now, paths))
    return found


def moved_people_names(plan: Plan, suite: Suite) -> list[Moved]:
    """Names that a plan has under `people` and the suite no longer; more of them are another run's business."""
    if set(plan.people or ()) <= set(suite.people):
        return []
    return [Moved("people", f"suite {suite.name}", ", ".join(plan.people or ()), ", ".join(suite.people) or "none")]


def changed_paths(before: str, after: str) -> list[str]:
    """The JSON pointers (RFC 6901) at which two JSON texts differ as identity sees them; the outermost that say it."""
    return _differences(json.loads(tagged_form(before)), json.loads(tagged_form(after)))


def _differences(before: Any, after: Any) -> list[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
        names = [*old, *(name for name in new if name not in old)]
        return [
            f"/{name.replace('~', '~0').replace('/', '~1')}{rest}"
            for name in names
            for rest in (_differences(old[name], new[name]) if name in old and name in new else [""])
        ]
    if isinstance(before, list) and isinstance(after, list):
        old_items, new_items = cast("list[Any]", before), cast("list[Any]", after)
        both = min(len(old_items), len(new_items))
        found = [f"/{i}{rest}" for i in range(both) for rest in _differences(old_items[i], new_items[i])]
        return found + [f"/{i}" for i in range(both, max(len(old_items), len(new_items)))]
    return [] if before == after else [""]


# Candidates


def moved_arms(record: Record, suite: Suite, arm: str) -> list[Moved]:
    """Fixtures whose cells measured another condition than they would now: the one asked for, or the suite's."""
    plan = record.plan
    before = {body.fixture: body.arm for _, body in record.cells.values()}
    if plan.suite_arms is not None and plan.arms == list(dict.fromkeys(plan.suite_arms.values())):
        before |= {each.name: plan.suite_arms.get(each.name, "") for each in plan.fixtures}
    after = {each.name: arm or suite.arms.get(each.name, "") for each in plan.fixtures}
    found = [
        Moved("arm", f"fixture {name}", before[name] or "none", after[name] or "none")
        for name in after
        if name in before and before[name] != after[name]
    ]
    arms = arms_of(suite, list(after), arm)
    if not found and plan.arms != arms:
        found.append(Moved("arm", "", ", ".join(plan.arms) or "none", ", ".join(arms) or "none"))
    return found


def moved_candidates(record: Record, suite: Suite, now: Sequence[Candidate], key: bytes) -> list[Moved]:
    """What decides a request beside its case: prompt, shape, and each candidate's model, parameters and address."""
    plan = record.plan
    found: list[Moved] = []
    if plan.ask != suite.ask:
        found.append(Moved("ask", f"suite {suite.name}", plan.ask, suite.ask))
    if len(now) != len(plan.candidates):
        before = ", ".join(each.label for each in plan.candidates)
        return [*found, Moved("candidates", "", before, ", ".join(each.label for each in now))]
    prompts = {
        (before.prompt, after.prompt_digest, after.prompt_name)
        for before, after in zip(plan.candidates, now, strict=True)
        if before.prompt != after.prompt_digest
    }
    for was, is_now, name in sorted(prompts):
        found.append(Moved("prompt", f"suite {suite.name}" + (f", prompts/{name}.txt" if name else ""), was, is_now))
    for before, after in zip(plan.candidates, now, strict=True):
        found += _moved_candidate(record, before, after, suite.stage_functions.turns, key)
    return found


def _moved_candidate(record: Record, before: PlanCandidate, after: Candidate, turns: str, key: bytes) -> list[Moved]:
    where = f"candidate {before.label}"
    found: list[Moved] = []
    if before.protocol != after.protocol:
        found.append(Moved("protocol", where, before.protocol, after.protocol))
    if before.model != after.model:
        found.append(Moved("model", where, before.model, after.model))
    for name in sorted({*before.parameters, *after.parameters}):
        old, new = _shown(before.parameters, name), _shown(after.parameters, name)
        if not _same(before.parameters, after.parameters, name):
            found.append(Moved(name, where, old, new))
    if before.stream != after.stream:
        found.append(Moved("stream", where, _word(before.stream), _word(after.stream)))
    if not found and before.prompt == after.prompt_digest and digest_of_candidate(after, turns, key) != before.digest:
        found += _spelt_otherwise(before, after, turns, key)
    address = record.accepted("endpoint", before.base_url)
    if address != after.base_url:
        found.append(Moved("endpoint", where, address, after.base_url, accept="endpoint"))
    return found


def _word(value: bool) -> str:
    return "on" if value else "off"


def _shown(parameters: Mapping[str, Any], name: str) -> str:
    return json.dumps(parameters[name]) if name in parameters else _ABSENT


def _same(before: Mapping[str, Any], after: Mapping[str, Any], name: str) -> bool:
    """Whether a parameter is the same as far as a plan's body tells, where 1.0 reads 1 (but true isn't 1)."""
    if name not in before or name not in after:
        return False
    return tagged_form(_spelling(before[name])) == tagged_form(_spelling(after[name]))


def _spelling(value: Any) -> str:
    return json.dumps(_plain(value))


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Any]", value)]
    return value


def _spelt_otherwise(before: PlanCandidate, after: Candidate, turns: str, key: bytes) -> list[Moved]:
    """The parameter whose number has the same value in another spelling (1 and 1.0), else the turn logic."""
    for name, value in after.parameters.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            other = int(value) if isinstance(value, float) and value.is_integer() else float(value)
            spelt = replace(after, parameters={**after.parameters, name: other})
            if digest_of_candidate(spelt, turns, key) == before.digest:
                return [Moved(name, f"candidate {before.label}", json.dumps(other), json.dumps(value))]
    return [Moved("turns", f"candidate {before.label}", before.digest, digest_of_candidate(after, turns, key))]


def moved_servers(record: Record, told: Mapping[str, Mapping[str, str]]) -> list[Moved]:
    """What the servers tell of themselves, where they told it when the run opened and tell it now.

    Other weights under the same name are another model; another version is another server at the same address.
    """
    found: list[Moved] = []
    for candidate in record.plan.candidates:
        now = told.get(candidate.label, {})
        where = f"candidate {candidate.label}"
        weights, version = candidate.server.get("weights"), candidate.server.get("version")
        if weights and now.get("weights", weights) != weights:
            found.append(Moved("model", f"{where} (its weights)", weights, now["weights"]))
        if version:
            was = record.accepted("endpoint", f"version {version}")
            is_now = f"version {now['version']}" if "version" in now else was
            if was != is_now:
                found.append(Moved("endpoint", f"{where} (its server)", was, is_now, accept="endpoint"))
    return found


# Rules and code


@dataclass(frozen=True)
class FrozenRules:
    """A rule set that a plan names, as it was frozen, and the freeze; `rules` is None where its file was withheld."""

    name: str
    label: str
    freeze: Freeze
    rules: RuleSet | None


def moved_rules(frozen: Sequence[FrozenRules], now: Mapping[str, RuleSet | None]) -> list[Moved]:
    """Rule files that aren't what they were; `now` holds them by name, None for one that is gone."""
    found: list[Moved] = []
    names = [each.name for each in frozen]
    if set(now) != set(names):
        return [Moved("rules", "", ", ".join(sorted(names)), ", ".join(sorted(now)))]
    for each in frozen:
        rules = now[each.name]
        after = rules.file_digest if rules else _ABSENT
        if after == each.freeze.digest:
            continue
        rubric = rubric_moved(each.rules.file, rules.file) if rules and each.rules else None
        if rubric is not None:
            found.append(Moved("rubric", each.label, rubric.before, rubric.after, rubric.paths))
        else:
            found.append(Moved("rules", each.label, each.freeze.digest, after))
    return found


def moved_code(record: Record, frozen: Sequence[FrozenRules]) -> list[Moved]:
    """Packages whose sources aren't those of the plan, or of the last accept; `paths` names modules that score."""
    modules = {name for each in frozen if each.rules is not None for name in moved_sources(each.rules)}
    now = code_digests()
    found: list[Moved] = []
    for package in sorted({*now, *record.plan.code}):
        was = record.accepted("code", f"{package} {record.plan.code.get(package, _ABSENT)}")
        is_now = f"{package} {now.get(package, _ABSENT)}"
        if was != is_now:
            mine = tuple(sorted(name for name in modules if name.partition(".")[0] == package))
            found.append(Moved("code", "", was, is_now, mine, accept="code"))
    return found
