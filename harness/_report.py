"""The report of a run: what the views say, as plain data and as tables for a terminal. No number is made here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness._errors import UsageError
from harness._history import History, read_history
from ledger import Ledger, Standing, not_reproducible, printable, run_status, standing_of, standing_scoreboard

__all__ = ["RunReport", "StandingReport", "read_report", "read_standing", "render_report", "render_standing"]

_BOARD = (
    "SELECT candidate, rules, metric, kind, k, n, planned, rate, low, high, sd, worst, best FROM main.scoreboard"
    " WHERE run = ?"
)
_FAILURES = "SELECT candidate, rules, stage, reason, domain, count FROM main.failures WHERE run = ?"
_FLAGS = (
    "SELECT cell.body ->> '$.candidate' AS candidate, parse.body ->> '$.rules' AS rules, flag.value AS flag,"
    " count(DISTINCT parse.cell) AS count"
    " FROM main.events AS parse CROSS JOIN json_each(parse.body, '$.flags') AS flag"
    " CROSS JOIN main.events AS cell ON cell.run = parse.run AND cell.kind = 'cell' AND cell.cell = parse.cell"
    " WHERE parse.run = ? AND parse.kind = 'parse' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
)
_RUN = (
    'SELECT run, suite, purpose, planned, asked, status, candidates, name, epochs, "limit" FROM main.runs WHERE run = ?'
)


@dataclass(frozen=True)
class RunReport:
    """One run's numbers as the views give them. `scoreboard` and `unmeasured` are rows of those views.

    `about` is the run in one line; `repeated` says that each case was asked more than once.
    `flags` counts the cells that were read with a flag: a leniency that was used, a salvaged value, a cut stream.
    `standing` says whether the run was superseded, and what taints it rests on; each row of `scoreboard` has `tainted`.
    `withheld` counts, by (candidate, rule set), the scores that rest on what a redaction withholds: the numbers stand,
    and nobody can reproduce them.
    """

    run: str
    suite: str
    status: str
    about: str
    repeated: bool
    candidates: Sequence[str]
    planned: int
    scoreboard: Sequence[Mapping[str, Any]]
    unmeasured: Sequence[Mapping[str, Any]]
    flags: Sequence[Mapping[str, Any]]
    standing: Standing
    withheld: Mapping[tuple[str | None, str], int]
    history: History

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "run": self.run,
            "suite": self.suite,
            "status": self.status,
            "candidates": list(self.candidates),
            "planned": self.planned,
            "superseded": self.standing.superseded is not None,
            "superseded_by": self.standing.by,
            "taints": [
                {"taint": mark.taint, "what": mark.what, "id": mark.id, "reason": mark.reason}
                for mark in self.standing.taints
            ],
            "not_reproducible": [
                {"candidate": candidate, "rules": rules, "cells": cells}
                for (candidate, rules), cells in self.withheld.items()
            ],
            "scoreboard": [dict(row) for row in self.scoreboard],
            "unmeasured": [dict(row) for row in self.unmeasured],
            "flags": [dict(row) for row in self.flags],
            **self.history.as_json(),
        }


def read_report(ledger: Ledger, run: str, rules: Sequence[str] = ()) -> RunReport:
    """Read the views for one run; `rules` keeps only rule sets of these names or labels.

    Raises UsageError when a rule set that was named has never been applied to the run, and for a probe, which no
    scoreboard counts.
    """
    import json

    (row,) = ledger.rows(_RUN, (run,))
    if row["purpose"] == "probe":
        raise UsageError(f"{run} is a probe, which no scoreboard counts; `ledger log --run {run}` shows it")
    board = ledger.rows(_BOARD, (run,))
    failures = ledger.rows(_FAILURES, (run,))
    flags = ledger.rows(_FLAGS, (run,))
    if rules:
        labels = {each["rules"] for each in (*board, *failures)}
        wanted = {label for label in labels if label in rules or label.partition("@")[0] in rules}
        for name in rules:
            if not any(label == name or label.partition("@")[0] == name for label in labels):
                has = ", ".join(sorted(labels)) or "none"
                raise UsageError(f"run {run} was not scored under {name!a}; it has {has}")
        board = [each for each in board if each["rules"] in wanted]
        failures = [each for each in failures if each["rules"] in wanted]
        flags = [each for each in flags if each["rules"] in wanted]
    standing = standing_of(ledger, run)
    withheld = not_reproducible(ledger, run)
    for each in board:
        each["tainted"] = standing.taints_number(each["candidate"], each["rules"])
        each["reproducible"] = (each["candidate"], each["rules"]) not in withheld
    candidates = json.loads(row["candidates"])
    status = run_status(ledger, run, row["status"])
    return RunReport(
        run, row["suite"], status, _about(row, status), row["epochs"] > 1, candidates, row["planned"], board, failures,
        flags, standing, withheld, read_history(ledger, run),
    )  # fmt: skip


def _about(row: Mapping[str, Any], status: str) -> str:
    said = [f"run {row['run']}" + (f" ({row['name']})" if row["name"] else "")]
    said.append("still running, or stopped without a word" if status == "open" else status)
    said.append(f"{row['asked']} of {row['planned']} cells asked")
    if row["epochs"] > 1:
        said.append(f"{row['epochs']} epochs")
    if row["limit"] is not None:
        said.append(f"only the first {row['limit']} cases (--limit)")
    return ", ".join(said)


@dataclass(frozen=True)
class StandingReport:
    """The default scoreboard: rows of the view `standing_scoreboard`, and how many superseded runs they leave out."""

    scoreboard: Sequence[Mapping[str, Any]]
    left_out: int

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {"scoreboard": [dict(row) for row in self.scoreboard], "left_out": self.left_out}


def read_standing(ledger: Ledger, rules: Sequence[str] = ()) -> StandingReport:
    """The scoreboard of every run that was not superseded; `rules` keeps only rule sets of these names or labels."""
    rows, left_out = standing_scoreboard(ledger)
    for row in rows:
        row.pop("left_out")
        row.update({name: bool(row[name]) for name in ("superseded", "tainted", "reproducible")})
    kept = [row for row in rows if not rules or row["rules"] in rules or row["rules"].partition("@")[0] in rules]
    return StandingReport(kept, left_out)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}%"


def _between(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{100 * low:.1f}–{100 * high:.1f}%"


def _rate(row: Mapping[str, Any]) -> str:
    if row["n"] == 0:
        return "no data"
    if row["kind"] == "rate":
        return f"{row['k']}/{row['n']}"
    return f"{row['rate']:.3f}"


def _marks(standing: Standing) -> list[str]:
    """What to say above the numbers of a run that was superseded or rests on a taint: a sentence each."""
    said: list[str] = []
    if standing.superseded is not None:
        how = f"by {standing.by}" if standing.by else "without a successor"
        said.append(f"SUPERSEDED {how} (event {standing.superseded}, {standing.category}): {standing.reason}")
    said += [f"TAINTED by event {mark.taint} ({mark.what}:{mark.id}): {mark.reason}" for mark in standing.taints]
    return said


def _untold(report: RunReport) -> list[str]:
    """A sentence for each number that rests on withheld evidence."""
    return [
        f"NOT REPRODUCIBLE: {cells} of the scores of {candidate} under {rules} rest on what a redaction withholds"
        for (candidate, rules), cells in report.withheld.items()
    ]


def _row_marks(row: Mapping[str, Any]) -> list[str]:
    return [
        *(["[tainted]"] if row["tainted"] else []),
        *([] if row["reproducible"] else ["[not reproducible]"]),
    ]


def render_report(report: RunReport) -> Sequence[object]:
    """Tables for rich: a scoreboard a rule set, and the unmeasured by reason. Every cell is plain text, escaped."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    def text(value: object) -> Text:
        return Text(printable(str(value)))

    lines = (report.about, *_marks(report.standing), *_untold(report), *report.history.sentences())
    shown: list[object] = [text(line) for line in lines]
    if report.repeated:
        shown.append(text("Each case was asked more than once; the intervals take repeats as independent: too narrow."))
    for rules, candidate in dict.fromkeys((row["rules"], row["candidate"]) for row in report.scoreboard):
        title = text(f"{report.suite} under {rules}: {candidate}")
        if report.standing.superseded is not None:
            title += Text(" [superseded]")
        if report.standing.taints_number(candidate, rules):
            title += Text(" [tainted]")
        if (candidate, rules) in report.withheld:
            title += Text(" [not reproducible]")
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("metric", overflow="fold")
        for name in ("k/n", "planned", "rate", "95% interval", "worst–best"):
            table.add_column(name, justify="right", no_wrap=True)
        for row in report.scoreboard:
            if (row["rules"], row["candidate"]) == (rules, candidate):
                table.add_row(
                    text(row["metric"]), text(_rate(row)), text(row["planned"]), _percent(row["rate"]),
                    _between(row["low"], row["high"]), _between(row["worst"], row["best"]),
                )  # fmt: skip
        shown.append(table)
    if report.unmeasured:
        table = Table(title="Unmeasured, by reason", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
        for name in ("candidate", "rules", "stage", "reason", "domain"):
            table.add_column(name, overflow="fold")
        table.add_column("cells", justify="right")
        for row in report.unmeasured:
            names = ("candidate", "rules", "stage", "reason", "domain", "count")
            table.add_row(*(text(row[name]) for name in names))
        shown.append(table)
    else:
        shown.append(Text("Every planned cell was measured."))
    if report.flags:
        table = Table(title="Flags of what was read", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
        for name in ("candidate", "rules", "flag"):
            table.add_column(name, overflow="fold")
        table.add_column("cells", justify="right")
        for row in report.flags:
            table.add_row(*(text(row[name]) for name in ("candidate", "rules", "flag", "count")))
        shown.append(table)
    return shown


def render_standing(report: StandingReport) -> Sequence[object]:
    """The default scoreboard for rich: a row a run, candidate, rule set and metric; every cell plain text, escaped."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Every run that stands", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("run", "candidate", "rules", "metric"):
        table.add_column(name, overflow="fold")
    for name in ("k/n", "planned", "95% interval", ""):
        table.add_column(name, justify="right", no_wrap=True)
    for row in report.scoreboard:
        names = (Text(printable(str(row[name]))) for name in ("run", "candidate", "rules", "metric"))
        table.add_row(
            *names, _rate(row), printable(str(row["planned"])), _between(row["low"], row["high"]),
            Text(" ".join(_row_marks(row))),
        )  # fmt: skip
    left_out = f"{report.left_out} superseded run{'' if report.left_out == 1 else 's'} left out"
    return [table, Text(f"{left_out}; `ledger runs` lists every run." if report.left_out else "No run was left out.")]
