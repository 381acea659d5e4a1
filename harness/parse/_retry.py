"""What to do about a reply that failed: the reason's own advice, and what the server asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Any, Final, cast

__all__ = ["advice", "wait_told"]

_SECONDS: Final = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,9})?")
_SPAN: Final = (
    r"(?=[0-9])(?:(?P<h>[0-9]{1,3}) ?h(?:ours?)? ?)?(?:(?P<m>[0-9]{1,4}) ?m(?:in(?:utes?)?)?(?![a-z]) ?)?"
    r"(?:(?P<s>[0-9]{1,6}(?:\.[0-9]{1,9})?) ?s(?:ec(?:onds?)?)?(?![a-z])|(?P<ms>[0-9]{1,9}(?:\.[0-9]{1,9})?) ?ms)?"
)
_TELLS: Final = re.compile(_SPAN)
_ASKS: Final = re.compile(rf"\b(?:re)?try (?:again )?(?:in|after) {_SPAN}(?=[\s.,;)]|$)", re.IGNORECASE)
_LASTS: Final = re.compile(r"per[ _]?day|\blimit: 0(?![0-9.])", re.IGNORECASE)
_MANY_DIGITS: Final = re.compile(r"[0-9]{19,}(?:\.[0-9]*)?")


def advice(
    base: str, header: Callable[[str], str | None], max_wait: float, now: datetime | None, *, refused: bool = False
) -> str:
    """`base`, or for "backoff" what Retry-After makes of it: "after:N" in seconds, or "give_up" past `max_wait`
    seconds. A `base` of "after:N" is what the body told; the header goes ahead of it.

    `x-should-retry`, which OpenAI's and Anthropic's own clients obey, goes ahead of the status and of Retry-After:
    `false` makes it "never"; `true` makes it "backoff" where the request was `refused` with a status that alone would
    say never. Anything else that it may hold is as if it weren't there.

    A date (RFC 9110, 10.2.3) counts from the response's own Date, so that no two clocks are compared, else from `now`.
    What can't be read is as if it weren't there.
    """
    wish = (header("x-should-retry") or "").strip().lower()
    if wish == "false":
        return "never"
    kind, _, told = base.partition(":")
    if wish == "true" and refused:
        kind = "backoff"
    if kind not in ("backoff", "after"):
        return base
    wait = _milliseconds(header("retry-after-ms"))
    if wait is None:
        wait = _wait(header("retry-after"), header("date"), now)
    if wait is None:
        wait = Decimal(told) if told else None
    if wait is None:
        return kind
    if wait > Decimal(repr(max_wait)):
        return "give_up"
    return f"after:{_plain(wait)}"


def wait_told(message: str, details: object) -> tuple[str, bool]:
    """The seconds, as text, after which an error's body asks to be asked again, empty where it tells none; and whether
    it is of a quota that lasts all the same: one of a day, or none at all.

    `details` are Google's (cloud.google.com/apis/design/errors): RetryInfo's `retryDelay`, and the quotas' names.
    Others say it in words only: "Please try again in 1m20.5s", "retry after 26 seconds".
    """
    each = _objects(details)
    delays = [delay for one in each if isinstance(delay := one.get("retryDelay"), str)]
    found = next((told for delay in delays if (told := _TELLS.fullmatch(delay))), None) or _ASKS.search(message)
    names = [str(quota.get("quotaId")) for one in each for quota in _objects(one.get("violations"))]
    lasting = _LASTS.search(message) is not None or any("PerDay" in name for name in names)
    return (_plain(_duration(found)) if found else ""), lasting


def _objects(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        return []
    return [cast("dict[str, Any]", one) for one in cast("list[Any]", value) if isinstance(one, dict)]


def _duration(found: re.Match[str]) -> Decimal:
    hours, minutes, seconds, thousandths = (Decimal(found[name] or 0) for name in ("h", "m", "s", "ms"))
    return hours * 3600 + minutes * 60 + seconds + thousandths / 1000


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
