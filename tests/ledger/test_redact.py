"""Redaction: what is named is withheld in one transaction, and nothing of it is left in the file or its log."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from ledger import Draft, Ledger, NotErased, NotFound, Refused, kinds, verify
from ledger._redact import finish_redaction, redact
from ledger._redact_targets import WHY_NEVER, BlobTarget, Targets, cell_targets, find_targets
from tests.ledger.ledgers import EXAMPLES, RUN, example_draft
from tests.ledger.measured import SECRET, measured_ledger

QUICK = 0.05


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return measured_ledger(tmp_path / "ledger.db")


def targets(path: Path, *wanted: str, blobs: tuple[str, ...] = ()) -> Targets:
    with Ledger.open(path, read_only=True) as ledger:
        return find_targets(ledger, wanted, blobs=blobs)


def withhold(path: Path, *wanted: str, blobs: tuple[str, ...] = ()) -> int:
    event = redact(path, targets(path, *wanted, blobs=blobs), category="secret", reason="a key leaked", wait=QUICK)
    assert event is not None
    return event.seq


def cell_of(path: Path, cell: int) -> Targets:
    with Ledger.open(path, read_only=True) as ledger:
        return cell_targets(ledger, RUN, cell)


def stored(path: Path) -> bytes:
    """The database file and its write-ahead log."""
    log = path.with_name(path.name + "-wal")
    return path.read_bytes() + (log.read_bytes() if log.exists() else b"")


def rows(path: Path, table: str) -> dict[int, tuple[object, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return {row[0]: row for row in connection.execute(f"SELECT * FROM {table}")}


# What is withheld, and what stays


def test_exactly_what_is_named_is_withheld_and_everything_else_stays_byte_for_byte(path: Path) -> None:
    events, blobs = rows(path, "events"), rows(path, "blobs")
    seq = withhold(path, "11", "10:body", "12")
    after, blobs_after = rows(path, "events"), rows(path, "blobs")
    assert {each for each in events if after[each] != events[each]} == {11, 12}
    assert all(after[each][:10] == events[each][:10] and after[each][10:] == (None, None) for each in (11, 12))
    changed = {each for each in blobs if blobs_after[each] != blobs[each]}
    assert [blobs[each][2] for each in changed] == [10]
    assert all((blobs_after[each][3], blobs_after[each][5]) == (None, None) for each in changed)
    with Ledger.open(path) as ledger:
        event = ledger.event(seq)
        body = ledger.body(event)
    assert isinstance(body, kinds.Redact)
    assert (event.causes, body.bodies, body.category, body.reason) == ((10, 11, 12), [11, 12], "secret", "a key leaked")
    assert body.blobs_withheld == [blobs[each][1] for each in changed]
    verdict = verify(path)
    assert (verdict.verdict, verdict.withheld, verdict.events) == ("CONSISTENT", 3, seq)


def test_no_byte_of_it_is_left_in_the_file_or_its_log(path: Path) -> None:
    assert SECRET.encode() in stored(path)
    assert SECRET.encode() in path.read_bytes() + stored(path)
    found = cell_of(path, 1)
    assert redact(path, found, category="secret", reason="a key leaked", wait=QUICK)
    assert SECRET.encode() not in stored(path)
    assert verify(path).verdict == "CONSISTENT"


def test_no_byte_is_left_where_it_only_ever_stood_in_the_log(path: Path) -> None:
    text = "only-in-the-log-5151"
    with closing(sqlite3.connect(path)) as idle:
        idle.execute("SELECT count(*) FROM events").fetchone()
        with Ledger.open(path) as ledger:
            note = Draft(kinds.Note(text=text), blobs={"file": text.encode() * 2000})
            (event,) = ledger.append(note)
        log = path.with_name(path.name + "-wal")
        assert text.encode() in log.read_bytes()
        assert text.encode() not in path.read_bytes()
        withhold(path, f"{event.seq}:file", str(event.seq))
        assert (log.stat().st_size, text.encode() in stored(path)) == (0, False)


def test_no_byte_is_left_of_bodies_and_blobs_of_every_size(tmp_path: Path) -> None:
    path, chance = tmp_path / "ledger.db", random.Random(7)
    marks: dict[int, bytes] = {}
    with Ledger.create(path) as ledger:
        while len(marks) < 600:
            drafts: list[Draft] = []
            texts = [f"MARK{chance.getrandbits(64):016x}" for _ in range(chance.randint(1, 5))]
            for text in texts:
                size = chance.choice([0, 30, 300, 1000, 4000, 30_000])
                blobs = {"file": f"{text} ".encode() * (1 + size // 20)} if chance.random() < 0.5 else {}
                drafts.append(Draft(kinds.Note(text=f"{text} " * (1 + size // 20)), blobs=blobs))
            for event, text in zip(ledger.append(*drafts), texts, strict=True):
                marks[event.seq] = text.encode()
    for hidden in ([seq for seq in marks if seq % 2], [seq for seq in marks if seq % 2 == 0]):
        with Ledger.open(path, read_only=True) as ledger:
            bodies = find_targets(ledger, map(str, hidden))
            every = [row for row in ledger.rows("SELECT seq, hash FROM main.blobs") if row["seq"] in set(hidden)]
        found = Targets(bodies.bodies, tuple(BlobTarget(row["seq"], row["hash"], "file") for row in every), ())
        assert redact(path, found, category="other", reason="a test", wait=QUICK)
        data = stored(path)
        assert [seq for seq in hidden if marks[seq] in data] == []
    assert verify(path).verdict == "CONSISTENT"


def test_while_somebody_reads_an_older_state_it_is_not_yet_erased_and_can_be_finished(path: Path) -> None:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (28,)
        found = cell_of(path, 1)
        with pytest.raises(NotErased, match=r"not yet erased.*ledger redact --finish") as caught:
            redact(path, found, category="secret", reason="a key leaked", wait=QUICK)
        assert caught.value.exit_status == 3
        assert caught.value.appended == (29, verify(path).head)
        assert SECRET.encode() in stored(path)
        with pytest.raises(NotErased):
            finish_redaction(path, wait=QUICK)
        assert SECRET in str(reader.execute("SELECT body FROM events WHERE seq = 11").fetchone())
        verdict = verify(path)
        assert (verdict.verdict, verdict.events) == ("CONSISTENT", 29)
    assert finish_redaction(path, wait=QUICK) == 1
    assert SECRET.encode() not in stored(path)


def test_a_repeat_appends_nothing_and_completes_the_erasing(path: Path) -> None:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()
        names = ("10", "10:body", "11", "11:body", "12")
        with pytest.raises(NotErased):
            withhold(path, *names)
        again = targets(path, *names)
        assert (again.count, len(again.already)) == (0, 5)
        assert set(again.already) >= {"the body of event 11 is withheld already, by event 29"}
        with pytest.raises(NotErased) as caught:
            redact(path, again, category="secret", reason="a key leaked", wait=QUICK)
        assert caught.value.appended is None
    assert redact(path, again, category="secret", reason="a key leaked", wait=QUICK) is None
    assert SECRET.encode() not in stored(path)
    assert verify(path).events == 29


def test_others_who_have_the_ledger_open_and_append_to_it_are_no_obstacle(path: Path) -> None:
    done = threading.Event()
    with Ledger.open(path) as other:

        def append() -> int:
            count = 0
            while not done.is_set():
                other.append(Draft(kinds.Note(text="meanwhile")))
                count += 1
            return count

        with ThreadPoolExecutor(1) as thread:
            appended = thread.submit(append)
            try:
                event = redact(path, cell_of(path, 1), category="secret", reason="a key leaked", wait=10)
            finally:
                done.set()
        assert event is not None
        assert SECRET.encode() not in stored(path)
        with pytest.raises(NotFound, match="withheld by a redaction"):
            other.body(11)
    verdict = verify(path)
    assert (verdict.verdict, verdict.withheld) == ("CONSISTENT", 6)
    assert verdict.events == 28 + 1 + appended.result()


KILLED_AT = """
import os, shutil, signal, sys
from pathlib import Path
import ledger._redact as redaction
from ledger import Ledger
from ledger._redact_targets import cell_targets
folder, run = Path(sys.argv[1]), sys.argv[2]
real = redaction.connect_writer
for at in range(1, 200):
    path = folder / f"{at}.db"
    shutil.copyfile(folder / "whole.db", path)
    child = os.fork()
    if child == 0:
        left = [at]

        def count(statement):
            left[0] -= not statement.startswith("--")
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        def connect_writer(path):
            connection = real(path)
            connection.set_trace_callback(count)
            return connection

        redaction.connect_writer = connect_writer
        with Ledger.open(path, read_only=True) as ledger:
            found = cell_targets(ledger, run, 1)
        redaction.redact(path, found, category="secret", reason="a key leaked")
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(status)
    if status != -signal.SIGKILL:
        break
"""


def test_a_kill_before_any_statement_leaves_nothing_done_or_something_to_finish(tmp_path: Path) -> None:
    measured_ledger(tmp_path / "whole.db")
    done = subprocess.run([sys.executable, "-c", KILLED_AT, tmp_path, RUN], capture_output=True, text=True, timeout=120)
    *killed, last = map(int, done.stdout.split())
    assert (done.stderr, last, set(killed)) == ("", 0, {-signal.SIGKILL})
    outcomes: list[str] = []
    for at in range(1, len(killed) + 1):
        path = tmp_path / f"{at}.db"
        verdict = verify(path)
        assert (verdict.verdict, verdict.problems) == ("CONSISTENT", ())
        assert (verdict.events, verdict.withheld) in {(28, 0), (29, 6)}
        if verdict.events == 28:
            outcomes.append("nothing")
            assert SECRET.encode() in stored(path)
            assert redact(path, cell_of(path, 1), category="secret", reason="a key leaked", wait=QUICK)
        else:
            outcomes.append("to finish")
            assert finish_redaction(path, wait=QUICK) == 1
        assert SECRET.encode() not in stored(path)
        assert verify(path).withheld == 6
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {"nothing", "to finish"}


# What is refused


def test_every_kind_that_is_never_withheld_says_why() -> None:
    assert set(WHY_NEVER) == set(kinds.NEVER_REDACTED)
    assert all(len(why) > 20 for why in WHY_NEVER.values())


@pytest.mark.parametrize("kind", sorted(kinds.NEVER_REDACTED))
def test_a_body_that_is_never_withheld_is_refused_by_name_but_its_blobs_are_not(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.create(path) as ledger:
        if kind in {"genesis", "schema"}:
            seq = 1 + (kind == "schema")
        elif kind == "redact":
            (note,) = ledger.append(example_draft("note"))
            ledger.close()
            seq = withhold(path, str(note.seq))
        else:
            draft = example_draft(kind)
            seq = ledger.append(Draft(draft.body, draft.run, draft.cell, blobs={"file": b"telling"}))[0].seq
    with pytest.raises(Refused, match=f"event {seq} is a {kind}, and its body is never withheld: ") as caught:
        targets(path, str(seq))
    assert (WHY_NEVER[kind] in str(caught.value), caught.value.exit_status) == (True, 4)
    if kind in {"genesis", "schema", "redact"}:
        return
    withhold(path, f"{seq}:file")
    assert b"telling" not in stored(path)
    with Ledger.open(path) as ledger:
        assert ledger.body(seq).blobs.keys() == {"file"}
        with pytest.raises(NotFound, match="not in the file"):
            ledger.blob(seq, "file")
    verdict = verify(path)
    assert (verdict.verdict, verdict.withheld) == ("CONSISTENT", 1)


def test_the_examples_cover_every_kind_that_is_never_withheld() -> None:
    assert set(EXAMPLES) >= kinds.NEVER_REDACTED


def test_more_targets_than_an_event_has_causes_are_refused_with_how_to_split(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.create(path) as ledger:
        for _ in range(41):
            ledger.append(*[Draft(kinds.Note(text="n")) for _ in range(100)])
    before = verify(path).head
    with pytest.raises(Refused, match=r"at most 4096.*got 4097; split them into 2 redactions"):
        redact(path, Targets(tuple(range(3, 4100)), (), ()), category="other", reason="too many")
    assert verify(path).head == before
    assert redact(path, Targets(tuple(range(3, 4099)), (), ()), category="other", reason="just enough")
    assert verify(path).withheld == 4096


@pytest.mark.parametrize("wanted", ["11", "11:body"])
def test_a_reason_that_repeats_what_it_hides_is_refused(path: Path, wanted: str) -> None:
    found = targets(path, wanted)
    with pytest.raises(Refused, match="reason repeats"):
        redact(path, found, category="secret", reason=f"the key ({SECRET}) leaked")
    assert verify(path).events == 28


def test_a_reason_may_name_what_plans_name_too(path: Path) -> None:
    with Ledger.open(path) as ledger:
        url = kinds.Note(text="asked http://127.0.0.1/v1 about it")
        (note,) = ledger.append(Draft(url))
    redact(path, targets(path, str(note.seq)), category="other", reason="http://127.0.0.1/v1 echoed it", wait=QUICK)
    assert verify(path).withheld == 1


def test_a_redaction_that_another_was_quicker_than_writes_nothing(path: Path) -> None:
    stale = targets(path, "10", "11")
    withhold(path, "11")
    head = verify(path).head
    with pytest.raises(Refused, match="the body of event 11 is gone already"):
        redact(path, stale, category="secret", reason="a key leaked", wait=QUICK)
    assert verify(path).head == head
    assert rows(path, "events")[10][11] is not None


# How targets are named


def test_targets_are_named_by_seq_by_hash_and_by_the_names_of_blobs(path: Path) -> None:
    with Ledger.open(path) as ledger:
        event = ledger.event(11)
        digest = ledger.body(11).blobs["body"].hash
    assert targets(path, "11") == targets(path, event.hash) == targets(path, event.hash[:8]) == Targets((11,), (), ())
    blob = Targets((), (BlobTarget(11, digest, "body"),), ())
    assert targets(path, "11:body") == targets(path, f"{event.hash[:12]}:body") == blob
    assert targets(path, digest) == targets(path, digest[:16]) == targets(path, "11", blobs=("body",)) == blob
    assert targets(path, "12", "11", "12", digest) == Targets((11, 12), blob.blobs, ())


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ("99", "there is no event 99"),
        ("abcdef", "at least 8 digits of a hash"),
        ("0" * 64, "no event has a hash that starts with"),
        ("the key", "at least 8 digits of a hash|expected a seq"),
        ("11:wrong", "event 11 .response. has no blob 'wrong'; it has body"),
        ("12:body", "event 12 .parse. has no blob 'body'; it has none"),
        ("", "expected a seq"),
    ],
)
def test_a_target_that_names_nothing_is_said_in_one_sentence(path: Path, wanted: str, says: str) -> None:
    with pytest.raises(NotFound, match=says) as caught:
        targets(path, wanted)
    assert "\n" not in str(caught.value)


def test_a_blob_whose_name_was_withheld_is_named_by_its_hash(path: Path) -> None:
    with Ledger.open(path) as ledger:
        digest = ledger.body(11).blobs["body"].hash
    withhold(path, "11")
    with pytest.raises(NotFound, match=r"the names of its blobs with it.*ledger show 11 --json"):
        targets(path, "11:body")
    withhold(path, digest)
    assert targets(path, "11:body").count == 0
    assert SECRET.encode() in stored(path), "the request and what was read of it still hold it"


def test_a_cell_is_everything_of_it_that_can_be_withheld(path: Path) -> None:
    found = cell_of(path, 1)
    assert found.bodies == (6, 10, 11, 12)
    assert [(blob.seq, blob.name) for blob in found.blobs] == [(10, "body"), (11, "body")]
    with pytest.raises(NotFound, match="has no cell 9"):
        cell_of(path, 9)
    with pytest.raises(NotFound, match="has no cell 0"):
        cell_of(path, 0)


# Claims outlive their bodies


@pytest.mark.parametrize("answered", [True, False])
def test_a_withheld_request_still_holds_its_claim(tmp_path: Path, answered: bool) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.create(path) as ledger:
        first = ledger.append(example_draft("request"))[0]
        if answered:
            ledger.append(example_draft("response", causes=[first.seq]))
    withhold(path, str(first.seq))
    request = EXAMPLES["request"]
    with Ledger.open(path) as ledger:
        with pytest.raises(Refused, match=f"attempt 0 was claimed by event {first.seq} already"):
            ledger.append(example_draft("request"))
        second = ledger.append(Draft(request.model_copy(update={"attempt": 1}), run=RUN, cell=1))[0]
        with pytest.raises(Refused, match="attempt 1 was claimed"):
            ledger.append(Draft(request.model_copy(update={"attempt": 1}), run=RUN, cell=1))
        ledger.append(example_draft("request", cell=2))
        if answered:
            ledger.append(Draft(request.model_copy(update={"turn": 1}), run=RUN, cell=1))
    withhold(path, str(second.seq))
    with Ledger.open(path) as ledger:
        for attempt in (0, 1):
            with pytest.raises(Refused, match="was claimed by event"):
                ledger.append(Draft(request.model_copy(update={"attempt": attempt}), run=RUN, cell=1))
        ledger.append(Draft(request.model_copy(update={"attempt": 5}), run=RUN, cell=1))
    assert verify(path).verdict == "CONSISTENT"
