"""The tokens that a reply tells, brought to one form for every protocol; the view `usage` does the same in SQL.

OpenAI's `prompt_tokens` include what was read from a cache, Anthropic's `input_tokens` leave it out; here it is always
left out. Output includes reasoning, as both count it. What a reply doesn't tell is unknown, and never 0.
Sources: platform.openai.com/docs/api-reference/chat/object, docs.anthropic.com/en/api/messages, Ollama's docs/api.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from harness._capture import Exchange
from harness.parse import Reading

__all__ = ["CUT_REASONS", "Counted", "Tokens", "counted", "tokens_of"]

Counted = Literal["counted", "refused", "unsent", "unknown"]
"""What is known of a request's tokens: `refused` (an error status: nothing was produced), `unsent` (no connection)."""

_UNSENT = frozenset({"dns", "connect_refused", "tls"})
CUT_REASONS = frozenset(
    {"stream_cut", "short_body", "decode_cut", "timeout", "connection_reset", "protocol", "fate_unknown"}
)
"""Reasons of replies that came in part: counts in the first part of a stream aren't those of the whole."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token counts of one request, or of many: `input` leaves out `cached` and `cache_write`."""

    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.input + self.cached + self.cache_write + self.output

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            self.input + other.input, self.cached + other.cached, self.cache_write + other.cache_write,
            self.output + other.output,
        )  # fmt: skip


def tokens_of(usage: Mapping[str, int] | None) -> Tokens | None:
    """The tokens of a reading's `usage`; None where it doesn't tell both what went in and what came out."""
    # As a `parse` event keeps them: a count below 0 is none.
    usage = {name: count for name, count in (usage or {}).items() if count >= 0}
    inside = usage.get("prompt_tokens_details.cached_tokens", 0)
    cached = usage.get("cache_read_input_tokens", inside)
    written = usage.get("cache_creation_input_tokens", 0)
    if "input_tokens" in usage:
        taken = usage["input_tokens"]
    elif "prompt_tokens" in usage:
        taken = usage["prompt_tokens"] - inside
    else:
        taken = usage.get("prompt_eval_count", -1)
    given = usage.get("output_tokens", usage.get("completion_tokens", usage.get("eval_count", -1)))
    return None if taken < 0 or given < 0 else Tokens(taken, cached, written, given)


def counted(exchange: Exchange, reading: Reading) -> tuple[Counted, Tokens | None]:
    """What is known of the tokens of one attempt, and they, where they were counted."""
    tokens = None if reading.reason in CUT_REASONS else tokens_of(reading.usage)
    if tokens is not None:
        return "counted", tokens
    if exchange.wire is not None and exchange.wire.status >= 400:
        return "refused", None
    if exchange.request is None:
        return "unsent", None
    if exchange.wire is None and exchange.fault_reason is not None and exchange.fault_reason[1] in _UNSENT:
        return "unsent", None
    return "unknown", None
