"""What moved in the environment: what can change a derived value is derived again, and everything else is named."""

from __future__ import annotations

import ast
import importlib.metadata
import sys

import pytest

from harness._environment import POLICY, environment, moved_environment, shifts_in_words
from harness._rules import stage_sources
from harness.suites import stage_names


def loaded_from_elsewhere(stage_name: str) -> set[str]:
    """Packages neither ours nor Python's that the modules which derive import, at their head or when first needed."""
    found: set[str] = set()
    for source in stage_sources(stage_name).values():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                found |= {each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                found |= {str(each.value) for each in node.args if isinstance(each, ast.Constant)}
    return {name for name in found if name not in sys.stdlib_module_names} - {"harness", "ledger"}


@pytest.mark.parametrize("stage_name", ["", *stage_names()])
def test_every_package_that_deriving_may_import_is_one_that_the_policy_derives_again_for(stage_name: str) -> None:
    packages = importlib.metadata.packages_distributions()
    named = {
        name.lower().replace("_", "-") for module in loaded_from_elsewhere(stage_name) for name in packages[module]
    }
    assert named
    assert {name for name in named if POLICY.get(name) != "derives"} == set()


def test_a_plan_says_of_each_name_of_the_policy_what_it_is_here() -> None:
    here = environment()
    assert set(POLICY) - set(here) <= {"git_commit", "git_dirty"}
    assert set(here) <= set(POLICY)
    assert here["python"] == sys.version.split()[0]
    assert "not installed" not in {here[name] for name in POLICY if POLICY[name] == "derives"}


def test_only_what_both_name_and_have_otherwise_has_moved() -> None:
    before = {"python": "3.12.1", "system": "Linux", "httpx": "0.27", "old": "1"}
    after = {"python": "3.13.0", "system": "Darwin", "httpx": "0.27", "pyte": "0.8"}
    shifts = moved_environment(before, after)
    assert [(each.name, each.weight) for each in shifts] == [("python", "derives"), ("system", "beside")]
    assert shifts_in_words(shifts) == "python 3.12.1 to 3.13.0; system Linux to Darwin"
    assert shifts[0].as_json() == {"name": "python", "before": "3.12.1", "after": "3.13.0", "weight": "derives"}
    assert moved_environment(after, after) == ()
