"""An import makes a whole and verified ledger, or nothing, and says at which line what is wrong."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import ledger._import
from ledger import AppendFailed, BadExport, Ledger, LedgerExists, NotALedger, export_lines
from ledger._export_full import export_full
from ledger._full import MAX_RECORD, record
from ledger._import import import_full


@pytest.fixture(scope="module")
def lines(original: Path) -> list[bytes]:
    """A full export, as its lines."""
    with Ledger.open(original, read_only=True) as ledger:
        return list(export_full(ledger))


HEAD = b'{"export":"full","version":1,"ledger":"x","release":1,'


def refused(data: bytes, folder: Path) -> str:
    """What an import of this says; nothing of it may be left."""
    before = set(folder.iterdir())
    with pytest.raises(BadExport) as problem:
        import_full(io.BytesIO(data), "full.jsonl", folder / "new.db")
    assert set(folder.iterdir()) == before
    said = str(problem.value)
    assert said.startswith("full.jsonl")
    assert said.isprintable()
    assert "nothing was made" in said
    return said


def with_line(lines: list[bytes], number: int, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The export with one record changed; lines count from 1."""
    value = json.loads(lines[number - 1])
    change(value)
    return b"".join([*lines[: number - 1], record(value), *lines[number:]])


def first(lines: list[bytes], start: bytes) -> int:
    return next(number for number, line in enumerate(lines, 1) if line.startswith(start))


def test_event_lines_alone_are_refused_with_the_reason(original: Path, tmp_path: Path) -> None:
    with Ledger.open(original, read_only=True) as ledger:
        data = b"".join(line + b"\n" for line in export_lines(ledger))
    said = refused(data, tmp_path)
    assert said.startswith("full.jsonl, line 1: these are event lines alone")
    assert "`ledger export --full`" in said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "line 0: expected a full export, got an empty file"),
        (b"hello\n", "line 1: expected the header of a full export, got b'hello"),
        (b"hello", "line 1: it is cut off"),
        (
            b"SQLite format 3\x00\x1b[2J\n",
            "line 1: expected a full export (`ledger export --full`); this is an SQLite file",
        ),
        (b'{"export":"full",\n', "line 1: expected JSON"),
        (b'{"export":"full","version":2}\n', "line 1: expected version 1 of the full export, got 2; a newer release"),
        (
            b'{"export":"full","version":1}\n',
            "line 1: expected export, ledger, objects, release, version in the header",
        ),
        (HEAD + b'"objects":[["table","x","x","CREATE TABLE x(y)"]]}\n', "expected `objects`"),
        (HEAD + b'"objects":[]}\n', "line 2: expected more, got the end of the file"),
        (HEAD + b'"objects":[]}\n[]\n', "line 2: expected a JSON object"),
        (HEAD + b'"objects":[]}\n' + b"[" * 100_000 + b"\n", "line 2: "),
        (HEAD + b'"objects":[]}\n{"end":true,"events":0,"blobs":0,"head":""}\n', "got none"),
        (b'{"export":"full",' + b" " * MAX_RECORD + b"\n", f"line 1: expected at most {MAX_RECORD} bytes"),
    ],
)
def test_a_foreign_file_is_one_sentence(tmp_path: Path, data: bytes, said: str) -> None:
    assert said in refused(data, tmp_path)


def test_a_file_that_is_cut_off_anywhere_makes_nothing(lines: list[bytes], tmp_path: Path) -> None:
    for count in range(1, len(lines), 7):
        # At the end of a line the next is missing; or it lacks what its event names.
        assert f"line {count + 1}: " in refused(b"".join(lines[:count]), tmp_path)
    assert f"line {len(lines)}: it is cut off" in refused(b"".join(lines)[:-1], tmp_path)


def test_a_line_too_many_too_few_or_out_of_order_is_named(lines: list[bytes], tmp_path: Path) -> None:
    event = first(lines, b'{"line":') + 2
    assert f"line {len(lines) + 1}: expected nothing after the end" in refused(b"".join([*lines, lines[1]]), tmp_path)
    without = b"".join([*lines[: event - 1], *lines[event:]])
    assert f"line {event}: expected event 3, got event 4" in refused(without, tmp_path)
    twice = b"".join([*lines[:event], *lines[event - 1 :]])
    assert f"line {event + 1}: expected event 4, got event 3" in refused(twice, tmp_path)
    blob = first(lines, b'{"blob":')
    assert f"line {blob}: event " in refused(b"".join([*lines[: blob - 1], *lines[blob:]]), tmp_path)
    assert f"line {blob}: " in refused(b"".join([*lines[: blob - 1], lines[blob], lines[blob - 1]]), tmp_path)


EVENT: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda value: value.update(salt="00" * 16), "its body and salt aren't what its line commits to"),
    (lambda value: value.update(body=value["body"] + " "), "its body and salt aren't what its line commits to"),
    (lambda value: value.update(body="x" * (1 << 20) + "y"), "expected a body of at most"),
    (lambda value: value.update(body="\ud800"), "surrogates"),
    (lambda value: value.update(salt=None), "expected salt and body, or neither"),
    (lambda value: value.update(line=value["line"].replace("note", "nota").replace("freeze", "freezd")), "line "),
    (lambda value: value.update(line=value["line"] + " "), "expected an event line"),
    (lambda value: value.update(line=value["line"].replace('"v":1', '"v":2')), "expected format version 1, got 2"),
    (lambda value: value.update(line=7), "expected `line` as ASCII text"),
    (lambda value: value.update(body=["x"]), "expected `body` as text or null"),
    (lambda value: value.update(more=""), "expected an event, a blob"),
    (lambda value: value.pop("salt"), "expected an event, a blob"),
]


@pytest.mark.parametrize(("change", "said"), EVENT)
def test_a_changed_event_is_named_by_its_line(
    lines: list[bytes], tmp_path: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    number = first(lines, b'{"line":') + 2
    got = refused(with_line(lines, number, change), tmp_path)
    # A line that was changed to another sound one is noticed by the next, which holds its hash.
    assert got.startswith((f"full.jsonl, line {number}: ", f"full.jsonl, line {number + 1}: "))
    assert said in got


BLOB: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda value: value.update(data="AAAAAAAAAAA="), "aren't what its hash commits to"),
    (lambda value: value.update(data="A"), "expected base64"),
    (lambda value: value.update(data="AA AA="), "expected base64"),
    (lambda value: value.update(data=None), "expected `data` as ASCII text"),
    (lambda value: value.update(size=value["size"] + 1), "are missing"),
    (lambda value: value.update(size=value["size"] - 1), "bytes more than its size"),
    (lambda value: value.update(size=1 << 60), "expected `size` as a whole number"),
    (lambda value: value.update(size=1 << 40), "expected a size that SQLite holds"),
    (lambda value: value.update(size=True), "expected `size` as a whole number"),
    (lambda value: value.update(size=None), "expected salt and data, or neither"),
    (lambda value: value.update(salt=None), "expected salt and data, or neither"),
    (lambda value: value.update(salt="0" * 31 + "G"), "expected a salt"),
    (lambda value: value.update(size=None, salt=None), "expected no data without a size"),
    (lambda value: value.update(blob=value["blob"] + 1), "expected blob "),
    (lambda value: value.update(hash="0" * 64), "names no blob"),
    (lambda value: value.update(hash="0"), "expected a hash"),
    (lambda value: value.update(encoding="gzip"), "expected the encoding"),
    (lambda value: value.update(encoding="zlib"), "zlib stream"),
]


@pytest.mark.parametrize(("change", "said"), BLOB)
def test_a_changed_blob_is_named_by_its_line(
    lines: list[bytes], tmp_path: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    number = next(at for at, line in enumerate(lines, 1) if line.startswith(b'{"blob":') and b'"size":8' in line)
    got = refused(with_line(lines, number, lambda value: change(value)), tmp_path)
    assert got.startswith((f"full.jsonl, line {number}: ", f"full.jsonl, line {number + 1}: "))
    assert said in got


def test_an_end_that_says_otherwise_is_named(lines: list[bytes], tmp_path: Path) -> None:
    for change in ({"events": 1}, {"blobs": 0}, {"head": "0" * 64}):
        got = refused(with_line(lines, len(lines), lambda value, change=change: value.update(change)), tmp_path)
        assert got.startswith(f"full.jsonl, line {len(lines)}: expected the end of ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ledger": "eval-ledger/other/" + "0" * 32}, "expected the ledger and the release that its events are of"),
        ({"release": 99}, "expected the ledger and the release that its events are of"),
        ({"release": "6"}, "expected the ledger and the release that its events are of"),
        ({"version": True}, "expected version 1 of the full export, got True"),
        ({"made": "by hand"}, "in the header, got ['export', 'ledger', 'made', 'objects', 'release', 'version']"),
    ],
)
def test_a_header_tells_nothing_but_what_the_events_are_of(
    lines: list[bytes], tmp_path: Path, change: dict[str, object], said: str
) -> None:
    got = refused(with_line(lines, 1, lambda value: value.update(change)), tmp_path)
    assert got.startswith("full.jsonl, line 1: ")
    assert said in got


@pytest.mark.parametrize(
    "change",
    [
        lambda objects: objects.pop(),
        lambda objects: objects.append(["view", "more", "more", "CREATE VIEW more AS SELECT 1"]),
        lambda objects: objects[-1].__setitem__(3, "CREATE VIEW x AS SELECT 1"),
        lambda objects: objects[-1].__setitem__(3, "DROP TABLE events"),
    ],
)
def test_views_that_the_chain_does_not_commit_to_are_never_made(
    lines: list[bytes], tmp_path: Path, change: Callable[[list[list[str]]], object]
) -> None:
    got = refused(with_line(lines, 1, lambda value: change(value["objects"])), tmp_path)
    assert "line 1: its views and indexes aren't the ones that the last schema event commits to" in got


def committed_to(objects: list[list[str]], tmp_path: Path) -> str:
    """An export of a ledger whose own chain commits to these objects, which nobody's release ever had."""
    from ledger._schema import rows_digest
    from tests.ledger.test_verify import append_by_hand

    path = tmp_path / "evil.db"
    Ledger.create(path).close()
    digest = rows_digest(tuple(sorted((tuple(row) for row in objects), key=lambda row: row[:3])))  # type: ignore[arg-type]
    append_by_hand(path, "schema", {"schema": 1, "release": 999, "digest": digest})
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "".join(
                f"DROP {kind} {name};"
                for kind, name in connection.execute(
                    "SELECT type, name FROM sqlite_schema WHERE type IN ('view', 'index') AND sql IS NOT NULL"
                ).fetchall()
            )
            + "CREATE VIEW one AS SELECT 1"
        )
    events = []
    with Ledger.open(path, read_only=True) as opened:
        for event in opened.events():
            events.append({"line": event.line.decode(), "salt": event.salt, "body": event.body})
        head = opened.head()[1]
    header = {"export": "full", "version": 1, "ledger": "x/y", "release": 999, "objects": objects}
    end = {"end": True, "events": 3, "blobs": 0, "head": head}
    (tmp_path / "in").mkdir()
    return refused(b"".join(record(each) for each in (header, *events, end)), tmp_path / "in")


@pytest.mark.parametrize(
    "text",
    [
        "DROP TABLE events",
        "CREATE TRIGGER x AFTER INSERT ON events BEGIN SELECT 1; END",
        "CREATE VIEW x AS SELECT 1; DROP TABLE events",
        "CREATE VIEW",
        "CREATE VIEW y AS SELECT 1",
        "CREATE  VIEW x AS SELECT 1",
    ],
)
def test_a_chain_that_commits_to_other_statements_gets_none_of_them_run(tmp_path: Path, text: str) -> None:
    said = committed_to([["view", "x", "x", text]], tmp_path)
    reasons = ("expected the text that makes", "the view 'x' can't", "its views and indexes make other objects")
    assert said.startswith(tuple(f"full.jsonl, line 1: {reason}" for reason in reasons))


def test_what_only_the_whole_can_tell_is_found_before_the_ledger_has_a_name(
    original: Path, copy: Path, tmp_path: Path
) -> None:
    from tests.ledger.ledgers import rehash, tamper

    def second_plan(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE events SET kind = 'plan', cell = 0 WHERE kind = 'close'")
        rehash(connection, 4)

    assert tamper(original, copy, second_plan).verdict == "TAMPERED"
    with Ledger.open(copy, read_only=True) as ledger:
        data = b"".join(export_full(ledger))
    (tmp_path / "in").mkdir()
    said = refused(data, tmp_path / "in")
    assert "every line of it fits, but the ledger that it holds doesn't verify: event " in said


def test_an_import_never_writes_over_anything(lines: list[bytes], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("file", "folder", "link"):
        with pytest.raises(LedgerExists, match="never writes over a file"):
            import_full(io.BytesIO(b"".join(lines)), "full.jsonl", tmp_path / name)
    with pytest.raises(NotALedger, match="there is no folder"):
        import_full(io.BytesIO(b"".join(lines)), "full.jsonl", tmp_path / "no" / "new.db")
    assert (tmp_path / "file").read_text() == "precious"


def test_a_full_disk_makes_nothing_and_says_what_to_do(
    lines: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sqlite3.connect

    def small(*given: Any, **more: Any) -> sqlite3.Connection:
        connection = real(*given, **more)
        if "mode=rwc" in str(given[0]):
            connection.execute("PRAGMA max_page_count=20")
        return connection

    monkeypatch.setattr(ledger._import.sqlite3, "connect", small)
    with pytest.raises(AppendFailed, match=r"full; nothing was made; .*make room"):
        import_full(io.BytesIO(b"".join(lines)), "full.jsonl", tmp_path / "new.db")
    assert list(tmp_path.iterdir()) == []
