"""`ledger bundle`: evidence for somebody who has neither the ledger nor our code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ledger.cli._options import DEFAULT_DB, MAX_NUMBER, AsJson, Db
from ledger.cli._output import Words, emit_json, tell

__all__ = ["bundle"]


def bundle(
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            help="The zip to make; never written over. x.tlog-proof: the proof of one event.",
            metavar="FILE",
        ),
    ],
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN|SEQ]...", help="Runs (an id, the start of one, a name, or latest), and events by seq."
        ),
    ] = None,
    db: Db = DEFAULT_DB,
    report: Annotated[
        Path | None,
        typer.Option(help="A report's file, as it was recorded: its figures are what is claimed.", metavar="FILE"),
    ] = None,
    hide: Annotated[
        list[str] | None,
        typer.Option(help="What is hidden: gold, prompts, replies, separated by commas; repeatable.", metavar="WORDS"),
    ] = None,
    reveal: Annotated[
        int,
        typer.Option(
            min=0, max=MAX_NUMBER, help="Show so many cells whole in spite of --hide, drawn by --seed.", metavar="N"
        ),
    ] = 0,
    seed: Annotated[
        str | None, typer.Option(help="The auditor's text that draws the cells, chosen after the checkpoint.")
    ] = None,
    lines: Annotated[
        str | None,
        typer.Option(help="all: every event line of the ledger; needed: those shown alone.", metavar="all|needed"),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            help="A verifier key, or a file that holds one: the checkpoint must be signed by it.", metavar="VKEY"
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Make an evidence bundle: one zip that proves a run's figures or an event to a stranger (docs/BUNDLES.md)."""
    from ledger._errors import BadBody
    from ledger._place import refuse_companion
    from ledger._verify_outside import read_keys
    from ledger.bundle._make import Wanted, make_bundle, make_proof, words_of

    if lines not in (None, "all", "needed"):
        raise BadBody(f"--lines: expected all or needed, got {lines!a}")
    words = words_of(",".join(hide or ()))
    if hide and not words:
        raise BadBody("--hide: expected gold, prompts, replies, got nothing, which would hide nothing")
    refuse_companion(output)
    wanted = Wanted(tuple(targets or ()), report, words, reveal, seed, lines, read_keys(key or ()))
    made = (make_proof if output.suffix == ".tlog-proof" else make_bundle)(db, wanted, output)
    say = Words(as_json=as_json)
    if as_json:
        emit_json(made.as_json())
    say(f"Made {made.path}: {made.events} events proved against the checkpoint of {made.size}, {made.bytes} bytes")
    if made.hidden:
        say("Hidden: " + ", ".join(f"{count} {kind}" for kind, count in made.hidden.items()))
        tell("a bundle of this ledger that hides less undoes what this one hides, for whoever has both")
    if made.redacted:
        say("Withheld by redactions: " + ", ".join(f"{count} {kind}" for kind, count in made.redacted.items()))
    if made.drawn:
        say("Drawn: " + ", ".join(f"cell {cell} of {run}" for run, cell in made.drawn))
    if made.unread:
        tell(f"the files of freezes {', '.join(map(str, made.unread))} are withheld, so their texts weren't looked for")
    return 0
