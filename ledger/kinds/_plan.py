"""Bodies of a run as a whole: what is frozen, what is planned, and what it came to."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Literal, Self

from pydantic import Field, JsonValue, model_validator

from ledger.kinds._base import Body, Count, Hex64, Part, RunStatus, Seq

__all__ = [
    "Cell",
    "Close",
    "Freeze",
    "Plan",
    "PlanCandidate",
    "PlanFixture",
    "PlanMetric",
    "PlanRules",
    "Resume",
    "Tally",
    "TallyMetric",
]


class Freeze(Body):
    """A file is fixed. `digest` is its plain BLAKE3; for a rule set `identity` covers the sources of its stages too."""

    kind = "freeze"
    scope = "ledger"
    what: Literal["fixture", "rules", "prompt", "prices", "prediction"]
    name: str
    digest: Hex64
    identity: Hex64
    sources: dict[str, Hex64] = Field(default_factory=dict)


class PlanFixture(Part):
    """A fixture that a plan stands on, by the seq of its freeze."""

    name: str
    freeze: Seq
    cases: Count


class PlanMetric(Part):
    """A metric of a rule set; `planned` counts, for each candidate, the cells that it applies to."""

    name: str
    kind: Literal["rate", "mean"]
    planned: Count
    primary: bool


class PlanRules(Part):
    """A rule set that a plan is scored under: `label` = name@first 12 digits of `identity`."""

    name: str
    label: str
    identity: Hex64
    freeze: Seq
    metrics: list[PlanMetric]


class PlanCandidate(Part):
    """Everything that decides a request beside the case, and (not part of `digest`) the address it is reached at.

    `server` is what the server told of itself when the run opened: `version`, and `weights`, the digest of the model.
    `price` is what its tokens cost as the frozen price list says: decimals as text for a million tokens (`input`,
    `cached`, `cache_write`, `output`), `currency`, and `as_of`; empty where no price is known, which is never 0.
    """

    label: str
    protocol: str
    model: str
    parameters: dict[str, JsonValue]
    prompt: Hex64
    prompt_freeze: Seq | None
    stream: bool
    digest: Hex64
    base_url: str
    server: dict[str, str] = Field(default_factory=dict[str, str])
    price: dict[str, str] = Field(default_factory=dict[str, str])


class Plan(Body):
    """A run opens. One a run. `given` is what was asked for, as JSON text: numbers keep their spelling there.

    `filter` is the condition on `meta` that narrowed the cases, empty for none; `prices` the freeze of the price list
    that candidates' prices come from. `grades` names the runs whose answers this one judges. `suite_arms` says which
    arm the suite gives to each fixture, by its name, and `people` which fields of `meta` the suite names as people's;
    both came with schema 2, and are null where a plan doesn't say. What a server told of itself was looked up before
    the plan: such `lookup` events are among its causes.
    """

    kind = "plan"
    scope = "run"
    since: ClassVar[Mapping[str, int]] = MappingProxyType({"suite_arms": 2, "people": 2})

    version: int = Field(default=2, alias="schema", ge=1)
    name: str
    tags: list[str]
    purpose: Literal["evaluation", "probe"]
    suite: str
    ask: str
    fixtures: list[PlanFixture]
    rules: list[PlanRules]
    candidates: list[PlanCandidate]
    arms: list[str]
    epochs: Count
    limit: Count | None
    cells: Count
    via: Literal["live", "replay", "import"]
    environment: dict[str, str]
    code: dict[str, Hex64]
    given: str = ""
    filter: str = ""
    prices: Seq | None = None
    grades: list[str] = Field(default_factory=list[str])
    suite_arms: dict[str, str] | None = None
    people: list[str] | None = None

    @model_validator(mode="after")
    def _fits_its_schema(self) -> Self:
        return self.refuse_too_new()


class Cell(Body):
    """One planned measurement. Digests are keyed with the ledger's identity key.

    `people` is the digest of those fields of the case's `meta` that the suite names as people's, null where it names
    none; it came with schema 2.
    """

    kind = "cell"
    scope = "cell"
    since: ClassVar[Mapping[str, int]] = MappingProxyType({"people": 2})

    version: int = Field(default=2, alias="schema", ge=1)
    case: str
    fixture: str
    identity: Hex64
    input: Hex64
    gold: Hex64
    candidate: str
    arm: str
    epoch: Count
    twin: Count
    people: Hex64 | None = None

    @model_validator(mode="after")
    def _fits_its_schema(self) -> Self:
        return self.refuse_too_new()


class TallyMetric(Part):
    """One figure of a tally: k of n of `planned`; `total` sums a mean's values.

    `unmeasured` says how many of the n are unmeasured cells that the rule set's policy counts.
    """

    candidate: str
    metric: str
    kind: Literal["rate", "mean"]
    k: Count | None
    total: float | None
    n: Count
    planned: Count
    primary: bool
    unmeasured: Count = 0


class Tally(Body):
    """A scoring pass over a run is complete. What rests on the whole run rests on this event."""

    kind = "tally"
    scope = "run"
    rules: str
    freeze: Seq
    outcomes: dict[str, Count]
    metrics: list[TallyMetric]


class Close(Body):
    """A run stops. The last close wins; a later ask reopens the run, a rescore doesn't."""

    kind = "close"
    scope = "run"
    status: RunStatus
    planned: Count
    asked: Count
    outcomes: dict[str, dict[str, Count]]
    reason: str


class Resume(Body):
    """A run is taken up again. Written before anything that follows from it.

    Its causes are the plan and, where there is one, the last close.
    `retry` names the outcomes that are asked again (--retry-outcomes), `accept` the components that had moved and were
    accepted (--accept), each in an accept event of its own right after, and `reason` why they may have.
    """

    kind = "resume"
    scope = "run"
    retry: list[str]
    accept: list[str]
    reason: str
