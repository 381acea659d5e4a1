"""Two rule sets differ in switches that are in force and in code, and in nothing that only looks different."""

from pathlib import Path

import pytest

from harness import RuleSet
from harness._rules import ruleset_from_frozen, stage_sources
from harness._rules_diff import code_diff, diff_rules, switches

HERE = Path(__file__).resolve().parents[2] / "fixtures" / "authority" / "rules"


def rules(name: str, change: tuple[str, str] = ("", "")) -> RuleSet:
    text = (HERE / f"{name}.toml").read_text()
    assert change[0] in text
    file = (text.replace(*change) if change[0] else text + change[1]).encode()
    return ruleset_from_frozen(name, file, "authority", stage_sources("authority"))


def moved(a: RuleSet, b: RuleSet) -> dict[str, tuple[object, object]]:
    return {each.switch: (each.a, each.b) for each in diff_rules(a, b).switches}


def test_a_rule_set_is_the_same_as_itself() -> None:
    found = diff_rules(rules("strict-cite"), rules("strict-cite"))
    assert found.same and found.same_file and not found.switches and not found.code
    assert found.sentence() == "the same rule set"


def test_switches_that_differ_are_named_by_their_place_in_the_file() -> None:
    found = moved(rules("strict-cite"), rules("fence-span"))
    assert {name: found.pop(name) for name in list(found) if not name.startswith("bars.")} == {
        "read.fence": (False, True), "read.unclosed_fence": (False, True), "confirm.relation_in_span": (False, True),
    }  # fmt: skip
    assert set(found) == {"bars.direction >= 3/4", "bars.false_fire <= 1/6"}
    assert diff_rules(rules("strict-cite"), rules("fence-span")).sentence() == (
        "two rule sets, which differ in 5 switches"
    )


def test_a_policy_and_its_clauses_are_switches() -> None:
    found = moved(rules("strict-cite"), rules("as-of-2026-07-01"))
    assert found["unmeasured.policy"][0] == "leave-out"
    counted = [value for _, value in found.values() if isinstance(value, str) and " as " in value]
    assert {each.partition(":")[0] for each in counted} >= {"exact as 0", "negative_pass as 1"}


def test_bars_are_switches() -> None:
    bars = '\n[[bars]]\nbar = "direction >= 9/12"\nfails = "too weak"\n'
    lower = '\n[[bars]]\nbar = "direction >= 8/12"\nfails = "too weak"\n'
    one, other = rules("strict-cite", ("", bars)), rules("strict-cite", ("", lower))
    assert moved(rules("strict-cite"), one) == {"bars.direction >= 3/4": (None, "too weak")}
    assert moved(one, other) == {
        "bars.direction >= 3/4": ("too weak", None), "bars.direction >= 2/3": (None, "too weak"),
    }  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [("", "\n# a comment\n"), ("min_confidence = 0.60", "min_confidence = 0.6000"),
     ("relation_in_span = false\n", ""), ("[read]\n", "[read]\nfence = false\n"), ("about = ", "about = 'x'\n# ")],
)  # fmt: skip
def test_files_that_say_the_same_in_other_words_differ_in_no_switch(change: tuple[str, str]) -> None:
    found = diff_rules(rules("strict-cite"), rules("strict-cite", change))
    assert not found.switches and not found.same and not found.same_file
    assert found.sentence() == "files that differ in words alone: every switch is the same, and so is the code"


def test_one_file_under_other_code_is_told_from_one_rule_set() -> None:
    module = "harness.suites.authority._confirm"
    sources = stage_sources("authority")
    changed = {**sources, module: sources[module] + b"# a comment\n"}
    other = ruleset_from_frozen("strict-cite", rules("strict-cite").file, "authority", changed)
    found = diff_rules(rules("strict-cite"), other)
    assert found.same_file and not found.same and not found.switches
    assert [each.module for each in found.code] == [module]
    assert found.sentence() == "the same file, and other code: 1 module"
    lines = list(code_diff(found.a, found.b))
    assert lines[-1] == "+# a comment"
    assert [line for line in lines if line[0] in "+-"][2:] == ["+# a comment"]


def test_a_module_that_came_or_went_is_named() -> None:
    less = {name: source for name, source in stage_sources("authority").items() if name != "harness.parse._shell"}
    other = ruleset_from_frozen("strict-cite", rules("strict-cite").file, "authority", less)
    (found,) = diff_rules(rules("strict-cite"), other).code
    assert (found.module, found.b) == ("harness.parse._shell", None) and found.a is not None


def test_the_switches_are_all_there_are_with_the_value_in_force() -> None:
    found = switches(rules("strict-cite", ("min_confidence = 0.60", "min_confidence = 1")))
    assert found["read.fence"] is False and found["read.terminal"] == "refuse"
    assert found["confirm.min_confidence"] == "1" and found["confirm.fold"] == ["lower", "space"]
    assert found["score.primary.positive"] == "exact" and found["unmeasured.policy"] == "leave-out"
    assert (
        switches(rules("strict-cite", ("0.60", "0.60000000000000000000000000000000001")))["confirm.min_confidence"]
        == "0.60000000000000000000000000000000001"
    )
