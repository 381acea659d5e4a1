"""Answers that are compared whole have one normal form, and what has none matches nothing."""

import time
import unicodedata
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import HarnessError
from harness.scorers import NORMALISERS, choice, label, matches, normaliser, number

LABEL, NUMBER, CHOICE = (NORMALISERS[name] for name in ("label", "number", "choice"))
ANY_TEXT = st.text() | st.text(st.sampled_from("aA1.,-!*'\"() \u00a0\u2026\u200b\u0301\uff21\uff0e\u2212\u0665"))


@pytest.mark.parametrize(
    "written",
    ["positive", "Positive.", "  POSITIVE!  ", "\u00a0positive\u2003", "**Positive**", "`positive`", "“Positive”",
     "«positive»", "*positive*.", "- positive", "\u2014 positive", "…positive…", "¡Positive!", "ｐｏｓｉｔｉｖｅ。",
     "positive\u200b", "\ufeffpositive\r\n", "posi\u00adtive", "po\u200bsi\u2060tive\u200e",
     "# Positive", "#### positive", "***positive***", "_positive_", "\\boxed{positive}", "$\\text{Positive}$.",
     "【positive】", "《positive》", "¡«**positive**»!"],
)  # fmt: skip
def test_a_label_is_the_same_whatever_stands_around_it(written: str) -> None:
    assert label(written) == "positive"
    assert matches(LABEL, written, "positive")


@pytest.mark.parametrize(
    ("found", "expected"),
    [("not positive", "positive"), ("positive", "not positive"), ("positive positive", "positive"), (".5", "5"),
     ("-1", "1"), ("− 5", "5"), ("!positive", "positive"), ("C#", "C"), ("C++", "C"), ("50%", "50"), ("m²", "m2"),
     ("1.0", "10"), ("naive", "naïve"), ("non positive", "non-positive"), ("раypal", "paypal")],
)  # fmt: skip
def test_labels_that_mean_something_else_differ(found: str, expected: str) -> None:
    assert not matches(LABEL, found, expected)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Na\u00efve", "nai\u0308ve"), ("Straße", "STRASSE"), ("don’t know", "don't  know"), ("follow‑up", "follow-up"),
     ("ΣΊΣΥΦΟΣ", "σίσυφος"), ("in\u00a0part", "in part"), ("각", "\u1100\u1161\u11a8")],
)  # fmt: skip
def test_two_spellings_of_one_label_match(one: str, other: str) -> None:
    assert matches(LABEL, one, other)


@pytest.mark.parametrize("nothing", ["", " ", "\u00a0\u200b\ufeff", "…", "...", '""', "'.'", "“”"])
@pytest.mark.parametrize("rule", [LABEL, NUMBER, CHOICE], ids=lambda rule: rule.name)
def test_what_has_no_normal_form_matches_nothing_not_even_itself(rule: object, nothing: str) -> None:
    assert rule.of(nothing) == ""  # type: ignore[attr-defined]
    assert not matches(rule, nothing, nothing)  # type: ignore[arg-type]
    assert not matches(rule, nothing, "A") and not matches(rule, "A", nothing)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other"),
    [("1.0", "1"), ("+01.00", "1"), ("1e3", "1000"), ("100", "1E+2"), (".5", "0.50"), ("-0", "0"), ("42.", "42"),
     ("\u22122.5", "-2.5"), ("１２．５", "12.5"), ("－３", "-3"), ("٤٢", "42"), ("۱٫۵", "1.5"), ("४२", "42"),
     ("\u00a07\u200b", "7"), ("0.1000000000000000055511151231257827", "1000000000000000055511151231257827e-34")],
)  # fmt: skip
def test_one_number_in_two_spellings_matches(one: str, other: str) -> None:
    assert matches(NUMBER, one, other)


@pytest.mark.parametrize(
    ("found", "expected"),
    [("1.0", "10"), ("1.5", "15"), ("-1", "1"), ("0.1", "0.10000000000000001"), ("1e1", "11"), ("2", "20"),
     ("9007199254740993", "9007199254740992"), ("1e400", "1e401"), ("0.0", "1")],
)  # fmt: skip
def test_two_numbers_never_match(found: str, expected: str) -> None:
    assert number(found) and number(expected)
    assert not matches(NUMBER, found, expected)


@pytest.mark.parametrize(
    "written",
    ["1,000", "1 000", "1_000", "1'000", "1.000.000", "1,5", "50%", "$5", "5 kg", "½", "²", "1/2", "0x10", "NaN", "inf",
     "Infinity", "ten", "1e", ".", "+", "-", "e5", "--1", "- 5", "–5", "1..", "1.0.0", "1٢", "１2٣", "1e9999999999999",
     "1\n2", "五", "\x00", "Ⅷ"],
)  # fmt: skip
def test_what_is_no_plain_number_has_no_form(written: str) -> None:
    assert number(written) == ""


@pytest.mark.parametrize("separator", [",", " ", "'", "_", "\u202f", "\u066c"])
def test_thousands_are_read_only_where_declared_and_only_in_groups_of_three(separator: str) -> None:
    s = separator
    assert number(f"-1{s}234{s}567.50", thousands=s) == "-12345675e-1"
    assert number("1234", thousands=s) == "1234e0"
    for bad in (f"1{s}00", f"x{s}100", f"1{s}{s}000", f"1000{s}000", f"1{s}000{s}.", f"0.1{s}000", f"1{s}000e{s}3"):
        assert number(bad, thousands=s) == ""
    assert number(f"1{s}000") == ""


def test_a_point_is_no_separator_of_thousands() -> None:
    with pytest.raises(HarnessError, match="thousands: expected one of"):
        number("1.000", thousands=".")


@pytest.mark.parametrize(
    "written", ["B", "b", "(B)", "B.", "B)", "[b]", "**B**", "B).", " 'B' ", "Ｂ", "- B", "B:", "b.)"]
)
def test_the_letter_of_a_choice_is_found_in_its_usual_dress(written: str) -> None:
    assert choice(written) == "B"


def test_a_choice_of_a_is_no_article_to_be_taken_off() -> None:
    assert matches(CHOICE, "A", "A") and matches(CHOICE, "a", "A")


@pytest.mark.parametrize(
    "written", ["zebra", "A man", "A B", "AB", "А", "Α", "1", "answer: A", "A, B", "Ⓐ", "Å", "A\u030a", "+A"]
)
def test_what_is_no_single_letter_is_no_choice(written: str) -> None:
    assert choice(written) == ""


def test_a_normaliser_is_named_with_its_version() -> None:
    assert normaliser("label") is normaliser("label/2") is LABEL
    for unknown in ("label/3", "labels", "", "label/"):
        with pytest.raises(
            HarnessError,
            match="expected a normaliser out of label/2, number/2, choice/1, text/1, value/1, label/1, number/1",
        ):
            normaliser(unknown)


def test_under_text_only_the_outer_space_is_nothing_and_what_is_not_drawn() -> None:
    rule = NORMALISERS["text"]
    assert [rule.of(each) for each in ("", " \n", "\u200b\ufeff", " ... ", " A  b ")] == ["", "", "", "...", "A  b"]
    assert not matches(rule, "", " ")
    assert not matches(rule, "Paris", "paris")


@given(ANY_TEXT)
def test_a_normal_form_is_its_own(text: str) -> None:
    assert label(label(text)) == label(text)
    assert choice(choice(text)) == choice(text)
    assert number(number(text)) == number(text)


@given(ANY_TEXT, ANY_TEXT)
def test_matching_is_the_same_both_ways_and_no_matter_the_unicode_form(one: str, other: str) -> None:
    for rule in NORMALISERS.values():
        assert matches(rule, one, other) == matches(rule, other, one)
    assert label(unicodedata.normalize("NFC", one)) == label(unicodedata.normalize("NFD", one)) == label(one)


@given(st.decimals(allow_nan=False, allow_infinity=False), st.decimals(allow_nan=False, allow_infinity=False))
def test_two_numbers_match_exactly_when_they_are_equal(one: Decimal, other: Decimal) -> None:
    with localcontext(prec=200):
        assert matches(NUMBER, str(one), str(other)) == (one == other)
    assert matches(NUMBER, str(one), str(one))


def test_a_rule_set_that_names_an_earlier_version_goes_on_meaning_what_it_said() -> None:
    first = normaliser("label/1")
    assert [first.of(each) for each in ("__init__", "(2,5)", "5!", "- x")] == ["init", "2,5", "5", "x"]
    assert (first.label, normaliser("number/1").of("**5**"), normaliser("number").of("**5**")) == ("label/1", "", "5e0")


def test_a_label_of_a_million_brackets_takes_no_time() -> None:
    assert label("(" * 500_000 + ")" * 500_000) == "(" * 500_000 + ")" * 500_000
    assert label(" " * 500_000 + "x" + "." * 500_000) == "x"


def test_a_dash_with_any_space_behind_it_stays_before_a_number() -> None:
    assert label("-  5") == "- 5"
    assert label("-   .5") == "- .5"
    assert label("-   five") == "- five"
    assert label("-   fifty-five") == "fifty-five"


@pytest.mark.parametrize(
    "text",
    ["." * 300_000, "." * 300_000 + "5", "- " * 200_000, "-" + " " * 300_000 + "5", "(" * 200_000 + ")" * 200_000],
)
def test_a_label_takes_a_time_that_grows_with_the_text_and_no_more(text: str) -> None:
    started = time.process_time()
    label(text)
    assert time.process_time() - started < 10


DECIDES = (
    ("[0, 1]", "(0, 1)"), ("{0,1}", "[0,1]"), ("<0,1>", "(0,1)"), ("[x]", "x"), ("{x}", "x"), ("(1 2 3)", "1 2 3"),
    ("(a,)", "a"), ("5!", "5"), ("5!!", "5!"), ("n!", "n"), ("(n+1)!", "(n+1)"), ("５！", "5"), ("my_name", "myname"),
    ("_private", "private"), ("__init__", "init"), ("__init__", "_init_"), ("__ALL__", "ALL"), ("±5", "5"),
    ("- x", "x"), ("- infinity", "infinity"), ("a*b", "ab"), ("**kwargs", "kwargs"), ("2**3", "23"), ("~5", "5"),
    ("x^2", "x2"), ("10⁶", "106"), ("|x|", "x"), ("#include", "include"), ("≤5", "<5"), ("50‰", "50%"), ("5$", "5"),
    ("5'", "5"), ("f'", "f"), ("f''", "f'"), ("5°", "5"), ("1,000", "1000"), ("½", "12"), ("①", "1"), ("が", "か"),
    ("0.333...", "0.333"), ("1, 2, ...", "1, 2"), ("C:", "C"), (":foo", "foo"), ("../x", "/x"), ("...args", "args"),
    ("i--", "i"), ("(1, 234)", "(1,234)"), ("2, 5", "2,5"), ("1\\frac{1}{2}", "11/2"), ("**", "*"), ("Nf3!", "Nf3"),
    ("(2,5)", "(2;5)"), ("]0,1[", "[0,1]"), ("f(x)", "f[x]"), ("~~Paris~~", "Paris"), ("$x", "x"), ("a b", "ab"),
)  # fmt: skip
SPELT = (
    ("(2, 5)", "(2,5)"), ("[ 2 , 5 ]", "[2,5]"), ("（２，５）", "(2,5)"), ("x = 3", "x=3"), ("50 %", "50%"),
    ("50\\%", "50%"), ("50％", "50%"), ("−5", "-5"), ("**5!**", "5!"), ("5!.", "5!"), ("$5!$", "5!"),
    ("`__init__`", "__init__"), ("\\_\\_init\\_\\_", "__init__"), ("my\\_name", "my_name"), ("$x^{2}$", "x^2"),
    ("$\\boxed{(2,5)}$", "(2,5)"), ("\\[x^2\\]", "x^2"), ("$-\\frac{3}{4}$", "-3/4"), ("$\\{1,2\\}$", "{1,2}"),
    ("$\\left(2,5\\right)$", "(2,5)"), ("$60^\\circ$", "60°"), ("f′", "f'"), ("٤٢", "42"), ("ｶﾀｶﾅ", "カタカナ"),
    ("**Paris**, France", "Paris, France"), ("__Paris__", "Paris"), ("(B)", "B"), ("1, 2, …", "1, 2, ..."),
)  # fmt: skip


@pytest.mark.parametrize(("one", "other"), DECIDES)
def test_what_decides_a_meaning_is_never_taken_away(one: str, other: str) -> None:
    assert label(one) and label(other)
    assert label(one) != label(other)


@pytest.mark.parametrize(("one", "other"), SPELT)
def test_another_spelling_of_an_answer_has_its_form(one: str, other: str) -> None:
    assert label(one) == label(other) != ""


DRESSES = (
    "{}", " {}\n", "**{}**", "*{}*", "`{}`", "\u201c{}\u201d", "\u300c{}\u300d", "{}.", "**{}.**", "\\boxed{{{}}}",
    "\u200b{}",
)  # fmt: skip
ANSWERS = st.sampled_from(sorted({each for pair in DECIDES for each in pair if not set(each) & set("*_`~$-#.\\")}))


@given(ANSWERS, ANSWERS, st.sampled_from(DRESSES), st.sampled_from(DRESSES))
def test_in_any_dress_an_answer_matches_itself_and_no_other(one: str, other: str, mine: str, theirs: str) -> None:
    assert matches(LABEL, mine.format(one), theirs.format(one))
    if label(one) != label(other):
        assert not matches(LABEL, mine.format(one), theirs.format(other))
