"""Sets are compared without order, nothing found where nothing is expected is right, and what is undefined is None."""

from hypothesis import given
from hypothesis import strategies as st

from harness.scorers import compare_sets, label

ITEMS = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=8)


def test_nothing_expected_and_nothing_found_is_a_true_negative_without_precision_or_recall() -> None:
    found = compare_sets([], [])
    assert (found.outcome, found.exact) == ("true_negative", True)
    assert found.precision is found.recall is found.f1 is None


def test_something_found_where_nothing_is_expected_has_precision_and_no_recall() -> None:
    found = compare_sets(["a"], [])
    assert (found.outcome, found.exact, found.precision, found.recall) == ("false_positive", False, 0.0, None)
    assert found.f1 == 0.0 and found.extra == ("a",)


def test_nothing_found_where_something_is_expected_has_recall_and_no_precision() -> None:
    found = compare_sets([], ["a", "b"])
    assert (found.outcome, found.exact, found.precision, found.recall) == ("false_negative", False, None, 0.0)
    assert found.missing == ("a", "b")


def test_a_part_and_nothing_in_common_are_told_apart() -> None:
    part = compare_sets(["a", "x"], ["a", "b"])
    assert (part.outcome, part.precision, part.recall, part.f1) == ("partial", 0.5, 0.5, 0.5)
    assert (part.shared, part.missing, part.extra) == (("a",), ("b",), ("x",))
    assert compare_sets(["x"], ["a"]).outcome == "disjoint"


def test_a_duplicate_counts_once_and_is_said() -> None:
    found = compare_sets(["a", "a", "b"], ["b", "a", "b"])
    assert (found.outcome, found.precision, found.recall) == ("exact", 1.0, 1.0)
    assert (found.duplicates, found.expected_duplicates) == (("a",), ("b",))
    alike = compare_sets(["Yes", "yes."], ["yes"], label)
    assert alike.exact and alike.duplicates == ("yes",)


def test_an_item_without_a_normal_form_counts_and_never_matches() -> None:
    found = compare_sets(["...", "a"], ["...", "a"], label)
    assert (found.outcome, found.exact, found.precision, found.recall) == ("partial", False, 0.5, 0.5)
    assert (found.unreadable, found.expected_unreadable) == (("...",), ("...",))
    assert compare_sets([""], []).outcome == "false_positive"
    assert compare_sets([], [""]).outcome == "false_negative"


@given(ITEMS, ITEMS, st.randoms())
def test_order_and_repeats_move_nothing_but_the_duplicates(one: list[str], other: list[str], chance: object) -> None:
    found = compare_sets(one, other)
    shuffled = list(one)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert compare_sets(shuffled, other) == found
    assert found.exact == (set(one) == set(other))
    assert found.precision == (len(set(one) & set(other)) / len(set(one)) if one else None)
    assert found.recall == (len(set(one) & set(other)) / len(set(other)) if other else None)


@given(ITEMS, ITEMS)
def test_precision_one_way_is_recall_the_other(one: list[str], other: list[str]) -> None:
    there, back = compare_sets(one, other), compare_sets(other, one)
    assert (there.precision, there.recall, there.f1) == (back.recall, back.precision, back.f1)
    assert (there.missing, there.duplicates) == (back.extra, back.expected_duplicates)
