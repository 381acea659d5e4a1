"""Rule sets are found by name, path or label; a label is one frozen rule set, and nobody chooses between two."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness._errors import RefusedError, RulesError, UsageError
from harness._rescore import find_rule_sets, rescore_run
from harness._rules import ruleset_from_frozen
from ledger import Ledger
from tests.harness.answered import answered_run, rules_of
from tests.harness.test_run import ROOT


@pytest.fixture
def run(ledger: Ledger) -> str:
    return answered_run(ledger).run


def test_a_name_a_path_and_a_label_find_the_same_rule_set(
    ledger: Ledger, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    (label,) = [each.label for each in rules_of("strict-cite")]
    path = str(ROOT / "fixtures" / "authority" / "rules" / "strict-cite.toml")
    assert [each.label for each in find_rule_sets(ledger, run, ["strict-cite", path, label])] == [label]


def test_a_rule_set_that_is_gone_on_disk_comes_out_of_the_ledger(
    ledger: Ledger, run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (found,) = find_rule_sets(ledger, run, ["strict-cite"])
    assert found.label == rules_of("strict-cite")[0].label
    with pytest.raises(RulesError, match="no rule set of suite authority is called 'fence-cite'; there are default,"):
        find_rule_sets(ledger, run, ["fence-cite"])


def test_two_files_that_were_frozen_under_one_name_are_not_chosen_between(
    ledger: Ledger, run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (strict,) = rules_of("strict-cite")
    other = ruleset_from_frozen("strict-cite", strict.file + b"\n# another\n", "authority")
    rescore_run(ledger, run, [other])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RulesError, match="several rule sets were frozen as 'strict-cite'"):
        find_rule_sets(ledger, run, ["strict-cite"])
    assert [each.label for each in find_rule_sets(ledger, run, [other.label])] == [other.label]


def test_a_label_whose_code_isnt_here_is_refused_and_its_name_is_offered(ledger: Ledger, run: str) -> None:
    from harness._freeze import freeze_rules

    (strict,) = rules_of("strict-cite")
    moved = {**strict.sources, "harness.suites.authority._confirm": b"# other code\n"}
    old = ruleset_from_frozen("strict-cite", strict.file, "authority", moved)
    freeze_rules(ledger, [old])
    with pytest.raises(RefusedError, match=r"frozen with other code \(harness.suites.authority._confirm\)"):
        find_rule_sets(ledger, run, [old.label])
    with pytest.raises(RefusedError, match="frozen with other code"):
        rescore_run(ledger, run, [old])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("../../etc/passwd", "is called '../../etc/passwd'"),
        ("/dev/zero.toml", "can't be read"),
        ("nowhere.toml", "can't be read"),
        ("a\x1b[31m", "is called 'a"),
        ("strict-cite@000000000000", "no rule set was frozen as"),
        ("", "is called ''"),
        ("Bad Name.toml", "in lower-case letters, digits"),
    ],
)
def test_what_names_no_rule_set_is_one_sentence(ledger: Ledger, run: str, name: str, says: str) -> None:
    with pytest.raises(RulesError) as refused:
        find_rule_sets(ledger, run, [name])
    assert says in str(refused.value)
    assert "\x1b" not in str(refused.value)


def test_the_rule_file_of_another_suite_is_refused(ledger: Ledger, run: str, tmp_path: Path) -> None:
    path = tmp_path / "other.toml"
    path.write_text("[read]\n[confirm]\nunknown_clause = true\n", "utf-8")
    with pytest.raises(RulesError, match="unknown_clause"):
        find_rule_sets(ledger, run, [str(path)])
    path.write_bytes(b"a" * ((1 << 20) + 1))
    with pytest.raises(RulesError, match="at most 1048576 bytes"):
        find_rule_sets(ledger, run, [str(path)])
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(RulesError, match="expected a file"):
        find_rule_sets(ledger, run, [str(tmp_path / "folder.toml")])


def test_what_to_compare_with_is_a_rule_set_of_the_run(ledger: Ledger, run: str) -> None:
    rescore_run(ledger, run, rules_of("fence-cite"))
    done = rescore_run(ledger, run, rules_of("fence-span"), against="fence-cite")
    assert done.against == rules_of("fence-cite")[0].label
    with pytest.raises(UsageError, match="never scored under 'nothing'"):
        rescore_run(ledger, run, rules_of("fence-span"), against="nothing")
