"""What a server's wish to be asked later is turned into."""

from datetime import UTC, datetime, timedelta

import pytest

from harness.parse import ReadRules, read_reply
from tests.harness.parse.wires import reply, sent

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


def wish(status: int, said: str, **headers: str) -> str:
    """The advice where the server also says whether to ask again."""
    return retry(status, x_should_retry=said, **headers)


@pytest.mark.parametrize("status", [400, 403, 404, 408, 409, 413, 422, 429, 500, 501, 503, 529])
def test_a_server_that_says_whether_to_ask_again_is_heeded(status: int) -> None:
    assert wish(status, "false") == "never"
    assert wish(status, " FALSE ") == "never"
    assert wish(status, "true") == "backoff"
    assert wish(status, "True", retry_after="7") == "after:7"
    assert wish(status, "true", retry_after_ms="1500") == "after:1.5"


def test_no_goes_ahead_of_a_wait_and_a_wait_that_is_too_long_ahead_of_yes() -> None:
    assert wish(429, "false", retry_after="1") == "never"
    assert wish(503, "false", retry_after_ms="10") == "never"
    assert wish(429, "true", retry_after="100000") == "give_up"


@pytest.mark.parametrize("said", ["", "yes", "1", "0", "no", "true, false", "false, true", "true,true", "\u0442rue"])
def test_what_is_neither_true_nor_false_says_nothing(said: str) -> None:
    assert (wish(429, said), wish(400, said)) == ("backoff", "never")


def test_a_key_an_account_and_a_redirect_are_not_asked_again_whatever_a_header_wishes() -> None:
    for status in (301, 307, 401, 402):
        assert wish(status, "true") == "never"


def test_an_error_inside_a_200_can_be_given_up_by_the_header_and_not_brought_back() -> None:
    def inside(code: int, said: str) -> str:
        wire = sent({"error": {"code": code, "message": "m"}}, 200, x_should_retry=said)
        return read_reply(wire, protocol="openai", stream=False, ask="text", rules=ReadRules.default()).retry

    assert (inside(429, "false"), inside(429, "true")) == ("never", "backoff")
    assert (inside(400, "false"), inside(400, "true")) == ("never", "never")


def test_an_answer_is_an_answer_whatever_the_header_says() -> None:
    found = read_reply(
        sent(reply("openai"), 200, x_should_retry="true"), protocol="openai", stream=False, ask="text",
        rules=ReadRules.default(),
    )  # fmt: skip
    assert (found.status, found.retry) == ("parsed", "never")


def asked(message: str, status: int = 429, details: object = None, **headers: str) -> tuple[str, str]:
    """The reason and the advice of an error as Google's servers write it: inside a list."""
    error = {"code": status, "message": message, "status": "RESOURCE_EXHAUSTED", "details": details}
    wire = sent([{"error": error}], status, **headers)
    found = read_reply(wire, protocol="openai", stream=False, ask="text", rules=ReadRules.default(), now=NOW)
    return found.reason, found.retry


SPENT = "You exceeded your current quota, please check your plan and billing details."


@pytest.mark.parametrize(
    ("message", "details", "reason", "advice"),
    [
        (f"{SPENT} limit: 10, model: m\nPlease retry in 26.5s.", None, "rate_limit", "after:26.5"),
        (SPENT, [{"links": []}, {"retryDelay": "33s"}], "rate_limit", "after:33"),
        (SPENT, [{"violations": [{"quotaId": "TokensPerMinute"}]}, {"retryDelay": "33s"}], "rate_limit", "after:33"),
        (SPENT, None, "billing", "never"),
        (SPENT, [{"violations": [{"quotaId": "RequestsPerDayFree"}]}, {"retryDelay": "33s"}], "billing", "never"),
        (f"{SPENT} limit: 0, model: m\nPlease retry in 26.5s.", None, "billing", "never"),
        ("Limit reached for requests per min. Please try again in 20s.", None, "rate_limit", "after:20"),
        ("Limit reached. Please try again in 6ms. Visit us.", None, "rate_limit", "after:0.006"),
        ("Limit reached. Please try again in 6m0.5s", None, "rate_limit", "give_up"),
        ("Please retry after 26 seconds.", None, "rate_limit", "after:26"),
        ("Try again in 1 minute.", None, "rate_limit", "after:60"),
        ("Try again in a moment, or in 5 days", None, "rate_limit", "backoff"),
        ("try again in 5 months", "soon", "rate_limit", "backoff"),
        ("m", [{"retryDelay": "soon"}, {"retryDelay": 5}, None, {"violations": "all"}], "rate_limit", "backoff"),
    ],
)
def test_an_error_that_tells_a_wait_is_asked_again_after_it_and_is_no_spent_account(
    message: str, details: object, reason: str, advice: str
) -> None:
    assert asked(message, details=details) == (reason, advice)


def test_a_header_goes_ahead_of_the_wait_that_the_body_tells_and_what_is_lasting_is_not_asked_again() -> None:
    assert asked("Please retry in 9s.", retry_after="7") == ("rate_limit", "after:7")
    assert asked("Please retry in 9s.", retry_after="soon") == ("rate_limit", "after:9")
    assert asked("Please retry in 9s.", x_should_retry="false") == ("rate_limit", "never")
    assert asked("Please retry in 9s.", x_should_retry="true") == ("rate_limit", "after:9")
    assert asked("Please retry in 9s.", 400) == ("bad_request", "never")
    assert asked("Please retry in 9s.", 503) == ("http_503", "after:9")


def test_an_error_inside_a_200_tells_its_wait_too() -> None:
    def inside(code: int, message: str) -> tuple[str, str]:
        wire = sent({"error": {"code": code, "message": message}})
        found = read_reply(wire, protocol="openai", stream=False, ask="text", rules=ReadRules.default())
        return found.reason, found.retry

    assert inside(429, f"{SPENT} Please retry in 3s.") == ("error_in_200", "after:3")
    assert inside(429, SPENT) == ("billing", "never")
    assert inside(400, "Please retry in 3s.") == ("error_in_200", "never")
