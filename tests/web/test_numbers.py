"""Every number on every page is the one that the command line or a query gives, and no digit stands there without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.browsing import serve
from tests.web.crawling import Address, Number, Seen, crawl
from tests.web.refereed import refereed
from tests.web.sources import Sources, said

FILES = frozenset({"line", "raw", "body", "head"})
"""Routes that answer with bytes or JSON, and not with a page."""

SEARCHES = ("search?q=authority", "search?q=timeout", "search?q=nothing-is-called-that")


def sampled(most: int) -> Callable[[str, Address], bool]:
    """All runs, lineages and comparisons; every ninth cell; of events, blobs and narrowed pages so many, spread."""
    met: Counter[tuple[str, bool]] = Counter()

    def wanted(url: str, at: Address) -> bool:
        if at.route in FILES:
            return False
        kind = (at.route, bool(at.query))
        if at.route == "cell" and int(at.parts["cell"]) % 9 != 1:
            return False
        if at.route in ("event", "blob"):
            met[kind] += 1
            return met[kind] % 4 == 1 and met[kind] <= 4 * most
        if at.query:
            met[kind] += 1
            return met[kind] <= most
        return True

    return wanted


def every_page(ledger: Path, most: int) -> list[Seen]:
    with serve(ledger) as site, httpx.Client(timeout=60) as client:
        home = f"{site.url}/{ledger.stem}"
        return list(crawl(client, [home, *(f"{home}/{each}" for each in SEARCHES)], sampled(most)))


@pytest.fixture(scope="module", params=["history", "states"])
def crawled(request: pytest.FixtureRequest) -> Iterator[tuple[list[Seen], Sources]]:
    """Every page of a ledger, and what commands and queries say of it."""
    ledger: Path = request.getfixturevalue(request.param)
    yield every_page(ledger, 24 if request.param == "history" else 16), Sources(ledger)


def test_every_page_that_a_link_leads_to_is_there(crawled: tuple[list[Seen], Sources]) -> None:
    pages, _ = crawled
    assert [f"{page.status} {page.url}" for page in pages if page.status != 200] == []
    assert len(pages) > 100


def test_every_number_is_what_its_command_or_query_gives(crawled: tuple[list[Seen], Sources]) -> None:
    pages, sources = crawled
    numbers = [number for page in pages for number in page.numbers]
    wrong = [told for number in numbers if (told := sources.wrong(number))]
    assert not wrong, f"{len(wrong)} of {len(numbers)} numbers are wrong:\n" + "\n".join(wrong[:40])
    assert len(numbers) > 1500
    assert any(command.startswith("harness report ") for command in sources.commands)


def test_no_digit_stands_on_a_page_without_its_source(crawled: tuple[list[Seen], Sources]) -> None:
    pages, _ = crawled
    loose = [f"{page.url}: {text!r}" for page in pages for text in page.digits]
    assert not loose, f"{len(loose)} digits without a source:\n" + "\n".join(loose[:40])


def test_every_number_of_a_judge_s_tables_has_its_source(tmp_path: Path) -> None:
    ledger = refereed(tmp_path)
    with serve(ledger) as site, httpx.Client(timeout=60) as client:
        home = f"{site.url}/{ledger.stem}"
        pages = list(crawl(client, [home], lambda url, at: at.route == "run" and not at.query))
    sources = Sources(ledger)
    numbers = [number for page in pages for number in page.numbers]
    assert [told for number in numbers if (told := sources.wrong(number))] == []
    assert [f"{page.url}: {text!r}" for page in pages for text in page.digits] == []
    told = {number.pointer.split("/")[1] for number in numbers if number.command}
    assert "study" in told
    assert len({number.command for number in numbers if number.pointer.startswith("/study/")}) == 5


def test_every_page_has_one_heading_of_the_first_order_and_none_is_left_out(
    crawled: tuple[list[Seen], Sources],
) -> None:
    for page in crawled[0]:
        assert page.headings.count(1) == 1, page.url
        assert page.headings[0] == 1, page.url
        steps = [after - before for before, after in zip(page.headings, page.headings[1:], strict=False)]
        assert max(steps, default=0) <= 1, f"{page.url}: {page.headings}"
        assert len(page.ids) == len(set(page.ids)), f"{page.url}: an id stands twice"
        assert page.title.strip(), page.url


def test_nothing_on_a_page_needs_what_the_policy_forbids(crawled: tuple[list[Seen], Sources]) -> None:
    for page in crawled[0]:
        assert page.inline == [], page.url
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert page.headers["x-content-type-options"] == "nosniff"


def test_a_wrong_number_is_found(crawled: tuple[list[Seen], Sources]) -> None:
    """What the crawl goes by: a value, a text, a place and a source that are a little off are each told."""
    pages, sources = crawled
    numbers = [number for page in pages for number in page.numbers if isinstance(number.value, int | float)]
    from_command = next(number for number in numbers if number.command and number.value)
    from_query = next(number for number in numbers if number.query and number.value)
    for number in (from_command, from_query):
        assert sources.wrong(number) == ""
        more = number.value + 1
        assert "the source says" in sources.wrong(replace(number, value=more, text=said(more, number.form)))
        assert "expected the text" in sources.wrong(replace(number, text=number.text + "0"))
        assert "one source" in sources.wrong(replace(number, command="", query=""))
    assert "can't be read" in sources.wrong(replace(from_command, pointer=from_command.pointer + "/no"))
    assert "can't be read" in sources.wrong(replace(from_query, query="SELECT nothing FROM nowhere"))


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (1234567, "count", "1,234,567"), (-1234, "count", "-1,234"), (0.125, "percent", "12.5%"), (None, "count", "–"),
        (0.5, "decimal", "0.500"), (9_999, "ms", "9,999 ms"), (12_345, "ms", "12.3 s"), (1024, "bytes", "1,024 bytes"),
        (1e6, "ms", "1,000.0 s"), (17, "plain", "17"), ("3/16", "text", "3/16"),
        (-0.157, "points", "-15.7 points"), (0, "points", "+0.0 points"), (0.0625, "signed", "+0.062"),
        (0.04, "p", "0.0400"), (1.73e-11, "p", "1.7e-11"),
    ],
)  # fmt: skip
def test_pages_write_numbers_as_they_are_told_to(value: object, form: str, text: str) -> None:
    from ledger.web._figure import figure_text

    assert said(value, form) == text == figure_text(value, form)  # pyright: ignore[reportArgumentType]


def test_the_crawl_knows_a_digit_from_a_number() -> None:
    html = "<p>17 <data value='18' data-sql='x'>18</data> <code>19</code> <span class='nav'>20</span></p><b>21</b>"
    seen = _taken_apart(html)
    assert seen.digits == ["17", "21"]
    assert [number.value for number in seen.numbers] == [18]


def _taken_apart(html: str) -> Seen:
    from tests.web.crawling import read

    answer = httpx.Response(200, headers={"content-type": "text/html"}, text=html)
    return read("http://x/-/ledger/a", answer)


def test_numbers_are_told_apart_by_where_they_come_from() -> None:
    html = "<data value='0.5' data-cli='harness report r' data-at='/a/0' data-form='percent'>50.0%</data>"
    assert _taken_apart(html).numbers == [
        Number("http://x/-/ledger/a", "50.0%", 0.5, "percent", "harness report r", "/a/0", "")
    ]
