"""Price lists: what a candidate's tokens cost, read exactly and never guessed.

A price list is a TOML file that its user keeps, one table a model. Ours is empty but for examples in comments: prices
change, and an old one would be wrong in silence. A model that no entry names has no price, which is unknown, never 0.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Context, Decimal, Inexact, InvalidOperation
from pathlib import Path
from typing import Any, cast

from harness._errors import PricesError
from harness._usage import Tokens

__all__ = [
    "EXACT", "PRICES_FILE", "Price", "PriceList", "added", "find_prices", "money", "parse_prices", "price_key",
    "price_template", "price_text", "read_prices", "spent_text",
]  # fmt: skip

PRICES_FILE = "prices.toml"
"""Where a price list is looked for, unless --prices or HARNESS_PRICES names one."""

EXACT = Context(prec=80, traps=[Inexact, InvalidOperation])
"""Money is never rounded while it is counted: with counts and prices in their bounds, 80 digits hold every sum."""

_A_MILLION = 6
_AMOUNTS = ("input", "cached", "cache_write", "output")
_NEEDED = ("input", "output", "currency", "as_of")
_KNOWN = (*_AMOUNTS, "currency", "as_of", "source")
_MOST = Decimal(10) ** 9
_PLACES = 12
_MAX_FILE = 1 << 22
_SHOWN = 60

_TEMPLATE = """\
# What tokens cost: one table a model, named as you type it after --engine. Amounts are per million tokens.
# This list starts empty on purpose. Prices change: copy them from your provider's own page, with the day you looked.
# A model without an entry has the price "unknown" in every report; it is never taken as 0. A price of "0" is yours to
# write, for a server of your own. A name may end in *, for every model that begins so; the longest match counts.
#
# Examples, with the day they were written down (2026-11-30); the figures are made up, and stand for their form only:
#
# ["openai/some-model"]
# input = "0.15"          # per million tokens that were read anew
# cached = "0.075"        # read from the provider's cache; leave it out if you don't know it, and it stays unknown
# output = "0.60"         # reasoning included
# currency = "USD"
# as_of = "2026-11-30"
# source = "the provider's pricing page"
#
# ["anthropic/another-model-*"]
# input = "3"
# cached = "0.30"
# cache_write = "3.75"    # written into the cache
# output = "15"
# currency = "USD"
# as_of = "2026-11-30"
#
# ["ollama/*"]
# input = "0"
# output = "0"
# currency = "USD"
# as_of = "2026-11-30"
"""


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in `currency`, as of the day `as_of` (ISO 8601). None is unknown."""

    input: Decimal
    output: Decimal
    currency: str
    as_of: str
    cached: Decimal | None = None
    cache_write: Decimal | None = None
    source: str = ""

    def cost(self, tokens: Tokens) -> Decimal | None:
        """What so many tokens cost, exactly; None where some were of a sort whose price isn't known: of those that have
        one of their own (`Tokens.apart`) it never is."""
        if tokens.apart:
            return None
        total = Decimal(0)
        for name in _AMOUNTS:
            count = int(getattr(tokens, name))
            price = cast("Decimal | None", getattr(self, name))
            if count and price is None:
                return None
            if count and price is not None:
                total = EXACT.add(total, EXACT.multiply(Decimal(count), price))
        return EXACT.scaleb(total, -_A_MILLION)

    @property
    def is_free(self) -> bool:
        """Whether nothing that is known of it costs anything."""
        return not (self.input or self.output or self.cached or self.cache_write)

    def as_body(self) -> dict[str, str]:
        """The form that a plan keeps, see `ledger.kinds.PlanCandidate`."""
        known = {name: getattr(self, name) for name in _AMOUNTS}
        amounts = {name: format(value, "f") for name, value in known.items() if value is not None}
        return {**amounts, "currency": self.currency, "as_of": self.as_of}

    @classmethod
    def from_body(cls, body: Mapping[str, str]) -> Price | None:
        """The price that a plan keeps; None where it keeps none that can be read."""
        try:
            return None if not body else _entry("a/plan", dict(body), "a plan")
        except PricesError:
            return None


@dataclass(frozen=True, slots=True)
class PriceList:
    """A price list as it was read: its file's name and bytes, and its entries by name or pattern, in file order."""

    path: str
    file: bytes
    entries: Mapping[str, Price]

    def find(self, label: str) -> Price | None:
        """The price of a candidate by its label; None is unknown. A whole name goes before a pattern, and the longest
        pattern before others."""
        name = price_key(label)
        if not name.endswith("*") and name in self.entries:
            return self.entries[name]
        patterns = [key for key in self.entries if key.endswith("*") and name.startswith(key[:-1])]
        return self.entries[max(patterns, key=len)] if patterns else None


def price_template() -> str:
    """The text of a new price list: nothing but comments, with examples and their date."""
    return _TEMPLATE


def price_key(label: str) -> str:
    """The name that a candidate is priced under: its label without what a matrix added in brackets at the end."""
    return label[: label.rindex("[")] if label.endswith("]") and "[" in label else label


def find_prices(given: str, folder: Path = Path()) -> PriceList | None:
    """The price list that was named, or `prices.toml` in the folder; None when there is none. Raises PricesError."""
    if given:
        return read_prices(Path(given))
    path = folder / PRICES_FILE
    return read_prices(path) if path.exists() else None


def read_prices(path: Path) -> PriceList:
    """Read a price list. Raises PricesError, in one sentence with the file and the entry."""
    try:
        if path.is_file() and path.stat().st_size > _MAX_FILE:
            raise PricesError(f"{path} is larger than {_MAX_FILE} bytes, which no price list is")
        file = path.read_bytes()
    except OSError as problem:
        raise PricesError(f"{path}: the price list can't be read: {problem.strerror}") from None
    return parse_prices(file, str(path))


def parse_prices(file: bytes, path: str) -> PriceList:
    """The price list in a file's bytes; `path` is what it is called in errors. Raises PricesError."""
    try:
        found = tomllib.loads(file.decode("utf-8-sig"), parse_float=Decimal)
    except UnicodeDecodeError as problem:
        raise PricesError(f"{path}: expected UTF-8, got byte {problem.start} that isn't; save it as UTF-8") from None
    except (tomllib.TOMLDecodeError, InvalidOperation, RecursionError, ValueError) as problem:
        raise PricesError(f"{path}: not valid TOML: {problem}") from None
    return PriceList(path, file, {name: _entry(name, table, path) for name, table in found.items()})


def _entry(name: str, table: object, path: str) -> Price:
    where = f"{path}, [{name!r}]"
    if not isinstance(table, dict):
        raise PricesError(f'{path}: expected tables such as ["openai/some-model"], got the key {name!r} outside of any')
    entry = cast("dict[str, Any]", table)
    if "/" not in name or "*" in name[:-1]:
        nested = any(isinstance(value, dict) for value in entry.values())
        mend = " (a name with dots needs quotes)" if nested else ""
        raise PricesError(
            f'{where}: expected a name in quotes such as ["openai/some-model"], with a * only at its end{mend}'
        )
    for key in entry:
        if key not in _KNOWN:
            raise PricesError(f"{where}: {key!r} is not known; expected {', '.join(_KNOWN)}")
    for key in _NEEDED:
        if key not in entry:
            raise PricesError(f"{where}: {key} is missing")
    amounts = {key: _amount(entry[key], f"{where}: {key}") for key in _AMOUNTS if key in entry}
    currency, source = entry["currency"], entry.get("source", "")
    if not isinstance(currency, str) or not (currency.isascii() and currency.isalpha() and len(currency) == 3):
        raise PricesError(f'{where}: currency: expected three letters such as "USD" (ISO 4217), got {_short(currency)}')
    if not isinstance(source, str):
        raise PricesError(f"{where}: source: expected text, got {_short(source)}")
    return Price(
        amounts["input"], amounts["output"], currency.upper(), _day(entry["as_of"], where), amounts.get("cached"),
        amounts.get("cache_write"), source,
    )  # fmt: skip


def _amount(value: object, where: str) -> Decimal:
    expected = f'{where}: expected an amount per million tokens such as "0.15"'
    try:
        if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
            raise PricesError(f"{expected}, got {_short(value)}")
        if isinstance(value, str) and (value != value.strip() or "_" in value or not value.isascii()):
            raise PricesError(f"{expected}, got {_short(value)}")
        amount = Decimal(value)
    except InvalidOperation:
        raise PricesError(f"{expected}, got {_short(value)}") from None
    if not amount.is_finite() or (amount.is_signed() and amount):
        raise PricesError(f"{expected}, which is never negative nor infinite, got {_short(value)}")
    exponent = amount.as_tuple().exponent
    assert isinstance(exponent, int)
    if amount >= _MOST or (amount and exponent < -_PLACES):
        raise PricesError(f"{expected}, below {_MOST:f} and with {_PLACES} decimals at most, got {_short(value)}")
    return amount if amount else Decimal(0)


def _short(value: object) -> str:
    text = repr(str(value) if isinstance(value, Decimal) else value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _day(value: object, where: str) -> str:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    try:
        if isinstance(value, str) and len(value) == 10:
            return date.fromisoformat(value).isoformat()
    except ValueError:
        pass
    raise PricesError(f'{where}: as_of: expected the day of the price such as "2026-11-30", got {_short(value)}')


def added(amounts: Iterable[Decimal]) -> Decimal:
    """The exact sum; all of one currency, which is its caller's word."""
    total = Decimal(0)
    for amount in amounts:
        total = EXACT.add(total, amount)
    return total


def money(amount: Decimal, currency: str = "") -> str:
    """An amount for people: exact to a millionth, two decimals at least; never 0 for what isn't."""
    shown = amount
    if amount and abs(amount) >= Decimal("0.000001"):
        shown = amount.quantize(Decimal("0.000001"), context=Context(prec=80))
    text = format(shown, "f")
    whole, _, decimals = text.partition(".")
    text = f"{whole}.{decimals.rstrip('0').ljust(2, '0')}"
    return f"{text} {currency}" if currency else text


def spent_text(sums: Mapping[str, Decimal], unknown: int) -> str:
    """What was spent, for people: a sum a currency, never added up, and how many calls nobody knows the cost of."""
    known = " + ".join(money(amount, currency) for currency, amount in sorted(sums.items()))
    told = f"unknown ({unknown} {'call' if unknown == 1 else 'calls'})" if unknown else ""
    return " + ".join(part for part in (known, told) if part) or "nothing"


def price_text(body: Mapping[str, str]) -> str:
    """A price as a plan keeps it, for people; an empty one is unknown."""
    if not body:
        return "unknown"
    amounts = [f"{name.replace('_', ' ')} {body[name]}" for name in _AMOUNTS if name in body]
    return f"{', '.join(amounts)} {body['currency']} a million, as of {body['as_of']}"
