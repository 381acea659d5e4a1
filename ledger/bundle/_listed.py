"""What a bundle must hold beside its claims: what was asked for, what that rests on, every run on its fixtures, and
what the auditor's seed drew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from ledger._errors import BadBundle
from ledger._event import hash_of
from ledger.bundle._course import course
from ledger.bundle._draw import rank
from ledger.bundle._read import BundleFile, CaseRow, Claim, Listed, ListedRun, Reveal, read_row
from ledger.bundle._seen import Seen
from ledger.kinds import Cell, Clear, Close, Freeze, Genesis, Plan, Report, Supersede, Taint

__all__ = ["Case", "check_asked", "check_draw", "check_fixture", "drawn_events", "read_cases"]

Case = tuple[str, str]
"""A drawn cell's case: its fixture's name, and its line."""
_FIGURE = ("run", "rules", "candidate", "metric", "kind", "k", "n", "planned", "tally")


def check_asked(bundle: BundleFile, seen: Seen) -> None:
    """What was asked for is there with all that it rests on; a report's figures are the claims. Raises BadBundle."""
    about, asked = bundle.about, bundle.about.asked
    for seq in asked.events:
        if seq not in seen.events:
            raise BadBundle(f"event {seq} was asked for, and isn't there")
    listed = {run.run for each in about.fixtures for run in each.runs}
    for run in asked.runs:
        plans = seen.of("plan", run)
        if len(plans) != 1:
            raise BadBundle(f"run {run} was asked for: expected its plan, got {len(plans)}")
        body = seen.bodies.get(plans[0].seq)
        if run not in listed and not (isinstance(body, Plan) and not body.fixtures):
            raise BadBundle(f"run {run} was asked for, and no fixture lists it")
    needed: set[int] = set()
    for seq in sorted(seen.events, reverse=True):
        if seq in needed or seen.events[seq].run in asked.runs:
            needed.update(seen.events[seq].causes)
    gone = sorted(needed.difference(seen.events))
    if gone:
        raise BadBundle(f"event {gone[0]}, which something that was asked for rests on, is left out")
    for claim in about.claims:
        if claim.run not in asked.runs:
            raise BadBundle(f"a claim is about run {claim.run}, which wasn't asked for")
    unnamed = sorted(seq for seq, why in seen.withheld() if why == "redacted" and seq not in seen.redacted)
    if unnamed:
        raise BadBundle(f"event {unnamed[0]} is said to be redacted, and no redaction up to the checkpoint names it")
    if asked.report is not None:
        _check_report(bundle, seen, asked.report, about.claims)


def _check_report(bundle: BundleFile, seen: Seen, digest: str, claims: Iterable[Claim]) -> None:
    found = {seq: body for seq, body in seen.bodies.items() if isinstance(body, Report) and body.digest == digest}
    if not found:
        raise BadBundle("the event of the report that was asked for isn't shown")
    figures = [
        [cast("Mapping[str, Any]", each).get(name) for name in _FIGURE]
        for body in found.values() for each in body.figures if isinstance(each, dict)
    ]  # fmt: skip
    claimed = [[getattr(claim, name) for name in _FIGURE] for claim in claims]
    for run, rules, candidate, metric, *_ in (each for each in claimed if each not in figures):
        raise BadBundle(f"{metric} of {candidate} in run {run} under {rules} is no figure of the report")
    for figure in figures:
        run, rules, candidate, metric, kind, *_, tally = figure
        if figure not in claimed and kind in ("rate", "mean") and tally in seen.bodies:
            raise BadBundle(f"a claim is left out, of the report: {metric!r}, run {run}, {candidate!r}, {rules!r}")
    for seq in found:
        name = f"blobs/{seq}-file"
        if name in bundle.sizes and hash_of(bundle.whole(name)) != digest:
            raise BadBundle(f"event {seq}: the file in it isn't the report that was asked for")


def check_fixture(seen: Seen, fixture: Listed, *, complete: bool) -> str:
    """Every run on a fixture is listed, with what came of it. Says so, or raises BadBundle."""
    freezes = set(fixture.freezes)
    shown = {seq: body for seq, body in seen.bodies.items() if isinstance(body, Freeze) and body.what == "fixture"}
    digests = {shown[seq].digest for seq in freezes if seq in shown}
    if len(digests) > 1 or any(seq in seen.bodies and seq not in shown for seq in freezes):
        raise BadBundle(f"{fixture.name}: its freezes aren't of one fixture")
    if digests and fixture.name not in {shown[seq].name for seq in freezes if seq in shown}:
        raise BadBundle(f"{fixture.name}: its freezes have another name")
    more = sorted(seq for seq, body in shown.items() if body.digest in digests and seq not in freezes)
    if more:
        raise BadBundle(f"{fixture.name}: event {more[0]} froze the same file, and isn't listed")
    runs = {each.run: each for each in fixture.runs}
    if len(runs) != len(fixture.runs):
        raise BadBundle(f"{fixture.name}: a run is listed twice")
    for plan in seen.plans:
        if freezes.intersection(plan.causes) and plan.run not in runs:
            raise BadBundle(f"{fixture.name}: run {plan.run} (event {plan.seq}) stands on it too, and is left out")
    for each in fixture.runs:
        _check_run(seen, fixture, each, complete=complete)
    stand = "1 run stands" if len(runs) == 1 else f"{len(runs)} runs stand"
    return f"{fixture.name!r}: {stand} on it: {'; '.join(_said(seen, each) for each in fixture.runs)}"


def _said(seen: Seen, run: ListedRun) -> str:
    said = [course(seen, run.run)]
    said += [f"reported by {', '.join(map(str, run.reports))}" if run.reports else "not reported"]
    said += [f"superseded by {seq}" for seq in run.superseded_by]
    said += [f"tainted by {seq}" for seq in run.tainted_by]
    cells = "1 cell" if run.cells == 1 else f"{run.cells} cells"
    return f"{run.run} ({cells}, {', '.join(said)})"


def _check_run(seen: Seen, fixture: Listed, run: ListedRun, *, complete: bool) -> None:
    where = f"{fixture.name}: run {run.run}"
    line = seen.events.get(run.plan)
    if line is None or (line.kind, line.run) != ("plan", run.run) or not set(fixture.freezes).intersection(line.causes):
        raise BadBundle(f"{where}: event {run.plan} is no plan of it on this fixture")
    plan = seen.bodies.get(run.plan)
    purpose = plan.purpose if isinstance(plan, Plan) else None
    closes = seen.of("close", run.run)
    close = seen.bodies.get(closes[-1].seq) if closes else None
    status = close.status if isinstance(close, Close) else None
    cells = seen.cells[run.run] if complete else run.cells
    for name, said, is_ in (
        ("purpose", run.purpose, purpose), ("status", run.status, status), ("number of cells", run.cells, cells),
    ):  # fmt: skip
        if said != is_:
            raise BadBundle(f"{where}: its {name} is given as {said}, and is {is_}")
    if complete:
        reports = [each.seq for each in seen.of("report") if run.run in {seen.runs.get(seq) for seq in each.causes}]
        if reports != run.reports:
            raise BadBundle(f"{where}: reported by {run.reports} as the maker has it, and by {reports} in fact")
    _check_lineage(seen, where, run)


def _check_lineage(seen: Seen, where: str, run: ListedRun) -> None:
    """Supersessions and taints, as far as bodies are shown; taints reach runs by ways that a bundle doesn't hold."""
    for kind, seqs in (("report", run.reports), ("supersede", run.superseded_by), ("taint", run.tainted_by)):
        there = {each.seq for each in seen.of(kind)}
        if not there.issuperset(seqs):
            raise BadBundle(f"{where}: one of the events {seqs} is no {kind} that is in the bundle")
    bodies = {each.seq: seen.bodies.get(each.seq) for each in seen.of("supersede")}
    if None not in bodies.values():
        found = _in_force(bodies, run.run)
        if found != run.superseded_by:
            raise BadBundle(f"{where}: superseded by {run.superseded_by} as the maker has it, and by {found} in fact")
    # Answers that were taken over from a tainted run are tainted too.
    taken = [seen.events.get(cause) for each in seen.of("reuse", run.run) for cause in each.causes]
    sources = {run.run, *(each.run for each in taken if each is not None)}
    cleared = [seen.bodies.get(each.seq) for each in seen.of("clear")]
    if None not in cleared:
        over = {each.taint for each in cleared if isinstance(each, Clear)}
        for each in seen.of("taint"):
            body = seen.bodies.get(each.seq)
            on_it = isinstance(body, Taint) and body.target.what == "run" and body.target.id in sources
            if on_it and each.seq not in over and each.seq not in run.tainted_by:
                raise BadBundle(f"{where}: event {each.seq} taints it, and isn't listed")


def _in_force(bodies: Mapping[int, Any], run: str) -> list[int]:
    """The supersession of a run that is in force: none that is taken back, and of several the last."""
    taken: set[int] = set()
    found: list[int] = []
    for seq in sorted(bodies, reverse=True):
        body = bodies[seq]
        if not isinstance(body, Supersede) or seq in taken:
            continue
        if body.target.what == "supersession" and body.target.id.isdigit():
            taken.add(int(body.target.id))
        elif (body.target.what, body.target.id) == ("run", run):
            found.append(seq)
    return found[:1]


def read_cases(bundle: BundleFile) -> list[Case]:
    """The cases of drawn cells. Raises BadBundle."""
    if "cases.jsonl" not in bundle.sizes:
        return []
    rows = [read_row(CaseRow, data) for data in bundle.rows("cases.jsonl")]
    return [(row.fixture, row.line) for row in rows]


def drawn_events(seen: Seen, places: set[tuple[str, int]]) -> set[int]:
    """The events of drawn cells, and those of other cells that they rest on, but for these cells' own events."""
    found = {line.seq for line in seen.events.values() if (line.run, line.cell) in places}
    for seq in sorted(seen.events, reverse=True):
        if seq in found:
            rest = [seen.events[cause] for cause in seen.events[seq].causes if cause in seen.events]
            found.update(each.seq for each in rest if each.cell and each.kind != "cell")
    return found


def check_draw(seen: Seen, reveal: Reveal, root: bytes, runs: Iterable[str], cases: list[Case]) -> str:
    """What is revealed is what the seed draws, is shown whole, and has its cases. Says so, or raises BadBundle.

    The digests of the cases are the harness's affair (harness._rederive): what a case is, this package doesn't know.
    """
    every = [(run, each.cell) for run in runs for each in seen.of("cell", run)]
    order = sorted(every, key=lambda each: rank(root, each[0], each[1], reveal.seed))[: reveal.n]
    drawn = [(each.run, each.cell) for each in reveal.drawn]
    if drawn != order or len(drawn) != reveal.n:
        raise BadBundle("other cells are revealed than the seed draws")
    wholly = drawn_events(seen, set(drawn))
    for seq, why in sorted(seen.withheld()):
        line = seen.events[seq]
        if why != "redacted" and seq in wholly:
            raise BadBundle(
                f"event {seq}, of cell {line.cell} of run {line.run}, is hidden, and a drawn cell rests on it"
            )
    if not isinstance(seen.bodies.get(1), Genesis):
        raise BadBundle("genesis is hidden, and without its key no case can be held against its digests")
    wanted: set[tuple[str, str]] = set()
    for run, cell in drawn:
        for each in seen.of("cell", run):
            body = seen.bodies.get(each.seq)
            if each.cell == cell and isinstance(body, Cell):
                wanted.add((body.fixture, body.case))
    if len(cases) != len(wanted):
        raise BadBundle(f"expected {len(wanted)} cases of the drawn cells, got {len(cases)}")
    return f"{len(drawn)} of {len(every)} cells are what the seed {reveal.seed!r} draws, and are shown whole"
