"""Another environment: what it could change is derived again before it is compared, and all of it is named."""

from __future__ import annotations

from pathlib import Path

from tests.harness.experiments import Experiment
from tests.harness.models import Answer, model_server
from tests.harness.test_run import perfect

OTHERWISE = """

_as_it_was = derivations


def derivations(*arguments, **named):
    drafts, scores = _as_it_was(*arguments, **named)
    return drafts[:-1], scores
"""


def elsewhere(lab: Experiment) -> None:
    """From now on the copy says that it runs in another Python, on another system."""
    assert lab.source is not None
    path = lab.source / "harness" / "_environment.py"
    text = path.read_text("utf-8")
    for call, other in (("platform.python_version()", '"3.99.0"'), ("platform.system()", '"Plan9"')):
        assert text.count(call) == 1
        text = text.replace(call, other)
    path.write_text(text, "utf-8")


def test_another_environment_is_derived_again_compared_and_named_on_every_figure(tmp_path: Path) -> None:
    lab = Experiment(tmp_path / "lab")
    lab.copy_source()
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        first = lab.run(server, "--rules", "strict-cite")["run"]
        elsewhere(lab)
        again = lab.run(server, "--rules", "strict-cite", "--reuse")
        assert len(server.requests) == 6
    assert "the environment of 6 of them moved since (python " in again["errors"]

    (pair,) = lab.harness("compare", first, again["run"])["comparisons"]
    assert pair["comparable"] is True
    behaviour = pair["behaviour"]
    assert behaviour["what"].startswith("the environment (python ")
    assert behaviour["reproduced"] == behaviour["total"] > 12
    assert {each["name"]: each["weight"] for each in pair["environment"]} == {"python": "derives", "system": "beside"}
    assert "environment: system Linux to Plan9" in pair["also_differs"]
    assert any(each.startswith("B: ENVIRONMENT: answers of run") for each in pair["warnings"])

    report = lab.harness("report", again["run"])
    assert [each["after"] for each in report["elsewhere"][first]] == ["3.99.0", "Plan9"]
    assert lab.harness("report", first)["elsewhere"] == {}

    done = lab.resume(first)
    assert done["notes"][0].startswith("code moved; "), "the copy was edited to say where it runs"

    assert lab.source is not None
    with (lab.source / "harness" / "_derivations.py").open("a", encoding="utf-8") as file:
        file.write(OTHERWISE)
    refused = lab.harness("compare", first, again["run"], expect=4)
    (pair,) = refused["comparisons"]
    assert [each["component"] for each in pair["moved"]] == ["environment"]
    assert "harness replay --check" in pair["mend"][0]
