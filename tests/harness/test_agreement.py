"""Cohen's kappa is what its papers print and what the formula by hand gives; undefined where nothing can be told."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness._kappa import Agreement, agreement, agreement_of_scores

Table = Sequence[Sequence[int]]


def spread(table: Table) -> list[tuple[int, int]]:
    """A table of counts as the pairs that it counts."""
    return [(row, column) for row, each in enumerate(table) for column, count in enumerate(each) for _ in range(count)]


def of_labels(table: Table) -> Agreement:
    return agreement([(f"label {one}", f"label {other}") for one, other in spread(table)])


def by_hand(pairs: Sequence[tuple[int, int]], *, linear: bool) -> tuple[float, float] | None:
    """Kappa and its standard error straight from Fleiss, Cohen and Everitt 1969, in plain sums."""
    scale = sorted({each for pair in pairs for each in pair})
    width = scale[-1] - scale[0]
    if not width:
        return None
    n = len(pairs)
    p = {(i, j): sum(pair == (i, j) for pair in pairs) / n for i in scale for j in scale}
    row = {i: sum(p[i, j] for j in scale) for i in scale}
    column = {j: sum(p[i, j] for i in scale) for j in scale}
    w = {(i, j): 1 - abs(i - j) / width if linear else float(i == j) for i in scale for j in scale}
    seen = sum(w[key] * p[key] for key in p)
    chance = sum(w[i, j] * row[i] * column[j] for i, j in p)
    kappa = (seen - chance) / (1 - chance)
    w_row = {i: sum(w[i, j] * column[j] for j in scale) for i in scale}
    w_column = {j: sum(w[i, j] * row[i] for i in scale) for j in scale}
    total = sum(p[i, j] * (w[i, j] - (w_row[i] + w_column[j]) * (1 - kappa)) ** 2 for i, j in p)
    variance = (total - (kappa - chance * (1 - kappa)) ** 2) / (n * (1 - chance) ** 2)
    return kappa, math.sqrt(max(0.0, variance))


@pytest.mark.parametrize(
    ("table", "kappa", "error"),
    [
        pytest.param([[88, 14, 18], [10, 40, 10], [2, 6, 12]], 0.492, None, id="Cohen 1960"),
        pytest.param([[106, 10, 4], [22, 28, 10], [2, 12, 6]], 0.429, 0.0537, id="Fleiss, Cohen and Everitt 1969"),
        pytest.param([[75, 1, 4], [5, 4, 1], [0, 0, 10]], 0.676, 0.0877, id="Fleiss 1981"),
    ],
)
def test_kappa_is_what_the_literature_prints_for_its_tables(table: Table, kappa: float, error: float | None) -> None:
    found = of_labels(table)
    assert found.kappa == pytest.approx(kappa, abs=0.0005)
    assert found.kappa is not None and found.kappa_low is not None and found.kappa_high is not None
    if error is not None:
        assert (found.kappa_high - found.kappa_low) / 2 == pytest.approx(1.959964 * error, abs=0.0002)
    assert found.agreed == sum(table[at][at] for at in range(3)) and found.n == sum(map(sum, table))


def test_linear_weights_give_what_the_example_of_artstein_and_poesio_gives() -> None:
    table = [[46, 0, 0], [4, 40, 0], [0, 0, 10]]
    assert of_labels(table).kappa == pytest.approx(0.9315, abs=5e-5)
    assert agreement_of_scores(spread(table)).kappa == pytest.approx(0.9412, abs=5e-5)


pytestmark = pytest.mark.filterwarnings("error")
PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60)


@given(PAIRS, st.booleans())
@settings(max_examples=60, deadline=None)
def test_kappa_and_its_interval_are_those_of_the_formula_by_hand(pairs: list[tuple[int, int]], linear: bool) -> None:
    found = agreement_of_scores(pairs) if linear else agreement([(str(a), str(b)) for a, b in pairs])
    expected = by_hand(pairs, linear=linear)
    if expected is None:
        assert (found.kappa, found.why) == (None, "one_label")
        return
    kappa, error = expected
    assert found.kappa == pytest.approx(kappa, abs=1e-8)
    if error < 1e-6:
        assert found.kappa_low is None and found.kappa_high is None
    elif error > 1e-5:
        assert found.kappa_low == pytest.approx(max(-1, kappa - 1.959964 * error), abs=1e-5)
        assert found.kappa_high == pytest.approx(min(1, kappa + 1.959964 * error), abs=1e-5)


@given(PAIRS)
@settings(max_examples=30, deadline=None)
def test_who_is_called_the_first_of_two_makes_no_difference(pairs: list[tuple[int, int]]) -> None:
    assert agreement_of_scores(pairs) == agreement_of_scores([(b, a) for a, b in pairs])


def test_one_label_throughout_leaves_kappa_undefined_and_the_share_stands() -> None:
    found = agreement([("pass", "pass")] * 12)
    assert (found.kappa, found.kappa_low, found.why) == (None, None, "one_label")
    assert (found.agreed, found.n, found.share) == (12, 12, 1.0)
    assert found.low == pytest.approx(0.7575, abs=1e-4)


def test_nothing_labelled_is_no_data_and_no_figure_at_all() -> None:
    assert agreement([]) == Agreement(0, 0, None, None, None, None, None, "no_data")
    assert agreement([]).share is None


def test_full_agreement_on_two_labels_is_one_and_has_no_interval_that_would_claim_certainty() -> None:
    found = agreement([("pass", "pass")] * 3 + [("fail", "fail")] * 2)
    assert (found.kappa, found.kappa_low, found.kappa_high, found.why) == (1.0, None, None, "")


def test_one_who_never_varies_agrees_no_better_than_chance() -> None:
    found = agreement([("pass", "pass")] * 5 + [("pass", "fail")] * 5)
    assert (found.kappa, found.kappa_low, found.agreed) == (0.0, None, 5)


def test_scores_far_apart_count_for_more_than_neighbours_and_the_scale_for_nothing() -> None:
    near, far = [(0, 0), (4, 4), (2, 2), (0, 1)], [(0, 0), (4, 4), (2, 2), (0, 4)]
    assert (agreement_of_scores(near).kappa or 0) > (agreement_of_scores(far).kappa or 0)
    stretched = [(10 * a + 3, 10 * b + 3) for a, b in far]
    assert agreement_of_scores(stretched) == agreement_of_scores(far)
