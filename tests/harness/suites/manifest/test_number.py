"""The scorer number: what is declared is read, what isn't is never guessed, and values are exact decimals."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._errors import RulesError
from harness.scorers import near
from tests.harness.suites.manifest.asked import MANIFEST, comes_to, rules_of, score_table

NUMBER = 'scorer = "number"'
# (decimal, thousands as declared, thousands as written)
LOCALES = [
    (".", "", ""),
    (".", ",", ","),
    (",", ".", "."),
    (",", " ", "\u202f"),
    (",", " ", "\u00a0"),
    (".", " ", "\u2009"),
    (".", "'", "\u2019"),
    (",", "'", "'"),
    (".", "_", "_"),
    (",", "", ""),
]
VALUES = st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**12), max_value=10**12)


def written(value: Decimal, point: str, mark: str) -> str:
    sign, digits = ("-" if value < 0 else ""), f"{abs(value):f}"
    whole, _, part = digits.partition(".")
    groups = []
    while mark and len(whole) > 3:
        whole, last = whole[:-3], whole[-3:]
        groups.insert(0, last)
    return sign + mark.join([whole, *groups]) + (point + part if part else "")


def declared(point: str, mark: str, more: str = "") -> str:
    return f'{NUMBER}\ndecimal = "{point}"\nthousands = "{mark}"\n{more}'


@given(VALUES, VALUES, st.sampled_from(LOCALES))
def test_a_number_in_any_declared_way_of_writing_is_the_decimal_that_it_is(
    said: Decimal, gold: Decimal, locale: tuple[str, str, str]
) -> None:
    point, mark, shown = locale
    table = declared(point, mark)
    assert comes_to(table, written(said, point, shown), written(said, point, shown)).verdict == "equal"
    right = comes_to(table, written(said, point, shown), written(gold, point, shown)).outcome == "correct"
    assert right is (said == gold)


@given(VALUES, VALUES, st.decimals(0, 1000, places=2), st.decimals(0, 1, places=3))
def test_a_tolerance_is_kept_exactly(said: Decimal, gold: Decimal, absolute: Decimal, relative: Decimal) -> None:
    table = declared(".", "", f"tolerance = {absolute:f}\nrelative = {relative:f}")
    distance = abs(Fraction(said) - Fraction(gold))
    right = distance <= Fraction(absolute) or distance <= Fraction(relative) * abs(Fraction(gold))
    assert (comes_to(table, written(said, ".", ""), written(gold, ".", "")).outcome == "correct") is right


@given(VALUES, st.sampled_from(LOCALES), st.sampled_from(LOCALES))
def test_what_another_locale_wrote_is_that_number_or_unclear_and_never_another_by_a_guess(
    value: Decimal, mine: tuple[str, str, str], theirs: tuple[str, str, str]
) -> None:
    said = written(value, theirs[0], theirs[2])
    found = comes_to(declared(mine[0], mine[1]), said, written(value, mine[0], mine[2]))
    if found.outcome == "incorrect":
        # What is a decimal mark there is declared a mark of thousands here, or the other way about.
        assert theirs[0] == mine[1] or theirs[1] == mine[0]
        assert mine[1] == "" or len(said.rpartition(theirs[0])[2]) == 3 or theirs[1] == mine[0]


@pytest.mark.parametrize(
    "said",
    [
        "1,000",
        "1.000,50",
        "$5",
        "5 %",
        "5kg",
        "\u00bd",
        "3-5",
        "3\u20135",
        "(5)",
        "2024-05-01",
        "1/2",
        "5.5.5",
        "\u20135",
        "1\u200b2",
        "10:30",
        "\u0661\u06f2",
        "0x1F",
        "5e",
        "1 000",
        "five 5",
        "\u2460",
        "9" * 1001,
        "~5",
        "5+",
        "1e9999999999999",
    ],
)
def test_what_could_be_read_in_two_ways_is_unclear(said: str) -> None:
    assert str(comes_to(NUMBER, said, 5)) == "malformed: number_unclear"


@pytest.mark.parametrize(
    ("said", "gold"),
    [
        ("\uff15", 5),
        ("\u0665", 5),
        ("\u06f5\u066b\u06f5", 5.5),
        ("\u200f\u22125\u200e", -5),
        ("**5**", 5),
        ("`5`", 5),
        ("5.", 5),
        ("+5", 5),
        ("-0", 0),
        ("0.50", 0.5),
        (".5", 0.5),
        ("5e-1", 0.5),
        ("\u201c5\u201d", 5),
        ("```\n5\n```", 5),
    ],
)
def test_what_can_be_read_in_one_way_is_read(said: str, gold: float) -> None:
    assert comes_to(NUMBER, said, gold).verdict == "equal"


@pytest.mark.parametrize("said", ["twelve", "NaN", "inf", "none", "-", "\u2167"])
def test_a_text_without_a_digit_holds_no_number(said: str) -> None:
    assert str(comes_to(NUMBER, said, 5)) == "malformed: no_answer"


@pytest.mark.parametrize(
    ("said", "comes"),
    [
        ("It is 5.", "correct"),
        ("5, that is 5.0", "correct"),
        ("5 or 6", "ambiguous: two_candidates"),
        ("none", "malformed: no_answer"),
        ("5 million", "malformed: number_unclear"),
        ("$ 5", "malformed: number_unclear"),
        ("minus 5", "malformed: number_unclear"),
        ("5 and a half", "malformed: number_unclear"),
        ("x = - 5", "malformed: number_unclear"),
        ("costs (5)", "malformed: number_unclear"),
        ("5 %", "malformed: number_unclear"),
        ("5 kg", "malformed: number_unclear"),
        ("5 apples", "correct"),
        ("- 5", "malformed: number_unclear"),
        ("\u2212 5", "malformed: number_unclear"),
        ("The answer is $5$.", "correct"),
        ("So it is $\\boxed{5}$", "correct"),
        ("\\boxed{5\\text{ apples}}", "correct"),
        ("\\(x = 5\\)", "correct"),
        ("#### 5", "correct"),
        ("It costs $5 and not $6", "malformed: number_unclear"),
        ("\\frac{1}{5}", "malformed: number_unclear"),
        ("It is not 5.", "malformed: no_answer"),
        ("It isn't 5. It can't be 6.", "malformed: no_answer"),
        ("It isn't 6. It is 5.", "correct"),
        ("No, it is 5.", "correct"),
        ("> 5", "malformed: number_unclear"),
        ("\u2265 5", "malformed: number_unclear"),
        ("up to 5", "malformed: number_unclear"),
        ("5 or more", "malformed: number_unclear"),
        ("5 at most", "malformed: number_unclear"),
        ("over 5", "malformed: number_unclear"),
        ("half of 5", "malformed: number_unclear"),
        ("It comes to 5", "correct"),
        ("anything but 5", "malformed: no_answer"),
        ("at least 5", "malformed: number_unclear"),
        ("more than 5", "malformed: number_unclear"),
        ("2 + 3 = 5", "ambiguous: two_candidates"),
        ("5 pi", "malformed: number_unclear"),
        ("5 squared", "malformed: number_unclear"),
    ],
)
def test_the_one_number_of_a_text_is_found_and_no_part_of_another(said: str, comes: str) -> None:
    assert str(comes_to(NUMBER + '\nat = "anywhere"', said, 5)).startswith(comes)


def test_a_unit_is_refused_unless_declared_and_may_be_required() -> None:
    optional = NUMBER + '\nunits = ["$", "USD"]'
    for said in ("$5", "-$-5", "5 USD", "5$", "USD 5", "5"):
        outcome = str(comes_to(optional, said, 5))
        assert outcome == ("malformed: number_unclear" if said == "-$-5" else "correct, equal"), said
    assert comes_to(optional, "-$5", -5).verdict == "equal"
    required = optional + '\nunit = "required"'
    assert str(comes_to(required, "5", 5)) == "malformed: number_unclear"
    assert comes_to(required, "5 USD", "5").verdict == "equal"
    assert comes_to(required + '\nat = "anywhere"', "It costs 5 USD.", "$5").verdict == "equal"


def test_indian_groups_are_read_where_they_are_declared() -> None:
    lakh = declared(".", ",", 'grouping = "lakh"')
    assert comes_to(lakh, "12,34,567.5", 1234567.5).verdict == "equal"
    assert str(comes_to(lakh, "1,234,567", 1)) == "malformed: number_unclear"


def test_sizes_that_no_float_holds_are_compared_exactly() -> None:
    assert comes_to(NUMBER, "1e999999999", "10e999999998").verdict == "equal"
    assert comes_to(NUMBER + "\ntolerance = 5", "1e999999999", "-1e999999999").verdict == "off"
    assert comes_to(NUMBER, "0.1000000000000000000000000001", 0.1).verdict == "off"
    tiny = Decimal("1e-999999999")
    assert not near(Decimal(f"5.{'0' * 2999}1"), Decimal(0), absolute=Decimal(5), relative=Decimal(0))
    assert not near(tiny.copy_negate(), Decimal(5), absolute=Decimal(5), relative=Decimal(0))
    assert near(tiny, Decimal(5), absolute=Decimal(5), relative=Decimal(0))


def test_a_json_number_in_a_field_is_itself_whatever_the_rules_say_of_texts() -> None:
    table = declared(",", ".", 'at = "field"\nfield = "n"')
    assert comes_to(table, {"n": 1.5}, 1.5).verdict == "equal"
    assert comes_to(table, {"n": "1.500"}, 1500).verdict == "equal"
    assert str(comes_to(table, {"n": True}, 1)) == "malformed: no_answer"


@pytest.mark.parametrize("gold", [None, [], True, "five", "1,000", ["5", None], {}, "5 kg"])
def test_a_gold_that_is_no_number_is_refused(gold: object) -> None:
    assert MANIFEST.check_gold is not None
    assert (MANIFEST.check_gold("?", gold, score_table(NUMBER)) or "").startswith("gold:")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "table",
    [
        'thousands = "."',
        'decimal = ","\nthousands = ","',
        'thousands = "-"',
        'grouping = "lakh"',
        'unit = "required"',
        'units = ["5"]',
        "tolerance = -1",
        'tolerance = "1"',
        "relative = inf",
        "tolerance = true",
    ],
)
def test_a_way_of_writing_that_nothing_could_be_read_in_is_refused(table: str) -> None:
    with pytest.raises(RulesError, match=r"\[score\]"):
        rules_of(f"{NUMBER}\n{table}")


@pytest.mark.parametrize(
    ("said", "comes"),
    [
        ("Answer: 5", "correct"), ("**Answer:** 5", "correct"), ("**Answer: 5**", "correct"),
        ("The answer is 5.", "correct"), ("**The final answer is 5.**", "correct"), ("x = 5", "correct"),
        ("= 5", "correct"), ("#### 5", "correct"),
        ("$5$", "correct"), ("\\boxed{5}", "correct"), ("$\\boxed{\\text{5}}$", "correct"), ("\\[5\\]", "correct"),
        ("The answer is not 5", "malformed: number_unclear"), ("The answer is 5 apples", "malformed: number_unclear"),
        ("The answer is - 5", "malformed: number_unclear"), ("$5", "malformed: number_unclear"),
        ("Answer: 5\n\n6", "ambiguous: two_candidates"), ("The number is 5", "malformed: number_unclear"),
    ],
)  # fmt: skip
def test_marks_of_tex_and_words_that_only_announce_a_number_are_let_be(said: str, comes: str) -> None:
    assert str(comes_to(NUMBER, said, 5)).startswith(comes)
