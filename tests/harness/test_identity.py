"""What makes two experiments the same one, and what doesn't."""

import hashlib
import json

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from harness._errors import IdentityError
from harness._identity import candidate_digest, digest, file_digest, identity, tagged_form, twins, value_digest

KEY = bytes(range(32))

VECTORS = [
    ("null", b"null"),
    ("true", b"true"),
    ("1", b'"n:1"'),
    ("1.0", b'"n:1.0"'),
    ("-0", b'"n:-0"'),
    ("1E+2", b'"n:1E+2"'),
    ('"1"', b'"s:1"'),
    ('"n:1"', b'"s:n:1"'),
    ('""', b'"s:"'),
    (' { "b" : [ 1 , "x" ] , "a" : null } ', b'{"a":null,"b":["n:1","s:x"]}'),
    ('{"\\u20ac":1,"\\r":2,"1":3}', '{"\\r":"n:2","1":"n:3","\u20ac":"n:1"}'.encode()),
    ('{"\\ud83d\\ude00":1,"\\ufb33":2}', '{"\U0001f600":"n:1","\ufb33":"n:2"}'.encode()),
    ('"\\u0000\\u001f\\/"', b'"s:\\u0000\\u001f/"'),
    ("12345678901234567890123456789", b'"n:12345678901234567890123456789"'),
]


@pytest.mark.parametrize(("text", "form"), VECTORS)
def test_the_tagged_form_is_the_documented_one(text: str, form: bytes) -> None:
    assert tagged_form(text) == form
    assert digest(text, KEY) == blake3(form, key=KEY).hexdigest()


def test_a_digest_is_a_fixed_number_under_a_fixed_key() -> None:
    assert digest('{"text":"# T","n":1}', KEY) == "fc4f9c5915f9090f5519e5ddedd7d853cc52d699bdc86a323b67abfe2a48fdad"
    assert digest('{"text":"# T","n":1}', bytes(32)) != digest('{"text":"# T","n":1}', KEY)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1,"b":"x"}', '{"b":"x","a":1}'),
        ('{"a":[1,2]}', '\r\n{ "a" :\t[ 1, 2 ] }\n'),
        ('{"a":"\\u00e9\\n"}', '{"a":"\u00e9\\u000a"}'),
        ('{"\\u0061":"/"}', '{"a":"\\/"}'),
    ],
)
def test_key_order_white_space_and_escapes_make_no_new_experiment(one: str, other: str) -> None:
    assert digest(one, KEY) == digest(other, KEY)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"t":1}', '{"t":1.0}'),
        ("1e2", "100"),
        ("1e2", "1E2"),
        ("0", "-0"),
        ("9007199254740993", "9007199254740992"),
        ("1", '"1"'),
        ("1", '"n:1"'),
        ('"\u00e9"', '"e\u0301"'),
        ('{"\u00e9":1}', '{"e\u0301":1}'),
        ("null", '"null"'),
        ("[]", "{}"),
        ("[1,2]", "[2,1]"),
        ('{"a":null}', "{}"),
    ],
)
def test_another_value_makes_another_experiment(one: str, other: str) -> None:
    assert digest(one, KEY) != digest(other, KEY)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a":1,"a":1}', "twice"),
        ('{"a":1,"\\u0061":2}', "twice"),
        ('[{"x":{"b":1,"b":2}}]', "twice"),
        ("NaN", "NaN"),
        ("[-Infinity]", "Infinity"),
        ('"\\ud800"', "surrogate"),
        ('{"\\udfff":1}', "surrogate"),
        ("", "isn't"),
        ("1 2", "isn't"),
        ("{'a':1}", "isn't"),
        ("01", "isn't"),
        ('"a\nb"', "isn't"),
        ("[" * 65 + "]" * 65, "64"),
        ("[" * 200_000, "isn't"),
    ],
)
def test_what_has_no_digest_is_refused_with_a_reason(text: str, says: str) -> None:
    with pytest.raises(IdentityError, match=says):
        digest(text, KEY)


def test_sixty_four_levels_are_allowed() -> None:
    assert digest("[" * 64 + "]" * 64, KEY)


def test_a_key_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(IdentityError, match="32 bytes, got 31"):
        digest("1", KEY[:31])


def test_a_python_value_is_digested_as_the_text_that_a_request_would_carry() -> None:
    value = {"temperature": 0, "top_p": 0.5, "stop": ["\u00e9", None, True]}
    assert value_digest(value, KEY) == digest(json.dumps(value), KEY)
    assert value_digest({"temperature": 0}, KEY) != value_digest({"temperature": 0.0}, KEY)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"x", "\ud800"])
def test_a_python_value_that_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(IdentityError):
        value_digest(value, KEY)


def test_a_file_carries_its_plain_blake3() -> None:
    assert file_digest(b"") == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"


def test_twins_count_up_among_equal_inputs_in_file_order() -> None:
    assert twins(["a", "b", "a", "a", "b", "c"]) == (0, 0, 1, 2, 1, 0)
    assert twins([]) == ()


BASE = {"protocol": "openai", "model": "m", "parameters": {"temperature": 0}, "prompt": "p", "turns": "t/1"}


@pytest.mark.parametrize(
    "moved",
    [
        {"protocol": "ollama"},
        {"model": "m2"},
        {"parameters": {"temperature": 0.0}},
        {"parameters": {"temperature": 0, "seed": 1}},
        {"parameters": {}},
        {"prompt": "p\n"},
        {"turns": "t/2"},
    ],
)
def test_each_component_of_a_candidate_moves_its_digest(moved: dict[str, object]) -> None:
    assert candidate_digest(**(BASE | moved), key=KEY) != candidate_digest(**BASE, key=KEY)  # type: ignore[arg-type]


def test_the_order_of_parameters_does_not_move_a_candidate() -> None:
    one = BASE | {"parameters": {"a": 1, "b": 2}}
    other = BASE | {"parameters": {"b": 2, "a": 1}}
    assert candidate_digest(**one, key=KEY) == candidate_digest(**other, key=KEY)  # type: ignore[arg-type]


CELL = {"suite": "s", "input_digest": "i", "candidate": "c", "arm": "", "epoch": 0, "twin": 0}


def test_an_identity_is_the_digest_of_the_documented_object() -> None:
    text = '{"identity":1,"suite":"s","input":"i","candidate":"c","arm":"","epoch":0,"twin":0}'
    assert identity(**CELL, key=KEY) == digest(text, KEY)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "moved", [{"suite": "t"}, {"input_digest": "j"}, {"candidate": "d"}, {"arm": "x"}, {"epoch": 1}, {"twin": 1}]
)
def test_each_component_moves_an_identity(moved: dict[str, object]) -> None:
    assert identity(**(CELL | moved), key=KEY) != identity(**CELL, key=KEY)  # type: ignore[arg-type]


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


def shuffled(value: object) -> object:
    """The same value, every object's members the other way round."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


@given(VALUES)
def test_any_value_has_one_digest_however_it_is_written(value: object) -> None:
    one = digest(json.dumps(value), KEY)
    assert one == digest(json.dumps(shuffled(value), indent=3, ensure_ascii=False), KEY)
    assert len(one) == len(hashlib.sha256().hexdigest())


@given(VALUES, VALUES)
def test_two_texts_share_a_digest_only_when_they_hold_the_same_value(one: object, other: object) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (digest(json.dumps(one), KEY) == digest(json.dumps(other), KEY)) == same


@given(suite=st.text(), arm=st.text(), epoch=st.integers(0, 2**53 - 1), twin=st.integers(0, 999))
def test_an_identity_is_the_digest_of_its_parts_as_a_value(suite: str, arm: str, epoch: int, twin: int) -> None:
    key, digests = bytes(range(32)), {"input": "a" * 64, "candidate": "b" * 64}
    parts = {"identity": 1, "suite": suite, **digests, "arm": arm, "epoch": epoch, "twin": twin}
    try:
        expected = value_digest(parts, key)
    except IdentityError:
        with pytest.raises(IdentityError):
            identity(suite=suite, input_digest="a" * 64, candidate="b" * 64, arm=arm, epoch=epoch, twin=twin, key=key)
        return
    assert expected == identity(
        suite=suite, input_digest="a" * 64, candidate="b" * 64, arm=arm, epoch=epoch, twin=twin, key=key
    )
