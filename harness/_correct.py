"""Correcting a report: the run read under other rules, a corrected report beside the old one, and who must hear of it.

The order of writes is one in which stopping anywhere leaves nothing false: first the derived events of the rescore,
which are true by themselves; then the corrected report, which says which one it corrects; then the supersession of the
old one; and the file gets its name last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness._basis import Basis
from harness._correction import correction_of
from harness._errors import RefusedError, UsageError
from harness._find_report import find_report
from harness._recollect import with_correction
from harness._report_data import Data, collect
from harness._report_document import figure_of
from harness._report_file import FORMATS, data_in, render
from harness._report_write import Written, check_target, record_report, write_file
from harness._rescore import find_rule_sets, rescore_run
from ledger import Category, Found, Ledger, LedgerError, impact_of, over_views, printable, supersede
from ledger.kinds import Report, Target

__all__ = ["Corrected", "correct_report"]

_SUPERSEDED = "SELECT \"by\" FROM supersessions WHERE in_force AND what = 'report' AND id = ?"
_JOINED = over_views("SELECT DISTINCT rules FROM joins WHERE run = ?")
_TALLIED = "SELECT count(*) AS tallies FROM main.events WHERE run = ? AND kind = 'tally' AND body ->> '$.rules' = ?"
_LEFT_OVER = "SELECT seq FROM main.events WHERE kind = 'report' AND body ->> '$.corrects' = ? ORDER BY seq DESC"


@dataclass(frozen=True)
class Corrected:
    """What was done: the old report's seq, the new one, the supersession, what the correction says, and who had the old
    one. `resting` are the seqs of other reports that rest on the old one; `appended` counts the events of the rescore.
    """

    old: int
    new: Written
    supersession: int
    appended: int
    correction: Data
    recipients: Sequence[str]
    resting: Sequence[int]
    notice: str

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "corrects": self.old, **self.new.as_json(), "supersession": self.supersession, "appended": self.appended,
            "numbers": self.correction["numbers"], "flips": self.correction["flips"],
            "recipients": list(self.recipients), "resting": list(self.resting), "notice": self.notice,
        }  # fmt: skip


def correct_report(
    ledger: Ledger, reference: str, rules: str, out: Path, *, reason: str, category: Category = "parser",
    form: str | None = None, force: bool = False,
) -> Corrected:  # fmt: skip
    """Correct the report that `reference` names (a file, a seq, the start of a digest): read its run under `rules`.

    Raises UsageError for what can't be found or written, RefusedError when the report was superseded already.
    """
    if not reason.strip():
        raise UsageError("expected a reason, got an empty one; say why, for those who were given the old report")
    target = check_target(ledger, out, force=force)
    old, body = find_report(ledger, reference)
    if form is None:
        form = body.format if body.format in FORMATS else "md"
    if form not in FORMATS:
        raise UsageError(f"--format: expected {', '.join(FORMATS)}, got {form!a}")
    for row in ledger.rows(over_views(_SUPERSEDED), (str(old),)):
        by = f"by event {row['by']}; correct that one" if row["by"] else "without a successor"
        raise RefusedError(f"report {old} was superseded already, {by}")
    if Path(reference).is_file() and target == Path(reference).resolve():
        raise UsageError(f"{out} is the report that is corrected; both stay, so name another file")
    label, appended = _read_under(ledger, body.run, rules)
    left = _left_over(ledger, old, label, form, reason)
    if left is None:
        basis = Basis(body.run, ledger.head()[0], (label,))
        data = collect(ledger, body.run, basis.size, basis.labels)
        correction = correction_of(ledger, old, basis, data["scoreboard"], reason=reason, category=category)
        drawn = render(data := with_correction(data, correction), form)
    else:
        drawn = ledger.blob(left, "file")
        data = data_in(drawn.decode(), "md" if form == "md" else "html" if form == "html" else "json")
    with write_file(target, drawn):
        new = record_report(ledger, data, drawn, form, target, corrects=old, seq=left)
        said = supersede(ledger, f"report:{old}", by=f"report:{new.seq}", category=category, reason=reason)
    recipients, resting = _who(ledger, old)
    notice = _notice(data, old, body, new)
    return Corrected(old, new, said.event.seq, appended, data["correction"], recipients, resting, notice)


def _read_under(ledger: Ledger, run: str, rules: str) -> tuple[str, int]:
    """The label of the rule set that `rules` names, under which the run is read now where it wasn't, and how many
    events that appended. What a judge's grades stand under is there or isn't: no reading of the run gives it."""
    joined = [str(row["rules"]) for row in ledger.rows(_JOINED, (run,))]
    named = [label for label in joined if rules in (label, label.partition("@")[0])]
    if len(named) == 1:
        return named[0], 0
    (rule_set,) = find_rule_sets(ledger, run, [rules])
    if ledger.rows(_TALLIED, (run, rule_set.label))[0]["tallies"]:
        return rule_set.label, 0
    return rule_set.label, rescore_run(ledger, run, [rule_set]).appended


def _left_over(ledger: Ledger, old: int, label: str, form: str, reason: str) -> int | None:
    """A corrected report that was recorded already, by a correction that stopped before it superseded the old one."""
    for row in ledger.rows(_LEFT_OVER, (old,)):
        try:
            body = ledger.body(int(row["seq"]))
            file = ledger.blob(int(row["seq"]), "file").decode()
        except LedgerError:
            continue
        if isinstance(body, Report) and body.format == form:
            data = data_in(file, "md" if form == "md" else "html" if form == "html" else "json")
            labels = [each["rules"] for each in data["receipt"]["rules"]]
            if labels == [label] and data["correction"]["reason"] == reason:
                return int(row["seq"])
    return None


def _who(ledger: Ledger, old: int) -> tuple[list[str], list[int]]:
    found = impact_of(ledger, Found(Target(what="report", id=str(old)), (old,)))
    recipients = ["(withheld)" if row["to"] is None else str(row["to"]) for row in found.published]
    return list(dict.fromkeys(recipients)), [int(row["seq"]) for row in found.reports if row["seq"] != old]


def _notice(data: Data, old: int, body: Report, new: Written) -> str:
    correction = data["correction"]
    lines = [
        f"Correction of the report on run {body.run} ({data['run']['suite']})",
        "",
        f"The report that you were given (event {old}, BLAKE3 {body.digest}) is replaced by the one attached",
        f"(event {new.seq}, BLAKE3 {new.digest}).",
        "",
        f"Why: {correction['reason']}",
        "",
        "What it said, and what it says now:",
    ]
    for row in correction["numbers"]:
        before, after = (_told(row[name], row[f"rules_{name}"]) for name in ("before", "after"))
        lines.append(f"- {row['metric']}, {row['candidate']}: {before} → {after}")
    lines += ["", *_moved(correction["flips"])]
    lines += ["", "Either file can be held against the ledger with `harness check`; numbers of the old one that you "
              "have passed on should be withdrawn."]  # fmt: skip
    return "\n".join(map(printable, lines)) + "\n"


def _moved(flips: Sequence[Data]) -> list[str]:
    """How many figures of cells moved from each rule set of the old report, by the stage that moved them."""
    counted: dict[str, dict[str, int]] = {}
    for flip in flips:
        stages = counted.setdefault(f"{flip['rules_before']} to {flip['rules_after']}", {})
        stages[flip["stage"]] = stages.get(flip["stage"], 0) + 1
    return [
        f"Figures of cells that moved from {pair}: "
        + ", ".join(f"{count} by {stage}" for stage, count in sorted(stages.items())) + "."
        for pair, stages in counted.items()
    ] or ["No cell's figure moved."]  # fmt: skip


def _told(row: dict[str, Any] | None, rules: str) -> str:
    return "not reported" if row is None else f"{figure_of(row)} ({row['planned']} planned) under {rules}"
