"""What a corrected report says of the one it replaces: each number before and after, and the cells that moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from harness._basis import Basis
from harness._errors import HarnessError, UsageError
from harness._flips import Sheet, find_flips
from harness._replies import read_places, read_plan
from harness._report_data import Data
from harness._report_file import data_in
from harness._suite import Case
from harness._thaw import thaw_cases
from ledger import Ledger, LedgerError, over_views
from ledger.kinds import Report, Score

__all__ = ["correction_again", "correction_of"]

_SCORES = (
    "SELECT cell, body FROM main.events WHERE run = ? AND kind = 'score' AND seq <= ? AND body ->> '$.rules' = ?"
    " ORDER BY cell, seq"
)
_SAID = "SELECT reason, category FROM supersessions WHERE what = 'report' AND id = ? ORDER BY seq DESC"
_CORRECTING = (
    "SELECT seq, body ->> '$.format' AS form FROM main.events"
    " WHERE kind = 'report' AND body ->> '$.corrects' = ? ORDER BY seq DESC"
)

_KEPT = ("kind", "k", "n", "planned", "unmeasured", "policy", "rate")


def correction_of(
    ledger: Ledger, corrects: int, basis: Basis, board: Sequence[dict[str, Any]], *, reason: str, category: str
) -> Data:
    """The data's `correction`: the report event `corrects` against the figures of `board` (rows of the scoreboard of
    the corrected report). Raises UsageError when event `corrects` is no report of that run."""
    body = ledger.body(corrects)
    if not isinstance(body, Report) or body.run != basis.run:
        raise UsageError(f"event {corrects} is no report on run {basis.run}")
    old = [_figure(figure, corrects) for figure in body.figures if not _stands_apart(figure)]
    numbers: list[dict[str, Any]] = []
    for label in basis.labels:
        after = {(row["candidate"], row["metric"]): row for row in board if row["rules"] == label}
        for figure in old:
            place = (figure["candidate"], figure["metric"])
            numbers.append(
                _pair(figure["candidate"], figure["metric"], figure["rules"], figure, label, after.get(place))
            )
        for candidate, metric in after:
            if not any((figure["candidate"], figure["metric"]) == (candidate, metric) for figure in old):
                numbers.append(_pair(candidate, metric, "", None, label, after[candidate, metric]))
    before = list(dict.fromkeys(str(figure["rules"]) for figure in old))
    return {
        "corrects": corrects,
        "digest": body.digest,
        "category": category,
        "reason": reason,
        "numbers": numbers,
        "flips": [
            flip for one in before for other in basis.labels if one != other
            for flip in _flips(ledger, basis, one, other)
        ],
    }  # fmt: skip


def _stands_apart(figure: object) -> bool:
    # What was spent stands under no rule set, so that no other one corrects it; a suite's own tables are drawn anew.
    return isinstance(figure, dict) and cast("dict[str, Any]", figure).get("kind") in ("spend", "study")


def _figure(figure: object, seq: int) -> dict[str, Any]:
    found = cast("dict[str, Any]", figure if isinstance(figure, dict) else {})
    named = all(isinstance(found.get(name), str) for name in ("candidate", "metric", "rules", "kind"))
    mean = found.get("kind") == "mean" and (isinstance(found.get("rate"), int | float) or found.get("n") == 0)
    counts = ["n", "planned", *([] if found.get("kind") == "mean" else ["k"])]
    if (
        not named
        or not (mean or found.get("kind") == "rate")
        or any(type(found.get(each)) is not int for each in counts)
    ):
        raise UsageError(
            f"event {seq} records a figure that this release can't read: {ascii(cast('object', figure))[:200]}"
        )
    return found


def _pair(
    candidate: str, metric: str, rules_before: str, before: dict[str, Any] | None, rules_after: str,
    after: dict[str, Any] | None,
) -> dict[str, Any]:  # fmt: skip
    def kept(row: dict[str, Any] | None) -> dict[str, Any] | None:
        return None if row is None else {name: row.get(name) for name in _KEPT}

    return {
        "candidate": candidate, "metric": metric, "rules_before": rules_before, "rules_after": rules_after,
        "before": kept(before), "after": kept(after),
    }  # fmt: skip


def _flips(ledger: Ledger, basis: Basis, before: str, after: str) -> list[dict[str, Any]]:
    """The cells that moved, by the scores as they stood at the event that the report stops at."""
    _, plan = read_plan(ledger, basis.run)
    cases: Mapping[tuple[str, str], Case] = {}
    with suppress(HarnessError):
        cases = thaw_cases(ledger, plan)
    sheet = Sheet(ledger, basis.run, plan, read_places(ledger, basis.run, plan, list(cases)), cases)
    was, now = (_scores(ledger, basis, label) for label in (before, after))
    return [
        {
            "cell": flip.cell, "case": flip.case, "candidate": flip.candidate, "metric": flip.metric,
            "rules_before": before, "rules_after": after, "before": flip.before, "after": flip.after,
            "stage": flip.stage,
        }
        for flip in find_flips(sheet, before, after, was, now)
    ]  # fmt: skip


def _scores(ledger: Ledger, basis: Basis, label: str) -> dict[int, Score]:
    rows = ledger.sql(_SCORES, (basis.run, basis.size, label))
    return {int(cell): Score.model_validate_json(body) for cell, body in rows}


def correction_again(ledger: Ledger, said: Data, basis: Basis, board: Sequence[dict[str, Any]]) -> Data:
    """The `correction` of a report as the ledger gives it. `said` tells which was corrected, and under what words.

    The words are in the supersession, or (when a crash left none) in the corrected report that was recorded. Raises
    UsageError where nothing in the ledger corrects that report.
    """
    corrects = said.get("corrects")
    if not isinstance(corrects, int) or isinstance(corrects, bool) or not 0 < corrects <= basis.size:
        raise UsageError("the report that was corrected isn't named")
    words = _words(ledger, corrects)
    if not words:
        raise UsageError(f"no report corrects event {corrects}")
    given = (said.get("reason"), said.get("category"))
    reason, category = next((each for each in words if each == given), words[0])
    return correction_of(ledger, corrects, basis, board, reason=reason, category=category)


def _words(ledger: Ledger, corrects: int) -> list[tuple[str, str]]:
    """Reason and category of every correction of a report that was begun, the newest first."""
    recorded = ledger.rows(_CORRECTING, (corrects,))
    if not recorded:
        return []
    found = [(row["reason"], row["category"]) for row in ledger.rows(over_views(_SAID), (str(corrects),))]
    for row in recorded:
        with suppress(HarnessError, LedgerError, UnicodeDecodeError):
            data = data_in(ledger.blob(int(row["seq"]), "file").decode(), row["form"])
            told: Any = data.get("correction")
            if isinstance(told, dict):
                found.append((str(told.get("reason")), str(told.get("category"))))  # pyright: ignore
    return found
