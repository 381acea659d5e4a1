"""What a run was asked for, kept in its plan as JSON text, so that a resume can ask for the same again.

As text, because the canonical form of a body makes 1 of 1.0, and to a request these are two things.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

__all__ = ["Given", "read_given"]


@dataclass(frozen=True)
class Given:
    """`suite` is the suite's folder; `engines` as they were typed; `addressed` says that their addresses were given and
    not taken out of the environment; `parameters` are those given beside the suite's own."""

    suite: str
    engines: Sequence[str]
    addressed: bool
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stream: bool = False

    def text(self) -> str:
        """The form that `read_given` reads."""
        return json.dumps(
            {
                "suite": self.suite,
                "engines": list(self.engines),
                "addressed": self.addressed,
                "parameters": dict(self.parameters),
                "stream": self.stream,
            }
        )


def read_given(text: str) -> Given | None:
    """What a plan holds of it; None for a plan of a release that kept nothing."""
    if not text:
        return None
    found = cast("dict[str, Any]", json.loads(text))
    return Given(
        str(found["suite"]), [str(each) for each in found["engines"]], bool(found["addressed"]),
        cast("dict[str, Any]", found["parameters"]), bool(found["stream"]),
    )  # fmt: skip
