"""Code that moved under an unchanged rule file: compared by what it derives from the recorded bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.experiments import Experiment
from tests.harness.models import Answer, ModelServer, model_server
from tests.harness.test_run import perfect

GATE = 'if proposal["confidence"] < rules["min_confidence"]:'


@pytest.fixture
def lab(tmp_path: Path) -> Experiment:
    made = Experiment(tmp_path / "lab")
    made.copy_source()
    return made


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server(lambda prompt: Answer(perfect(prompt))) as made:
        yield made


def edit(lab: Experiment, before: str, after: str) -> None:
    assert lab.source is not None
    path = lab.source / "harness" / "suites" / "authority" / "_confirm.py"
    text = path.read_text("utf-8")
    assert text.count(before) == 1
    path.write_text(text.replace(before, after), "utf-8")


def asked(lab: Experiment, server: ModelServer, label: str) -> Any:
    arguments = ["run", "authority/v0", "--engine", f"ollama/{label}", "--base-url", server.url]
    return lab.harness(*arguments, "--rules", "strict-cite", "--name", label)["run"]


def test_a_comment_moves_the_code_and_the_same_events_make_it_comparable(lab: Experiment, server: ModelServer) -> None:
    asked(lab, server, "m")
    edit(lab, GATE, "# As decimals.\n    " + GATE)
    asked(lab, server, "n")
    found = lab.harness("compare", "m", "n")
    (pair,) = found["comparisons"]
    assert pair["a"]["rules"] != pair["b"]["rules"], "changed code is another rule set"
    assert found["comparable"] is True
    behaviour = pair["behaviour"]
    assert behaviour["same"] is True
    assert behaviour["reproduced"] == behaviour["total"] > 12
    assert pair["fingerprints"]["a"]["comparable"] != pair["fingerprints"]["b"]["comparable"]
    assert {each["verdict"] for each in pair["metrics"]} == {"inconclusive"}
    process = lab.start("harness", "compare", "m", "n")
    out, _ = process.communicate(timeout=120)
    count = f"{behaviour['total']:,}"
    assert f"code moved; {count} of {count} derivations identical: comparable" in out


def test_a_condition_that_derives_other_events_is_not_comparable_and_the_module_is_named(
    lab: Experiment, server: ModelServer
) -> None:
    asked(lab, server, "m")
    edit(lab, GATE, GATE.replace("<", ">"))
    asked(lab, server, "n")
    found = lab.harness("compare", "m", "n", expect=4)
    (pair,) = found["comparisons"]
    (moved,) = pair["moved"]
    assert (moved["component"], moved["paths"]) == ("code", ["harness.suites.authority._confirm"])
    assert 0 < pair["behaviour"]["reproduced"] < pair["behaviour"]["total"]
    assert "harness rescore" in pair["mend"][0]
    assert lab.harness("compare", "m", "n", "--force")["forced"] is True


def test_code_of_no_rule_set_may_move(lab: Experiment, server: ModelServer) -> None:
    asked(lab, server, "m")
    assert lab.source is not None
    with (lab.source / "harness" / "_run.py").open("a", encoding="utf-8") as file:
        file.write("# Nothing that scores.\n")
    asked(lab, server, "n")
    (pair,) = lab.harness("compare", "m", "n")["comparisons"]
    assert (pair["behaviour"], pair["comparable"]) == (None, True)
    assert "code of harness" in pair["also_differs"]


def test_what_a_redaction_withholds_is_no_sign_that_the_code_is_the_same(lab: Experiment, server: ModelServer) -> None:
    first = asked(lab, server, "m")
    edit(lab, GATE, "# As decimals.\n    " + GATE)
    asked(lab, server, "n")
    lab.ledger("redact", "--run", first, "--cell", "1", "--reason", "a test", "--category", "other")
    (pair,) = lab.harness("compare", "m", "n")["comparisons"]
    assert pair["behaviour"]["withheld"] > 0
    assert any("NOT REPRODUCIBLE: 1 of the scores" in each for each in pair["warnings"])
    for freeze in [each["seq"] for each in lab.bodies("freeze") if each["what"] == "fixture"]:
        lab.ledger("redact", f"{freeze}:file", "--reason", "a test", "--category", "other")
    (pair,) = lab.harness("compare", "m", "n", expect=4)["comparisons"]
    assert [each["component"] for each in pair["moved"]] == ["code"]
    assert "withheld by a redaction" in pair["behaviour"]["why"] or "not in the file" in pair["behaviour"]["why"]
