"""`harness rescore`: recorded replies under other rules, what moves, and why; no model is called."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.cli import DEFAULT_DB, AsJson, DbToWrite, Words, emit_json, table, tell

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from harness._flips import Flip, Reading3
    from harness._rescore import Rescored
    from ledger.kinds import TallyMetric

__all__ = ["rescore"]

_SHOWN = 40


def rescore(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Runs: an id, the start of one, a name, or `latest`.")
    ],
    rules: Annotated[
        list[str],
        typer.Option("--rules", help="A rule set to apply: a name, a .toml file, or a frozen label; repeatable."),
    ],
    against: Annotated[
        str | None, typer.Option(help="Compare with this rule set of the run. Default: the first it was planned with.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Append nothing, and show what it would come to.")] = False,
    workers: Annotated[
        int, typer.Option(min=0, max=64, help="Processes that derive; 0 takes several where a run is large.")
    ] = 0,
    flips: Annotated[int, typer.Option(min=0, help="How many flips to print; 0 for all of them.")] = _SHOWN,
    db: DbToWrite = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Score recorded runs under other rules, and show every number and cell that moves. Exit 0."""
    from harness._rescore import check_scorable, find_rule_sets, rescore_run
    from ledger import Ledger, find_run

    done: list[Rescored] = []
    words = Words(as_json=as_json)
    with Ledger.open(db, read_only=dry_run) as ledger:
        # Everything that can be refused is, before anything is appended.
        named = list(dict.fromkeys(find_run(ledger, run) for run in runs))
        plans = [(run, find_rule_sets(ledger, run, rules)) for run in named]
        for run, sets in plans:
            check_scorable(ledger, run, sets)
        for run, sets in plans:
            done.append(
                rescore_run(
                    ledger, run, sets, against=against, dry_run=dry_run, workers=workers, progress=_progress(run)
                )
            )
            _show(done[-1], words, flips, db)
    if as_json:
        emit_json(done[0].as_json() if len(done) == 1 else {"runs": [each.as_json() for each in done]})
    return 0


def _progress(run: str) -> Callable[[int, int], None] | None:
    """A line now and then on a terminal; nothing where nobody watches."""
    if not sys.stderr.isatty():
        return None
    import time

    told = time.monotonic()

    def tell_now(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told > 2:
            told = time.monotonic()
            tell(f"run {run}: {done} of {total} cells derived")

    return tell_now


def _show(found: Rescored, words: Words, limit: int, db: Path) -> None:
    would = "would append" if found.dry_run else "appended"
    for note in found.notes:
        words(f"note: {note}")
    if found.appended:
        words(f"run {found.run}: {would} {found.appended} events to {db} under {', '.join(found.rules)}")
    else:
        words(f"run {found.run} stands scored under {', '.join(found.rules)} already; nothing was appended")
    for label in found.rules:
        words()
        words(f"{found.against} → {label}")
        rows = [
            (each.candidate, each.metric, _figure(each.before), _figure(each.after), _mark(each.before, each.after))
            for each in found.figures
            if each.rules == label
        ]
        for line in table(("candidate", "metric", "before", "after", ""), rows):
            words(f"  {line}")
        if label != found.against:
            _show_flips([each for each in found.flips if each.rules == label], words, limit)


def _show_flips(flips: list[Flip], words: Words, limit: int) -> None:
    by_cell: dict[int, list[Flip]] = {}
    for flip in flips:
        by_cell.setdefault(flip.cell, []).append(flip)
    words(f"  {len(by_cell)} cells flipped" + (":" if by_cell else ""))
    # The epochs of a case that moved alike are told once.
    alike: dict[tuple[str, ...], list[list[Flip]]] = {}
    for some in by_cell.values():
        first = some[0]
        alike.setdefault((first.candidate, first.case, first.stage, *_said(some)), []).append(some)
    shown = list(alike.items())[: limit or None]
    for (candidate, case, stage, *lines), cells in shown:
        numbers = ", ".join(str(some[0].cell) for some in cells)
        which = f"cell {numbers}" if len(cells) == 1 else f"cells {numbers} ({len(cells)} epochs)"
        words(f"  {which}  {case}  {candidate}  by {stage}")
        for line in lines:
            words(f"    {line}")
    if len(shown) < len(alike):
        left = sum(len(cells) for cells in alike.values()) - sum(len(cells) for _, cells in shown)
        words(f"  … and {left} more (--flips 0 prints all)")


def _said(some: list[Flip]) -> list[str]:
    """What moved in a cell, in lines; a reading that is the same on both sides once."""
    first = some[0]
    before, after = _reading(first.reading_before), _reading(first.reading_after)
    moved = ", ".join(f"{each.metric} {_value(each.before)} → {_value(each.after)}" for each in some)
    return [moved, f"  {before} (read alike)"] if before == after else [moved, f"  {before}", f"→ {after}"]


def _figure(figure: TallyMetric | None) -> str:
    if figure is None:
        return "–"
    if figure.kind == "rate":
        said = f"{figure.k}/{figure.n} of {figure.planned}"
    else:
        said = f"{(figure.total or 0) / figure.n:.4g} ({figure.n} of {figure.planned})" if figure.n else "none"
    return said + (f" ({figure.unmeasured} of them unmeasured, counted by policy)" if figure.unmeasured else "")


def _mark(before: TallyMetric | None, after: TallyMetric) -> str:
    if before is None:
        return "new"
    return "" if (before.k, before.total, before.n) == (after.k, after.total, after.n) else "moved"


def _value(value: float | None) -> str:
    return "unmeasured" if value is None else f"{value:g}"


def _reading(reading: Reading3) -> str:
    said = reading.status + (f" ({reading.reason})" if reading.reason else "")
    if reading.value is None:
        return said
    value = " ".join(reading.value.split())
    return f"{said}: {value[:100]}" + ("…" if len(value) > 100 else "")
