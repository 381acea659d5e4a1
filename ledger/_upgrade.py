"""Upgrade: the views and indexes in the file become those of this release, and the chain records it."""

from __future__ import annotations

import json
import os
import sqlite3
from dataclasses import dataclass
from typing import Any, cast

from ledger._append import append_within
from ledger._connect import connect_reader, connect_writer
from ledger._drafts import Draft, prepare
from ledger._errors import AppendFailed, LedgerError, NotALedger, Refused
from ledger._event import Event
from ledger._reasons import advice
from ledger._rows import event_by_body
from ledger._schema import RELEASE, format_objects, install_release, release_objects, stored_objects
from ledger._store import Ledger
from ledger.kinds import Schema

__all__ = ["Upgrade", "upgrade"]


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What an upgrade did: `event` is the schema event it appended, or None when there was nothing to do.

    `before` is the release that was in force; `altered` says that the file's views or indexes weren't that release's.
    """

    event: Event | None
    before: int
    release: int
    altered: bool


def _in_force(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT body FROM main.events WHERE kind = 'schema' ORDER BY seq DESC LIMIT 1").fetchone()
    if row is None:
        return 0
    body = cast("dict[str, Any]", json.loads(row[0]))
    return int(body["release"])


def upgrade(path: str | os.PathLike[str]) -> Upgrade:
    """Replace views and indexes by this release's and append a `schema` event, in one transaction.

    Raises NotALedger, Refused (a newer release made the ledger, or its tables or guards aren't the format's), and
    AppendFailed; then nothing changed.
    """
    release = release_objects(RELEASE)
    assert release is not None
    with Ledger.open(path) as ledger:
        target = ledger.path
    item = prepare(Draft(Schema(release=RELEASE, digest=release.digest)))
    connection = connect_writer(target)
    try:
        connection.execute("BEGIN IMMEDIATE")
        before = _in_force(connection)
        if before > RELEASE:
            raise Refused(
                f"{target} is of release {before}, this package writes release {RELEASE}; install a newer one"
            )
        stored = set(stored_objects(connection).rows)
        if not stored >= set(format_objects().rows):
            raise Refused(
                f"{target}: its tables or guards aren't those of the format; `ledger verify` says what differs"
            )
        others = stored - set(format_objects().rows)
        strange = sorted(row[1] for row in others if row[0] not in {"view", "index"})
        if strange:
            raise Refused(f"{target} holds {strange[0]!r}, which belongs to no release; `ledger verify` says more")
        then = release_objects(before)
        altered = then is not None and others != set(then.rows)
        if before == RELEASE and not altered:
            return Upgrade(None, before, RELEASE, altered=False)
        install_release(connection)
        (result,) = append_within(connection, [[item]], apart=False)
        assert not isinstance(result, LedgerError), "without `apart`, a refusal is raised"
        connection.execute("COMMIT")
        return Upgrade(result[0], before, RELEASE, altered)
    except sqlite3.Error as problem:
        found = _committed(connection, target, item.body_hash)
        if found:
            return Upgrade(found, before=0, release=RELEASE, altered=False)
        raise AppendFailed(f"{target}: {problem}; nothing was changed{advice(problem, target)}") from None
    except (KeyError, TypeError, ValueError):
        raise NotALedger(f"{target}: its newest schema event can't be read; `ledger verify` says more") from None
    finally:
        connection.close()


def _committed(connection: sqlite3.Connection, path: Any, body_hash: str) -> Event | None:
    # The failure may have come out of COMMIT: look, as every append does.
    connection.close()
    reader = connect_reader(path)
    try:
        return event_by_body(reader, body_hash)
    finally:
        reader.close()
