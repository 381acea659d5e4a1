"""Bars: what a rule set's figures must come to, and what to conclude when one doesn't.

    bars = ["METRIC >= 9/12"]               or, with what to conclude:
    [[bars]]
    bar = "METRIC >= 9/12"                  >=, >, <= or < ; a fraction, a decimal number or a percentage
    fails = "one sentence for people"
    when_planned = true                  no cell of the metric was planned: then the bar isn't judged; default false

A bar is about a share, so 9/12 is also met by 15/20. What the unmeasured would have been is not known, so a bar is
`met` only where it holds whatever they were, `failed` where it fails whatever they were, and `undecided` between the
two, or where nothing was measured. Undecided is no pass. What a policy counts is no longer open, and the figure says
how many such cells are in it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal, cast

from harness._errors import RulesError

__all__ = ["Bar", "BarResult", "counted", "is_judged", "judge_bar", "parse_bar", "read_bars"]

BarStatus = Literal["met", "failed", "undecided"]

_OPS: Mapping[str, Callable[[Fraction, Fraction], bool]] = MappingProxyType(
    {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
)
_BAR = re.compile(
    r"\s*(?P<metric>[A-Za-z_][A-Za-z0-9_.@-]{0,99})\s*(?P<op>>=|<=|>|<)\s*"
    r"(?:(?P<k>[0-9]{1,9})\s*/\s*(?P<n>[0-9]{1,9})|(?P<number>[0-9]{1,9}(?:\.[0-9]{1,18})?)\s*(?P<percent>%?))\s*"
)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar. `text` is as it was written, `fails` what to conclude when it isn't met (may be empty). With
    `when_planned` it speaks only of runs that plan a cell of its metric."""

    text: str
    metric: str
    op: str
    threshold: Fraction
    fails: str = ""
    when_planned: bool = False


@dataclass(frozen=True, slots=True)
class BarResult:
    """How a bar stands for one candidate. `figure` is the figure it was held against, as text; `why` one sentence."""

    bar: Bar
    candidate: str
    status: BarStatus
    figure: str
    why: str

    @property
    def holds(self) -> bool:
        """Whether the bar is met; undecided is not."""
        return self.status == "met"

    def as_json(self) -> dict[str, str | bool]:
        """The documented JSON form."""
        return {
            "bar": self.bar.text, "metric": self.bar.metric, "candidate": self.candidate, "status": self.status,
            "holds": self.holds, "figure": self.figure, "why": self.why, "fails": self.bar.fails,
        }  # fmt: skip


def parse_bar(text: str, metrics: Sequence[str], fails: str = "") -> Bar:
    """Read `direction >= 9/12`. Raises RulesError for another grammar, an unknown metric, and a share above 1."""
    found = _BAR.fullmatch(text)
    if found is None:
        raise RulesError(f'bar: expected METRIC >= K/N (or >, <=, <; 0.75 or 75% too), got "{ascii(text)[1:-1][:200]}"')
    if found["metric"] not in metrics:
        raise RulesError(f"bar: expected one of {', '.join(metrics)}, got {found['metric']!a}")
    if found["n"] is not None and int(found["n"]) == 0:
        raise RulesError(f"bar: expected a share, got {found['k']}/0")
    share = Fraction(int(found["k"]), int(found["n"])) if found["n"] else Fraction(found["number"])
    share = share / 100 if found["percent"] else share
    if share > 1:
        raise RulesError(f"bar: expected a share of at most 1, got {text.strip()!a}; write 75% or 0.75 or 9/12")
    op = found["op"]
    if (op == ">" and share == 1) or (op == "<" and share == 0):
        raise RulesError(f"bar: nothing can ever meet {text.strip()!a}")
    return Bar(text.strip(), found["metric"], op, share, fails)


def read_bars(listed: Any, metrics: Sequence[str]) -> tuple[Bar, ...]:
    """The [[bars]] of a rule file. Raises RulesError with one sentence."""
    if not isinstance(listed, list):
        raise RulesError("[[bars]]: expected tables with bar and fails")
    found: list[Bar] = []
    for item in cast("list[Any]", listed):
        given = cast("dict[str, Any]", item if isinstance(item, dict) else {"bar": item})
        if not {"bar"} <= set(given) <= {"bar", "fails", "when_planned"}:
            raise RulesError(f"[[bars]]: expected bar, fails and when_planned in each, got {ascii(given)[:200]}")
        if not isinstance(given["bar"], str) or not isinstance(given.get("fails", ""), str):
            raise RulesError(f"[[bars]]: expected text for bar and fails, got {ascii(given)[:200]}")
        when_planned = given.get("when_planned", False)
        if not isinstance(when_planned, bool):
            raise RulesError(f"[[bars]] when_planned: expected true or false, got {ascii(when_planned)[:200]}")
        bar = parse_bar(given["bar"], metrics, given.get("fails", ""))
        found.append(replace(bar, when_planned=when_planned))
    for bar in found:
        if sum((bar.metric, bar.op, bar.threshold) == (o.metric, o.op, o.threshold) for o in found) > 1:
            raise RulesError(f"[[bars]]: {bar.text!a} stands twice")
    return tuple(found)


def counted(row: Mapping[str, Any]) -> str:
    """A row's figure as text, with how many of its n are unmeasured cells that a policy counts."""
    shown = f"{row['k']}/{row['n']}" if row["kind"] == "rate" else f"{float(row['rate']):.4f} over {row['n']}"
    shown += f" ({row['unmeasured']} of them unmeasured)" if row.get("unmeasured") else ""
    return shown + (f" ({row['marks']})" if row.get("marks") else "")


def is_judged(bar: Bar, row: Mapping[str, Any] | None) -> bool:
    """Whether a bar speaks of a run at all: one that asks for planned cells doesn't where a row of the view
    `scoreboard` says that there are none."""
    return not (bar.when_planned and row is not None and not int(row["planned"]))


def judge_bar(bar: Bar, row: Mapping[str, Any] | None, candidate: str = "") -> BarResult:
    """Hold a bar against a row of the view `scoreboard`; None is a metric that nobody has figures of."""
    if row is None:
        return BarResult(bar, candidate, "undecided", "no data", "No figure of this metric stands in the run.")
    n, planned = int(row["n"]), int(row["planned"])
    if not n:
        return BarResult(bar, str(row["candidate"]), "undecided", "no data", "Nothing that it speaks of was measured.")
    exact = row["kind"] == "rate"
    total = Fraction(int(row["k"])) if exact else Fraction(float(row["rate"])) * n
    figure = counted(row)
    holds = _OPS[bar.op]
    least, most = holds(total / planned, bar.threshold), holds((total + planned - n) / planned, bar.threshold)
    left = planned - n
    filled = f"{row['unmeasured']} of the {n} are unmeasured, counted by the policy." if row.get("unmeasured") else ""
    if least == most:
        status: BarStatus = "met" if least else "failed"
        why = f"{'Holds' if least else 'Fails'} whatever the {left} left out would have been." if left else ""
        return BarResult(bar, str(row["candidate"]), status, figure, " ".join(filter(None, (why, filled))))
    would = "holds" if holds(total / n, bar.threshold) else "fails"
    on = f"{n} counted" if filled else f"{n} measured"
    why = f"It {would} on the {on}, but the {left} of {planned} that are left out could turn it."
    return BarResult(bar, str(row["candidate"]), "undecided", figure, why)
