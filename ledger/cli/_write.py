"""Making and keeping: `ledger init`, `note`, `export`, `import`, `snapshot`, `upgrade`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ledger._said import counted
from ledger.cli._options import DEFAULT_DB, MAX_NUMBER, AsJson, Db, DbToWrite
from ledger.cli._output import Words, emit_json, tell

if TYPE_CHECKING:
    from ledger._compress import Compression

__all__ = ["export", "import_", "init", "note", "snapshot", "upgrade"]


def init(
    db: Db = DEFAULT_DB,
    origin: Annotated[
        str, typer.Option(help="Who keeps this ledger: lower-case letters, digits, '.', '/', '-'.", metavar="NAME")
    ] = "eval-ledger/local",
    as_json: AsJson = False,
) -> int:
    """Make a new ledger. Never writes over a file."""
    from ledger._store import Ledger

    with Ledger.create(db, origin=origin) as ledger:
        seq, head = ledger.head()
        made = {"ledger": str(db), "origin": ledger.genesis.origin, "id": ledger.genesis.id, "seq": seq, "head": head}
    if as_json:
        emit_json(made)
    Words(as_json=as_json)(f"Made {db}: origin {made['origin']}, id {made['id']}, head {seq} {head}")
    return 0


def note(
    text: Annotated[str, typer.Argument(help="What there is to say.")],
    db: DbToWrite = DEFAULT_DB,
    run: Annotated[
        str | None, typer.Option(help="The run it is about: an id, the start of one, a name, or latest.")
    ] = None,
    cell: Annotated[int, typer.Option(min=0, max=MAX_NUMBER, help="The cell of that run.")] = 0,
    about: Annotated[
        list[int] | None, typer.Option(min=1, max=MAX_NUMBER, help="The seq of an event it is about; repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Append a note: about the ledger, a run, a cell, or events."""
    from ledger._drafts import Draft
    from ledger._errors import BadBody
    from ledger._runs import find_run
    from ledger._store import Ledger
    from ledger.kinds import Note

    if cell and not run:
        raise BadBody("--cell needs --run: a cell is a number within one run")
    ledger, made = Ledger.open_or_create(db)
    with ledger:
        if made:
            tell(f"there was no ledger at {db}; made it")
        for seq in about or ():
            ledger.event(seq)
        wanted = find_run(ledger, run) if run else ""
        (event,) = ledger.append(Draft(Note(text=text), run=wanted, cell=cell, causes=sorted(set(about or ()))))
    if as_json:
        emit_json({"seq": event.seq, "hash": event.hash})
    Words(as_json=as_json)(f"Noted as event {event.seq} {event.hash}")
    return 0


def export(
    db: Db = DEFAULT_DB,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write to this file instead of stdout.", metavar="FILE")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Everything: bodies, salts and blobs too, for `ledger import`.")
    ] = False,
) -> int:
    """Write the event lines, one a text line: BLAKE3 of each (without its newline) is the `prev` of the next."""
    from ledger._export import export_file, export_lines
    from ledger._export_full import export_full, export_full_file
    from ledger._store import Ledger

    with Ledger.open(db, read_only=True) as ledger:
        if output is not None and str(output) != "-":
            if full:
                seq, head = export_full_file(ledger, output)
                tell(f"wrote the whole ledger to {output}: head {seq} {head}")
            else:
                tell(f"wrote {counted(export_file(ledger, output), 'line')} to {output}")
            return 0
        for line in export_full(ledger) if full else (line + b"\n" for line in export_lines(ledger)):
            sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
    return 0


def import_(
    source: Annotated[str, typer.Argument(metavar="FILE", help="What `ledger export --full` wrote; - reads stdin.")],
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Make the ledger that a full export holds, every hash and every row as it was, as a new file (--db)."""
    from ledger._errors import BadExport
    from ledger._import import import_full

    if not source:
        raise BadExport("FILE is empty; expected what `ledger export --full` wrote, or - for stdin")
    if source == "-":
        made = import_full(sys.stdin.buffer, "stdin", db)
    else:
        try:
            file = Path(source).open("rb")  # noqa: SIM115 - closed below; what it holds may fail otherwise
        except OSError as problem:
            raise BadExport(f"{source} can't be read: {problem.strerror or problem}; nothing was made") from None
        with file:
            made = import_full(file, source, db)
    if as_json:
        emit_json({"ledger": str(db), "seq": made.events, "head": made.head, "blobs": made.blobs,
                   "release": made.release})  # fmt: skip
    Words(as_json=as_json)(
        f"Made {db} out of {source}: head {made.events} {made.head}, {counted(made.blobs, 'blob')}, views of release"
        f" {made.release}."
    )
    return 0


def snapshot(
    target: Annotated[Path, typer.Argument(metavar="DEST", help="The file to make; never written over.")],
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Copy the ledger, as it is at one moment, to a new file, with its checkpoints; others may append meanwhile."""
    from ledger._snapshot import snapshot as copy
    from ledger._store import Ledger
    from ledger.checkpoints._files import checkpoint_folder, stored_checkpoints

    with Ledger.open(db, read_only=True) as ledger:
        seq, head = copy(ledger, target)
    along = len(stored_checkpoints(target))
    if as_json:
        emit_json({"snapshot": str(target), "seq": seq, "head": head, "checkpoints": along})
    words = Words(as_json=as_json)
    words(f"Copied {db} to {target}: head {seq} {head}")
    if along:
        words(f"Took {counted(along, 'checkpoint')} along, into {checkpoint_folder(target)}")
    return 0


def upgrade(
    db: DbToWrite = DEFAULT_DB,
    compress: Annotated[
        bool, typer.Option("--compress", help="Compress blobs at rest as well; their hashes stay what they are.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Replace the views and indexes by this release's, and record it as an event; compress blobs at rest."""
    from ledger._upgrade import upgrade as replace

    done = replace(db)
    event = done.event
    packed = _compressed(db) if compress else None
    if as_json:
        emit_json(
            {
                "release": done.release,
                "before": done.before,
                "altered": done.altered,
                "seq": event.seq if event else None,
                **({} if packed is None else {"compressed": asdict(packed)}),
            }
        )
    words = Words(as_json=as_json)
    if event is None:
        words(f"Nothing to do: {db} has the views and indexes of release {done.release}.")
    elif done.altered:
        words(
            f"The views or indexes weren't those of release {done.before};"
            f" put release {done.release}'s in place (event {event.seq})."
        )
    else:
        words(f"Release {done.release}'s views and indexes replace those of release {done.before} (event {event.seq}).")
    if packed is not None:
        words(
            f"Compressed {packed.packed:,} of {packed.plain:,} plain blobs: blobs take {packed.blobs_after:,} bytes"
            f" (before: {packed.blobs_before:,}), the file {packed.file_after:,} ({packed.file_before:,})."
        )
        if packed.not_shrunk:
            words(f"The file was not shrunk: {packed.not_shrunk}.")
    return 0


def _compressed(db: Path) -> Compression:
    """Compress, with a bar on a terminal."""
    from ledger._compress import compress

    if not sys.stderr.isatty():
        return compress(db)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("packing", total=None)
        return compress(
            db, progress=lambda stage, at, total: bar.update(task, description=stage, completed=at, total=total or None)
        )
