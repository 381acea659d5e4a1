"""A complete run is held like any other: each single thing that moved is named, exit 4, no request, no byte written.

What is no move is none here either: the order of keys and of lines, a comment in code, a field of meta that is
nobody's.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.harness.experiments import Experiment, rewrite
from tests.harness.models import Answer, ModelServer, model_server
from tests.harness.test_run import perfect

PEOPLE = {"review": {"criteria": ["cites its line"], "by": "two readers"}, "notes": "short", "topic": "law"}
NOTHING = "nothing is unfinished, so nothing was asked"


@dataclass
class Whole:
    """A complete run in a folder of its own, its code a copy, and the server that answered it."""

    lab: Experiment
    server: ModelServer
    run: str
    asked: int

    def digest(self) -> str:
        return hashlib.sha256(self.lab.db.read_bytes()).hexdigest()

    def left(self) -> set[str]:
        """What lies beside the ledger and holds something of it."""
        return {path.name for path in self.lab.folder.glob("ledger.db-*") if path.stat().st_size}

    def resume(self, *flags: str, expect: int) -> Any:
        """Resume it, and hold that nobody was asked and no byte of the ledger is another."""
        before = self.digest()
        found = self.lab.resume(self.run, *flags, expect=expect)
        assert len(self.server.requests) == self.asked
        assert self.digest() == before
        assert not {name for name in self.left() if name.endswith(("-wal", "-journal"))}
        return found


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    lab = Experiment(tmp_path_factory.mktemp("whole") / "lab")
    manifest = lab.suite / "suite.toml"
    manifest.write_text(f'people = ["review", "notes"]\n{manifest.read_text("utf-8")}', "utf-8")
    rewrite(lab.cases, lambda cases: [case.update(meta={**case.get("meta", {}), **PEOPLE}) for case in cases])
    lab.copy_source()
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        run = lab.run(server)["run"]
        yield Whole(lab, server, run, len(server.requests))


@pytest.fixture
def whole(recorded: Whole, tmp_path: Path) -> Iterator[Whole]:
    """The run, its suite and its code put back when a test is over."""
    lab = recorded.lab
    assert lab.source is not None
    folders = {"fixtures": lab.folder / "fixtures", "source": lab.source}
    for name, folder in folders.items():
        shutil.copytree(folder, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    yield recorded
    for name, folder in folders.items():
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / name, folder)


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after), "utf-8")


def source(lab: Experiment, *parts: str) -> Path:
    assert lab.source is not None
    return lab.source.joinpath("harness", *parts)


def input_moved(lab: Experiment) -> None:
    edit(lab.cases, "# Warehouse labels", "# Depot labels")


def gold_moved(lab: Experiment) -> None:
    rewrite(lab.cases, lambda cases: cases[0]["gold"]["expected"][0].update(type="contradicts"))


def criteria_moved(lab: Experiment) -> None:
    rewrite(lab.cases, lambda cases: cases[0]["meta"]["review"].update(by="one reader"))


def note_gone(lab: Experiment) -> None:
    rewrite(lab.cases, lambda cases: cases[0]["meta"].pop("notes"))


def prompt_moved(lab: Experiment) -> None:
    edit(lab.suite / "prompts" / "propose.txt", "Memory:", "The memory:")


def parameter_moved(lab: Experiment) -> None:
    edit(lab.suite / "suite.toml", "temperature = 0", "temperature = 0.7")


def rules_moved(lab: Experiment) -> None:
    edit(lab.suite / "rules" / "strict-cite.toml", "min_confidence = 0.60", "min_confidence = 0.10")


def people_unnamed(lab: Experiment) -> None:
    edit(lab.suite / "suite.toml", '["review", "notes"]', '["review"]')


def fixture_gone(lab: Experiment) -> None:
    lab.cases.unlink()


def suite_broken(lab: Experiment) -> None:
    lab.cases.write_text("no case\n", "utf-8")


def code_that_derives_otherwise(lab: Experiment) -> None:
    edit(source(lab, "suites", "authority", "_confirm.py"), 'proposal["confidence"] < ', 'proposal["confidence"] > ')


def nothing(lab: Experiment) -> None:
    pass


@pytest.mark.parametrize(
    ("move", "flags", "component", "paths"),
    [
        (input_moved, (), "input", ["/input/text"]),
        (gold_moved, (), "gold", ["/gold/expected/0/type"]),
        (criteria_moved, (), "people", ["/meta/review/by"]),
        (note_gone, (), "people", ["/meta/notes"]),
        (people_unnamed, (), "people", []),
        (prompt_moved, (), "prompt", []),
        (rules_moved, (), "rules", []),
        (parameter_moved, (), "temperature", []),
        (nothing, ("--seed", "7"), "seed", []),
        (nothing, ("--stream",), "stream", []),
        (nothing, ("--engine", "ollama/other"), "model", []),
        (nothing, ("--base-url", "http://127.0.0.1:9"), "endpoint", []),
        (nothing, ("--arm", "with-notes"), "arm", []),
        (nothing, ("--rules", "strict-cite"), "rules", []),
        (fixture_gone, (), "fixture", []),
        (suite_broken, (), "suite", []),
        (code_that_derives_otherwise, (), "code", []),
    ],
)
def test_one_thing_that_moved_under_a_complete_run_is_named_and_nothing_is_sent_or_written(
    move: Callable[[Experiment], None], flags: tuple[str, ...], component: str, paths: list[str], whole: Whole
) -> None:
    move(whole.lab)
    refused = whole.resume(*flags, expect=4)
    assert refused["run"] == whole.run
    assert {each["component"] for each in refused["refused"]} == {component}
    assert [path for each in refused["refused"] for path in each["paths"]] == paths
    for each in refused["refused"]:
        assert each["before"] != each["after"]
        assert f"{component} " in refused["errors"]
        for digest in (each["before"], each["after"]):
            if len(digest) == 64:
                assert digest[:12] in refused["errors"]


def test_code_that_derives_otherwise_is_named_with_its_module_and_cells_and_no_word_accepts_it(whole: Whole) -> None:
    code_that_derives_otherwise(whole.lab)
    for flags in ((), ("--accept", "code", "--reason", "all the same")):
        refused = whole.resume(*flags, expect=4)
        assert "harness.suites.authority._confirm" in refused["errors"]
        assert "NOT COMPARABLE" in refused["errors"]
        assert "of cells " in refused["errors"]


def test_a_suite_that_gives_a_fixture_another_arm_is_named_by_its_fixture(whole: Whole) -> None:
    """Only suites that are made of their manifest give arms; code that made them otherwise is how one can move."""
    with source(whole.lab, "_suite.py").open("a", encoding="utf-8") as file:
        file.write('\n\nSuite.arms = property(lambda suite: {"v0": "other"})  # type: ignore[assignment]\n')
    refused = whole.resume(expect=4)
    (moved,) = refused["refused"]
    assert (moved["component"], moved["where"], moved["before"], moved["after"]) == (
        "arm", "fixture v0", "none", "other",
    )  # fmt: skip


def reordered(lab: Experiment) -> None:
    def turn(cases: list[Any]) -> None:
        cases[:] = [dict(reversed(case.items())) for case in reversed(cases)]
        for case in cases:
            case["gold"] = dict(reversed(case["gold"].items()))
            case["meta"]["review"] = dict(reversed(case["meta"]["review"].items()))

    rewrite(lab.cases, turn, separators=(" ,  ", " :\t"))


def topic_moved(lab: Experiment) -> None:
    rewrite(lab.cases, lambda cases: [case["meta"].update(topic="trade") for case in cases])


@pytest.mark.parametrize("move", [nothing, reordered, topic_moved])
def test_what_is_no_value_moves_nothing(move: Callable[[Experiment], None], whole: Whole) -> None:
    move(whole.lab)
    found = whole.resume(expect=0)
    assert (found["status"], found["asked"], found["notes"]) == ("complete", 0, [NOTHING])


@pytest.mark.parametrize("module", [("_run.py",), ("parse", "_scan.py"), ("suites", "authority", "_score.py")])
def test_a_comment_in_code_derives_the_same_and_says_so(module: tuple[str, ...], whole: Whole) -> None:
    with source(whole.lab, *module).open("a", encoding="utf-8") as file:
        file.write("\n# another line\n")
    found = whole.resume(expect=0)
    moved, last = found["notes"]
    count = moved.partition("code moved; ")[2].partition(" of ")[0]
    assert (moved, last) == (f"code moved; {count} of {count} derivations identical", NOTHING)
    assert int(count) > 6
    assert moved in found["errors"]


def test_an_address_that_is_accepted_is_no_refusal_and_nothing_is_written_either(whole: Whole) -> None:
    flags = ("--base-url", "http://127.0.0.1:9", "--accept", "endpoint", "--reason", "moved house")
    found = whole.resume(*flags, expect=0)
    assert "endpoint" in found["notes"][0]


def test_fields_that_a_suite_names_later_are_said_not_to_be_held(whole: Whole) -> None:
    edit(whole.lab.suite / "suite.toml", '["review", "notes"]', '["review", "notes", "topic"]')
    notes = whole.resume(expect=0)["notes"]
    assert notes == ["the suite names topic as people's by now; this run doesn't hold them", NOTHING]


def test_a_complete_run_whose_suite_is_gone_is_held_against_the_frozen_files(whole: Whole) -> None:
    shutil.rmtree(whole.lab.folder / "fixtures")
    found = whole.resume(expect=0)
    assert (found["status"], found["asked"]) == ("complete", 0)
    said, last = found["notes"]
    assert "suite authority isn't on disk" in said
    assert "held against what was frozen" in said
    assert last == NOTHING
    refused = whole.resume("--temperature", "0.5", expect=4)
    assert "can't be read any more" in refused["errors"], "there is nothing to compare what is given with"


def test_cells_carry_the_digest_of_what_people_judge_by_and_the_plan_its_names(whole: Whole) -> None:
    lab = whole.lab
    (plan,) = lab.bodies("plan")
    assert (plan["people"], plan["suite_arms"]) == (["notes", "review"], {})
    cells = lab.bodies("cell")
    assert {cell["schema"] for cell in cells} == {2}
    assert len({cell["people"] for cell in cells}) == 1, "the same fields of every case, the same digest"
    frozen = json.dumps([lab.rows("SELECT body FROM events WHERE kind = 'freeze'"), cells])
    assert "two readers" not in frozen
