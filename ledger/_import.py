"""Import of a full export: a new ledger file, every row as it stood, verified before it has a name."""

from __future__ import annotations

import binascii
import json
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from ledger._connect import APPLICATION_ID, uri
from ledger._errors import AppendFailed, BadExport, BadLine, LedgerExists
from ledger._event import causes_text
from ledger._files import claim_name, sync_file, sync_folder
from ledger._filesystem import refuse_network
from ledger._full import HEADER_START, MAX_RECORD, VERSION, Strand
from ledger._place import refuse_place, temporary_beside
from ledger._reasons import advice
from ledger._schema import format_objects, rows_digest, stored_objects
from ledger._sort_of_file import sort_of
from ledger._verify import verify

__all__ = ["Imported", "import_full"]

_EVENT = (
    "INSERT INTO main.events (seq, v, hash, prev, at, kind, run, cell, causes, body_hash, salt, body)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_BLOB = "INSERT INTO main.blobs (id, hash, seq, salt, encoding, data) VALUES (?, ?, ?, ?, ?, ?)"
_LARGE_BLOB = "INSERT INTO main.blobs (id, hash, seq, salt, encoding, data) VALUES (?, ?, ?, ?, ?, zeroblob(?))"
_LATE = "blobs_insert"
_SHOWN = 4096
_LINES_ONLY = b'{"v":1,'
_HEADER = {"export", "version", "ledger", "release", "objects"}
_FIELDS = {
    "line": {"line", "salt", "body"},
    "blob": {"blob", "hash", "salt", "encoding", "size", "data"},
    "more": {"more"},
    "end": {"end", "events", "blobs", "head"},
}


@dataclass(frozen=True, slots=True)
class Imported:
    """What was made: so many events and blobs, the head's hash, and the release whose views the ledger has."""

    events: int
    blobs: int
    head: str
    release: int


def import_full(source: IO[bytes], name: str, target: str | os.PathLike[str]) -> Imported:
    """Make the ledger that a full export (`name`, for messages) holds, as a new file `target`.

    It appears under its name whole, verified and durable, or not at all, and never over a file. Memory stays constant.
    Raises LedgerExists, NotALedger (no folder, or one that can't be written), Refused (a network file system),
    BadExport (which line, and what is wrong there), AppendFailed (no room, for one).
    """
    path = Path(target)
    refuse_place(path)
    if os.path.lexists(path):
        raise LedgerExists(f"{path} exists already; an import never writes over a file, so name another")
    refuse_network(path)
    try:
        with temporary_beside(path) as folder:
            made = folder / "new.db"
            imported = _Builder(source, name).build(made)
            verdict = verify(made)
            if verdict.verdict == "TAMPERED":
                first = verdict.problems[0]
                where = "" if first.seq is None else f"event {first.seq}: "
                raise BadExport(
                    f"{name}: every line of it fits, but the ledger that it holds doesn't verify: {where}{first.what}:"
                    f" expected {first.expected}, got {first.got}; nothing was made"
                )
            with made.open("rb+") as file:
                sync_file(file.fileno())
            claim_name(made, path)
    except sqlite3.Error as problem:
        raise AppendFailed(f"{path}: {problem}; nothing was made{advice(problem, path)}") from None
    sync_folder(path.parent)
    return imported


class _Builder:
    """Reads the records of one export, and says at which line it stands."""

    def __init__(self, source: IO[bytes], name: str) -> None:
        self._source = source
        self._name = name
        self._at = 0
        self._strand = Strand()
        self._said: dict[str, Any] = {}
        self._genesis: dict[str, Any] = {}
        self._release: dict[str, Any] = {}

    def build(self, path: Path) -> Imported:
        """Fill a new file. Raises BadExport."""
        connection = sqlite3.connect(uri(path, "mode=rwc"), uri=True, isolation_level=None)
        try:
            # A file that nobody knows of yet needs no journal: what goes wrong costs this file, and it is made anew.
            for statement in (
                "encoding='UTF-8'", f"application_id={APPLICATION_ID}", "journal_mode=OFF", "synchronous=OFF",
                "trusted_schema=OFF",
            ):  # fmt: skip
                connection.execute(f"PRAGMA {statement}").fetchall()
            connection.execute("BEGIN IMMEDIATE")
            # A trigger before the insert would have SQLite hold a large blob in memory. The strand and the indexes
            # refuse what this guard refuses.
            _make(connection, {"table", "trigger"}, but=_LATE)
            objects = self._fill(connection)
            _make(connection, {_LATE})
            self._install(connection, objects)
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode=WAL").fetchall()
        except (BadLine, ValueError, RecursionError) as problem:
            said = "more nesting than any record has" if isinstance(problem, RecursionError) else problem
            raise BadExport(f"{self._name}, line {self._at}: {said}; nothing was made") from None
        except sqlite3.IntegrityError as problem:
            raise BadExport(f"{self._name}, line {self._at}: a guard refuses it: {problem}; nothing was made") from None
        finally:
            connection.close()
        return Imported(self._strand.seq, self._strand.blobs, self._strand.head, int(self._release["release"]))

    def _lines(self) -> Iterator[bytes]:
        while True:
            line = self._source.readline(MAX_RECORD + 1)
            if not line:
                return
            self._at += 1
            if self._at == 1 and not line.startswith((HEADER_START, _LINES_ONLY)) and (sort := self._sort(line)):
                raise ValueError(f"expected a full export (`ledger export --full`); this is {sort}")
            if len(line) > MAX_RECORD:
                raise ValueError(f"expected at most {MAX_RECORD} bytes, got more")
            if not line.endswith(b"\n"):
                raise ValueError("it is cut off: no newline at its end")
            yield line

    def _sort(self, line: bytes) -> str:
        return sort_of(line[:_SHOWN], "" if self._name == "stdin" else self._name)

    def _header(self, line: bytes) -> list[tuple[str, str, str, str]]:
        """The views and indexes that the header lists."""
        if line.startswith(_LINES_ONLY):
            raise ValueError(
                "these are event lines alone (`ledger export`): without bodies and blobs no ledger can be made of them;"
                " `ledger export --full` writes what can be imported"
            )
        if not line.startswith(HEADER_START):
            raise ValueError(f"expected the header of a full export, got {line[:60]!a}")
        header = _object(line)
        if type(header.get("version")) is not int or header["version"] != VERSION:
            raise ValueError(
                f"expected version {VERSION} of the full export, got {header.get('version')!a};"
                " a newer release wrote it, so import it with that"
            )
        if header.keys() != _HEADER:
            raise ValueError(f"expected {', '.join(sorted(_HEADER))} in the header, got {sorted(header)!a:.200}")
        self._said, objects = header, header["objects"]
        if not isinstance(objects, list) or not all(_is_object(row) for row in cast("list[Any]", objects)):
            raise ValueError("expected `objects` as a list of views and indexes, each [type, name, table, SQL]")
        return [cast("tuple[str, str, str, str]", tuple(row)) for row in cast("list[list[str]]", objects)]

    def _fill(self, connection: sqlite3.Connection) -> list[tuple[str, str, str, str]]:
        lines = self._lines()
        first = next(lines, None)
        if first is None:
            raise ValueError("expected a full export, got an empty file")
        objects = self._header(first)
        large: Any = None  # a blob that is being filled
        ended = False
        for line in lines:
            if ended:
                raise ValueError("expected nothing after the end")
            value = _object(line)
            kind = next((each for each in _FIELDS if each in value), None)
            if kind is None or value.keys() != _FIELDS[kind]:
                raise ValueError(f"expected an event, a blob, more of a blob or the end, got {line[:60]!a}")
            if kind != "more" and large is not None:
                large.close()
                large = None
            if kind == "line":
                self._event(connection, value)
            elif kind == "blob":
                large = self._blob(connection, value)
            elif kind == "more":
                data = _bytes(value["more"])
                self._strand.piece(data)
                assert large is not None, "the strand takes bytes for a blob that lacks some, and for no other"
                large.write(data)
            else:
                self._end(value)
                ended = True
        if not ended:
            self._at += 1
            raise ValueError("expected more, got the end of the file: it is cut off")
        return objects

    def _event(self, connection: sqlite3.Connection, value: dict[str, Any]) -> None:
        line = _ascii(value["line"], "line")
        salt, body = _text(value["salt"], "salt"), _text(value["body"], "body")
        found = self._strand.event(line, salt, None if body is None else body.encode("utf-8"))
        connection.execute(
            _EVENT,
            (
                found.seq, found.v, self._strand.head, found.prev, found.at, found.kind, found.run, found.cell,
                causes_text(found.causes), found.body_hash, salt, body,
            ),
        )  # fmt: skip
        if body is not None and found.seq == 1:
            self._genesis = _object(body.encode("utf-8"))
        if body is not None and found.kind == "schema":
            self._release = _object(body.encode("utf-8"))

    def _blob(self, connection: sqlite3.Connection, value: dict[str, Any]) -> Any:
        """Insert a blob; one of several lines is made of zeros first, and what fills it is given back, open."""
        number, size = _number(value["blob"], "blob"), value["size"]
        size = None if size is None else _number(size, "size")
        digest, encoding = _ascii(value["hash"], "hash").decode(), _ascii(value["encoding"], "encoding").decode()
        salt = _text(value["salt"], "salt")
        self._strand.blob(number, digest, salt, encoding, size)
        row = (number, digest, self._strand.seq, salt, encoding)
        if size is None:
            if value["data"] is not None:
                raise ValueError(f"blob {number}: expected no data without a size, got some")
            connection.execute(_BLOB, (*row, None))
            return None
        data = _bytes(value["data"])
        if data:
            self._strand.piece(data)
        if len(data) == size:
            connection.execute(_BLOB, (*row, data))
            return None
        if size > connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH):
            raise ValueError(f"blob {number}: expected a size that SQLite holds, got {size}")
        connection.execute(_LARGE_BLOB, (*row, size))
        large = connection.blobopen("blobs", "data", number, name="main")
        large.write(data)
        return large

    def _end(self, value: dict[str, Any]) -> None:
        strand = self._strand
        strand.end()
        got = (_number(value["events"], "events"), _number(value["blobs"], "blobs"), value["head"])
        if got != (strand.seq, strand.blobs, strand.head):
            raise ValueError(
                f"expected the end of {strand.seq} events and {strand.blobs} blobs, head {strand.head}, got {got!a}"
            )

    def _install(self, connection: sqlite3.Connection, objects: list[tuple[str, str, str, str]]) -> None:
        """Views and indexes, as the header lists them and the last schema event commits to them; and nothing more."""
        self._at = 1
        digest = rows_digest(tuple(sorted(objects, key=lambda row: row[:3])))
        if digest != self._release.get("digest") or not isinstance(self._release.get("release"), int):
            raise ValueError("its views and indexes aren't the ones that the last schema event commits to")
        for kind, name, _, text in sorted(objects, key=lambda row: row[0] != "view"):
            # One statement at a time, and only ever of these two sorts.
            if text.split(maxsplit=2)[:2] != ["CREATE", kind.upper()]:
                raise ValueError(f"expected the text that makes the {kind} {name!a}, got {text[:60]!a}")
            try:
                connection.execute(text)
            except (sqlite3.OperationalError, sqlite3.Warning, sqlite3.ProgrammingError) as problem:
                if getattr(problem, "sqlite_errorname", "SQLITE_ERROR") != "SQLITE_ERROR":
                    raise  # no fault of the text
                raise ValueError(f"the {kind} {name!a} can't be made: {problem}") from None
        if set(stored_objects(connection).rows) != {*format_objects().rows, *objects}:
            raise ValueError("its views and indexes make other objects than it lists")
        # Whoever reads no more than the header must not be told of another ledger than the one that is made.
        holds = (f"{self._genesis.get('origin')}/{self._genesis.get('id')}", self._release["release"])
        if (self._said["ledger"], self._said["release"]) != holds:
            raise ValueError(
                f"expected the ledger and the release that its events are of, {holds!a:.200},"
                f" got {self._said['ledger']!a:.120} and {self._said['release']!a:.40}"
            )


def _make(connection: sqlite3.Connection, which: set[str], *, but: str = "") -> None:
    """Create the format's tables, then its guards: of these types or names, but for one."""
    for kind, name, _, text in format_objects().rows:
        if text is not None and name != but and (kind in which or name in which):
            connection.execute(text)


def _is_object(row: Any) -> bool:
    return (
        isinstance(row, list)
        and len(cast("list[Any]", row)) == 4
        and all(isinstance(each, str) for each in cast("list[Any]", row))
        and row[0] in {"view", "index"}
    )


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as problem:
        raise ValueError(f"expected JSON, got {line[:60]!a} ({problem})") from None
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, got {line[:60]!a}")
    return cast("dict[str, Any]", value)


def _text(value: object, what: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"expected `{what}` as text or null, got {value!a:.80}")
    return value


def _ascii(value: object, what: str) -> bytes:
    if not isinstance(value, str) or not value.isascii():
        raise ValueError(f"expected `{what}` as ASCII text, got {value!a:.80}")
    return value.encode("ascii")


def _number(value: object, what: str) -> int:
    if type(value) is not int or not 0 <= value < 1 << 53:
        raise ValueError(f"expected `{what}` as a whole number, got {value!a:.80}")
    return value


def _bytes(value: object) -> bytes:
    try:
        return binascii.a2b_base64(_ascii(value, "data"), strict_mode=True)
    except binascii.Error as problem:
        raise ValueError(f"expected base64: {problem}") from None
