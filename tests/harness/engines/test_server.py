"""What a server is asked of itself: recorded with its secrets masked, and what follows is read from the record."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.engines import ask_server, resolve_engine, said_of_server
from tests.harness.models import Answer, model_server

KEY = "sk-a-key-that-nobody-may-see"
WEIGHTS = "ab" * 32


def asked(url: str, engine: str = "ollama/oar") -> Any:
    return resolve_engine(engine, base_url=url, parameters={}, stream=False, environ={"OLLAMA_API_KEY": KEY})


def test_weights_and_version_are_read_out_of_what_is_recorded() -> None:
    def tell(path: str) -> object:
        models = [{"name": "other", "digest": "cd" * 32}, {"name": "oar:latest", "digest": WEIGHTS}]
        return {"version": "0.9"} if path.endswith("version") else {"models": models}

    with model_server(lambda prompt: Answer(), tell=tell) as server:
        told = list(ask_server(asked(server.url)))
    assert [(each.lookup.method, each.lookup.status) for each in told] == [("GET", 200), ("GET", 200)]
    assert [each.lookup.url for each in told] == [f"{server.url}/api/tags", f"{server.url}/api/version"]
    assert said_of_server(told, "oar") == {"weights": WEIGHTS, "version": "0.9"}
    assert said_of_server(told[1:], "oar") == {"version": "0.9"}
    assert said_of_server(told, "skiff") == {"version": "0.9"}


def test_a_key_is_masked_in_what_was_sent_and_in_what_came() -> None:
    with model_server(lambda prompt: Answer(), tell=lambda path: {"version": KEY, "models": []}) as server:
        told = list(ask_server(asked(server.url)))
    for each in told:
        assert KEY not in each.lookup.model_dump_json()
        assert each.reply is not None and KEY.encode() not in each.reply
        assert dict(each.lookup.headers)["Authorization"] == "*" * len(f"Bearer {KEY}")
        assert {place.where for place in each.lookup.masked} >= {"header Authorization"}
    assert said_of_server(told, "oar") == {"version": "*" * len(KEY)}


@pytest.mark.parametrize("said", [[], "text", {"models": 7}, {"models": [7, {"name": "oar", "digest": "\u00e4"}]}])
def test_a_server_that_tells_it_badly_tells_nothing(said: object) -> None:
    with model_server(lambda prompt: Answer(), tell=lambda path: said) as server:
        told = list(ask_server(asked(server.url)))
    assert told[0].reply == json.dumps(said).encode()
    assert said_of_server(told, "oar") == {}


def test_a_server_that_refuses_or_is_not_there_leaves_a_record_of_that() -> None:
    with model_server(lambda prompt: Answer()) as server:
        (refused,) = ask_server(asked(server.url))
    assert (refused.lookup.status, refused.reply, refused.lookup.detail) == (404, b"{}", "")
    (gone,) = ask_server(asked(server.url))
    assert (gone.lookup.status, gone.reply) == (None, None)
    assert gone.lookup.detail.startswith("ConnectError: ")


def test_a_protocol_that_has_no_such_address_is_asked_nothing() -> None:
    assert list(ask_server(asked("http://127.0.0.1:1/v1", "openai/oar"))) == []
