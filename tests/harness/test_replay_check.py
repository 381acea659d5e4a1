"""The replay check: what was recorded follows from its bytes, or the first that doesn't is named, field by field."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness._errors import UsageError
from harness._replay_check import check_run, check_runs
from harness._rescore import rescore_run
from harness.links import deep
from ledger import Draft, Event, Ledger
from ledger.kinds import Reuse
from tests.harness.answered import (
    FENCED,
    OPEN,
    UNASKED,
    Answered,
    Down,
    answered_run,
    ask_again,
    envelope,
    rules_of,
)
from tests.harness.experiments import Experiment
from tests.harness.models import Answer, model_server
from tests.harness.test_resume_moved import edit
from tests.harness.test_run import perfect
from tests.harness.test_withheld import redact

MIXED: dict[int, object] = {1: FENCED, 2: Down(), 3: OPEN, 4: UNASKED, 5: "not json"}


def rewrite(path: Path, seq: int, **fields: Any) -> None:
    """Change a body behind the ledger's back."""
    with sqlite3.connect(path) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        (text,) = connection.execute("SELECT body FROM events WHERE seq = ?", (seq,)).fetchone()
        body = {**json.loads(text), **fields}
        connection.execute(
            "UPDATE events SET body = ? WHERE seq = ?", (json.dumps(body, sort_keys=True, separators=(",", ":")), seq)
        )


def count(ledger: Ledger, run: str, *kinds: str) -> int:
    return sum(len(list(ledger.events(kind=kind, run=run))) for kind in kinds)


def test_every_recorded_derivation_of_every_rule_set_is_reproduced(ledger: Ledger) -> None:
    made = answered_run(ledger, MIXED, rules=["strict-cite", "fence-cite"])
    rescore_run(ledger, made.run, rules_of("fence-span", "as-of-2026-07-01"))
    checked = check_run(ledger, made.run)
    assert checked.ok
    assert [each.label.partition("@")[0] for each in checked.rules] == [
        "strict-cite", "fence-cite", "fence-span", "as-of-2026-07-01",
    ]  # fmt: skip
    assert checked.reproduced == checked.total == count(ledger, made.run, "parse", "confirm", "score", "tally")
    assert not any(each.moved for each in checked.rules)


def test_what_a_later_attempt_overtook_is_checked_against_its_own_evidence(ledger: Ledger) -> None:
    made = answered_run(ledger, {1: FENCED, 2: Down(), 3: UNASKED, 4: OPEN})
    for cell, attempt in ((1, 1), (2, 1), (3, 0), (4, 1)):
        ask_again(ledger, made, cell, "perfect", attempt=attempt)
    checked = check_run(ledger, made.run)
    assert checked.ok
    assert checked.total == count(ledger, made.run, "parse", "confirm", "score", "tally")


@pytest.mark.parametrize(
    ("kind", "fields", "says"),
    [
        ("score", {"outcome": "incorrect"}, 'outcome: recorded "incorrect", derived "correct"'),
        ("score", {"metrics": {"direction": 1, "exact": 0}}, "metrics: recorded"),
        ("confirm", {"findings": []}, "findings: recorded []"),
        ("parse", {"value": "{}"}, 'value: recorded "{}"'),
        ("tally", {"outcomes": {"correct": 7}}, 'outcomes: recorded {"correct": 7}, derived {"correct": 6}'),
    ],
)
def test_a_number_that_its_bytes_dont_give_is_named_field_by_field(
    ledger: Ledger, kind: str, fields: dict[str, Any], says: str
) -> None:
    made = answered_run(ledger)
    seq = next(ledger.events(kind=kind, run=made.run)).seq
    ledger.close()
    rewrite(ledger.path, seq, **fields)
    with Ledger.open(ledger.path, read_only=True) as reader:
        checked = check_run(reader, made.run)
    assert not checked.ok
    first = checked.differences[0]
    assert (first.seq, first.kind, first.cell) == (seq, kind, 0 if kind == "tally" else 1)
    assert says in first.sentence()
    assert checked.reproduced == checked.total - len(checked.differences)


def test_a_score_of_a_cell_that_was_asked_after_all_is_not_reproduced(ledger: Ledger) -> None:
    made = answered_run(ledger, {1: UNASKED, 2: OPEN})
    seqs = {event.cell: event.seq for event in ledger.events(kind="score", run=made.run)}
    ledger.close()
    rewrite(ledger.path, seqs[2], status="not_asked", reason="not_asked")
    with Ledger.open(ledger.path, read_only=True) as reader:
        (found,) = [each for each in check_run(reader, made.run).differences if each.kind == "score"]
    assert (found.cell, [name for name, *_ in found.fields]) == (2, ["reason", "status"])


def forge(ledger: Ledger, event: Event, cell: int, causes: Sequence[int], run: str = "", **fields: Any) -> int:
    """Append what looks like `event`, by the door that everybody has; returns its seq."""
    body = ledger.body(event).model_copy(update={"blobs": {}, **fields})
    return ledger.append(Draft(body, run=run or event.run, cell=cell, causes=causes))[0].seq


def of_kind(ledger: Ledger, kind: str, run: str, cell: int) -> Event:
    return next(event for event in ledger.events(kind=kind, run=run) if event.cell == cell)


@pytest.mark.parametrize("kind", ["cell", "parse", "confirm", "score"])
def test_an_event_of_a_cell_that_was_never_planned_is_named(ledger: Ledger, kind: str) -> None:
    made = answered_run(ledger)
    event = of_kind(ledger, kind, made.run, 1)
    seqs = [forge(ledger, event, cell, event.causes) for cell in (7, 99)]
    checked = check_run(ledger, made.run)
    assert not checked.ok and all(each.ok for each in checked.rules)
    assert [(each.seq, each.kind, each.cell) for each in checked.differences] == [
        (seq, kind, cell) for seq, cell in zip(seqs, (7, 99), strict=True)
    ]
    assert checked.differences[0].sentence().endswith("recorded 7, derived one of the 6 planned")
    assert not deep(ledger).ok


def test_scores_of_a_run_that_has_no_plan_are_named(ledger: Ledger) -> None:
    made = answered_run(ledger)
    score = of_kind(ledger, "score", made.run, 1)
    seq = forge(ledger, score, 1, score.causes, run="z" * 16)
    found = deep(ledger)
    assert not found.ok
    assert [line for line in found.lines if f"event {seq}" in line and "a run with a plan" in line]


@pytest.mark.parametrize("how_far", ["not_asked", "fate_unknown"])
def test_an_answered_cell_is_never_scored_as_if_nothing_had_come(ledger: Ledger, how_far: str) -> None:
    made = answered_run(ledger)
    score, cell = of_kind(ledger, "score", made.run, 1), of_kind(ledger, "cell", made.run, 1)
    (response,) = [event for event in ledger.events(kind="response", run=made.run) if event.cell == 1]
    seq = forge(
        ledger, score, 1, sorted([cell.seq, *made.frozen.rules.values()]), outcome="unmeasured", status=how_far,
        reason=how_far, stage="harness", domain="harness", metrics={},
    )  # fmt: skip
    (found,) = [each for each in check_run(ledger, made.run).differences if each.kind == "score"]
    assert (found.seq, found.fields) == (seq, (("evidence", "none", f"event {response.seq}"),))


def test_a_score_that_goes_back_to_an_earlier_attempt_is_named(ledger: Ledger) -> None:
    made = answered_run(ledger, {1: "perfect"})
    early = of_kind(ledger, "score", made.run, 1)
    ask_again(ledger, made, 1, "not json")
    assert check_run(ledger, made.run).ok
    seq = forge(ledger, early, 1, early.causes)
    (found,) = [each for each in check_run(ledger, made.run).differences if each.kind == "score"]
    assert (found.seq, [name for name, *_ in found.fields]) == (seq, ["evidence"])


@pytest.mark.parametrize(("of", "good"), [(1, True), (3, False)])
def test_a_response_that_was_taken_over_must_have_been_of_the_same_identity(
    ledger: Ledger, of: int, good: bool
) -> None:
    first, second = answered_run(ledger), answered_run(ledger, {1: UNASKED}, closed=False)
    response, cell = of_kind(ledger, "response", first.run, of), of_kind(ledger, "cell", second.run, 1)
    reuse = Draft(Reuse(of=response.seq, hash=response.hash), run=second.run, cell=1, causes=[cell.seq, response.seq])
    (event,) = ledger.append(reuse)
    rescore_run(ledger, second.run, rules_of("fence-span"))
    checked = check_run(ledger, second.run)
    assert checked.ok is good
    assert [(each.seq, each.kind, each.cell) for each in checked.strays] == ([] if good else [(event.seq, "reuse", 1)])


def test_an_attempt_whose_fate_nobody_knows_overtakes_nothing(ledger: Ledger) -> None:
    lost = Down("harness", "fate_unknown")
    made = answered_run(ledger, {1: "perfect", 2: OPEN})
    early, unknown = of_kind(ledger, "score", made.run, 1), of_kind(ledger, "score", made.run, 2)
    ask_again(ledger, made, 1, lost)
    ask_again(ledger, made, 2, lost)
    forge(ledger, early, 1, early.causes)
    forge(ledger, unknown, 2, unknown.causes)
    assert {each.kind for each in check_run(ledger, made.run).differences} <= {"tally"}


def test_a_tally_that_names_another_freeze_than_its_rule_sets_is_named(ledger: Ledger) -> None:
    made = answered_run(ledger)
    rescore_run(ledger, made.run, rules_of("fence-span"))
    tally = list(ledger.events(kind="tally", run=made.run))[-1]
    seq = forge(ledger, tally, 0, tally.causes, freeze=min(made.frozen.rules.values()))
    (found,) = check_run(ledger, made.run).differences
    assert (found.seq, found.kind, [name for name, *_ in found.fields]) == (seq, "tally", ["freeze"])


def test_what_rests_on_something_withheld_is_counted_apart(ledger: Ledger) -> None:
    made = answered_run(ledger, {3: Down()}, rules=["strict-cite", "fence-cite"])
    seqs = {(event.kind, event.cell): event.seq for event in ledger.events(run=made.run) if event.cell}
    ledger.close()
    redact(ledger.path, f"{seqs['response', 1]}:body")
    redact(ledger.path, seqs["fault", 3])
    redact(ledger.path, seqs["confirm", 2])
    with Ledger.open(ledger.path) as writer:
        rescore_run(writer, made.run, rules_of("fence-span"))
        checked = check_run(writer, made.run)
    assert checked.ok
    by_name = {each.label.partition("@")[0]: each for each in checked.rules}
    # Of cell 1 parse, confirm and score; of cell 3 the score; and the one confirm of cell 2 that was withheld itself.
    assert by_name["strict-cite"].withheld + by_name["fence-cite"].withheld == 2 * (3 + 1) + 1
    assert by_name["fence-span"].withheld == 0, "its scores say that they are withheld, and that follows"
    assert "can't be checked" in by_name["fence-cite"].sentence()


def test_a_withheld_rule_file_leaves_nothing_to_check_and_no_difference(ledger: Ledger) -> None:
    made = answered_run(ledger)
    ledger.close()
    redact(ledger.path, f"{made.frozen.rules[made.rules[0].label]}:sources")
    with Ledger.open(ledger.path, read_only=True) as reader:
        checked = check_run(reader, made.run)
    assert (checked.ok, checked.total) == (True, 0)
    assert checked.withheld == 3 * 6 + 1


def test_a_cell_that_our_own_code_gave_up_on_says_nothing_once_the_code_can(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness import _derivations

    def fail(*_: Any, **__: Any) -> Any:
        raise MemoryError("of a sudden")

    with monkeypatch.context() as context:
        context.setattr(_derivations, "derive_read", fail)
        made = answered_run(ledger)
        assert check_run(ledger, made.run).ok, "the same code gives up on them again"
    checked = check_run(ledger, made.run)
    assert checked.ok
    assert [each.internal for each in checked.rules] == [6]
    assert "a fault of the harness" in checked.rules[0].sentence()


def test_one_label_can_be_asked_about_and_an_unknown_one_is_refused(ledger: Ledger) -> None:
    made = answered_run(ledger, MIXED, rules=["strict-cite", "fence-cite"])
    (only,) = check_run(ledger, made.run, made.rules[1].label).rules
    assert only.label == made.rules[1].label
    with pytest.raises(UsageError, match="never scored under"):
        check_run(ledger, made.run, "x@000000000000")


def test_a_body_of_an_older_release_that_lacks_a_field_is_the_same_body(ledger: Ledger) -> None:
    made: Answered = answered_run(ledger)
    ledger.close()
    with sqlite3.connect(ledger.path) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE events SET body = json_remove(body, '$.policy') WHERE kind = 'score'")
    with Ledger.open(ledger.path, read_only=True) as reader:
        assert check_run(reader, made.run).ok


def test_a_long_value_is_held_against_its_blob(ledger: Ledger) -> None:
    text = json.dumps({"proposals": [], "note": "é" * 70_000}, ensure_ascii=False)
    made = answered_run(ledger, {5: envelope(text)})
    assert check_run(ledger, made.run).ok


def test_the_whole_ledger_is_checked_run_by_run_and_probes_say_why_not(tmp_path: Path) -> None:
    lab = Experiment(tmp_path)
    with model_server(lambda prompt: Answer("{}")) as server:
        lab.harness("probe", "ollama/m", "--prompt", "hi", "--base-url", server.url, "--ask", "object")
        lab.run(server)
    with Ledger.open(lab.db, read_only=True) as ledger:
        probe, run = check_runs(ledger)
        found = deep(ledger)
    assert "is a probe" in probe.skipped
    assert run.ok and run.total > 0
    assert found.ok
    assert found.sentence == f"every link holds; {run.total} of {run.total} derivations are reproduced by this code"


# Code that moved


@pytest.fixture
def lab(tmp_path: Path) -> Experiment:
    made = Experiment(tmp_path)
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        made.run(server)
    made.copy_source()
    return made


def words(lab: Experiment, *arguments: str, expect: int = 0) -> str:
    process = lab.start("harness", "replay", "--check", *arguments)
    out, errors = process.communicate(timeout=120)
    assert process.returncode == expect, out + errors
    assert "Traceback" not in errors
    return out


def test_a_comment_in_a_confirm_function_moves_the_digest_and_the_behaviour_is_equal(lab: Experiment) -> None:
    assert lab.source is not None
    confirm = lab.source / "harness" / "suites" / "authority" / "_confirm.py"
    confirm.write_text(confirm.read_text("utf-8") + "# a word on it\n", "utf-8")
    (plan,) = lab.bodies("plan")
    before = {each["label"] for each in plan["rules"]}
    said = words(lab)
    for label in before:
        assert f"{label}: code moved (confirm: harness.suites.authority._confirm)" in said
    assert re.search(r"\b19 of 19 derivations identical: comparable", said)
    assert "--diff" in said
    found = lab.harness("replay", "--check")
    assert found["ok"]
    assert {each["rules"] for each in found["runs"][0]["rules"]} == before
    done = lab.harness("rescore", "latest", "--rules", "strict-cite")
    assert not set(done["rules"]) & before, "under moved code the same file is another rule set"
    assert done["flips"] == []


def test_a_condition_that_moved_is_named_with_its_stage_its_cells_and_its_diff(lab: Experiment) -> None:
    assert lab.source is not None
    edit(
        lab.source / "harness" / "suites" / "authority" / "_confirm.py",
        'if proposal["confidence"] < rules["min_confidence"]:', 'if proposal["confidence"] > rules["min_confidence"]:',
    )  # fmt: skip
    said = words(lab, "latest", expect=1)
    assert "code moved (confirm: harness.suites.authority._confirm)" in said
    assert "derivations differ: NOT COMPARABLE" in said
    assert "confirm differs in 4 cells: 1, 2, 3, 4" in said
    assert "the first that differs: event " in said
    assert "findings: recorded [" in said
    assert re.search(r"`harness replay --check [a-z0-9]+ --diff` shows the frozen sources", said)
    shown = words(lab, "latest", "--diff", expect=1)
    assert '-    if proposal["confidence"] < rules["min_confidence"]:' in shown
    assert '+    if proposal["confidence"] > rules["min_confidence"]:' in shown
    found = lab.harness("replay", "latest", "--check", "--diff", expect=1)
    assert not found["ok"]
    (moved,) = found["runs"][0]["rules"][0]["moved"]
    assert (moved["module"], moved["stages"]) == ("harness.suites.authority._confirm", ["confirm"])
    assert {each["stage"] for each in found["runs"][0]["rules"][0]["differences"]} == {"confirm", "score"}
    assert "min_confidence" in found["diff"][found["runs"][0]["rules"][0]["rules"]][moved["module"]]


def test_verify_goes_deep_when_asked_and_tells_tampering_from_code_that_moved(lab: Experiment) -> None:
    assert "--deep" not in lab.ledger("verify")
    said = lab.ledger("verify", "--deep")
    last = "CONSISTENT, and every link holds; 38 of 38 derivations are reproduced by this code."
    assert said.splitlines()[-1] == last
    assert lab.source is not None
    edit(
        lab.source / "harness" / "suites" / "authority" / "_score.py",
        '"exact": int(set(key.expected) <= found)', '"exact": int(set(key.expected) >= found)',
    )  # fmt: skip
    assert lab.ledger("verify", "--deep").splitlines()[-1].startswith("CONSISTENT, and every link holds; 38 of 38"), (
        "as for these replies"
    )
    edit(
        lab.source / "harness" / "suites" / "authority" / "_score.py",
        '"exact": int(set(key.expected) >= found)', '"exact": int(set(key.expected) > found)',
    )  # fmt: skip
    process = lab.start("ledger", "verify", "--deep", "--json")
    out, errors = process.communicate(timeout=120)
    found = json.loads(out)
    assert process.returncode == 1
    assert found["verdict"] == "CONSISTENT"
    (check,) = found["deep"]
    assert not check["ok"]
    assert re.fullmatch(r".*\d+ of 38 derivations are not reproduced by this code", check["sentence"])
    assert f"CONSISTENT, and {check['sentence']}." in errors
    shutil.copyfile(lab.db, lab.folder / "copy.db")
    rewrite(lab.db, next(row["seq"] for row in lab.bodies("score")), outcome="incorrect")
    assert "Not checked any deeper" in lab.ledger("verify", "--deep", expect=1)


def test_replay_without_check_or_with_half_a_question_is_wrong_usage(lab: Experiment) -> None:
    assert "--check" in lab.harness("replay", expect=2)["errors"]
    assert "goes with a run" in lab.harness("replay", "--check", "--rules", "x", expect=2)["errors"]
    assert "no run fits" in lab.harness("replay", "zzz", "--check", expect=2)["errors"]
