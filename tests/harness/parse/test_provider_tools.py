"""Tools that the provider runs itself and that ran to their end leave an answer; an open call is still a call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.parse import Protocol, Reading, ReadRules, read_reply
from tests.harness.parse.wires import chunk, reply, sent, sse


def read(body: Any, protocol: Protocol = "anthropic", *, stream: bool = False) -> Reading:
    return read_reply(sent(body), protocol=protocol, stream=stream, ask="text", rules=ReadRules.default())


def outcome(found: Reading) -> tuple[str, str, Any]:
    return found.status, found.reason, None if found.value is None else json.loads(found.value)


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def used(name: str, of: str = "srvtoolu_1", kind: str = "server_tool_use") -> dict[str, Any]:
    return {"type": kind, "id": of, "name": name, "input": {"query": "q"}}


def gave(name: str, of: str = "srvtoolu_1", content: Any = ()) -> dict[str, Any]:
    return {"type": f"{name}_tool_result", "tool_use_id": of, "content": content}


def message(*blocks: Any, stop: str = "end_turn") -> dict[str, Any]:
    return reply("anthropic", list(blocks), stop_reason=stop)


def streamed(*blocks: dict[str, Any], stop: str = "end_turn") -> bytes:
    """The same as a stream, its texts in two pieces each."""
    events: list[Any] = [{"type": "message_start", "message": {"model": "m-1", "content": []}}]
    for at, block in enumerate(blocks):
        if block["type"] == "text":
            said = block["text"]
            events.append({"type": "content_block_start", "index": at, "content_block": text("")})
            for piece in (said[: len(said) // 2], said[len(said) // 2 :]):
                events.append(
                    {"type": "content_block_delta", "index": at, "delta": {"type": "text_delta", "text": piece}}
                )
        else:
            events.append({"type": "content_block_start", "index": at, "content_block": block})
            if "input" in block:
                delta = {"type": "input_json_delta", "partial_json": '{"query": "q"}'}
                events.append({"type": "content_block_delta", "index": at, "delta": delta})
        events.append({"type": "content_block_stop", "index": at})
    events += [{"type": "message_delta", "delta": {"stop_reason": stop}}, {"type": "message_stop"}]
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events).encode()


FOUND = [{"type": "web_search_result", "url": "https://example.test", "title": "t", "encrypted_content": "x"}]
FAILED = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
SEARCH = [used("web_search"), gave("web_search", content=FOUND)]
RAN = [used("bash_code_execution", "s2"), gave("bash_code_execution", "s2", {"stdout": "42", "return_code": 0})]
ASKED = [used("lookup", "m1", "mcp_tool_use"), gave("mcp", "m1", [text("42")])]

ENDED: dict[str, tuple[list[Any], str]] = {
    "a search": ([*SEARCH, text("Paris")], "Paris"),
    "a search that failed": ([used("web_search"), gave("web_search", content=FAILED), text("Paris")], "Paris"),
    "a program": ([*RAN, text("42")], "42"),
    "another server's tool": ([*ASKED, text("42")], "42"),
    "several": ([text("I look it up."), *SEARCH, text("I count."), *RAN, text("42")], "42"),
    "words ahead of it": ([text("I'll search."), *SEARCH, text("Par"), text("is")], "Paris"),
    "words ahead of it alone": ([text("Paris"), *SEARCH], "Paris"),
    "a file": ([*RAN, {"type": "container_upload", "file_id": "f"}, text("42")], "42"),
}


@pytest.mark.parametrize("name", ENDED)
def test_a_tool_that_the_provider_ran_to_its_end_leaves_an_answer(name: str) -> None:
    blocks, answer = ENDED[name]
    assert outcome(read(message(*blocks))) == ("parsed", "", answer)
    assert outcome(read(streamed(*blocks), stream=True)) == ("parsed", "", answer)


def test_what_was_said_on_the_way_is_kept_apart() -> None:
    found = read(message(text("I'll search."), *SEARCH, text("Paris")))
    assert (found.text, found.reasoning) == ("Paris", "I'll search.")


OPEN: dict[str, tuple[list[Any], str, str, str]] = {
    "no result came": ([text("x"), used("web_search")], "end_turn", "wrong_shape", "tool_call"),
    "another call's result": ([used("web_search"), gave("web_search", "s9"), text("x")], "end_turn", "wrong_shape",
                              "tool_call"),
    "a tool of the client's": ([*SEARCH, text("x"), used("f", "t", "tool_use")], "tool_use", "wrong_shape",
                               "tool_call"),
    "one of the client's, and said end": ([*SEARCH, text("x"), used("f", "t", "tool_use")], "end_turn", "wrong_shape",
                                          "tool_call"),
    "paused": ([text("x"), used("web_search")], "pause_turn", "incomplete", "pause_turn"),
    "paused after a result": ([*SEARCH, text("x")], "pause_turn", "incomplete", "pause_turn"),
    "cut": ([*SEARCH, text("x")], "max_tokens", "truncated", "stop_length"),
    "refused": ([*SEARCH, text("x")], "refusal", "refused", "stop_refusal"),
    "nothing said": ([*SEARCH], "end_turn", "empty", "no_text_block"),
}  # fmt: skip


@pytest.mark.parametrize("name", OPEN)
def test_an_open_call_a_pause_and_a_cut_are_what_they_were(name: str) -> None:
    blocks, stop, status, reason = OPEN[name]
    for found in (read(message(*blocks, stop=stop)), read(streamed(*blocks, stop=stop), stream=True)):
        assert (found.status, found.reason) == (status, reason)


def openai(finish: str = "stop", **fields: Any) -> dict[str, Any]:
    body = reply("openai")
    body["choices"][0] = {"index": 0, "finish_reason": finish, "message": {"content": "hello", **fields}}
    return body


FUNCTION = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
SEARCHED = {"id": "c1", "type": "web_search", "web_search": {"input": "q", "outputs": []}}
DONE: dict[str, dict[str, Any]] = {
    "no calls": {"tool_calls": []},
    "null calls": {"tool_calls": None, "function_call": None},
    "an empty call": {"tool_calls": [{"index": 0, "type": "function", "function": {"name": "", "arguments": ""}}]},
    "an empty function": {"function_call": {"name": None, "arguments": ""}},
    "tools that were executed": {"executed_tools": [{"index": 0, "type": "search", "arguments": "{}", "output": "x"}]},
    "results of a search": {"annotations": [{"type": "url_citation", "url_citation": {"url": "https://e.test"}}]},
    "a call of the provider's own": {"tool_calls": [SEARCHED]},
    "a call with its output": {"tool_calls": [{"id": "c", "function": {"name": "f"}, "output": "7"}]},
}  # fmt: skip


@pytest.mark.parametrize("name", DONE)
def test_openai_shaped_replies_with_tools_that_ran_leave_an_answer(name: str) -> None:
    assert outcome(read(openai(**DONE[name]), "openai")) == ("parsed", "", "hello")
    stream = sse(chunk("hel", **DONE[name]), chunk("lo"), chunk(stop="stop"))
    assert outcome(read(stream, "openai", stream=True)) == ("parsed", "", "hello")


STILL: dict[str, tuple[dict[str, Any], str]] = {
    "a call": ({"tool_calls": [FUNCTION]}, "stop"),
    "a call, and said so": ({"tool_calls": [FUNCTION]}, "tool_calls"),
    "no call, and said so": ({"tool_calls": []}, "tool_calls"),
    "a function": ({"function_call": {"name": "f", "arguments": "{}"}}, "function_call"),
    "a custom tool": ({"tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "f", "input": "x"}}]}, "stop"),
    "no type": ({"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}, "stop"),
    "one that ran and one that didn't": ({"tool_calls": [SEARCHED, FUNCTION]}, "stop"),
    "something that is no object": ({"tool_calls": ["f"]}, "stop"),
}


@pytest.mark.parametrize("name", STILL)
def test_an_open_call_of_the_client_s_stays_a_call(name: str) -> None:
    fields, finish = STILL[name]
    assert outcome(read(openai(finish, **fields), "openai")) == ("wrong_shape", "tool_call", None)


def test_a_call_that_is_streamed_in_pieces_stays_what_its_first_piece_said() -> None:
    def pieces(kind: str) -> bytes:
        first = {"index": 0, "id": "c", "type": kind, kind: {"name": "f"}}
        rest = [{"index": 0, kind: {"arguments": part}} for part in ('{"q"', ": 1}")]
        parts = [chunk(tool_calls=[each]) for each in (first, *rest)]
        return sse(*parts, chunk("hello"), chunk(stop="stop"))

    assert outcome(read(pieces("function"), "openai", stream=True)) == ("wrong_shape", "tool_call", None)
    assert outcome(read(pieces("web_search"), "openai", stream=True)) == ("parsed", "", "hello")
