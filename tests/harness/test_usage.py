"""The view `usage`: what each request cost in tokens, as the provider counted them; unknown is NULL, never 0."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.harness.models import Answer, ModelServer, model_server
from tests.harness.test_run import harness, perfect, rows

COLUMNS = "http_status, counted, input_tokens, cached_tokens, cache_write_tokens, output_tokens"


def run(db: Path, server: ModelServer, *arguments: str, engine: str = "openai", expect: int = 0) -> list[Any]:
    """The distinct rows of one run's usage, with how many requests there are of each."""
    url = server.openai if engine == "openai" else server.url
    harness(
        "run", "authority/v0", "--engine", f"{engine}/m", "--base-url", url, "--limit", "3", "--max-retries", "0",
        *arguments, "--db", str(db), expect=expect,
    )  # fmt: skip
    found = rows(db, f"SELECT {COLUMNS} FROM usage")
    assert {row["candidate"] for row in rows(db, "SELECT candidate FROM usage")} == {f"{engine}/m"}
    return sorted(Counter(tuple(row.values()) for row in found).items())


def reply(usage: dict[str, Any]) -> Answer:
    message = {"role": "assistant", "content": '{"proposals": []}'}
    body = {"model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": usage}
    return Answer(body=json.dumps(body).encode())


@pytest.mark.parametrize("engine", ["openai", "anthropic", "ollama"])
def test_each_protocol_s_own_count_stands_there_once_a_request_whatever_the_number_of_rule_sets(
    engine: str, tmp_path: Path
) -> None:
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        assert run(tmp_path / "l.db", server, engine=engine) == [((200, "counted", 7, 0, 0, 5), 3)]


def test_what_came_out_of_a_cache_is_no_part_of_the_input_in_any_protocol(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 60}}
    with model_server(lambda prompt: reply(usage)) as server:
        assert run(tmp_path / "openai.db", server) == [((200, "counted", 40, 60, 0, 9), 3)]
    counts = {"input_tokens": 40, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 5, "output_tokens": 9}
    body = {
        "id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "{}"}], "usage": counts,
    }  # fmt: skip
    with model_server(lambda prompt: Answer(body=json.dumps(body).encode())) as server:
        found = run(tmp_path / "anthropic.db", server, engine="anthropic")
    assert found == [((200, "counted", 40, 60, 5, 9), 3)]


@pytest.mark.parametrize(
    "usage",
    [{}, {"prompt_tokens": 5}, {"completion_tokens": 5},
     {"prompt_tokens": 5, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 6}}],
)  # fmt: skip
def test_a_count_that_is_missing_or_makes_no_sense_is_unknown_and_not_0(usage: dict[str, Any], tmp_path: Path) -> None:
    with model_server(lambda prompt: reply(usage)) as server:
        assert run(tmp_path / "l.db", server) == [((200, "unknown", None, None, None, None), 3)]


def test_an_error_status_is_refused_a_cut_reply_is_unknown_and_no_connection_is_unsent(tmp_path: Path) -> None:
    with model_server(lambda prompt: Answer(status=500, body=b'{"error": {"message": "down"}}')) as server:
        assert run(tmp_path / "down.db", server, expect=3) == [((500, "refused", None, None, None, None), 3)]
    with model_server(lambda prompt: Answer(perfect(prompt), delay=2)) as server:
        found = run(tmp_path / "late.db", server, "--timeout", "0.3", expect=3)
    assert found == [((None, "unknown", None, None, None, None), 3)]
    found = run(tmp_path / "gone.db", ModelServer(9), expect=3)
    assert found == [((None, "unsent", None, None, None, None), 3)]


def test_a_truncated_reply_is_paid_for_like_any_other(tmp_path: Path) -> None:
    message = {"role": "assistant", "content": '{"propo'}
    body = {
        "model": "m", "choices": [{"index": 0, "finish_reason": "length", "message": message}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 1024},
    }  # fmt: skip
    with model_server(lambda prompt: Answer(body=json.dumps(body).encode())) as server:
        assert run(tmp_path / "l.db", server) == [((200, "counted", 7, 0, 0, 1024), 3)]
