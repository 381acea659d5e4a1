"""Rescoring: recorded bytes under other rules; the events of a run, no more, no less, and in its order."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from harness._errors import IncompleteError, RefusedError
from harness._rescore import rescore_run
from harness._rescore_work import Job, batches_of, derived_by
from ledger import Ledger, RunHeld, hold_run, verify
from ledger.kinds import Parse, Score, Tally
from tests.harness.answered import (
    FENCED,
    OPEN,
    UNASKED,
    Down,
    answered_run,
    ask_again,
    envelope,
    events_of,
    rules_of,
)
from tests.harness.experiments import Experiment
from tests.harness.models import Answer, model_server
from tests.harness.test_run import ROOT, perfect
from tests.harness.test_withheld import redact


def figure(found: Any, metric: str) -> tuple[Any, Any]:
    (row,) = [each for each in found.figures if each.metric == metric]
    return tuple((side.k, side.n, side.planned) if side else None for side in (row.before, row.after))  # type: ignore[return-value]


def scores(ledger: Ledger, run: str, label: str) -> dict[int, tuple[str, str, str]]:
    bodies = [(event.cell, ledger.body(event)) for event in ledger.events(kind="score", run=run)]
    return {
        cell: (body.outcome, body.status, body.reason)
        for cell, body in bodies
        if isinstance(body, Score) and body.rules == label
    }


def test_a_rescore_appends_what_a_run_under_those_rules_would_have(ledger: Ledger, tmp_path: Path) -> None:
    answers = {1: FENCED, 2: "no json at all", 3: Down(), 4: UNASKED, 5: OPEN, 6: envelope("x")[:-30]}
    made = answered_run(ledger, answers)
    before = ledger.head()[0]
    done = rescore_run(ledger, made.run, rules_of("fence-cite"))
    kinds = [event.kind for event in ledger.events(after=before)]
    assert kinds == ["freeze", "parse", "confirm", "score", "parse", "score", "score", "score", "score", "parse",
                     "score", "tally"]  # fmt: skip
    assert done.appended == len(kinds)
    with Ledger.create(tmp_path / "other.db") as other:
        same = answered_run(other, answers, rules=["fence-cite"])
        label = same.rules[0].label
        assert scores(ledger, made.run, label) == scores(other, same.run, label)
        mine, theirs = (
            [event.body for event in each.events(kind="tally", run=run)][-1]
            for each, run in ((ledger, made.run), (other, same.run))
        )
        assert Tally.model_validate_json(mine or "").metrics == Tally.model_validate_json(theirs or "").metrics
    freeze = next(event.seq for event in ledger.events(kind="freeze", after=before))
    for event in ledger.events(kind="score", after=before):
        planned = made.planned.measurements[event.cell - 1].seq
        assert planned in event.causes
        assert (freeze in event.causes) == (event.cell in (4, 5)), "with nothing to read, a score rests on its rules"
    assert verify(ledger.path).verdict == "CONSISTENT"


def test_it_says_every_figure_before_and_after_and_why_each_cell_flipped(ledger: Ledger) -> None:
    made = answered_run(ledger, {1: FENCED, 3: FENCED})
    done = rescore_run(ledger, made.run, rules_of("fence-cite"))
    assert figure(done, "exact") == ((2, 2, 4), (4, 4, 4))
    assert figure(done, "negative_pass") == ((2, 2, 2), (2, 2, 2))
    assert {(flip.cell, flip.metric, flip.before, flip.after, flip.stage) for flip in done.flips} == {
        (cell, metric, None, 1.0, "parse: fence") for cell in (1, 3) for metric in ("exact", "direction")
    }
    first = done.flips[0]
    assert (first.reading_before.status, first.reading_before.reason) == ("malformed", "fenced")
    assert first.reading_after.status == "parsed"
    assert (first.reading_after.value or "").startswith('{"proposals": [')
    assert done.against == made.rules[0].label


def test_the_same_rules_again_append_nothing_and_say_the_same(ledger: Ledger) -> None:
    made = answered_run(ledger, {1: FENCED, 2: Down(), 3: OPEN, 4: UNASKED})
    first = rescore_run(ledger, made.run, rules_of("fence-cite"))
    head = ledger.head()
    again = rescore_run(ledger, made.run, rules_of("fence-cite", "strict-cite"))
    assert (again.appended, ledger.head()) == (0, head)
    assert again.flips == first.flips
    assert again.figures[:5] == first.figures


def test_a_dry_run_writes_nothing_at_all_and_foretells_the_real_one(ledger: Ledger) -> None:
    made = answered_run(ledger, {1: FENCED, 2: Down(), 3: OPEN, 4: UNASKED})
    ledger.close()
    before = ledger.path.read_bytes()
    ledger.path.chmod(0o444)
    with Ledger.open(ledger.path, read_only=True) as reader:
        dry = rescore_run(reader, made.run, rules_of("fence-cite", "fence-span"), dry_run=True)
    assert ledger.path.read_bytes() == before
    assert not ledger.path.with_name("ledger.db.locks").exists()
    ledger.path.chmod(0o644)
    with Ledger.open(ledger.path) as writer:
        wet = rescore_run(writer, made.run, rules_of("fence-cite", "fence-span"))
    assert dry.dry_run and not wet.dry_run
    assert (dry.appended, dry.flips, dry.figures, dry.derived) == (wet.appended, wet.flips, wet.figures, wet.derived)


def test_after_a_resume_only_the_cells_that_got_more_are_derived_and_a_new_tally_counts_them(ledger: Ledger) -> None:
    made = answered_run(ledger, {2: Down(), 5: UNASKED})
    rescore_run(ledger, made.run, rules_of("fence-cite"))
    ask_again(ledger, made, 2, FENCED)
    ask_again(ledger, made, 5, "perfect", attempt=0)
    head = ledger.head()[0]
    done = rescore_run(ledger, made.run, rules_of("fence-cite"))
    appended = [(event.kind, event.cell) for event in ledger.events(after=head)]
    assert appended == [
        *((kind, cell) for cell in (2, 5) for kind in ("parse", "confirm", "score")), ("tally", 0),
    ]  # fmt: skip
    assert figure(done, "exact")[1] == (4, 4, 4)
    last = list(ledger.events(kind="tally", run=made.run))[-1]
    assert Tally.model_validate_json(last.body or "").outcomes == {"correct": 6}


def test_only_the_last_attempt_counts(ledger: Ledger) -> None:
    made = answered_run(ledger, {1: FENCED})
    ask_again(ledger, made, 1, Down())
    done = rescore_run(ledger, made.run, rules_of("fence-cite"))
    assert scores(ledger, made.run, done.rules[0])[1] == ("unmeasured", "error", "timeout")


def test_a_run_that_was_killed_is_scored_as_far_as_it_came(ledger: Ledger) -> None:
    made = answered_run(ledger, {2: OPEN, 3: UNASKED}, closed=False)
    done = rescore_run(ledger, made.run, rules_of("fence-cite"))
    found = scores(ledger, made.run, done.rules[0])
    assert (found[2][1], found[3][1]) == ("fate_unknown", "not_asked")
    assert len(found) == 6
    own = rescore_run(ledger, made.run, rules_of("strict-cite"))
    assert own.appended == 3, "the two scores that its own rule set lacked, and its tally"


def test_a_run_that_was_killed_while_it_was_planned_is_refused(ledger: Ledger) -> None:
    made = answered_run(ledger)
    ledger.close()
    with sqlite3.connect(ledger.path) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DELETE FROM events WHERE kind = 'cell' AND cell > 4")
    with Ledger.open(ledger.path, read_only=True) as reader, pytest.raises(RefusedError, match="4 of 6 cells stand"):
        rescore_run(reader, made.run, rules_of("fence-cite"), dry_run=True)


def test_a_run_that_somebody_holds_is_left_alone_but_shown_as_it_stands(ledger: Ledger) -> None:
    made = answered_run(ledger, {1: FENCED})
    head = ledger.head()
    with hold_run(ledger.path, made.run):
        with pytest.raises(RunHeld):
            rescore_run(ledger, made.run, rules_of("fence-cite"))
        done = rescore_run(ledger, made.run, rules_of("fence-cite"), dry_run=True)
    assert ledger.head() == head
    assert done.notes == ("the run is going on; this is how it stands now",)
    assert figure(done, "exact") == ((3, 3, 4), (4, 4, 4))


def test_what_a_redaction_withholds_is_unmeasured_by_that_name_and_the_rest_is_measured(ledger: Ledger) -> None:
    made = answered_run(ledger, {1: FENCED, 4: Down()})
    ledger.close()
    seqs = {
        (row[0], row[1]): row[2]
        for row in sqlite3.connect(ledger.path).execute("SELECT kind, cell, seq FROM events WHERE cell > 0")
    }
    redact(ledger.path, f"{seqs['response', 1]}:body")
    redact(ledger.path, seqs["response", 2])
    redact(ledger.path, seqs["cell", 3])
    redact(ledger.path, seqs["fault", 4])
    redact(ledger.path, seqs["request", 5])
    with Ledger.open(ledger.path) as writer:
        done = rescore_run(writer, made.run, rules_of("fence-cite"))
        found = scores(writer, made.run, done.rules[0])
    assert {cell for cell, score in found.items() if score == ("unmeasured", "error", "withheld")} == {1, 2, 3, 4}
    assert found[5] == found[6] == ("correct", "parsed", "")
    assert figure(done, "exact") == ((2, 2, 4), (0, 0, 4)), "a cell whose place alone tells its case stays planned"
    assert {flip.cell: flip.stage for flip in done.flips} == {2: "evidence: withheld", 3: "evidence: withheld"}
    with Ledger.open(ledger.path, read_only=True) as reader:
        gone = reader.rows(
            "SELECT cell FROM main.not_reproducible WHERE run = ? AND rules = ?", (made.run, done.rules[0])
        )
    assert {row["cell"] for row in gone} >= {1, 2, 4}
    assert verify(ledger.path).verdict == "CONSISTENT"


def test_a_run_whose_fixture_is_withheld_is_refused_in_a_sentence(ledger: Ledger) -> None:
    made = answered_run(ledger)
    ledger.close()
    redact(ledger.path, f"{made.frozen.fixtures['v0']}:file")
    with Ledger.open(ledger.path) as writer:
        head = writer.head()
        with pytest.raises(RefusedError, match="the cases of v0"):
            rescore_run(writer, made.run, rules_of("fence-cite"))
        assert writer.head() == head


def test_a_fault_of_our_own_code_is_an_outcome_of_its_cell(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    made = answered_run(ledger)
    real = rules_of("fence-cite")
    from harness import _derivations

    def fail(read: Any, *, stages: Any, case: Any, rules: Any) -> Any:
        if rules.label == real[0].label and case.line == 2:
            raise MemoryError("of a sudden")
        return derive_read(read, stages=stages, case=case, rules=rules)

    derive_read = _derivations.derive_read
    monkeypatch.setattr(_derivations, "derive_read", fail)
    done = rescore_run(ledger, made.run, real)
    found = scores(ledger, made.run, done.rules[0])
    assert found[2] == ("unmeasured", "error", "internal")
    assert {flip.stage for flip in done.flips if flip.cell == 2} == {"deriving: code"}
    (fault,) = ledger.events(kind="fault", run=made.run)
    assert "MemoryError" in (fault.body or "")


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_however_many_processes_derive_the_same_events_stand_in_the_same_order(
    tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness import _rescore_work

    # So that several batches are under way at once; the batches are cut here, before any process starts.
    monkeypatch.setattr(_rescore_work, "_EVENTS_A_BATCH", 30)
    path = tmp_path / "l.db"
    with Ledger.create(path) as ledger:
        answers: dict[int, object] = {1: FENCED, 2: Down(), 3: OPEN, 4: UNASKED, 8: b"", 20: envelope("{}")}
        made = answered_run(ledger, answers, epochs=4)
    copy = tmp_path / "copy.db"
    shutil.copyfile(path, copy)
    found: list[Any] = []
    for where, count in ((path, 1), (copy, workers)):
        with Ledger.open(where) as ledger:
            head = ledger.head()[0]
            done = rescore_run(ledger, made.run, rules_of("fence-cite", "fence-span"), workers=count)
            found.append((done, events_of(ledger, head)))
    assert found[0] == found[1]
    assert found[0][0].derived == dict.fromkeys(found[0][0].rules, 24)


def test_a_worker_that_dies_is_one_sentence(ledger: Ledger) -> None:
    made = answered_run(ledger)
    ledger.close()
    job = Job(ledger.path, made.run, (("x", b"", "", "", 1),))
    import harness._rescore_work as work

    with pytest.raises(IncompleteError, match="a worker process died"):
        list(derived_by(job, [_Deadly()], 1))  # type: ignore[list-item]
    assert work.batches_of([], 1) == []


class _Deadly:
    """Kills whoever unpickles it."""

    def __reduce__(self) -> Any:
        return os._exit, (1,)


def test_batches_are_bounded_in_events_and_in_bytes(ledger: Ledger) -> None:
    from harness._replies import Place

    def place(cell: int, size: int) -> Any:
        return Place(cell, 1, ("v0", "c"), "m", "answered", 1, 1, 0, 1, size), ("a@1",)

    small = batches_of([place(cell, 10) for cell in range(1, 1203)], 1)
    assert [len(batch) for batch in small] == [500, 500, 202]
    assert [len(batch) for batch in batches_of([place(cell, 10) for cell in range(1, 1203)], 4)][:2] == [125, 125]
    large = batches_of([place(cell, 7 << 20) for cell in range(1, 6)], 1)
    assert [len(batch) for batch in large] == [2, 2, 1]


def test_a_rescore_that_is_killed_is_completed_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    with Ledger.create(path) as ledger:
        made = answered_run(ledger, {1: FENCED}, epochs=60)
        head = ledger.head()[0]
    slow = (
        "import time, sys\nfrom pathlib import Path\nfrom harness import _rescore_work as work\n"
        "from harness._rescore import rescore_run\nfrom ledger import Ledger\n"
        "from tests.harness.answered import rules_of\nwork._EVENTS_A_BATCH = 60\n"
        "derive = work.Deriver.derive\n"
        "def slowly(self, batch):\n    time.sleep(0.1)\n    return derive(self, batch)\n"
        "work.Deriver.derive = slowly\n"
        "with Ledger.open(sys.argv[1]) as ledger:\n    rescore_run(ledger, sys.argv[2], rules_of('fence-cite'))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", slow, path, made.run], cwd=ROOT)
    label = rules_of("fence-cite")[0].label
    with Ledger.open(path, read_only=True) as reader:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None and not scores(reader, made.run, label):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        half = len(scores(reader, made.run, label))
    assert 0 < half < 360
    with Ledger.open(path) as ledger:
        done = rescore_run(ledger, made.run, rules_of("fence-cite"))
        assert done.derived == {label: 360 - half}
        kinds = [(event.kind, event.cell) for event in ledger.events(after=head)]
        assert len(set(kinds)) == len(kinds) == 2 + 3 * 360, "every event once"
        assert kinds[-1] == ("tally", 0)
        assert rescore_run(ledger, made.run, rules_of("fence-cite")).appended == 0
    assert verify(path).verdict == "CONSISTENT"


def test_a_rescore_that_was_killed_before_its_tally_gets_one(ledger: Ledger) -> None:
    made = answered_run(ledger)
    from harness import _rescore

    class Killed(BaseException):
        pass

    def die(self: Any, *rest: Any) -> None:
        raise Killed

    whole = _rescore._Rescore._tally  # pyright: ignore[reportPrivateUsage]
    _rescore._Rescore._tally = die  # type: ignore[method-assign] # pyright: ignore[reportPrivateUsage]
    try:
        with pytest.raises(Killed):
            rescore_run(ledger, made.run, rules_of("fence-cite"))
    finally:
        _rescore._Rescore._tally = whole  # type: ignore[method-assign] # pyright: ignore[reportPrivateUsage]
    assert rescore_run(ledger, made.run, rules_of("fence-cite")).appended == 1
    assert [event.kind for event in ledger.newest(1)] == ["tally"]


def test_reused_responses_are_read_too(tmp_path: Path) -> None:
    lab = Experiment(tmp_path)
    with model_server(lambda prompt: Answer(f"```json\n{perfect(prompt)}\n```")) as server:
        lab.run(server)
        again = lab.run(server, "--reuse")
        assert len(server.requests) == 6
    done = lab.harness("rescore", again["run"], "--rules", "fence-span")
    assert done["derived"] == {done["rules"][0]: 6}
    assert {flip["stage"].partition(", then ")[0] for flip in done["flips"]} == {"parse: fence"}
    assert len({flip["cell"] for flip in done["flips"]}) == 6
    assert lab.verified() == "CONSISTENT"


def test_a_long_value_is_read_out_of_its_blob(ledger: Ledger) -> None:
    text = json.dumps({"proposals": [], "note": "é" * 70_000}, ensure_ascii=False)
    made = answered_run(ledger, {1: f"```\n{text}\n```", 5: text})
    done = rescore_run(ledger, made.run, rules_of("fence-cite"))
    (flip, *_) = [flip for flip in done.flips if flip.cell == 1]
    assert flip.stage == "parse: fence"
    assert flip.reading_after.value is not None and len(flip.reading_after.value) < 300
    parse = [event for event in ledger.events(kind="parse", cell=1) if event.body and done.rules[0] in event.body]
    assert Parse.model_validate_json(parse[0].body or "").value is None
