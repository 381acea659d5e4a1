"""What the command line shows of one reading: untrusted text only as escapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast, get_args

from harness._errors import UsageError
from harness._outcomes import flag_sentence, reason
from harness.parse._answer import read_text
from harness.parse._json import compact
from harness.parse._lines import reading_as_json
from harness.parse._types import Ask, ReadRules, Stop

__all__ = ["Shown", "check_choices", "read_one"]

_ASKS: Final = get_args(Ask)
_STOPS: Final = get_args(Stop)


@dataclass(frozen=True, slots=True)
class Shown:
    """One reading, as a line of JSON and as (name, words) for people; `exit_status` is 0 when it was parsed, else 1."""

    json: str
    shown: tuple[tuple[str, str], ...]
    exit_status: int


def check_choices(ask: str | None, stop: str) -> tuple[Ask, Stop]:
    """The two choices, known to be some. Raises UsageError."""
    if ask not in _ASKS:
        given = "nothing" if ask is None else ascii(ask)
        raise UsageError(f"--ask: expected one of {', '.join(_ASKS)}, got {given}")
    if stop not in _STOPS:
        raise UsageError(f"--stop: expected one of {', '.join(_STOPS)}, got {stop!a}")
    return cast("Ask", ask), cast("Stop", stop)


def read_one(data: bytes, ask: Ask, stop: Stop, rules: ReadRules) -> Shown:
    """Read one answer, for a command to show."""
    reading = read_text(data, ask=ask, stop=stop, rules=rules)
    rows = [("status", reading.status)]
    if reading.reason:
        rows += [
            ("reason", f"{reading.reason}: {reason(reading.status, reading.reason).sentence}"),
            ("domain", reading.domain),
        ]
    if reading.value is not None:
        rows.append(("value", compact(reading.value)))
    rows += [("flag", f"{flag}: {flag_sentence(flag)}") for flag in reading.flags]
    rows += [("bytes", f"{start} to {end}") for start, end in reading.span]
    return Shown(reading_as_json(reading), tuple(rows), 0 if reading.status == "parsed" else 1)
