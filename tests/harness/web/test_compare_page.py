"""The page that compares: the very numbers of `harness compare`, refused where it refuses, and every flip with both
readings beside each other.
"""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlencode

import pytest

from harness.web import _compare as comparing
from ledger import Ledger
from ledger.web import _desk as desk
from ledger.web._files import write_pages
from tests.harness.answered import FENCED, Down, answered_run, ask_again
from tests.harness.scored import NEGATIVE, case_line, scored_run
from tests.harness.web.cell_pages import Shown, resolve, shown
from tests.harness.web.pages import Pages

MANY = [f"c{number}" for number in range(60)]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def compared(db: Path, a: str, b: str = "", rules: tuple[str, ...] = (), status: int = 200, **more: object) -> Shown:
    query = [("a", a), ("b", b), *(("rules", each) for each in rules), *more.items()]
    page = shown(db, f"compare?{urlencode(query)}")
    assert page.status == status, page.text
    return page


def two_candidates(db: Path, right: tuple[int, int] = (50, 20), word: str = "wrong") -> str:
    with Ledger.create(db) as ledger:
        outcomes = [
            {name: "right" if at < count else word for at, name in enumerate(MANY)} for count in right
        ]  # fmt: skip
        return scored_run(ledger, {"a/x": outcomes[0], "b/y": outcomes[1]})


# Numbers


def test_every_number_is_the_one_that_the_command_prints(db: Path) -> None:
    run = two_candidates(db)
    page = compared(db, f"{run}@a/x", f"{run}@b/y")
    assert resolve(db, page) > 60
    assert "exact: A is higher; exact McNemar p = 1.9e-09; higher is better" in page.text
    table = page.around("by which side exact holds on", "Exact McNemar")
    assert table.strip() == "B: yes B: no A: yes 20 30 A: no 0 10"
    assert "+50.0 points" in page.text and "p = 1.9e-09" in page.text


def test_in_files_all_cases_that_differ_are_a_link_away_and_no_link_leads_nowhere(db: Path, tmp_path: Path) -> None:
    run = two_candidates(db)
    write_pages(db, tmp_path / "out", run=run, report=None, told=print)
    pages = {file: file.read_text("utf-8") for file in (tmp_path / "out").rglob("*.html")}
    links = {(file, link) for file, html in pages.items() for link in re.findall('<a href="([^"#]+)', html)}
    assert [link for file, link in links if not (file.parent / unquote(link)).exists()] == []
    differ = "".join(html for file, html in pages.items() if file.parent.name == "compare")
    assert set(re.findall('<th scope="row"><bdi>one/(c[0-9]+)<', differ)) == set(MANY[20:50])


def test_two_rule_sets_of_one_run_say_which_stage_moved_each_cell(db: Path) -> None:
    with Ledger.create(db) as ledger:
        run = answered_run(ledger, {1: FENCED, 2: FENCED, 3: Down()}, rules=("strict-cite", "fence-cite"))
    page = compared(db, run.run, rules=("strict-cite", "fence-cite"))
    assert resolve(db, page) > 20
    flips = page.text.partition("Cases that differ in exact")[2]
    assert flips.count("parse: fence") == 2
    assert "read as malformed , fenced" in flips and "read as parsed" in flips
    cells = [link for link in page.links if re.search(r"/cell/[12]\?", link)]
    assert len(cells) >= 4
    for link in cells:
        there = shown(db, link.partition(f"/-/ledger/{db.stem}/")[2])
        assert there.status == 200 and "Read under each rule set" in there.text


def test_means_and_repeats_have_no_p_and_say_why(db: Path) -> None:
    with Ledger.create(db) as ledger:
        repeated = {"c1": ["right", "wrong"], "c2": ["right", "right"], "c3": ["wrong", "wrong"]}
        run = scored_run(ledger, {"a/x": repeated, "b/y": {each: ["right", "right"] for each in repeated}}, epochs=2)
    page = compared(db, run)
    assert "Exact McNemar is not computed: repeats of a case aren't independent" in page.text
    assert "A: 1 of 3 repeated cases changed outcome between identical repeats." in page.text
    assert resolve(db, page) > 20


def test_what_either_side_lacks_is_listed_by_why_and_leads_to_its_cell(db: Path) -> None:
    run = two_candidates(db, (60, 50), "malformed")
    page = compared(db, run)
    lacks = page.around("Missing, and never filled in", "No case differs")
    assert "B, unmeasured: malformed, no_json" in lacks
    assert lacks.count("one/c") == 10
    assert shown(db, f"run/{run}/cell/120").status == 200
    assert any(link.endswith(f"run/{run}/cell/120") for link in page.links)


# Flips


def test_flips_are_paged_and_both_sides_cells_are_a_click_away(db: Path) -> None:
    run = two_candidates(db)
    first, second = (compared(db, run, metric="exact", page=page) for page in (1, 2))
    rows = [re.findall(r">one/c(\d+)<", page.html) for page in (first, second)]
    assert rows == [[str(at) for at in range(20, 40)], [str(at) for at in range(40, 50)]]
    assert f"/run/{run}/cell/21?" in first.html and f"/run/{run}/cell/81?" in first.html
    assert "Page 1 of 2" in first.text and "Page 2 of 2" in second.text
    assert resolve(db, second) > 60
    assert compared(db, run, status=404, page=3).status == 404


def test_each_metric_with_cases_that_differ_can_be_chosen(db: Path) -> None:
    with Ledger.create(db) as ledger:
        lines = [case_line(name, gold=NEGATIVE if at % 2 else None) for at, name in enumerate(MANY)]
        run = scored_run(
            ledger, {"a/x": dict.fromkeys(MANY, "right"), "b/y": dict.fromkeys(MANY, "wrong")}, lines=lines
        )  # fmt: skip
    page = compared(db, run, metric="false_fire")
    shown_now = page.text.partition("Cases that differ in false_fire")[2]
    assert "one/c1 " in shown_now and "one/c2 " not in shown_now
    assert "exact (30)" in page.text and "negative_pass (30)" in page.text


# Refusals


def test_what_isnt_comparable_is_named_with_what_mends_it_and_no_number_is_shown(db: Path) -> None:
    with Ledger.create(db) as ledger:
        a = answered_run(ledger, {}, rules=("strict-cite",)).run
        b = answered_run(ledger, {}, rules=("fence-cite",)).run
    page = compared(db, a, b)
    assert "Not comparable." in page.text and "rules of strict-cite@" in page.text
    assert f"harness rescore {a} {b} --rules strict-cite" in page.text
    assert page.numbers() == [] and "Its numbers are withheld." in page.text
    (link,) = [each for each in page.links if "force=1" in each]
    forced = shown(db, link.partition(f"/-/ledger/{db.stem}/")[2])
    assert "Not comparable: more moved than what is compared." in forced.text
    assert resolve(db, forced) > 20


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("a=nosuchrun", "nosuchrun"),
        ("a=latest", "name another run or candidate, or two rule sets"),
        ("a=latest&b=latest", "name the same numbers"),
        ("a=latest&rules=strict-cite&rules=nosuch", "was not scored under 'nosuch'"),
        (f"a={quote('<script>alert(1)</script>')}", "<script>alert(1)</script>"),
        (f"a={quote(chr(27) + '[31m' + chr(0x202E) + 'x')}", "\\x1b[31m\\u202ex"),
        (f"a={quote(chr(34))}%3E%3Cimg&b=x", '"><img'),
    ],
)
def test_names_that_dont_go_together_are_one_sentence_with_the_form_below(db: Path, query: str, says: str) -> None:
    with Ledger.create(db) as ledger:
        answered_run(ledger, {}, rules=("strict-cite",))
    page = shown(db, f"compare?{query}")
    assert page.status == 400
    assert says in page.text
    assert '<form class="compare"' in page.html
    body = page.html.partition("<main")[2]
    assert "<script" not in body and "<img" not in body and not {"\x1b", "\u202e"} & set(page.html)


# The form


def test_a_comparison_that_takes_long_is_awaited_and_comes(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = two_candidates(db)
    gate, whole = threading.Event(), comparing.compare

    def compare(*given: Any, **named: Any) -> Any:
        assert gate.wait(60)
        return whole(*given, **named)

    monkeypatch.setattr(comparing, "compare", compare)
    monkeypatch.setattr(desk, "PATIENCE", 0.0)
    with Pages(db) as found:
        url = f"/-/ledger/ledger/compare?a={run}&force="
        early = found.first(url)
        assert early.status == 200
        assert "The comparison is being worked out." in early.html
        assert any(link.startswith(f"/-/ledger/ledger/compare?a={run}") for link in early.links)
        assert (early.digits, early.numbers, early.headings[0]) == ([], [], 1)
        gate.set()
        assert "being worked out" not in (late := found.at(url)).html
    assert len(late.numbers) > 10


def test_without_names_there_is_a_form_and_what_could_be_compared(db: Path) -> None:
    run = two_candidates(db)
    page = shown(db, "compare")
    assert page.status == 200
    assert f"{run}@a/x and {run}@b/y" in page.text.replace(" : ", ": ")
    (link,) = [each for each in page.links if "compare?a=" in each]
    assert shown(db, link.partition(f"/-/ledger/{db.stem}/")[2]).status == 200
    assert page.html.count("<label>") == 4 and f'<option value="{run}">' in page.html


def test_a_ledger_without_runs_says_what_makes_one(db: Path) -> None:
    Ledger.create(db).close()
    page = shown(db, "compare")
    assert page.status == 200 and "There is no run to compare yet; harness run" in page.text


def test_a_comparison_is_made_anew_once_either_run_moved_on(db: Path) -> None:
    with Ledger.create(db) as ledger:
        a = answered_run(ledger, {1: "no"}, rules=("strict-cite",))
        b = answered_run(ledger, {1: "no", 2: "no"}, rules=("strict-cite",))
    before = compared(db, a.run, b.run).around("Missing, and never filled in", "No case differs")
    with Ledger.open(db) as ledger:
        ask_again(ledger, b, 2, "perfect")
    after = compared(db, a.run, b.run)
    lacks = after.around("Missing, and never filled in", "No case differs")
    assert [before.count("v0/"), lacks.count("v0/")] == [3, 2]
    assert resolve(db, after) > 20
