"""What a run would ask and may cost, told before anything is sent: `harness run --dry-run`.

There is no tokenizer here, so prompt tokens are estimated from the bytes of each request's body, exactly as it would be
sent: by how many tokens a byte the same model counted in the calls that the ledger holds, the lowest and the highest;
without any, by 1 token for 6 bytes to 1 for 2, which brackets prose in most languages. What a reply may have is between
nothing and the token limit that the request sets. Calls that have to be repeated come on top.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from harness._budget import Purse, reply_limits
from harness._candidate import Candidate
from harness._disk import Disk, disk_of
from harness._filter import Condition, keep
from harness._gate_reach import before
from harness._plan import Measurement, lay_out
from harness._prices import Price, added, money
from harness._reuse import Takeover, find_answers
from harness._rules import RuleSet
from harness._suite import Case, Fixture, Suite
from harness._usage import Tokens
from harness.engines import compose_requests
from ledger import Ledger, LedgerError, over_views

__all__ = ["CandidateEstimate", "Estimate", "TokensPerByte", "estimate_run", "recorded_rates"]

_LOWEST, _HIGHEST = Fraction(1, 6), Fraction(1, 2)
_COUNTED = (
    "SELECT plan.body ->> '$.via' AS via, usage.candidate AS candidate, plan.body -> '$.candidates' AS candidates,"
    " usage.input_tokens + usage.cached_tokens + usage.cache_write_tokens AS tokens,"
    " request.body ->> '$.blobs.body.size' AS size"
    " FROM usage CROSS JOIN events AS request ON request.seq = usage.request"
    " CROSS JOIN events AS plan ON plan.run = usage.run AND plan.kind = 'plan'"
    " WHERE usage.counted = 'counted' AND request.body IS NOT NULL"
)


@dataclass(frozen=True, slots=True)
class TokensPerByte:
    """How many prompt tokens a byte of a request's body may come to, and how many recorded calls say so (0: none)."""

    low: Fraction = _LOWEST
    high: Fraction = _HIGHEST
    calls: int = 0


@dataclass(frozen=True, slots=True)
class CandidateEstimate:
    """What one candidate would be asked. `limit` is the token limit of a reply, None where the request sets none;
    `cost` are the bounds in the price's currency: None as a bound is unknown."""

    label: str
    calls: int
    sized: int
    prompt_bytes: int
    prompt_low: int
    prompt_high: int
    rate: TokensPerByte
    limit: int | None
    price: Price | None
    recorded: bool

    @property
    def reply_high(self) -> int | None:
        """The most tokens that all replies may have."""
        return None if self.limit is None else self.limit * self.calls

    @property
    def cost(self) -> tuple[Decimal | None, Decimal | None]:
        """From every prompt read from a cache and nothing answered, to every prompt anew and every answer cut off."""
        if self.price is None:
            return None, None
        inputs = [self.price.input, *(each for each in (self.price.cached, self.price.cache_write) if each is not None)]
        low = _cost(min(inputs), self.price, self.prompt_low, 0)
        return low, None if self.reply_high is None else _cost(
            max(inputs), self.price, self.prompt_high, self.reply_high
        )

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form; amounts are decimal text."""
        low, high = self.cost
        return {
            "candidate": self.label, "calls": self.calls, "prompt_bytes": self.prompt_bytes,
            "prompt_tokens": [self.prompt_low, self.prompt_high], "recorded_calls": self.rate.calls,
            "reply_tokens": [0, self.reply_high], "currency": None if self.price is None else self.price.currency,
            "cost": [None if each is None else format(each, "f") for each in (low, high)],
            "price": {} if self.price is None else self.price.as_body(), "replayed": self.recorded,
        }  # fmt: skip

    def sentences(self) -> list[str]:
        """For people, one thing a line."""
        if self.recorded:
            return [f"{self.label}: {self.calls} calls, all of a recording, which costs nothing"]
        how = "1 token for 2 to 6 bytes, without a recorded call to go by"
        if self.rate.calls:
            how = f"{float(self.rate.low):.3f} to {float(self.rate.high):.3f} a byte, as {self.rate.calls} recorded"
            how += " calls of this model had it"
        replies = "as many as the model likes (no max_tokens is set)"
        if self.limit is not None:
            replies = f"0 to {self.reply_high:,} (max_tokens {self.limit:,})"
        said = [
            f"{self.label}: {self.calls:,} calls",
            f"  prompt tokens  {self.prompt_low:,} to {self.prompt_high:,}: {self.prompt_bytes:,} bytes at {how}",
            f"  reply tokens   {replies}",
            f"  cost           {self._cost_text()}",
        ]
        if self.sized < self.calls:
            said.insert(2, f"  {self.calls - self.sized} of the requests have no size that could be told")
        return said

    def _cost_text(self) -> str:
        low, high = self.cost
        if self.price is None or low is None:
            return "unknown: no price is known for it"
        upper = "unknown, since no max_tokens is set" if high is None else money(high, self.price.currency)
        return f"{money(low, self.price.currency)} to {upper} (price as of {self.price.as_of})"


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would be: nothing was sent or written to find it."""

    suite: str
    cases: int
    epochs: int
    candidates: tuple[CandidateEstimate, ...]
    disk: Disk
    warnings: tuple[str, ...] = ()
    taken: Takeover | None = None
    """What --reuse would take over; None where that wasn't asked for."""

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "dry_run": True, "suite": self.suite, "cases": self.cases, "epochs": self.epochs,
            "calls": sum(each.calls for each in self.candidates),
            "candidates": [each.as_json() for each in self.candidates], "total": self._totals(),
            "disk": self.disk.as_json(), "warnings": list(self.warnings),
            **({"takes_over": self.taken.as_json()} if self.taken else {}),
        }  # fmt: skip

    def sentences(self) -> list[str]:
        """For people."""
        calls = sum(each.calls for each in self.candidates)
        repeats = f" in {self.epochs} epochs" if self.epochs > 1 else ""
        said = [f"{self.suite}: {self.cases:,} cases{repeats}, {calls:,} calls. Nothing was sent and nothing written."]
        said += self.taken.sentences() if self.taken else []
        for each in self.candidates:
            said += each.sentences()
        sums: list[str] = []
        for row in self._totals():
            high = "unknown" if row["high"] is None else money(Decimal(row["high"]), row["currency"])
            sums.append(f"{money(Decimal(row['low']), row['currency'])} to {high}")
        unpriced = sum(each.price is None and not each.recorded for each in self.candidates)
        if unpriced:
            sums.append(f"unknown ({unpriced} of {len(self.candidates)} candidates have no price)")
        total = f"In all: {' + '.join(sums) or 'nothing'}, retries not counted."
        return [*said, total, self.disk.sentence(), f"`harness gate`: {before(self.cases)}", *self.warnings]

    def _totals(self) -> list[dict[str, Any]]:
        """The sums by currency, which are never added up."""
        found: list[dict[str, Any]] = []
        priced = [each for each in self.candidates if each.price is not None]
        for currency in sorted({each.price.currency for each in priced if each.price is not None}):
            bounds = [each.cost for each in priced if each.price is not None and each.price.currency == currency]
            lows = [low for low, _ in bounds if low is not None]
            highs = [high for _, high in bounds if high is not None]
            high = format(added(highs), "f") if len(highs) == len(bounds) else None
            found.append({"currency": currency, "low": format(added(lows), "f"), "high": high})
        return found


def _cost(price: Decimal, of: Price, prompt: int, reply: int) -> Decimal:
    cost = Price(price, of.output, of.currency, of.as_of).cost(Tokens(input=prompt, output=reply))
    assert cost is not None
    return cost


def estimate_run(
    suite: Suite, fixtures: Sequence[Fixture], candidates: Sequence[Candidate], purse: Purse, db: Path, *,
    epochs: int, limit: int | None, arm: str = "", filters: Sequence[Condition] = (),
    reuse: tuple[Sequence[RuleSet], Sequence[str]] | None = None, rules: Sequence[RuleSet],
) -> Estimate:  # fmt: skip
    """What the run would ask, but for what `reuse` takes over: under which rule sets, and of which outcomes.
    Under `rules` the replies are read, which takes room.

    Reads the ledger at `db`, if there is one, and writes nothing. Raises UsageError."""
    every = keep([(fixture.name, case) for fixture in fixtures for case in fixture.cases], filters)
    cases = every[:limit]
    taken = _taken(suite, cases, candidates, db, epochs, arm, reuse) if reuse is not None else None
    had = {each.cell for each, _ in taken.found} if taken else set[int]()
    every_cell = [each for each, _ in lay_out(suite, cases, candidates, epochs=epochs, arm=arm, key=bytes(32))]
    laid_out = [each for each in every_cell if each.cell not in had]
    rates = recorded_rates(db, candidates)
    found: list[CandidateEstimate] = []
    for candidate in candidates:
        sizes = asyncio.run(_sizes(suite, candidate, [each for each in laid_out if each.candidate is candidate]))
        rate = rates.get(candidate.label, TokensPerByte())
        known = [size for size in sizes if size is not None]
        found.append(
            CandidateEstimate(
                candidate.label, len(sizes), len(known), sum(known), int(sum(known) * rate.low),
                -int(-sum(known) * rate.high // 1), rate, reply_limits(candidate.parameters), purse.price(candidate),
                candidate.recorded,
            )
        )  # fmt: skip
    calls, sent = sum(each.calls for each in found), sum(each.prompt_bytes for each in found)
    disk = disk_of(suite, fixtures, rules, candidates, db, calls=calls, request_bytes=sent)
    return Estimate(suite.name, len(cases), epochs, tuple(found), disk, tuple(purse.unbounded(candidates)), taken)


def _taken(
    suite: Suite, cases: Sequence[tuple[str, Case]], candidates: Sequence[Candidate], db: Path, epochs: int, arm: str,
    reuse: tuple[Sequence[RuleSet], Sequence[str]],
) -> Takeover | None:  # fmt: skip
    """What would be taken over. No server is asked for its weights here, so those that moved aren't noticed."""
    if not db.is_file():
        return None
    rules, outcomes = reuse
    with Ledger.open(db, untouched=True) as ledger:
        key = bytes.fromhex(ledger.genesis.identity_key)
        cells = [each for each, _ in lay_out(suite, cases, candidates, epochs=epochs, arm=arm, key=key)]
        return find_answers(ledger, suite, cells, {}, rules, outcomes)


async def _sizes(suite: Suite, candidate: Candidate, cells: Sequence[Measurement]) -> list[int | None]:
    """The bytes of each cell's request; None where nothing tells them."""
    if candidate.recorded or candidate.protocol == "command":
        return [None for _ in cells]
    messages = suite.stage_functions.messages
    chats = [messages(candidate.prompt, each.case.input) for each in cells]
    return [None if key is None else len(key[-1]) for key in await compose_requests(candidate, chats)]


def recorded_rates(db: Path, candidates: Sequence[Candidate]) -> dict[str, TokensPerByte]:
    """By candidate label, what the ledger's calls of the same model over the same protocol had; live ones only."""
    if not db.is_file():
        return {}
    seen: dict[tuple[str, str], list[Fraction]] = {}
    try:
        with Ledger.open(db, untouched=True) as ledger:
            for row in ledger.rows(over_views(_COUNTED)):
                models = _models(row["candidates"])
                if row["via"] == "live" and row["tokens"] and row["size"] and row["candidate"] in models:
                    rate = Fraction(int(row["tokens"]), int(row["size"]))
                    seen.setdefault(models[row["candidate"]], []).append(rate)
    except LedgerError:
        # A run would say what is wrong with it; an estimate does without.
        return {}
    return {
        each.label: TokensPerByte(min(rates), max(rates), len(rates))
        for each in candidates if (rates := seen.get((each.protocol, each.model)))
    }  # fmt: skip


def _models(candidates: str) -> Mapping[str, tuple[str, str]]:
    import json

    return {each["label"]: (each["protocol"], each["model"]) for each in json.loads(candidates)}
