"""From a typer app to an exit status: one sentence for whatever goes wrong, and never a traceback.

0 all well · 1 the thing asked about is false · 2 wrong usage or nothing readable · 3 incomplete · 4 refused
130 interrupted from the keyboard · 141 whoever read our output went away (as a shell reports SIGINT and SIGPIPE)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import typer
import typer.main

from ledger._dotenv import load_dotenv
from ledger._said import aimed
from ledger.cli._empty import refuse_empty_paths
from ledger.cli._options import LEDGER
from ledger.cli._output import tell
from ledger.cli._program import complete

__all__ = ["run_app"]

_READING = "it can't be read; `ledger verify` says more"


def run_app(
    app: typer.Typer, name: str, arguments: Sequence[str] | None = None, *, others: Mapping[str, Collection[str]] = {}
) -> int:
    """Run a command line and return its exit status. Commands return theirs, or None for 0.

    An exception with an `exit_status` (LedgerError, and its like in other packages) ends in that status. `others` are
    other programs of the package and their commands: one that is asked for here is named as theirs.
    """
    for name_of, stream in (("stdout", sys.stdout), ("stderr", sys.stderr)):
        if stream is None:
            # Closed by whoever started us. print() would take the other stream for it.
            stream = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
            setattr(sys, name_of, stream)
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        return _run(app, name, list(sys.argv[1:] if arguments is None else arguments), others)
    except KeyboardInterrupt:
        tell("interrupted")
        return 130
    except BrokenPipeError:
        _silence()
        return 141


def _run(app: typer.Typer, name: str, arguments: list[str], others: Mapping[str, Collection[str]]) -> int:
    load_dotenv()
    meta: dict[str, Any] = {}
    try:
        command = typer.main.get_command(app)
        complete(command, name)
        refuse_empty_paths(command)
        with command.make_context(name, arguments or ["--help"]) as context:
            meta = context.meta
            result = context.command.invoke(context)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except typer.Exit as done:
        sys.stdout.flush()
        return done.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as problem:  # noqa: BLE001 - the last door: whatever it is, a person reads one sentence
        return _explain(problem, meta.get(LEDGER), _theirs(arguments, others))


def _theirs(arguments: list[str], others: Mapping[str, Collection[str]]) -> str:
    """The command of another program that was meant, "" for none."""
    word = next((each for each in arguments if not each.startswith("-")), "")
    return next((f"{program} {word}" for program, commands in others.items() if word in commands), "")


def _explain(problem: Exception, ledger: Path | None, theirs: str) -> int:
    status = getattr(problem, "exit_status", None)
    if isinstance(status, int):
        # A file's many faults are a line each: what one line holds can still not pass for two.
        first, *rest = cast("tuple[str, ...]", getattr(problem, "lines", ())) or (str(problem),)
        tell(f"error: {aimed(first, ledger)}")
        for line in rest:
            tell(f"  {aimed(line, ledger)}")
        return status
    if isinstance(problem, typer.TyperException):
        context = getattr(problem, "ctx", None)
        more = f" (`{context.command_path} --help` shows how)" if context is not None else ""
        # The choices of an option come one a line.
        said = problem.format_message().rstrip(".").replace(":\n\t", " ").replace(",\n\t", ", ")
        if theirs and said.startswith("No such command"):
            said, more = f"{said.partition('. ')[0]}; `{theirs}` is one", ""
        tell(f"error: {said}{more}")
        return 2
    if isinstance(problem, OSError):
        where = f"{problem.filename}: " if problem.filename else ""
        tell(f"error: {where}{problem.strerror or problem}")
    elif isinstance(problem, UnicodeEncodeError) and _is_bytes(problem):
        tell(f"error: an argument or a setting holds bytes that are no UTF-8: {problem.object[:80]!a}")
    elif type(problem).__module__ == "sqlite3":
        tell(f"error: the ledger: {problem}; {aimed(_READING, ledger)}")
    else:
        tell(f"error: {type(problem).__name__}: {problem}; that is a fault of this program, please report it")
    return 2


def _is_bytes(problem: UnicodeEncodeError) -> bool:
    # So Python carries the bytes of an argument, or of an environment variable, that isn't UTF-8.
    return "\udc80" <= problem.object[problem.start] <= "\udcff"


def _silence() -> None:
    # The interpreter flushes stdout once more at exit, and would complain there.
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
