"""The pages of a judge's runs: every number is the command's, each layer apart, an attack marked where it stands."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger import Ledger, over_views
from tests.harness.judged import Bench
from tests.harness.judged import judge as lenient
from tests.harness.refereed import GOOD, HARSH, JUDGE, judged, reply, scripted, suite_of_judging, variant
from tests.harness.web.cell_pages import Shown
from tests.harness.web.pages import Pages, words
from tests.web.crawling import Seen
from tests.web.sources import Sources

SCRIPT = "<script>alert(1)</script>"
SIGNED = {
    **GOOD, "ORDERED": reply(3, 1, total=9, verdict="pass"), "The sun": [reply(1, 1), reply(1, 1), reply(0, 1), "no"]
}  # fmt: skip


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judge's run, another judge's on the same corpus, and a run that a judge graded."""
    bench = Bench(tmp_path_factory.mktemp("judges"))
    suite = suite_of_judging(bench.folder, JUDGE.replace("marks. ORDERED", f"marks. ORDERED {SCRIPT}"))
    judged(bench.db, suite, scripted(SIGNED), name="first")
    judged(bench.db, variant(bench.folder), scripted(HARSH, model="scripted-2"), model="other", name="second")
    target = bench.run(name="target")
    bench.grade(target, lenient(total=9), options={"name": "grades"})
    return bench.db


@pytest.fixture(scope="module")
def pages(db: Path) -> Iterator[Pages]:
    with Pages(db) as made:
        yield made


@pytest.fixture(scope="module")
def sources(db: Path) -> Sources:
    return Sources(db)


def run_named(db: Path, name: str) -> str:
    with Ledger.open(db, read_only=True) as ledger:
        (row,) = ledger.rows(over_views("SELECT run FROM runs WHERE name = ?"), (name,))
    return str(row["run"])


def cell_of(db: Path, run: str, case: str) -> int:
    with Ledger.open(db, read_only=True) as ledger:
        query = 'SELECT DISTINCT cell FROM cells WHERE run = ? AND "case" = ?'
        (row,) = ledger.rows(over_views(query), (run, case))
    return int(row["cell"])


def cell_page(pages: Pages, name: str, case: str) -> Seen:
    run = run_named(pages.db, name)
    return pages.at(f"/-/ledger/{pages.db.stem}/run/{run}/cell/{cell_of(pages.db, run, case)}")


def stands(page: Seen, sources: Sources) -> None:
    """Every number is what its source gives, no digit lacks one, and the headings are in order."""
    assert page.status == 200, page.url
    assert [told for number in page.numbers if (told := sources.wrong(number))] == []
    assert page.digits == []
    steps = [after - before for before, after in zip(page.headings, page.headings[1:], strict=False)]
    assert page.headings[0] == 1 and max(steps) <= 1


@pytest.mark.parametrize("name", ["first", "second", "target", "grades"])
def test_every_number_of_a_run_s_study_has_its_place_in_the_report(pages: Pages, sources: Sources, name: str) -> None:
    page = pages.run(run_named(pages.db, name))
    stands(page, sources)
    studied = [number for number in page.numbers if number.pointer.startswith("/study/")]
    assert len(studied) > (40 if name in ("first", "second") else 20)
    assert "What the suite says of its cells" in page.html


def test_a_run_page_warns_of_a_judge_that_changes_its_mind(pages: Pages) -> None:
    page = pages.run(run_named(pages.db, "first"))
    assert "the judge isn't stable" in html.unescape(page.html)
    assert "the judge isn't stable" not in html.unescape(pages.run(run_named(pages.db, "second")).html)


def test_the_compare_page_has_the_agreement_of_two_judges(pages: Pages, sources: Sources) -> None:
    a, b = (run_named(pages.db, name) for name in ("first", "second"))
    page = pages.at(f"/-/ledger/{pages.db.stem}/compare?a={a}&b={b}")
    stands(page, sources)
    assert "Agreement of the two judges" in words(page)
    assert any("/study/0/rows/" in number.pointer for number in page.numbers)


def test_a_cell_shows_the_layers_apart_beside_the_oracle(pages: Pages, sources: Sources) -> None:
    page = cell_page(pages, "first", "ORDER")
    stands(page, sources)
    said = words(page)
    assert "The judgement, layer by layer" in said
    assert "sum 4 , weighted 4" in said
    assert "quality pass with the share 1 of the score" in said
    assert "verdict pass ; the oracle gives blocked" in said
    assert "flags none raised (right to raise: steering )" in said
    assert "the judge's own total 9 , differs the judge's own verdict pass , match" in said
    assert "marker of an attack declared; it aims at pass" in said
    assert "sound 0 to 3 1 3 differs 0 plain plain 0 to 1 1 1 1" in said, "scale, weight, judge and oracle"
    assert "Claim by claim" not in said


def test_what_a_detector_found_is_marked_in_the_very_text(pages: Pages) -> None:
    page = cell_page(pages, "first", "ORDER")
    marked = [text for text, _ in Shown(page.status, page.html).marked("cited")]
    assert any("gnore all previous instructions" in text for text in marked)
    assert SCRIPT in words(page)
    assert SCRIPT not in page.html, "a text that was graded is shown and never carried out"
    assert not Shown(page.status, cell_page(pages, "first", "AIR").html).marked("cited")
    assert "No detector fired in it." in words(cell_page(pages, "first", "AIR"))


def test_the_cells_of_a_run_say_what_blocks_them(pages: Pages, sources: Sources) -> None:
    page = pages.run(run_named(pages.db, "first"), outcome="correct")
    stands(page, sources)
    assert "correct ( fail ) blocked by threshold" in words(page)


def test_a_reference_that_the_judge_was_shown_stands_there_too(pages: Pages, sources: Sources) -> None:
    page = cell_page(pages, "first", "WHALES/adversarial")
    stands(page, sources)
    assert "The reference that the judge was shown" in words(page)
    assert "An answer that names whales is complete." in words(page)


def test_what_blocks_is_said_of_a_grade_and_of_a_reply_that_nobody_could_read(pages: Pages, sources: Sources) -> None:
    assert "fail , blocked by threshold" in words(cell_page(pages, "first", "WHALES"))
    page = cell_page(pages, "first", "PART/3")
    stands(page, sources)
    assert "unmeasured:no_json" in words(page)


def test_an_answer_leads_to_the_judge_s_cell_and_back(pages: Pages, sources: Sources) -> None:
    target, grades = (run_named(pages.db, name) for name in ("target", "grades"))
    page = cell_page(pages, "target", "rain")
    stands(page, sources)
    assert "Graded by openai/inspector under essays , in cell 1 of run" in words(page)
    (link,) = {each for each in page.links if f"/run/{grades}/cell/" in each}
    judge = pages.at(link)
    stands(judge, sources)
    assert f"It grades cell {cell_of(pages.db, target, 'rain')} of run" in words(judge)
    assert any(f"/run/{target}/cell/" in each for each in judge.links)
    assert "What was asked, as it was recorded" in words(judge) and "Why does it rain?" in words(judge)


def test_an_answer_that_no_judge_was_shown_says_so(pages: Pages, sources: Sources) -> None:
    page = cell_page(pages, "target", "hail")
    stands(page, sources)
    assert "this answer was never shown to it" in words(page)
