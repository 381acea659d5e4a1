"""What of a rubric moved between two rule files, place by place."""

import pytest

from harness._rubric_moved import rubric_moved

RULES = """
[read]
fence = true
[score]
rubric = "{digest}"
[score.policy]
threshold = "0.75"
[[score.criteria]]
id = "tone"
weight = "1"
description = "Friendly."
[[score.criteria]]
id = "length"
weight = "2"
description = "Short."
"""
BEFORE, AFTER = RULES.format(digest="a" * 64), RULES.format(digest="b" * 64)


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ("Friendly.", "Kind.", ("criteria tone description",)),
        ('weight = "2"', 'weight = "3"', ("criteria length weight",)),
        ("0.75", "0.5", ("policy threshold",)),
        ('id = "tone"', 'id = "voice"', ("criteria tone", "criteria voice")),
        ('weight = "2"\ndescription = "Short."', 'weight = "3"\ndescription = "Brief."',
         ("criteria length weight", "criteria length description")),
        ("[score.policy]", 'reply = "x"\n[score.policy]', ("reply",)),
    ],
)  # fmt: skip
def test_each_place_that_differs_is_named(old: str, new: str, paths: tuple[str, ...]) -> None:
    assert AFTER.count(old) == 1
    found = rubric_moved(BEFORE.encode(), AFTER.replace(old, new).encode())
    assert found is not None and found.paths == paths
    assert (found.before, found.after) == ("a" * 64, "b" * 64)


def test_another_order_of_criteria_is_another_rubric() -> None:
    head, first, second = AFTER.split("[[score.criteria]]")
    found = rubric_moved(BEFORE.encode(), f"{head}[[score.criteria]]{second}[[score.criteria]]{first}".encode())
    assert found is not None and found.paths == ("criteria order",)


def test_rules_that_differ_elsewhere_have_the_same_rubric() -> None:
    assert rubric_moved(BEFORE.encode(), BEFORE.replace("fence = true", "bom = true").encode()) is None


@pytest.mark.parametrize("other", [b"[read]\n", b"not TOML [", b"\xff", b"score = 3", b"[score]\nrubric = 3\n"])
def test_rules_without_a_rubric_have_none_that_moved(other: bytes) -> None:
    assert rubric_moved(BEFORE.encode(), other) is None
    assert rubric_moved(other, other) is None
