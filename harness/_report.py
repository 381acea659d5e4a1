"""The report of a run: what the views say, as plain data and as tables for a terminal. No number is made here."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness._answer_marks import ANSWERED, mark_words
from harness._contradicted import contradiction_words, held_words, holds
from harness._errors import UsageError
from harness._history import History, read_history
from harness._pass_table import pass_tables
from harness._repeats import majority_text, repeats_text
from harness._replaced import replaced_words
from harness._report_data import Data, collect, with_intervals
from harness._report_document import BY_CASE, SAME_INPUT, between, figure_of, has_repeats, interval_heading, percent
from harness._report_served import served_words
from harness._report_short import full_tables, short_tables
from harness._report_study import set_aside, warnings_in
from harness._report_unequal import unequal_words
from harness._session import UNFINISHED
from harness._spend import spend_said, spend_tables
from harness._stated import imported_words
from ledger import Ledger, over_views, printable, run_status, standing_scoreboard

__all__ = [
    "RunReport",
    "StandingReport",
    "read_report",
    "read_standing",
    "render_report",
    "render_standing",
    "render_study",
]

_MAY_LACK = ("pass_at", "contradicted", "bars_not_judged", "study", "subset", "groups")
_SIGNS = ("superseded", "tainted", "reproducible", "rests_on_superseded", "held", "mixed")
_WIDEST = 110
_MOST_GROUPS = 50
_MOST_APART = 4
"""Up to so many candidates have a table each; more share one, or a terminal would hold nothing else."""
_UNFINISHED = (
    "SELECT EXISTS (SELECT 1 FROM cells WHERE run = ?1 AND status IN (SELECT value FROM json_each(?2))"
    # What a judge has yet to grade is its own run's to finish.
    " AND rules NOT IN (SELECT rules FROM joins WHERE run = ?1)) AS unfinished"
)


@dataclass(frozen=True)
class RunReport:
    """One run's numbers as the views give them: `data` is what `harness._report_data.collect` gives, as of now.

    `status` is as people are told it now (a run that nobody holds any more was interrupted), `unfinished` says that a
    cell ended in an error or was never asked.
    """

    data: Data
    status: str
    unfinished: bool
    history: History

    @property
    def run(self) -> str:
        """The run's id."""
        return str(self.data["run"]["id"])

    @property
    def scoreboard(self) -> Sequence[Mapping[str, Any]]:
        """The rows of the view, each with `tainted`, `reproducible` and the policy that counts its unmeasured."""
        return self.data["scoreboard"]

    def check_gate(self) -> None:
        """Raises UsageError where no bar is set: a gate that nothing can fail would pass whatever it is shown."""
        if not self.data["bars"] and not self.data["bars_unread"]:
            if self.data.get("bars_not_judged"):
                raise UsageError("--gate: no planned cell is of a metric that a bar speaks of, so nothing could fail")
            shown = ", ".join(row["rules"] for row in self.data["rules"]) or "none"
            raise UsageError(f"--gate: no rule set that is shown sets a bar ({shown}); [[bars]] in a rule file would")

    @property
    def holds(self) -> bool:
        """Whether nothing in the ledger contradicts the figures."""
        return holds(self.data)

    def misses(self) -> list[str]:
        """A sentence on each thing that keeps the run from passing."""
        said = [
            f"bar {bar['bar']} is {bar['status']} for {bar['candidate']} under {bar['rules']} ({bar['figure']})"
            + (f": {said}" if (said := bar["fails"] if bar["status"] == "failed" else bar["why"]) else "")
            for bar in self.data["bars"] if not bar["holds"]
        ]  # fmt: skip
        said += [f"the bars of {each['rules']} can't be read: {each['why']}" for each in self.data["bars_unread"]]
        if self.gate() == 3:
            said.append(f"run {self.run} is unfinished ({self.status}); `harness resume {self.run}` asks the rest")
        return said

    def warnings(self) -> list[str]:
        """What a gate says aloud without failing the run for it."""
        return warnings_in(self.data.get("study", []))

    def gate(self) -> int:
        """The exit status of a run held to its bars: 3 when it is unfinished, 1 when a bar isn't met, else 0."""
        if self.unfinished or self.status not in ("complete", "partial"):
            return 3
        return int(bool(self.data["bars_unread"]) or any(not bar["holds"] for bar in self.data["bars"]))

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        data, run, gone = self.data, self.data["run"], self.data["superseded"]
        same = (
            "rules", "other_rules", "bars", "bars_unread", "imported", "predictions", "repeatability", "frozen",
            "fingerprints", "served",
        )  # fmt: skip
        return {
            "run": self.run,
            "suite": run["suite"],
            "status": self.status,
            "candidates": run["candidates"],
            "planned": run["planned"],
            "superseded": gone is not None,
            "superseded_by": gone["by"] if gone else None,
            "rests_on_superseded": data["rests_on_superseded"],
            "taints": [
                {"taint": mark["event"], "what": mark["what"], "id": mark["id"], "reason": mark["reason"]}
                for mark in data["taints"]
            ],
            "not_reproducible": data["not_reproducible"],
            "scoreboard": data["scoreboard"],
            "unmeasured": data["unmeasured"],
            "flags": data["flags"],
            "spend": data["spend"],
            **{name: data[name] for name in same},
            **self.history.as_json(),
            **{name: data[name] for name in _MAY_LACK if name in data},
            "receipt": data["receipt"],
        }


def read_report(ledger: Ledger, run: str, rules: Sequence[str] = ()) -> RunReport:
    """Read the views for one run; `rules` keeps only rule sets of these names or labels.

    Raises UsageError when a rule set that was named has never been applied to the run, and for a probe, which no
    scoreboard counts.
    """
    data = collect(ledger, run, ledger.head()[0], rules)
    status = run_status(ledger, run, data["run"]["status"])
    (found,) = ledger.rows(over_views(_UNFINISHED), (run, json.dumps(sorted(UNFINISHED))))
    return RunReport(data, status, bool(found["unfinished"]), read_history(ledger, run))


def _about(report: RunReport) -> str:
    row = report.data["run"]
    said = [f"run {report.run}" + (f" ({row['name']})" if row["name"] else "")]
    said.append("still running, or stopped without a word" if report.status == "open" else report.status)
    asked = f"{row['asked']} of {row['planned']} cells asked"
    said.append(f"{row['planned']} cells, imported: nothing was asked here" if row["via"] == "import" else asked)
    if row["epochs"] > 1:
        said.append(f"{row['epochs']} epochs")
    if row["limit"] is not None:
        said.append(f"only the first {row['limit']} cases (--limit)")
    if row["filter"]:
        said.append(f"only cases where {row['filter']} (--filter)")
    return ", ".join(said)


@dataclass(frozen=True)
class StandingReport:
    """The default scoreboard: rows of the view `standing_scoreboard`, and how many superseded runs they leave out."""

    scoreboard: Sequence[Mapping[str, Any]]
    left_out: int

    @property
    def holds(self) -> bool:
        """Whether nothing in the ledger contradicts a figure of it."""
        return holds({"scoreboard": self.scoreboard})

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {"scoreboard": [dict(row) for row in self.scoreboard], "left_out": self.left_out}


def read_standing(ledger: Ledger, rules: Sequence[str] = ()) -> StandingReport:
    """The scoreboard of every run that was not superseded; `rules` keeps only rule sets of these names or labels."""
    rows, left_out = standing_scoreboard(ledger)
    for row in rows:
        row.pop("left_out")
    with_intervals(ledger, rows)
    for row in rows:
        row.update({name: bool(row[name]) for name in _SIGNS})
    kept = [row for row in rows if not rules or row["rules"] in rules or row["rules"].partition("@")[0] in rules]
    return StandingReport(kept, left_out)


def _marks(report: RunReport) -> list[str]:
    """What to say above the numbers of a run that was superseded, rests on a taint, or on what is withheld."""
    said: list[str] = []
    part = report.data.get("subset")
    if part is not None:
        said.append(
            f"SUBSET: only cases where {part['text']} ({part['cases']} of {part['of']}), chosen when the answers were"
            " known, so everything here is post hoc; bars and predictions are of the whole run and aren't judged"
        )
    if "contradicted" in report.data:
        said.append(contradiction_words(report.data["contradicted"]))
    said += imported_words(report.data["imported"])
    gone = report.data["superseded"]
    if gone is not None:
        how = f"by {gone['by']}" if gone["by"] else "without a successor"
        said.append(f"SUPERSEDED {how} (event {gone['event']}, {gone['category']}): {gone['reason']}")
    for row in report.data["rests_on_superseded"]:
        what, how = replaced_words(row)
        why = f"(event {row['event']}, {row['category']}): {row['reason']}"
        said.append(f"RESTS ON WHAT WAS SUPERSEDED: {what}, was superseded {how} {why}")
    said += [
        f"TAINTED by event {mark['event']} ({mark['what']}:{mark['id']}): {mark['reason']}"
        for mark in report.data["taints"]
    ]
    said += [
        f"NOT REPRODUCIBLE: {row['cells']} of the scores of {row['candidate']} under {row['rules']} rest on what a"
        " redaction withholds"
        for row in report.data["not_reproducible"]
    ]
    return said


def _row_marks(row: Mapping[str, Any]) -> list[str]:
    return [
        *(["[tainted]"] if row["tainted"] else []),
        *([] if row["reproducible"] else ["[not reproducible]"]),
        *(f"[{said}]" for said in (held_words(row), mark_words(row)) if said),
    ]


def render_report(report: RunReport, *, explain: bool = False) -> Sequence[object]:
    """Tables for rich: a scoreboard a rule set and candidate, bars, predictions, and the unmeasured by reason.

    Every cell is plain text, escaped. Without `explain` the tables that a suite brings are cut.
    """
    data, said = report.data, [*report.history.sentences(), *report.history.noted()]
    shown: list[object] = [_text(line) for line in (_about(report), *_marks(report), *said)]
    if data["run"]["epochs"] > 1:
        shown.append(_text(f"Each case was asked more than once, and its repeats are one cluster: {BY_CASE}"))
    elif has_repeats(data["scoreboard"]):
        shown.append(_text(f"{SAME_INPUT} {BY_CASE}"))
    order = {label: at for at, label in enumerate(data["run"]["candidates"])}
    for rules in dict.fromkeys(row["rules"] for row in report.scoreboard):
        mine = [row for row in report.scoreboard if row["rules"] == rules]
        labels = sorted(dict.fromkeys(row["candidate"] for row in mine), key=lambda label: order.get(label, len(order)))
        together = [labels] if len(labels) > _MOST_APART else [[label] for label in labels]
        # A metric of no planned cell, for any candidate, has nothing to show; of a judge that is most of them.
        applied = {row["metric"] for row in mine if row["planned"]}
        empty = ", ".join(dict.fromkeys(row["metric"] for row in mine if row["metric"] not in applied))
        shown += [_board_table(report, rules, some, applied) for some in together]
        shown += [_text(said) for said in (unequal_words(mine),) if said]
        why = {(row["candidate"], held_words(row)) for row in mine if held_words(row)}
        shown += [_text(f"{candidate} under {rules} {said}") for candidate, said in sorted(why)]
        if applied and empty:
            shown.append(_text(f"Of no planned cell under {rules}, and not shown (--json has them): {empty}."))
    shown += _group_tables(data)
    if data["bars"] or data["bars_unread"]:
        lines = [
            (
                bar["bar"], bar["rules"], bar["candidate"], bar["figure"], bar["status"],
                # What a bar concludes holds where it failed; why one is undecided is another thing.
                bar["fails"] or bar["why"] if bar["status"] == "failed" else bar["why"],
            )
            for bar in data["bars"]
        ]  # fmt: skip
        lines += [("(unreadable)", each["rules"], "", "", "undecided", each["why"]) for each in data["bars_unread"]]
        shown.append(_table("Bars; undecided is no pass", ("bar", "rules", "candidate", "figure", "status", ""), lines))
    shown += [
        _text(f"Not judged for {candidates} under {rules}, as no planned cell is of their metric: {bars}.")
        for rules, candidates, bars in set_aside(data.get("bars_not_judged", []))
    ]
    for held in data["predictions"]:
        title = f"Prediction {held['name']} (event {held['event']}, {held['standing']}: {held['because']})"
        lines = [
            (
                each["text"],
                f"{each['rules']} ({each['rules_standing']})" if each["rules_standing"] else each["rules"],
                each["candidate"],
                each["figure"],
                each["status"],
                each["why"],
            )
            for each in held["results"]
        ]
        lines += [("(unreadable)", "", "", "", "undecided", held["unread"])] if held["unread"] else []
        shown.append(_table(title, ("expected", "rules", "candidate", "figure", "status", ""), lines))
    for each in data.get("study", []):
        shown += full_tables(each) if explain else short_tables(each)
    if data["unmeasured"]:
        names = ("candidate", "rules", "stage", "reason", "domain", "count")
        shown.append(_counts("Unmeasured, by reason", names, data["unmeasured"]))
    else:
        shown.append(_text("Every planned cell was measured."))
    if "subset" not in data:
        shown += [_text(said) for said in (served_words(data.get("served", [])),) if said]
        shown.append(_text(spend_said(data["spend"])))
        shown += [_table(each.title, each.columns, each.rows) for each in spend_tables(data["spend"])]
    if data["flags"]:
        title = "Flags of what was read; each cell is counted as it was scored"
        shown.append(_counts(title, ("candidate", "rules", "flag", "count"), data["flags"]))
    shown += [
        _text(
            f"{row['changed']} of {row['repeated']} repeated cases of {row['candidate']} changed outcome between"
            f" repeats under {row['rules']}; {repeats_text(row)}"
            + (f"; {majority_text(row['majority'])}." if row["majority"] else ".")
        )
        for row in data["repeatability"]
    ]
    shown += pass_tables(data.get("pass_at", []))
    if data["other_rules"]:
        others = ", ".join(f"{row['rules']} ({row['standing']})" for row in data["other_rules"])
        shown.append(_text(f"Tried on this run too, and not shown: {others}."))
    return shown


def _text(value: object) -> Any:
    from rich.text import Text

    return Text(printable(str(value)))


def _board_table(report: RunReport, rules: str, candidates: Sequence[str], applied: Collection[str]) -> object:
    """A candidate's figures under a rule set; or those of many, a row a candidate and metric. `applied` are the metrics
    that planned cells are of: where there are any, the others aren't shown."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    rows = [
        row for candidate in candidates for row in report.scoreboard
        if (row["rules"], row["candidate"]) == (rules, candidate)
    ]  # fmt: skip
    rows = [row for row in rows if row["metric"] in applied] or rows
    whom = candidates[0] if len(candidates) == 1 else f"{len(candidates)} candidates"
    # On a replay the order of this chain says nothing of what was known: the answers are older than it.
    of = ", on the replay of older answers" if report.data["run"]["via"] == "replay" else ""
    title = _text(f"{report.data['run']['suite']} under {rules}: {whom} ({rows[0]['standing']}{of})")
    for marked, mark in (
        (report.data["superseded"] is not None, " [superseded]"),
        (any(row["tainted"] for row in rows), " [tainted]"),
        (not all(row["reproducible"] for row in rows), " [not reproducible]"),
        (not holds({"scoreboard": rows}), " [doesn't hold]"),
    ):
        title += _text(mark if marked else "")
    table = Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0),
        min_width=min(title.cell_len, _WIDEST),
    )  # fmt: skip
    if len(candidates) > 1:
        table.add_column("candidate", overflow="fold")
    table.add_column("metric", overflow="fold")
    marked = [ANSWERED] if any(map(mark_words, rows)) else []
    for name in ("k/n", "planned", "rate", interval_heading(rows), "worst–best", *marked):
        table.add_column(name, justify="left" if name in marked else "right", no_wrap=name not in ("k/n", *marked))
    for row in rows:
        first = [_text(row["candidate"])] if len(candidates) > 1 else []
        table.add_row(
            *first, _text(row["metric"]), _text(figure_of(row)), _text(row["planned"]), percent(row["rate"]),
            between(row["interval_low"], row["interval_high"]), between(row["worst"], row["best"]),
            *(_text(mark_words(row)) for _ in marked),
        )  # fmt: skip
    return table


def _group_tables(data: Data) -> list[object]:
    """A table a rule set and candidate, a row a metric and group; and what is to be said of them."""
    found = data.get("groups")
    if found is None:
        return []
    groups = [each["group"] for each in found["groups"]]
    shown = set(groups[:_MOST_GROUPS])
    tables: list[object] = []
    for rules, candidate in dict.fromkeys((row["rules"], row["candidate"]) for row in found["rows"]):
        mine = [row for row in found["rows"] if (row["rules"], row["candidate"]) == (rules, candidate)]
        marked = [ANSWERED] if any(map(mark_words, mine)) else []
        lines = [
            (
                "(none)" if row["group"] is None else row["group"], row["metric"], figure_of(row), row["planned"],
                percent(row["rate"]), between(row["interval_low"], row["interval_high"]),
                between(row["worst"], row["best"]), *(mark_words(row) for _ in marked),
            )
            for row in mine if row["group"] in shown
        ]  # fmt: skip
        columns = (found["by"], "metric", "k/n", "planned", "rate", interval_heading(mine), "worst–best", *marked)
        tables.append(_table(f"By {found['by']} under {rules}: {candidate}", columns, lines))
    more = len(groups) - len(shown)
    said = [f"{more} of the {len(groups)} groups are left out here; --json has all."] if more else []
    if found["not_placed"]:
        said.append(f"{found['not_placed']} cells are in no group: a redaction withholds which case they were of.")
    said.append("A group is a part of the cases, chosen when the answers were known: post hoc, and the more groups, the"
                " likelier one of them stands out by chance.")  # fmt: skip
    return [*tables, *map(_text, said)]


def _table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], right: Collection[str] = ("cells",)
) -> object:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=_text(title), title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold", justify="right" if name in right else "left")
    for row in rows:
        table.add_row(*(_text(value) for value in row))
    return table


def render_study(candidate: str, rules: str, tables: Sequence[Mapping[str, Any]]) -> Sequence[object]:
    """Tables of a study alone for rich, as a report has them."""
    return list(full_tables({"candidate": candidate, "rules": rules, "tables": tables}))


def _counts(title: str, names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> object:
    return _table(title, [*names[:-1], "cells"], [[row[name] for name in names] for row in rows])


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
            *names, _text(figure_of(row)), printable(str(row["planned"])),
            between(row["interval_low"], row["interval_high"]),
            Text(" ".join(_row_marks(row))),
        )  # fmt: skip
    left_out = f"{report.left_out} superseded run{'' if report.left_out == 1 else 's'} left out"
    return [table, Text(f"{left_out}; `ledger runs` lists every run." if report.left_out else "No run was left out.")]
