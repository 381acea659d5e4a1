"""Numbers under a declared way of writing, and where in a text they stand."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import HarnessError
from harness.scorers import NumberFormat, find_numbers, number, read_number

PLAIN = NumberFormat()
ANY_TEXT = st.text() | st.text(
    st.sampled_from("0123456789.,-+e %$\u00a0\u202f\u2212\u0665\u066b\u200e()*"), max_size=12
)


@given(ANY_TEXT)
def test_what_the_normaliser_takes_for_a_number_is_that_number_here_too(text: str) -> None:
    normal = number(text)
    found = read_number(text, PLAIN)
    if normal and found.why != "number_unclear":
        assert found.value is not None
        assert number(str(found.value)) == normal


@given(ANY_TEXT, st.sampled_from([PLAIN, NumberFormat(",", "."), NumberFormat(".", " ", units=("$", "%"))]))
def test_a_number_that_was_found_reads_the_same_by_itself(text: str, form: NumberFormat) -> None:
    for each in find_numbers(text, form):
        assert 0 <= each.start < each.end <= len(text)
        assert (each.value is None) is (each.why == "number_unclear")
        if each.value is not None:
            itself = text[each.start : each.end]
            assert each.value in [again.value for again in find_numbers(itself, form)]
            # Marks in pairs belong to a place whole, with all that they are around: "**it was 5** %".
            assert read_number(itself, form).value == each.value or set(itself) & set("$*_`\\{")


@pytest.mark.parametrize("text", ["$\u10000$%", "**it was 0** %", "$x^2 = 0$ %"])
def test_the_place_of_a_number_whose_unit_stands_outside_of_a_pair_of_marks_has_the_whole_pair(text: str) -> None:
    found = find_numbers(text, NumberFormat(".", " ", units=("$", "%")))[-1]
    assert (found.value, found.start, found.end) == (Decimal(0), 0, len(text))


def test_the_place_of_a_number_has_its_unit_and_no_mark_of_the_sentence() -> None:
    text = "It was **1\u202f250,50 \u20ac**, they say."
    (found,) = find_numbers(text, NumberFormat(",", " ", units=("\u20ac",)))
    assert (found.value, text[found.start : found.end]) == (Decimal("1250.50"), "1\u202f250,50 \u20ac")


@pytest.mark.parametrize(
    "given_format",
    [
        ("!", ""),
        (",", ","),
        (".", "-"),
        (".", "", True),
        (".", "", False, ("5",)),
        (".", "", False, (" ",)),
        (".", "", False, (), True),
    ],
)
def test_a_format_in_which_nothing_could_be_told_is_refused(given_format: tuple[object, ...]) -> None:
    if given_format == ("!", ""):
        with pytest.raises(HarnessError, match="decimal"):
            NumberFormat("!")  # type: ignore[arg-type]
        return
    with pytest.raises(HarnessError):
        NumberFormat(*given_format)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["1 " * 100_000, "1 000" + " 000" * 50_000, "9" * 500_000, "(" * 300_000, "1," * 100_000]
)
def test_a_long_text_takes_a_time_that_grows_with_it_and_no_more(text: str) -> None:
    started = time.process_time()
    find_numbers(text, NumberFormat(",", " ", units=("kg",)))
    read_number(text, PLAIN)
    assert time.process_time() - started < 15


CLEAR = (
    "{}", "Answer:{}", "答案：{}", "x={}", "答案是{}。", "{}です", "{}입니다", "คือ{}", "**{}**", "`{}`", "${}$",
    "\\({}\\)", "\\boxed{{{}}}", "n={};", "「{}」", "<b>{}</b>", "Ответ:{}.", "Cevap: {}'dir.", "答えは{}個です",
    "共{}人",
)  # fmt: skip
CHANGED = (
    "{}k", "{}%", "{}/4", "{}²", "{}^2", "{}!", "{}-9", "{}万", "{}割", "{}만", "{}ล้าน", "{}:30", "({})", "|{}|",
    "√{}", "负{}", "マイナス{}", "ลบ{}", "百分之{}", "至少{}", "{}以上", "{}人以上", "¥{}", "{}元", "{}円", "x>{}",
    "x≤{}", "±{}", "{}㎏", "{}...", "\\sqrt{{{}}}", "\\log {}", "{}\\frac{{1}}{{2}}", "{} Millionen", "{} тысяч",
    "{} लाख", "menos {}", "mindestens {}", "{}\\%",
)  # fmt: skip


@given(st.integers(0, 10**6), st.sampled_from(CLEAR))
def test_what_says_nothing_may_stand_against_a_number(value: int, around: str) -> None:
    (found,) = find_numbers(around.format(value), PLAIN)
    assert found.value == value


@given(st.integers(0, 10**6), st.sampled_from(CHANGED), st.sampled_from(CLEAR))
def test_what_makes_another_number_of_it_is_never_overlooked(value: int, changed: str, around: str) -> None:
    for text in (changed.format(value), around.format(changed.format(value))):
        assert all(each.value is None for each in find_numbers(text, PLAIN)), text


@pytest.mark.parametrize(
    ("unit", "spelt"),
    [
        ("%", ("60%", "60 %", "60\\%", "$60\\%$", "60\\,\\%", "60~\\%", "60{\\%}", "**60** %", "６０％")),
        ("%", ("\\SI{60}{\\percent}", "\\boxed{60\\%}", "\\(60\\%\\)", "60\\text{\\%}", "60％です", "%60")),
        ("$", ("$60", "60 $", "\\$60", "$\\$60$", "＄60", "**$60**", "\\textbf{\\$60}")),
        ("km", ("60km", "60\\,\\text{km}", "60~\\mathrm{km}", "$60\\text{ km}$", "60 **km**", "６０ｋｍ", "60kmです")),
        ("°", ("60°", "60^\\circ", "60^{\\circ}", "$60\\degree$", "60\\,^\\circ")),
        ("°C", ("60°C", "60℃", "60^\\circ\\text{C}", "60^{\\circ}\\mathrm{C}", "60 °C")),
        ("m/s", ("60 m/s", "60\\,\\mathrm{m/s}", "60\\,\\text{m}/\\text{s}")),
        ("m²", ("60 m²", "60 m^2", "60\\,\\text{m}^{2}")),
    ],
)  # fmt: skip
def test_a_declared_unit_is_that_unit_however_tex_and_markdown_spell_it(unit: str, spelt: tuple[str, ...]) -> None:
    form = NumberFormat(units=(unit,), required=True)
    for each in spelt:
        assert [found.value for found in find_numbers(each, form)] == [Decimal(60)], each
        assert read_number(each, form).value == 60, each


@pytest.mark.parametrize(
    ("unit", "said"),
    [("km", "60 km/h"), ("km", "60 km²"), ("km", "60\\,\\text{km}^2"), ("km", "60 kmol"), ("%", "60%/year"),
     ("%", "60‰"),
     ("$", "US$60"), ("$", "$60k"), ("°", "60°C"), ("°", "60^\\circ C"), ("m/s", "60 m/s²"), ("元", "60万元")],
)  # fmt: skip
def test_a_unit_that_goes_on_is_another(unit: str, said: str) -> None:
    assert all(each.value is None for each in find_numbers(said, NumberFormat(units=(unit,))))


@pytest.mark.parametrize("said", ["3.2×10^5", "3.2 \\times 10^{5}", "3.2\\cdot10^5", "3.2×10⁵", "3.2e5", "3.2*10**5"])
def test_a_power_of_ten_is_read_however_it_is_spelt(said: str) -> None:
    (found,) = find_numbers(said, PLAIN)
    assert found.value == 320_000
