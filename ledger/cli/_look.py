"""Looking around: `ledger log`, `ledger show`, `ledger runs`."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from ledger._said import aimed
from ledger.cli._options import DEFAULT_DB, MAX_NUMBER, AsJson, Db
from ledger.cli._output import Words, emit_bytes, emit_json, emit_json_list, shown_minute, table

__all__ = ["log", "runs", "show"]

_DIGITS = 8
"""So much of a run's id tells it from others, and names it."""


def log(
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
    run: Annotated[str | None, typer.Option(help="Only this run: an id, the start of one, a name, or latest.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only events of this kind.")] = None,
    cell: Annotated[
        int | None, typer.Option(min=0, max=MAX_NUMBER, help="Only this cell of the run (0: events of no cell).")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, max=MAX_NUMBER, help="The newest N events; with --after, the N that follow it.")
    ] = None,
    after: Annotated[int | None, typer.Option(min=0, max=MAX_NUMBER, help="Only events after this seq.")] = None,
) -> int:
    """Print events, the newest last."""
    from ledger._look import brief, select
    from ledger._runs import find_run
    from ledger._store import Ledger

    with Ledger.open(db, read_only=True) as ledger:
        wanted = find_run(ledger, run) if run else None
        events = select(ledger, run=wanted, kind=kind, cell=cell, limit=limit, after=after)
        if as_json:
            emit_json_list("events", (brief(event) for event in events))
            return 0
        words = Words(as_json=False)
        for event in events:
            place = f"{event.run or '-'}{f'/{event.cell}' if event.cell else ''}"
            said = "(withheld)" if event.body is None else event.body
            words(f"{event.seq:>6}  {event.hash[:12]}  {event.at[:19]}Z  {event.kind:<9} {place:<20} {said[:100]}")
    return 0


def show(
    event: Annotated[str, typer.Argument(metavar="SEQ|HASH", help="An event's seq, or its hash (or the start of it).")],
    blob: Annotated[
        str | None, typer.Option(metavar="NAME", help="Print this blob's bytes instead; escaped on a terminal.")
    ] = None,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Print one event whole: its line, body, blobs, causes and effects; exit 1 when a hash doesn't match."""
    from ledger._evidence import read_evidence
    from ledger._look import inspect
    from ledger._store import Ledger

    with Ledger.open(db, read_only=True) as ledger:
        seen = inspect(ledger, event)
        if blob is not None:
            emit_bytes(ledger.blob(seen.event, blob))
            return 0
        read = read_evidence(ledger, seen.event) if seen.sound else []
    if as_json:
        emit_json({**seen.as_json(), "read": [{"what": what, "text": text} for what, text in read]})
        return 0 if seen.sound else 1
    words = Words(as_json=False)
    words(f"event {seen.event.seq}  {seen.event.kind}  {seen.event.at}")
    words(f"line    {seen.line}")
    words(f"hash    {seen.event.hash}  {'matches the line' if seen.line_matches else 'DOES NOT MATCH the line'}")
    words(f"causes  {', '.join(map(str, seen.event.causes)) or 'none'}")
    words(f"effects {', '.join(map(str, seen.effects)) or 'none'}")
    if seen.withheld is not None:
        words(f"body    {seen.withheld}")
    else:
        words(f"body    {'matches its commitment' if seen.body_matches else 'DOES NOT MATCH its commitment'}")
        words(seen.pretty_body, multiline=True)
    for each in seen.blobs:
        size = "" if each.size is None else f"{each.size} bytes  "
        words(f"blob    {each.name or '(unnamed)'}  {size}{each.hash[:16]}…  {each.state}")
    for what, text in read:
        words(f"read    {what}:")
        words(text, multiline=True)
    return 0 if seen.sound else 1


def runs(
    suite: Annotated[str, typer.Option(help="Only runs of this suite.")] = "",
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Only runs with this tag; repeated: with each.")
    ] = None,
    since: Annotated[
        str,
        typer.Option(
            metavar="WHEN",
            help="Only runs that opened since: 2026-11-01, 2026-11-01T10:00Z, 7d, 24h; by the writer's own clock.",
        ),
    ] = "",
    until: Annotated[str, typer.Option(metavar="WHEN", help="Only runs that opened before: as --since takes it.")] = "",
    name: Annotated[str, typer.Option(help="Only runs of this name.")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many, the newest.")] = None,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """List the runs, the newest first; a judge's own says which runs it grades. A run that is open while no process
    holds it was interrupted."""
    from ledger._runs import list_runs, since_when
    from ledger._store import Ledger

    when = since_when(since) if since else None
    end = since_when(until, option="--until") if until else None
    narrowed = bool(suite or tag or name or when or end)
    with Ledger.open(db, read_only=True) as ledger:
        fitting = list_runs(ledger, suite=suite, tags=tag or (), since=when, until=end, name=name)
        found = list(islice(fitting, limit))
    if as_json:
        emit_json({"runs": found})
        return 0
    words = Words(as_json=False)
    if not found:
        none = aimed("No run is like that; `ledger runs` alone lists every run.", db)
        words(none if narrowed else "No runs yet.")
        return 0
    header = (
        "run", "status", "planned", "asked", "suite", "name", "tags", "opened", "superseded by", "tainted by",
        "accepted", "grades",
    )  # fmt: skip
    rows = [
        (
            row["run"], row["status"], row["planned"], row["asked"], row["suite"], row["name"],
            ", ".join(map(str, row["tags"])), shown_minute(row["opened_at"]),
            row["superseded_by"] or ("(none)" if row["superseded"] else ""),
            ", ".join(map(str, row["taints"])), ", ".join(row["accepted"]),
            ", ".join(each[:_DIGITS] for each in row["grades"]),
        )
        for row in found
    ]  # fmt: skip
    for line in table(header, rows):
        words(line)
    gone = sum(row["superseded"] for row in found)
    unsafe = sum(row["tainted"] for row in found)
    if when is not None:
        words(f"Opened since {when:%Y-%m-%dT%H:%MZ}, as the clock of whoever wrote each run claimed.")
    if gone or unsafe:
        words(f"{gone} superseded (the default scoreboard leaves them out), {unsafe} tainted.")
    return 0
