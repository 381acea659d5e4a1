"""`Ledger`: one ledger file, to append to and to read from. Safe to share between threads and asyncio tasks.

Waiting appends share one commit: whoever gets hold of the connection commits for everybody who waits (group commit).
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sqlite3
import tempfile
import threading
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ledger._append import append_all
from ledger._connect import APPLICATION_ID, connect_reader, refuse_unguarded, uri
from ledger._drafts import Draft, Prepared, Salts, prepare
from ledger._errors import (
    AppendFailed,
    BadBody,
    BadQuery,
    LedgerError,
    LedgerExists,
    NotALedger,
    NotFound,
)
from ledger._event import Event
from ledger._files import claim_name, sync_folder
from ledger._filesystem import refuse_network
from ledger._packed import unpacked
from ledger._reasons import advice
from ledger._rows import SELECT, event_of
from ledger._schema import RELEASE, format_objects, install, release_objects
from ledger._writer import Writer
from ledger.kinds import Body, Genesis, Schema, parse_body

if TYPE_CHECKING:
    from pandas import DataFrame  # pyright: ignore[reportMissingTypeStubs]

__all__ = ["DEFAULT_ORIGIN", "Ledger"]

DEFAULT_ORIGIN = "eval-ledger/local"

_BY_SEQ = SELECT + " WHERE seq = ?"


class _Ticket:
    """One append that waits for its commit. A cancelled one is skipped whole."""

    def __init__(self, items: Sequence[Prepared]) -> None:
        self.items = items
        self.outcome: Future[list[Event]] = Future()


class Ledger:
    """An open ledger. Make one with `Ledger.create` or `Ledger.open`; close it, or use it as a context manager."""

    def __init__(self, path: Path, *, read_only: bool, untouched: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self._writer = None if read_only or not path.is_file() else Writer(path)
        self._reader = connect_reader(path, views=True, untouched=untouched)
        self._reader_lock = threading.Lock()
        self._writer_lock = threading.Lock()
        self._waiting: deque[_Ticket] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self._closed = False
        try:
            row = self.sql("SELECT kind, body FROM main.events WHERE seq = 1").fetchone()
            body = parse_body("genesis", str(row[1])) if row and row[0] == "genesis" else None
        except (sqlite3.Error, LedgerError) as problem:
            self._reader.close()
            if "no such table" in str(problem):
                raise NotALedger(f"{path} is no ledger: it has no events table of this format") from None
            raise NotALedger(f"{path} can't be read as a ledger: {problem}") from None
        if not isinstance(body, Genesis):
            self._reader.close()
            raise NotALedger(f"{path} is no ledger: its first event is not a genesis")
        self.genesis = body
        if not read_only:
            try:
                refuse_network(path)
                refuse_unguarded(self._reader, path)
            except LedgerError:
                self._reader.close()
                raise

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, read_only: bool = False, untouched: bool = False) -> Self:
        """Open an existing ledger. Raises NotALedger, saying what stands there instead; and, unless it is opened to
        read alone, Refused where it lies on a network file system or its guards are gone.

        `untouched` is for a glance that leaves not even SQLite's own files beside the ledger; with `read_only` only.
        """
        return cls(Path(path), read_only=read_only or untouched, untouched=untouched)

    @classmethod
    def create(cls, path: str | os.PathLike[str], *, origin: str = DEFAULT_ORIGIN) -> Self:
        """Make a new ledger: event 1 is genesis, event 2 the schema of this release. Raises LedgerExists, BadBody,
        NotALedger (it can't be made there), Refused (on a network file system).

        The file appears under its name whole or not at all.
        """
        target = Path(path)
        if os.path.lexists(target):
            raise LedgerExists(f"{target} exists already; name another file, or use this one as it is")
        if not target.parent.is_dir():
            raise NotALedger(f"there is no folder {target.parent}; make it first")
        refuse_network(target)
        release = release_objects(RELEASE)
        assert release is not None
        from pydantic import ValidationError

        try:
            genesis = Genesis(
                origin=origin, id=secrets.token_hex(16), identity_key=secrets.token_hex(32),
                tables=format_objects().digest,
            )  # fmt: skip
        except ValidationError:
            raise BadBody(
                f"expected an origin of lower-case letters, digits, '.', '/' and '-', at most 100, got {origin!r}"
            ) from None
        drafts = [Draft(genesis), Draft(Schema(release=RELEASE, digest=release.digest))]
        try:
            # What can't be cleared away is no reason to say that there is no ledger, once it has its name.
            with tempfile.TemporaryDirectory(
                dir=target.parent, prefix=".ledger-", ignore_cleanup_errors=True
            ) as folder:
                made = Path(folder) / "new.db"
                _make_file(made, [prepare(draft) for draft in drafts])
                claim_name(made, target)
            sync_folder(target.parent)
        except (OSError, sqlite3.Error) as problem:
            said = problem.strerror if isinstance(problem, OSError) and problem.strerror else problem
            raise NotALedger(f"{target} can't be made: {said}{advice(problem, target)}") from None
        return cls.open(target)

    @classmethod
    def open_or_create(cls, path: str | os.PathLike[str], *, origin: str = DEFAULT_ORIGIN) -> tuple[Self, bool]:
        """Open the ledger, or create it; also says whether it was made just now."""
        if not os.path.lexists(path):
            try:
                return cls.create(path, origin=origin), True
            except LedgerExists:
                pass
        return cls.open(path), False

    def close(self) -> None:
        """Close every connection. What was appended is durable already.

        Raises LedgerReplaced where the file was replaced, moved or cut while it was open; then too all is closed.
        """
        self._thread.shutdown(wait=True)
        # The writer goes last: SQLite folds the log into the file when the last connection that may write is closed,
        # and a person who copies the file alone then copies everything.
        with self._writer_lock:
            self._closed = True
            with self._reader_lock:
                self._reader.close()
            if self._writer is not None:
                self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Appending

    def append(self, *drafts: Draft | Prepared) -> list[Event]:
        """Append drafts as one unit and return their events once they are durable.

        Raises BadBody or BadLine (refused at the door), Refused (a plan or claim is taken), AppendFailed (SQLite
        could not): in each case nothing was written. Raises LedgerReplaced where the file isn't the one that was
        opened any more: then nothing of this append is acknowledged, wherever it may have gone.
        """
        ticket = self._queue(drafts)
        if not ticket.outcome.done():
            with self._writer_lock:
                self._drain()
        return ticket.outcome.result()

    async def append_async(self, *drafts: Draft | Prepared) -> list[Event]:
        """`append` for asyncio: never blocks the loop, and appends that wait together share one commit.

        A task that is cancelled while it waits leaves all of its append or nothing.
        """
        ticket = self._queue(drafts)
        self._thread.submit(self._drain_waiting)
        return await asyncio.wrap_future(ticket.outcome)

    def _queue(self, drafts: Sequence[Draft | Prepared]) -> _Ticket:
        if self.read_only:
            raise AppendFailed(f"{self.path} was opened read-only")
        if self._closed:
            raise AppendFailed(f"{self.path} was closed; nothing of this append was written")
        salts = Salts(len(drafts))
        ticket = _Ticket([each if isinstance(each, Prepared) else prepare(each, salts) for each in drafts])
        self._waiting.append(ticket)
        return ticket

    def _appending(self) -> Writer:
        if self._closed or self._writer is None:
            raise AppendFailed(f"{self.path} was closed; nothing of this append was written")
        return self._writer

    def _drain_waiting(self) -> None:
        if self._waiting:
            with self._writer_lock:
                self._drain()

    def _drain(self) -> None:
        """Commit everything that waits. The caller holds the writer lock."""
        tickets: list[_Ticket] = []
        while self._waiting:
            ticket = self._waiting.popleft()
            if ticket.outcome.set_running_or_notify_cancel():
                tickets.append(ticket)
        if not tickets:
            return
        groups = [ticket.items for ticket in tickets]
        interrupt: BaseException | None = None
        try:
            results = self._appending().commit(groups)
        except LedgerError as problem:
            results = [problem] * len(groups)
        except BaseException as problem:  # noqa: BLE001 - raised again below, once everybody has an answer
            # Ctrl-C too can strike after COMMIT: others wait for what became of theirs.
            results = self._appending().settle(groups, problem)
            interrupt = None if isinstance(problem, Exception) else problem
        for ticket, result in zip(tickets, results, strict=True):
            if isinstance(result, LedgerError):
                ticket.outcome.set_exception(result)
            else:
                ticket.outcome.set_result(result)
        if interrupt is not None:
            raise interrupt

    # Reading

    def sql(self, statement: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run a query on the read-only connection. Rows are plain tuples. Write `main.` before table names."""
        with self._reader_lock:
            return self._reader.execute(statement, parameters)

    def rows(self, statement: str, parameters: Mapping[str, Any] | Sequence[Any] = ()) -> list[dict[str, Any]]:
        """The rows of a query, each as a dict by column name."""
        with self._reader_lock:
            cursor = self._reader.execute(statement, parameters)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def frame(self, view_or_sql: str = "scoreboard", params: Mapping[str, Any] | Sequence[Any] = ()) -> DataFrame:
        """A view, or what a query reads, as a pandas DataFrame: Int64, Float64 and string columns, NA for NULL.

        A query may name any view of this release after FROM or JOIN, whichever release the file has, and call the
        functions that installed packages bring (`ledger._functions`). Raises NotFound for a view that there isn't,
        BadQuery for what doesn't read or can't be run, and where pandas isn't installed.
        """
        from ledger._frame import query_of, to_frame
        from ledger._functions import calling

        statement = query_of(view_or_sql)
        try:
            # What a function reads, it reads by itself: this connection is busy with the query that calls it.
            with Ledger.open(self.path, read_only=True) as beside, self._reader_lock, calling(self._reader, beside):
                cursor = self._reader.execute(statement, params)
                names, rows = [column[0] for column in cursor.description], cursor.fetchall()
        except (sqlite3.Error, sqlite3.Warning) as problem:
            raise BadQuery(f"the query can't be run: {problem}") from None
        return to_frame(names, rows)

    @contextmanager
    def at_one_moment(self) -> Generator[None]:
        """Everything read inside, by whichever thread, is of one moment, whatever others append meanwhile.

        A writer isn't kept waiting; its log can't be folded into the file until this ends, so it should be short.
        """
        with self._reader_lock:
            self._reader.execute("BEGIN")
            # A transaction that has read nothing yet has no moment yet.
            self._reader.execute("SELECT 1 FROM main.sqlite_schema").fetchone()
        try:
            yield
        finally:
            with self._reader_lock:
                self._reader.execute("COMMIT")

    def head(self) -> tuple[int, str]:
        """(seq, hash) of the newest event."""
        row = self.sql("SELECT seq, hash FROM main.events ORDER BY seq DESC LIMIT 1").fetchone()
        return int(row[0]), str(row[1])

    def event(self, seq: int) -> Event:
        """The event at `seq`. Raises NotFound."""
        row = self.sql(_BY_SEQ, (seq,)).fetchone()
        if row is None:
            raise NotFound(f"there is no event {seq}; the head is {self.head()[0]}")
        return event_of(row)

    def events(
        self,
        *,
        kind: str | None = None,
        run: str | None = None,
        cell: int | None = None,
        after: int = 0,
        limit: int | None = None,
    ) -> Iterator[Event]:
        """Events in order of seq, filtered by what is given: all, or the first `limit` of them."""
        return iter(self._select("seq > :after", "ORDER BY seq", kind, run, cell, after, limit))

    def newest(
        self, limit: int, *, kind: str | None = None, run: str | None = None, cell: int | None = None
    ) -> list[Event]:
        """The newest `limit` events that fit the filters, in order of seq."""
        return self._select("seq > :after", "ORDER BY seq DESC", kind, run, cell, 0, limit)[::-1]

    def _select(
        self, where: str, order: str, kind: str | None, run: str | None, cell: int | None, after: int, limit: int | None
    ) -> list[Event]:
        wanted = {"kind": kind, "run": run, "cell": cell}
        given = {name: value for name, value in wanted.items() if value is not None}
        where += "".join(f" AND {name} = :{name}" for name in given)
        values = {**given, "after": after, "limit": -1 if limit is None else limit}
        statement = f"{SELECT} WHERE {where} {order} LIMIT :limit"
        with self._reader_lock:
            rows = self._reader.execute(statement, values).fetchall()
        return [event_of(row) for row in rows]

    def view(self, name: str, *, order_by: str | None = None) -> list[dict[str, Any]]:
        """The rows of one of the ledger's views. Raises NotALedger when the file lacks it."""
        from sqlite_utils import Database

        with self._reader_lock:
            database = Database(self._reader, recursive_triggers=False)
            if name not in database.view_names():
                raise NotALedger(f"{self.path} lacks the view {name}; `ledger upgrade` puts it back")
            view = database.view(name)
            rows = view.rows_where(order_by=order_by)  # pyright: ignore[reportUnknownMemberType]
            return list(rows)

    def backup(self, target: sqlite3.Connection) -> None:
        """Copy the whole database, as it is at one moment, into another connection (SQLite's online backup)."""
        with self._reader_lock:
            self._reader.backup(target)

    def body(self, event: Event | int) -> Body:
        """The typed body of an event. Raises NotFound when it was withheld by a redaction."""
        found = self.event(event) if isinstance(event, int) else event
        if found.body is None:
            raise NotFound(f"the body of event {found.seq} was withheld by a redaction")
        return parse_body(found.kind, found.body)

    def blob(self, event: Event | int, name: str) -> bytes:
        """The plain bytes of an event's blob. Raises NotFound when there is none, or it was withheld."""
        found = self.event(event) if isinstance(event, int) else event
        reference = self.body(found).blobs.get(name)
        if reference is None:
            raise NotFound(f"event {found.seq} ({found.kind}) has no blob {name!r}")
        row = self.sql(
            "SELECT encoding, data FROM main.blobs WHERE hash = ? AND seq = ?", (reference.hash, found.seq)
        ).fetchone()
        if row is None or row[1] is None:
            raise NotFound(f"blob {name!r} of event {found.seq} is not in the file; `ledger verify` says why")
        try:
            return unpacked(row[0], row[1], reference.size)
        except ValueError as problem:
            raise NotFound(f"blob {name!r} of event {found.seq} can't be read: {problem}") from None


def _make_file(path: Path, drafts: Sequence[Prepared]) -> None:
    connection = sqlite3.connect(uri(path, "mode=rwc"), uri=True, isolation_level=None)
    try:
        connection.execute("PRAGMA encoding='UTF-8'")
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA fullfsync=ON")
        connection.execute("PRAGMA checkpoint_fullfsync=ON")
        connection.execute("BEGIN IMMEDIATE")
        install(connection)
        connection.execute("COMMIT")
        for result in append_all(connection, [drafts]):
            if isinstance(result, LedgerError):
                raise result
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.close()
