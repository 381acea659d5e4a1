"""`ledger verify`: the verdict, what it rests on, what it can't tell, and what to do about what it found."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ledger._errors import NotALedger
from ledger._said import aimed, counted
from ledger.cli._options import DEFAULT_DB, AsJson, Db, in_use
from ledger.cli._output import Words, emit_json

if TYPE_CHECKING:
    from ledger._deep import DeepCheck
    from ledger._verify import Verdict, Watch
    from ledger.tree import VerifierKey

__all__ = ["verify"]

_ZIP = b"PK"
_PROOF = "proof"
_MOMENT, _OFTEN = 1.0, 0.2


def verify(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A ledger, an evidence bundle (a zip), or a .tlog-proof; by default what --db names.",
            callback=in_use,
        ),
    ] = None,
    db: Db = DEFAULT_DB,
    checkpoint: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="A checkpoint the ledger must extend; repeatable. Those beside it are too. A bundle must stand on it.",
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="Who must have signed: NAME+ID+BASE64, or a file that holds it; repeatable."),
    ] = None,
    require_checkpoint: Annotated[
        bool, typer.Option("--require-checkpoint", help="Exit 1 unless the ledger is shown to extend a checkpoint.")
    ] = False,
    since: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Take the events of this signed checkpoint as they are; check what follows."),
    ] = None,
    tsa_root: Annotated[
        list[Path] | None,
        typer.Option(metavar="PEM", help="A root certificate that timestamps must lead to; repeatable."),
    ] = None,
    seed: Annotated[
        str | None, typer.Option(metavar="SEED", help="For a bundle: the seed that its revealed cells must come from.")
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, max=64, help="Divide a large ledger among so many processes; the verdict is the same.")
    ] = 1,
    as_json: AsJson = False,
    problems: Annotated[int, typer.Option(min=0, help="How many problems to print; 0 for all of them.")] = 20,
    deep: Annotated[
        bool, typer.Option("--deep", help="Then derive every recorded result again from its bytes, and compare.")
    ] = False,
) -> int:
    """Check the whole ledger. Exit 0; 1: tampered with, or what was asked isn't so; 3: a newer release wrote what this
    one can't read. Never writes."""
    from ledger._verify_outside import Outside, read_keys

    path, keys, roots = db if file is None else file, read_keys(key or ()), tuple(tsa_root or ())
    if _is_zip(path):
        for name, given in (("require-checkpoint", require_checkpoint), ("since", since)):
            if given:
                raise typer.BadParameter(
                    f"--{name} is for ledgers; {path} is an evidence bundle, with its own checkpoint"
                )
        return _bundle(path, keys, roots, seed, checkpoint or (), as_json=as_json)
    other = _other(path)
    if other == _PROOF:
        for name, given in (
            ("checkpoint", checkpoint), ("require-checkpoint", require_checkpoint), ("since", since),
            ("tsa-root", tsa_root), ("seed", seed), ("deep", deep),
        ):  # fmt: skip
            if given:
                raise typer.BadParameter(f"--{name} isn't for the proof of one event, which {path} is; --key is")
        return _proof(path, keys, as_json=as_json)
    if other:
        raise NotALedger(f"{path} is no ledger; it is {other}")
    from ledger._verify import verify as check

    if seed is not None:
        raise typer.BadParameter(f"--seed is for evidence bundles (zip files); {path} is none")
    outside = Outside(tuple(checkpoint or ()), keys, require_checkpoint, since, roots)
    with _watched() as watch:
        verdict = check(path, outside, jobs=jobs, watch=watch)
    deeper = _deeper(path) if deep and verdict.verdict != "TAMPERED" else {}
    if as_json:
        found = {"deep": [each.as_json(name) for name, each in deeper.items()]} if deep else {}
        emit_json({**verdict.as_json(), **found})
    words = Words(as_json=as_json)
    _say(verdict, words, problems, path)
    if deep and verdict.verdict == "TAMPERED":
        words("Not checked any deeper: what is derived from a file that was tampered with says nothing.")
    for each in deeper.values():
        for line in each.lines:
            words(f"  {line}")
        words(f"{verdict.verdict}, and {each.sentence}.")
    if not all(each.ok for each in deeper.values()):
        return 1
    return verdict.exit_status or (0 if all(each.whole for each in deeper.values()) else 3)


@contextmanager
def _watched() -> Generator[Watch | None]:
    """On a terminal, for a check that takes longer than a moment: how far it is."""
    if not sys.stderr.isatty():
        yield None
        return
    scans: list[tuple[int, Callable[[], int]]] = []
    ended = threading.Event()
    drawing = threading.Thread(target=_draw, args=(scans, ended), daemon=True)
    drawing.start()
    try:
        yield lambda total, done: scans.append((total, done))
    finally:
        ended.set()
        drawing.join()


def _draw(scans: list[tuple[int, Callable[[], int]]], ended: threading.Event) -> None:
    if ended.wait(_MOMENT):
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("checking events", total=None)
        while not ended.wait(_OFTEN):
            if scans:
                total, done = scans[-1]
                bar.update(task, total=total, completed=done())


def _is_zip(path: Path) -> bool:
    from ledger._files import read_small

    try:
        return read_small(path, len(_ZIP) - 1) == _ZIP
    except OSError:
        return False


def _other(path: Path) -> str:
    """What a file is that is no ledger: _PROOF, or in words; "" for a ledger and for what nobody knows."""
    from ledger._sort_of_file import IS_LEDGER, IS_PROOF, beginning, sort_of

    data = beginning(path)
    if data.startswith(IS_PROOF):
        return _PROOF
    return "" if data.startswith(IS_LEDGER) else sort_of(data, str(path))


def _proof(path: Path, keys: tuple[VerifierKey, ...], *, as_json: bool) -> int:
    from ledger._verify_proof import check_proof

    found = check_proof(path, keys)
    if as_json:
        emit_json(found.as_json())
    words = Words(as_json=as_json)
    for line in found.lines:
        words(line)
    return found.exit_status


def _bundle(
    path: Path, keys: tuple[VerifierKey, ...], roots: tuple[Path, ...], seed: str | None,
    checkpoints: Sequence[Path], *, as_json: bool,
) -> int:  # fmt: skip
    from ledger.bundle import check_bundle

    found = check_bundle(path, keys=keys, tsa_roots=roots, seed=seed, checkpoints=checkpoints)
    if as_json:
        emit_json(found.as_json())
    words = Words(as_json=as_json)
    for line in found.lines:
        words(line)
    return found.exit_status


def _deeper(db: Path) -> dict[str, DeepCheck]:
    from ledger._deep import run_deep
    from ledger._store import Ledger

    with Ledger.open(db, read_only=True) as ledger:
        return run_deep(ledger)


def _say(verdict: Verdict, words: Words, limit: int, path: Path) -> None:
    from ledger._verify_words import advice, cannot, checked, keep, outside

    found = verdict.as_json()
    trusted = f", of which the first {verdict.since} were not read again" if verdict.since else ""
    words(
        f"{verdict.verdict}: {counted(verdict.events, 'event')}{trusted}, {counted(verdict.blobs, 'blob')},"
        f" {verdict.withheld} withheld."
    )
    words(f"Head: {verdict.head or 'none'}")
    words(checked(found))
    for line in outside(found):
        words(line)
    for each in verdict.withheld_by[: limit or None]:
        why = f"{each.category}: {each.reason[:80]}"
        withheld = f"{counted(each.bodies, 'body', 'bodies')}, {counted(each.blobs, 'blob')}"
        words(f"Withheld by event {each.seq}: {withheld} ({why})")
    if limit and len(verdict.withheld_by) > limit:
        words(f"… and {counted(len(verdict.withheld_by) - limit, 'more redaction')}")
    for note in verdict.notes:
        words(f"Note: {note}")
    if verdict.verdict == "TAMPERED":
        _say_problems(verdict, words, limit)
    else:
        words(cannot(found))
        words(aimed(keep(found), path))
    for failure in verdict.failures:
        words(f"Failed: {failure}")
    for each in advice(found):
        words(aimed(each, path))


def _say_problems(verdict: Verdict, words: Words, limit: int) -> None:
    from ledger._verify_words import place

    if verdict.first_bad_seq is None:
        words("No single event is known to be at fault.")
    else:
        words(f"First bad event: {verdict.first_bad_seq}")
    shown = verdict.problems[: limit or None]
    for problem in shown:
        words(f"  {place({'seq': problem.seq})}: {problem.what}; expected {problem.expected}, got {problem.got}")
    if len(shown) < len(verdict.problems):
        words(f"  … and {len(verdict.problems) - len(shown)} more (--problems 0 prints all)")
