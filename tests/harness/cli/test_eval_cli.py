"""`harness run` out of an eval.toml: real processes, real servers on loopback, a real ledger; killed and resumed."""

from __future__ import annotations

import json
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.harness.capitals import CAPITALS, Capitals, knows, sent
from tests.harness.models import Answer, model_server

MATRIX = """
suite = "capitals"
models = ["openai/a", "openai/b"]
base_url = "{url}"
prompts = ["plain", "terse"]
name = "nightly"
tags = ["t1", "t2"]
note = "the first matrix"
max_connections = 2

[parameters]
stop = ["\\n"]

[matrix]
temperature = [0, 0.70]
"""


@pytest.fixture
def capitals(tmp_path: Path) -> Capitals:
    return Capitals(tmp_path)


def test_a_matrix_is_every_model_with_every_prompt_and_every_value(capitals: Capitals) -> None:
    with model_server(knows(*CAPITALS)) as server:
        capitals.eval(MATRIX.format(url=server.openai))
        done = capitals.harness("run")
    assert (done["status"], done["planned"]) == ("complete", 48)
    of = "[prompt={},temperature={}]"
    assert list(capitals.candidates()) == [
        f"openai/{model}{of.format(prompt, temperature)}"
        for model in "ab" for prompt in ("plain", "terse") for temperature in ("0", "0.70")
    ]  # fmt: skip
    assert len({each["digest"] for each in capitals.candidates().values()}) == 8
    asked = {(each["model"], each["messages"][0]["content"].split()[0], each["temperature"]) for each in sent(server)}
    assert asked == {(m, p, t) for m in "ab" for p in ("What", "Capital") for t in (0, 0.7)}
    assert all(each["stop"] == ["\n"] for each in sent(server))
    frozen = [each["name"] for each in capitals.bodies("freeze") if each["what"] == "prompt"]
    assert frozen == ["capitals/plain", "capitals/terse"]
    (listed,) = json.loads(capitals.ledger("runs", "--json", "--tag", "t2"))["runs"]
    assert (listed["name"], listed["tags"], listed["notes"]) == ("nightly", ["t1", "t2"], ["the first matrix"])
    assert "the first matrix" in capitals.words("report", "nightly")[0]
    assert [note["text"] for note in capitals.harness("report", "nightly")["notes"]] == ["the first matrix"]
    assert capitals.verified() == "CONSISTENT"


def test_the_label_of_a_candidate_is_part_of_no_digest(capitals: Capitals) -> None:
    with model_server(knows(*CAPITALS)) as server:
        capitals.eval(MATRIX.format(url=server.openai))
        capitals.harness("run")
        common = ("--engine", "openai/a", "--base-url", server.openai, "-M", 'stop=["\\n"]', "--temperature", "0")
        capitals.harness("run", "capitals", *common, "-M", "temperature=0")
    by_label = capitals.candidates()
    assert by_label["openai/a"]["digest"] == by_label["openai/a[prompt=plain,temperature=0]"]["digest"]


def test_flags_stand_above_the_file_and_it_says_so(capitals: Capitals) -> None:
    with model_server(knows(*CAPITALS)) as server:
        capitals.eval(MATRIX.format(url=server.openai))
        _, errors = capitals.words(
            "run", "--engine", "openai/a", "--prompt", "terse", "--temperature", "1", "--limit", "1"
        )
    assert list(capitals.candidates()) == ["openai/a"]
    assert {(each["model"], each["temperature"]) for each in sent(server)} == {("a", 1.0)}
    for said in (
        "--engine takes the place of the models in eval.toml",
        "--prompt takes the place of the prompts in eval.toml",
        "temperature on the command line takes the place of temperature in eval.toml, for every model",
    ):
        assert said in errors
    assert "--limit takes" not in errors


def test_the_environment_names_a_file_and_a_named_suite_leaves_it_alone(capitals: Capitals) -> None:
    with model_server(knows(*CAPITALS)) as server:
        text = f'suite = "capitals"\nmodels = ["openai/a"]\nbase_url = "{server.openai}"\nname = "of the file"\n'
        (capitals.folder / "other.toml").write_text(text)
        capitals.environ["HARNESS_FILE"] = "other.toml"
        capitals.harness("run")
        del capitals.environ["HARNESS_FILE"]
        capitals.eval(text)
        _, errors = capitals.words("run", "capitals", "--engine", "openai/b", "--base-url", server.openai)
    assert "eval.toml is not read: a suite was named" in errors
    assert [plan["name"] for plan in capitals.bodies("plan")] == ["of the file", ""]


def test_a_run_without_a_suite_or_a_file_says_what_it_wants(capitals: Capitals) -> None:
    _, errors = capitals.words("run", expect=2)
    assert "expected a SUITE, or an eval.toml here that says what to run" in errors
    assert not capitals.db.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('suite = "capitals"\nmodels = ["openai/a"]\nprompts = ["ters"]', "'ters' is not in prompts/"),
        ('suite = "capitals"\nmodels = ["openai/a"]\nfilter = "meta.regoin=asia"', "did you mean meta.region?"),
        ('suite = "capitals"\nmodels = ["openai/a"]\nfilter = "meta.region=africa"', "meta.region is asia, europe"),
        ('suite = "capitals"\nmodels = []', "eval.toml: models: the list is empty; put an engine there"),
        ('suite = "capitals"', "eval.toml: models: put at least one engine there"),
        ('suite = "capitols"\nmodels = ["openai/a"]', "capitols"),
        ('suite = "capitals"\nmodels = ["openai/a"]\nrules = ["lax"]', "lax"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_a_ledger_is_made(capitals: Capitals, text: str, said: str) -> None:
    capitals.eval(text)
    _, errors = capitals.words("run", expect=2)
    assert said in errors and errors.count("\n") == 1
    assert not capitals.db.exists()


def test_a_file_elsewhere_names_its_suite_and_rules_from_its_own_folder(capitals: Capitals, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (tmp_path / "fixtures").rename(there / "fixtures")
    (there / "lax.toml").write_text('[read]\n\n[score]\nscorer = "includes"\n')
    with model_server(knows(*CAPITALS)) as server:
        text = (
            f'suite = "capitals"\nmodels = ["openai/a"]\nbase_url = "{server.openai}"\nrules = ["strict", "lax.toml"]'
        )
        (there / "e.toml").write_text(text)
        done = capitals.harness("run", "--file", "there/e.toml")
    assert sorted(label.partition("@")[0] for label in done["outcomes"]) == ["lax", "strict"]
    assert capitals.resume()["status"] == "complete"


def test_a_filter_plans_fewer_cells_and_the_run_reads_partial(capitals: Capitals) -> None:
    with model_server(knows(*CAPITALS)) as server:
        options = ("--engine", "openai/a", "--base-url", server.openai)
        done = capitals.harness(
            "run", "capitals", *options, "--filter", "meta.region=europe", "--filter", "meta.level<2"
        )
        assert (done["status"], done["planned"], len(server.requests)) == ("partial", 2, 2)
        one = capitals.harness("run", "capitals", *options, "--filter", "meta.region=europe", "--limit", "1")
        assert (one["status"], one["planned"]) == ("partial", 1)
        every = capitals.harness("run", "capitals", *options, "--filter", "meta.level>0")
        assert (every["status"], every["planned"]) == ("complete", 6)
    assert [plan["filter"] for plan in capitals.bodies("plan")] == [
        "meta.region=europe and meta.level<2", "meta.region=europe", "",
    ]  # fmt: skip
    out, _ = capitals.words("report", done["run"])
    assert "only cases where meta.region=europe and meta.level<2 (--filter)" in out
    capitals.words("report", done["run"], "-o", "report.md")
    assert "only cases where" in (capitals.folder / "report.md").read_text()
    capitals.words("check", "report.md")


def test_a_resume_keeps_to_the_filter_by_the_labels_that_were_frozen(capitals: Capitals) -> None:
    down = [True]
    right = knows(*CAPITALS)

    def answer(prompt: str) -> Answer:
        return Answer(status=500, body=b"{}") if down[0] else right(prompt)

    with model_server(answer) as server:
        options = ("--engine", "openai/a", "--base-url", server.openai, "--max-retries", "0")
        capitals.harness("run", "capitals", *options, "--filter", "meta.region=asia", expect=3)
        down[0] = False
        cases = capitals.suite / "v0/cases.jsonl"
        cases.write_text(cases.read_text().replace("asia", "europe"))
        server.requests.clear()
        done = capitals.resume()
    assert (done["status"], done["planned"], done["asked"]) == ("partial", 2, 2)
    assert {each["messages"][0]["content"].split()[-1] for each in sent(server)} == {"Japan?", "Nepal?"}
    assert any("limited to cases where meta.region=asia" in note for note in done["notes"])


def test_a_matrix_that_was_killed_midway_is_resumed_as_the_very_same_candidates(capitals: Capitals) -> None:
    right, enough = knows(*CAPITALS), threading.Event()
    count = [0]

    def answer(prompt: str) -> Answer:
        count[0] += 1
        if count[0] >= 20:
            enough.set()
            time.sleep(0.2)
        return right(prompt)

    with model_server(answer) as server:
        capitals.eval(MATRIX.format(url=server.openai))
        process = capitals.start("harness", "run", "--json")
        assert enough.wait(60)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        count[0] = -1000
        planned = capitals.candidates()
        # What eval.toml says by now is another matter: the run is what its plan says.
        capitals.eval('suite = "capitals"\nmodels = ["openai/z"]')
        answered = capitals.rows("SELECT DISTINCT cell FROM events WHERE kind = 'response'")
        server.requests.clear()
        done = capitals.resume("nightly")
    assert (done["status"], done["planned"]) == ("complete", 48)
    assert 0 < done["asked"] == 48 - len(answered) < 48
    assert capitals.candidates() == planned
    cells = capitals.rows(
        "SELECT candidate, count(*) AS n, sum(outcome = 'correct') AS k FROM cells GROUP BY candidate"
    )
    assert {row["candidate"]: (row["n"], row["k"]) for row in cells} == dict.fromkeys(planned, (6, 6))
    assert capitals.verified() == "CONSISTENT"


def test_a_resume_names_which_prompt_of_the_matrix_moved(capitals: Capitals) -> None:
    with model_server(lambda prompt: Answer(status=500, body=b"{}")) as server:
        capitals.eval(MATRIX.format(url=server.openai))
        capitals.harness("run", "--max-retries", "0", expect=3)
        (capitals.suite / "prompts/terse.txt").write_text("{{ input }}?\n")
        moved = capitals.resume(expect=4)
        assert [(each["component"], each["where"]) for each in moved["refused"]] == [
            ("prompt", "suite capitals, prompts/terse.txt")
        ]
        (capitals.suite / "prompts/terse.txt").unlink()
        moved = capitals.resume(expect=4)
        assert [(each["component"], each["after"]) for each in moved["refused"]] == [("prompt", "absent")]


def test_a_new_run_on_a_superseded_freeze_says_so_before_it_asks(capitals: Capitals) -> None:
    with model_server(knows(*CAPITALS)) as server:
        options = ("--engine", "openai/a", "--base-url", server.openai)
        capitals.harness("run", "capitals", *options)
        (seq,) = [each["seq"] for each in capitals.bodies("freeze") if each["what"] == "rules"]
        capitals.ledger(
            "supersede", str(seq), "--no-successor", "--category", "parser", "--reason", "too strict"
        )  # fmt: skip
        _, errors = capitals.words("run", "capitals", *options)
    assert errors.index("warning: this run stands on event") < errors.index("cells planned")
    assert "too strict" in errors


def test_every_command_that_writes_says_which_ledger_it_wrote_to(capitals: Capitals) -> None:
    with model_server(knows(*CAPITALS)) as server:
        out, _ = capitals.words("freeze", "capitals")
        assert f"{capitals.db} did not exist; it was made." in out
        assert f"Recorded in {capitals.db}." in capitals.words("freeze", "capitals")[0]
        out, _ = capitals.words("run", "capitals", "--engine", "openai/a", "--base-url", server.openai)
        assert f"Recorded in {capitals.db}." in out
    for command in (("report", "latest", "-o", "r.md"), ("publish", "r.md", "--to", "me")):
        assert str(capitals.db) in capitals.words(*command)[0]


def test_freeze_fixes_the_prompts_that_are_named_and_a_run_stands_on_them(capitals: Capitals) -> None:
    capitals.words("freeze", "capitals", "--prompt", "plain", "--prompt", "terse")
    frozen = {each["name"]: each["seq"] for each in capitals.bodies("freeze") if each["what"] == "prompt"}
    assert list(frozen) == ["capitals/plain", "capitals/terse"]
    with model_server(knows(*CAPITALS)) as server:
        options = ("--engine", "openai/a", "--base-url", server.openai)
        capitals.harness("run", "capitals", *options, "--prompt", "terse")
    (candidate,) = capitals.candidates().values()
    assert candidate["prompt_freeze"] == frozen["capitals/terse"]


def test_freeze_refuses_golds_that_the_rules_cannot_score_and_makes_no_ledger(capitals: Capitals) -> None:
    (capitals.suite / "rules/strict.toml").write_text('[read]\n\n[score]\nscorer = "number"\n')
    _, errors = capitals.words("freeze", "capitals", expect=2)
    assert "cases.jsonl:1: case 'France' can't be scored under strict" in errors
    assert not capitals.db.exists()
