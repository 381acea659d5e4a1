"""What reaches outside the file: `ledger checkpoint`, `ledger key new|show`, `ledger anchor rfc3161`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ledger._said import aimed, counted
from ledger.cli._options import DEFAULT_DB, MAX_NUMBER, AsJson, Db, DbToWrite
from ledger.cli._output import Words, emit_json

if TYPE_CHECKING:
    from ledger._store import Ledger
    from ledger.tree import SigningKey

__all__ = ["anchor", "checkpoint", "key"]

_MAX_ROOT = 1 << 20
"""Bytes of a file of root certificates that are read: a system's whole store has a fifth of that."""

SigningKeyFile = Annotated[
    Path | None,
    typer.Option(
        "--signing-key", metavar="FILE",
        help="The file of the signing key; else LEDGER_SIGNING_KEY (the key or its file), else the default place.",
    ),
]  # fmt: skip

key = typer.Typer(help="The key that signs a ledger's checkpoints.", rich_markup_mode=None)
anchor = typer.Typer(help="Have somebody outside vouch for a checkpoint.", rich_markup_mode=None)


@key.callback(invoke_without_command=True)
@anchor.callback(invoke_without_command=True)
def _usage(context: typer.Context) -> None:  # pyright: ignore[reportUnusedFunction]
    if context.invoked_subcommand is None:
        print(context.get_help())


def checkpoint(
    db: DbToWrite = DEFAULT_DB,
    signing_key: SigningKeyFile = None,
    without: Annotated[
        list[int] | None,
        typer.Option(
            min=0,
            max=MAX_NUMBER,
            metavar="SIZE",
            help="The size of a checkpoint that the ledger had and whose file is lost; repeatable. A note says so.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Sign the ledger as it is now, into the folder LEDGER.checkpoints beside it, once it proved to extend the last."""
    from ledger._store import Ledger
    from ledger.checkpoints._make import make_checkpoint

    with Ledger.open(db, read_only=True) as ledger:
        found = _key(ledger, signing_key)
    made = make_checkpoint(db, found, without=without or ())
    if as_json:
        emit_json(
            {
                "file": str(made.path), "origin": made.checkpoint.origin, "size": made.checkpoint.size,
                "root": made.checkpoint.text.splitlines()[2], "key": str(made.key), "fresh": made.fresh,
                "anchor": made.anchor, "without": list(made.lost),
            }
        )  # fmt: skip
    words = Words(as_json=as_json)
    for size in made.lost:
        words(f"Without the checkpoint of {counted(size, 'event')}, whose file is lost; a note of the ledger says so.")
    if made.fresh:
        words(
            f"Signed {counted(made.checkpoint.size, 'event')} by {made.key.label}: {made.path}"
            f" (event {made.anchor} records it)"
        )
        words("Give the file to others, with the key by another way. They hold what they are shown against it:")
        words(f"ledger verify LEDGER --checkpoint {made.path.name} --key {made.key}")
    elif made.anchor:
        words(
            f"Recorded the checkpoint of {counted(made.checkpoint.size, 'event')}, as event {made.anchor}: {made.path}"
        )
    else:
        words(f"Nothing new since the checkpoint of {counted(made.checkpoint.size, 'event')}: {made.path}")
    return 0


@key.command("new")
def key_new(
    db: Db = DEFAULT_DB,
    signing_key: Annotated[
        Path | None, typer.Option("--signing-key", metavar="FILE", help="The file to keep the new key in.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Make the key that signs this ledger's checkpoints, in a file of its own that only you can read."""
    from ledger._store import Ledger
    from ledger.checkpoints._extends import origin_of
    from ledger.checkpoints._keys import VARIABLE, make_key, read_key

    with Ledger.open(db, read_only=True) as ledger:
        path = make_key(origin_of(ledger), ledger.path, signing_key)
        verifier = read_key(path, ledger.path).verifier
    if as_json:
        emit_json({"file": str(path), "key": str(verifier)})
    words = Words(as_json=as_json)
    words(f"Made {path}; keep a copy of it where nobody else reads it: without it nothing more can be signed by it.")
    words(f"Its public key, to hand out: {verifier}")
    if os.environ.get(VARIABLE):
        words(f"{VARIABLE} is set, and goes before that file.")
    return 0


@key.command("show")
def key_show(db: Db = DEFAULT_DB, signing_key: SigningKeyFile = None, as_json: AsJson = False) -> int:
    """Show the public key of the key that would sign: what others give to `ledger verify --key`."""
    from ledger._store import Ledger

    with Ledger.open(db, read_only=True) as ledger:
        verifier = _key(ledger, signing_key).verifier
    if as_json:
        emit_json({"key": str(verifier)})
        return 0
    Words(as_json=as_json)(str(verifier))
    return 0


@anchor.command("rfc3161")
def anchor_rfc3161(
    url: Annotated[str, typer.Option(metavar="URL", help="The address of a timestamp authority (RFC 3161).")],
    db: DbToWrite = DEFAULT_DB,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The checkpoint to vouch for; by default the newest.")
    ] = None,
    tsa_root: Annotated[
        list[Path] | None,
        typer.Option(metavar="PEM", help="A root certificate that the authority's must lead to; repeatable."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.001, max=3600, metavar="SECONDS", help="How long to wait for the authority.")
    ] = 30.0,
    as_json: AsJson = False,
) -> int:
    """Have a timestamp authority sign a checkpoint; keep its token beside the checkpoint's file."""
    from ledger._files import read_small
    from ledger.checkpoints._anchor import anchor_rfc3161 as ask

    roots = [read_small(each, _MAX_ROOT) for each in tsa_root or ()]
    had = ask(db, url, checkpoint=checkpoint, roots=roots, seconds=timeout)
    if as_json:
        emit_json(
            {
                "file": str(had.path), "size": had.checkpoint.size, "name": had.timestamp.name, "at": had.timestamp.at,
                "anchor": had.anchor, "checked": had.checked,
            }
        )  # fmt: skip
    words = Words(as_json=as_json)
    stamp = had.timestamp
    words(
        f"{stamp.name} vouches for the checkpoint of {counted(had.checkpoint.size, 'event')} at {stamp.at}:"
        f" {had.path} (event {had.anchor} records it)"
    )
    if not had.checked:
        words(aimed("Who that is wasn't checked: --tsa-root PEM does, here and in `ledger verify`.", db))
    return 0


def _key(ledger: Ledger, path: Path | None) -> SigningKey:
    from ledger.checkpoints._keys import find_key

    return find_key(ledger.genesis.id, ledger.path, path)
