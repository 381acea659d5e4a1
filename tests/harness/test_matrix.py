"""A matrix: every candidate once, each label its own, what varies as it was typed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._errors import UsageError
from harness._given import Given, GivenCandidate, read_given
from harness._matrix import Matrix, Row, Spec, Typed, spread
from harness._prices import price_key


def labels(matrix: Matrix) -> list[str]:
    return [spec.label or spec.engine for spec in spread(matrix)]


def test_one_model_alone_is_called_what_it_was_typed() -> None:
    assert labels(Matrix([Row("openai/a")], ["terse"], {"top_p": 1})) == ["openai/a"]


def test_models_differ_by_their_names_and_what_varies_is_added_in_order() -> None:
    found = labels(
        Matrix([Row("openai/a"), Row("ollama/b")], ["plain", "terse"], {}, {"temperature": [0, Typed("0.70")]})
    )
    assert found[:4] == [
        "openai/a[prompt=plain,temperature=0]", "openai/a[prompt=plain,temperature=0.70]",
        "openai/a[prompt=terse,temperature=0]", "openai/a[prompt=terse,temperature=0.70]",
    ]  # fmt: skip
    assert [each.replace("ollama/b", "openai/a") for each in found[4:]] == found[:4]


def test_a_model_that_sets_something_itself_is_not_crossed_with_it() -> None:
    rows = [Row("openai/a"), Row("openai/b", prompt="own", parameters={"temperature": 1}, stream=True)]
    found = spread(Matrix(rows, ["plain", "terse"], {"top_p": 1}, {"temperature": [0, 2]}))
    assert [spec.engine for spec in found] == ["openai/a"] * 4 + ["openai/b"]
    assert found[-1] == Spec("openai/b", None, "own", {"top_p": 1, "temperature": 1}, stream=True)


def test_one_model_in_several_settings_says_what_is_unset_and_what_is_left_out() -> None:
    rows = [Row("m"), Row("m", parameters={"seed": 1}), Row("m", parameters={"seed": None}), Row("m", stream=True)]
    assert labels(Matrix(rows)) == [
        "m[seed=(unset),stream=false]", "m[seed=1,stream=false]", "m[seed=(left out),stream=false]",
        "m[seed=(unset),stream=true]",
    ]  # fmt: skip


def test_a_list_and_a_long_text_are_named_without_square_brackets() -> None:
    found = labels(
        Matrix([Row("m")], dimensions={"stop": [["\n", "]"], ["[a]"]], "system": ["x" * 90, "x" * 90 + "y"]})
    )
    assert found[0].startswith('m[stop=("\\n","\\u005d"),system=xxx') and len(set(found)) == 4
    assert {price_key(each) for each in found} == {"m"}


def test_a_text_that_looks_like_a_number_is_told_from_the_number() -> None:
    found = labels(Matrix([Row("m")], dimensions={"x": ["1", 1, "true", True, "one"]}))
    assert found == ['m[x="1"]', "m[x=1]", 'm[x="true"]', "m[x=true]", "m[x=one]"]


def test_what_goes_into_a_request_has_no_spelling_left() -> None:
    (spec,) = spread(Matrix([Row("m")], parameters={"a": Typed("0.70"), "b": [{"c": Typed("1.0")}]}))
    assert json.dumps(spec.parameters) == '{"a": 0.7, "b": [{"c": 1.0}]}'
    assert type(spec.parameters["a"]) is float


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        (Matrix([Row("m"), Row("m")]), "the candidate m was given twice; its two rows"),
        (Matrix([Row("m")], dimensions={"t": [Typed("0.7"), Typed("0.70")]}), "was given twice"),
        (Matrix([Row("m", "http://a"), Row("m", "http://b")]), "only its address differs"),
    ],
)
def test_two_candidates_that_would_be_asked_the_same_are_refused(matrix: Matrix, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        spread(matrix)


def test_a_matrix_of_more_candidates_than_anybody_means_is_refused_before_it_is_built() -> None:
    wide = {f"p{at}": list(range(10)) for at in range(12)}
    with pytest.raises(UsageError, match=r"comes to 2000000000000 candidates, and a run has at most 1000"):
        spread(Matrix([Row("a"), Row("b")], dimensions=wide))


def test_a_parameter_of_the_command_line_holds_for_every_model_and_ends_its_dimension() -> None:
    rows = [Row("a", parameters={"t": 1}), Row("b")]
    assert [s.parameters for s in spread(Matrix(rows, dimensions={"t": [2, 3]}).with_parameters({"t": 9}))] == [
        {"t": 9}, {"t": 9},
    ]  # fmt: skip


VALUES = st.one_of(st.integers(), st.text(max_size=50), st.booleans(), st.lists(st.text(max_size=5), max_size=3))


@given(
    st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=3, unique=True),
    st.dictionaries(st.text(min_size=1, max_size=5), st.lists(VALUES, min_size=1, max_size=3, unique_by=json.dumps)),
)
def test_labels_are_unique_whatever_the_values(models: list[str], dimensions: dict[str, list[object]]) -> None:
    dimensions = dict(list(dimensions.items())[:3])
    found = labels(Matrix([Row(f"openai/{model}") for model in models], dimensions=dimensions))
    count = len(models)
    for values in dimensions.values():
        count *= len(values)
    assert len(found) == len(set(found)) == count


@given(st.dictionaries(st.text(max_size=5), st.one_of(VALUES, st.floats(allow_nan=False, allow_infinity=False))))
def test_what_was_given_reads_back_with_the_spelling_of_its_numbers(parameters: dict[str, object]) -> None:
    asked = [GivenCandidate("openai/a", "openai/a[x=1]", "terse", parameters, stream=True, addressed=True)]
    given = Given("fixtures/s", ["openai/a"], True, {}, False, asked, {"lax": "lax.toml"}, ["meta.a=b"])
    found = read_given(given.text())
    assert found is not None and json.dumps(found.asked()[0].parameters) == json.dumps(parameters)
    assert (found.rules, found.filters, found.asked()[0].label) == ({"lax": "lax.toml"}, ["meta.a=b"], "openai/a[x=1]")


def test_a_plan_of_a_release_that_knew_no_matrix_still_says_its_candidates() -> None:
    old = '{"suite": "s", "engines": ["a/b", "c/d"], "addressed": true, "parameters": {"t": 1.0}, "stream": true}'
    found = read_given(old)
    assert found is not None
    assert found.asked() == tuple(
        GivenCandidate(engine, "", "", {"t": 1.0}, stream=True, addressed=True) for engine in ("a/b", "c/d")
    )
