"""Price lists: read exactly, refused in one sentence, and never guessed."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._errors import PricesError
from harness._prices import (
    Price,
    find_prices,
    money,
    parse_prices,
    price_key,
    price_template,
    price_text,
    read_prices,
    spent_text,
)
from harness._usage import Tokens, tokens_of

ENTRY = 'input = "0.15"\noutput = "0.60"\ncurrency = "USD"\nas_of = "2026-11-01"\n'


def listed(text: str) -> dict[str, Price]:
    return dict(parse_prices(text.encode(), "prices.toml").entries)


def test_amounts_as_text_and_as_toml_numbers_are_read_exactly() -> None:
    found = listed(
        '["a/m"]\ninput = "0.1500000000000000001"\noutput = 0.60\ncurrency = "usd"\nas_of = 2026-11-01\n'.replace(
            "0.1500000000000000001", "0.150000000001"
        )
    )["a/m"]
    assert (found.input, found.output) == (Decimal("0.150000000001"), Decimal("0.60"))
    assert (found.currency, found.as_of, found.cached) == ("USD", "2026-11-01", None)


def test_a_price_of_nothing_is_a_price_when_it_is_written() -> None:
    free = listed(f'["ollama/*"]\n{ENTRY}'.replace("0.15", "0").replace("0.60", "0"))["ollama/*"]
    assert free.is_free and free.cost(Tokens(input=10**9, output=7)) == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('["a/m"]\n' + ENTRY.replace('"0.15"', "-1"), "never negative"),
        ('["a/m"]\n' + ENTRY.replace('"0.15"', "nan"), "never negative nor infinite"),
        ('["a/m"]\n' + ENTRY.replace('"0.15"', "inf"), "never negative nor infinite"),
        ('["a/m"]\n' + ENTRY.replace('"0.15"', '"NaN"'), "never negative nor infinite"),
        ('["a/m"]\n' + ENTRY.replace('"0.15"', '"1,5"'), "got '1,5'"),
        ('["a/m"]\n' + ENTRY.replace('"0.15"', '" 1"'), "got ' 1'"),
        ('["a/m"]\n' + ENTRY.replace('"0.15"', '"1_000"'), "got '1_000'"),
        ('["a/m"]\n' + ENTRY.replace('"0.15"', "true"), "got True"),
        ('["a/m"]\n' + ENTRY.replace('"0.15"', "[1]"), "got [1]"),
        ('["a/m"]\n' + ENTRY.replace('"0.15"', '"1e999999999"'), "below 1000000000"),
        ('["a/m"]\n' + ENTRY.replace('"0.15"', '"1e-13"'), "with 12 decimals at most"),
        ('["a/m"]\n' + ENTRY.replace('as_of = "2026-11-01"\n', ""), "['a/m']: as_of is missing"),
        ('["a/m"]\n' + ENTRY.replace("2026-11-01", "2026-02-30"), "as_of: expected the day"),
        ('["a/m"]\n' + ENTRY.replace('"2026-11-01"', "2026-11-01T00:00:00"), "as_of: expected the day"),
        ('["a/m"]\n' + ENTRY.replace("USD", "dollars"), "currency: expected three letters"),
        ('["a/m"]\n' + ENTRY + 'price = "1"\n', "'price' is not known; expected input, cached"),
        ('["a/m"]\n' + ENTRY + "source = 3\n", "source: expected text"),
        ('["m"]\n' + ENTRY, "expected a name in quotes"),
        ('["a/*/m"]\n' + ENTRY, "a * only at its end"),
        ('[a."m"]\n' + ENTRY, "expected a name in quotes"),
        ('currency = "USD"\n', "got the key 'currency' outside of any"),
        ('["a/m"]\n' + ENTRY + f'["a/m"]\n{ENTRY}', "not valid TOML"),
        ("[", "not valid TOML"),
    ],
)
def test_what_is_no_price_list_is_one_sentence_with_file_and_entry(text: str, says: str) -> None:
    with pytest.raises(PricesError) as told:
        listed(text)
    assert says in str(told.value) and str(told.value).startswith("prices.toml") and "\n" not in str(told.value)
    assert told.value.exit_status == 2


def test_a_list_that_is_no_text_or_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(PricesError, match="expected UTF-8, got byte 0"):
        parse_prices(b"\xff", "p")
    with pytest.raises(PricesError, match="can't be read"):
        read_prices(tmp_path / "gone.toml")
    with pytest.raises(PricesError, match="can't be read"):
        read_prices(tmp_path)
    assert find_prices("", tmp_path) is None


def test_the_whole_name_goes_before_the_longest_pattern_and_nothing_is_guessed() -> None:
    lines = [("a/*", "1"), ("a/model-*", "2"), ("a/model-7", "3"), ("b/x", "4")]
    text = "".join(f'["{name}"]\n' + ENTRY.replace("0.15", amount) for name, amount in lines)
    prices = parse_prices(text.encode(), "p")

    def input_of(label: str) -> str | None:
        found = prices.find(label)
        return None if found is None else str(found.input)

    assert input_of("a/model-7") == "3"
    assert input_of("a/model-7[prompt=terse,temperature=0.7]") == "3"
    assert input_of("a/model-8") == "2"
    assert input_of("a/other") == "1"
    assert [input_of(label) for label in ("b/x2", "b/X", "b/", "c/x", "a")] == [None] * 5


def test_only_what_a_matrix_added_at_the_end_is_left_out_of_the_name() -> None:
    assert price_key("openai/m[prompt=terse]") == "openai/m"
    assert price_key("vllm/a[b]c") == "vllm/a[b]c"


def test_our_own_list_is_empty_and_its_examples_become_entries_once_uncommented() -> None:
    assert listed(price_template()) == {}
    examples = "\n".join(line.removeprefix("# ") for line in price_template().partition("2026")[2].splitlines()[2:])
    found = listed(examples)
    assert list(found) == ["openai/some-model", "anthropic/another-model-*", "ollama/*"]
    assert {each.as_of for each in found.values()} == {"2026-11-30"}


def test_a_sort_of_tokens_without_a_price_makes_the_cost_unknown_and_not_nothing() -> None:
    price = listed(f'["a/m"]\n{ENTRY}')["a/m"]
    assert price.cost(Tokens(input=1_000_000, output=500_000)) == Decimal("0.45")
    assert price.cost(Tokens(input=1, cached=1, output=1)) is None
    assert price.cost(Tokens(input=1, cache_write=1, output=1)) is None
    assert price.cost(Tokens()) == 0


amounts = st.decimals(min_value=0, max_value=10**6, places=6, allow_nan=False)
counts = st.integers(min_value=0, max_value=2**53 - 1)


@given(amounts, amounts, amounts, amounts, st.lists(st.tuples(counts, counts, counts, counts), min_size=1, max_size=9))
def test_costs_add_up_exactly_whatever_the_order(
    one: Decimal, two: Decimal, three: Decimal, four: Decimal, calls: list[tuple[int, int, int, int]]
) -> None:
    price = Price(one, two, "USD", "2026-11-01", three, four)
    total = sum((Tokens(*call) for call in calls), Tokens())
    apart = [price.cost(Tokens(*call)) for call in calls]
    from fractions import Fraction

    exact = sum(Fraction(cost) for cost in apart if cost is not None)
    whole = price.cost(total)
    assert whole is not None and Fraction(whole) == exact


def test_a_price_survives_the_plan_and_one_that_was_tampered_with_is_unknown() -> None:
    price = listed(f'["a/m"]\n{ENTRY}cached = "0.075"\n')["a/m"]
    assert Price.from_body(price.as_body()) == price
    assert Price.from_body({}) is None
    assert Price.from_body({**price.as_body(), "currency": "<b>"}) is None
    assert Price.from_body({**price.as_body(), "input": "-1"}) is None
    assert price_text(price.as_body()) == "input 0.15, cached 0.075, output 0.60 USD a million, as of 2026-11-01"
    assert price_text({}) == "unknown"


def test_money_for_people_is_never_nothing_for_something() -> None:
    said = {"0": "0.00", "5": "5.00", "0.1": "0.10", "0.0000004": "0.0000004", "1.23456789": "1.234568", "12": "12.00"}
    assert {text: money(Decimal(text)) for text in said} == said
    assert money(Decimal("0.5"), "EUR") == "0.50 EUR"
    assert spent_text({"USD": Decimal(1), "EUR": Decimal(2)}, 1) == "2.00 EUR + 1.00 USD + unknown (1 call)"
    assert spent_text({}, 0) == "nothing"


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, Tokens(10, 0, 0, 5)),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details.cached_tokens": 4},
            Tokens(6, 4, 0, 5),
        ),
        (
            {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 2},
            Tokens(10, 4, 2, 5),
        ),
        ({"prompt_eval_count": 10, "eval_count": 5}, Tokens(10, 0, 0, 5)),
        ({"eval_count": 5}, None),
        ({"prompt_tokens": 10}, None),
        ({"prompt_tokens": 1, "completion_tokens": 5, "prompt_tokens_details.cached_tokens": 4}, None),
        ({"prompt_tokens": -1, "completion_tokens": 5}, None),
        ({}, None),
        (None, None),
    ],
)
def test_every_protocol_s_counts_come_to_one_form(usage: dict[str, int] | None, tokens: Tokens | None) -> None:
    assert tokens_of(usage) == tokens
