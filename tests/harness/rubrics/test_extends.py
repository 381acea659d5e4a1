"""Variants: a manifest that extends another changes the judge and nothing else, and the bytes prove it."""

import os
from pathlib import Path

import pytest

from harness._errors import RefusedError, SuiteError
from harness._suite import Suite, load_suite
from tests.harness.rubrics.ramps import FILES, MANIFEST, ramps

VARIANT = """\
name = "ramps-b"
about = "Another judge."
extends = "../ramps"

[judge]
engine = "openai/other"

[sampling]
temperature = 0.7
"""


def variant(folder: Path, text: str = VARIANT, **files: str) -> Path:
    return ramps(folder / "ramps-b", text, files)


def loaded(folder: Path) -> Suite:
    return load_suite(str(folder))[0]


def test_a_variants_cases_and_rules_are_byte_for_byte_its_bases(tmp_path: Path) -> None:
    base, other = loaded(ramps(tmp_path / "ramps")), loaded(variant(tmp_path))
    assert base.made is not None and other.made is not None
    assert other.made.fixtures == base.made.fixtures and other.made.rules == base.made.rules
    assert other.prompt_file == base.prompt_file and other.rule_names == base.rule_names
    assert (other.name, other.folder.name) == ("ramps", "ramps-b")


def test_a_variant_changes_whom_to_ask_and_how(tmp_path: Path) -> None:
    ramps(tmp_path / "ramps")
    other = loaded(variant(tmp_path))
    assert other.made is not None
    # The other judge isn't asked at the base's address; of the sampling, what isn't changed stays.
    assert (other.made.engine, other.made.base_url) == ("openai/other", "")
    assert dict(other.parameters) == {"temperature": 0.7, "max_tokens": 300}


def test_a_variant_may_have_a_prompt_of_its_own_in_its_own_folder(tmp_path: Path) -> None:
    base = loaded(ramps(tmp_path / "ramps"))
    text = VARIANT.replace("\n\n[judge]", '\nprompt = "terse"\n\n[judge]')
    terse = "{{ task }} {{ text }}\n[[criteria]]\n[[flags]]\n[[reply]]\n"
    other = loaded(variant(tmp_path, text, **{"prompts/terse.txt": terse}))
    assert other.prompt_file != base.prompt_file
    assert other.prompt_file.splitlines()[0] == base.prompt_file.splitlines()[0]  # the rubric is the same
    assert other.made is not None and base.made is not None and other.made.fixtures == base.made.fixtures


def test_a_variant_of_a_variant_is_the_base_with_both_changes(tmp_path: Path) -> None:
    base = loaded(ramps(tmp_path / "ramps"))
    variant(tmp_path)
    last = ramps(tmp_path / "ramps-c", 'name = "ramps-c"\nextends = "../ramps-b"\n[sampling]\nmax_tokens = 50\n', {})
    found = loaded(last)
    assert found.made is not None and base.made is not None and found.made.rules == base.made.rules
    assert dict(found.parameters) == {"temperature": 0.7, "max_tokens": 50} and found.made.engine == "openai/other"


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ('stages = "rubric"', "stages"),
        ('rules = ["judge"]', "rules"),
        ("[policy]\nthreshold = 0.5", "policy"),
        ('[[criteria]]\nid = "charm"', "criteria"),
        ("[invariants]", "invariants"),
        ("[arms.calibration]\nfixtures = []", "arms"),
        ("[tasks.x]\ntext = 'x'", "tasks"),
        ("strictness = 3", "strictness"),
    ],
)
def test_anything_else_in_a_variant_is_refused_by_name(tmp_path: Path, more: str, key: str) -> None:
    ramps(tmp_path / "ramps")
    text = f'name = "ramps-b"\nextends = "../ramps"\n{more}\n'
    with pytest.raises(SuiteError, match=rf"ramps-b.suite\.toml: {key}: a variant changes the judge and nothing else"):
        loaded(variant(tmp_path, text))


@pytest.mark.parametrize(
    ("extends", "said"),
    [
        ('"../nowhere"', r"extends: there is no suite\.toml in .*nowhere"),
        ('"."', "extends: leads round in a circle"),
        ('"/etc"', "expected a path relative to this folder"),
        ('""', "extends: expected text, got an empty one"),
        ("3", "extends: expected text, got 3"),
        ('"a\\u0000b"', r"U\+0000"),
        ('"' + "x" * 5000 + '"', "File name too long"),
    ],
)
def test_a_base_that_is_not_there_is_named(tmp_path: Path, extends: str, said: str) -> None:
    ramps(tmp_path / "ramps")
    with pytest.raises(SuiteError, match=said) as caught:
        loaded(variant(tmp_path, f'name = "ramps-b"\nextends = {extends}\n'))
    assert "\n" not in str(caught.value)


def test_a_chain_that_leads_back_to_itself_is_refused(tmp_path: Path) -> None:
    for here, there in (("one", "two"), ("two", "three"), ("three", "one")):
        ramps(tmp_path / here, f'name = "{here}"\nextends = "../{there}"\n', {})
    with pytest.raises(SuiteError, match=r"leads round in a circle: .*one.* extends .*two.* extends .*three"):
        loaded(tmp_path / "one")


def test_a_chain_without_end_is_refused(tmp_path: Path) -> None:
    for at in range(12):
        ramps(tmp_path / f"v{at}", f'name = "v{at}"\nextends = "../v{at + 1}"\n', {})
    with pytest.raises(SuiteError, match="expected a chain of at most 8 variants"):
        loaded(tmp_path / "v0")


def test_a_fault_of_the_base_is_told_with_the_bases_file(tmp_path: Path) -> None:
    ramps(tmp_path / "ramps", MANIFEST.replace("weight = 3", "weight = 0"))
    with pytest.raises(SuiteError, match=r"ramps.suite\.toml.*weight"):
        loaded(variant(tmp_path))
    ramps(tmp_path / "ramps", MANIFEST, {**FILES, "texts/calm.txt": "another"})
    with pytest.raises(RefusedError, match="calm and thin"):
        loaded(variant(tmp_path))


def test_a_base_whose_manifest_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "ramps").mkdir()
    os.mkfifo(tmp_path / "ramps" / "suite.toml")
    with pytest.raises(SuiteError, match="a folder, a pipe or a device"):
        loaded(variant(tmp_path))
