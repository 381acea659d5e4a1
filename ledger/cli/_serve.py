"""A ledger in a browser: `ledger serve`, and the same pages as files."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from ledger._said import aimed
from ledger._screen import printable
from ledger.cli._options import DEFAULT_DB, MAX_NUMBER, Db
from ledger.cli._output import tell

__all__ = ["serve"]


# What --static has no use for: it asks no port.
_SERVED = ("port", "host", "base_url", "name", "open_browser")


def serve(
    context: typer.Context,
    db: Db = DEFAULT_DB,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 takes a free one.")] = 8001,
    host: Annotated[str, typer.Option(help="The address to listen on. Whoever reaches it can read.")] = "127.0.0.1",
    base_url: Annotated[
        str, typer.Option(metavar="PATH", help="The path it has behind a proxy, such as /evals/.")
    ] = "/",
    name: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="A further name that it answers to, behind a proxy.")
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the first page in a browser.")] = False,
    static: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the pages of a run as plain files instead.")
    ] = None,
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help="With --static: which run (the newest), by id, name or latest.")
    ] = None,
    report: Annotated[
        int | None, typer.Option(min=1, max=MAX_NUMBER, metavar="SEQ", help="With --static: which report.")
    ] = None,
) -> int:
    """Show a ledger in a browser: runs, cells, comparisons, events and their exact bytes. Read-only.

    With --static it ends in 1 where the ledger is tampered with, and every page says so.
    """
    if static is None and (run is not None or report is not None):
        raise typer.BadParameter("--run and --report choose what --static writes; give --static DIR as well")
    if run is not None and report is not None:
        raise typer.BadParameter("--run and --report exclude each other")
    given = [_option(each) for each in _SERVED if _is_given(context, each)]
    if static is not None and given:
        raise typer.BadParameter(f"--static writes files and serves nothing; leave {' and '.join(given)} away")
    if static is not None:
        from ledger.web._files import write_pages

        # Ended from outside: what was begun beside DIR goes away, as after Ctrl-C.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        done = write_pages(db, static, run=run, report=report, told=tell)
        print(printable(f"{done.index}: {done.pages:,} pages and {done.files:,} files, {done.bytes:,} bytes"))
        if done.tampered:
            more = aimed("`ledger verify` says what is wrong", db)
            tell(f"TAMPERED: {db} isn't what was written, and every page says so; {more}")
        return int(done.tampered)
    from ledger.web._serve import serve as serve_pages

    def told(address: str) -> None:
        print(printable(f"{address} shows {db}; Ctrl-C ends it"), flush=True)
        if host not in ("127.0.0.1", "::1", "localhost"):
            tell(f"warning: everyone who reaches {host} can read this ledger; there is no password")
        if open_browser:
            import webbrowser

            webbrowser.open(address)

    serve_pages([db], host=host, port=port, base_url=base_url, names=name or [], told=told)
    sys.stdout.flush()
    return 0


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _option(name: str) -> str:
    return "--open" if name == "open_browser" else f"--{name.replace('_', '-')}"
