"""Stored bodies read by their model alone, several times faster than through every check that `Ledger.body` makes.

What an append let in reads so; what somebody wrote into the file may not, and that is one sentence, never a traceback.
"""

from __future__ import annotations

from typing import TypeVar

from harness._errors import UsageError
from ledger.kinds import Body

__all__ = ["typed"]

_Typed = TypeVar("_Typed", bound=Body)


def typed(model: type[_Typed], body: str, where: str) -> _Typed:
    """The body of an event of the kind that `model` is of; `where` names it. Raises UsageError."""
    from pydantic import ValidationError

    try:
        return model.model_validate_json(body)
    except ValidationError:
        raise UsageError(f"{where} is not a {model.kind} as one can be stored; `ledger verify` says more") from None
