"""Budgets where a reply's counts don't tell what it cost: a real server, and each dialect's way of leaving it open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.experiments import Experiment
from tests.harness.models import Answer, ModelServer, model_server
from tests.harness.parse.wires import sse
from tests.harness.test_run import perfect
from tests.harness.test_spend import spend

PRICES = "".join(
    f'["{name}/m"]\ninput = "1"\ncached = "0.1"\noutput = "10"\ncurrency = "USD"\nas_of = "2026-11-30"\n'
    for name in ("xai", "gemini", "anthropic")
)


@pytest.fixture
def of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    for name in ("XAI", "GEMINI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_API_KEY", "k")
    made = Experiment(tmp_path / "here")
    (made.folder / "prices.toml").write_text(PRICES)
    return made


def asked(of: Experiment, server: ModelServer, engine: str, *arguments: str, expect: int = 0) -> Any:
    url = server.url if engine == "anthropic" else server.openai
    return of.harness(
        "run", "authority/v0", "--engine", f"{engine}/m", "--base-url", url, "--limit", "3", "--max-connections", "1",
        "--max-retries", "0", *arguments, expect=expect,
    )  # fmt: skip


def answer(prompt: str, **usage: Any) -> Answer:
    message = {"role": "assistant", "content": perfect(prompt)}
    body = {"model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": usage}
    return Answer(body=json.dumps(body).encode())


def thought(prompt: str) -> Answer:
    details = {"reasoning_tokens": 1000}
    return answer(prompt, prompt_tokens=100, completion_tokens=10, total_tokens=1110, completion_tokens_details=details)


def thought_in_silence(prompt: str) -> Answer:
    return answer(prompt, prompt_tokens=100, completion_tokens=10, total_tokens=1110)


def searched(prompt: str) -> Answer:
    return answer(prompt, prompt_tokens=100, completion_tokens=10, total_tokens=110, num_sources_used=4)


def broken_off(prompt: str) -> Answer:
    usage = {"input_tokens": 25, "output_tokens": 1}
    opened = {"type": "message_start", "message": {"type": "message", "model": "m", "content": [], "usage": usage}}
    text = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "A beginning"}}
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    headers = (("Content-Type", "text/event-stream"),)
    return Answer(body=sse(opened, text, error, done=False), headers=headers)


def test_reasoning_beside_the_answer_is_paid_for_and_counts_against_a_budget(of: Experiment) -> None:
    with model_server(thought) as server:
        found = asked(of, server, "xai", "--max-cost", "0.015", expect=3)
        assert len(server.requests) == 2 and "--max-cost 0.015 USD is reached: 0.0204 USD spent" in found["errors"]
    (row,) = spend(of)["candidates"]
    assert (row["output_tokens"], row["cost"], row["unknown"]) == (2020, "0.0204", 0)


@pytest.mark.parametrize("budget", [("--max-cost", "5"), ("--max-tokens-total", "1000000")], ids=lambda each: each[0])
def test_a_total_above_its_parts_stops_every_budget_at_once_and_is_no_low_figure(
    of: Experiment, budget: tuple[str, str]
) -> None:
    with model_server(thought_in_silence) as server:
        found = asked(of, server, "gemini", *budget, expect=3)
        assert len(server.requests) == 1
    assert "a reply of gemini/m tells no tokens, or counts that don't add up" in found["errors"]
    assert f"{budget[0]} can't be kept" in found["errors"]
    (row,) = spend(of)["candidates"]
    assert (row["cost"], row["uncounted"], row["output_tokens"]) == (None, 1, 0)


def test_what_is_charged_apart_stops_a_budget_of_money_and_not_one_of_tokens(of: Experiment) -> None:
    with model_server(searched) as server:
        found = asked(of, server, "xai", "--max-cost", "5", expect=3)
        assert len(server.requests) == 1 and "a sort that the price list doesn't price" in found["errors"]
        asked(of, server, "xai", "--max-tokens-total", "1000000")
        assert len(server.requests) == 4
    (row,) = spend(of)["candidates"]
    assert (row["cost"], row["unpriced"], row["input_tokens"], row["output_tokens"]) == (None, 3, 300, 30)


def test_a_stream_that_broke_off_counts_as_the_most_it_can_have_cost_and_a_resume_says_the_same(of: Experiment) -> None:
    with model_server(broken_off) as server:
        flags = ("--stream", "--max-tokens", "1000", "--max-cost", "0.015")
        found = asked(of, server, "anthropic", *flags, expect=3)
        assert len(server.requests) == 2 and "of it at most, by calls that nobody counted" in found["errors"]
        again = of.harness("resume", expect=3)
        assert again["asked"] == 0 and "of it at most, by calls that nobody counted" in again["errors"]
    (row,) = spend(of)["candidates"]
    assert (row["requests"], row["uncounted"], row["output_tokens"], row["cost"]) == (2, 2, 0, None)
