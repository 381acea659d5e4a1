"""An import is runs of their own, whole and once: their evidence with its grade, and what follows from it here."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness import HarnessError, read_report
from harness.imports import ImportJob, import_job
from harness.imports import _job as job_module
from ledger import AppendFailed, Ledger, hold_run, verify
from ledger._redact_preview import preview
from ledger._redact_targets import cell_targets
from ledger.kinds import Cell, Close, Fault, Import, Plan, Score
from tests.harness.imports.artifacts import CASES, FORMAT, artifact, cell, fixture, good, put, sample


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """An artifact and its fixture."""
    return put(tmp_path / "run.json", sample()), put(tmp_path / "glasshouse_v0.json", fixture())


def do(tmp_path: Path, *artifacts: Path, on: Path, db: str = "ledger.db") -> job_module.Imported:
    return import_job(ImportJob(FORMAT, artifacts, on), tmp_path / db)


def statuses(ledger: Ledger, run: str) -> dict[str, tuple[str, str, str]]:
    cases = {event.cell: ledger.body(event) for event in ledger.events(kind="cell", run=run)}
    found: dict[str, tuple[str, str, str]] = {}
    for event in ledger.events(kind="score", run=run):
        score, planned = ledger.body(event), cases[event.cell]
        assert isinstance(score, Score) and isinstance(planned, Cell)
        found[planned.case] = (score.outcome, score.status, score.reason)
    return found


def test_each_engine_becomes_a_run_scored_under_strict_cite(tmp_path: Path, files: tuple[Path, Path]) -> None:
    found = do(tmp_path, files[0], on=files[1])
    assert [(each.engine, each.cells, each.grade, each.appended) for each in found.runs] == [
        ("paid one", 4, "text", True), ("local_small", 4, "text", True),
    ]  # fmt: skip
    with Ledger.open(tmp_path / "ledger.db", read_only=True) as ledger:
        assert statuses(ledger, found.runs[0].run) == {
            "seedlings": ("unmeasured", "error", "billing"),
            "vents": ("unmeasured", "error", "billing"),
            "frost history": ("unmeasured", "malformed", "fenced"),
            "orchids / 2": ("unmeasured", "error", "billing"),
        }
        assert statuses(ledger, found.runs[1].run) == {
            "seedlings": ("correct", "parsed", ""),
            "vents": ("incorrect", "parsed", ""),
            "frost history": ("unmeasured", "malformed", "terminal_control_bytes"),
            "orchids / 2": ("incorrect", "parsed", ""),
        }
        rows = {row["metric"]: row for row in read_report(ledger, found.runs[1].run).as_json()["scoreboard"]}
        figures = {name: (row["k"], row["n"], row["planned"], row["candidate"]) for name, row in rows.items()}
        assert figures == {
            "exact": (1, 2, 2, "local_small"), "direction": (2, 2, 2, "local_small"),
            "negative_pass": (0, 1, 2, "local_small"), "false_fire": (1, 1, 2, "local_small"),
            "false_fire_without_confirmer": (1, 1, 2, "local_small"),
        }  # fmt: skip
        standing = {event.run: ledger.body(event) for event in ledger.events(kind="close")}
        closes = [standing[each.run] for each in found.runs]
        assert all(isinstance(body, Close) for body in closes)
        assert [body.status for body in closes] == ["incomplete", "complete"]  # type: ignore[attr-defined]
    assert verify(tmp_path / "ledger.db").verdict == "CONSISTENT"


def test_the_events_of_a_run_hold_the_evidence_and_no_request_or_response(
    tmp_path: Path, files: tuple[Path, Path]
) -> None:
    found = do(tmp_path, files[0], on=files[1])
    run = found.runs[0].run
    with Ledger.open(tmp_path / "ledger.db", read_only=True) as ledger:
        kinds = Counter(event.kind for event in ledger.events(run=run))
        assert kinds == {
            "plan": 1, "cell": 4, "import": 5, "fault": 3, "parse": 1, "score": 4, "tally": 1, "close": 1,
        }  # fmt: skip
        (plan,) = [ledger.body(event) for event in ledger.events(kind="plan", run=run)]
        assert isinstance(plan, Plan) and plan.via == "import"
        assert [each.label for each in plan.candidates] == ["paid one"]
        assert plan.candidates[0].protocol == "text" and plan.name == "20270101T000000Z/paid one"
        whole, *parts = ledger.events(kind="import", run=run)
        body = ledger.body(whole)
        assert isinstance(body, Import) and (body.format, body.grade) == (FORMAT, "text")
        assert body.claimed["generated_at_utc"] == "2027-01-01T00:00:00+00:00"
        assert ledger.blob(whole, "file") == files[0].read_bytes()
        cells = {event.cell: event.seq for event in ledger.events(kind="cell", run=run)}
        assert all(event.causes == (cells[event.cell], whole.seq) for event in parts)
        assert ledger.blob(parts[2], "output").decode() == good(CASES[2], fence=True)
        faults = list(ledger.events(kind="fault", run=run))
        assert [event.causes for event in faults] == [(part.seq,) for part in parts if part.cell != 3]
        fault = ledger.body(faults[0])
        assert isinstance(fault, Fault)
        assert (fault.stage, fault.reason, fault.domain) == ("api", "billing", "provider")
        assert "credit balance" in fault.detail
        freeze = plan.fixtures[0].freeze
        assert ledger.blob(freeze, "file") == files[1].read_bytes()
        assert [json.loads(line)["id"] for line in ledger.blob(freeze, "jsonl").splitlines()] == [
            each["id"] for each in CASES
        ]


def test_the_same_again_appends_nothing_whatever_the_files_are_called(tmp_path: Path, files: tuple[Path, Path]) -> None:
    first = do(tmp_path, files[0], on=files[1])
    (tmp_path / "other").mkdir()
    moved = [Path(shutil.copy(each, tmp_path / "other" / f"x{index}.json")) for index, each in enumerate(files)]
    with Ledger.open(tmp_path / "ledger.db", read_only=True) as ledger:
        head = ledger.head()
        for again in (do(tmp_path, files[0], on=files[1]), do(tmp_path, moved[0], moved[0], on=moved[1])):
            assert {each.run for each in again.runs} == {each.run for each in first.runs}
            assert not any(each.appended for each in again.runs) and again.events == 0
        assert ledger.head() == head


def test_one_byte_more_in_either_file_is_another_import(tmp_path: Path, files: tuple[Path, Path]) -> None:
    first = do(tmp_path, files[0], on=files[1])
    artifact_too, fixture_too = (put(tmp_path / f"{each.stem}2.json", each.read_bytes() + b"\n") for each in files)
    others = [do(tmp_path, artifact_too, on=files[1]), do(tmp_path, files[0], on=fixture_too)]
    runs = [each.run for one in (first, *others) for each in one.runs]
    assert len(set(runs)) == 6


def test_cases_that_the_artifact_lacks_stay_planned_and_were_not_asked(tmp_path: Path) -> None:
    recorded = put(tmp_path / "run.json", artifact({"e": [cell("vents", good(CASES[1]))], "nobody": []}))
    found = do(tmp_path, recorded, on=put(tmp_path / "glasshouse_v0.json", fixture()))
    assert [(each.cells, each.missing) for each in found.runs] == [(4, 3), (4, 4)]
    with Ledger.open(tmp_path / "ledger.db", read_only=True) as ledger:
        outcomes = statuses(ledger, found.runs[0].run)
        assert outcomes.pop("vents") == ("correct", "parsed", "")
        assert set(outcomes.values()) == {("unmeasured", "not_asked", "not_asked")}
        body = ledger.body(next(iter(ledger.events(kind="close", run=found.runs[1].run))))
        assert isinstance(body, Close) and (body.status, body.planned, body.asked) == ("incomplete", 4, 0)
    assert verify(tmp_path / "ledger.db").verdict == "CONSISTENT"


def test_where_one_file_of_several_is_broken_nothing_is_touched(tmp_path: Path, files: tuple[Path, Path]) -> None:
    bad = put(tmp_path / "bad.json", b"{")
    with pytest.raises(HarnessError, match=r"bad\.json: expected one JSON value"):
        do(tmp_path, files[0], bad, on=files[1])
    assert not (tmp_path / "ledger.db").exists()


def test_an_import_that_failed_half_way_leaves_whole_runs_and_goes_on_where_it_stopped(
    tmp_path: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = Ledger.append, Counter[str]()

    def failing(self: Ledger, *drafts: Any) -> Any:
        calls["append"] += 1
        if calls["append"] == 3:  # the freezes, the first run, and now the second
            raise AppendFailed("the disk is full")
        return real(self, *drafts)

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "append", failing)
        with pytest.raises(AppendFailed):
            do(tmp_path, files[0], on=files[1])
    with Ledger.open(tmp_path / "ledger.db", read_only=True) as ledger:
        (stands,) = [event.run for event in ledger.events(kind="close")]
        assert {event.run for event in ledger.events() if event.run} == {stands}
    found = do(tmp_path, files[0], on=files[1])
    assert [(each.run == stands, each.appended) for each in found.runs] == [(True, False), (False, True)]
    with Ledger.open(tmp_path / "ledger.db", read_only=True) as ledger:
        assert len(list(ledger.events(kind="freeze"))) == 2
    assert verify(tmp_path / "ledger.db").verdict == "CONSISTENT"


def test_while_another_process_imports_the_same_artifact_this_one_is_refused(
    tmp_path: Path, files: tuple[Path, Path]
) -> None:
    from blake3 import blake3

    Ledger.create(tmp_path / "ledger.db").close()
    content = blake3(files[0].read_bytes()).hexdigest()
    with hold_run(tmp_path / "ledger.db", content[:32]), pytest.raises(HarnessError, match="another process imports"):
        do(tmp_path, files[0], on=files[1])
    assert len(do(tmp_path, files[0], on=files[1]).runs) == 2


def test_no_plan_and_no_cell_holds_a_digest_of_what_a_redaction_may_have_to_withhold(
    tmp_path: Path, files: tuple[Path, Path]
) -> None:
    from blake3 import blake3

    do(tmp_path, files[0], on=files[1])
    content = blake3(files[0].read_bytes()).hexdigest()
    with Ledger.open(tmp_path / "ledger.db", read_only=True) as ledger:
        holding = {event.kind for event in ledger.events() if event.body and content in event.body}
    assert holding == {"import"}


def test_who_withholds_a_cell_is_told_of_every_artifact_that_holds_its_text_too(
    tmp_path: Path, files: tuple[Path, Path]
) -> None:
    found = do(tmp_path, files[0], on=files[1])
    with Ledger.open(tmp_path / "ledger.db", read_only=True) as ledger:
        whole = [event.seq for event in ledger.events(kind="import") if event.cell == 0]
        told = preview(ledger, cell_targets(ledger, found.runs[0].run, 3)).readable
    assert len(whole) == 2
    for seq in whole:
        assert [line for line in told if line.endswith(f"of event {seq}: the artifact that it was imported with")]


def test_the_texts_on_which_their_reader_and_ours_disagree_are_counted(tmp_path: Path) -> None:
    cases = [
        cell("seedlings", good(CASES[0], fence=True)),
        cell("vents", good(CASES[1]), "their parser choked"),
        cell("frost history", good(CASES[2])),
        {"case_id": "orchids / 2", "raw_output": "x"},
    ]
    found = do(
        tmp_path, put(tmp_path / "run.json", artifact({"e": cases})), on=put(tmp_path / "glasshouse_v0.json", fixture())
    ).runs[0]
    assert (found.compared, found.only_theirs, found.only_ours) == (3, 1, 1)


@pytest.mark.parametrize(
    "text", ["\ud83d half a pair", "a\x00b", "\x1b[2J", "\u2028", "x" * 300_000, "\ufeff[]", "[1", " "]
)
def test_whatever_was_captured_is_kept_to_the_byte(tmp_path: Path, text: str) -> None:
    recorded = put(tmp_path / "run.json", artifact({"e": [cell("vents", text)]}))
    found = do(tmp_path, recorded, on=put(tmp_path / "glasshouse_v0.json", fixture()))
    with Ledger.open(tmp_path / "ledger.db", read_only=True) as ledger:
        (event,) = [each for each in ledger.events(kind="import", run=found.runs[0].run) if each.cell]
        assert ledger.blob(event, "output") == text.encode("utf-8", "surrogatepass")
        assert statuses(ledger, found.runs[0].run)["vents"][0] == "unmeasured"
    assert verify(tmp_path / "ledger.db").verdict == "CONSISTENT"


def test_files_that_are_none_are_refused(tmp_path: Path, files: tuple[Path, Path]) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "nowhere.json", tmp_path, tmp_path / "pipe", Path("/dev/zero"), tmp_path / "a\x00b"):
        with pytest.raises(HarnessError, match=r"expected a file, got|can't be read|there is no such file"):
            do(tmp_path, path, on=files[1])
        with pytest.raises(HarnessError, match=r"expected a file, got|can't be read|there is no such file"):
            do(tmp_path, files[0], on=path)
    assert not (tmp_path / "ledger.db").exists()


def test_a_file_beyond_all_measure_is_refused_before_it_is_read(
    tmp_path: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.imports import _files

    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(_files.MAX_FILE + 1)
    with pytest.raises(HarnessError, match=r"huge\.json: expected at most 256 MiB, got more"):
        do(tmp_path, huge, on=files[1])
