"""Images and parts reach each protocol in its own form, over real connections; what it has no form for is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness._candidate import Protocol
from harness._chat import Chat
from harness.engines import cannot_ask
from ledger import Ledger
from tests.harness.asking import MESSAGES, ask
from tests.harness.servers import ANSWERS, ScriptedServer, json_reply

IMAGE = {"type": "image", "media_type": "image/png", "data": "aGk="}
PICTURED: list[Any] = [
    {"role": "user", "content": [IMAGE, {"type": "text", "text": "what"}, {"type": "text", "text": "is it?"}]}
]


def asked_about_an_image(ledger: Ledger, protocol: str) -> list[dict[str, Any]]:
    with ScriptedServer(json_reply(ANSWERS[protocol]("a"))) as server:
        (exchange,) = ask(ledger, server, protocol, messages=PICTURED)
        (received,) = server.requests
    assert exchange.fault is None
    assert ledger.blob(exchange.request or 0, "body") == received.body
    return json.loads(received.body)["messages"]


def test_openai_gets_an_image_as_a_data_uri(ledger: Ledger) -> None:
    (message,) = asked_about_an_image(ledger, "openai")
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    assert message == {"role": "user", "content": [image, *PICTURED[0]["content"][1:]]}


def test_anthropic_gets_an_image_as_a_source(ledger: Ledger) -> None:
    (message,) = asked_about_an_image(ledger, "anthropic")
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    assert message == {"role": "user", "content": [image, *PICTURED[0]["content"][1:]]}


def test_ollama_gets_one_text_and_its_images_beside_it(ledger: Ledger) -> None:
    (message,) = asked_about_an_image(ledger, "ollama")
    assert message == {"role": "user", "content": "what\nis it?", "images": ["aGk="]}


def test_parts_of_other_types_and_keys_beside_them_go_to_the_server_as_they_are(ledger: Ledger) -> None:
    part = {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}
    own = [{"role": "user", "content": [part, {"type": "image", "source": {"type": "url", "url": "u"}}], "name": "ann"}]
    with ScriptedServer(json_reply({})) as server:
        ask(ledger, server, "openai", messages=own)
        assert json.loads(server.requests[0].body)["messages"] == own


def test_system_turns_of_parts_stay_blocks_in_anthropics_field(ledger: Ledger) -> None:
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "system", "content": [{"type": "text", "text": "and kind", "cache_control": {"type": "ephemeral"}}]},
        {"role": "user", "content": "hi"},
    ]
    with ScriptedServer(json_reply({})) as server:
        ask(ledger, server, "anthropic", messages=messages)
        body = json.loads(server.requests[0].body)
    assert body["system"] == [
        {"type": "text", "text": "be brief"},
        {"type": "text", "text": "and kind", "cache_control": {"type": "ephemeral"}},
    ]
    assert body["messages"] == messages[2:]


@pytest.mark.parametrize(
    ("protocol", "messages", "extras", "words"),
    [
        ("command", PICTURED, {}, "takes a text alone, and the case holds a part 'image'"),
        ("command", MESSAGES, {"tools": []}, "takes a text alone, and the case sends tools beside it"),
        ("ollama", [{"role": "user", "content": [{"type": "audio"}]}], {}, "holds a part 'audio'"),
        ("ollama", MESSAGES, {"response_format": {"type": "json_object"}}, "would pass over it"),
    ],
)  # fmt: skip
def test_what_a_protocol_would_leave_out_is_a_sentence(
    protocol: Protocol, messages: list[Any], extras: dict[str, object], words: str
) -> None:
    assert words in (cannot_ask(protocol, Chat(tuple(messages), extras)) or "")


@pytest.mark.parametrize("protocol", ["openai", "anthropic", "ollama"])
def test_texts_images_and_tools_can_be_asked_of_every_protocol_over_http(protocol: Protocol) -> None:
    assert cannot_ask(protocol, Chat(tuple(PICTURED), {"tools": [{"name": "f"}]})) is None
