"""Links of what is said about runs: accepts, judges, reports and what was published of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from harness._errors import HarnessError
from harness._graded import evidence_of
from harness._identity import file_digest
from harness._label_store import targets_of
from harness._labels import read_labels
from harness._typed import typed
from harness.links._broken import Broken, Finder
from harness.links._plans import Kept
from ledger import Ledger, NotFound
from ledger.kinds import Accept, Import, Plan, Report, Tally

__all__ = ["check_accepts", "check_graded", "check_labels", "check_reports", "said_of_run"]

_ACCEPTS = "SELECT seq, body FROM main.events WHERE run = ? AND kind = 'accept' AND body IS NOT NULL ORDER BY seq"
_GRADED = (
    "SELECT cell.seq, cell.cell, cell.body ->> '$.case', cell.body ->> '$.fixture', cause.seq, cause.run"
    " FROM main.events AS cell"
    " CROSS JOIN json_each(cell.causes) AS each"
    " CROSS JOIN main.events AS cause ON cause.seq = each.value WHERE cell.run = ?1 AND cell.kind = 'cell'"
    " AND cause.run <> ?1 ORDER BY cell.seq, cause.seq"
)
_HASH = "SELECT hash FROM main.events WHERE seq = ?"
_REPORTS = "SELECT seq, body FROM main.events WHERE kind = 'report' AND body IS NOT NULL ORDER BY seq"
_SCORED = (
    "SELECT 1 FROM main.events WHERE run = ? AND kind = 'score' AND seq > ? AND seq < ? AND body ->> '$.rules' = ?"
    " LIMIT 1"
)
_LABELS = (
    "SELECT event.seq, event.body, cause.seq, cause.run FROM main.events AS event"
    " LEFT JOIN main.events AS cause ON cause.seq = event.causes ->> '$[0]'"
    " WHERE event.kind = 'import' AND event.run = '' AND event.body IS NOT NULL ORDER BY event.seq"
)
_COUNTED = frozenset({"rate", "mean"})


def check_accepts(ledger: Ledger, run: str, plan: tuple[int, Plan], finder: Finder) -> None:
    """What a person accepted had been so: by the plan, or by what was accepted before."""
    at, planned = plan
    known: dict[str, dict[str, int]] = {
        "endpoint": {each.base_url: at for each in planned.candidates},
        "code": {f"{package} {digest}": at for package, digest in planned.code.items()},
    }
    for each in planned.candidates:
        if "version" in each.server:
            known["endpoint"][f"version {each.server['version']}"] = at
    for seq, text in ledger.sql(_ACCEPTS, (run,)):
        body = typed(Accept, text, f"event {seq}")
        mine = known.get(body.component)
        if mine is None:
            finder.broken("accept.component", seq, "component", body.component, at, " or ".join(known))
            continue
        if body.before not in mine and not body.before.endswith(" absent"):
            finder.broken("accept.before", seq, "before", body.before, at, " or ".join(mine))
        mine[body.after] = seq


def check_graded(
    ledger: Ledger, run: str, plan: tuple[int, Plan], cases: Sequence[Kept], finder: Finder
) -> None:  # fmt: skip
    """The answers that a judge's cells rest on are of the runs that its plan says it grades."""
    at, planned = plan
    if not planned.grades:
        return
    evidence = {(kept.fixture, kept.frozen.case.id): (kept.freeze, evidence_of(kept.frozen.case)) for kept in cases}
    for seq, cell, case, fixture, cause, other in ledger.sql(_GRADED, (run,)):
        if other not in planned.grades:
            named = ", ".join(planned.grades)
            finder.broken("plan.grades", seq, "an answer of run", other or "none", cause, named, cell=cell)
        freeze, told = evidence.get((fixture, case), (0, ()))
        if told and cause not in told:
            should = f"event {told[0]}, by event {freeze}"
            finder.broken("cell.evidence", seq, "an answer", f"event {cause}", told[0], should, cell=cell)
    for graded in planned.grades:
        row = ledger.sql("SELECT seq FROM main.events WHERE run = ? AND kind = 'plan'", (graded,)).fetchone()
        if row is None or row[0] > at:
            finder.broken("plan.grades", at, "grades", graded, row[0] if row else 0, "a run that was planned before")


def said_of_run(ledger: Ledger, run: str) -> Sequence[Broken]:
    """What is false of the reports and people's labels that a ledger has of one run; the events that they name may be
    missing."""
    finder = Finder()
    check_labels(ledger, finder)
    check_reports(ledger, finder, lambda report: report.run == run)
    return finder.found


def check_labels(ledger: Ledger, finder: Finder) -> None:
    """People's labels: the file is the one that was recorded, and they are about the run whose plan is their cause."""
    for seq, text, plan, run in ledger.sql(_LABELS):
        body = typed(Import, text, f"event {seq}")
        try:
            data = ledger.blob(seq, "file")
        except NotFound:
            continue
        finder.hold("import.digest", seq, "digest", body.digest, seq, file_digest(data))
        if "labels" not in body.claimed or plan is None:
            continue
        finder.hold("import.labels", seq, "the run", body.claimed.get("run"), plan, run)
        try:
            read = read_labels(data, Path("labels"), targets_of(ledger.rows, run), None, run)
        except HarnessError:
            continue  # its cells aren't all there, as in a bundle
        said = body.claimed["labels"], body.claimed.get("raters")
        follows = str(len(read.labels)), str(len(read.raters))
        finder.hold("import.labels", seq, "labels and raters", said, seq, follows)


def check_reports(ledger: Ledger, finder: Finder, wanted: Callable[[Report], bool]) -> None:
    """Every report that is wanted says what its file and its tallies say."""
    for seq, text in ledger.sql(_REPORTS):
        body = typed(Report, text, f"event {seq}")
        if not wanted(body):
            continue
        try:
            file = ledger.blob(seq, "file")
            finder.hold("report.digest", seq, "digest", body.digest, seq, file_digest(file))
        except NotFound:
            pass
        if body.size >= seq:
            finder.broken("report.head", seq, "size", body.size, seq, "a place before it")
        else:
            (head,) = ledger.sql(_HASH, (body.size,)).fetchone() or (body.head,)
            finder.hold("report.head", seq, "head", body.head, body.size, head)
        for figure in body.figures:
            if isinstance(figure, dict) and figure.get("kind") in _COUNTED:
                _figure(ledger, seq, body.run, cast("Mapping[str, Any]", figure), finder)


def _figure(ledger: Ledger, seq: int, of: str, figure: Mapping[str, Any], finder: Finder) -> None:
    at = figure.get("tally")
    if not isinstance(at, int):
        return
    what = f"{figure.get('metric')} of {figure.get('candidate')}"
    try:
        tally = ledger.body(at)
    except NotFound:
        tally = None
    if not isinstance(tally, Tally) or at >= seq:
        finder.broken("report.figures", seq, f"the tally of {what}", at, at, "a tally before it")
        return
    run = ledger.event(at).run
    said = of, figure.get("run"), figure.get("rules")
    if not finder.hold("report.run", seq, f"run and rules of {what}", said, at, (run, run, tally.rules)):
        return
    if ledger.sql(_SCORED, (run, at, seq, tally.rules)).fetchone() is not None:
        return  # scored since, and not counted: the figure is that of the scores
    name = figure.get("candidate"), figure.get("metric")
    mine = next((each for each in tally.metrics if (each.candidate, each.metric) == name), None)
    if mine is None:
        finder.broken("report.figures", seq, what, "a figure", at, "none of that name")
        return
    names = ("k", "n", "planned") if mine.kind == "rate" else ("n", "planned")
    shown = {name: figure.get(name) for name in names}
    finder.hold("report.figures", seq, what, shown, at, {name: getattr(mine, name) for name in names})
