"""Whether two numbers mean the same thing: each component that moved beside the candidate (or the rules), by name.

Rule code that moved under an unchanged file is settled by behaviour: where replaying what either run recorded, with the
code here, derives the very events that stand, the two are comparable. So is an environment that can change what is
derived (harness._environment has the policy); what it can't change is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness._environment import Shift, moved_environment, shifts_in_words
from harness._errors import HarnessError
from harness._fingerprint import Fingerprints, FrozenSet, case_set, fingerprints, freeze_of, plan_of
from harness._moved import Moved
from harness._rubric_moved import OF_THE_RUBRIC, rubric_moved
from harness._sides import Duel, Side
from ledger import Ledger
from ledger.kinds import Plan, PlanCandidate

__all__ = ["Behaviour", "Comparability", "comparability"]

_SHOWN = ("read", "confirm", "score", "metrics", "primary", "policy", "bars")


@dataclass(frozen=True)
class Behaviour:
    """What replaying both runs with the code here gave: how many of the recorded derivations it derives again.

    `what` is what moved, `withheld` counts those that nobody can derive any more, and `why` says why a run could not be
    replayed at all.
    """

    what: str
    reproduced: int
    total: int
    withheld: int = 0
    why: str = ""

    @property
    def same(self) -> bool:
        """Whether every derivation that can be checked is as recorded, and there was one."""
        return not self.why and self.total > 0 and self.reproduced == self.total

    def sentence(self) -> str:
        """In words."""
        if self.why:
            return f"{self.what} moved, and what it does can't be held against what stands: {self.why}"
        if not self.total:
            return f"{self.what} moved; nothing is recorded that it could be held against"
        apart = f"; {self.withheld:,} can't be checked, for what they rest on is withheld" if self.withheld else ""
        end = "comparable" if self.same else "not comparable"
        return f"{self.what} moved; {self.reproduced:,} of {self.total:,} derivations identical: {end}{apart}"

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "what": self.what, "reproduced": self.reproduced, "total": self.total, "withheld": self.withheld,
            "same": self.same, "why": self.why,
        }  # fmt: skip


@dataclass(frozen=True)
class Comparability:
    """`moved` names what keeps two sides apart, `mend` the commands that would help. `candidate` lists what differs
    in the candidates themselves, `beside` what else differs and decides nothing of what a score means; `environment`
    has all that differs in what the two were run in."""

    a: Fingerprints
    b: Fingerprints
    moved: tuple[Moved, ...]
    mend: tuple[str, ...]
    behaviour: Behaviour | None
    candidate: tuple[str, ...]
    beside: tuple[str, ...]
    environment: tuple[Shift, ...] = ()

    @property
    def comparable(self) -> bool:
        """Whether nothing moved that may not move."""
        return not self.moved

    def two_suites(self, a: str = "A", b: str = "B") -> str:
        """That the sides are of two suites, in a sentence; empty where they are of one."""
        for each in self.moved:
            if each.component == "suite":
                return (
                    f"{a} is of the suite {each.before} and {b} of {each.after}: their cases and scores mean different"
                    " things, and no rescore mends that"
                )
        return ""

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        behaviour = self.behaviour
        return {
            "comparable": self.comparable, "moved": [each.as_json() for each in self.moved], "mend": list(self.mend),
            "fingerprints": {"a": self.a.as_json(), "b": self.b.as_json()},
            "behaviour": None if behaviour is None else behaviour.as_json(),
            "candidate_differs": list(self.candidate), "also_differs": list(self.beside),
            "environment": [each.as_json() for each in self.environment],
        }  # fmt: skip


def comparability(ledger: Ledger, duel: Duel) -> Comparability:
    """Hold the fingerprints of two sides against each other, component by component."""
    a, b = duel.a, duel.b
    left, right = (fingerprints(ledger, side.run, side.rules, side.candidate) for side in (a, b))
    if duel.mode == "rules":
        return Comparability(left, right, (), (), None, (), ())
    plans = plan_of(ledger, a.run), plan_of(ledger, b.run)
    moved = [] if a.run == b.run else _moved_surroundings(ledger, duel, plans, left, right)
    shifts = moved_environment(left.more["environment"], right.more["environment"])
    rules, behaviour = _moved_rules(ledger, duel, left, right, [each for each in shifts if each.weight == "derives"])
    moved += rules
    ours, theirs = (_candidate(plan, side) for plan, side in zip(plans, (a, b), strict=True))
    same = ours.digest == theirs.digest
    if same:
        moved += _moved_model(a.candidate, left, right)
    return Comparability(
        left, right, tuple(moved), tuple(_mend(duel, moved)), behaviour,
        () if same else tuple(_candidate_differs(ours, theirs)), tuple(_beside(left, right, same=same)), shifts,
    )  # fmt: skip


def _candidate(plan: Plan, side: Side) -> PlanCandidate:
    return next(each for each in plan.candidates if each.label == side.candidate)


# The suite, its cases, and how they were asked


def _moved_surroundings(
    ledger: Ledger, duel: Duel, plans: tuple[Plan, Plan], left: Fingerprints, right: Fingerprints
) -> list[Moved]:
    before, after = left.components, right.components
    found: list[Moved] = []
    for name in ("suite", "ask"):
        if before[name] != after[name]:
            found.append(Moved(name, "", str(before[name]), str(after[name])))
    if before["cases"] != after["cases"]:
        sets = case_set(ledger, duel.a.run, plans[0]), case_set(ledger, duel.b.run, plans[1])
        found += _moved_cases(*sets, plans)
    if before["arms"] != after["arms"]:
        found.append(Moved("arm", "", ", ".join(before["arms"]) or "none", ", ".join(after["arms"]) or "none"))
    if before["epochs"] != after["epochs"]:
        found.append(Moved("epochs", "", str(before["epochs"]), str(after["epochs"])))
    return found


def _moved_cases(a: FrozenSet, b: FrozenSet, plans: tuple[Plan, Plan]) -> list[Moved]:
    found: list[Moved] = []
    only_a = [key for key in a.golds if key not in b.golds]
    only_b = [key for key in b.golds if key not in a.golds]
    # Where a list was withheld, only what was planned is known of it: that the other has more says nothing.
    if a.whole and b.whole and (only_a or only_b):
        names = " → ".join(
            dict.fromkeys(", ".join(f"{plan.suite}/{each.name}" for each in plan.fixtures) for plan in plans)
        )
        paths = (*(a.names[key] for key in only_a), *(b.names[key] for key in only_b))
        found.append(
            Moved(
                "cases", names, f"{len(a.golds)} cases ({len(only_a)} of them not in B)",
                f"{len(b.golds)} cases ({len(only_b)} of them not in A)", paths,
            )
        )  # fmt: skip
    for key, gold in a.golds.items():
        if key in b.golds and b.golds[key] != gold:
            found.append(Moved("gold", f"case {a.names[key]}", gold, b.golds[key]))
    return found


# Rules and their code


def _moved_rules(
    ledger: Ledger, duel: Duel, left: Fingerprints, right: Fingerprints, shifts: Sequence[Shift]
) -> tuple[list[Moved], Behaviour | None]:
    found: list[Moved] = []
    where = " → ".join(dict.fromkeys((duel.a.rules, duel.b.rules)))
    before, after = left.components, right.components
    modules = tuple(
        sorted(
            name for name in {*before["code"], *after["code"]} if before["code"].get(name) != after["code"].get(name)
        )
    )
    if before["rules"] != after["rules"]:
        found += _moved_files(ledger, duel, where, before["rules"], after["rules"])
        if modules:
            found.append(_code(where, modules))
        return found, None
    if not modules and not shifts:
        return found, None
    behaviour = _behaviour(ledger, duel, "code" if modules else f"the environment ({shifts_in_words(shifts)})")
    if modules:
        return ([] if behaviour.same else [_code(where, modules)]), behaviour
    if not behaviour.same and (behaviour.why or behaviour.total or behaviour.withheld):
        found += [Moved("environment", each.name, each.before, each.after) for each in shifts]
    return found, behaviour


def _code(where: str, modules: tuple[str, ...]) -> Moved:
    before, after = (label.rpartition("@")[2] for label in (where.split(" → ")[0], where.split(" → ")[-1]))
    return Moved("code", where, before, after, modules)


def _moved_files(ledger: Ledger, duel: Duel, where: str, before: str, after: str) -> list[Moved]:
    """Which sections of two rule files say something else, none of them where a file can't be read any more; and the
    rubric and the reference by themselves, where a judge was shown another."""
    from harness._thaw import thaw_rules

    try:
        ours, theirs = (thaw_rules(ledger, freeze_of(ledger, side.run, side.rules)) for side in (duel.a, duel.b))
    except HarnessError:
        return [Moved("rules", where, before, after)]
    sections = tuple(name for name in _SHOWN if getattr(ours, name) != getattr(theirs, name))
    whose = [dict(each.judge or {}) | {"run": ""} for each in (ours, theirs)]
    was, now = (str(each.pop("reference", "none")) for each in whose)
    shown = [Moved("reference", where, was, now)] if was != now else []
    sections = (*sections, *(f"judge.{name}" for name in sorted({*whose[0], *whose[1]})
                             if whose[0].get(name) != whose[1].get(name)))  # fmt: skip
    rubric = rubric_moved(ours.file, theirs.file)
    if rubric is None:
        if shown and not sections:
            return shown
        return [*shown, Moved("rules", where, before, after, sections or ("about or layout alone",))]
    moved = Moved("rubric", where, rubric.before, rubric.after, rubric.paths)
    others = tuple(name for name in sections if name not in OF_THE_RUBRIC)
    return [*shown, moved, *([Moved("rules", where, before, after, others)] if others else [])]


def _behaviour(ledger: Ledger, duel: Duel, what: str) -> Behaviour:
    from harness._replay_check import check_run

    places = dict.fromkeys((side.run, side.rules) for side in (duel.a, duel.b))
    try:
        checks = [check_run(ledger, run, label) for run, label in places]
    except HarnessError as problem:
        return Behaviour(what, 0, 0, why=str(problem))
    faults = [rules.fault for check in checks for rules in check.rules if rules.fault]
    return Behaviour(
        what, sum(each.reproduced for each in checks), sum(each.total for each in checks),
        sum(each.withheld for each in checks), faults[0] if faults else "",
    )  # fmt: skip


# The candidate, and what lies beside


def _moved_model(label: str, left: Fingerprints, right: Fingerprints) -> list[Moved]:
    """Where the candidate is the same, the model that the server made of it must be too: it counts, not the alias."""
    found: list[Moved] = []
    where = f"candidate {label} (as the server resolved it)"
    before, after = left.more["models"], right.more["models"]
    if before and after and before != after:
        found.append(Moved("model", where, ", ".join(before), ", ".join(after)))
    weights = left.more["server"].get("weights", ""), right.more["server"].get("weights", "")
    if all(weights) and weights[0] != weights[1]:
        found.append(Moved("model", f"candidate {label} (its weights)", *weights))
    return found


def _candidate_differs(a: PlanCandidate, b: PlanCandidate) -> list[str]:
    found = [name for name in ("protocol", "model", "prompt", "stream") if getattr(a, name) != getattr(b, name)]
    names = sorted({*a.parameters, *b.parameters})
    found += [name for name in names if a.parameters.get(name) != b.parameters.get(name)]
    return found or ["turn logic, or the spelling of a number"]


def _beside(left: Fingerprints, right: Fingerprints, *, same: bool) -> list[str]:
    before, after = left.more, right.more
    found = [name for name in ("via", "planned", "accepted") if before[name] != after[name]]
    shifts = moved_environment(before["environment"], after["environment"])
    found += [f"environment: {each.sentence()}" for each in shifts if each.weight != "derives"]
    found += [f"code of {name}" for name in _changed(before["packages"], after["packages"])]
    if same and before["address"] != after["address"]:
        found.append("address")
    if same:
        found += [f"server: {name}" for name in _changed(before["server"], after["server"]) if name != "weights"]
    return found


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


def _mend(duel: Duel, moved: Sequence[Moved]) -> list[str]:
    a, b = duel.a, duel.b
    components = {each.component for each in moved}
    found: list[str] = []
    if "suite" in components:
        return found
    if "rubric" in components:
        found.append(
            "`harness run …` asks both anew under one rubric; a rescore can't mend it, for the judge was shown another"
        )
    elif "reference" in components:
        runs = " and of ".join(dict.fromkeys((a.run, b.run)))
        found.append(f"`harness grade` of {runs} by one judge, both with --reference-gold or both without")
    elif any(path.startswith("judge.") for each in moved for path in each.paths):
        found.append(f"`harness grade` of {' and of '.join(dict.fromkeys((a.run, b.run)))} by one judge")
    elif components & {"rules", "code"}:
        name = a.rules.rpartition("@")[0]
        runs = " ".join(dict.fromkeys((a.run, b.run)))
        found.append(f"`harness rescore {runs} --rules {name}` reads both under one rule set, with nothing asked")
    if "environment" in components:
        runs = " ".join(dict.fromkeys((a.run, b.run)))
        found.append(f"`harness replay --check {runs}` names each result that is derived otherwise here")
    if components == {"gold"}:
        found.append("`harness run … --reuse` takes the responses over and scores them under one key")
    elif components & {"ask", "cases", "arm", "epochs", "gold"}:
        found.append(f"`harness run …` asks B's candidate ({b.candidate}) as A was asked, on the same cases")
    if "model" in components:
        found.append("`harness run …` asks both anew, while one model answers under that name")
    return found
