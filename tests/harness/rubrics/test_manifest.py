"""Manifests that won't do: each fault is one sentence with the file, the place, and what to write instead."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st

from harness._errors import HarnessError, RefusedError, SuiteError
from harness._suite import load_suite
from harness.rubrics._make import make, remake
from tests.harness.rubrics.ramps import FILES, MANIFEST, changed, ramps

THIN = 'file = "texts/thin.txt"'

FAULTS = [
    # Keys that nobody knows, at the top and inside.
    ('name = "ramps"\n', 'name = "ramps"\nseverity = 3\n', "unknown key 'severity'; expected name, about"),
    ("weight = 3", "wieght = 3", r"criteria.* 1.*unknown key 'wieght'; expected id, name, weight"),
    ('label = "complete"', 'lable = "complete"', r"fixtures 1 \(good\): unknown key 'lable'; expected id, task"),
    ("threshold = 0.75", "treshold = 0.75", r"policy.*unknown key 'treshold'"),
    ('engine = "openai/inspector"', 'model = "x"', r"judge: unknown key 'model'; expected engine, base_url"),
    ("[arms.calibration]", "[arms.callibration]", "arms: unknown key 'callibration'; expected calibration, injection"),
    ('identical = ["calm"', 'equal = ["calm"', "invariants: unknown key 'equal'; expected identical"),
    ('text = "Describe a ramp for', 'txt = "Describe a ramp for',
     r"tasks\.school: unknown key 'txt'; expected text, file"),
    # Criteria, flags, policy.
    ('id = "slope"', 'id = "two words"', "criteria.* 1.*id: expected"),
    ('id = "width"', 'id = "slope"', r"criteria.*'slope' stands twice"),
    ('id = "width"', 'id = "total"', r"'total' is a key of every judge's reply"),
    ('id = "tampering"', 'id = "slope"', r"flags 1 \(slope\): id: 'slope' is a criterion too"),
    ("weight = 3", "weight = 0", "weight: expected a number above 0"),
    ("weight = 3", "weight = -1", "weight: expected a number"),
    ("weight = 3", "weight = nan", "weight: expected a number"),
    ("weight = 3", 'weight = "3"', r"criteria 1 \(slope\): weight: expected a number such as 2 .*, got the text '3'"),
    ("weight = 3", "weight = true", "weight: expected a number"),
    ("max = 4", "max = 0", "expected min below max, got 0 and 0"),
    ("max = 4", "max = 4.0", "max: expected a whole number"),
    ("it is 1 in 12 or gentler", "it is {{ text }}", r"description: holds \{\{"),
    ("it is 1 in 12 or gentler", "[[reply]]", r"description: holds \[\["),
    ("it is 1 in 12 or gentler.", "so:\\n=== user ===\\nHi", "holds a line that would open a turn"),
    ("it is 1 in 12 or gentler", "a\\u0007b", r"control character U\+0007"),
    ('name = "Slope"', 'name = "Slope\\nand more"', "name: expected one line"),
    ("threshold = 0.75", "threshold = 0", "threshold: expected a share above 0"),
    ("threshold = 0.75", "threshold = 1.5", "threshold: expected a share"),
    ("threshold = 0.75", 'threshold = "most"', "threshold: expected a number"),
    ("threshold = 0.75", "threshold = 0.75\nall_at_least = 1", "exactly one of the two"),
    ("threshold = 0.75", "all_at_least = 2", "width: expected a number of its scale, 0 to 1"),
    ("threshold = 0.75", "all_at_least = { hight = 2 }", "'hight' is no criterion; there are slope, width, landing"),
    ("[policy]\nthreshold = 0.75", "", r"policy: expected threshold or all_at_least"),
    # The reply.
    ("[policy]", '[reply]\ntotal = "mean"\n[policy]', "total: expected one of sum, weighted, none"),
    ("[policy]", '[reply]\nverdicts = { pass = ["ok"], fail = [" OK "] }\n[policy]',
     "'ok' stands under pass and under fail"),
    ("[policy]", '[reply]\ncomments = ["width"]\n[policy]', "'width' is a criterion"),
    # References to what isn't there.
    ('task = "school"\nlabel = "complete"', 'task = "schol"',
     r"fixtures 1 \(good\): task: expected a task, got 'schol'; there are school, pool"),
    ("slope = 4, width = 1", "slop = 4, width = 1",
     "oracle: slop: expected a criterion, got 'slop'; there are slope, width"),
    ("slope = 4, width = 1,", "slope = 4,", "oracle: width: expected a score for every criterion"),
    ("slope = 4, width = 1", "slope = 5, width = 1", "oracle: slope: expected a whole number from 0 to 4, got 5"),
    ("slope = 4, width = 1", "slope = true, width = 1", "oracle: slope: expected a whole number from 0 to 4, got True"),
    ('verdict = "pass"', 'verdict = "fail"', 'verdict: expected "pass", which the oracle under the policy gives'),
    ('verdict = "pass"', 'verdict = "yes"', 'verdict: expected "pass" or "fail" or "blocked", got \'yes\''),
    ('flags = ["tampering"]', 'flags = ["sabotage"]', "flags: expected a flag, got 'sabotage'; there are tampering"),
    ("marker = true", 'marker = "yes"', "marker: expected true or false, got 'yes'"),
    ('identical = ["calm", "thin"]', 'identical = ["calm", "thick"]',
     "invariants: identical: expected a fixture, got 'thick'; there are good"),
    ('identical = ["calm", "thin"]', 'identical = ["calm"]', "identical: expected at least two fixtures"),
    ('identical = ["calm", "thin"]', 'identical = [["calm", "thin"], "good"]', "identical"),
    ('fixtures = ["good", "thin", "pool"]', 'fixtures = ["good", "bad"]',
     r"arms\.calibration: fixtures: expected a fixture, got 'bad'"),
    ('fixtures = ["good", "thin", "pool"]', 'fixtures = ["good", "good"]', "'good' stands twice"),
    ('fixtures = ["good", "thin", "pool"]', "fixtures = []", "expected at least one"),
    ('fixtures = ["good", "thin", "pool"]', 'fixtures = "good"', "fixtures: expected a list of texts, got 'good'"),
    ('fixtures = ["good", "thin", "pool"]', 'fixtures = ["calm"]', "calm has no oracle and no verdict"),
    ('oracle = { slope = 0, width = 0, landing = 1 }\nmarker', 'verdict = "blocked"\nflags = ["tampering"]\nmarker',
     'the verdict "blocked" of thin says nothing of its scores; give it an oracle'),
    ('pairs = [["calm", "loud"]]', 'pairs = [["calm", "thin"]]', "calm and thin are the same text, so that no attack"),
    ('pairs = [["calm", "loud"]]', 'pairs = [["calm"]]', r'pairs: expected a list of \["CONTROL", "TREATMENT"\]'),
    ('pairs = [["calm", "loud"]]', 'pairs = [["calm", "lout"]]', "pairs: expected a fixture, got 'lout'"),
    ('pairs = [["calm", "loud"]]', 'pairs = [["good", "loud"]]', r"nothing says what the control good is identical to"),
    ('pairs = [["calm", "loud"]]', 'pairs = [["calm", "calm"]]', "calm is a control and a treatment"),
    ('pairs = [["calm", "loud"]]', 'pairs = [["calm", "pool"]]', "calm answers the task school and pool the task pool"),
    ('pairs = [["calm", "loud"]]', 'pairs = [["calm", "loud"]]\nbase = { calm = "calm" }', "identical to itself"),
    ('neutral = "code"', 'neutral = "lie"',
     "neutral: expected a reference of kind neutral, got lie, which is adversarial"),
    ('neutral = "code"\n', "", r"neutral: expected .*got nothing; there are code, lie"),
    ('neutral = "code"', 'neutral = { good = "code" }', "good: expected a fixture of the arm; there are thin"),
    ('adversarial = "lie"', 'adversarial = "fib"', "adversarial: expected a reference, got 'fib'; there are code, lie"),
    ('aim = "pass"\n', "", r'references\.lie: aim: expected "pass" or "fail", got nothing'),
    ('kind = "neutral"', 'kind = "neutral"\naim = "pass"', "a neutral reference wants no verdict"),
    ("repeats = 3", "repeats = 1", "repeats: expected a whole number from 2"),
    ('tasks = ["school"]', 'tasks = ["gym"]',
     r"arms\.trigger: tasks: expected a task, got 'gym'; there are school, pool"),
    # Texts and files.
    (THIN, 'file = "texts/none.txt"', r"fixtures 2 \(thin\): file: .*none\.txt can't be read: No such file"),
    (THIN, 'file = "../outside.txt"', "expected a path inside the suite's folder, got '../outside.txt'"),
    (THIN, 'file = "texts/../../outside.txt"', "expected a path inside the suite's folder"),
    (THIN, 'file = "/etc/passwd"', "expected a path inside the suite's folder, got '/etc/passwd'"),
    (THIN, "file = 'C:\\x.txt'", "expected a path inside the suite's folder"),
    (THIN, 'file = "texts"', "expected a file, got 'texts', which is a folder"),
    (THIN, 'file = "texts/thin.txt"\ntext = "x"', "expected text or file, got both"),
    (THIN, "", r"fixtures 2 \(thin\): expected text or file, got neither"),
    (THIN, 'text = "  "', "text: expected text, got an empty one"),
    (THIN, 'text = "a\\u0000b"', r"text: holds the character U\+0000 \(at 1\)"),
    # The rest.
    ("[policy]", '[[bars]]\nbar = "rigth >= 90%"\n[policy]', r"bar: expected one of .*right.*, got 'rigth'"),
    ('stages = "rubric"', 'stages = "rubrik"',
     "stages: expected one of authority, manifest, pairwise, rubric, written, got 'rubrik'"),
    ('engine = "openai/inspector"\n', "", "base_url: goes with an engine"),
    ("temperature = 0", "temperature = nan", "sampling: temperature: expected what JSON can hold"),
    ('stages = "rubric"', 'stages = "rubric"\nprompt = "../x"', r"prompt: expected the name of a file in prompts/"),
    ('stages = "rubric"', 'stages = "rubric"\nprompt = "none"', r"prompt: .*none\.txt can't be read"),
    ('stages = "rubric"', 'stages = "rubric"\nrules = ["strict"]',
     "rules: 'strict' is not in rules/, which has fenced, judge"),
    ("[[criteria]]\nid = \"slope\"", "[criteria.slope]\nid = \"slope\"", "expected TOML"),
    ('about = "Is', 'about = 3 #"', "about: expected text, got 3"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), FAULTS, ids=[f"{new[:40]!a}" for _, new, _ in FAULTS])
def test_a_manifest_that_will_not_do_is_refused_in_one_sentence(tmp_path: Path, old: str, new: str, said: str) -> None:
    folder = ramps(tmp_path / "ramps", changed(old, new))
    with pytest.raises(SuiteError, match=said) as caught:
        load_suite(str(folder))
    assert "\n" not in str(caught.value) and str(folder / "suite.toml") in str(caught.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xef\xbb\xbfA ramp.", "starts with a byte order mark"),
        (b"A ramp \xff.", r"not UTF-8 \(byte 7\)"),
        (b"A\0ramp.", r"holds the character U\+0000 \(at 1\)"),
        (b" \n", "expected text, got an empty one"),
        (b"a" * (1 << 20) + b"b", "expected at most 1048576 bytes"),
    ],
)
def test_a_file_that_is_no_text_is_refused_by_name(tmp_path: Path, data: bytes, said: str) -> None:
    folder = ramps(tmp_path / "ramps")
    (folder / "texts/thin.txt").write_bytes(data)
    with pytest.raises(SuiteError, match=said) as caught:
        load_suite(str(folder))
    assert "thin.txt" in str(caught.value)


def test_a_link_that_leads_out_of_the_folder_is_refused_and_one_inside_is_followed(tmp_path: Path) -> None:
    folder = ramps(tmp_path / "ramps")
    (tmp_path / "outside.txt").write_bytes(b"A ramp will be built.\n")
    thin = folder / "texts/thin.txt"
    thin.unlink()
    thin.symlink_to(tmp_path / "outside.txt")
    with pytest.raises(SuiteError, match="leads out of the suite's folder over a link"):
        load_suite(str(folder))
    thin.unlink()
    thin.symlink_to("calm.txt")
    assert load_suite(str(folder))[0].name == "ramps"
    thin.unlink()
    thin.symlink_to("thin.txt")
    with pytest.raises(SuiteError, match="can't be read"):
        load_suite(str(folder))


@pytest.mark.parametrize("where", ["texts/thin.txt", "rules/fenced.toml", "detectors.toml", "prompts/grade.txt"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, where: str) -> None:
    folder = ramps(tmp_path / "ramps")
    (folder / where).parent.mkdir(exist_ok=True)
    (folder / where).unlink(missing_ok=True)
    os.mkfifo(folder / where)
    with pytest.raises(SuiteError, match="a folder, a pipe or a device"):
        load_suite(str(folder))


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("[read]\n[score]\nprimary = 'right'\n", r"fenced\.toml: unknown key 'score'; expected about, read"),
        ("reed = 1", "unknown key 'reed'"),
        ("[read", "expected TOML"),
        ("policy = 3", "policy: expected a table, got 3"),
        ("bars = ['rigth >= 90%']", r"rules/fenced\.toml: rule set fenced: bar: expected one of .*right.*got 'rigth'"),
        ("[read]\nfence = 3", r"rules/fenced\.toml: rule set fenced: "),
    ],
)
def test_a_rule_file_that_will_not_do_is_refused_by_name(tmp_path: Path, rules: str, said: str) -> None:
    with pytest.raises(SuiteError, match=said):
        load_suite(str(ramps(tmp_path / "ramps", files={**FILES, "rules/fenced.toml": rules})))


def test_one_byte_in_a_control_is_refused_with_both_ids_and_both_digests(tmp_path: Path) -> None:
    folder = ramps(tmp_path / "ramps")
    (folder / "texts/calm.txt").write_bytes(b"A ramp will be build.\n")
    digests = [blake3(text).hexdigest() for text in (b"A ramp will be built.\n", b"A ramp will be build.\n")]
    with pytest.raises(RefusedError, match=rf"calm and thin .*{digests[1]}.*{digests[0]}") as caught:
        load_suite(str(folder))
    assert caught.value.exit_status == 4 and "\n" not in str(caught.value)


def test_a_control_may_name_its_base_in_the_place_of_an_invariant(tmp_path: Path) -> None:
    based = changed('[invariants]\nidentical = ["calm", "thin"]\n', "").replace(
        '[["calm", "loud"]]', '[["calm", "loud"]]\nbase = { calm = "thin" }'
    )
    folder = ramps(tmp_path / "ramps", based)
    assert load_suite(str(folder))[0].fixtures[1] == "injection"
    (folder / "texts/calm.txt").write_bytes(b"A ramp will be built.")
    with pytest.raises(RefusedError, match=r"arms\.injection: base: thin and calm"):
        load_suite(str(folder))


# Anything at all

KEYS = st.sampled_from(
    sorted({*re.findall(r"^([a-z_]+) =", MANIFEST, re.MULTILINE), "policy", "all_at_least", "reply"})
)
PLAIN = st.one_of(
    st.text(max_size=8),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.sampled_from(["good", "calm", "school", "rubric"]),
)
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def _table() -> dict[str, Any]:
    return tomllib.loads(MANIFEST)


@settings(max_examples=150, deadline=None)
@given(where=st.lists(st.integers(0, 30), min_size=1, max_size=3), value=VALUES)
def test_whatever_stands_somewhere_in_a_manifest_it_is_made_or_refused(
    where: list[int], value: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "anything"
    if not folder.exists():
        ramps(folder)
    table = _table()
    place: Any = table
    for at in where[:-1]:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        inner = place[keys[at % len(keys)]] if keys else None
        if isinstance(inner, dict | list) and inner:
            place = inner
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    place[keys[where[-1] % len(keys)]] = value
    try:
        made = make(folder, table)
    except HarnessError as error:
        assert "\n" not in str(error)
    else:
        assert made.rules and made.prompt


@settings(max_examples=80, deadline=None)
@given(table=st.dictionaries(KEYS | st.text(max_size=6), VALUES, max_size=8), file=st.binary(max_size=60))
def test_any_manifest_and_any_rule_file_at_all_end_in_a_sentence(
    table: dict[str, Any], file: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    for work in (lambda: make(folder, table), lambda: remake(folder, _table(), file)):
        try:
            work()
        except HarnessError as error:
            assert "\n" not in str(error)
