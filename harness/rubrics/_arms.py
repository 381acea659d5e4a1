"""The arms of a manifest, and the invariants that make a control a control: texts that must be the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from harness._errors import RefusedError
from harness.rubrics._table import Table, got, listed
from harness.rubrics._texts import FixtureText, Reference
from harness.rubrics._treatments import change

__all__ = ["Arms", "Poisoned", "check_invariants", "read_arms", "read_invariants"]

_ARMS = ("calibration", "injection", "poisoning", "repeatability", "trigger")


@dataclass(frozen=True)
class Poisoned:
    """A fixture that is graded blind, beside a neutral reference, and beside an adversarial one."""

    fixture: str
    neutral: Reference
    adversarial: Reference


@dataclass(frozen=True)
class Arms:
    """The arms that a manifest has; an empty one isn't there.

    `pairs` are (control, treatment) by id, `bases` the text that each control must be identical to, `repeated` the
    fixtures asked `repeats` times, and `trigger` the ids of the tasks that a live target is given. `earned` names, by
    treatment, the fixture that says what its text earns; `rewritten` are treatments that are more than their control
    with one piece put in.
    """

    calibration: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    bases: Mapping[str, str] = field(default_factory=dict[str, str])
    poisoned: tuple[Poisoned, ...] = ()
    repeated: tuple[str, ...] = ()
    repeats: int = 0
    trigger: tuple[str, ...] = ()
    earned: Mapping[str, str] = field(default_factory=dict[str, str])
    rewritten: frozenset[str] = frozenset()


def read_invariants(manifest: Table, fixtures: Mapping[str, FixtureText]) -> tuple[tuple[str, ...], ...]:
    """The lists of fixtures whose texts must be identical. Raises SuiteError."""
    table = manifest.table("invariants")
    table.only("identical")
    value = table.values.get("identical", [])
    many = isinstance(value, list) and all(isinstance(each, list) for each in cast("list[Any]", value))
    groups = cast("list[Any]", value if many else [value])
    found: list[tuple[str, ...]] = []
    for group in groups:
        names = Table(table.file, table.place, {"identical": group}).texts("identical")
        if len(names) < 2:
            raise table.fault("identical", f"expected at least two fixtures in a list, got {got(group)}")
        for name in names:
            table.known("identical", name, fixtures, "fixture")
        found.append(names)
    return tuple(found)


def check_invariants(
    manifest: Table, groups: tuple[tuple[str, ...], ...], arms: Arms, fixtures: Mapping[str, FixtureText]
) -> None:
    """Raises RefusedError where two texts that must be identical aren't, naming both and their digests."""
    where = f"{manifest.file}: invariants: identical"
    pairs = [(where, group[0], other) for group in groups for other in group[1:]]
    pairs += [(f"{manifest.file}: arms.injection: base", base, control) for control, base in arms.bases.items()]
    for said, one, other in pairs:
        if fixtures[one].text != fixtures[other].text:
            raise RefusedError(
                f"{said}: {one} and {other} must be the same text, and they aren't: {one} has the digest"
                f" {fixtures[one].digest}, {other} has {fixtures[other].digest} (BLAKE3); nothing was frozen or asked"
            )


def read_arms(
    manifest: Table,
    *,
    fixtures: Mapping[str, FixtureText],
    references: Mapping[str, Reference],
    tasks: Mapping[str, str],
    invariants: tuple[tuple[str, ...], ...],
) -> Arms:
    """The arms, every id in them one that there is. Raises SuiteError."""
    tables = manifest.table("arms")
    tables.only(*_ARMS)
    given = {name: tables.table(name) for name in tables.values}
    calibration, repeated, repeats = (), (), 0
    pairs, bases, poisoned, trigger = (), {}, (), ()
    earned, rewritten = {}, frozenset[str]()
    if table := given.get("calibration"):
        table.only("fixtures")
        calibration = _fixtures(table, fixtures)
        for name in calibration:
            _known(
                table, "fixtures", fixtures[name], fixtures[name].verdict, "a calibration holds the judge against that"
            )
    if table := given.get("injection"):
        table.only("pairs", "base")
        pairs = _pairs(table, fixtures)
        bases = _bases(table, pairs, fixtures, invariants)
        _same_task(table, pairs, bases, fixtures)
        earned, rewritten = _earned(table, pairs, bases, fixtures)
    if table := given.get("poisoning"):
        poisoned = _poisoned(table, fixtures, references)
    if table := given.get("repeatability"):
        table.only("fixtures", "repeats")
        repeated, repeats = _fixtures(table, fixtures), table.integer("repeats", least=2, most=1000)
    if table := given.get("trigger"):
        table.only("tasks")
        trigger = table.texts("tasks", empty=False)
        if not trigger:
            raise table.fault("tasks", "expected a list of tasks, got nothing")
        for name in trigger:
            table.known("tasks", name, tasks, "task")
    return Arms(calibration, pairs, bases, poisoned, repeated, repeats, trigger, earned, rewritten)


def _fixtures(table: Table, fixtures: Mapping[str, FixtureText]) -> tuple[str, ...]:
    names = table.texts("fixtures", empty=False)
    if not names:
        raise table.fault("fixtures", "expected a list of fixtures, got nothing")
    for name in names:
        table.known("fixtures", name, fixtures, "fixture")
    return names


def _known(table: Table, key: str, fixture: FixtureText, what: str | None, why: str) -> None:
    if what is None and fixture.verdict == "blocked":
        raise table.fault(
            key,
            f'the verdict "blocked" of {fixture.id} says nothing of its scores; give it an oracle, for {why}',
        )
    if what is None:
        raise table.fault(key, f"{fixture.id} has no oracle and no verdict that says what it earns, and {why}")


def _pairs(table: Table, fixtures: Mapping[str, FixtureText]) -> tuple[tuple[str, str], ...]:
    value: Any = table.values.get("pairs")
    shape = isinstance(value, list) and all(
        isinstance(each, list) and len(cast("list[Any]", each)) == 2 for each in cast("list[Any]", value)
    )
    if not shape or not value:
        said = "nothing" if value is None else got(value)
        raise table.fault("pairs", f'expected a list of ["CONTROL", "TREATMENT"], got {said}')
    found: list[tuple[str, str]] = []
    for control, treatment in cast("list[list[Any]]", value):
        for name in (control, treatment):
            table.known("pairs", name, fixtures, "fixture")
        if control != treatment and fixtures[control].text == fixtures[treatment].text:
            raise table.fault("pairs", f"{control} and {treatment} are the same text, so that no attack is in either")
        found.append((control, treatment))
    controls, treatments = {control for control, _ in found}, [treatment for _, treatment in found]
    for name in treatments:
        if name in controls:
            raise table.fault("pairs", f"{name} is a control and a treatment; a text is one of the two")
        if treatments.count(name) > 1:
            raise table.fault("pairs", f"{name} is the treatment of two pairs; each treatment has one control")
    return tuple(found)


def _earned(
    table: Table, pairs: tuple[tuple[str, str], ...], bases: Mapping[str, str], fixtures: Mapping[str, FixtureText]
) -> tuple[dict[str, str], frozenset[str]]:
    """By treatment, whose oracle says what its text earns: its own, else its control's or the base's, since an attack
    that is put in earns nothing; and the treatments that are more than that."""
    earned: dict[str, str] = {}
    rewritten: set[str] = set()
    for control, treatment in pairs:
        done = change(fixtures[control].text, fixtures[treatment].text)
        if done == "space":
            raise table.fault(
                "pairs", f"{control} and {treatment} differ in white space alone, so that no attack is in either"
            )
        if done == "rewritten":
            rewritten.add(treatment)
        known = (treatment,) if done == "rewritten" else (treatment, control, bases[control])
        earned[treatment] = next((name for name in known if fixtures[name].quality is not None), treatment)
        _known(
            table, "pairs", fixtures[treatment], fixtures[earned[treatment]].quality,
            "only then can it be told if an attack is obeyed",
        )  # fmt: skip
    return earned, frozenset(rewritten)


def _bases(
    table: Table,
    pairs: tuple[tuple[str, str], ...],
    fixtures: Mapping[str, FixtureText],
    invariants: tuple[tuple[str, ...], ...],
) -> dict[str, str]:
    given = table.table("base")
    controls = dict.fromkeys(control for control, _ in pairs)
    for name, base in given.values.items():
        given.known(name, name, controls, "control of a pair")
        given.known(name, base, fixtures, "fixture")
        if name == base:
            raise given.fault(name, "expected another fixture: a text is always identical to itself")
    found: dict[str, str] = {}
    for control in controls:
        others = (name for group in invariants if control in group for name in group if name not in controls)
        base = given.values.get(control) or next(others, None)
        if base is None:
            raise table.fault(
                "pairs",
                f"nothing says what the control {control} is identical to; name its text in base ="
                f' {{ {control} = "…" }} or in invariants',
            )
        found[control] = base
    return found


def _same_task(
    table: Table, pairs: tuple[tuple[str, str], ...], bases: Mapping[str, str], fixtures: Mapping[str, FixtureText]
) -> None:
    for control, treatment in pairs:
        for other in (treatment, bases[control]):
            if fixtures[other].task != fixtures[control].task:
                raise table.fault(
                    "pairs",
                    f"{control} answers the task {fixtures[control].task} and {other} the task {fixtures[other].task};"
                    " a control differs from its treatment in the attack alone",
                )


def _poisoned(
    table: Table, fixtures: Mapping[str, FixtureText], references: Mapping[str, Reference]
) -> tuple[Poisoned, ...]:
    table.only("fixtures", "neutral", "adversarial")
    found: list[Poisoned] = []
    for name in _fixtures(table, fixtures):
        _known(
            table,
            "fixtures",
            fixtures[name],
            fixtures[name].quality,
            "only then can it be told if a reference moves it",
        )
        found.append(
            Poisoned(name, *(_reference(table, kind, name, references) for kind in ("neutral", "adversarial")))
        )
    return tuple(found)


def _reference(table: Table, kind: str, fixture: str, references: Mapping[str, Reference]) -> Reference:
    value: Any = table.values.get(kind)
    if isinstance(value, dict):
        inner = table.table(kind)
        listed_here = table.values["fixtures"]
        for name in inner.values:
            if name not in listed_here:
                raise inner.fault(name, f"expected a fixture of the arm; there are {listed(listed_here)}")
        if fixture not in inner.values:
            raise inner.fault(fixture, f"expected the reference that {fixture} is shown, got nothing")
        table, key, value = inner, fixture, inner.values[fixture]
    else:
        key = kind
    if value is None:
        raise table.fault(key, f'expected "REFERENCE", or {{ FIXTURE = "REFERENCE" }}, got nothing; there are'
                               f" {listed(references)}")  # fmt: skip
    found = table.known(key, value, references, "reference")
    if found.kind != kind:
        raise table.fault(key, f"expected a reference of kind {kind}, got {found.id}, which is {found.kind}")
    return found
