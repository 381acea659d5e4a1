"""Cases that were asked more than once: pass@k (how likely one of k answers is right), and what most answers say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness._passes import passes_words
from harness._stats import mean_pass_at_k

__all__ = ["majorities", "majority_text", "passes", "passes_text", "repeats_text"]

_SAMPLES = (
    "SELECT cell.body ->> '$.candidate' AS candidate, scores.rules AS rules,"
    " sum(scores.outcome IN ('correct', 'incorrect')) AS n, sum(scores.outcome = 'correct') AS c,"
    " sum(scores.outcome = 'graded') AS graded"
    " FROM events AS cell CROSS JOIN scores ON scores.run = cell.run AND scores.cell = cell.cell"
    " WHERE cell.run = ? AND cell.kind = 'cell' AND cell.body IS NOT NULL"
    " GROUP BY 1, 2, cell.body ->> '$.input', cell.body ->> '$.arm', cell.body ->> '$.twin'"
)


def passes(
    rows: Callable[[str, Sequence[Any]], Sequence[Mapping[str, Any]]], run: str, epochs: int
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """pass@1 and pass@epochs by (candidate, rule set): {"k", "value", "reason"}; none where answers are graded, since
    a grade is neither right nor wrong.

    Only measured samples count, and a case with fewer of them than k gives none, with the reason: leaving the case out
    would be another set of cases. The estimate is the unbiased one of Chen et al. 2021, "Evaluating Large Language
    Models Trained on Code".
    """
    samples: dict[tuple[str, str], list[tuple[int, int]]] = {}
    graded: set[tuple[str, str]] = set()
    for row in rows(_SAMPLES, (run,)):
        if row["graded"]:
            graded.add((row["candidate"], row["rules"]))
        samples.setdefault((row["candidate"], row["rules"]), []).append((row["n"], row["c"]))
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for place, problems in samples.items():
        if place in graded:
            found[place] = [{"k": k, "value": None, "reason": "graded"} for k in (1, epochs)]
            continue
        estimates = [(k, mean_pass_at_k(problems, k)) for k in (1, epochs)]
        found[place] = [{"k": k, "value": each.value, "reason": each.reason} for k, each in estimates]
    return found


def majorities(
    rows: Callable[[str, Sequence[Any]], Sequence[Mapping[str, Any]]], run: str, epochs: int
) -> dict[tuple[str, str], dict[str, int]]:
    """What most answers to a case say, by (candidate, rule set): {"of", "right", "ties", "wrong", "open"}, of cases.

    `right` and `wrong` take more than half of the epochs that were planned. Exactly half is a tie, which is no hit.
    `open` cases are those that their unmeasured epochs could turn. Graded answers have no majority: a rule set that
    grades any is left out.
    """
    found: dict[tuple[str, str], dict[str, int]] = {}
    graded: set[tuple[str, str]] = set()
    for row in rows(_SAMPLES, (run,)):
        place = (row["candidate"], row["rules"])
        if row["graded"]:
            graded.add(place)
        votes = found.setdefault(place, {"of": epochs, "right": 0, "ties": 0, "wrong": 0, "open": 0})
        votes[_majority(row["c"], row["n"] - row["c"], epochs)] += 1
    return {place: votes for place, votes in found.items() if place not in graded}


def _majority(right: int, wrong: int, epochs: int) -> str:
    if 2 * right > epochs:
        return "right"
    if 2 * wrong > epochs:
        return "wrong"
    return "ties" if right + wrong == epochs else "open"


def majority_text(votes: Mapping[str, int] | None) -> str:
    """`majority of 5: 31 right, 4 ties, 15 wrong`; with the cases that the unmeasured could turn, if there are any."""
    if votes is None:
        return "no majority (the answers are graded)"
    ties = f"{votes['ties']} tie{'' if votes['ties'] == 1 else 's'}"
    open_ = f", {votes['open']} open (their unmeasured answers decide)" if votes["open"] else ""
    return f"majority of {votes['of']}: {votes['right']} right, {ties}, {votes['wrong']} wrong{open_}"


def repeats_text(row: Mapping[str, Any]) -> str:
    """The estimates of a report's row of repeats, as people read them: of the cases that have enough measured answers.
    What an older release wrote has `pass_at_k` alone, which is of every case or none."""
    return passes_words(row["passes"]) if row.get("passes") else passes_text(row.get("pass_at_k", []))


def passes_text(estimates: Sequence[Mapping[str, Any]]) -> str:
    """The estimates as people read them: `pass@1 0.600, pass@5 none (a case has fewer measured samples)`."""
    said: list[str] = []
    if any(each["reason"] == "graded" for each in estimates):
        return "no pass@k (the answers are graded)"
    for each in estimates:
        why = "a case has fewer measured samples" if each["reason"] == "k_exceeds_n" else "no data"
        value = f"none ({why})" if each["value"] is None else f"{each['value']:.3f}"
        said.append(f"pass@{each['k']} {value}")
    return ", ".join(said)
