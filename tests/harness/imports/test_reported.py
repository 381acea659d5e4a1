"""Another harness's words for a failure come under our names, or under one that says nobody knows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._outcomes import is_reason
from harness.imports._reported import failure_in


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("anthropic call failed: http 400: Your credit balance is too low. Go to Plans & Billing.", "billing"),
        ("http 400: max_tokens: field required", "bad_request"),
        ("http 400: prompt is too long: 210000 tokens", "context_length"),
        ("HTTP 401: invalid x-api-key", "auth"),
        ("Error code: 401 - {'error': {'type': 'authentication_error'}}", "auth"),
        ("http 402: pay first", "billing"),
        ("http 400: You have reached your specified API usage limits.", "billing"),
        ("HTTP/1.1 403 Forbidden", "forbidden"),
        ("http 403: your account has insufficient credits", "billing"),
        ("http 404: model: smallest-one", "model_missing"),
        ("http 404: no such page", "http_404"),
        ("HTTP Error 413: Payload Too Large", "too_large"),
        ("http 429: slow down", "rate_limit"),
        ("http 429: You exceeded your current quota", "billing"),
        ("429 Client Error: Too Many Requests for url", "rate_limit"),
        ("Server error '503 Service Unavailable' for url", "http_503"),
        ("http 500: boom", "http_500"),
        ("status_code=502", "http_502"),
        ("status code: 529", "overloaded"),
        ("http 500: {'type': 'overloaded_error'}", "overloaded"),
        ("http 301: moved", "redirect"),
        ("ReadTimeout: timed out after 504 seconds", "timeout"),
        ("subprocess.TimeoutExpired: Command 'x' timed out", "timeout"),
        ("<urlopen error [Errno 111] Connection refused>", "connect_refused"),
        ("<urlopen error [Errno -2] Name or service not known>", "dns"),
        ("getaddrinfo ENOTFOUND api.example", "dns"),
        ("ConnectionResetError: [Errno 104] Connection reset by peer", "connection_reset"),
        ("curl: (52) Empty reply from server", "connection_reset"),
        ("Remote end closed connection without response", "connection_reset"),
        ("ssl.SSLError: CERTIFICATE_VERIFY_FAILED", "tls"),
        ("ollama exited with status 1", "command_failed"),
        ("CalledProcessError: Command returned non-zero exit status 2", "command_failed"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'ollama'", "command_failed"),
        ("insufficient_quota: nothing left", "billing"),
        ("your credit balance is too low", "billing"),
        ("model 'llama9' not found", "model_missing"),
        ("rate limit reached", "rate_limit"),
        ("ResponseError: model 'llama9' not found (status code: 404)", "model_missing"),
        ("exceptions.ResourceExhausted: 429 Resource has been exhausted", "rate_limit"),
        ("exceptions.PermissionDenied: 403 API key not valid", "forbidden"),
        ("503 Service Unavailable", "http_503"),
        ("500 {'error': 'x'}", "http_500"),
        ("500 proposals were asked for", "reported"),
        ("httpx.ConnectError: All connection attempts failed", "connect_refused"),
        ("network error: [Errno 101] Network is unreachable", "connect_refused"),
        ("EOF occurred in violation of protocol (_ssl.c:2396)", "tls"),
        ("ThrottlingException: Too many tokens, please wait before trying again.", "rate_limit"),
        ("quota exceeded for the day", "billing"),
        ("anthropic proposer call failed: invalid json response", "not_json"),
        ("proposer call failed: empty", "reported"),
        ("the proposer gave up", "reported"),
        ("http 200: something odd", "reported"),
        ("KeyError: 'proposals'", "reported"),
    ],
)  # fmt: skip
def test_words_have_a_name(words: str, name: str) -> None:
    assert failure_in([words]) == (name, words)


@pytest.mark.parametrize(
    "words",
    ["proposer returned non-json output", "JSONDecodeError: Expecting value: line 1 column 1 (char 0)", "empty output",
     "output is not valid JSON", "invalid json response",
     "confidence must be numeric", "unsupported relation type: x",
     "missing field: confidence", "unknown type 'x'", "no output", " ", ""],
)  # fmt: skip
def test_words_that_only_judge_the_text_tell_of_no_failure(words: str) -> None:
    assert failure_in([words]) is None


def test_of_several_words_the_first_that_names_a_failure_counts() -> None:
    assert failure_in([]) is None
    assert failure_in(["empty output", "odd thing", "http 429: wait", "http 500: x"]) == (
        "rate_limit",
        "http 429: wait",
    )
    assert failure_in(["empty output", "odd thing", "other"]) == ("reported", "odd thing")


@given(st.lists(st.text() | st.from_regex(r"http [0-9]{3}: .*")))
def test_whatever_the_words_the_name_is_one_of_the_taxonomy(words: list[str]) -> None:
    found = failure_in(words)
    assert found is None or (is_reason("error", found[0]) and found[1] in words)


def test_long_words_take_no_time() -> None:
    assert failure_in(["model " * 300_000, "[" * 1_000_000, "_a" * 500_000]) is not None
