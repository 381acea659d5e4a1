"""The replies of usage_dialects.toml, and generated ones, as attempts that Python and the view `usage` both count."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness._capture import Exchange
from harness._derive import parse_body
from harness._usage import Counted, Tokens
from harness.engines._providers import built_in_providers
from harness.parse import Protocol, Reading, ReadRules, Wire, read_reply
from ledger import Draft, Earlier, Ledger
from ledger.kinds import Request, Response
from tests.harness.parse.wires import reply, sent, sse

__all__ = ["Attempt", "Row", "attempt_of", "dialects", "table", "viewed"]

FILE = Path(__file__).with_name("usage_dialects.toml")
NOW = datetime(2026, 11, 30, tzinfo=UTC)
RUN = "abcdefghijklmnop"


@dataclass(frozen=True)
class Row:
    """One reply of the file. `tokens` is None where they are unknown."""

    dialect: str
    says: str
    found: str
    source: str
    protocol: Protocol
    wire: Wire
    stream: bool
    usage: dict[str, Any]
    tokens: Tokens | None

    @property
    def line(self) -> str:
        """Its row in the table of docs/MONEY.md."""
        read = "unknown"
        if self.tokens is not None:
            names = ("input", "cached", "written", "output")
            counts = (self.tokens.input, self.tokens.cached, self.tokens.cache_write, self.tokens.output)
            read = ", ".join(f"{name} {count}" for name, count in zip(names, counts, strict=True) if count)
            read += "; cost unknown" if self.tokens.apart else ""
        return f"| `{self.dialect}` | {self.says} | {read} | [{self.found}]({self.source}) |"


def dialects() -> list[Row]:
    """Every reply of the file."""
    providers = built_in_providers()
    return [_row(each, providers[each["dialect"]].protocol) for each in tomllib.loads(FILE.read_text())["reply"]]


def table() -> str:
    """The table of docs/MONEY.md."""
    head = "| provider | its counts | so the reply of the test is read as | known from |\n|---|---|---|---|\n"
    return head + "".join(f"{row.line}\n" for row in dialects())


def _row(each: dict[str, Any], protocol: Protocol) -> Row:
    usage: dict[str, Any] = json.loads(each.get("usage", "{}"))
    events = [json.loads(event) for event in each.get("events", ())]
    if events:
        body: Any = sse(*events, done=protocol == "openai")
    else:
        body = json.loads(each["whole"]) if "whole" in each else reply(protocol, usage=usage)
    counts = each.get("tokens")
    tokens = None if counts is None else Tokens(*counts, apart=each.get("apart", 0))
    return Row(
        each["dialect"], each["says"], each["found"], each["source"], protocol, sent(body), bool(events), usage, tokens
    )


@dataclass(frozen=True)
class Attempt:
    """One reply as the harness would record it, and what it was read as."""

    wire: Wire
    reading: Reading

    @property
    def exchange(self) -> Exchange:
        return Exchange(7, 8, None, self.wire, None, NOW)


def attempt_of(wire: Wire, protocol: Protocol, *, stream: bool = False) -> Attempt:
    return Attempt(wire, read_reply(wire, protocol=protocol, stream=stream, ask="text", rules=ReadRules.default()))


def viewed(ledger: Ledger, attempts: Sequence[Attempt]) -> list[tuple[Counted, Tokens | None]]:
    """What the view `usage` says of these attempts, written down as a run writes them."""
    first = ledger.head()[0]
    drafts: list[Draft] = []
    for number, attempt in enumerate(attempts):
        at, cell = len(drafts), first + number + 1
        drafts.append(
            Draft(Request(attempt=0, turn=0, method="POST", url="http://127.0.0.1/v1", headers=[]), RUN, cell)
        )
        response = Response(
            attempt=0,
            turn=0,
            status=attempt.wire.status,
            headers=[],
            whole=attempt.wire.whole,
            headers_ms=1,
            total_ms=2,
        )
        drafts.append(Draft(response, RUN, cell, [Earlier(at)]))
        found = attempt.reading
        body, blobs = parse_body(
            found, "strict@0123456789ab", status=found.status, stage=str(found.stage), reason=found.reason,
            domain=str(found.domain),
        )  # fmt: skip
        drafts.append(Draft(body, RUN, cell, [Earlier(at + 1)], blobs))
    ledger.append(*drafts)
    rows = ledger.rows("SELECT * FROM usage WHERE request > ? ORDER BY request", (first,))
    names = ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "apart")
    return [
        (row["counted"], None if row["counted"] != "counted" else Tokens(*(int(row[name]) for name in names)))
        for row in rows
    ]
