"""A second project needs a folder and no change of source: its rubric is frozen, run, compared and resumed by name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli import app
from ledger import Ledger
from ledger.cli import run_app
from tests.harness.rubrics.ramps import FILES, MANIFEST, changed, ramps
from tests.harness.rubrics.test_extends import VARIANT, variant
from tests.harness.servers import ScriptedServer, base_url, json_reply, openai_answer

NOWHERE = ("--engine", "openai/x", "--base-url", "http://127.0.0.1:9/v1")
GRADE = '{"scores": {"slope": 0, "width": 0, "landing": 1}, "flags": [], "total": 1, "verdict": "fail"}'
Call = Callable[..., tuple[str, str]]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command line, in a folder with nothing in it but the rubric's."""
    (tmp_path / "fixtures").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("LEDGER_DB", "LEDGER_JSON"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, status: int = 0) -> tuple[str, str]:
        ended = run_app(app, "harness", list(arguments))
        out, err = capsys.readouterr()
        assert ended == status, err
        return out, err

    return run


def head_of(db: str) -> tuple[int, str]:
    with Ledger.open(Path(db), read_only=True) as ledger:
        last = list(ledger.events())[-1]
        return last.seq, last.hash


def test_a_folder_is_frozen_and_a_changed_control_is_refused_with_the_ledger_untouched(call: Call) -> None:
    folder = ramps(Path("elsewhere"), MANIFEST.replace('name = "ramps"', 'name = "elsewhere"'))
    out, _ = call("freeze", "./elsewhere", "--db", "mine.db", "--json")
    frozen = json.loads(out)
    assert set(frozen["fixtures"]) == {"calibration", "injection", "poisoning", "repeatability"}
    with Ledger.open(Path("mine.db"), read_only=True) as ledger:
        cases = ledger.blob(frozen["fixtures"]["calibration"], "file").decode("utf-8").splitlines()
        rules = ledger.blob(next(iter(frozen["rules"].values())), "file")
        prompt = ledger.blob(next(iter(frozen["prompts"].values())), "file")
    assert [json.loads(line)["id"] for line in cases] == ["good", "thin", "pool"]
    assert b"[[score.criteria]]" in rules and prompt.startswith(b"{# rubric ")
    before = head_of("mine.db")
    (folder / "texts/calm.txt").write_bytes(b"A ramp will be Built.\n")
    _, err = call("freeze", "./elsewhere", "--db", "mine.db", status=4)
    assert err.count("BLAKE3") == 1 and "calm has the digest" in err and "thin has" in err
    call("run", "./elsewhere", *NOWHERE, "--db", "new.db", status=4)
    assert head_of("mine.db") == before and not Path("new.db").exists()


def test_suites_lists_what_is_sound_and_tells_of_each_that_is_not(call: Call) -> None:
    ramps(Path("fixtures/ramps"))
    ramps(Path("fixtures/stairs"), MANIFEST.replace('"ramps"', '"stairs"') + '[[bars]]\nbar = "rigth >= 90%"\n')
    files = {**FILES, "rules/fenced.toml": "reed = 1"}
    ramps(Path("fixtures/walls"), MANIFEST.replace('"ramps"', '"walls"'), files)
    out, err = call("suites", status=2)
    assert "ramps" in out and "stairs" not in out and "walls" not in out
    said = [line for line in err.splitlines() if "can't be run" in line]
    assert ["rigth" in said[0] and "stairs/suite.toml" in said[0], "fenced.toml" in said[1]] == [True, True]
    found = json.loads(call("suites", "--json", status=2)[0])
    assert [each["suite"] for each in found["suites"] if not each["carried"]] == ["ramps"]
    assert [each["suite"] for each in found["faults"]] == ["stairs", "walls"]


def test_a_bar_of_nothing_is_told_before_anybody_is_said_to_be_asked(call: Call) -> None:
    ramps(Path("fixtures/ramps"), MANIFEST + '[[bars]]\nbar = "rigth >= 90%"\n')
    _, err = call("run", "ramps", "--db", "new.db", status=2)
    assert "expected one of" in err and "'rigth'" in err and "asking" not in err and not Path("new.db").exists()


def test_without_a_judge_the_message_names_where_a_suite_names_its_own(call: Call) -> None:
    ramps(Path("fixtures/ramps"), MANIFEST.split("[judge]")[0] + "[sampling]" + MANIFEST.split("[sampling]")[1])
    _, err = call("run", "ramps", "--db", "new.db", status=2)
    assert "or engine under [judge] in fixtures/ramps/suite.toml, or models in eval.toml" in err


def test_suites_names_variants_by_their_folder_and_says_what_they_extend(call: Call) -> None:
    ramps(Path("fixtures/ramps"))
    variant(Path("fixtures"), VARIANT)
    out, _ = call("suites")
    assert "ramps-b (extends ramps)" in out
    listed = [each for each in json.loads(call("suites", "--json")[0])["suites"] if not each["carried"]]
    assert [(each["suite"], each["extends"]) for each in listed] == [("ramps", ""), ("ramps-b", "ramps")]
    assert listed[0]["fixtures"] == listed[1]["fixtures"] == {
        "calibration": 3, "injection": 2, "poisoning": 3, "repeatability": 3
    }  # fmt: skip
    rules = json.loads(call("rules", "list", "--json")[0])["rules"]
    assert [(each["suite"], each["name"]) for each in rules] == [
        ("ramps", "fenced"),
        ("ramps", "judge"),
        ("", "default"),
    ]
    assert "fence" in call("rules", "show", "fenced")[0]  # the variant's is no second one of the name


def test_a_changed_wording_is_not_comparable_and_the_rubric_is_what_is_named(call: Call) -> None:
    folder = ramps(Path("fixtures/ramps"))
    with ScriptedServer(json_reply(openai_answer(GRADE))) as server:
        asked = ("run", "ramps/calibration", "--engine", "openai/x", "--base-url", base_url(server, "openai"))
        call(*asked, "--db", "mine.db", "--name", "one")
        (folder / "suite.toml").write_text(changed("1 in 12 or gentler", "1 in 12, or gentler"), "utf-8")
        call(*asked, "--db", "mine.db", "--name", "two")
        out, err = call("compare", "one", "two", "--db", "mine.db", status=4)
        said = out + err
        assert "NOT COMPARABLE" in said and "criteria slope description" in said
        assert "rubric of" in said and "rules of" not in said and "rescore can't mend it" in said
        found: Any = json.loads(call("compare", "one", "two", "--db", "mine.db", "--json", status=4)[0])
        assert '"component": "rubric"' in json.dumps(found)
        # Nor can the old answers be scored under the new wording.
        _, err = call("rescore", "one", "--rules", "judge", "--db", "mine.db", status=4)
        assert "rubric" in err and "ask anew" in err


def test_a_run_is_rescored_under_another_reading_of_the_same_rubric(call: Call) -> None:
    folder = ramps(Path("fixtures/ramps"))
    variant(Path("fixtures"), VARIANT)
    with ScriptedServer(json_reply(openai_answer(f"Here:\n{GRADE}"))) as server:
        call(
            "run",
            "ramps-b/calibration",
            "--engine",
            "openai/x",
            "--base-url",
            base_url(server, "openai"),
            "--db",
            "m.db",
        )
        Path("mine.toml").write_text("[read]\nprose = true\n", "utf-8")
        for name in ("judge", "ramps/judge", "mine.toml"):
            call("rescore", "latest", "--rules", name, "--db", "m.db")
        call("report", "latest", "--db", "m.db")
        _, err = call("rescore", "latest", "--rules", "nosuch", "--db", "m.db", status=2)
        assert "there are fenced, judge" in err
        _, err = call("rescore", "latest", "--rules", "default", "--db", "m.db", status=2)
        assert "no rule set of suite ramps is called 'default'; there are fenced, judge" in err
        _, err = call("run", "ramps", *NOWHERE, "--rules", "default", "--db", "m.db", status=2)
        assert "got 'default'; it has fenced, judge" in err and "built in" not in err
    assert folder.is_dir()


def test_a_run_is_not_resumed_where_the_rubric_moved(call: Call) -> None:
    folder = ramps(Path("fixtures/ramps"))
    with ScriptedServer(json_reply({"error": "busy"}, status=500)) as server:
        at = base_url(server, "openai")
        call("run", "ramps/calibration", "--engine", "openai/x", "--base-url", at, "--max-retries", "0", "--db", "m.db",
             status=3)  # fmt: skip
        wording = changed("1 in 12 or gentler", "1 in 12, or gentler")
        (folder / "suite.toml").write_text(wording, "utf-8")
        _, err = call("resume", "latest", "--db", "m.db", status=4)
        assert "rubric of fenced@" in err and "criteria slope description" in err


def test_the_manifests_judge_is_asked_where_nobody_is_named(call: Call) -> None:
    with ScriptedServer(json_reply(openai_answer(GRADE))) as server:
        ramps(Path("fixtures/ramps"), MANIFEST.replace("http://127.0.0.1:9/v1", base_url(server, "openai")))
        _, err = call("run", "ramps/injection", "--db", "m.db")
        assert "asking openai/inspector" in err
        assert len(server.requests) == 2 and b'"inspector"' in server.requests[0].body


def test_a_suite_without_an_arm_is_frozen_and_not_run(call: Call) -> None:
    ramps(Path("fixtures/ramps"), MANIFEST[: MANIFEST.index("[arms.calibration]")])
    call("freeze", "ramps", "--db", "m.db")
    _, err = call("run", "ramps", *NOWHERE, "--db", "m.db", status=2)
    assert "has no arm that could be run" in err and "harness grade RUN --judge ramps" in err
