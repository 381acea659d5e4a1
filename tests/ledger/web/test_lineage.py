"""The lineage of a run as a graph and a table: every step, what was said of any of it, and the same numbers in both."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from bench._synthetic import make_ledger
from ledger import Draft, Ledger, kinds
from ledger._lineage import clear, supersede, taint
from tests.ledger.ledgers import RUN, example_draft, withhold
from tests.ledger.lineages import RULES, RUNS, Lineage, make_lineage, report, score_again, tally_again
from tests.ledger.web.pages import Served
from tests.ledger.web.test_event import changed


def page(path: Path, run: str, status: int = 200) -> str:
    answer = Served(path)(f"/-/ledger/{path.stem}/lineage/{run}")
    assert answer.status_code == status, answer.text[-1000:]
    return answer.text


def boxes(html: str) -> list[tuple[str, list[str], str]]:
    """Every box of the graph: its classes, its lines, and where it leads."""
    drawn = html.partition('<svg class="graph"')[2].partition("</svg>")[0]
    found: list[tuple[str, list[str], str]] = []
    for kind, attributes, inside in re.findall(
        r'<(?:a|g) class="node ([^"]*)"([^>]*)>(.*?)</(?:a|g)>', drawn, re.DOTALL
    ):
        lines = [unescape(each) for each in re.findall("<text[^>]*>([^<]*)</text>", inside)]
        found.append((kind.strip(), lines, unescape("".join(re.findall('href="([^"]*)"', attributes)))))
    return found


def rows(html: str) -> list[list[str]]:
    """The table's rows, as their words."""
    body = html.partition("<tbody>")[2].partition("</tbody>")[0]
    cells = [
        re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in re.findall("<tr>.*?</tr>", body, re.DOTALL)
    ]
    return [[" ".join(unescape(re.sub("<[^>]*>", "", cell)).split()) for cell in row] for row in cells]


@pytest.fixture
def lineage(tmp_path: Path) -> Lineage:
    return make_lineage(tmp_path / "ledger.db")


def test_every_step_from_what_was_frozen_to_who_was_given_it_is_there(lineage: Lineage) -> None:
    run = RUNS[0]
    lineage.ledger.close()
    html = page(lineage.ledger.path, run)
    heads = {lines[0] for _, lines, _ in boxes(html)}
    for seq in lineage.fixtures.values():
        assert f"fixture {seq}" in heads
    for seq in lineage.prompts.values():
        assert f"prompt {seq}" in heads
    for seq in lineage.rules.values():
        assert f"rules {seq}" in heads
    assert {f"plan {lineage.plans[run]}", "planned 4 cells", "correct 4"} <= heads
    assert {f"tally {lineage.tallies[run, label]}" for label in RULES} <= heads
    assert {f"report {lineage.reports[run]}", f"published {lineage.published[run]}"} <= heads
    assert f"report {lineage.reports[RUNS[1]]}" not in heads
    assert len(boxes(html)) == 6 + 1 + 1 + 2 + 2 + 2


def test_the_table_says_what_the_graph_says_number_by_number(lineage: Lineage) -> None:
    lineage.ledger.close()
    html = page(lineage.ledger.path, RUNS[0])
    told = sorted(" ".join([what, *([] if count == "–" else [count])]) for _, what, count, _, _ in rows(html))
    assert told == sorted(lines[0] for _, lines, _ in boxes(html))
    assert [place for place, *_ in rows(html)] == sorted(
        [place for place, *_ in rows(html)],
        key=["Stands on", "Plan", "Cells", "Outcomes", "Tallies", "Reports", "Given to"].index,
    )


def test_boxes_lead_to_events_and_outcomes_to_the_cells_that_ended_so(lineage: Lineage) -> None:
    lineage.ledger.close()
    addresses = {(lines[0], lines[-1]): href for _, lines, href in boxes(page(lineage.ledger.path, RUNS[0]))}
    seq = lineage.plans[RUNS[0]]
    assert addresses[f"plan {seq}", f"name-{RUNS[0][0]}"].endswith(f"/event/{seq}")
    assert addresses["correct 4", RULES[0]].endswith(f"/run/{RUNS[0]}?rules=strict%40111111111111&outcome=correct")
    assert addresses["planned 4 cells", "planned 4 cells"].endswith(f"/run/{RUNS[0]}")


def test_what_was_said_of_it_hangs_on_what_it_speaks_of(lineage: Lineage) -> None:
    ledger, (run, other) = lineage.ledger, RUNS
    fixture = lineage.fixtures["v0"]
    first, _ = taint(ledger, str(fixture), reason="one <gold> is wrong")
    second, _ = taint(ledger, RULES[0], reason="too strict")
    cleared, _ = clear(ledger, second.seq, reason="it is fine")
    gone = supersede(ledger, run, by=other, category="operator", reason="wrong server").event
    told = supersede(ledger, str(lineage.reports[run]), by=None, category="other", reason="typo").event
    moved = kinds.Accept(component="endpoint", before="a", after="b", reason="it moved house")
    accepted = ledger.append(Draft(moved, run=run, causes=[lineage.plans[run]]))[0]
    ledger.close()
    html = page(ledger.path, run)
    found = {lines[0]: (kind, lines[1:]) for kind, lines, _ in boxes(html)}
    assert found[f"taint {first.seq}"] == ("said", [f"of freeze {fixture}", "one <gold> is wrong"])
    assert found[f"taint {second.seq} withdrawn"] == ("gone said", [f"by {cleared.seq}", "it is fine"])
    assert found[f"superseded {gone.seq}"] == ("said", [f"by run {other}", "operator: wrong server"])
    assert found[f"superseded {told.seq}"] == ("said", ["without a successor", "other: typo"])
    assert found[f"accepted {accepted.seq}"] == ("said", ["component endpoint", "it moved house"])
    assert found[f"plan {lineage.plans[run]}"][0] == found[f"report {lineage.reports[run]}"][0] == "gone"
    words = [" ".join(row) for row in rows(html)]
    assert f"Said of it taint {second.seq} withdrawn – by {cleared.seq} it is fine" in words
    assert f"Said of it taint {first.seq} – of freeze {fixture} one <gold> is wrong" in words
    assert 'class="gone"' in html
    successor = {lines[0]: lines[1:] for _, lines, _ in boxes(page(ledger.path, other))}
    assert successor[f"replaces {gone.seq}"] == [f"run {run}", "operator: wrong server"]


def test_rules_of_a_rescore_stand_beside_the_cells_and_their_scores_come_of_both(lineage: Lineage) -> None:
    ledger, run, label = lineage.ledger, RUNS[0], "late@333333333333"
    body = kinds.Freeze(what="rules", name="late", digest="0" * 64, identity="333333333333" + "0" * 52)
    lineage.rules[label] = ledger.append(Draft(body))[0].seq
    for cell in (1, 2):
        score_again(lineage, run, cell, (label,))
    tallies = [tally_again(lineage, run, label) for _ in range(2)]
    ledger.close()
    html = page(ledger.path, run)
    assert ["Frozen later", f"rules {lineage.rules[label]}", "–", label, ""] in rows(html)
    assert ["Outcomes", "correct", "2", label, ""] in rows(html)
    assert ["Outcomes", "unmeasured", "2", label, ""] in rows(html)
    assert ["Tallies", f"tally {tallies[1]}, the last of", "2", label, ""] in rows(html)


def test_answers_taken_over_name_the_run_that_they_are_of(lineage: Lineage) -> None:
    ledger, (first, second) = lineage.ledger, RUNS
    for cell in (1, 2):
        origin = lineage.responses[first, cell, 1]
        body = kinds.Reuse(of=origin, hash=ledger.event(origin).hash)
        causes = sorted([lineage.cells[second, cell], origin])
        ledger.append(Draft(body, run=second, cell=cell, causes=causes))
    ledger.close()
    assert ["Stands on", "reused", "2 answers", f"from run {first}", ""] in rows(page(ledger.path, second))
    assert not [row for row in rows(page(ledger.path, first)) if row[1] == "reused"]


def test_what_is_withheld_is_said_with_its_reason(lineage: Lineage) -> None:
    path = lineage.ledger.path
    lineage.ledger.close()
    withhold(path, [lineage.responses[RUNS[0], 1, 1]], [])
    with Ledger.open(path, read_only=True) as ledger:
        seq = ledger.head()[0]
    assert ["Said of it", f"withheld {seq}", "–", "category secret", "a key leaked"] in rows(page(path, RUNS[0]))
    assert not [row for row in rows(page(path, RUNS[1])) if row[0] == "Said of it"]


def test_many_of_a_kind_are_counted_not_drawn(lineage: Lineage) -> None:
    ledger, run = lineage.ledger, RUNS[0]
    tallies = [lineage.tallies[run, label] for label in RULES]
    for number in range(30):
        report(lineage, run, f"reader {number}", tallies)
    newest = ledger.newest(1, kind="report")[0].seq
    for number in range(20):
        ledger.append(Draft(kinds.Publish(report=newest, to=f"friend {number}"), causes=[newest]))
    ledger.close()
    html = page(ledger.path, run)
    assert len(boxes(html)) < 40
    assert ["Reports", "older reports", "23", "", ""] in rows(html)
    assert [row for row in rows(html) if row[1] == "published earlier"] == [
        ["Given to", "published earlier", "20 times", "", ""]
    ]


def test_two_thousand_cells_are_no_more_boxes_than_four(tmp_path: Path) -> None:
    path = tmp_path / "many.db"
    with make_ledger(path, 100, cells_a_run=2000) as ledger:
        (run,) = [event.run for event in ledger.events(kind="plan")]
    html = page(path, run)
    assert len(boxes(html)) < 12
    outcomes = [int(row[2].replace(",", "")) for row in rows(html) if row[0] == "Outcomes"]
    assert sum(outcomes) == 2 * 2000
    assert "planned 2,000 cells" in [lines[0] for _, lines, _ in boxes(html)]


def test_a_run_of_which_nothing_came_yet_is_all_unmeasured(path: Path) -> None:
    with Ledger.open(path) as ledger:
        freeze = ledger.append(example_draft("freeze"))[0].seq
        ledger.append(example_draft("plan", causes=[freeze]))
    assert ["Outcomes", "unmeasured", "1", "strict@0123456789ab", ""] in rows(page(path, RUN))


def test_a_run_that_is_not_there_and_one_whose_plan_was_changed_are_answered_in_a_sentence(
    original: Path, copy: Path
) -> None:
    assert "no run fits" in page(original, "nosuchrun", 404)
    answer = page(changed(original, copy, "UPDATE events SET body = '{' WHERE seq = 4"), RUN, 400)
    assert "Traceback" not in answer
    assert len(answer) < 4000
