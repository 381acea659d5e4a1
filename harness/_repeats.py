"""pass@k of the cases that were asked more than once: how likely one of k answers is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness._stats import mean_pass_at_k

__all__ = ["passes", "passes_text"]

_SAMPLES = (
    "SELECT cell.body ->> '$.candidate' AS candidate, scores.rules AS rules,"
    " sum(scores.outcome IN ('correct', 'incorrect')) AS n, sum(scores.outcome = 'correct') AS c"
    " FROM events AS cell CROSS JOIN scores ON scores.run = cell.run AND scores.cell = cell.cell"
    " WHERE cell.run = ? AND cell.kind = 'cell' AND cell.body IS NOT NULL"
    " GROUP BY 1, 2, cell.body ->> '$.input', cell.body ->> '$.arm', cell.body ->> '$.twin'"
)


def passes(
    rows: Callable[[str, Sequence[Any]], Sequence[Mapping[str, Any]]], run: str, epochs: int
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """pass@1 and pass@epochs by (candidate, rule set): {"k", "value", "reason"}.

    Only measured samples count, and a case with fewer of them than k gives none, with the reason: leaving the case out
    would be another set of cases. The estimate is the unbiased one of Chen et al. 2021, "Evaluating Large Language
    Models Trained on Code".
    """
    samples: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for row in rows(_SAMPLES, (run,)):
        samples.setdefault((row["candidate"], row["rules"]), []).append((row["n"], row["c"]))
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for place, problems in samples.items():
        estimates = [(k, mean_pass_at_k(problems, k)) for k in (1, epochs)]
        found[place] = [{"k": k, "value": each.value, "reason": each.reason} for k, each in estimates]
    return found


def passes_text(estimates: Sequence[Mapping[str, Any]]) -> str:
    """The estimates as people read them: `pass@1 0.600, pass@5 none (a case has fewer measured samples)`."""
    said: list[str] = []
    for each in estimates:
        why = "a case has fewer measured samples" if each["reason"] == "k_exceeds_n" else "no data"
        value = f"none ({why})" if each["value"] is None else f"{each['value']:.3f}"
        said.append(f"pass@{each['k']} {value}")
    return ", ".join(said)
