"""`harness parse`: read one text, or many, under a rule set."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ledger.cli import AsJson, Words

__all__ = ["parse"]


def parse(
    ask: Annotated[
        str | None, typer.Option(help="The shape of the answer: object, array, jsonl, python or text.")
    ] = None,
    stop: Annotated[str, typer.Option(help="What is known of why the text ends: end, length or none.")] = "none",
    rules: Annotated[
        str, typer.Option(help="How to read: a rule set's name, SUITE/NAME, or a .toml file.")
    ] = "default",
    lines: Annotated[
        bool, typer.Option("--lines", help='Read JSON lines {"id","text"|"bytes_b64","ask","stop"}; one answer a line.')
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Read bytes from standard input as an answer. Exit 0 when it was parsed, 1 for any other outcome; 0 with
    --lines.
    """
    from harness._find_rules import find_rules
    from harness.parse._lines import read_lines
    from harness.parse._shell import check_choices, read_one

    found = find_rules(rules).read
    if lines:
        for line in read_lines(sys.stdin.buffer, found):
            sys.stdout.write(line + "\n")
        return 0
    one = read_one(sys.stdin.buffer.read(), *check_choices(ask, stop), found)
    if as_json:
        sys.stdout.write(one.json + "\n")
        return one.exit_status
    words = Words(as_json=False)
    for name, shown in one.shown:
        words(f"{name:8} {shown}")
    return one.exit_status
