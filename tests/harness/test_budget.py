"""A budget that a candidate's requests can't keep is said ahead, and is no dead end."""

from __future__ import annotations

import threading
from pathlib import Path

from tests.harness.models import Answer, model_server
from tests.harness.test_run import perfect
from tests.harness.test_spend import experiment


def test_a_candidate_that_a_budget_cannot_bound_is_warned_of_ahead_and_a_resume_gets_past_it(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    warned = "max_tokens=…): under --max-tokens-total a call that breaks off can't be bounded and stops the run"
    quick = threading.Event()
    with model_server(lambda prompt: Answer(perfect(prompt), delay=0.0 if quick.is_set() else 1.5)) as server:
        asked = ["--engine", "openai/b", "--base-url", server.openai, "-M", "max_tokens=null", "--limit", "2"]
        budget = ["--max-tokens-total", "100000"]
        dry = of.harness("run", "authority/v0", *asked, *budget, "--dry-run")
        assert warned in dry["warnings"][0]
        assert of.harness("run", "authority/v0", *asked, "--dry-run")["warnings"] == [], "no budget, no warning"
        bounded = [*asked[:4], "--max-tokens", "50", *budget, "--dry-run"]
        assert of.harness("run", "authority/v0", *bounded)["warnings"] == []
        found = of.harness(
            "run", "authority/v0", *asked, *budget, "--timeout", "0.3", "--max-retries", "0", "--max-connections", "1",
            expect=3,
        )  # fmt: skip
        assert warned in found["errors"]
        assert "`harness resume --max-tokens-total 0` goes on without that limit" in found["errors"]
        quick.set()
        assert of.harness("resume", expect=3)["asked"] == 0
        assert of.harness("resume", "--max-tokens-total", "0")["asked"] == 2


def test_a_request_to_which_the_provider_may_add_text_has_no_bound_and_is_warned_of(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        asked = ["--engine", "openai/b", "--base-url", server.openai, "--limit", "1", "--max-tokens", "50"]
        adds = ["-M", 'search_parameters={"mode": "on"}', "--max-cost", "5"]
        (warning,) = of.harness("run", "authority/v0", *asked, *adds, "--dry-run")["warnings"]
    assert "sets search_parameters, with which the provider may add text of its own" in warning
