"""The report marks what was superseded or is tainted, and the default scoreboard leaves the superseded out."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harness._compare import compare
from harness._report import RunReport, StandingReport, read_report, read_standing, render_report, render_standing
from ledger import Draft, Ledger, Refused
from ledger.kinds import Clear, Supersede, Taint, Target
from tests.ledger.ledgers import drop_guards, rehash
from tests.ledger.lineages import CANDIDATES, RULES, RUNS, Lineage, make_lineage

A, B = RUNS


@pytest.fixture
def lineage(tmp_path: Path) -> Iterator[Lineage]:
    made = make_lineage(tmp_path / "ledger.db")
    with made.ledger:
        yield made


def shown(report: RunReport | StandingReport) -> str:
    from rich.console import Console

    console = Console(width=200, record=True, highlight=False, markup=False, file=io.StringIO())
    for part in render_report(report) if isinstance(report, RunReport) else render_standing(report):
        console.print(part)
    return console.export_text()


def supersede(lineage: Lineage, by: str | None) -> int:
    successor = Target(what="run", id=by) if by else None
    body = Supersede(target=Target(what="run", id=A), by=successor, category="parser", reason="read [b]wrongly[/b]")
    return lineage.ledger.append(Draft(body))[0].seq


@pytest.mark.parametrize("by", [B, None])
def test_a_superseded_run_shows_its_numbers_marked_with_its_successor(lineage: Lineage, by: str | None) -> None:
    before = read_report(lineage.ledger, A)
    assert "SUPERSEDED" not in shown(before)
    seq = supersede(lineage, by)
    after = read_report(lineage.ledger, A)
    assert after.scoreboard == before.scoreboard
    assert len(after.scoreboard) == len(CANDIDATES) * len(RULES)
    value = json.loads(json.dumps(after.as_json()))
    assert (value["superseded"], value["superseded_by"], value["taints"]) == (True, by, [])
    text = shown(after)
    how = f"by {B}" if by else "without a successor"
    assert f"SUPERSEDED {how} (event {seq}, parser): read [b]wrongly[/b]" in text
    assert text.count("[superseded]") == len(CANDIDATES) * len(RULES)
    assert read_report(lineage.ledger, B).as_json()["superseded"] is False


def raise_schema(path: Path, kind: str, schema: int) -> int:
    """Have the newest event of a kind be of another schema, as a newer release would have written it; its seq."""

    def change(connection: sqlite3.Connection) -> None:
        texts = drop_guards(connection)
        connection.execute("UPDATE events SET body = json_set(body, '$.schema', ?) WHERE seq = ?", (schema, seq))
        rehash(connection, seq)
        for text in texts:
            connection.execute(text)

    with closing(sqlite3.connect(path)) as connection, connection:
        (seq,) = connection.execute("SELECT max(seq) FROM events WHERE kind = ?", (kind,)).fetchone()
        change(connection)
    return int(seq)


@pytest.mark.parametrize(("kind", "schema"), [("score", 2), ("cell", 3), ("freeze", 2)])
def test_no_number_is_made_of_what_a_newer_release_wrote(lineage: Lineage, kind: str, schema: int) -> None:
    read_report(lineage.ledger, B)
    # Closed first: an open ledger notices that its newest event became another one.
    lineage.ledger.close()
    seq = raise_schema(lineage.ledger.path, kind, schema)
    with Ledger.open(lineage.ledger.path, read_only=True) as ledger:
        said = f"event {seq} is a {kind} of schema {schema}.*use that release"
        with pytest.raises(Refused, match=said):
            read_report(ledger, B)
        with pytest.raises(Refused, match=said):
            compare(ledger, B, A)


def test_a_taint_marks_just_the_numbers_that_rest_on_it_until_it_is_cleared(lineage: Lineage) -> None:
    (event,) = lineage.ledger.append(Draft(Taint(target=Target(what="rules", id=RULES[0]), reason="reads wrongly")))
    found = read_report(lineage.ledger, A)
    assert {(row["rules"], row["tainted"]) for row in found.scoreboard} == {(RULES[0], True), (RULES[1], False)}
    assert found.as_json()["taints"] == [
        {"taint": event.seq, "what": "rules", "id": RULES[0], "reason": "reads wrongly"}
    ]
    text = shown(found)
    assert f"TAINTED by event {event.seq} (rules:{RULES[0]}): reads wrongly" in text
    assert text.count("[tainted]") == len(CANDIDATES)
    lineage.ledger.append(Draft(Clear(taint=event.seq, reason="reads rightly")))
    assert "TAINTED" not in shown(read_report(lineage.ledger, A))


def test_the_default_scoreboard_leaves_superseded_runs_out_and_says_how_many(lineage: Lineage) -> None:
    everything = read_standing(lineage.ledger)
    assert ({row["run"] for row in everything.scoreboard}, everything.left_out) == ({A, B}, 0)
    assert "No run was left out." in shown(everything)
    supersede(lineage, None)
    lineage.ledger.append(Draft(Taint(target=Target(what="candidate", id=CANDIDATES[0]), reason="x")))
    found = read_standing(lineage.ledger)
    assert {(row["run"], row["candidate"], row["tainted"]) for row in found.scoreboard} == {
        (B, CANDIDATES[0], True), (B, CANDIDATES[1], False),
    }  # fmt: skip
    assert found.as_json()["left_out"] == 1
    assert "1 superseded run left out; `ledger runs` lists every run." in shown(found)
    assert shown(found).count("[tainted]") == len(RULES)
    only = read_standing(lineage.ledger, [RULES[1].partition("@")[0]])
    assert {row["rules"] for row in only.scoreboard} == {RULES[1]}


def test_long_labels_of_a_chart_stay_distinct_and_have_their_whole_text_in_a_title() -> None:
    from harness._svg import interval_plot

    row = {"metric": "correct", "kind": "rate", "k": 1, "n": 2, "rate": 0.5, "interval_low": 0.1, "interval_high": 0.9,
           "worst": 0.5, "best": 0.5, "unmeasured": 0}  # fmt: skip
    labels = [f"openai/{'a-long-name-' * 8}[temperature={each}]" for each in ("0", "0.7")]
    drawn = "\n".join(interval_plot("Rates", [{**row, "candidate": label} for label in labels]))
    assert "…" in drawn and "=0]</text>" in drawn and "=0.7]</text>" in drawn
    assert all(f"correct · {label}</title>" in drawn for label in labels)
