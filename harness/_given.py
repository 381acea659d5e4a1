"""What a run was asked for, kept in its plan as JSON text, so that a resume can ask for the same again.

As text, because the canonical form of a body makes 1 of 1.0, and to a request these are two things.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

__all__ = ["Given", "GivenCandidate", "read_given"]


@dataclass(frozen=True)
class GivenCandidate:
    """One candidate as it was asked for: `prompt` names a file in the suite's prompts/ (empty: the suite's own),
    `addressed` says that its address was given and not taken out of the environment, and an empty `label` is what the
    engine calls itself."""

    engine: str
    label: str = ""
    prompt: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stream: bool = False
    addressed: bool = False


@dataclass(frozen=True)
class Given:
    """`suite` is the suite's folder; `engines` as they were typed; `addressed` says that their addresses were given and
    not taken out of the environment; `parameters` are those given beside the suite's own. `candidates` has all of it
    apart, in the plan's order; empty in plans of releases that knew no matrix. `rules` are rule files outside the
    suite's folder, by the name of the rule set; `filters` the conditions on cases; `budget` is what
    the run may use, all its sessions together. `reuse_outcomes` are the outcomes of the earlier answers that were taken
    over, where they were chosen by outcome: cells with others were asked again, and every figure says so."""

    suite: str
    engines: Sequence[str]
    addressed: bool
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stream: bool = False
    candidates: Sequence[GivenCandidate] = ()
    rules: Mapping[str, str] = field(default_factory=dict[str, str])
    filters: Sequence[str] = ()
    budget: Mapping[str, str] = field(default_factory=dict[str, str])
    reuse_outcomes: Sequence[str] = ()

    def text(self) -> str:
        """The form that `read_given` reads."""
        return json.dumps(
            {
                "suite": self.suite,
                "engines": list(self.engines),
                "addressed": self.addressed,
                "parameters": dict(self.parameters),
                "stream": self.stream,
                "candidates": [
                    {
                        "engine": each.engine, "label": each.label, "prompt": each.prompt,
                        "parameters": dict(each.parameters), "stream": each.stream, "addressed": each.addressed,
                    }
                    for each in self.candidates
                ],
                "rules": dict(self.rules),
                "filters": list(self.filters),
                "budget": dict(self.budget),
                **({"reuse_outcomes": list(self.reuse_outcomes)} if self.reuse_outcomes else {}),
            }
        )  # fmt: skip

    def asked(self) -> tuple[GivenCandidate, ...]:
        """The candidates that were asked for, in the plan's order."""
        return tuple(self.candidates) or tuple(
            GivenCandidate(engine, "", "", self.parameters, self.stream, self.addressed) for engine in self.engines
        )


def read_given(text: str) -> Given | None:
    """What a plan holds of it; None for a plan of a release that kept nothing."""
    if not text:
        return None
    found = cast("dict[str, Any]", json.loads(text))
    return Given(
        str(found["suite"]), [str(each) for each in found["engines"]], bool(found["addressed"]),
        cast("dict[str, Any]", found["parameters"]), bool(found["stream"]),
        tuple(_candidate(each) for each in found.get("candidates", ())),
        {str(name): str(path) for name, path in found.get("rules", {}).items()},
        [str(each) for each in found.get("filters", ())],
        {str(name): str(value) for name, value in found.get("budget", {}).items()},
        [str(each) for each in found.get("reuse_outcomes", ())],
    )  # fmt: skip


def _candidate(found: Mapping[str, Any]) -> GivenCandidate:
    return GivenCandidate(
        str(found["engine"]), str(found["label"]), str(found["prompt"]), cast("dict[str, Any]", found["parameters"]),
        bool(found["stream"]), bool(found["addressed"]),
    )  # fmt: skip
