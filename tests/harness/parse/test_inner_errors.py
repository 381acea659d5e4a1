"""An error inside a 200 is an error wherever it stands, and its own code says whether asking again may help."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.parse import Protocol, Reading, ReadRules, read_reply
from tests.harness.parse.wires import chunk, reply, sent, sse

GONE = {"code": 502, "message": "the provider went away"}


def read(body: Any, protocol: Protocol = "openai", *, stream: bool = False) -> Reading:
    return read_reply(sent(body), protocol=protocol, stream=stream, ask="text", rules=ReadRules.default())


def said(found: Reading) -> tuple[str, str, str, tuple[str, ...]]:
    return found.status, found.reason, found.retry, found.flags


def choice(**fields: Any) -> dict[str, Any]:
    """A whole OpenAI reply whose one choice has these fields, too."""
    body = reply("openai")
    body["choices"][0].update(fields)
    return body


PLACES: dict[str, dict[str, Any]] = {
    "in the choice": choice(error=GONE, finish_reason="error"),
    "in the choice, which stopped": choice(error=GONE),
    "in the message": choice(message={"content": "hello", "error": GONE}),
    "beside the choices": reply("openai", error=GONE),
    "in a second choice": {"choices": [*reply("openai")["choices"], {"index": 1, "error": GONE}]},
}


@pytest.mark.parametrize("place", PLACES)
def test_an_error_beside_or_inside_a_choice_is_an_error_and_the_text_is_kept_as_partial(place: str) -> None:
    for stream in (False, True):
        found = read(PLACES[place], stream=stream)
        assert said(found) == ("error", "error_in_200", "backoff", ("partial_text", "inner_502"))
        assert (found.text, found.value) == ("hello", None)


CODES: list[tuple[Any, str, str, str, list[str]]] = [
    ({"code": 400, "message": "m"}, "error", "error_in_200", "never", ["inner_400"]),
    ({"code": "400", "message": "m"}, "error", "error_in_200", "never", ["inner_400"]),
    ({"code": 401, "message": "m"}, "error", "error_in_200", "never", ["inner_401"]),
    ({"code": 402, "message": "m"}, "error", "billing", "never", ["inner_402", "stop_run"]),
    ({"code": 403, "message": "m"}, "error", "error_in_200", "never", ["inner_403"]),
    ({"code": 408, "message": "m"}, "error", "error_in_200", "backoff", ["inner_408"]),
    ({"code": 429, "message": "m"}, "error", "error_in_200", "backoff", ["inner_429"]),
    ({"code": 429, "message": "out of credits"}, "error", "billing", "never", ["inner_429", "stop_run"]),
    ({"code": 500, "message": "m"}, "error", "error_in_200", "backoff", ["inner_500"]),
    ({"code": 501, "message": "m"}, "error", "error_in_200", "never", ["inner_501"]),
    ({"code": 529, "message": "m"}, "error", "error_in_200", "backoff", ["inner_529"]),
    ({"code": "server_error", "message": "m"}, "error", "error_in_200", "backoff", []),
    ({"code": "rate_limit_exceeded", "message": "m"}, "error", "error_in_200", "backoff", []),
    ({"type": "invalid_request_error", "message": "m"}, "error", "error_in_200", "never", []),
    ({"code": "invalid_api_key", "message": "m"}, "error", "error_in_200", "never", []),
    ({"code": "model_not_found", "message": "m"}, "error", "error_in_200", "never", []),
    ({"message": "this model's maximum context length is 9 tokens"}, "error", "error_in_200", "never", []),
    ({"status": "INVALID_ARGUMENT", "message": "m"}, "error", "error_in_200", "never", []),
    ({"status": "RESOURCE_EXHAUSTED", "code": 429, "message": "m"}, "error", "error_in_200", "backoff", ["inner_429"]),
    ({"code": "insufficient_quota", "message": "m"}, "error", "billing", "never", ["stop_run"]),
    ({"code": "content_filter", "message": "m"}, "refused", "content_filter", "never", []),
    ({"message": "m"}, "error", "error_in_200", "backoff", []),
    ("gone", "error", "error_in_200", "backoff", []),
    (True, "error", "error_in_200", "backoff", []),
]  # fmt: skip


@pytest.mark.parametrize(("error", "status", "reason", "retry", "flags"), CODES)
def test_the_error_s_own_code_says_whether_to_ask_again(
    error: Any, status: str, reason: str, retry: str, flags: list[str]
) -> None:
    inside = choice(error=error, finish_reason="error", message={"content": ""})
    last = {**chunk("", "error"), "error": error}
    in_delta = chunk("", error=error)
    in_chunk = {"choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": error}]}
    for found in (
        read(inside), read({**inside, "error": error}), read(sse(last), stream=True), read(sse(in_delta), stream=True),
        read(sse(in_chunk, done=False), stream=True),
    ):  # fmt: skip
        assert said(found) == (status, reason, retry, tuple(flags))


def test_an_error_in_the_last_chunk_takes_back_what_came_before_it() -> None:
    whole = [chunk("hel"), chunk("lo", "stop")]
    for last in (
        {"choices": [], "error": GONE},
        {"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error", "error": GONE}]},
        {"error": GONE},
    ):
        found = read(sse(*whole, last), stream=True)
        assert said(found) == ("error", "error_in_200", "backoff", ("partial_text", "inner_502"))
        assert (found.text, found.value) == ("hello", None)


@pytest.mark.parametrize(
    ("finish", "status", "reason", "retry"),
    [
        ("error", "error", "error_in_200", "backoff"),
        ("insufficient_system_resource", "error", "error_in_200", "backoff"),
        ("network_error", "error", "error_in_200", "backoff"),
        ("sensitive", "refused", "content_filter", "never"),
        ("model_length", "truncated", "stop_length", "never"),
    ],
)
def test_a_finish_reason_that_says_error_is_one_without_an_error_beside_it(
    finish: str, status: str, reason: str, retry: str
) -> None:
    for found in (read(choice(finish_reason=finish)), read(sse(chunk("hello"), chunk(stop=finish)), stream=True)):
        assert (found.status, found.reason, found.retry, found.text) == (status, reason, retry, "hello")
        assert found.stop == finish


@pytest.mark.parametrize(
    ("native", "status", "reason"),
    [
        ("MAX_TOKENS", "truncated", "stop_length"),
        ("max_output_tokens", "truncated", "stop_length"),
        ("SAFETY", "refused", "content_filter"),
        ("RECITATION", "refused", "content_filter"),
        ("refusal", "refused", "stop_refusal"),
        ("STOP", "parsed", ""),
        ("end_turn", "parsed", ""),
        ("completed", "parsed", ""),
        (None, "parsed", ""),
    ],
)
def test_the_word_of_the_provider_behind_a_router_counts_where_the_router_says_stop(
    native: Any, status: str, reason: str
) -> None:
    found = read(choice(native_finish_reason=native))
    assert (found.status, found.reason) == (status, reason)
    streamed = chunk(stop="stop")
    streamed["choices"][0]["native_finish_reason"] = native
    assert read(sse(chunk("hello"), streamed), stream=True).reason == reason
    cut = read(choice(finish_reason="length", native_finish_reason="STOP"))
    assert (cut.status, cut.reason) == ("truncated", "stop_length")


NO_ERROR: list[dict[str, Any]] = [
    reply("openai", error=None), reply("openai", error={}), reply("openai", error=""),
    reply("openai", error={"code": None, "message": ""}), reply("openai", error={"code": 0, "message": None}),
    reply("openai", errors=[]), reply("openai", message="ok", code=200), choice(error=None), choice(error={}),
    choice(message={"content": "hello", "error": None}),
    choice(content_filter_results={"error": {"code": "content_filter_error", "message": "not filtered"}}),
    choice(message={"content": "hello", "annotations": [{"type": "url_citation", "error": "404"}]}),
]  # fmt: skip


@pytest.mark.parametrize("body", NO_ERROR, ids=[json.dumps(each)[-60:] for each in NO_ERROR])
def test_what_says_nothing_or_is_of_something_else_is_no_error(body: dict[str, Any]) -> None:
    assert (read(body).status, read(body).value) == ("parsed", '"hello"')


@pytest.mark.parametrize(
    ("body", "retry", "flags"),
    [
        ([{"error": {"code": 429, "message": "m"}}], "backoff", ("inner_429",)),
        ({"code": 401, "message": "no such key"}, "never", ("inner_401",)),
        ({"code": "InvalidParameter", "message": "m", "request_id": "r"}, "backoff", ()),
        ({"errors": [{"code": 400, "message": "m"}], "success": False}, "never", ("inner_400",)),
        ({"errors": ["gone"]}, "backoff", ()),
        ({"choices": None, "code": 503, "message": "m"}, "backoff", ("inner_503",)),
    ],
)
def test_an_error_that_nothing_wraps_is_one_where_a_reply_should_be(
    body: Any, retry: str, flags: tuple[str, ...]
) -> None:
    for stream in (False, True):
        assert said(read(body, stream=stream)) == ("error", "error_in_200", retry, flags)


def test_an_error_beside_what_the_other_protocols_say_is_one_too() -> None:
    for protocol in ("anthropic", "ollama"):
        found = read(reply(protocol, error={"message": "m", "code": 503}), protocol)
        assert said(found) == ("error", "error_in_200", "backoff", ("partial_text", "inner_503"))
    lines = [{"message": {"content": "hel"}, "done": False}, {"message": {"content": "lo"}, "done": True, "error": "m"}]
    found = read("\n".join(json.dumps(each) for each in lines).encode(), "ollama", stream=True)
    assert (found.status, found.reason, found.text) == ("error", "error_in_200", "hello")
