"""How `run` and `resume` speak while they go on: for people, or with --log-json for programs, line by line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ledger.cli import Words, tell

if TYPE_CHECKING:
    from harness._session import Progress

__all__ = ["LogJson", "Voices", "voices"]

LogJson = Annotated[
    bool,
    typer.Option(
        "--log-json", envvar="HARNESS_LOG_JSON", help="Progress and notes as JSON, one object a line, on stderr."
    ),
]


class Voices(NamedTuple):
    """`tell` says a sentence on stderr, `words` one that belongs to the answer."""

    progress: Progress
    tell: Callable[[str], None]
    words: Callable[[str], None]


def voices(*, as_json: bool, log_json: bool) -> Voices:
    """The voices that the flags ask for. With --log-json nothing but JSON goes to stderr until the command ends."""
    from harness._progress import open_progress

    progress = open_progress(log_json=log_json)
    words = Words(as_json=as_json)
    if not log_json:
        return Voices(progress, tell, words)
    from harness._progress_json import log_line

    def note(text: str) -> None:
        log_line("note", text=text)

    return Voices(progress, note, note if as_json else words)
