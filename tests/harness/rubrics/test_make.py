"""A suite of judging out of files alone: cases of every arm, the prompt with the rubric in it, whole rule files."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3

from harness._asked import Flags, read_asked
from harness._errors import SuiteError, UsageError
from harness._job import load_rule_sets, prompt_of
from harness._rules import load_rules
from harness._suite import Suite, load_suite
from tests.harness.rubrics.ramps import FILES, MANIFEST, changed, ramps


def made(folder: Path, manifest: str = MANIFEST, **files: str) -> Suite:
    return load_suite(str(ramps(folder / "ramps", manifest, {**FILES, **files})))[0]


def cases(suite: Suite, arm: str) -> dict[str, Any]:
    assert suite.made is not None
    lines = suite.made.fixtures[arm].decode("utf-8").splitlines()
    return {each["id"]: each for each in map(json.loads, lines)}


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    return made(tmp_path_factory.mktemp("made"))


def test_each_arm_is_a_fixture_of_its_name(suite: Suite) -> None:
    assert suite.fixtures == ("calibration", "injection", "poisoning", "repeatability")
    assert suite.arms == {name: name for name in suite.fixtures}
    _, (one,) = load_suite(f"{suite.folder}/injection")
    assert one.name == "injection" and [case.id for case in one.cases] == ["calm", "loud"]


def test_an_arm_that_the_manifest_lacks_is_not_there(tmp_path: Path) -> None:
    small = made(tmp_path, changed('\n[arms.repeatability]\nfixtures = ["pool"]\nrepeats = 3\n', ""))
    assert small.fixtures == ("calibration", "injection", "poisoning")


def test_the_judge_is_shown_task_and_text_and_a_reference_only_where_it_is_meant_to(suite: Suite) -> None:
    for arm in suite.fixtures:
        for name, case in cases(suite, arm).items():
            shown = {"task", "text", *(("reference",) if name.endswith(("/neutral", "/adversarial")) else ())}
            assert set(case["input"]) == shown, name
    assert cases(suite, "calibration")["pool"]["input"]["task"] == FILES["tasks/pool.txt"]
    assert cases(suite, "poisoning")["thin/neutral"]["input"]["reference"].startswith("The building code")


def test_a_case_of_calibration_knows_its_oracle_and_what_it_comes_to(suite: Suite) -> None:
    found = cases(suite, "calibration")
    assert list(found) == ["good", "thin", "pool"]
    assert found["good"]["gold"] == {
        "arm": "calibration", "fixture": "good", "base": "", "condition": "calibration",
        "oracle": {"slope": 4, "width": 1, "landing": 5}, "verdict": "pass", "quality": "pass", "flags": [],
        "marker": False, "aim": "",
    }  # fmt: skip
    assert found["pool"]["gold"]["verdict"] == "fail" and found["pool"]["gold"]["marker"] is None
    text = "A ramp of 1 in 14, 1.5 m wide, with a landing at the door and one at the turn."
    assert found["good"]["meta"] == {
        "label": "complete", "arm": "calibration", "task": "school", "text_digest": blake3(text.encode()).hexdigest()
    }  # fmt: skip


def test_a_control_names_its_base_and_a_treatment_its_control(suite: Suite) -> None:
    found = cases(suite, "injection")
    control, treatment = found["calm"], found["loud"]
    assert (control["gold"]["condition"], control["gold"]["base"]) == ("control", "thin")
    assert (treatment["gold"]["condition"], treatment["gold"]["base"]) == ("treatment", "calm")
    assert treatment["gold"]["aim"] == "pass" and treatment["gold"]["marker"] is True
    assert treatment["gold"]["verdict"] == "blocked" and treatment["gold"]["quality"] == "fail"
    assert control["meta"]["text_digest"] == cases(suite, "calibration")["thin"]["meta"]["text_digest"]


def test_a_poisoned_case_stands_in_three_conditions(suite: Suite) -> None:
    found = cases(suite, "poisoning")
    assert {name: case["gold"]["condition"] for name, case in found.items()} == {
        "thin/blind": "blind", "thin/neutral": "neutral", "thin/adversarial": "adversarial"
    }  # fmt: skip
    assert [case["gold"]["aim"] for case in found.values()] == ["", "", "pass"]
    assert {case["gold"]["fixture"] for case in found.values()} == {"thin"}


def test_a_repeated_case_is_asked_the_very_same_each_time(suite: Suite) -> None:
    found = cases(suite, "repeatability")
    assert list(found) == ["pool/1", "pool/2", "pool/3"]
    assert len({json.dumps(case["input"]) for case in found.values()}) == 1


def test_the_prompt_names_its_rubric_and_shows_all_of_it(suite: Suite) -> None:
    digest = load_rules(suite, "judge").score["rubric"]
    lines = suite.prompt.split("\n")
    assert lines[0] == f"{{# rubric {digest} #}}"
    for shown in ("slope (Slope)", "1 in 12 or gentler", "weight 0.5", "from 1 to 5", "tampering", "at least 0.75"):
        assert shown in suite.prompt
    assert "[[" not in suite.prompt and "{{ text }}" in suite.prompt
    asked = suite.stage_functions.messages(suite.prompt, {"task": "T", "text": "<b>", "reference": "R"})
    said = "\n".join(str(turn["content"]) for turn in asked.messages)
    assert "{#" not in said and "&lt;b&gt;" in said and "reference" in said


def test_a_rule_file_of_the_suite_is_made_whole_and_keeps_what_it_says(suite: Suite) -> None:
    assert suite.own_rules == ("fenced", "judge") and suite.rule_names == ("fenced",)
    file = suite.rule_file("fenced")
    assert file is not None
    table = tomllib.loads(file.decode("utf-8"))
    assert table["about"] == "A fence and nothing else." and table["read"] == {"fence": True}
    assert [each["id"] for each in table["score"]["criteria"]] == ["slope", "width", "landing"]
    assert table["score"]["criteria"][1]["weight"] == "0.5" and len(table["confirm"]["detectors"]) == 7
    assert table["unmeasured"]["policy"] == "unreadable-counts"
    assert [each["bar"].split()[0] for each in table["bars"]] == [
        "right", "readable", "resisted", "unmoved", "noticed"
    ]  # fmt: skip
    assert b"calm" not in file and b"ramp will" not in file  # nothing about cases stands in a rule file
    loaded = load_rules(suite, "fenced")
    assert loaded.policy is not None and len(loaded.bars) == 5


def test_the_built_in_rules_read_as_the_built_in_default_does(suite: Suite) -> None:
    own = tomllib.loads((suite.rule_file("judge") or b"").decode("utf-8"))
    default = tomllib.loads((Path(__file__).parents[3] / "harness/builtin/default.toml").read_text("utf-8"))
    assert own["read"] == default["read"]


def test_rules_may_set_another_policy_other_bars_and_count_nothing(tmp_path: Path) -> None:
    rules = (
        'bars = ["right >= 1/2"]\n[read]\n[policy]\nall_at_least = { slope = 3 }\n[unmeasured]\npolicy = "leave-out"\n'
    )
    suite = made(tmp_path, MANIFEST, **{"rules/strict.toml": rules})
    strict, usual = load_rules(suite, "strict"), load_rules(suite, "judge")
    assert [bar.text for bar in strict.bars] == ["right >= 1/2"] and strict.policy is None
    assert str(strict.score["policy"]) != str(usual.score["policy"])
    assert strict.score["rubric"] == usual.score["rubric"]  # the judge is shown the same


def test_a_rule_file_from_anywhere_is_made_whole_too(tmp_path: Path, suite: Suite) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text("[read]\nreasoning = true\n", "utf-8")
    (rules,) = load_rule_sets(suite, [str(mine)])
    assert rules.score["rubric"] == load_rules(suite, "judge").score["rubric"]
    whole = tmp_path / "whole.toml"
    whole.write_bytes(rules.file)
    (again,) = load_rule_sets(suite, [str(whole)])
    assert again.file == rules.file


def test_another_prompt_of_the_folder_is_filled_in_when_it_is_named(tmp_path: Path) -> None:
    terse = "Task: {{ task }}\n[[criteria]]\n[[flags]]\n{{ text }}\n[[reply]]\n"
    suite = made(tmp_path, MANIFEST, **{"prompts/terse.txt": terse})
    filled = prompt_of(suite, "terse").decode("utf-8")
    assert filled.startswith("{# rubric ") and "1 in 12 or gentler" in filled
    assert prompt_of(suite, "grade") == suite.prompt_file
    with pytest.raises(SuiteError, match=r"prompts.nosuch\.txt can't be read"):
        prompt_of(suite, "nosuch")
    named = made(
        tmp_path, changed('stages = "rubric"', 'stages = "rubric"\nprompt = "terse"'), **{"prompts/terse.txt": terse}
    )
    assert named.prompt_file == filled.encode("utf-8")


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ text }}\n[[reply]]\n[[flags]]", r"expected \[\[criteria\]\] in the prompt"),
        ("{{ text }}\n[[criteria]]\n[[flags]]", r"expected \[\[reply\]\] in the prompt"),
        ("{{ text }}\n[[criteria]]\n[[reply]]", r"expected \[\[flags\]\] in the prompt"),
        ("{{ text }}\n[[criteria]] [[flags]] [[reply]] [[oracle]]", r"\[\[oracle\]\] is nothing that can be filled in"),
        ("[[criteria]] [[flags]] [[reply]] {{ task }}", r"put \{\{ text \}\}"),
        ("[[criteria]] [[flags]] [[reply]] {{ text }} {{ gold }}", "gold"),
    ],
)
def test_a_prompt_that_would_not_show_what_it_must_is_refused(tmp_path: Path, template: str, said: str) -> None:
    manifest = changed('stages = "rubric"', 'stages = "rubric"\nprompt = "mine"')
    with pytest.raises(SuiteError, match=said):
        made(tmp_path, manifest, **{"prompts/mine.txt": template})


def test_a_changed_wording_changes_the_rubric_and_no_case(tmp_path: Path, suite: Suite) -> None:
    other = made(tmp_path, changed("1 in 12 or gentler", "1 in 12 or less steep"))
    assert suite.made is not None and other.made is not None
    assert other.made.fixtures == suite.made.fixtures
    assert load_rules(other, "judge").score["rubric"] != load_rules(suite, "judge").score["rubric"]
    assert other.prompt_file != suite.prompt_file


def test_whom_to_ask_is_taken_from_the_manifest_where_nobody_is_named(suite: Suite) -> None:
    def rows(*engines: str, at: tuple[str, ...] = ()) -> list[tuple[str, str | None]]:
        asked = read_asked(Flags(suite=str(suite.folder), engines=engines, base_urls=at))
        return [(spec.engine, spec.base_url) for spec in asked.job.specs()]

    assert rows() == [("openai/inspector", "http://127.0.0.1:9/v1")]
    assert rows("openai/inspector") == [("openai/inspector", "http://127.0.0.1:9/v1")]
    assert rows(at=("http://127.0.0.1:8/v1",)) == [("openai/inspector", "http://127.0.0.1:8/v1")]
    assert rows("openai/other") == [("openai/other", None)]  # another judge isn't asked at this one's address
    (note,) = read_asked(Flags(suite=str(suite.folder))).notes
    assert "openai/inspector at http://127.0.0.1:9/v1" in note and "suite.toml" in note


def test_without_a_judge_in_the_manifest_somebody_must_be_named(tmp_path: Path) -> None:
    suite = made(tmp_path, changed('[judge]\nengine = "openai/inspector"\nbase_url = "http://127.0.0.1:9/v1"\n', ""))
    with pytest.raises(UsageError, match="name whom to ask"):
        read_asked(Flags(suite=str(suite.folder)))


def test_a_suite_may_have_its_own_detectors(tmp_path: Path) -> None:
    own = '[[detectors]]\nname = "shouting"\npatterns = ["!!+"]\n'
    suite = made(tmp_path, MANIFEST, **{"detectors.toml": own})
    assert [each.name for each in load_rules(suite, "judge").confirm["detectors"]] == ["shouting"]
    with pytest.raises(SuiteError, match=r"detectors\.toml.*RE2"):
        made(tmp_path, MANIFEST, **{"detectors.toml": '[[detectors]]\nname = "x"\npatterns = ["(a"]\n'})
