"""A saved response is used again only for the very experiment it belongs to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness.experiments import Experiment, answering, rewrite
from tests.harness.models import Answer, ModelServer, model_server
from tests.harness.test_run import perfect


@pytest.fixture
def lab(tmp_path: Path) -> Experiment:
    return Experiment(tmp_path)


def asked_by(lab: Experiment, server: ModelServer, *arguments: str, **how: Any) -> tuple[Any, int]:
    before = len(server.requests)
    return lab.run(server, "--reuse", *arguments, **how), len(server.requests) - before


@pytest.mark.parametrize("engine", ["ollama", "openai", "anthropic"])
def test_the_same_experiment_takes_every_response_over_and_asks_nobody(engine: str, lab: Experiment) -> None:
    with model_server(answering(1000)) as server:
        url = server.openai if engine == "openai" else server.url
        flags = ("run", "authority/v0", "--engine", f"{engine}/m", "--base-url", url)
        first = lab.harness(*flags)
        second = lab.harness(*flags, "--reuse", "--name", "under another name")
        assert len(server.requests) == 6
    assert (second["asked"], second["reused"], second["status"]) == (0, 6, "complete")
    assert lab.scoreboard(second["run"]) == lab.scoreboard(first["run"])
    taken = lab.bodies("reuse")
    responses = {row["seq"]: row["hash"] for row in lab.rows("SELECT seq, hash FROM events WHERE kind = 'response'")}
    assert {body["of"]: body["hash"] for body in taken} == responses
    assert len({body["of"] for body in taken}) == 6
    edges = lab.rows(
        "SELECT reuse.seq FROM events AS reuse JOIN edges ON edges.effect = reuse.seq WHERE reuse.kind = 'reuse'"
        " AND edges.cause = reuse.body ->> '$.of'"
    )
    assert len(edges) == 6
    assert lab.verified() == "CONSISTENT"


def test_when_only_gold_changed_the_responses_are_still_good_and_are_scored_anew(lab: Experiment) -> None:
    with model_server(answering(1000)) as server:
        first = lab.run(server)
        rewrite(lab.cases, lambda cases: cases[0]["gold"]["expected"][0].update(type="contradicts"))
        second, asked = asked_by(lab, server)
    assert (asked, second["reused"]) == (0, 6)
    assert "the gold of 1 of them moved" in second["errors"]
    assert all(counts == {"correct": 6} for counts in first["outcomes"].values())
    assert all(counts == {"correct": 5, "incorrect": 1} for counts in second["outcomes"].values())
    old = lab.rows("SELECT outcome FROM cells WHERE run = ?", first["run"])
    assert {row["outcome"] for row in old} == {"correct"}


def prompt(lab: Experiment) -> None:
    path = lab.suite / "prompts" / "propose.txt"
    path.write_text(path.read_text("utf-8").replace("Memory:", "The memory:"), "utf-8")


def nothing(lab: Experiment) -> None:
    pass


@pytest.mark.parametrize(
    ("change", "flags"),
    [
        (nothing, ("--temperature", "0.5")),
        (nothing, ("--temperature", "0")),
        (nothing, ("--seed", "1")),
        (nothing, ("--max-tokens", "9")),
        (nothing, ("-M", "top_p=0.5")),
        (nothing, ("-M", 'stop=["x"]')),
        (nothing, ("--engine", "ollama/other", "--engine", "ollama/third")),
        (nothing, ("--arm", "with-notes")),
        (prompt, ()),
    ],
)
def test_whatever_decides_the_request_takes_nothing_over_and_the_words_say_so(
    change: Callable[[Experiment], None], flags: tuple[str, ...], lab: Experiment
) -> None:
    with model_server(answering(1000)) as server:
        lab.run(server)
        change(lab)
        more = ("--engine", *flags[1:]) if "--engine" in flags else flags
        before = len(server.requests)
        engines = () if "--engine" in flags else ("--engine", "ollama/m")
        done = lab.harness("run", "authority/v0", *engines, "--base-url", server.url, "--reuse", *more)
        assert done["reused"] == 0
        assert len(server.requests) - before == done["planned"] == done["asked"]
    assert "cells are asked because" in done["errors"]
    assert lab.bodies("reuse") == []


def test_only_the_case_whose_input_moved_is_asked(lab: Experiment) -> None:
    with model_server(answering(1000)) as server:
        lab.run(server)
        text = lab.cases.read_text("utf-8")
        lab.cases.write_text(text.replace("# Warehouse labels", "# Depot labels"), "utf-8")
        done, asked = asked_by(lab, server)
    assert (asked, done["reused"]) == (1, 5)
    assert "1 cells are asked because the input of their case moved" in done["errors"]


def test_a_case_under_another_name_in_another_order_is_the_same_case(lab: Experiment) -> None:
    with model_server(answering(1000)) as server:
        lab.run(server)

        def rename(cases: list[Any]) -> None:
            cases.reverse()
            for number, case in enumerate(cases):
                case["id"] = f"renamed-{number}"

        rewrite(lab.cases, rename)
        (lab.suite / "v0").rename(lab.suite / "v7")
        done, asked = asked_by(lab, server, suite="authority/v7")
    assert (asked, done["reused"]) == (0, 6)


def test_the_same_content_under_two_ids_is_asked_twice_and_each_answer_is_taken_over_once(lab: Experiment) -> None:
    rewrite(lab.cases, lambda cases: cases.append({**cases[0], "id": "twin"}))
    with model_server(answering(1000)) as server:
        lab.run(server)
        assert len(server.requests) == 7
        rewrite(lab.cases, lambda cases: cases.append({**cases[0], "id": "triplet"}))
        done, asked = asked_by(lab, server)
    assert (asked, done["reused"], done["planned"]) == (1, 7, 8)
    assert len({body["of"] for body in lab.bodies("reuse")}) == 7


def test_epochs_are_measurements_of_their_own_and_more_of_them_ask_the_missing_ones(lab: Experiment) -> None:
    with model_server(answering(1000)) as server:
        lab.run(server, "--epochs", "2")
        done, asked = asked_by(lab, server, "--epochs", "3")
    assert (asked, done["reused"]) == (6, 12)


def test_an_error_is_no_answer_and_is_asked_again(lab: Experiment) -> None:
    answer = answering(4)
    with model_server(answer) as server:
        lab.run(server, expect=3)
        answer.left[0] = 1000
        done, asked = asked_by(lab, server)
    assert (asked, done["reused"], done["status"]) == (2, 4, "complete")
    assert "2 cells are asked because no earlier run has an answer for them" in done["errors"]


def test_the_report_shows_reused_apart_from_fresh(lab: Experiment) -> None:
    answer = answering(4)
    with model_server(answer) as server:
        plain = lab.run(server, expect=3)["run"]
        answer.left[0] = 1000
        mixed = asked_by(lab, server)[0]["run"]
    report = lab.harness("report", mixed)
    assert report["answers"] == [{"candidate": "ollama/m", "fresh": 2, "reused": 4}]
    assert lab.harness("report", plain)["answers"] == [{"candidate": "ollama/m", "fresh": 6, "reused": 0}]
    process = lab.start("harness", "report", mixed)
    out, _ = process.communicate(timeout=60)
    assert "REUSED: 4 cells of ollama/m take over responses of earlier runs; 2 were asked in this one" in out


def test_a_limited_run_is_continued_by_a_run_without_the_limit(lab: Experiment) -> None:
    with model_server(answering(1000)) as server:
        lab.run(server, "--limit", "3")
        done, asked = asked_by(lab, server)
    assert (asked, done["reused"], done["status"]) == (3, 3, "complete")


@pytest.mark.parametrize(
    "words",
    [
        ("supersede", "{run}", "--no-successor", "--category", "transport", "--reason", "a proxy stood between"),
        ("taint", "{run}", "--reason", "a proxy stood between"),
    ],
)
def test_nothing_comes_out_of_a_superseded_or_tainted_run(words: tuple[str, ...], lab: Experiment) -> None:
    with model_server(answering(1000)) as server:
        run = lab.run(server)["run"]
        again, _ = asked_by(lab, server)
        lab.ledger(*(word.format(run=run) for word in words))
        # The second run holds no response of its own, only what it took from the first.
        done, asked = asked_by(lab, server)
    assert again["reused"] == 6
    assert (asked, done["reused"]) == (6, 0)


def test_another_model_behind_the_same_name_is_not_mixed_in(lab: Experiment) -> None:
    told = {"digest": "a" * 64}

    def tags(path: str) -> Any:
        return {"models": [{"name": "m", "digest": told["digest"]}]} if path == "/api/tags" else {}

    with model_server(answering(1000), tell=tags) as server:
        lab.run(server)
        told["digest"] = "b" * 64
        done, asked = asked_by(lab, server)
    assert (asked, done["reused"]) == (6, 0)
    assert "the weights behind m moved" in done["errors"]


def test_when_the_first_fresh_answer_is_another_models_the_rest_is_not_asked(lab: Experiment) -> None:
    with model_server(answering(1000)) as server:
        lab.run(server, "--limit", "3")

    def renamed(prompt: str) -> Answer:
        body = {"model": "m-2027", "message": {"role": "assistant", "content": perfect(prompt)}, "done": True,
                "done_reason": "stop"}  # fmt: skip
        return Answer(body=json.dumps(body).encode())

    with model_server(renamed) as server:
        done, asked = asked_by(lab, server, expect=3)
    assert (asked, done["reused"], done["status"]) == (1, 3, "incomplete")


def test_a_reusing_run_that_was_killed_is_resumed_with_what_it_took_over(lab: Experiment) -> None:
    answer = answering(3)
    with model_server(answer) as server:
        lab.run(server, "--limit", "3")
        done, asked = asked_by(lab, server, expect=3)
        assert (asked, done["reused"]) == (3, 3)
        answer.left[0] = 1000
        resumed = lab.resume()
    assert (resumed["asked"], resumed["reused"], resumed["status"]) == (3, 3, "complete")


def test_duplicate_case_ids_are_refused_before_the_first_request_naming_both_lines(lab: Experiment) -> None:
    rewrite(lab.cases, lambda cases: cases.append({**cases[1], "id": cases[0]["id"]}))
    with model_server(answering(1000)) as server:
        refused = lab.run(server, expect=2)
        assert server.requests == []
    assert "cases.jsonl:7" in refused["errors"]
    assert "line 1" in refused["errors"]
    assert not lab.db.exists()
