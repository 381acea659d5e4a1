"""pass@k and pass^k of a run's answers, for any k: how likely one of k answers to a case is right, and all of them.

pass@k is 1 - C(n-c, k) / C(n, k) of a case with c right of n measured answers: the unbiased estimate of Chen et al.
2021, "Evaluating Large Language Models Trained on Code". pass^k is C(c, k) / C(n, k): that of Yao et al. 2024,
"tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains". Both are means over the cases with at
least k measured answers; how many were left out is said beside them. What is unmeasured is no failure, and no answer
either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness._clusters import interval_by_case
from harness._errors import UsageError

__all__ = ["Samples", "estimate", "passes_at", "passes_words", "read_ks"]

_SAMPLES = (
    "SELECT cell.body ->> '$.candidate' AS candidate, scores.rules AS rules, cell.body ->> '$.input' AS input,"
    " sum(scores.outcome IN ('correct', 'incorrect')) AS n, sum(scores.outcome = 'correct') AS c,"
    " sum(scores.outcome = 'graded') AS graded"
    " FROM events AS cell CROSS JOIN scores ON scores.run = cell.run AND scores.cell = cell.cell"
    " WHERE cell.run = ? AND cell.kind = 'cell' AND cell.body IS NOT NULL"
    " GROUP BY 1, 2, 3, cell.body ->> '$.arm', cell.body ->> '$.twin' ORDER BY rules, candidate, min(cell.cell)"
)
_MOST = 100_000
_MOST_KS = 50
Reason = Literal["", "graded", "k_exceeds_n", "no_data"]
Rows = Callable[[str, Sequence[Any]], Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Samples:
    """A case: c right of n measured answers. Cases of one `input` are one cluster of an interval."""

    input: str
    n: int
    c: int


def read_ks(text: str) -> tuple[int, ...]:
    """The k of `--pass-at 1,5`, each once, in order. Raises UsageError."""
    found: list[int] = []
    for each in text.split(","):
        word = each.strip()
        if not (word.isascii() and word.isdigit()) or len(word) > 6 or not 1 <= int(word) <= _MOST:
            raise UsageError(f"--pass-at: expected whole numbers from 1 to {_MOST}, such as 1,5, got {text[:80]!a}")
        found.append(int(word))
    if len(found) > _MOST_KS:
        raise UsageError(f"--pass-at: expected at most {_MOST_KS} numbers, got {len(found)}")
    return tuple(sorted(set(found)))


def estimate(cases: Sequence[Samples], k: int) -> dict[str, Any]:
    """Both estimates over the cases with at least k answers, each with its 95% interval over cases.

    {"k", "cases", "left_out", "pass_at", "pass_at_low", "pass_at_high", "pass_at_by", "pass_hat", …, "reason"}; without
    a case with enough answers the figures are None, and the reason is k_exceeds_n, or no_data where none has an answer.
    """
    enough = [each for each in cases if each.n >= k]
    reason: Reason = "" if enough else "k_exceeds_n" if any(each.n for each in cases) else "no_data"
    found: dict[str, Any] = {"k": k, "cases": len(enough), "left_out": len(cases) - len(enough)}
    for name, of in (("pass_at", _at), ("pass_hat", _hat)):
        values = [(each.input, of(each.n, each.c, k)) for each in enough]
        clusters: dict[str, list[float]] = {}
        for key, value in values:
            clusters.setdefault(key, []).append(value)
        over = interval_by_case([(math.fsum(some), len(some)) for some in clusters.values()])
        mean = math.fsum(value for _, value in values) / len(values) if values else None
        found |= {name: mean, f"{name}_low": over.low if over else None, f"{name}_high": over.high if over else None}
        found[f"{name}_by"] = over.by if over else None
    return {**found, "reason": reason}


def _at(n: int, c: int, k: int) -> float:
    """At least one of k answers, drawn without putting back, is right. Exact before the one division."""
    every = math.comb(n, k)
    return (every - math.comb(n - c, k)) / every


def _hat(n: int, c: int, k: int) -> float:
    return math.comb(c, k) / math.comb(n, k)


def passes_at(rows: Rows, run: str, ks: Sequence[int]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The estimates by (candidate, rule set), one for each k; figures of None with the reason `graded` where answers
    are graded, since a grade is neither right nor wrong."""
    samples: dict[tuple[str, str], list[Samples]] = {}
    graded: set[tuple[str, str]] = set()
    for row in rows(_SAMPLES, (run,)):
        place = (row["candidate"], row["rules"])
        if row["graded"]:
            graded.add(place)
        samples.setdefault(place, []).append(Samples(str(row["input"]), int(row["n"]), int(row["c"])))
    return {
        place: [
            {**estimate((), k), "left_out": len(cases), "reason": "graded"} if place in graded else estimate(cases, k)
            for k in ks
        ]
        for place, cases in samples.items()
    }


def passes_words(estimates: Sequence[Mapping[str, Any]]) -> str:
    """The estimates as people read them: `pass@1 0.600, pass@5 0.900 and pass^5 0.200 (2 cases with fewer measured
    answers are left out)`."""
    if any(each["reason"] == "graded" for each in estimates):
        return "no pass@k (the answers are graded)"
    return ", ".join(map(_words, estimates))


def _words(each: Mapping[str, Any]) -> str:
    k, left = each["k"], each["left_out"]
    if each["pass_at"] is None:
        return f"pass@{k} none ({'no data' if each['reason'] == 'no_data' else 'no case has so many measured answers'})"
    said = f"pass@{k} {each['pass_at']:.3f}" + (f" and pass^{k} {each['pass_hat']:.3f}" if k > 1 else "")
    if not left:
        return said
    return f"{said} ({left} of {left + each['cases']} cases left out: fewer measured answers than {k})"
