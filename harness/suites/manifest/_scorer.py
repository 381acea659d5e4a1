"""What a scorer is: how it takes an answer, which golds it compares, and what it counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from harness._json import JSON
from harness.suites._registry import EVERY_GROUP, Answer, Confirmed, Metric
from harness.suites.manifest._options import Option, read_options

__all__ = ["NOTHING", "SOMETHING", "Scorer", "Tally", "Unclear"]

SOMETHING = "something_expected"
NOTHING = "nothing_expected"
_NOTHING_UNLESS: Mapping[str, tuple[str, Any]] = MappingProxyType({})

Options = Mapping[str, Any]
Tally = tuple[dict[str, int | float], str]
"""A cell's metrics, and the scorer's word for what it found."""
Unclear = Literal["word_unclear"]
"""Why an answer leaves open whether it names the gold."""


def _fits(_: dict[str, Any]) -> None:
    """Every combination of options will do."""


@dataclass(frozen=True)
class Scorer:
    """One scorer. `version` is raised when an answer could be judged otherwise than before.

    answer(value, input, options): the answer as it is held against the gold, or a status. check_gold(input, gold,
    options): None, or one sentence. score(answer, confirmed, gold, options): the metrics and the verdict, None for a
    gold that can't be compared, or why the answer leaves open whether it names it. confirm(answer, input): what of the
    answer the evidence bears out. None of them raises, whatever the JSON.
    `fit(options)` raises ValueError for options that don't go together, and may complete them. `verdicts`: each word
    that `score` may give, with what it means. `unless`: metrics that aren't counted where an option has a value.
    """

    name: str
    version: int
    about: str
    options: tuple[Option, ...]
    metrics: tuple[Metric, ...]
    primary: Mapping[str, str]
    verdicts: Mapping[str, str]
    answer: Callable[[JSON, JSON, Options], Answer]
    check_gold: Callable[[JSON, JSON, Options], str | None]
    score: Callable[[JSON, Confirmed, JSON, Options], Tally | Unclear | None]
    confirm: Callable[[JSON, JSON], Confirmed] | None = None
    fit: Callable[[dict[str, Any]], None] = _fits
    unless: Mapping[str, tuple[str, Any]] = field(default_factory=lambda: _NOTHING_UNLESS)

    @property
    def label(self) -> str:
        """How a rule set names it, such as "exact/1"."""
        return f"{self.name}/{self.version}"

    def read(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """Its options out of a [score] table. Raises ValueError."""
        found = read_options(self.options, table, f"the scorer {self.name}")
        self.fit(found)
        return found

    def counted(self, options: Options) -> tuple[Metric, ...]:
        """The metrics that are counted under these options."""
        left_out = {name for name, (option, value) in self.unless.items() if options[option] == value}
        return tuple(each for each in self.metrics if each.name not in left_out)


def rate(name: str, applies: str = EVERY_GROUP, *, higher_is_better: bool = True) -> Metric:
    """A metric of 0 or 1."""
    return Metric(name, "rate", applies, higher_is_better)


def mean(name: str, applies: str = EVERY_GROUP) -> Metric:
    """A metric in [0, 1] of which more is better."""
    return Metric(name, "mean", applies, higher_is_better=True)


CORRECT = rate("correct")
"""The metric that every scorer of one whole answer has, so that two of them can be held against one another."""


def primary(**chosen: str) -> Mapping[str, str]:
    """Which metric is a cell's outcome, by group; `every` stands for all."""
    return MappingProxyType({EVERY_GROUP if group == "every" else group: name for group, name in chosen.items()})
