"""A figure says how its answers came about: who answered, and what was asked again; wherever it is shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from ledger import Ledger
from ledger.bundle import check_bundle
from ledger.bundle._make import Wanted, make_bundle, words_of
from ledger.tree import SigningKey
from tests.harness.experiments import NO_ANSWER, Experiment
from tests.harness.models import Answer, ModelServer, envelope, model_server
from tests.harness.test_run import perfect
from tests.ledger.bundle.bundled import checkpointed
from tests.ledger.bundle.edited import Parts

TWO_BUILDS = "answered by 2 system fingerprints: fp_a (3), fp_b (3)"
AGAIN = "1 of 6 were asked again"


@pytest.fixture
def lab(tmp_path: Path) -> Experiment:
    return Experiment(tmp_path)


def telling(*told: dict[str, Any]) -> Callable[[str], Answer]:
    """Right answers, each reply with the next of these fields in its envelope."""
    turn = cycle(told)
    return lambda prompt: reply(perfect(prompt), **next(turn))


def reply(text: str, **fields: Any) -> Answer:
    return Answer(body=json.dumps({**json.loads(envelope("/chat/completions", text)), **fields}).encode())


def refusal() -> Answer:
    body = json.loads(envelope("/chat/completions", "I would rather not."))
    body["choices"][0]["finish_reason"] = "content_filter"
    return Answer(body=json.dumps(body).encode())


def in_turn(*answers: Callable[[str], Answer]) -> Callable[[str], Answer]:
    """One answer after the other, the last for all that follow."""
    waiting = list(answers)
    return lambda prompt: (waiting.pop(0) if len(waiting) > 1 else waiting[0])(prompt)


def right(prompt: str) -> Answer:
    return Answer(perfect(prompt))


def wrong(prompt: str) -> Answer:
    return Answer(json.dumps({"proposals": []}))


def refused(prompt: str) -> Answer:
    return refusal()


def no_answer(prompt: str) -> Answer:
    return NO_ANSWER


def asked(lab: Experiment, server: ModelServer, *arguments: str, expect: int = 0) -> Any:
    return lab.harness(
        "run", "authority/v0", "--engine", "openai/m", "--base-url", server.openai, "--max-retries", "0",
        "--max-connections", "1", *arguments, expect=expect,
    )  # fmt: skip


def marks(lab: Experiment, run: str) -> set[str]:
    return {row["marks"] for row in lab.rows("SELECT marks FROM scoreboard WHERE run = ?", run)}


def shown(lab: Experiment, *arguments: str, expect: int = 0) -> str:
    process = lab.start("harness", *arguments)
    out, errors = process.communicate(timeout=120)
    assert process.returncode == expect, out + errors
    return " ".join((out + errors).split())


def test_a_run_that_two_builds_answered_says_so_beside_every_figure(lab: Experiment) -> None:
    with model_server(telling({"system_fingerprint": "fp_a"}, {"system_fingerprint": "fp_b"})) as server:
        mixed = asked(lab, server)["run"]
    with model_server(telling({"system_fingerprint": "fp_a"})) as server:
        plain = asked(lab, server)["run"]
    assert (marks(lab, mixed), marks(lab, plain)) == ({TWO_BUILDS}, {""})
    report = lab.harness("report", mixed)
    assert {(row["marks"], row["mixed"]) for row in report["scoreboard"]} == {(TWO_BUILDS, True)}
    assert {"candidate": "openai/m", "what": "fingerprint", "name": "fp_a", "cells": 3} in report["served"]
    assert TWO_BUILDS in shown(lab, "report", mixed) and "fingerprints" not in shown(lab, "report", plain)
    one = "Answered, as the replies tell it: openai/m by model scripted-1, system fingerprint fp_a."
    assert one in shown(lab, "report", plain) and "Answered, as" not in shown(lab, "report", mixed)
    compared = lab.harness("compare", mixed, plain)["comparisons"][0]
    assert {(each["a"]["marks"], each["b"]["marks"]) for each in compared["metrics"]} == {(TWO_BUILDS, "")}
    assert f"A: openai/m: {TWO_BUILDS}" in compared["warnings"]
    assert "(more than one server)" in shown(lab, "compare", mixed, plain)
    gate = lab.harness("gate", mixed, "--against", plain, "--margin", "99pp")
    assert all("(more than one server)" in each["run"] for each in gate["results"])
    (event,) = lab.bodies("gate")
    assert {(each["marks"], each["against_marks"]) for each in event["results"]} == {(TWO_BUILDS, "")}
    assert lab.verified() == "CONSISTENT"


def test_a_report_file_keeps_the_mark_and_one_without_it_is_found_out(lab: Experiment) -> None:
    with model_server(telling({"provider": "Aurora"}, {"provider": "Boreas"})) as server:
        run = asked(lab, server)["run"]
    lab.harness("report", run, "-o", "report.md")
    path = lab.folder / "report.md"
    text, said = path.read_text("utf-8"), "answered by 2 providers: Aurora (3), Boreas (3)"
    assert said in text
    assert said in shown(lab, "check", "report.md")
    path.write_text(text.replace(said, ""), "utf-8")
    lab.harness("check", "report.md", expect=1)


def test_a_mixed_run_is_split_by_who_answered(lab: Experiment) -> None:
    with model_server(telling({"system_fingerprint": "fp_a"}, {"system_fingerprint": "fp_b"})) as server:
        runs = [asked(lab, server)["run"] for _ in range(2)]
    groups = lab.harness("report", runs[0], "--by", "served")["groups"]
    assert [each["group"] for each in groups["groups"]] == ["scripted-1, fp_a", "scripted-1, fp_b"]
    whole = lab.harness("report", runs[0])["scoreboard"]
    for row in whole:
        parts = [each for each in groups["rows"] if (each["rules"], each["metric"]) == (row["rules"], row["metric"])]
        assert (sum(each["n"] for each in parts), sum(each["planned"] for each in parts)) == (row["n"], row["planned"])
        assert {each["marks"] for each in parts} == {""}
    assert [each["group"] for each in lab.harness("report", runs[0], "--by", "tools")["groups"]["groups"]] == ["none"]
    compared = lab.harness("compare", *runs, "--by", "served")["comparisons"][0]
    assert [(each["group"], each["cases"]) for each in compared["groups"]] == [
        ("scripted-1, fp_a", 3), ("scripted-1, fp_b", 3)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (({"system_fingerprint": "fp_a"}, {"system_fingerprint": None}, {}), ""),
        (({"model": "m-2026-01-01"}, {"model": "m-2026-06-01"}),
         "answered by 2 models: m-2026-01-01 (3), m-2026-06-01 (3)"),
    ],
)  # fmt: skip
def test_what_is_not_told_is_no_other_server_and_an_alias_of_two_models_is(
    told: tuple[dict[str, Any], ...], says: str, lab: Experiment
) -> None:
    with model_server(telling(*told)) as server:
        assert marks(lab, asked(lab, server)["run"]) == {says}


def test_a_reroll_is_told_before_it_is_sent_and_marked_on_every_figure(lab: Experiment) -> None:
    with model_server(in_turn(refused, right)) as server:
        run = asked(lab, server)["run"]
        before = len(server.requests)
        assert lab.resume(run)["asked"] == 0 and len(server.requests) == before
        assert marks(lab, run) == {""}
        done = lab.resume(run, "--retry-outcomes", "refused")
        assert len(server.requests) == before + 1
    assert "keeps 5 answers: correct 5; asks 1, 1 of them although they had an answer (refused 1)" in done["errors"]
    assert (done["keeps"], done["asks"], done["asks_again"]) == ({"correct": 5}, 1, {"refused": 1})
    assert marks(lab, run) == {AGAIN}
    assert {row["marks"] for row in lab.harness("report", run)["scoreboard"]} == {AGAIN}
    assert AGAIN in shown(lab, "report", run)
    assert lab.verified() == "CONSISTENT"


def test_a_wrong_answer_can_be_asked_again_and_then_it_is_said(lab: Experiment) -> None:
    with model_server(in_turn(wrong, right)) as server:
        run = asked(lab, server)["run"]
        done = lab.resume(run, "--retry-outcomes", "wrong")
    assert (done["asks_again"], marks(lab, run)) == ({"incorrect": 1}, {AGAIN})
    assert "every link holds" in lab.ledger("verify", "--deep")
    lab.resume(run, "--retry-outcomes", "refusd", expect=2)


def test_a_cell_asked_again_after_a_fault_of_transport_is_no_reroll(lab: Experiment) -> None:
    with model_server(in_turn(no_answer, right)) as server:
        run = asked(lab, server, expect=3)["run"]
        assert lab.resume(run)["asked"] == 1
        later = asked(lab, server, "--reuse")["run"]
    assert marks(lab, run) == marks(lab, later) == {""}


def test_by_default_every_answer_is_taken_over_and_told_by_outcome_before_anything_is_sent(lab: Experiment) -> None:
    with model_server(in_turn(refused, wrong, no_answer, right)) as server:
        asked(lab, server, expect=3)
        before = len(server.requests)
        says = "takes over 5 answers: correct 3, wrong 1, refused 1; asks 1"
        counts = {"correct": 3, "incorrect": 1, "refused": 1}
        dry = asked(lab, server, "--reuse", "--dry-run")
        assert says in dry["errors"] and len(server.requests) == before
        assert (dry["calls"], dry["takes_over"]["answers"], dry["takes_over"]["asks"]) == (1, 5, 1)
        done = asked(lab, server, "--reuse")
        assert says in done["errors"] and len(server.requests) == before + 1
    assert all(each == counts for each in done["takes_over"]["outcomes"].values())
    assert marks(lab, done["run"]) == {""}


def test_whoever_chooses_by_outcome_what_to_take_over_is_marked_and_so_is_who_takes_over_from_them(
    lab: Experiment,
) -> None:
    with model_server(in_turn(wrong, right)) as server:
        asked(lab, server)
        chosen = asked(lab, server, "--reuse-outcomes", "correct")
        later = asked(lab, server, "--reuse")
    assert (
        "takes over 5 answers: correct 5; asks 1, 1 of them although they had an answer (wrong 1)" in chosen["errors"]
    )
    assert (chosen["reused"], chosen["asked"], chosen["takes_over"]["asks_again"]) == (5, 1, {"incorrect": 1})
    assert (later["reused"], later["asked"]) == (6, 0)
    assert (marks(lab, chosen["run"]), marks(lab, later["run"])) == ({AGAIN}, {AGAIN})
    assert "every link holds" in lab.ledger("verify", "--deep")


def test_a_later_run_that_takes_over_a_rerolled_answer_keeps_the_mark(lab: Experiment) -> None:
    with model_server(in_turn(refused, right)) as server:
        run = asked(lab, server)["run"]
        early = asked(lab, server, "--reuse")["run"]
        lab.resume(run, "--retry-outcomes", "refused")
        # Of the two answers to the first case, the newest run's own is the refusal that it took over.
        assert marks(lab, early) == {""}
        lab.ledger("supersede", early, "--no-successor", "--category", "operator", "--reason", "an early copy")
        later = asked(lab, server, "--reuse")["run"]
    assert marks(lab, later) == {AGAIN}


def test_a_figure_that_is_cited_has_its_mark_and_so_has_its_check(lab: Experiment) -> None:
    with model_server(in_turn(refused, right)) as server:
        run = asked(lab, server)["run"]
        plain = lab.bodies("tally")[-1]["seq"]
        lab.resume(run, "--retry-outcomes", "refused")
    with model_server(right) as server:
        other = asked(lab, server)["run"]
    tallies = [row["seq"] for row in lab.rows("SELECT seq FROM events WHERE kind = 'tally' AND run = ?", run)]
    marked = [{"candidate": "openai/m", "marks": AGAIN}]
    for where in (f"{plain}#/metrics/0/k", str(tallies[-1])):
        made = json.loads(lab.ledger("cite", where, "--json"))
        assert made["marks"] == marked
        assert json.loads(lab.ledger("cite", made["locator"], "--check", "--json"))["marks"] == marked
        said = lab.start("ledger", "cite", where).communicate(timeout=60)
        assert said[0].strip() == made["locator"] and f"How the answers of openai/m came about: {AGAIN}" in said[1]
    (unmarked,) = lab.rows("SELECT max(seq) AS seq FROM events WHERE kind = 'tally' AND run = ?", other)
    assert json.loads(lab.ledger("cite", str(unmarked["seq"]), "--json"))["marks"] == []
    lab.harness("report", run, "-o", "report.md")
    (report,) = lab.rows("SELECT max(seq) AS seq FROM events WHERE kind = 'report'")
    assert json.loads(lab.ledger("cite", f"{report['seq']}#/figures/0/k", "--json"))["marks"] == marked


@pytest.mark.parametrize(("hide", "says"), [("", TWO_BUILDS), ("gold", "answered by more than one server")])
def test_the_readme_of_a_bundle_says_beside_its_claims_how_the_answers_came_about(
    hide: str, says: str, lab: Experiment
) -> None:
    with model_server(telling({"system_fingerprint": "fp_a"}, {"system_fingerprint": "fp_b"})) as server:
        mixed = asked(lab, server)["run"]
    with model_server(telling({"system_fingerprint": "fp_a"})) as server:
        plain = asked(lab, server)["run"]
    with Ledger.open(lab.db, read_only=True) as ledger:
        key = SigningKey.generate(f"{ledger.genesis.origin}/{ledger.genesis.id}")
    checkpointed(lab.db, key)
    for run in (mixed, plain):
        path = lab.folder / f"{run}.zip"
        make_bundle(lab.db, Wanted((run,), hide=words_of(hide)), path)
        assert check_bundle(path, keys=[key.verifier]).exit_status in (0, 3)
        readme = Parts.of(path).members["README.md"].decode()
        line = f"- run `{run}`, `openai/m`: `{says}`"
        assert (line in readme) == (run == mixed)
        assert ("How the answers behind these figures came about" in readme) == (run == mixed)


def test_whoever_looks_at_a_cell_sees_the_partial_text_escaped(lab: Experiment) -> None:
    """A filter's partial text is in no event: `ledger show` reads it out of the bytes that the event rests on."""
    half = json.loads(refusal().body)
    half["choices"][0]["message"]["content"] = "half of it\x1b[31m, and\u202e more"
    with model_server(in_turn(lambda prompt: Answer(body=json.dumps(half).encode()), right)) as server:
        run = asked(lab, server)["run"]
    for kind in ("response", "parse", "score"):
        first, other = (
            row["seq"]
            for row in lab.rows("SELECT min(seq) AS seq FROM events WHERE kind = ? AND run = ? AND cell IN (1, 2)"
                                " GROUP BY cell ORDER BY cell", kind, run)
        )  # fmt: skip
        said = lab.ledger("show", str(first))
        assert "read    partial text, never an answer:" in said
        assert "half of it\\x1b[31m, and\\u202e more" in said and "\x1b" not in said and "\u202e" not in said
        found = json.loads(lab.ledger("show", str(first), "--json"))["read"]
        assert found == [{"what": "partial text, never an answer", "text": "half of it\x1b[31m, and\u202e more"}]
        assert json.loads(lab.ledger("show", str(other), "--json"))["read"] == []
    for kind in ("plan", "genesis", "request", "tally"):
        (row,) = lab.rows("SELECT min(seq) AS seq FROM events WHERE kind = ?", kind)
        assert json.loads(lab.ledger("show", str(row["seq"]), "--json"))["read"] == []


@pytest.mark.parametrize("flags", [("--reuse-outcomes", "corect"), ("--no-reuse", "--reuse-outcomes", "correct")])
def test_a_choice_that_means_nothing_is_refused_before_anything_is_sent(
    flags: tuple[str, ...], lab: Experiment
) -> None:
    with model_server(right) as server:
        asked(lab, server, *flags, expect=2)
        assert server.requests == []
