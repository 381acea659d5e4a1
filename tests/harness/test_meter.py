"""The meter: what is counted, what is unknown, and when a budget is spent."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._budget import budget_again, budget_text, parse_max_cost, reply_limits
from harness._capture import Exchange
from harness._errors import PricesError
from harness._meter import Budget, Meter
from harness._prices import Price
from harness._usage import Tokens, counted
from harness.parse import Protocol, ReadRules, Wire, read_fault, read_reply
from tests.harness.models import envelope

PRICE = Price(Decimal(1), Decimal(2), "USD", "2026-11-30")
EUROS = Price(Decimal(1), Decimal(2), "EUR", "2026-11-30")
NOW = datetime(2026, 11, 30, tzinfo=UTC)
PATHS: dict[Protocol, str] = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages", "ollama": "/api/chat"}


def exchange(
    *,
    status: int = 200,
    body: bytes = b"",
    fault: tuple[str, str] | None = None,
    wire: bool = True,
    request: int | None = 7,
) -> Exchange:
    seen = Wire(status, (), body, fault is None, fault) if wire else None
    return Exchange(request, 8 if wire else None, 9 if fault else None, seen, fault, NOW)


def note(meter: Meter, label: str, found: Exchange, protocol: Protocol = "openai", *, stream: bool = False) -> None:
    if found.wire is None:
        reading = read_fault(*(found.fault_reason or ("harness", "internal")))
    else:
        reading = read_reply(found.wire, protocol=protocol, stream=stream, ask="text", rules=ReadRules.default())
    meter.note(label, found, reading)


def whole(protocol: Protocol = "openai") -> Exchange:
    return exchange(body=envelope(PATHS[protocol], "Hi."))


@pytest.mark.parametrize("protocol", list(PATHS))
def test_a_whole_reply_of_every_protocol_is_counted_at_its_price(protocol: Protocol) -> None:
    meter = Meter({"x/m": PRICE})
    note(meter, "x/m", whole(protocol), protocol)
    assert meter.used["x/m"].tokens == Tokens(7, 0, 0, 5)
    assert meter.used["x/m"].cost == Decimal("0.000017") and meter.spent() == "0.000017 USD"


def test_what_was_refused_or_never_sent_costs_nothing_and_is_known() -> None:
    meter = Meter({"x/m": PRICE}, Budget(Decimal("0.000001"), "USD"))
    note(meter, "x/m", exchange(status=429, body=b"{}"))
    note(meter, "x/m", exchange(status=500, body=b"oops"))
    note(meter, "x/m", exchange(wire=False, fault=("transport", "connect_refused")))
    note(meter, "x/m", exchange(wire=False, fault=("transport", "dns")))
    assert meter.used["x/m"].unknown == 0 and meter.exhausted() == "" and meter.spent() == "0.00 USD"


@pytest.mark.parametrize("reason", ["timeout", "connection_reset", "protocol"])
def test_what_broke_off_is_unknown_and_counts_as_the_most_it_can_have_been(reason: str) -> None:
    lost = exchange(wire=False, fault=("transport", reason))
    meter = Meter({"x/m": PRICE}, Budget(Decimal(1), "USD"), limits={"x/m": 100}, size_of=lambda request: 50)
    note(meter, "x/m", lost)
    assert meter.used["x/m"].unknown == 1 and meter.used["x/m"].most == Decimal("0.00025")
    assert meter.exhausted() == "" and meter.spent() == "unknown (1 call)"
    small = Meter({"x/m": PRICE}, Budget(Decimal("0.00025"), "USD"), limits={"x/m": 100}, size_of=lambda request: 50)
    note(small, "x/m", lost)
    assert "0.00025 USD spent, 0.00025 USD of it at most" in small.exhausted()
    unbounded = Meter({"x/m": PRICE}, Budget(Decimal(1), "USD"), size_of=lambda request: 50)
    note(unbounded, "x/m", lost)
    assert "nothing it sets bounds what it used" in unbounded.exhausted()
    none = Meter({"x/m": PRICE})
    note(none, "x/m", lost)
    assert none.exhausted() == "", "without a budget nothing stops"


def test_a_reply_that_was_cut_is_unknown_although_its_beginning_tells_tokens() -> None:
    start = (
        b'event: message_start\ndata: {"type":"message_start","message":{"model":"m","content":[],'
        b'"usage":{"input_tokens":9,"output_tokens":1}}}\n\n'
        b'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":"H"}}\n\n'
    )
    cut = exchange(body=start)
    reading = read_reply(
        cut.wire or pytest.fail(), protocol="anthropic", stream=True, ask="text", rules=ReadRules.default()
    )
    assert reading.usage == {"input_tokens": 9, "output_tokens": 1} and reading.reason == "stream_cut"
    assert counted(cut, reading) == ("unknown", None)


def test_a_whole_reply_without_usage_stops_every_budget() -> None:
    for budget in (Budget(Decimal(5), "USD"), Budget(tokens=10**9)):
        meter = Meter({"x/m": PRICE}, budget, limits={"x/m": 10}, size_of=lambda request: 10)
        body = b'{"choices":[{"finish_reason":"stop","message":{"content":"Hi."}}]}'
        note(meter, "x/m", exchange(body=body))
        assert "x/m tells no tokens, or counts that don't add up, so what it used is unknown" in meter.exhausted()
        assert f"{budget.names()} can't be kept" in meter.exhausted()


def test_a_free_server_needs_to_tell_no_tokens_where_only_money_counts() -> None:
    free = Price(Decimal(0), Decimal(0), "USD", "2026-11-30")
    meter = Meter({"x/m": free}, Budget(Decimal(1), "USD"))
    note(meter, "x/m", exchange(body=b'{"choices":[{"finish_reason":"stop","message":{"content":"Hi."}}]}'))
    assert meter.exhausted() == ""


def test_tokens_are_counted_for_a_candidate_without_a_price_and_money_is_unknown() -> None:
    meter = Meter({"x/m": None, "y/m": PRICE}, Budget(tokens=24))
    note(meter, "x/m", whole())
    assert meter.spent("x/m") == "unknown (1 call)" and meter.exhausted() == ""
    note(meter, "y/m", whole())
    assert meter.spent() == "0.000017 USD + unknown (1 call)"
    assert meter.exhausted().startswith("--max-tokens-total 24 is reached: 24 tokens used")


def test_currencies_are_never_added_up() -> None:
    meter = Meter({"x/m": PRICE, "y/m": EUROS})
    note(meter, "x/m", whole())
    note(meter, "y/m", whole())
    assert meter.spent() == "0.000017 EUR + 0.000017 USD"


def test_one_that_is_not_metered_costs_nothing() -> None:
    meter = Meter({})
    note(meter, "replayed/m", whole())
    assert meter.spent() == "nothing" and meter.used == {}


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), max_size=30), st.integers(1, 10**8))
def test_a_budget_is_exhausted_exactly_when_the_sum_reaches_it(calls: list[tuple[int, int]], limit: int) -> None:
    meter = Meter({"x/m": PRICE}, Budget(Decimal(limit) / 10**6, "USD"))
    total = 0
    for number, (taken, given_back) in enumerate(calls):
        meter.add("x/m", "counted", Tokens(input=taken, output=given_back), number, cut=False)
        total += taken + 2 * given_back
        assert bool(meter.exhausted()) == (total >= limit)


@pytest.mark.parametrize(
    ("text", "found"),
    [("5", (Decimal(5), "")), ("0.50usd", (Decimal("0.50"), "USD")), (" 12.5 EUR ", (Decimal("12.5"), "EUR"))],
)
def test_amounts_of_a_budget(text: str, found: tuple[Decimal, str]) -> None:
    assert parse_max_cost(text) == found


@pytest.mark.parametrize("text", ["", "0", "-1", "1e3", "5 dollars", "$5", "1,5", "5USDX", "nan", "٣"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(PricesError, match="--max-cost: expected an amount above 0"):
        parse_max_cost(text)


def test_a_budget_is_kept_for_a_resume_and_a_flag_takes_its_place() -> None:
    kept = budget_text(Budget(Decimal("0.50"), "USD", 1000))
    assert budget_again(kept) == Budget(Decimal("0.50"), "USD", 1000)
    assert budget_again(kept, "7EUR") == Budget(Decimal(7), "EUR", 1000)
    assert budget_again(kept, "none", 5) == Budget(None, "", 5)
    assert budget_again(budget_text(Budget())) == Budget()


def test_the_limit_of_a_reply_is_the_one_that_the_request_sets() -> None:
    assert reply_limits({"max_tokens": 5}) == 5
    assert reply_limits({"max_completion_tokens": 9}) == 9
    assert reply_limits({"options": {"num_predict": 4}}) == 4
    assert reply_limits({"max_tokens": 5, "n": 3}) == 15, "each of several choices may have as many"
    for none in (
        {},
        {"max_tokens": None},
        {"max_tokens": True},
        {"max_tokens": "9"},
        {"num_predict": -1},
        {"options": 3},
    ):
        assert reply_limits(none) is None
