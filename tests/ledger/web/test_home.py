"""The first page: its numbers are the command line's, every run is there, and nothing on it acts."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from ledger import Draft, Ledger, hold_run, kinds, new_run_id, supersede
from ledger._lineage import taint
from ledger._runs import list_runs
from ledger.web import _desk as desk
from ledger.web import _home as home_module
from ledger.web._home import warm
from ledger.web._reading import Shelf
from tests.ledger.ledgers import DIGEST, example_draft
from tests.ledger.lineages import RULES, RUNS, Lineage, make_lineage
from tests.ledger.web.pages import Served

LONE = "m/one"
"""The candidate of a plan that says of none: its cells are there from the start."""


def plan(
    ledger: Ledger, *, run: str = "", name: str = "", tags: tuple[str, ...] = (), purpose: str = "evaluation",
    rules: tuple[str, ...] = (), cells: int = 0, candidates: tuple[str, ...] = (), laid_out: bool = True,
) -> str:  # fmt: skip
    run = run or new_run_id()
    body = kinds.Plan(
        name=name, tags=list(tags), purpose=purpose, suite="sums" if purpose == "evaluation" else "",  # type: ignore
        ask="text", fixtures=[],
        rules=[
            kinds.PlanRules(
                name=label.partition("@")[0], label=label, identity=DIGEST, freeze=1,
                metrics=[kinds.PlanMetric(name="exact", kind="rate", planned=cells, primary=True)],
            )
            for label in rules
        ],
        candidates=[
            kinds.PlanCandidate(
                label=label, protocol="openai", model=label, parameters={}, prompt=DIGEST, prompt_freeze=None,
                stream=False, digest=DIGEST, base_url="http://127.0.0.1/v1",
            )
            for label in candidates or ((LONE,) if rules else ())
        ],
        arms=[], epochs=1, limit=None, cells=cells, via="live", environment={}, code={},
    )  # fmt: skip
    ledger.append(Draft(body, run=run))
    if rules and laid_out and not candidates:
        ledger.append(*[asked(run, cell, LONE) for cell in range(1, cells + 1)])
    return run


def score(run: str, cell: int, outcome: Any, rules: str, stage: str = "", reason: str = "") -> Draft:
    body = kinds.Score(
        rules=rules, outcome=outcome, status="parsed", stage=stage, reason=reason, domain="", value=None,
        applies=["exact"], metrics={},
    )  # fmt: skip
    return Draft(body, run=run, cell=cell)


@pytest.fixture
def lineage(tmp_path: Path) -> Iterator[Lineage]:
    found = make_lineage(tmp_path / "ledger.db")
    with found.ledger:
        yield found


def drawn(path: Path, address: str = "/-/ledger/", status: int = 200) -> str:
    """The page, once nothing on it is being worked out."""
    served = Served(path)
    end = time.monotonic() + 60
    while True:
        answer = served(address)
        assert answer.status_code == status, answer.text
        if "being worked out" not in answer.text:
            return str(answer.text)
        assert time.monotonic() < end


def cards(html: str) -> list[str]:
    """What the page says of each run, in order."""
    return re.findall(r"<article>(.*?)</article>", html, re.DOTALL)


def words(html: str) -> str:
    return " ".join(
        unescape(re.sub("<[^>]*>", " ", re.sub("</?(?:bdi|data|strong|mark|span)[^>]*>", "", html))).split()
    )


def figures(html: str) -> list[tuple[Any, str, str, str]]:
    """(value, command, pointer, query) of every number."""
    found: list[tuple[Any, str, str, str]] = []
    for attributes in re.findall(r"<data ([^>]*)>", html):
        have = dict(re.findall(r'([a-z-]+)="([^"]*)"', attributes))
        said = {name: unescape(value) for name, value in have.items()}
        found.append(
            (json.loads(said["value"]), said.get("data-cli", ""), said.get("data-at", ""), said.get("data-sql", ""))
        )
    return found


def at(document: Any, pointer: str) -> Any:
    for token in pointer.split("/")[1:]:
        document = document[int(token) if isinstance(document, list) else token]
    return document


def test_every_number_is_what_its_command_or_query_gives(lineage: Lineage) -> None:
    for outcome, cell in (("incorrect", 1), ("unmeasured", 2), ("graded", 3), ("correct", 4)):
        lineage.ledger.append(score(RUNS[1], cell, outcome, RULES[0], "parse", "no_json"))
    run = plan(lineage.ledger, name="it's", rules=("odd'rules@0",), cells=7)
    lineage.ledger.append(score(run, 1, "correct", "odd'rules@0"), score(run, 2, "incorrect", "other"))
    listed = {"runs": list(list_runs(lineage.ledger))}
    html = drawn(lineage.ledger.path).partition("<footer")[0]
    queried = listed_count = 0
    with closing(sqlite3.connect(lineage.ledger.path)) as connection:
        for value, command, pointer, query in figures(html):
            if query:
                assert connection.execute(query).fetchone() == (value,), query
                queried += 1
            elif command == "ledger runs":
                assert at(listed, pointer) == value, pointer
                listed_count += 1
    assert listed_count == 2 * 3
    assert queried == 2 + (2 + 2) + (4 + 2) + (2 + 3)


def test_outcomes_count_the_last_score_of_each_cell_and_leave_nothing_out(lineage: Lineage) -> None:
    lineage.ledger.append(score(RUNS[1], 1, "incorrect", RULES[0]), score(RUNS[1], 2, "unmeasured", RULES[0]))
    run = plan(lineage.ledger, name="hardly asked", rules=("r@0",), cells=7)
    lineage.ledger.append(score(run, 1, "graded", "r@0"))
    first, second, third = cards(drawn(lineage.ledger.path))
    assert "0 correct, 1 graded, 6 unmeasured under r@0" in words(first)
    assert f"2 correct, 1 incorrect, 1 unmeasured under {RULES[0]}" in words(second)
    assert f"4 correct, 0 unmeasured under {RULES[0]}" in words(third)
    widths = [
        float(each)
        for each in re.findall(r'<rect class="(?:correct|incorrect|unmeasured)"[^>]* width="([0-9.]+)"', second)
    ]
    assert widths == [240.0, 120.0, 60.0, 60.0]


def test_every_rule_set_has_its_bar_in_the_report_s_order_and_those_past_the_fourth_are_folded(path: Path) -> None:
    planned = ("strict@1", "lax@1", "other@1")
    with Ledger.open(path) as ledger:
        run = plan(ledger, name="often read", rules=planned, cells=2)
        scores = [score(run, cell, "correct", rules) for rules in ("a@2", "lax@1", "b@2") for cell in (1, 2)]
        ledger.append(*scores, score(run, 1, "incorrect", "strict@1"))
    (card,) = cards(drawn(path))
    shown, folded = card.split("<details>")
    said = words(shown)
    expected = [
        "2 correct, 0 unmeasured under a@2", "2 correct, 0 unmeasured under b@2",
        "2 correct, 0 unmeasured under lax@1", "0 correct, 2 unmeasured under other@1",
    ]  # fmt: skip
    places = [said.find(each) for each in expected]
    assert -1 not in places
    assert places == sorted(places)
    assert "0 correct, 1 incorrect, 1 unmeasured under strict@1" in words(folded)
    assert "strict@1" not in said


def measured(run: str, cell: int, rules: str, *, right: bool) -> Draft:
    body = kinds.Score(
        rules=rules, outcome="correct" if right else "incorrect", status="parsed", stage="", reason="", domain="",
        value=None, applies=["exact"], metrics={"exact": float(right)},
    )  # fmt: skip
    return Draft(body, run=run, cell=cell)


def asked(run: str, cell: int, candidate: str) -> Draft:
    body = kinds.Cell(
        case=f"case {cell}", fixture="v0", identity=f"{cell:064x}", input=DIGEST, gold=DIGEST,
        candidate=candidate, arm="", epoch=0, twin=0,
    )  # fmt: skip
    return Draft(body, run=run, cell=cell)


def test_rates_stand_in_one_table_and_what_nothing_was_measured_for_in_a_line(path: Path) -> None:
    with Ledger.open(path) as ledger:
        four = ("strict@1", "lax@1", "none@1", "never@1")
        run = plan(ledger, name="two", rules=four, cells=4, candidates=("m/0", "m/1"))
        ledger.append(*[asked(run, cell, f"m/{cell % 2}") for cell in (1, 2, 3, 4)])
        ledger.append(*[measured(run, cell, "strict@1", right=cell > 2) for cell in (1, 2, 3, 4)])
        ledger.append(*[measured(run, cell, "lax@1", right=True) for cell in (2, 4)])
        ledger.append(*[score(run, cell, "unmeasured", rules) for rules in ("none@1", "never@1") for cell in (1, 2)])
        alone = plan(ledger, name="one", rules=("strict@1",), cells=1, candidates=("m/1",))
        ledger.append(asked(alone, 1, "m/1"), measured(alone, 1, "strict@1", right=True))
    one, two = cards(drawn(path))
    assert two.count("<table") == one.count("<table") == 1
    rows = [words(row) for row in re.findall("<tr>(.*?)</tr>", two, re.DOTALL)]
    assert [row.partition("%")[0] for row in rows] == [
        "Candidate Metric Hits Rate 95", "Under lax@1", "m/0 exact 2 of 2 100.0",
        "Under strict@1", "m/0 exact 1 of 2 50.0", "m/1 exact 1 of 2 50.0",
    ]  # fmt: skip
    assert "No data under never@1, none@1: exact of m/0, m/1." in words(two)
    assert "No data under lax@1: exact of m/1." in words(two)
    assert "Under strict@1 Candidate Metric" in words(one)
    assert "No data" not in words(one)


def test_a_run_that_was_changed_beyond_telling_keeps_back_neither_the_others_nor_the_verdict(path: Path) -> None:
    with Ledger.open(path) as ledger:
        bad = plan(ledger, name="bad", rules=("r@0",), cells=2)
        plan(ledger, name="good", rules=("r@0",), cells=2)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER events_update")
        connection.execute("UPDATE events SET body = '{' WHERE run = ?", (bad,))
        connection.commit()
    html = drawn(path)
    good, told = cards(html)
    assert "unmeasured under r@0" in words(good)
    assert words(told).startswith(f"{bad} unreadable What stands of this run isn't what was written")
    assert "malformed JSON" in told
    assert "Does the chain hold?" in html


def test_runs_stand_newest_first_each_with_links_to_its_pages_and_tables(lineage: Lineage) -> None:
    html = drawn(lineage.ledger.path)
    found = cards(html)
    assert len(found) == 2
    for card, run in zip(found, reversed(RUNS), strict=True):
        assert f'href="/ledger/cells?run__exact={run}"' in card
        assert run in words(card)


def test_a_superseded_run_is_struck_and_there_with_its_successor_and_the_reason(lineage: Lineage) -> None:
    done = supersede(lineage.ledger, RUNS[0], by=RUNS[1], category="parser", reason="read <b>wrongly</b>")
    newer, older = cards(drawn(lineage.ledger.path))
    assert "superseded" not in words(newer)
    assert '<h3 class="gone">' in older
    assert '<h3 class="gone">' not in newer
    assert RUNS[1] in older
    assert f'href="/-/ledger/ledger/event/{done.event.seq}"' in older
    assert "(parser): read <b>wrongly</b>" in words(older)
    assert "<b>" not in older


def test_a_tainted_run_is_marked_with_what_and_why(lineage: Lineage) -> None:
    event, _ = taint(lineage.ledger, f"run:{RUNS[0]}", reason="the key was wrong")
    newer, older = cards(drawn(lineage.ledger.path))
    assert "tainted" not in words(newer)
    assert "tainted" in words(older)
    assert "the key was wrong" in words(older)
    assert f'href="/-/ledger/ledger/event/{event.seq}"' in older


def test_notes_tags_and_accepted_components_are_shown_and_probes_are_named(path: Path) -> None:
    with Ledger.open(path) as ledger:
        run = plan(ledger, name="tagged", tags=("nightly", "eu"), rules=("r@0",), cells=1)
        ledger.append(
            Draft(kinds.Accept(component="endpoint", before="a", after="b", reason="moved"), run=run),
            *[Draft(kinds.Note(text=f"remark {number}"), run=run) for number in range(4)],
        )
        plan(ledger, purpose="probe")
    probe, tagged = cards(drawn(path))
    said = words(tagged)
    assert "nightly" in said
    assert "eu" in said
    assert "Accepted endpoint" in said
    assert [f"remark {number}" in said for number in range(4)] == [True] * 4
    assert "probe" in words(probe)
    assert "probe" not in said
    assert "No rule set" not in probe


def test_a_run_that_nobody_holds_was_interrupted_and_one_that_is_held_is_open(path: Path) -> None:
    with Ledger.open(path) as ledger:
        run = plan(ledger, name="going", rules=("r@0",), cells=2)
    served = Served(path)
    with hold_run(path, run):
        assert "open" in words(cards(served("/-/ledger/").text)[0])
    assert "interrupted" in words(cards(served("/-/ledger/").text)[0])


def test_an_empty_ledger_says_that_it_is_and_what_makes_a_run(path: Path) -> None:
    html = drawn(path)
    assert "This ledger holds no run yet." in words(html)
    assert "harness run SUITE" in words(html)
    assert cards(html) == []


def test_the_head_stands_whole_and_leads_to_its_event(path: Path) -> None:
    with Ledger.open(path, read_only=True) as ledger:
        size, head = ledger.head()
    assert f'<a href="/-/ledger/ledger/event/{size}"><code>{head}</code></a>' in drawn(path)


def test_many_runs_are_paged_with_none_lost_and_a_page_too_far_is_said(path: Path) -> None:
    with Ledger.open(path) as ledger:
        runs = [plan(ledger, name=f"number {number}", rules=("r@0",), cells=1) for number in range(53)]
    served = Served(path)
    seen: list[str] = []
    for page in (1, 2, 3):
        found = cards(served(f"/-/ledger/ledger?page={page}").text)
        seen += [match[1] for card in found if (match := re.search("<code>([a-z0-9]{16})</code>", card))]
    assert seen == runs[::-1]
    html = served("/-/ledger/ledger?page=2").text
    assert 'href="/-/ledger/ledger?page=1"' in html
    assert 'href="/-/ledger/ledger?page=3"' in html
    far = served("/-/ledger/ledger?page=4")
    assert (far.status_code, "the runs end on page 3" in far.text) == (404, True)
    for wrong in ("0", "x", "-1", "9" * 30):
        assert served(f"/-/ledger/ledger?page={wrong}").status_code == 404


def test_what_people_wrote_is_text_and_never_markup(path: Path) -> None:
    attack = '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\x1b[31m'
    with Ledger.open(path) as ledger:
        run = plan(ledger, name=attack, tags=(attack,), rules=(attack,), cells=1)
        ledger.append(
            Draft(kinds.Note(text=attack), run=run),
            Draft(kinds.Accept(component=attack, before="a", after="b", reason="r"), run=run),
        )
        supersede(ledger, run, by=None, category="operator", reason=attack)
        taint(ledger, f"run:{run}", reason=attack)
    html = drawn(path)
    assert "<script>" not in html
    assert "<img" not in html
    assert "\u202e" not in html
    assert "\x1b" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_every_kind_of_event_there_is_doesn_t_keep_the_page_from_being_drawn(original: Path) -> None:
    html = drawn(original)
    assert len(cards(html)) == 2


def test_a_run_that_grows_is_shown_as_it_is_now(path: Path) -> None:
    with Ledger.open(path) as ledger:
        run = plan(ledger, name="growing", rules=("r@0",), cells=3)
    served = Served(path)
    for cell in (1, 2, 3):
        with Ledger.open(path) as ledger:
            ledger.append(score(run, cell, "correct", "r@0"))
        assert f"{cell} correct, {3 - cell} unmeasured" in words(cards(served("/-/ledger/").text)[0])


def counted(gate: threading.Event) -> Callable[..., Any]:
    """Counts of cells that are slow to come, and don't before the gate is open."""

    def count(ledger: Ledger, run: str) -> Any:
        assert gate.wait(60)
        time.sleep(0.3)
        return {"r@0": {"correct": ledger.head()[0]}}

    return count


def until(served: Served, told: Callable[[str], bool]) -> str:
    """The first page, once it tells so."""
    end = time.monotonic() + 60
    while not told(html := str(served("/-/ledger/").text)):
        assert time.monotonic() < end, words(html)
    return html


def test_nobody_waits_long_for_a_long_run_and_the_page_says_that_figures_are_coming(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.open(path) as ledger:
        run = plan(ledger, name="long", rules=("r@0",), cells=900, laid_out=False)
    monkeypatch.setattr(desk, "PATIENCE", 0.05)
    gate = threading.Event()
    monkeypatch.setattr(home_module, "count_outcomes", counted(gate))
    served = Served(path)
    assert "Figures are being worked out." in words(served("/-/ledger/").text)
    gate.set()
    until(served, lambda html: "3 correct" in words(html))
    with Ledger.open(path) as ledger:
        ledger.append(score(run, 1, "correct", "r@0"))
    said = words(served("/-/ledger/").text)
    assert "Figures as of event 3; they are being worked out again." in said
    assert "3 correct" in said


def test_nobody_waits_long_for_taints_and_the_page_says_that_they_are_being_followed(
    lineage: Lineage, monkeypatch: pytest.MonkeyPatch
) -> None:
    supersede(lineage.ledger, RUNS[0], by=RUNS[1], category="parser", reason="read wrongly")
    taint(lineage.ledger, f"run:{RUNS[1]}", reason="odd")
    whole = home_module.standing_of_runs
    gate = threading.Event()

    def follow(ledger: Ledger, *, taints: bool = True) -> Any:
        assert not taints or gate.wait(60)
        time.sleep(0.3 * taints)
        return whole(ledger, taints=taints)

    monkeypatch.setattr(desk, "PATIENCE", 0.05)
    monkeypatch.setattr(home_module, "standing_of_runs", follow)
    served = Served(lineage.ledger.path)
    html = served("/-/ledger/").text
    assert "Which runs are tainted is being worked out: none is marked yet." in words(html)
    assert '<h3 class="gone">' in cards(html)[1]
    gate.set()
    html = until(served, lambda html: "none is marked yet" not in html)
    assert "odd" in words(cards(html)[0])
    lineage.ledger.append(Draft(kinds.Note(text="later")))
    html = served("/-/ledger/").text
    size = lineage.ledger.head()[0] - 1
    assert f"it is marked as of event {size}" in words(html)
    assert "odd" in words(cards(html)[0])


def test_a_visitor_after_warming_waits_for_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.open(path) as ledger:
        plan(ledger, name="long", rules=("r@0",), cells=900, laid_out=False)
    gate = threading.Event()
    gate.set()
    monkeypatch.setattr(home_module, "count_outcomes", counted(gate))
    shelf = Shelf(path)
    warm(shelf)
    monkeypatch.setattr(home_module, "count_outcomes", lambda ledger, run: pytest.fail("it was warm"))
    with shelf.reading() as ledger:
        view = home_module._unasked(shelf, ledger)  # pyright: ignore[reportPrivateUsage]
        (shown,) = home_module.home(view).values["runs"]
    assert [each.cells.value for each in shown.parts[0].scored[0].bar] == [3, 0, 0, 897]
    shelf.close()


def test_warming_what_is_no_ledger_any_more_raises_nothing(path: Path) -> None:
    shelf = Shelf(path)
    path.unlink()
    warm(shelf)
    shelf.close()


def test_rows_of_a_few_runs_are_those_of_the_whole_list(lineage: Lineage) -> None:
    supersede(lineage.ledger, RUNS[0], by=RUNS[1], category="parser", reason="read wrongly")
    taint(lineage.ledger, f"run:{RUNS[0]}", reason="odd")
    lineage.ledger.append(example_draft("note", run=RUNS[0]), example_draft("accept", run=RUNS[1]))
    whole = list(list_runs(lineage.ledger))
    assert list(list_runs(lineage.ledger, among=RUNS)) == whole
    assert list(list_runs(lineage.ledger, among=RUNS[:1])) == whole[1:]
    assert list(list_runs(lineage.ledger, among=[])) == []
