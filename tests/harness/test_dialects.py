"""How every provider counts: the table of docs/MONEY.md, row by row, and the view `usage` held against Python."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness._outcomes import reason
from harness._prices import Price
from harness._usage import Tokens, counted, role, tokens_of
from harness.engines._providers import built_in_providers
from harness.parse import Protocol
from harness.parse._usage import as_counts, as_kept_before
from ledger import Ledger
from tests.harness.dialects import Row, attempt_of, dialects, table, viewed
from tests.harness.parse.wires import reply, sent, sse

ROOT = Path(__file__).resolve().parents[2]
PRICE = Price(Decimal(1), Decimal(8), "USD", "2026-11-30", Decimal("0.5"), Decimal("1.25"))


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    with Ledger.create(tmp_path_factory.mktemp("usage") / "ledger.db") as made:
        yield made


@pytest.mark.parametrize("row", dialects(), ids=lambda row: f"{row.dialect}: {row.says}")
def test_every_reply_of_the_table_comes_to_what_its_provider_means_or_is_unknown(row: Row) -> None:
    found = attempt_of(row.wire, row.protocol, stream=row.stream)
    assert counted(found.exchange, found.reading) == ("unknown" if row.tokens is None else "counted", row.tokens)
    if row.tokens is not None:
        assert (PRICE.cost(row.tokens) is None) == bool(row.tokens.apart)


def test_the_view_says_the_same_of_every_reply_of_the_table(ledger: Ledger) -> None:
    rows = dialects()
    found = viewed(ledger, [attempt_of(row.wire, row.protocol, stream=row.stream) for row in rows])
    assert found == [("unknown" if row.tokens is None else "counted", row.tokens) for row in rows]


def test_every_provider_that_can_be_asked_has_a_row_and_the_page_has_the_table() -> None:
    asked = {name for name, provider in built_in_providers().items() if not provider.through}
    assert {row.dialect for row in dialects()} == asked
    assert table() in (ROOT / "docs" / "MONEY.md").read_text()


def test_a_row_that_is_said_to_be_recorded_is_in_the_committed_history() -> None:
    with closing(sqlite3.connect(f"file:{ROOT / 'ledger.db'}?immutable=1", uri=True)) as connection:
        kept = {
            tuple(sorted(json.loads(usage).items()))
            for (usage,) in connection.execute(
                "SELECT DISTINCT body -> '$.usage' FROM events WHERE kind = 'parse' AND body -> '$.usage' IS NOT NULL"
            )
            if json.loads(usage)
        }
    recorded = [row for row in dialects() if row.found == "recorded"]
    assert recorded and all(tuple(sorted(as_counts(row.usage).items())) in kept for row in recorded)


# What doesn't add up

PLAIN: dict[str, Any] = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
ODD: dict[str, dict[str, Any]] = {
    "a total above its parts": {**PLAIN, "total_tokens": 121},
    "a total below its parts": {**PLAIN, "total_tokens": 119},
    "a total above its parts and the reasoning": {
        **PLAIN, "total_tokens": 200, "completion_tokens_details": {"reasoning_tokens": 70}
    },
    "more reasoning than the answer that it is inside": {
        **PLAIN, "completion_tokens_details": {"reasoning_tokens": 21}
    },
    "reasoning and no total": {
        "prompt_tokens": 100, "completion_tokens": 20, "completion_tokens_details": {"reasoning_tokens": 5}
    },
    "reasoning told twice, each time another": {
        **PLAIN, "reasoning_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 5}
    },
    "more cached than sent": {**PLAIN, "prompt_tokens_details": {"cached_tokens": 101}},
    "more cached and written than sent": {
        **PLAIN, "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 50}
    },
    "cached told twice, each time another": {
        **PLAIN, "cached_tokens": 0, "prompt_tokens_details": {"cached_tokens": 9}
    },
    "cached under Anthropic's name alone": {**PLAIN, "cache_read_input_tokens": 50},
    "hits and misses of a cache that aren't the prompt": {
        **PLAIN, "prompt_cache_hit_tokens": 60, "prompt_cache_miss_tokens": 30
    },
    "two names for the prompt, each with another figure": {**PLAIN, "input_tokens": 90},
    "two names for the answer, each with another figure": {**PLAIN, "output_tokens": 30},
    "more rejected predictions than the answer": {
        **PLAIN, "completion_tokens_details": {"rejected_prediction_tokens": 30}
    },
    "a sort of tokens that nobody knows, and no total": {
        "prompt_tokens": 100, "completion_tokens": 20, "thought_tokens": 900
    },
    "a sort of tokens that nobody knows, of more than all": {**PLAIN, "thought_tokens": 900},
    "tokens by their native name": {**PLAIN, "thoughtsTokenCount": 900},
    "zeros beside an answer": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    "no answer beside an answer": {"prompt_tokens": 100, "completion_tokens": 0, "total_tokens": 100},
    "no prompt": {"prompt_tokens": 0, "completion_tokens": 20, "total_tokens": 20},
    "a huge figure": {"prompt_tokens": 10**12, "completion_tokens": 20, "total_tokens": 10**12 + 20},
    "a figure that no ledger can hold": {**PLAIN, "total_tokens": 2**70},
    **{
        f"{what} for {name}": {**PLAIN, name: value}
        for name in PLAIN
        for what, value in {
            "text": "120", "a fraction": 120.0, "a truth": True, "a negative": -1, "a list": [120],
            "an object": {"n": 1},
        }.items()
    },
    "a fraction for a detail": {**PLAIN, "completion_tokens_details": {"reasoning_tokens": 5.5}},
    "text for a detail": {**PLAIN, "prompt_tokens_details": {"cached_tokens": "5"}},
    "a detail told twice by one name": {
        **PLAIN, "prompt_tokens_details": {"cached_tokens": 9}, "prompt_tokens_details.cached_tokens": 9
    },
    "hundreds of figures": {**PLAIN, **{f"figure_{number}": number for number in range(300)}},
}  # fmt: skip
ODD_BESIDE: dict[str, dict[str, Any]] = {
    "parts of a cache write that aren't the whole": {
        "input_tokens": 9, "output_tokens": 5, "cache_creation_input_tokens": 100,
        "cache_creation": {"ephemeral_5m_input_tokens": 40, "ephemeral_1h_input_tokens": 50},
    },
    "parts of a cache write that is none": {
        "input_tokens": 9, "output_tokens": 5, "cache_creation": {"ephemeral_5m_input_tokens": 40}
    },
    "more thinking than was written": {
        "input_tokens": 9, "output_tokens": 5, "output_tokens_details": {"thinking_tokens": 6}
    },
    "a total without the caches": {
        "input_tokens": 9, "output_tokens": 5, "cache_read_input_tokens": 100, "total_tokens": 14
    },
    "iterations that no one can add": {
        "input_tokens": 9, "output_tokens": 5, "iterations": [{"input_tokens": "9", "output_tokens": 5}]
    },
}  # fmt: skip


@pytest.mark.parametrize("what", [*ODD, *ODD_BESIDE])
def test_counts_that_do_not_add_up_are_unknown_to_python_and_to_the_view(what: str, ledger: Ledger) -> None:
    protocol: Protocol = "openai" if what in ODD else "anthropic"
    usage = ODD[what] if what in ODD else ODD_BESIDE[what]
    found = attempt_of(sent(reply(protocol, usage=usage)), protocol)
    assert found.reading.status == "parsed"
    assert counted(found.exchange, found.reading) == ("unknown", None)
    assert viewed(ledger, [found]) == [("unknown", None)]


def test_an_empty_reply_may_have_no_output_at_all() -> None:
    body = reply("openai", "", usage={"prompt_tokens": 9, "completion_tokens": 0, "total_tokens": 9})
    found = attempt_of(sent(body), "openai")
    assert found.reading.reason == "empty_content"
    assert counted(found.exchange, found.reading) == ("counted", Tokens(9, 0, 0, 0))


# Streams


def piece(text: str = "", stop: str | None = None, usage: Any = None) -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": stop}], "usage": usage}


def told(prompt: int, answer: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}


LAST: dict[str, Any] = {"model": "m", "choices": []}
STREAMS: dict[str, tuple[list[dict[str, Any]], Tokens | None]] = {
    "with the finish reason": ([piece("a"), piece("b", "stop", told(9, 2))], Tokens(9, 0, 0, 2)),
    "after it": ([piece("a"), piece("b", "stop"), {**LAST, "usage": told(9, 2)}], Tokens(9, 0, 0, 2)),
    "after a placeholder of zeros": (
        [piece("a", usage=told(0, 0)), piece("b", "stop"), {**LAST, "usage": told(9, 2)}], Tokens(9, 0, 0, 2)
    ),
    "twice the same": (
        [piece("a"), piece("b", "stop", told(9, 2)), {**LAST, "usage": told(9, 2)}], Tokens(9, 0, 0, 2)
    ),
    "in every chunk, so far": (
        [piece("a", usage=told(9, 1)), piece("b", usage=told(9, 2)), piece("c", "stop", told(9, 4))], Tokens(9, 0, 0, 4)
    ),
    "with a finish reason in every chunk": (
        [piece("a", "stop", told(9, 1)), piece("b", "stop", told(9, 2))], Tokens(9, 0, 0, 2)
    ),
    "in the first chunk alone": ([piece("a", usage=told(9, 1)), piece("b", "stop")], None),
    "ahead of the finish reason": ([piece("a"), piece("b", usage=told(9, 2)), piece("", "stop")], None),
    "with a finish reason that more text follows": ([piece("a", "stop", told(9, 1)), piece("b")], None),
    "of each chunk for itself": (
        [piece("a", usage=told(9, 1)), piece("b", usage=told(9, 1)), piece("c", "stop", told(9, 1))], None
    ),
    "less in the end than before": (
        [piece("a", usage=told(9, 5)), piece("b", "stop"), {**LAST, "usage": told(9, 2)}], None
    ),
    "zeros after the figure": (
        [piece("a"), piece("b", "stop", told(9, 2)), {**LAST, "usage": told(0, 0)}], None
    ),
    "text after the figure": (
        [piece("a"), piece("b", "stop", told(9, 2)), {**LAST, "usage": {"prompt_tokens": "9"}}], None
    ),
    "not at all": ([piece("a"), piece("b", "stop")], None),
}  # fmt: skip


@pytest.mark.parametrize("what", list(STREAMS))
@pytest.mark.parametrize("done", [True, False], ids=["with an end mark", "without"])
def test_the_counts_of_a_stream_are_those_that_came_with_its_end(what: str, done: bool, ledger: Ledger) -> None:
    events, tokens = STREAMS[what]
    found = attempt_of(sent(sse(*events, done=done)), "openai", stream=True)
    assert found.reading.status == "parsed"
    assert counted(found.exchange, found.reading)[1] == tokens
    assert viewed(ledger, [found])[0][1] == tokens


def opened(**usage: int) -> dict[str, Any]:
    return {"type": "message_start", "message": {"type": "message", "model": "m", "content": [], "usage": usage}}


def delta(**usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, **({"usage": usage} if usage else {})}


TEXT = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}}
STOP = {"type": "message_stop"}
ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
MESSAGES: dict[str, tuple[list[dict[str, Any]], Tokens | None]] = {
    "the delta's": ([opened(input_tokens=9, output_tokens=1), TEXT, delta(output_tokens=7), STOP], Tokens(9, 0, 0, 7)),
    "the last delta's": (
        [opened(input_tokens=9, output_tokens=1), TEXT, delta(output_tokens=3), delta(output_tokens=7), STOP],
        Tokens(9, 0, 0, 7),
    ),
    "a delta with all of them": (
        [opened(input_tokens=0, output_tokens=0), TEXT, delta(input_tokens=9, output_tokens=7), STOP],
        Tokens(9, 0, 0, 7),
    ),
    "less than a delta before": (
        [opened(input_tokens=9, output_tokens=1), TEXT, delta(output_tokens=7), delta(output_tokens=3), STOP], None
    ),
    "a placeholder alone": ([opened(input_tokens=9, output_tokens=1), TEXT, delta(), STOP], None),
    "a delta without the answer's": (
        [opened(input_tokens=9, output_tokens=1), TEXT, delta(input_tokens=9), STOP], None
    ),
    "a prompt of nothing": ([opened(input_tokens=0, output_tokens=0), TEXT, delta(output_tokens=7), STOP], None),
    "an error after the placeholder": ([opened(input_tokens=9, output_tokens=1), TEXT, ERROR], None),
    "an error after the delta": ([opened(input_tokens=9, output_tokens=1), TEXT, delta(output_tokens=7), ERROR], None),
    "no end": ([opened(input_tokens=9, output_tokens=1), TEXT], None),
    "no end after the delta": ([opened(input_tokens=9, output_tokens=1), TEXT, delta(output_tokens=7)], None),
}  # fmt: skip


@pytest.mark.parametrize("what", list(MESSAGES))
def test_a_placeholder_of_a_message_that_broke_off_is_never_its_figure(what: str, ledger: Ledger) -> None:
    events, tokens = MESSAGES[what]
    found = attempt_of(sent(sse(*events, done=False)), "anthropic", stream=True)
    assert counted(found.exchange, found.reading)[1] == tokens
    assert viewed(ledger, [found])[0][1] == tokens


# Python and the view

NAMES = (
    "prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens", "cached_tokens",
    "num_cached_tokens", "prompt_cache_hit_tokens", "prompt_cache_miss_tokens", "cache_read_input_tokens",
    "cache_creation_input_tokens", "reasoning_tokens", "citation_tokens", "num_search_queries", "num_sources_used",
    "num_server_side_tools_used", "prompt_audio_seconds", "thought_tokens", "thoughtsTokenCount", "not_final",
    "search_context_size", "audio_token_count", "total_time",
)  # fmt: skip
INNER = {
    "prompt_tokens_details": (
        "cached_tokens", "audio_tokens", "text_tokens", "cache_write_tokens", "cache_creation_tokens",
        "cache_creation_input_tokens", "image_tokens",
    ),
    "input_tokens_details": ("cached_tokens", "cache_write_tokens"),
    "completion_tokens_details": (
        "reasoning_tokens", "audio_tokens", "text_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens",
    ),
    "output_tokens_details": ("thinking_tokens", "reasoning_tokens"),
    "cache_creation": ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"),
    "server_tool_use": ("web_search_requests",),
    "server_side_tool_usage_details": ("x_search_calls",),
}  # fmt: skip
SMALL = st.integers(0, 6)
COUNTS = st.one_of(SMALL, SMALL, SMALL, SMALL, st.sampled_from((None, -1, True, "3", 3.0, 10**9, 10**9 + 1, 2**60)))


@st.composite
def usages(draw: st.DrawFn) -> dict[str, Any]:
    """A usage object of any dialect, mostly one that adds up or nearly does."""
    usage: dict[str, Any] = draw(st.dictionaries(st.sampled_from(NAMES), COUNTS, max_size=4))
    for outer in draw(st.sets(st.sampled_from(sorted(INNER)), max_size=2)):
        usage[outer] = draw(st.dictionaries(st.sampled_from(INNER[outer]), SMALL, max_size=3))
    taken, given_out = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    style = draw(st.sampled_from(("openai", "openai", "anthropic", "none")))
    if style == "openai":
        usage.update(prompt_tokens=taken, completion_tokens=given_out)
    elif style == "anthropic":
        usage.update(input_tokens=taken, output_tokens=given_out)
    if draw(st.booleans()):
        parts = [count for count in as_counts(usage).values() if count < 100]
        beside = draw(st.sampled_from((0, 0, *parts))) if parts else 0
        usage["total_tokens"] = taken + given_out + beside
    return usage


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(usages(), st.sampled_from(("openai", "anthropic"))), min_size=20, max_size=40))
def test_python_and_the_view_count_every_reply_the_same(
    ledger: Ledger, replies: list[tuple[dict[str, Any], Protocol]]
) -> None:
    found = [attempt_of(sent(reply(protocol, usage=usage)), protocol) for usage, protocol in replies]
    assert viewed(ledger, found) == [counted(each.exchange, each.reading) for each in found]


@given(usages())
def test_what_is_counted_is_never_below_what_the_reply_says_of_any_part_or_of_all(usage: dict[str, Any]) -> None:
    counts = as_counts(usage)
    tokens = tokens_of(counts)
    if tokens is not None:
        assert tokens.total == counts.get("total_tokens", tokens.total)
        for name, count in counts.items():
            kind = role(name)
            assert count <= tokens.total or kind not in ("taken", "given", "cached", "written", "reasoning", "other")
            assert kind != "reasoning" or count <= tokens.output
            assert kind != "given" or count <= tokens.output
            assert kind != "cached" or count == tokens.cached
            assert kind != "written" or count == tokens.cache_write


def once_kept(usage: dict[str, Any], prefix: str = "") -> dict[str, int]:
    """What releases before schema 2 of a parse kept of a usage object."""
    found: dict[str, int] = {}
    for key, item in usage.items():
        if isinstance(item, int) and not isinstance(item, bool) and 0 <= item < 2**53:
            found[prefix + key] = item
        elif isinstance(item, dict) and not prefix:
            found.update(once_kept(item, f"{key}."))
    return found


@given(usages())
def test_what_older_releases_kept_still_follows_from_the_reply(usage: dict[str, Any]) -> None:
    kept = {name: count for name, count in once_kept(usage).items() if name not in ("not_final", "search_context_size")}
    derived = {name: count for name, count in as_counts(usage).items() if count >= 0}
    assert as_kept_before(derived, kept) == kept
    if kept:
        name = next(iter(kept))
        forged = {**kept, name: kept[name] + 1}
        assert as_kept_before(derived, forged) != forged
    assert as_kept_before(derived, None) is None, "where it looked there was nothing"


def test_what_is_counted_is_never_asked_again_at_once_so_that_the_view_has_its_reading_too() -> None:
    """Of several attempts the last alone is read into the ledger; the meter, which sees them all, counts no other."""
    for name in ("no_stop_reason", "unknown_stop_reason", "case_unusable", "gold_unusable"):
        assert reason("error", name).retry == "never"
    for stop in (None, "nobody knows it"):
        body = reply("openai", usage={"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8})
        body["choices"][0]["finish_reason"] = stop
        for headers in ({}, {"x_should_retry": "true"}, {"retry_after": "1"}):
            found = attempt_of(sent(body, **headers), "openai", stream=False)
            assert counted(found.exchange, found.reading)[0] == "counted"
            assert found.reading.retry == "never"
