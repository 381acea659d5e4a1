"""Who answered, as a reply tells it: model, build and provider; what isn't told is no server of another name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._identity import digest, tools_digest
from harness.parse import Reading, ReadRules, Wire, read_reply
from tests.harness.parse.wires import reply

PROTOCOLS = ("openai", "anthropic", "ollama")


def read(protocol: Any, body: bytes, *headers: tuple[str, str], stream: bool = False) -> Reading:
    wire = Wire(200, headers, body)
    return read_reply(wire, protocol=protocol, stream=stream, ask="text", rules=ReadRules.default())


def served(protocol: str, *headers: tuple[str, str], **more: Any) -> dict[str, tuple[str, ...]]:
    found = read(protocol, json.dumps(reply(protocol, **more)).encode(), *headers)
    assert found.status == "parsed"
    return dict(found.served)


def chunks(*told: dict[str, Any]) -> bytes:
    """A stream of one letter a chunk, each chunk with what it tells beside it, and its end."""
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    parts = [{"choices": [{"index": 0, "delta": {"content": "x"}}], **each} for each in told]
    return b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in [*parts, last]) + b"data: [DONE]\n\n"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_model_that_the_reply_names_is_told_in_every_protocol(protocol: str) -> None:
    assert served(protocol) == {"model": ("m-1",)}


def test_a_reply_names_its_build_and_the_provider_behind_the_router() -> None:
    found = served("openai", system_fingerprint="fp_7", provider="Aurora")
    assert found == {"model": ("m-1",), "fingerprint": ("fp_7",), "provider": ("Aurora",)}


@pytest.mark.parametrize("nothing", [None, "", "  ", 7, [], {}])
def test_what_is_null_or_empty_is_not_told(nothing: Any) -> None:
    assert served("openai", system_fingerprint=nothing, provider=nothing) == {"model": ("m-1",)}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "header", ["x-litellm-model-id", "x-bifrost-provider", "X-Kong-LLM-Model", "Ngrok-AIG-Model"]
)  # fmt: skip
def test_a_gateway_names_the_provider_in_a_header(protocol: str, header: str) -> None:
    assert served(protocol, (header, "north-3"))["provider"] == ("north-3",)


def test_a_header_that_names_no_provider_tells_nothing() -> None:
    assert "provider" not in served("openai", ("x-request-id", "7"), ("x-powered-by", "Aurora"))


def test_of_a_stream_every_chunk_is_asked_and_two_that_disagree_are_both_told() -> None:
    body = chunks({"model": "", "system_fingerprint": None}, {"model": "a", "system_fingerprint": "fp_1"},
                  {"model": "a", "system_fingerprint": "fp_2", "provider": "Aurora"})  # fmt: skip
    found = read("openai", body, stream=True)
    assert (found.status, found.model) == ("parsed", "a")
    assert found.served == {"model": ("a",), "fingerprint": ("fp_1", "fp_2"), "provider": ("Aurora",)}


def test_the_stream_of_an_anthropic_server_names_its_model_as_it_opens() -> None:
    events = [
        {"type": "message_start", "message": {"model": "m-3", "content": [], "usage": {"input_tokens": 1}}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    body = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in events)
    assert read("anthropic", body, stream=True).served == {"model": ("m-3",)}


def test_a_stream_that_names_a_new_server_every_time_is_cut_short() -> None:
    found = read("openai", chunks(*({"system_fingerprint": f"fp_{number}"} for number in range(99))), stream=True)
    assert found.served["fingerprint"] == tuple(f"fp_{number}" for number in range(8))


KEY = b"k" * 32
TOOLS = st.lists(
    st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.booleans(), min_size=1),
    min_size=1, max_size=3,
)  # fmt: skip


@given(tools=TOOLS, name=st.sampled_from(["tools", "functions"]), rest=st.text(max_size=20))
def test_the_digest_of_tools_is_that_of_the_list_whatever_else_is_asked(tools: Any, name: str, rest: str) -> None:
    body = json.dumps({"messages": [{"content": rest}], name: tools}).encode()
    assert tools_digest(body, lambda: KEY) == digest(json.dumps(tools), KEY)


@pytest.mark.parametrize(
    "body",
    [b"{}", b'{"tools": []}', b'{"tools": null}', b'{"messages": ["the word \\"tools\\""]}', b'"tools"', b"\xff"],
)
def test_a_body_without_tools_has_no_digest_of_them(body: bytes) -> None:
    assert tools_digest(body, lambda: KEY) is None
