"""The tokens that a reply tells, brought to one form for every dialect; the view `usage` does the same in SQL.

Providers call the same thing by many names, and count parts beside a figure or inside it: OpenAI's `prompt_tokens`
include what was read from a cache, Anthropic's `input_tokens` leave it out; OpenAI's `completion_tokens` include
reasoning, xAI's don't. So the parts are held against each other and against the reply's own total, and where they don't
add up, or may have been meant in two ways, the tokens are unknown: never a low figure, and never 0. The table of the
dialects, with sources, is in docs/MONEY.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from harness._capture import Exchange
from harness.parse import Reading
from harness.parse._usage import NOT_COUNTS, NOT_FINAL, TOKEN_ENDINGS

__all__ = ["Counted", "Tokens", "counted", "role", "tokens_of"]

Counted = Literal["counted", "refused", "unsent", "unknown"]
"""What is known of a request's tokens: `refused` (an error status: nothing was produced), `unsent` (no connection)."""

_UNSENT = frozenset({"dns", "connect_refused", "tls", "tls_cut", "proxy_refused"})
_WHOLE_ERRORS = frozenset({"no_stop_reason", "unknown_stop_reason", "case_unusable", "gold_unusable"})
"""Reasons of status `error` under which the reply came whole all the same. Under every other its last counts may not
have come."""
_NOTHING_WRITTEN = frozenset({"empty_content", "null_content", "no_text_block"})
"""Reasons under which a reply may have no output tokens; with an answer, 0 is a placeholder."""
_MOST: Final = 10**9
"""No request has more tokens than this on either side."""

_ROLES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("prompt_tokens", "input_tokens", "prompt_eval_count"), "taken"),
    **dict.fromkeys(("completion_tokens", "output_tokens", "eval_count"), "given"),
    "total_tokens": "total",
    **dict.fromkeys(
        ("prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens", "cached_tokens",
         "num_cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens"),
        "cached",
    ),
    "prompt_cache_miss_tokens": "missed",
    **dict.fromkeys(
        ("prompt_tokens_details.cache_write_tokens", "input_tokens_details.cache_write_tokens",
         "prompt_tokens_details.cache_creation_tokens", "prompt_tokens_details.cache_creation_input_tokens",
         "cache_creation_input_tokens"),
        "written",
    ),
    **dict.fromkeys(("cache_creation.ephemeral_5m_input_tokens", "cache_creation.ephemeral_1h_input_tokens"), "kept"),
    **dict.fromkeys(
        ("completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens",
         "output_tokens_details.thinking_tokens", "reasoning_tokens"),
        "reasoning",
    ),
    **dict.fromkeys(
        ("completion_tokens_details.accepted_prediction_tokens",
         "completion_tokens_details.rejected_prediction_tokens"),
        "predicted",
    ),
    **dict.fromkeys((NOT_COUNTS, NOT_FINAL, "citation_tokens"), "unclear"),
    "num_search_queries": "searches",
    **dict.fromkeys(
        ("num_sources_used", "num_server_side_tools_used", "search_context_size", "usage_breakdown",
         "service_tier", "prompt_audio_seconds"),
        "charged",
    ),
}  # fmt: skip
_CHARGED: Final = ("server_tool_use.", "server_side_tool_usage_details.")
_INSIDE: Final = ("prompt_tokens_details.", "input_tokens_details.")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token counts of one request, or of many: `input` leaves out `cached` and `cache_write`, `output` includes
    reasoning. `apart` says how many of them (audio, images, hour-long caches) and how many calls of tools on the
    provider's side have prices of their own, so that no price list here tells what they cost."""

    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    apart: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.input + self.cached + self.cache_write + self.output

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            self.input + other.input, self.cached + other.cached, self.cache_write + other.cache_write,
            self.output + other.output, self.apart + other.apart,
        )  # fmt: skip


def role(name: str) -> str:
    """What a field of a usage object counts; empty where that is nothing to do with money.

    `other` are tokens of a sort that nothing here knows, audio and images among them: inside the figures where a total
    says so, and at a price of their own.
    """
    if name in _ROLES:
        return _ROLES[name]
    if name.startswith(_CHARGED):
        return "charged"
    if name.endswith((".text_tokens", ".ephemeral_5m_input_tokens")) or not name.endswith(TOKEN_ENDINGS):
        return ""
    return "other"


def tokens_of(usage: Mapping[str, int] | None, *, nothing_written: bool = False) -> Tokens | None:
    """The tokens that a reading's `usage` comes to; None where it doesn't tell what went in and what came out, or where
    what it tells doesn't add up. `nothing_written` says that the reply is empty, so that 0 can be its figure."""
    # As a `parse` event keeps them: a count below 0 is none.
    usage = {name: count for name, count in (usage or {}).items() if count >= 0}
    told: dict[str, list[int]] = {}
    for name, count in usage.items():
        told.setdefault(role(name), []).append(count)
    if "taken" not in told or "given" not in told or sum(told.get("unclear", ())):
        return None
    if any(len(set(told.get(each, ()))) > 1 for each in ("taken", "given", "cached", "written", "reasoning")):
        return None
    taken, given, cached, written, reasoning = (
        max(told.get(each, (0,))) for each in ("taken", "given", "cached", "written", "reasoning")
    )
    other = sum(told.get("other", ()))
    # OpenAI's figures include the caches' tokens; Anthropic's stand beside them.
    inside = "prompt_tokens" in usage or any(name.startswith(_INSIDE) for name in usage)
    if not _caches_add_up(usage, told, taken, cached, written, inside=inside):
        return None
    entered = taken if inside else taken + cached + written
    output = _output(told, entered, given, reasoning, inside=inside)
    if output is None or not 0 < entered <= _MOST or output > _MOST or not (output or nothing_written):
        return None
    searches = sum(told.get("searches", ()))
    # Perplexity counts a search's reasoning in no total, and charges for it.
    if other > entered + output or (searches and reasoning):
        return None
    apart = other + searches + sum(told.get("charged", ())) + usage.get("cache_creation.ephemeral_1h_input_tokens", 0)
    return Tokens(taken - cached - written if inside else taken, cached, written, output, apart)


def _caches_add_up(
    usage: Mapping[str, int], told: Mapping[str, list[int]], taken: int, cached: int, written: int, *, inside: bool
) -> bool:
    """Whether what was read from caches and written to them can be true of a prompt of `taken` tokens."""
    if "missed" in told and not (inside and cached + sum(told["missed"]) == taken):
        return False
    if sum(told.get("kept", (written,))) != written:
        return False
    if not inside:
        return True
    # Gateways have put Anthropic's own fields beside OpenAI's both ways: inside `prompt_tokens` and not.
    doubted = ("cache_creation_input_tokens" in usage and len(told["written"]) == 1 and written) or (
        "cache_read_input_tokens" in usage and len(told["cached"]) == 1 and cached
    )
    return not doubted and cached + written <= taken


def _output(told: Mapping[str, list[int]], entered: int, given: int, reasoning: int, *, inside: bool) -> int | None:
    """What came out, reasoning included; None where nothing tells whether that stands inside `given` or beside it."""
    if sum(told.get("predicted", ())) > given:
        return None
    if "total" not in told:
        # Anthropic tells no total and says that thinking is inside. Of all others that think, nobody knows.
        sure = not reasoning or (not inside and reasoning <= given)
        return given if sure and not sum(told.get("other", ())) else None
    total = max(told["total"])
    if total == entered + given:
        return given if reasoning <= given else None
    return given + reasoning if total == entered + given + reasoning else None


def counted(exchange: Exchange, reading: Reading) -> tuple[Counted, Tokens | None]:
    """What is known of the tokens of one attempt, and they, where they were counted."""
    tokens = None
    if exchange.wire is not None and (reading.status != "error" or reading.reason in _WHOLE_ERRORS):
        tokens = tokens_of(reading.usage, nothing_written=reading.reason in _NOTHING_WRITTEN)
    if tokens is not None:
        return "counted", tokens
    if exchange.wire is not None and exchange.wire.status >= 400:
        return "refused", None
    if exchange.request is None:
        return "unsent", None
    if exchange.wire is None and exchange.fault_reason is not None and exchange.fault_reason[1] in _UNSENT:
        return "unsent", None
    return "unknown", None
