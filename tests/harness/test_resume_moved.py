"""Nothing but the very experiment is resumed: each component that moved is named, alone, and no request is sent."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.links import check_links
from ledger import Ledger
from tests.harness.experiments import Experiment, answering, lines, rewrite
from tests.harness.models import Answer, model_server
from tests.harness.test_run import perfect


@pytest.fixture
def lab(tmp_path: Path) -> Experiment:
    return Experiment(tmp_path)


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after), "utf-8")


def title(lab: Experiment) -> None:
    edit(lab.cases, "# Warehouse labels", "# Depot labels")


def gold(lab: Experiment) -> None:
    rewrite(lab.cases, lambda cases: cases[0]["gold"]["expected"][0].update(type="contradicts"))


def prompt(lab: Experiment) -> None:
    edit(lab.suite / "prompts" / "propose.txt", "Memory:", "The memory:")


def temperature(lab: Experiment) -> None:
    edit(lab.suite / "suite.toml", "temperature = 0", "temperature = 0.7")


def max_tokens(lab: Experiment) -> None:
    edit(lab.suite / "suite.toml", "max_tokens = 1024", "max_tokens = 512")


def rules(lab: Experiment) -> None:
    edit(lab.suite / "rules" / "strict-cite.toml", "min_confidence = 0.60", "min_confidence = 0.10")


def a_case_more(lab: Experiment) -> None:
    rewrite(lab.cases, lambda cases: cases.append({**cases[0], "id": "one-more"}))


def a_case_less(lab: Experiment) -> None:
    rewrite(lab.cases, lambda cases: cases.pop())


def code_that_reads(lab: Experiment) -> None:
    with (lab.copy_source() / "harness" / "parse" / "_scan.py").open("a", encoding="utf-8") as file:
        file.write("\n# another line\n")


def nothing(lab: Experiment) -> None:
    pass


FIRST = "/gold/expected/0/type"


@pytest.mark.parametrize(
    ("change", "flags", "component", "paths"),
    [
        (title, (), "input", ["/input/text"]),
        (gold, (), "gold", [FIRST]),
        (prompt, (), "prompt", []),
        (nothing, ("--engine", "ollama/other"), "model", []),
        (nothing, ("--base-url", "http://127.0.0.1:9"), "endpoint", []),
        (temperature, (), "temperature", []),
        (nothing, ("--temperature", "0.5"), "temperature", []),
        (nothing, ("--temperature", "0"), "temperature", []),
        (nothing, ("--seed", "7"), "seed", []),
        (max_tokens, (), "max_tokens", []),
        (nothing, ("-M", 'stop=["END"]'), "stop", []),
        (nothing, ("--stream",), "stream", []),
        (rules, (), "rules", []),
        (nothing, ("--rules", "strict-cite"), "rules", []),
        (nothing, ("--arm", "with-notes"), "arm", []),
        (a_case_more, (), "case", []),
        (a_case_less, (), "case", []),
    ],
)
def test_one_component_that_moved_is_named_alone_and_nothing_is_sent_or_written(
    change: Callable[[Experiment], None], flags: tuple[str, ...], component: str, paths: list[str], lab: Experiment
) -> None:
    answer = answering(3)
    with model_server(answer) as server:
        lab.run(server, expect=3)
        before, asked = lab.events(), len(server.requests)
        answer.left[0] = 1000
        change(lab)
        refused = lab.resume(*flags, expect=4)
        assert len(server.requests) == asked
    assert lab.events() == before
    (moved,) = refused["refused"]
    assert moved["component"] == component
    assert moved["before"] != moved["after"]
    assert moved["paths"] == paths
    assert f"{component} " in refused["errors"] or f" {component} " in refused["errors"]
    if len(moved["before"]) == 64:
        assert f"from {moved['before'][:12]} to {moved['after'][:12]}" in refused["errors"]


def test_key_order_and_white_space_in_a_case_file_resume_without_a_word(lab: Experiment) -> None:
    answer = answering(3)
    with model_server(answer) as server:
        lab.run(server, expect=3)
        answer.left[0] = 1000

        def turn(cases: list[Any]) -> None:
            cases[:] = [dict(reversed(case.items())) for case in cases]
            for case in cases:
                case["gold"] = dict(reversed(case["gold"].items()))

        rewrite(lab.cases, turn, separators=(" ,  ", " :\t"))
        lab.cases.write_text("\n" + lab.cases.read_text("utf-8"), "utf-8")
        done = lab.resume()
        assert len(server.requests) == 6 + 3
    assert (done["status"], done["asked"], done["notes"]) == ("complete", 3, [])


def test_one_and_one_point_nought_in_a_gold_are_two_golds(lab: Experiment) -> None:
    rewrite(lab.cases, lambda cases: cases[0]["gold"]["reference"][0].update(weight=1))
    with model_server(answering(3)) as server:
        lab.run(server, expect=3)
        rewrite(lab.cases, lambda cases: cases[0]["gold"]["reference"][0].update(weight=1.0))
        (moved,) = lab.resume(expect=4)["refused"]
    assert (moved["component"], moved["paths"]) == ("gold", ["/gold/reference/0/weight"])


def test_the_composed_and_the_decomposed_form_of_a_letter_are_two_inputs(lab: Experiment) -> None:
    edit(lab.cases, "# Warehouse labels", "# Entrepôt labels")
    with model_server(answering(3)) as server:
        lab.run(server, expect=3)
        lab.cases.write_text(unicodedata.normalize("NFD", lab.cases.read_text("utf-8")), "utf-8")
        (moved,) = lab.resume(expect=4)["refused"]
    assert (moved["component"], moved["paths"]) == ("input", ["/input/text"])


def test_another_spelling_of_a_parameters_number_is_named(lab: Experiment) -> None:
    with model_server(answering(3)) as server:
        lab.run(server, "-M", "top_p=1", expect=3)
        (moved,) = lab.resume("-M", "top_p=1.0", expect=4)["refused"]
    assert (moved["component"], moved["before"], moved["after"]) == ("top_p", "1", "1.0")


def test_a_float_given_on_the_command_line_resumes_as_the_same_float(lab: Experiment) -> None:
    answer = answering(3)
    with model_server(answer) as server:
        lab.run(server, "--temperature", "1", "-M", "top_p=1.0", expect=3)
        answer.left[0] = 1000
        assert lab.resume()["status"] == "complete"
        bodies = {json.dumps(json.loads(body)["options"]) for _, body in server.requests}
    assert bodies == {json.dumps({"num_predict": 1024, "temperature": 1.0, "top_p": 1.0})}


@pytest.mark.parametrize("name", ["gold", "input", "prompt", "model", "temperature", "rules"])
def test_what_makes_another_experiment_cannot_be_accepted_away(name: str, lab: Experiment) -> None:
    with model_server(answering(3)) as server:
        lab.run(server, expect=3)
        gold(lab)
        before = lab.events()
        errors = lab.resume("--accept", name, "--reason", "because", expect=4)["errors"]
        assert len(server.requests) == 6
    assert "new run" in errors
    assert lab.events() == before


def test_an_accepted_component_beside_one_that_can_not_be_is_not_accepted_either(lab: Experiment) -> None:
    with model_server(answering(3)) as server:
        lab.run(server, expect=3)
        gold(lab)
        before = lab.events()
        moved = lab.resume("--base-url", "http://127.0.0.1:9", "--accept", "endpoint", "--reason", "x", expect=4)
    assert [each["component"] for each in moved["refused"]] == ["gold"]
    assert lab.events() == before


def test_an_accept_needs_a_reason_and_a_known_name(lab: Experiment) -> None:
    with model_server(answering(3)) as server:
        lab.run(server, expect=3)
        assert "--reason" in lab.resume("--accept", "endpoint", expect=2)["errors"]
        assert "endpoint or code" in lab.resume("--accept", "weather", "--reason", "x", expect=2)["errors"]


def test_a_server_at_a_new_address_is_refused_until_it_is_accepted_and_the_report_shows_it(lab: Experiment) -> None:
    with model_server(answering(3)) as server:
        run = lab.run(server, expect=3)["run"]
        old = server.url
    answer = answering(2)
    with model_server(answer) as server:
        lab.resume("--base-url", server.url, expect=4)
        assert server.requests == []
        lab.resume("--base-url", server.url, "--accept", "endpoint", "--reason", "it was restarted", expect=3)
        assert len(server.requests) == 3
        answer.left[0] = 1000
        # Accepted once, it is the run's address from here on.
        assert lab.resume()["status"] == "complete"
        assert len(server.requests) == 4
        new = server.url
    (accept,) = lab.bodies("accept")
    assert (accept["component"], accept["before"], accept["after"], accept["reason"]) == (
        "endpoint", old, new, "it was restarted",
    )  # fmt: skip
    assert lab.rows("SELECT run FROM events WHERE kind = 'accept'") == [{"run": run}]
    (told,) = lab.harness("report", run)["accepted"]
    assert (told["component"], told["before"], told["after"], told["reason"]) == (
        "endpoint", old, new, "it was restarted",
    )  # fmt: skip
    assert lab.verified() == "CONSISTENT"


def test_an_address_out_of_the_environment_is_compared_with_the_environment(lab: Experiment) -> None:
    answer = answering(3)
    with model_server(answer) as server:
        lab.environ["OLLAMA_HOST"] = server.url
        lab.harness("run", "authority/v0", "--engine", "ollama/m", "--max-retries", "0", expect=3)
        lab.environ["OLLAMA_HOST"] = "http://127.0.0.1:9"
        (moved,) = lab.resume(expect=4)["refused"]
        assert (moved["component"], moved["before"], moved["accept"]) == ("endpoint", server.url, "endpoint")


def test_code_that_comes_to_the_same_of_what_is_recorded_goes_on_and_the_run_notes_it(lab: Experiment) -> None:
    answer = answering(3)
    with model_server(answer) as server:
        lab.run(server, expect=3)
        answer.left[0] = 1000
        code_that_reads(lab)
        done = lab.resume()
        assert len(server.requests) == 6 + 3
    count = done["notes"][0].partition("code moved; ")[2].partition(" of ")[0]
    assert done["notes"] == [f"code moved; {count} of {count} derivations identical"]
    assert (done["status"], lab.bodies("accept")) == ("complete", [])
    assert [body["text"] for body in lab.bodies("note")] == done["notes"]


def test_code_that_reads_is_a_persons_to_accept_where_nothing_is_recorded_to_hold_it_against(lab: Experiment) -> None:
    dying = lab.copy_source() / "harness" / "_session.py"
    whole = dying.read_text("utf-8")
    start = "    def conduct(self) -> Finished:\n"
    assert start in whole
    with model_server(answering(1000)) as server:
        dying.write_text(whole.replace(start, f"{start}        __import__('os')._exit(9)\n"), "utf-8")
        lab.start("harness", "run", "authority/v0", "--engine", "ollama/m", "--base-url", server.url).communicate()
        dying.write_text(whole, "utf-8")
        (lab.source / "harness" / "parse" / "_scan.py").open("a", encoding="utf-8").write("\n# another line\n")  # type: ignore[operator]
        before = lab.events()
        (moved,) = lab.resume(expect=4)["refused"]
        assert (moved["component"], moved["paths"], moved["accept"]) == ("code", ["harness.parse._scan"], "code")
        assert (lab.events(), len(server.requests)) == (before, 0)
        assert lab.resume("--accept", "code", "--reason", "hotfix 6")["status"] == "complete"


def test_code_that_would_ask_for_something_else_is_refused_and_no_word_of_a_person_helps(lab: Experiment) -> None:
    answer = answering(3)
    with model_server(answer) as server:
        lab.run(server, expect=3)
        answer.left[0] = 1000
        edit(lab.copy_source() / "harness" / "engines" / "_bodies.py", '"num_predict"', '"num_ctx"')
        before = lab.events()
        for flags in ((), ("--accept", "code", "--reason", "all the same")):
            (moved,) = lab.resume(*flags, expect=4)["refused"]
            assert (moved["component"], moved["accept"]) == ("code", "")
            assert "asks cells 1, 2, 3, 4, 5, 6 for something else" in moved["where"]
        assert (lab.events(), len(server.requests)) == (before, 6)


def test_a_resume_is_written_down_with_its_options_before_anything_that_follows_from_it(lab: Experiment) -> None:
    answer = answering(2)
    with model_server(answer) as server:
        run = lab.run(server, expect=3)["run"]
        (close,) = lab.bodies("close")
        held = lab.rows("SELECT max(seq) AS last FROM events")[0]["last"]
        answer.left[0] = 1000
        lab.resume("--retry-outcomes", "truncated", "--accept", "code", "--reason", "a look")
    since = lab.rows("SELECT seq, kind, run, cell, causes, body FROM events WHERE seq > ? ORDER BY seq", held)
    looked = [row["seq"] for row in since if row["kind"] == "lookup"]
    first = since[len(looked)]
    (plan,) = lab.bodies("plan")
    assert (first["kind"], first["run"], first["cell"]) == ("resume", run, 0)
    assert json.loads(first["causes"]) == [plan["seq"], close["seq"], *looked]
    body = json.loads(first["body"])
    assert (body["retry"], body["accept"], body["reason"]) == (["truncated"], [], "a look"), "code had not moved"
    assert lab.verified() == "CONSISTENT"


def test_a_hotfix_that_reads_the_recorded_replies_to_the_same_end_passes_when_accepted(lab: Experiment) -> None:
    answer = answering(3)
    with model_server(answer) as server:
        done = lab.run(server, expect=3)
        answer.left[0] = 2
        code_that_reads(lab)
        lab.resume("--accept", "code", "--reason", "hotfix 7", expect=3)
        answer.left[0] = 1000
        again = lab.resume()
    assert again["status"] == "complete"
    assert set(again["outcomes"]) == set(done["outcomes"])
    assert [body["component"] for body in lab.bodies("accept")] == ["code"]


def test_a_hotfix_that_reads_the_recorded_replies_otherwise_is_not_comparable_even_when_accepted(
    lab: Experiment,
) -> None:
    answer = answering(3)
    with model_server(answer) as server:
        lab.run(server, expect=3)
        answer.left[0] = 1000
        edit(lab.copy_source() / "harness" / "suites" / "authority" / "_score.py", "def score(", "def old_score(")
        with (lab.source / "harness" / "suites" / "authority" / "_score.py").open("a", encoding="utf-8") as file:  # type: ignore[operator]
            file.write(
                "\n\ndef score(value, confirmed, gold, rules):\n    found = old_score(value, confirmed, gold, rules)\n"
                "    return Scored('incorrect', found.value, dict.fromkeys(found.metrics, 0))\n"
            )
        before = lab.events()
        refused = lab.resume("--accept", "code", "--reason", "hotfix 8", expect=4)
        assert len(server.requests) == 6
    assert "NOT COMPARABLE" in refused["errors"]
    assert "harness.suites.authority._score" in refused["errors"]
    assert lab.events() == before


def test_other_weights_under_the_same_name_are_another_model(lab: Experiment) -> None:
    answer = answering(3)
    told = {"digest": "a" * 64, "version": "0.5.1"}

    def tags(path: str) -> Any:
        if path == "/api/tags":
            return {"models": [{"name": "m:latest", "model": "m:latest", "digest": told["digest"]}]}
        return {"version": told["version"]}

    with model_server(answer, tell=tags) as server:
        lab.run(server, expect=3)
        (plan,) = lab.bodies("plan")
        assert plan["candidates"][0]["server"] == {"weights": "a" * 64, "version": "0.5.1"}
        with Ledger.open(lab.db, read_only=True) as ledger:
            asked = list(ledger.events(kind="lookup"))
            (planned,) = ledger.events(kind="plan")
            assert set(planned.causes) > {each.seq for each in asked} and len(asked) == 2
            assert b"a" * 64 in ledger.blob(asked[0].seq, "body")
        before = lab.rows("SELECT kind FROM events ORDER BY seq")
        told["digest"] = "b" * 64
        (moved,) = lab.resume(expect=4)["refused"]
        assert (moved["component"], moved["before"], moved["after"]) == ("model", "a" * 64, "b" * 64)
        after = lab.rows("SELECT kind FROM events ORDER BY seq")
        since = [each["kind"] for each in after[len(before) :]]
        assert since == ["lookup", "lookup"], "what it told is on record, and nothing else"
        told.update(digest="a" * 64, version="0.6.0")
        (moved,) = lab.resume(expect=4)["refused"]
        assert (moved["component"], moved["accept"]) == ("endpoint", "endpoint")
        answer.left[0] = 1000
        assert lab.resume("--accept", "endpoint", "--reason", "upgraded")["status"] == "complete"
        with Ledger.open(lab.db, read_only=True) as ledger:
            (resumed,) = ledger.events(kind="resume")
            assert set(resumed.causes) > {each.seq for each in list(ledger.events(kind="lookup"))[-2:]}
            (run,) = (event.run for event in ledger.events(kind="plan"))
            assert check_links(ledger, run).broken == ()
        before = lab.events()
        assert lab.resume()["asked"] == 0
        assert lab.events() == before, "with nothing to do, no server is asked"


def test_a_name_that_resolves_to_another_model_is_noticed_at_the_first_answer(lab: Experiment) -> None:
    answer = answering(2)

    def renamed(prompt: str) -> Answer:
        said = answer(prompt)
        if said.status != 200 or not moved:
            return said
        body = {"model": "m-2027", "message": {"role": "assistant", "content": perfect(prompt)}, "done": True,
                "done_reason": "stop"}  # fmt: skip
        return Answer(body=json.dumps(body).encode())

    moved: list[bool] = []
    with model_server(renamed) as server:
        lab.run(server, expect=3)
        answer.left[0] = 1000
        moved.append(True)
        done = lab.resume(expect=3)
        assert len(server.requests) == 6 + 1
    assert (done["status"], done["asked"]) == ("incomplete", 1)
    assert "m-2027" in done["errors"]
    assert "m-2027" in lab.bodies("close")[-1]["reason"]


def test_a_fixture_beside_the_runs_own_may_come_and_go(lab: Experiment) -> None:
    answer = answering(3)
    with model_server(answer) as server:
        lab.run(server, expect=3)
        answer.left[0] = 1000
        (lab.suite / "v9").mkdir()
        (lab.suite / "v9" / "cases.jsonl").write_text("not a case\n", "utf-8")
        assert lab.resume()["status"] == "complete"


def test_lines_in_another_order_are_the_same_cases(lab: Experiment) -> None:
    answer = answering(3)
    with model_server(answer) as server:
        lab.run(server, expect=3)
        rewrite(lab.cases, lambda cases: cases.reverse())
        answer.left[0] = 1000
        assert lab.resume()["status"] == "complete"
    assert len({body["case"] for body in lab.bodies("cell")}) == len(lines(lab.cases)) == 6
