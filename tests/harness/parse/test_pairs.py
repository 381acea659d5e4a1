"""A character that a server cut between two pieces of a stream is one character again; a real half stays a half."""

from __future__ import annotations

import json

from harness.parse import ReadRules, Wire, read_reply


def stream(*pieces: str) -> Wire:
    events = [{"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]} for piece in pieces]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    return Wire(200, (("content-type", "text/event-stream"),), body.encode())


def test_a_pair_cut_between_two_deltas_is_one_character() -> None:
    found = read_reply(
        stream("hi \ud83d", "\ude00!"), protocol="openai", stream=True, ask="text", rules=ReadRules.default()
    )
    assert (found.status, found.value) == ("parsed", json.dumps("hi \U0001f600!"))


def test_half_a_pair_is_still_named() -> None:
    found = read_reply(stream("hi \ud83d", "!"), protocol="openai", stream=True, ask="text", rules=ReadRules.default())
    assert (found.status, found.reason) == ("malformed", "lone_surrogate")
