"""`ledger redact`: withhold bodies and blobs, the one thing that removes anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ledger._said import aimed
from ledger.cli._options import DEFAULT_DB, AsJson, DbToWrite
from ledger.cli._output import Words, emit_json

if TYPE_CHECKING:
    from ledger._redact_preview import Preview

__all__ = ["redact"]

_SHOWN = 20


def redact(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET...",
            help="SEQ or an event's hash: its body. SEQ:NAME or a blob's hash: that blob.",
            show_default=False,
        ),
    ] = None,
    reason: Annotated[
        str | None, typer.Option(help="Why; it stays for ever, so never repeat the secret.", show_default=False)
    ] = None,
    category: Annotated[
        Literal["secret", "personal", "rights", "other"] | None,
        typer.Option(help="What kind of reason it is.", show_default=False),
    ] = None,
    blob: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Of each target the blob NAME, not the body; repeatable.", show_default=False
        ),
    ] = None,
    run: Annotated[str | None, typer.Option(help="With --cell: all that can be withheld of a cell.")] = None,
    cell: Annotated[int | None, typer.Option(min=1, max=2**53 - 1, help="The cell of --run.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be withheld, and what would rest on it.")
    ] = False,
    finish: Annotated[
        bool, typer.Option("--finish", help="Complete the erasing of earlier redactions ('not yet erased').")
    ] = False,
    wait: Annotated[
        float, typer.Option(min=0, max=3600, metavar="SECONDS", help="How long to wait for those who read the ledger.")
    ] = 5.0,
    db: DbToWrite = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Withhold bodies or blobs for ever; lines, hashes and scores stay. Exit 3: it stands, but isn't erased yet."""
    words = Words(as_json=as_json)
    given = list(targets or ())
    if finish:
        if given or run or cell or blob or dry_run:
            raise typer.BadParameter("--finish takes no target: it completes what was withheld before")
        return _finish(db, wait, words, as_json=as_json)
    if (run is None) != (cell is None):
        raise typer.BadParameter("--run and --cell go together: they name one cell")
    if bool(given) == (run is not None):
        raise typer.BadParameter("name either TARGETs, or a cell by --run and --cell")
    if run is not None and blob:
        raise typer.BadParameter("--blob goes with TARGETs; --run and --cell withhold everything of the cell")
    if not dry_run and (not category or not (reason or "").strip()):
        raise typer.BadParameter("--reason and --category are needed; both stay in the ledger")
    preview = _preview(db, given, blob or [], run, cell)
    if dry_run:
        if as_json:
            emit_json({"dry_run": True, **preview.as_json()})
        _say(db, preview, words, would=True)
        return 0
    return _perform(db, preview, str(category), str(reason), wait, words, as_json=as_json)


def _preview(db: Path, given: list[str], blobs: list[str], run: str | None, cell: int | None) -> Preview:
    from ledger._redact_preview import preview
    from ledger._redact_targets import cell_targets, find_targets
    from ledger._runs import find_run
    from ledger._store import Ledger

    with Ledger.open(db, read_only=True) as ledger:
        if run is not None and cell is not None:
            found = cell_targets(ledger, find_run(ledger, run), cell)
        else:
            found = find_targets(ledger, given, blobs=blobs)
        return preview(ledger, found)


def _finish(db: Path, wait: float, words: Words, *, as_json: bool) -> int:
    from ledger._errors import NotErased
    from ledger._redact import finish_redaction

    problem: NotErased | None = None
    count = 0
    try:
        count = finish_redaction(db, wait=wait)
    except NotErased as found:
        problem = found
    if as_json:
        emit_json({"erased": problem is None})
    if problem is not None:
        raise problem
    words(
        f"Erased: nothing of what redactions withhold ({count} so far) is left in {db} or its write-ahead log."
        if count
        else f"Nothing to erase: {db} holds no redaction."
    )
    return 0


def _perform(
    db: Path, preview: Preview, category: str, reason: str, wait: float, words: Words, *, as_json: bool
) -> int:
    from ledger._errors import NotErased
    from ledger._redact import redact as withhold

    problem: NotErased | None = None
    appended: tuple[int, str] | None = None
    try:
        event = withhold(db, preview.targets, category=category, reason=reason, wait=wait)
        appended = (event.seq, event.hash) if event else None
    except NotErased as found:
        problem, appended = found, found.appended
    seq, digest = appended or (None, None)
    if as_json:
        done: dict[str, Any] = {"dry_run": False, "erased": problem is None, "seq": seq, "hash": digest}
        emit_json({**done, **preview.as_json()})
    if appended is not None:
        words(f"Withheld by event {seq} {digest}")
    _say(db, preview, words, would=False)
    if problem is not None:
        raise problem
    words(f"Erased: nothing of it is left in {db} or its write-ahead log.")
    return 0


def _say(db: Path, preview: Preview, words: Words, *, would: bool) -> None:
    targets = preview.targets
    count = f"{_count(targets.bodies, 'body', 'bodies')} and {_count(targets.blobs, 'blob', 'blobs')}"
    words(f"{'Would withhold' if would else 'Withheld'}: {count}.")
    lines = [f"the body of event {seq} ({preview.kinds[seq]})" for seq in targets.bodies]
    lines += [f"the blob {blob.name or '(unnamed)'} {blob.hash[:16]}… of event {blob.seq}" for blob in targets.blobs]
    _list(words, "", lines)
    _list(words, "Already:", targets.already)
    _list(words, "Numbers that no longer reproduce:", preview.numbers)
    if not preview.numbers:
        words("No number rests on it.")
    _list(words, "Still readable, and may hold the same text (name them too if they do):", preview.readable)
    _list(words, "Out of reach; see to these yourself:", preview.unreachable)
    _list(words, "Advice:", [aimed(each, db) for each in preview.advice])


def _count(items: Sequence[object], one: str, many: str) -> str:
    return f"{len(items)} {one if len(items) == 1 else many}"


def _list(words: Words, title: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    if title:
        words(title)
    for line in lines[:_SHOWN]:
        words(f"  {line}")
    if len(lines) > _SHOWN:
        words(f"  … and {len(lines) - _SHOWN} more (--json lists all)")
