"""The values that reading takes and gives. Plain data: nothing here reads anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from harness._errors import RulesError
from harness._outcomes import Domain, Stage, Status, reason

__all__ = [
    "Ask",
    "Protocol",
    "ReadRules",
    "Reading",
    "Stop",
    "Wire",
    "make_reading",
    "unclosed_reasoning",
    "unless_cut",
]

Ask = Literal["object", "array", "jsonl", "python", "text"]
Stop = Literal["end", "length", "none"]
Protocol = Literal["openai", "anthropic", "ollama", "command", "text"]


@dataclass(frozen=True, slots=True)
class Wire:
    """A response as it came: `body` is de-chunked, and its Content-Encoding is still on.

    `whole` is false when the connection ended before the body did; `fault` is then the (stage, reason) of the fault
    event that was recorded with it, such as ("transport", "timeout") or ("reply", "short_body").
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    whole: bool = True
    fault: tuple[str, str] | None = None

    def header(self, name: str) -> str | None:
        """All values of a header, joined as RFC 9110 section 5.3 says; None when it is not there."""
        wanted = name.lower()
        found = [value for key, value in self.headers if key.lower() == wanted]
        return ", ".join(found) if found else None


@dataclass(frozen=True, slots=True)
class ReadRules:
    """Which leniencies a rule set grants. Every one is off in :meth:`strict`; a value is never repaired by default.

    Where the answer may stand: `fence` one code fence around it, `unclosed_fence` a fence that the text never closes,
    `prose` text around it, `reasoning` text up to the last closing reasoning tag, `bom` a byte order mark ahead.
    With `fence` and without `prose`: white space, one leading fence line and one trailing fence are taken off, and
    what is left must be the whole value.

    What the value may be: `list_not_object` a list where an object was asked for, `tool_call_like` an object shaped
    like a tool call. JSON faults that are read for what they plainly say, each leaving a flag of its name:
    `trailing_comma`, `comment`, `single_quotes`, `python_literal`, `raw_control_char`.

    `terminal`: what to do about terminal control bytes; "render" replays them through a terminal emulator and marks
    the value `salvaged`.
    """

    fence: bool = False
    unclosed_fence: bool = False
    prose: bool = False
    reasoning: bool = False
    bom: bool = False
    list_not_object: bool = False
    tool_call_like: bool = False
    trailing_comma: bool = False
    comment: bool = False
    single_quotes: bool = False
    python_literal: bool = False
    raw_control_char: bool = False
    terminal: Literal["refuse", "render"] = "refuse"

    @property
    def grants_json_faults(self) -> bool:
        """Whether any fault of the JSON itself may pass."""
        return self.trailing_comma or self.comment or self.single_quotes or self.python_literal or self.raw_control_char

    @classmethod
    def default(cls) -> ReadRules:
        """The built-in `default`: the whole text, one fenced block, or one value in prose; reasoning tags, BOM,
        unclosed fence.
        """
        return cls(fence=True, unclosed_fence=True, prose=True, reasoning=True, bom=True)

    @classmethod
    def strict(cls) -> ReadRules:
        """Only the whole text may be the answer."""
        return cls()

    @classmethod
    def from_table(cls, table: Mapping[str, object]) -> ReadRules:
        """Read a `[read]` table; what it leaves out is off. Raises RulesError for an unknown key or a wrong value."""
        known = {each.name for each in fields(cls)}
        for key, value in table.items():
            if key not in known:
                raise RulesError(f"read.{key} is not a leniency: expected one of {', '.join(sorted(known))}")
            if key == "terminal":
                if value not in ("refuse", "render"):
                    raise RulesError(f'read.terminal is {value!r}: expected "refuse" or "render"')
            elif not isinstance(value, bool):
                raise RulesError(f"read.{key} is {value!r}: expected true or false")
        return cls(**dict(table))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply was read as.

    `value` is JSON text: for an object or an array the very characters that were sent; for JSON lines a list of the
    rows as sent; for code and text the text as one JSON string (also a truncated text, and a refusal). `span` gives
    UTF-8 byte offsets into `text`, one pair for what was read, or one for each candidate. `retry` is never, backoff,
    after:N or give_up. `stop` is the provider's own word, `model` the model as the server resolved it, `usage` its
    integer counts. `served` has every name of who answered (see `harness.parse._served`).
    """

    status: Status
    reason: str
    stage: Stage
    domain: Domain
    retry: str
    flags: tuple[str, ...] = ()
    value: str | None = None
    span: tuple[tuple[int, int], ...] = ()
    text: str | None = None
    reasoning: str | None = None
    usage: Mapping[str, int] | None = None
    stop: str | None = None
    model: str | None = None
    served: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])


def make_reading(
    status: Status,
    name: str = "",
    *,
    flags: tuple[str, ...] = (),
    value: str | None = None,
    span: tuple[tuple[int, int], ...] = (),
    text: str | None = None,
    reasoning: str | None = None,
    retry: str | None = None,
) -> Reading:
    """A reading whose stage, domain and retry advice come from the taxonomy."""
    found = reason(status, name)
    return Reading(
        status,
        name,
        found.stage,
        found.domain,
        found.retry if retry is None else retry,
        flags,
        value,
        span,
        text,
        reasoning,
    )


def unless_cut(stop: Stop, status: Status, name: str, text: str, reasoning: str | None = None) -> Reading:
    """What a text without a whole answer is read as: under a length stop that says enough, and nothing else is looked
    for.
    """
    if stop == "length":
        return make_reading("truncated", "stop_length", text=text, reasoning=reasoning)
    return make_reading(status, name, text=text, reasoning=reasoning)


def unclosed_reasoning(stop: Stop, text: str, reasoning: str | None = None) -> Reading:
    """A reasoning tag that is never closed: nothing after it is an answer."""
    if stop == "length":
        return make_reading("truncated", "inside_reasoning", text=text, reasoning=reasoning)
    return make_reading("malformed", "unclosed_reasoning", text=text, reasoning=reasoning)
