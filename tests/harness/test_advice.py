"""A wrong address or model: a run stops soon, says the server's own words, and what to try. Over real HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ledger import verify
from tests.harness.limited import questions
from tests.harness.models import Answer, model_server
from tests.harness.servers import refused_port
from tests.harness.test_pace_server import harness
from tests.harness.test_run import rows

KEY = "sk-test-not-a-real-key"
LISTED = {"object": "list", "data": [{"id": "llama-3.2"}, {"id": "qwen-2.5"}]}
NO_MODEL = {
    "error": {"message": f"The model `lama-3.2` does not exist; \x1b[31myour key {KEY}", "code": "model_not_found"}
}


def given_up(lab: Path, engine: str, url: str, *flags: str) -> tuple[Any, str]:
    questions(lab, 40)
    return harness(lab, "run", "numbers", "--engine", engine, "--base-url", url, *flags, expect=3)


def asked(lab: Path) -> int:
    return rows(lab / "ledger.db", "SELECT count(*) AS n FROM events WHERE kind = 'request'")[0]["n"]


def test_a_misspelled_model_is_told_what_the_server_said_and_which_models_it_lists(tmp_path: Path) -> None:
    body = json.dumps(NO_MODEL).encode()
    with model_server(lambda _: Answer(status=404, body=body), tell=lambda _: LISTED) as at:
        done, told = given_up(tmp_path, "openai/lama-3.2", at.openai, "--max-connections", "1")
        assert len(at.requests) == 5
        assert f"{at.openai} answered HTTP 404: The model `lama-3.2` does not exist; " in told
        assert "it lists llama-3.2, qwen-2.5, and not lama-3.2" in told
    assert KEY not in told and "\x1b" not in told
    assert done["status"] == "incomplete"
    # What a server says is in its recorded reply alone: it may repeat what it was asked.
    (closed,) = rows(tmp_path / "ledger.db", "SELECT body FROM events WHERE kind = 'close'")
    assert "5 cells in a row ended alike: model_missing (HTTP 404)" in closed["body"]
    assert "does not exist" not in closed["body"]
    (looked,) = rows(tmp_path / "ledger.db", "SELECT body FROM events WHERE kind = 'lookup'")
    assert json.loads(looked["body"])["url"].endswith("/v1/models")
    assert verify(tmp_path / "ledger.db").verdict == "CONSISTENT"


@pytest.mark.parametrize(("engine", "given", "right"), [
    ("openai/llama-3.2", "", "/v1"),
    ("openai/llama-3.2", "/v1/v1", "/v1"),
    ("openai/llama-3.2", "/v1/chat/completions", "/v1"),
    ("ollama/llama-3.2", "/v1", ""),
])  # fmt: skip
def test_an_address_with_v1_missing_or_too_much_is_told_the_one_that_lists_models(
    tmp_path: Path, engine: str, given: str, right: str
) -> None:
    listed = {"/v1/models": LISTED, "/api/tags": {"models": [{"name": "llama-3.2"}]}}
    with model_server(
        lambda _: Answer(status=404, body=b"404 page not found"), tell=lambda path: listed.get(path, {})
    ) as at:
        _, told = given_up(tmp_path, engine, at.url + given, "--max-connections", "1")
        assert f"try: --base-url {at.url}{right}, which lists models" in told
        assert "it does list llama-3.2" in told
        assert "404 page not found" in told
        assert len(at.requests) == 5


def test_a_run_of_three_cells_is_told_the_same(tmp_path: Path) -> None:
    with model_server(lambda _: Answer(status=404, body=b"404 page not found"), tell=lambda _: LISTED) as at:
        _, told = given_up(tmp_path, "openai/lama-3.2", at.openai, "--limit", "3")
        assert "it lists llama-3.2, qwen-2.5, and not lama-3.2" in told


def test_a_page_instead_of_json_is_said_in_its_own_words(tmp_path: Path) -> None:
    page = Answer(
        body=b"<html><title>Sign in</title><body>Please sign in</body></html>", headers=(("Content-Type", "text/html"),)
    )
    with model_server(lambda _: page) as at:
        _, told = given_up(tmp_path, "openai/m", at.openai, "--max-connections", "1")
        assert "answered HTTP 200: Sign in: Please sign in" in told
        assert "the address of an OpenAI interface?" in told
        assert len(at.requests) == 5


def test_a_refused_key_names_its_variable_at_once(tmp_path: Path) -> None:
    with model_server(lambda _: Answer(status=401, body=b'{"error": {"message": "Incorrect API key"}}')) as at:
        _, told = given_up(tmp_path, "openai/m", at.openai, "--max-connections", "1")
        assert "Incorrect API key" in told and "try: look at OPENAI_API_KEY" in told
        assert len(at.requests) == 1


def test_nothing_at_the_address_names_what_local_servers_use_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    gone = f"http://127.0.0.1:{refused_port()}/v1"
    done, told = given_up(tmp_path, "openai/m", gone, "--max-connections", "1", "--max-retries", "0")
    assert asked(tmp_path) == 5
    assert f"nothing came from {gone} (connect_refused)" in told
    assert "ollama http://127.0.0.1:11434" in told
    with model_server(lambda prompt: Answer(prompt.rpartition(" ")[2])) as at:
        resumed, _ = harness(
            tmp_path, "resume", done["run"], "--base-url", at.openai, "--accept", "endpoint", "--reason", "a typo"
        )
    assert resumed["status"] == "complete"


def test_a_parameter_that_the_model_refuses_stops_it_too(tmp_path: Path) -> None:
    body = b'{"error": {"message": "Unsupported parameter: max_tokens", "code": "unsupported_parameter"}}'
    with model_server(lambda _: Answer(status=400, body=body)) as at:
        _, told = given_up(tmp_path, "openai/m", at.openai, "--max-connections", "1")
        assert "Unsupported parameter: max_tokens" in told and "-M NAME=null" in told
        assert len(at.requests) == 5
