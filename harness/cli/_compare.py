"""`harness compare`: two runs, two candidates, or one run under two rule sets."""

from __future__ import annotations

from typing import Annotated

import typer

from ledger.cli import DEFAULT_DB, AsJson, Db, Words, emit_json, tell

__all__ = ["compare"]


def compare(
    a: Annotated[
        str,
        typer.Argument(metavar="A", help="RUN (id, start of one, name, or `latest`), or RUN@CANDIDATE."),
    ],
    b: Annotated[
        str | None,
        typer.Argument(metavar="[B]", help="The same. Without it: A's two candidates, or A under two --rules."),
    ] = None,
    rules: Annotated[
        list[str] | None,
        typer.Option("--rules", help="A rule set by name or label; repeatable. Default: all that both were scored by."),
    ] = None,
    metric: Annotated[list[str] | None, typer.Option("--metric", help="Only this metric; repeatable.")] = None,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="CONDITION",
            help="Only cases such as meta.topic=law (= != ~ < <= > >=); repeated: all of them. Post hoc, and said so.",
        ),
    ] = None,
    by: Annotated[str, typer.Option(metavar="KEY", help="Group by group too, such as by meta.topic.")] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Show what isn't comparable all the same, under a banner.")
    ] = False,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Compare, paired by case. Exit 4 when more than the candidate (or the rules) moved, naming what did."""
    from harness._compare import compare as compare_sides
    from harness._filter import read_filters
    from harness.cli._compare_lines import compare_lines
    from ledger import Ledger

    with Ledger.open(db, read_only=True) as ledger:
        conditions = read_filters(filters or ())
        found = compare_sides(
            ledger, a, b, rules=rules or (), metrics=metric or (), force=force, filters=conditions, by=by
        )  # fmt: skip
    words = Words(as_json=False)
    if as_json:
        emit_json(found.as_json())
    else:
        for line in compare_lines(found):
            words(line)
    if found.refused:
        moved = dict.fromkeys(each.component for pair in found.pairs for each in pair.comparability.moved)
        two = next(filter(None, (pair.comparability.two_suites() for pair in found.pairs)), "")
        why = two or f"{', '.join(moved)} moved"
        tell(f"error: NOT COMPARABLE: {why}; --force shows the numbers all the same")
        return 4
    return 0
