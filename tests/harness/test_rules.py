"""Rule sets: what their files may say, and what their digest covers."""

import shutil
from decimal import Decimal
from pathlib import Path

import pytest
from blake3 import blake3

from harness._errors import RulesError
from harness._rules import (
    builtin_rules,
    load_rules,
    moved_sources,
    rules_digest,
    ruleset_from_frozen,
    stage_sources,
)
from harness._suite import Suite, load_suite
from harness.parse import ReadRules

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
METRIC = '[[score.metrics]]\nname = "{}"\nkind = "{}"\napplies = "{}"\nhigher_is_better = {}\n'


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    """The authority suite in a folder of its own, so that a test can write rule files."""
    shutil.copytree(FIXTURES / "authority", tmp_path / "authority")
    return load_suite(str(tmp_path / "authority"))[0]


def write(suite: Suite, text: str, name: str = "mine") -> str:
    (suite.folder / "rules" / f"{name}.toml").write_text(text)
    return name


def test_the_shipped_rule_sets_read_and_confirm_as_they_say(suite: Suite) -> None:
    strict, fence = load_rules(suite, "strict-cite"), load_rules(suite, "fence-cite")
    assert strict.read == ReadRules(list_not_object=True)
    assert fence.read == ReadRules(list_not_object=True, fence=True, unclosed_fence=True)
    assert dict(strict.confirm) == dict(fence.confirm)
    assert strict.confirm["min_confidence"] == Decimal("0.60")
    assert strict.confirm["relation_in_span"] is False
    assert dict(strict.primary) == {"positive": "exact", "negative": "negative_pass"}
    assert [metric.name for metric in strict.metrics] == [
        "exact", "direction", "negative_pass", "false_fire", "false_fire_without_confirmer",
    ]  # fmt: skip
    assert strict.digest != fence.digest


def test_a_label_is_the_name_and_twelve_digits(suite: Suite) -> None:
    rules = load_rules(suite, "fence-cite")
    assert rules.label == f"fence-cite@{rules.digest[:12]}"
    assert len(rules.digest) == 64


def test_the_digest_covers_the_file_and_the_source_of_every_stage(suite: Suite) -> None:
    rules = load_rules(suite, "strict-cite")
    assert {"harness.parse", "harness._derive", "harness.suites.authority._confirm"} <= set(rules.sources)
    assert rules.sources["harness._json"] == (FIXTURES.parent / "harness" / "_json.py").read_bytes()
    assert rules.digest == rules_digest(rules.file, rules.sources)
    assert rules_digest(rules.file + b"\n", rules.sources) != rules.digest
    for name, source in rules.sources.items():
        assert rules_digest(rules.file, {**rules.sources, name: source + b"# a comment\n"}) != rules.digest
    assert rules_digest(rules.file, {name: rules.sources[name] for name in reversed(rules.sources)}) == rules.digest


def test_the_digest_is_the_documented_one() -> None:
    lines = [
        "eval-ledger rules 1",
        f"file {blake3(b'f').hexdigest()}",
        f"source a {blake3(b'1').hexdigest()}",
        f"source b.c {blake3(b'2').hexdigest()}",
    ]
    expected = blake3("".join(line + "\n" for line in lines).encode()).hexdigest()
    assert rules_digest(b"f", {"b.c": b"2", "a": b"1"}) == expected


def test_reading_alone_stands_on_no_suite() -> None:
    rules = builtin_rules("default")
    assert rules.read == ReadRules.default()
    assert rules.metrics == ()
    assert not any(name.startswith("harness.suites.authority") for name in rules.sources)


def test_the_built_in_default_fits_any_suite_with_the_suite_s_own_metrics(suite: Suite) -> None:
    rules = load_rules(suite, "default")
    assert rules.file == builtin_rules("default").file
    assert rules.digest != builtin_rules("default").digest
    assert dict(rules.primary) == {"positive": "exact", "negative": "negative_pass"}
    assert rules.confirm["shared_scope_terms"] == 1


def test_a_suite_s_own_default_goes_before_the_built_in_one(suite: Suite) -> None:
    write(suite, "[read]\nfence = true\n", "default")
    assert load_rules(suite, "default").read == ReadRules(fence=True)


def test_a_frozen_rule_set_is_rebuilt_from_its_blobs(suite: Suite) -> None:
    rules = load_rules(suite, "fence-cite")
    assert ruleset_from_frozen("fence-cite", rules.file, "authority", rules.sources) == rules
    assert ruleset_from_frozen("fence-cite", rules.file, "authority") == rules
    assert moved_sources(rules) == ()


def test_code_that_moved_since_the_freeze_is_named(suite: Suite) -> None:
    rules = load_rules(suite, "fence-cite")
    then = {**rules.sources, "harness.suites.authority._gone": b"", "harness._json": b"old"}
    del then["harness.suites.authority._score"]
    old = ruleset_from_frozen("fence-cite", rules.file, "authority", then)
    assert old.digest == rules_digest(rules.file, then) != rules.digest
    assert moved_sources(old) == (
        "harness._json", "harness.suites.authority._gone", "harness.suites.authority._score",
    )  # fmt: skip


def test_sources_leave_out_no_module_of_the_packages_they_name() -> None:
    folder = FIXTURES.parent / "harness"
    for package in ("parse", "suites/authority"):
        for path in (folder / package).rglob("*.py"):
            name = ".".join(("harness", *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
            assert stage_sources("authority")[name] == path.read_bytes()


def test_a_number_in_a_rule_file_is_not_rounded(suite: Suite) -> None:
    name = write(suite, "[read]\n[confirm]\nmin_confidence = 0.60000000000000000001\n")
    assert load_rules(suite, name).confirm["min_confidence"] == Decimal("0.60000000000000000001")


def test_one_metric_for_every_group_has_to_apply_to_every_group(suite: Suite) -> None:
    with pytest.raises(RulesError, match="exact applies to positive cases only"):
        load_rules(suite, write(suite, '[read]\n[score]\nprimary = "exact"\n'))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", r"expected a table \[read\]"),
        ("read = 1", "read: expected a table"),
        ("[read]\nfences = true", "fences"),
        ("[read]\nfence = 1", "fence"),
        ("[reed]", "unknown key 'reed'"),
        ("about = 1\n[read]", "about: expected text"),
        ("[read]\n[confirm]\ngate = 1", r"\[confirm\] unknown key 'gate'"),
        ("[read]\n[confirm]\nmin_confidence = nan", "min_confidence"),
        ("[read]\n[score]\nweights = 1", r"\[score\] unknown key 'weights'"),
        ("[read]\n[score]\nprimary = 3", "primary: expected"),
        ('[read]\n[score]\nprimary = { positive = "exact" }', "no metric for negative cases"),
        ('[read]\n[score]\nprimary = { positive = "exact", negative = "exact" }', "positive cases only"),
        ('[read]\n[score]\nprimary = { positive = "exact", negtive = "x" }', "'negtive'"),
        ('[read]\n[score]\nprimary = { positive = "f1", negative = "negative_pass" }', "'f1'"),
        ("[read]\n[score]\nmetrics = 3", "expected name, kind"),
        ("[read]\n[score]\nmetrics = []", "expected name, kind"),
        ("[read]\n[score]\nmetrics = [1]", "expected name, kind"),
        ('[read]\n[[score.metrics]]\nname = "exact"', "expected name, kind"),
        ("[read]\n" + METRIC.format("f1", "rate", "positive", "true"), "'f1'"),
        ("[read]\n" + METRIC.format("exact", "mean", "positive", "true"), "exact: kind: expected 'rate'"),
        ("[read]\n" + METRIC.format("exact", "rate", "all", "true"), "exact: applies: expected 'positive'"),
        ("[read]\n" + METRIC.format("exact", "rate", "positive", "1"), "exact: higher_is_better: expected True"),
        ("[read]\n" + 2 * METRIC.format("exact", "rate", "positive", "true"), "a name stands twice"),
        ("[read]\n" + METRIC.format("exact", "rate", "positive", "true"), "primary.negative: expected one of exact"),
        ("[read", "expected TOML"),
    ],
)
def test_a_file_that_says_something_else_is_refused_with_what_and_where(suite: Suite, text: str, says: str) -> None:
    with pytest.raises(RulesError, match=says) as caught:
        load_rules(suite, write(suite, text))
    assert caught.value.exit_status == 2
    assert str(caught.value).startswith("rule set mine: ")


@pytest.mark.parametrize("name", ["nowhere", "../suite", "", "a/b", "\x1b[2J", "strict-cite@0123456789ab"])
def test_a_rule_set_that_is_not_there_is_told_with_those_that_are(suite: Suite, name: str) -> None:
    with pytest.raises(RulesError, match="as-of-2026-07-01, fence-cite, fence-span, strict-cite") as caught:
        load_rules(suite, name)
    assert "\x1b" not in str(caught.value)


def test_bytes_that_are_not_text_are_refused(suite: Suite) -> None:
    (suite.folder / "rules" / "mine.toml").write_bytes(b"\xff")
    with pytest.raises(RulesError, match="not UTF-8"):
        load_rules(suite, "mine")
