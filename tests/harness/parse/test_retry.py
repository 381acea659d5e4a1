"""What a server's wish to be asked later is turned into."""

from datetime import UTC, datetime, timedelta

import pytest

from harness.parse import ReadRules, read_reply
from tests.harness.parse.wires import sent

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def retry(status: int = 429, max_wait: float = 60, now: datetime | None = NOW, **headers: str) -> str:
    """The advice for a response with these headers."""
    wire = sent(b"{}", status, **headers)
    rules = ReadRules.default()
    return read_reply(
        wire, protocol="openai", stream=False, ask="text", rules=rules, max_wait=max_wait, now=now
    ).retry  # fmt: skip


@pytest.mark.parametrize(
    ("header", "advice"),
    [
        ("7", "after:7"),
        (" 7 ", "after:7"),
        ("0", "after:0"),
        ("0.50", "after:0.5"),
        ("60", "after:60"),
        ("60.001", "give_up"),
        ("100000", "give_up"),
        ("9" * 5000, "give_up"),
        ("soon", "backoff"),
        ("-5", "backoff"),
        ("1e1", "backoff"),
        ("nan", "backoff"),
        ("\u0667", "backoff"),
        ("", "backoff"),
        ("Sun, 01 Mar 2026 12:00:30 GMT", "after:30"),
        ("Sunday, 01-Mar-26 12:00:30 GMT", "after:30"),
        ("Sun Mar  1 12:00:30 2026", "after:30"),
        ("Sun, 01 Mar 2026 13:00:00 GMT", "give_up"),
        ("Sun, 06 Nov 1994 08:49:37 GMT", "after:0"),
        ("Sun, 99 Mar 2026 12:00:30 GMT", "backoff"),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_nothing_else(header: str, advice: str) -> None:
    assert retry(retry_after=header) == advice


def test_without_the_header_the_reason_advises() -> None:
    assert retry() == "backoff"
    assert retry(401) == "never"


def test_the_response_s_own_date_goes_before_the_recorded_time() -> None:
    date, later = "Sun, 01 Mar 2026 09:00:00 GMT", "Sun, 01 Mar 2026 09:00:20 GMT"
    assert retry(retry_after=later, date=date) == "after:20"
    assert retry(retry_after=later, date=date, now=None) == "after:20"
    assert retry(retry_after=later, date="gone", now=None) == "backoff"
    assert retry(retry_after=later, now=NOW - timedelta(hours=3, seconds=-5)) == "after:15"


def test_milliseconds_are_taken_where_a_server_gives_them() -> None:
    assert retry(retry_after_ms="1500", retry_after="9") == "after:1.5"


def test_the_longest_wait_is_the_caller_s() -> None:
    assert retry(max_wait=5, retry_after="7") == "give_up"
    assert retry(max_wait=7, retry_after="7") == "after:7"


def test_what_is_never_to_be_asked_again_is_not_by_a_header_either() -> None:
    assert retry(400, retry_after="7") == "never"
    assert retry(503, retry_after="7") == "after:7"
