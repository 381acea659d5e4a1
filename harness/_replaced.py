"""What a run's numbers rest on beside the run itself, and what of it was superseded: frozen files, the runs whose
answers it took over or grades, and the judges' runs whose grades joined it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

__all__ = ["replaced", "replaced_words"]

_FREEZES = (
    "SELECT gone.seq AS event, 'freeze' AS what, freezes.seq AS id, freezes.what || ' ' || freezes.label AS name,"
    ' gone."by" AS "by", gone.category AS category, gone.reason AS reason'
    " FROM freezes JOIN supersessions AS gone"
    " ON gone.in_force AND gone.what = 'freeze' AND gone.id = CAST(freezes.seq AS TEXT)"
    " WHERE freezes.seq IN (SELECT value FROM json_each(?)) ORDER BY gone.seq"
)
_ANSWERS = (
    "SELECT gone.seq AS event, 'run' AS what, gone.id AS id, '' AS name,"
    ' gone."by" AS "by", gone.category AS category, gone.reason AS reason'
    " FROM supersessions AS gone WHERE gone.in_force AND gone.what = 'run' AND gone.id IN ("
    " SELECT origin.run FROM events AS reuse CROSS JOIN json_each(reuse.causes) AS cause"
    " CROSS JOIN events AS origin ON origin.seq = cause.value"
    " WHERE reuse.run = ?1 AND reuse.kind = 'reuse' AND origin.run <> ?1) ORDER BY gone.seq"
)
_GRADES = (
    "SELECT gone.seq AS event, 'run' AS what, gone.id AS id, coalesce(resting.rules, ?2) AS name,"
    ' gone."by" AS "by", gone.category AS category, gone.reason AS reason'
    " FROM resting_on_superseded AS resting"
    " JOIN supersessions AS gone ON gone.in_force AND gone.what = 'run' AND gone.id = resting.superseded"
    " WHERE resting.run = ?1 ORDER BY gone.seq, 4"
)
_GRADED = "graded"
_ANY = "SELECT EXISTS (SELECT 1 FROM events WHERE kind = 'supersede') AS said"


def replaced(
    rows: Callable[[str, Sequence[Any]], list[dict[str, Any]]], run: str, freezes: Iterable[int]
) -> list[dict[str, Any]]:
    """Every supersession in force of one of `freezes` (seqs), of a run that `run` took answers over from or grades, and
    of a judge's run whose grades joined it.

    {"event", "what", "id", "name", "by", "category", "reason"}; `rows` runs a query over the views. For a run, `name`
    is empty where its answers were taken over, "graded" where they are graded, and the label that a judge's grades
    stand under.
    """
    if not rows(_ANY, ())[0]["said"]:
        return []
    frozen = rows(_FREEZES, (json.dumps(sorted(freezes)),))
    return [{**row, "id": str(row["id"])} for row in (*frozen, *rows(_ANSWERS, (run,)), *rows(_GRADES, (run, _GRADED)))]


def replaced_words(row: dict[str, Any]) -> tuple[str, str]:
    """What a row of `replaced` speaks of, and how that was replaced, in words."""
    if row["what"] == "freeze":
        of = f"event {row['id']}, the {row['name']}"
    elif row["name"] == _GRADED:
        of = f"run {row['id']}, whose answers are graded"
    else:
        counts = f"grades count under {row['name']}" if row["name"] else "answers count"
        of = f"run {row['id']}, whose {counts}"
    return of, f"by {row['by']}" if row["by"] else "without a successor"
