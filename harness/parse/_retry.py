"""What to do about a reply that failed: the reason's own advice, and what the server asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Final

__all__ = ["advice"]

_SECONDS: Final = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,9})?")
_MANY_DIGITS: Final = re.compile(r"[0-9]{19,}(?:\.[0-9]*)?")


def advice(
    base: str, header: Callable[[str], str | None], max_wait: float, now: datetime | None, *, refused: bool = False
) -> str:
    """`base`, or for "backoff" what Retry-After makes of it: "after:N" in seconds, or "give_up" past `max_wait`
    seconds.

    `x-should-retry`, which OpenAI's and Anthropic's own clients obey, goes ahead of the status and of Retry-After:
    `false` makes it "never"; `true` makes it "backoff" where the request was `refused` with a status that alone would
    say never. Anything else that it may hold is as if it weren't there.

    A date (RFC 9110, 10.2.3) counts from the response's own Date, so that no two clocks are compared, else from `now`.
    What can't be read is as if it weren't there.
    """
    wish = (header("x-should-retry") or "").strip().lower()
    if wish == "false":
        return "never"
    if wish == "true" and refused:
        base = "backoff"
    if base != "backoff":
        return base
    wait = _milliseconds(header("retry-after-ms"))
    if wait is None:
        wait = _wait(header("retry-after"), header("date"), now)
    if wait is None:
        return base
    if wait > Decimal(repr(max_wait)):
        return "give_up"
    return f"after:{_plain(wait)}"


def _plain(wait: Decimal) -> str:
    text = f"{wait:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _milliseconds(value: str | None) -> Decimal | None:
    seconds = _number(value)
    return None if seconds is None else seconds / 1000


def _number(value: str | None) -> Decimal | None:
    value = (value or "").strip()
    if _SECONDS.fullmatch(value):
        return Decimal(value)
    return Decimal("1e18") if _MANY_DIGITS.fullmatch(value) else None


def _wait(value: str | None, date: str | None, now: datetime | None) -> Decimal | None:
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    until, since = _date(value), (_date(date) if date else None) or now
    if until is None or since is None:
        return None
    since = since if since.tzinfo else since.replace(tzinfo=UTC)
    return Decimal(max(0, round((until - since).total_seconds())))


def _date(value: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(value.strip())
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
