"""The page of a cell: what was read is marked in the text, what was cited in the case, and every number can be found
again.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3

from harness._rules import RuleSet, builtin_rules
from harness._suite import load_suite
from ledger import Draft, Ledger
from ledger.kinds import Score
from tests.harness.answered import (
    FENCED,
    OPEN,
    ROOT,
    UNASKED,
    Answered,
    Down,
    answered_run,
    ask_again,
    envelope,
)
from tests.harness.test_run import perfect
from tests.harness.web.cell_pages import Shown, resolve, shown

RULES = ("strict-cite", "fence-cite")
HOSTILE = "<script>alert(1)</script></pre><img src=x onerror=alert(1)>\u202eevil\u2066\u200b"


def made(db: Path, answers: dict[int, object], *, rules: Any = RULES, **more: Any) -> Answered:
    with Ledger.create(db) as ledger:
        return answered_run(ledger, answers, rules=rules, **more)


def cell(db: Path, run: Answered, number: int, **query: str) -> Shown:
    tail = "&".join(f"{name}={value}" for name, value in query.items())
    page = shown(db, f"run/{run.run}/cell/{number}{'?' if tail else ''}{tail}")
    assert page.status == 200, page.text
    return page


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def lenient() -> RuleSet:
    return builtin_rules("default", load_suite("authority", ROOT)[0].stages)


def case_text(number: int) -> str:
    _, (fixture, *_) = load_suite("authority/v0", ROOT)
    return str(fixture.cases[number - 1].input["text"])  # type: ignore[index,call-overload]


# What was read


def test_what_each_rule_set_read_is_marked_in_the_raw_text_and_nothing_else(db: Path) -> None:
    answer = perfect(case_text(1))
    run = made(db, {1: FENCED})
    page = cell(db, run, 1)
    ((read, title),) = page.marked("read")
    assert read == answer
    assert "fence-cite@" in title and "strict-cite@" not in title
    assert "The value stands in a code fence, and the rules do not allow fences." in page.text


def test_a_span_counts_bytes_so_wide_characters_ahead_of_it_move_nothing(db: Path) -> None:
    value = '{"proposals": []}'
    run = made(db, {5: f"Grüße 👩🚀 und 漢字:\n{value}\nÄh."}, rules=(lenient(),))
    ((read, _),) = cell(db, run, 5).marked("read")
    assert read == value


def test_of_two_answers_both_are_marked_as_candidates_and_none_as_read(db: Path) -> None:
    first, second = '{"proposals": []}', '{"proposals": [1]}'
    run = made(db, {1: f"Ünsure: {first} or {second}?"}, rules=(lenient(),))
    page = cell(db, run, 1)
    assert [text for text, _ in page.marked("read")] == [first, second]
    assert all(title.startswith("one of several candidates under default@") for _, title in page.marked("read"))
    assert "The text holds two or more different answers; none is chosen." in page.text


def test_rule_sets_that_read_the_same_stretch_share_one_text_and_reasoning_stands_apart(db: Path) -> None:
    thought = "Let me see: <b>items</b> first."
    run = made(
        db, {1: f"<think>{thought}</think>{perfect(case_text(1))}"},
        rules=("strict-cite", lenient()),
    )  # fmt: skip
    page = cell(db, run, 1)
    ((read, _),) = page.marked("read")
    assert read == perfect(case_text(1))
    apart = page.html.partition("Reasoning, apart from the answer")[2].partition("</details>")[0]
    assert "Let me see: &lt;b&gt;items&lt;/b&gt; first." in apart
    assert "proposals" not in apart


def test_a_span_far_into_a_long_text_is_shown_with_what_is_around_it(db: Path) -> None:
    value = '{"proposals": []}'
    run = made(db, {5: "word " * 30_000 + value}, rules=(lenient(),))
    page = cell(db, run, 5)
    ((read, _),) = page.marked("read")
    assert read == value
    assert "Shown up to byte 65,536 of 150,017" in page.text


# What was cited


def proposal(**changes: object) -> dict[str, object]:
    first: dict[str, object] = json.loads(perfect(case_text(1)))["proposals"][0]
    return {**first, **changes}


def test_the_cited_span_is_marked_in_its_source_item_claim_by_claim(db: Path) -> None:
    good = proposal()
    claims = [good, proposal(confidence=0.1), proposal(cited_evidence_span="was never said"),
              proposal(source_item_id="M099")]  # fmt: skip
    run = made(db, {1: json.dumps({"proposals": claims})}, rules=("strict-cite",))
    page = cell(db, run, 1)
    cited = [text for text, _ in page.marked("cited")]
    assert cited == [good["cited_evidence_span"]] * 2, "of the one that holds, and of the one that lacks confidence"
    told = page.text.partition("Claim by claim")[2]
    assert told.count("confirmed") == 1
    for sentence in (
        "The confidence is below the gate.",
        "The cited span does not stand in the source item.",
        "The source is no item of the case.",
    ):
        assert sentence in told
    assert "M099 : the source, and no item of this case" in told


def test_a_cited_span_counts_characters_and_folds_white_space_and_case(db: Path) -> None:
    item = next(line for line in case_text(1).split("\n") if line.startswith("- From"))[2:]
    run = made(
        db, {1: json.dumps({"proposals": [proposal(cited_evidence_span=f"  {item.upper()}  ")]})},
        rules=("strict-cite",),
    )  # fmt: skip
    assert [text for text, _ in cell(db, run, 1).marked("cited")] == [item]


# Scores, side by side


def test_every_number_on_the_page_is_what_the_command_or_query_it_names_gives(db: Path) -> None:
    run = made(db, {1: FENCED, 2: "no", 3: Down(), 4: UNASKED, 5: OPEN, 6: '{"proposals": []}'})
    counts = [resolve(db, cell(db, run, number)) for number in range(1, 7)]
    assert min(counts) >= 4 and counts[0] >= 15 and counts[5] >= 20


def test_outcomes_stand_side_by_side_at_the_top_and_the_rule_set_asked_for_goes_first(db: Path) -> None:
    run = made(db, {1: FENCED})
    plain = cell(db, run, 1)
    fence = next(each.label for each in run.rules if each.name == "fence-cite")
    strict = next(each.label for each in run.rules if each.name == "strict-cite")
    top = plain.text.partition("The case")[0]
    assert top.index(fence) < top.index(strict)
    assert "unmeasured parse , fenced" in top and "correct exact 1" in top
    asked = cell(db, run, 1, rules=strict).text.partition("The case")[0]
    assert asked.index(strict) < asked.index(fence)


def test_a_metric_that_applies_without_a_figure_is_told_from_one_that_doesnt_apply(db: Path) -> None:
    run = made(db, {1: FENCED, 5: "no"})
    table = cell(db, run, 1).text.partition("Scored under each rule set")[2]
    assert "exact 1 applies, no figure" in table
    assert "negative_pass" not in table


def test_the_reading_is_done_again_and_the_page_says_whether_it_is_the_same(db: Path) -> None:
    run = made(db, {1: FENCED, 2: Down()})
    assert cell(db, run, 1).text.count("the same") == 2
    assert cell(db, run, 2).text.count("the same") == 2
    with Ledger.open(db) as ledger:
        newest = ledger.newest(1, kind="score", run=run.run, cell=1)[0]
        body = ledger.body(newest)
        assert isinstance(body, Score)
        forged = body.model_copy(update={"outcome": "incorrect", "metrics": {"exact": 0.0, "direction": 1.0}})
        ledger.append(Draft(forged, run=run.run, cell=1, causes=newest.causes))
    page = cell(db, run, 1)
    assert "differs score" in page.text
    assert f"harness replay {run.run} --check" in page.text


def test_the_last_reading_counts_and_older_ones_are_folded(db: Path) -> None:
    with Ledger.create(db) as ledger:
        run = answered_run(ledger, {1: "not JSON"}, rules=("strict-cite",))
        ask_again(ledger, run, 1, "perfect")
    page = cell(db, run, 1)
    top, _, rest = page.text.partition("The case")
    assert "correct" in top and "no_json" not in top
    assert "no_json" in rest.partition("Older readings")[2]
    assert page.text.count("Attempt") == 2
    ((read, _),) = page.marked("read")
    assert read == perfect(case_text(1)), "of the attempt that counts"


# What went wrong


def test_a_cell_that_was_never_asked_says_so_and_still_shows_its_case(db: Path) -> None:
    run = made(db, {4: UNASKED})
    page = cell(db, run, 4)
    assert "Never asked: no request was made for this cell." in page.text
    assert "harness , not_asked" in page.text
    assert "matches the frozen input" in page.text


def test_a_request_that_nobody_saw_the_end_of_says_so(db: Path) -> None:
    run = made(db, {5: OPEN})
    assert "Nobody wrote down what became of it." in cell(db, run, 5).text


def test_a_cell_of_a_run_that_was_killed_says_what_goes_on_with_it(db: Path) -> None:
    run = made(db, {1: UNASKED}, closed=False)
    page = cell(db, run, 1)
    assert "not scored yet under this rule set" in page.text


def test_a_fault_stands_with_its_sentence_and_there_is_no_text(db: Path) -> None:
    run = made(db, {3: Down()})
    page = cell(db, run, 3)
    assert "transport , timeout ( provider )" in page.text
    assert "The attempt's deadline passed." in page.text
    assert "no response came" in page.around("The text", "Read under")


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("run/{run}/cell/7", 404, "has no cell 7; it planned 6"),
        ("run/{run}/cell/0", 404, "expected the number of a cell, from 1"),
        ("run/{run}/cell/-1", 404, "expected the number of a cell, from 1"),
        ("run/{run}/cell/1%22%3E%3Cscript%3E", 404, "expected the number of a cell, from 1"),
        ("run/nosuchrun/cell/1", 404, "no run fits"),
        ("run/{run}/cell/99999999999999999", 404, "expected the number of a cell, from 1"),
    ],
)
def test_an_address_of_nothing_is_one_sentence(db: Path, path: str, status: int, says: str) -> None:
    run = made(db, {})
    page = shown(db, path.format(run=run.run))
    assert page.status == status
    assert says in page.text
    assert "<script" not in page.html.partition("<main")[2]


def test_cells_lead_to_their_neighbours_and_the_first_and_last_to_one_only(db: Path) -> None:
    run = made(db, {})
    near = [[link for link in cell(db, run, number).links if "/cell/" in link] for number in (1, 3, 6)]
    assert [[link.rpartition("/")[2] for link in each] for each in near] == [["2"], ["2", "4"], ["5"]]


# Hostile answers


@pytest.mark.parametrize(
    "what",
    [
        HOSTILE + '{"proposals": []}',
        f"\x1b[31m\x1b[K{HOSTILE}\x00\x07",
        envelope('{"proposals": ["\\u0000\\ud800' + HOSTILE + '"]}'),
        b"\xff\xfe\x00\x01" + HOSTILE.encode(),
        b"",
        b"\n\n<script>alert(1)</script>",
        b'{"choices": [{"message": {"content": "\\ud83d"}, "finish_reason": "stop"}]}',
        b'{"error": {"message": "' + HOSTILE.encode() + b'"}}',
        json.dumps({"proposals": [{HOSTILE: HOSTILE, "type": HOSTILE}]}),
    ],
)
def test_what_a_server_sends_is_shown_and_neither_acts_nor_hides(db: Path, what: object) -> None:
    run = made(db, {1: what})
    page = cell(db, run, 1)
    body = page.html.partition("<main")[2]
    assert "<script" not in body and "<img" not in body
    assert not {"\x1b", "\x00", "\x07", "\u202e", "\u2066", "\u200b"} & set(page.html)
    if what and b"alert" in (what if isinstance(what, bytes) else str(what).encode()):
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in body, "it is there to be read"
    assert "exact bytes" in page.text


@pytest.mark.parametrize(
    "what",
    ["x" * 2_000_000, "prose " * 350_000, '{"proposals": ' + "[" * 900_000, "{" * 2_000_000, "\x1b" * 2_000_000,
     '{"proposals": [' + ",".join(['"<b>"'] * 300_000) + "]}", b"\xff" * 2_000_000],
    ids=["one line", "words", "nested", "braces", "controls", "many", "no UTF-8"],
)  # fmt: skip
def test_two_megabytes_of_one_line_are_shown_in_part_in_under_a_second(db: Path, what: object) -> None:
    run = made(db, {1: what})
    cell(db, run, 2)  # what a first page loads, it loads once
    start = time.process_time()
    page = cell(db, run, 1)
    assert time.process_time() - start < 1
    assert re.search(r"of ([12],\d|900,0)", page.text), "how much more there is"
    assert "exact bytes" in page.text and len(page.html) < 1_500_000


def test_a_thousand_claims_are_shown_in_part_and_counted(db: Path) -> None:
    run = made(db, {1: json.dumps({"proposals": [proposal(rationale=HOSTILE)] * 1000})}, rules=("strict-cite",))
    cell(db, run, 2)
    start = time.process_time()
    page = cell(db, run, 1)
    assert time.process_time() - start < 1
    assert "950 more claims are in the event’s body." in page.text
    assert "<img" not in page.html


def test_bytes_have_their_commitment_and_the_hash_that_anybody_can_recompute(db: Path) -> None:
    run = made(db, {1: perfect(case_text(1))})
    page = cell(db, run, 1)
    with Ledger.open(db, read_only=True) as ledger:
        (event, *_) = [each for each in ledger.events(kind="response", run=run.run) if each.cell == 1]
        data, committed = ledger.blob(event, "body"), ledger.body(event).blobs["body"].hash
    assert f'commitment (salted) <code class="hash">{committed}</code>' in page.html
    assert f'<code>b3sum</code>: <code class="hash">{blake3(data).hexdigest()}</code>' in page.html


def test_a_short_gold_lies_open_beside_the_answer(db: Path) -> None:
    run = made(db, {1: perfect(case_text(1))})
    assert "<details open><summary>Gold: what only scoring sees" in cell(db, run, 1).html


def test_an_address_names_a_run_as_commands_do(db: Path) -> None:
    run = made(db, {1: perfect(case_text(1))})
    for named in ("latest", run.run[:6]):
        page = shown(db, f"run/{named}/cell/1")
        assert page.status == 200
        assert f"/run/{run.run}/cell/2" in page.html
        whole = shown(db, f"run/{named}")
        assert f"Run <bdi>{run.run}</bdi>" in whole.html
