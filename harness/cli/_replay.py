"""`harness replay --check`: derive everything recorded again from the recorded bytes, and say where it differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.cli import DEFAULT_DB, AsJson, Db, Words, emit_json

if TYPE_CHECKING:
    from harness._replay_check import Checked
    from ledger import Ledger

__all__ = ["replay"]


def replay(
    run: Annotated[
        str,
        typer.Argument(metavar="[RUN]", help="A run: its id, the start of it, its name, or `latest`. Default: all."),
    ] = "",
    check: Annotated[bool, typer.Option("--check", help="Compare what is derived with what was recorded.")] = False,
    rules: Annotated[str | None, typer.Option(help="Only what was derived under this rule set, by its label.")] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Print the frozen source of each module that moved against the one here.")
    ] = False,
    problems: Annotated[int, typer.Option(min=0, help="How many differences to print; 0 for all of them.")] = 20,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Check recorded runs against their own bytes. Exit 0, or 1 when something isn't reproduced. Appends nothing."""
    from harness._errors import UsageError
    from harness._replay_check import check_run, check_runs
    from ledger import Ledger, find_run

    if not check:
        raise UsageError("expected --check: `harness replay` compares, and asks nobody; to ask again, `harness run`")
    words = Words(as_json=as_json)
    with Ledger.open(db, read_only=True) as ledger:
        if run:
            done = [check_run(ledger, find_run(ledger, run), rules)]
        elif rules is not None:
            raise UsageError("--rules goes with a run")
        else:
            done = list(check_runs(ledger))
        for each in done:
            _show(each, words, problems)
        diffs = _diffs(ledger, done) if diff else {}
    _conclude(done, words, diffs, asked=diff)
    if as_json:
        emit_json(_as_json(done, diffs))
    return 0 if all(each.ok for each in done) else 1


def _show(found: Checked, words: Words, limit: int) -> None:
    if found.skipped:
        words(f"run {found.run} is not checked: {found.skipped}")
        return
    words(f"run {found.run}")
    for each in found.rules:
        words(f"  {each.sentence()}")
        by_stage: dict[str, list[str]] = {}
        for difference in each.differences:
            by_stage.setdefault(difference.kind, []).append(str(difference.cell))
        for stage, cells in by_stage.items():
            if stage != "tally":
                shown = ", ".join(cells[:20]) + (f" and {len(cells) - 20} more" if len(cells) > 20 else "")
                words(f"    {stage} differs in {len(cells)} cells: {shown}")
    differences = found.differences
    for number, difference in enumerate(differences[: limit or None]):
        words(("  the first that differs: " if number == 0 else "  ") + difference.sentence())
    if limit and len(differences) > limit:
        words(f"  … and {len(differences) - limit} more (--problems 0 prints all)")


def _diffs(ledger: Ledger, done: list[Checked]) -> dict[str, dict[str, str]]:
    """By rule set label and module: the frozen source against the one here."""
    from harness._moved_code import source_diff
    from harness._thaw import thaw_rules

    found: dict[str, dict[str, str]] = {}
    for rules in (rules for each in done for rules in each.rules):
        if rules.moved and rules.label not in found:
            frozen = thaw_rules(ledger, rules.freeze)
            found[rules.label] = {each.name: "\n".join(source_diff(frozen, each.name)) for each in rules.moved}
    return found


def _conclude(done: list[Checked], words: Words, diffs: dict[str, dict[str, str]], *, asked: bool) -> None:
    for label, modules in diffs.items():
        for module, text in modules.items():
            words()
            words(f"{label}: {module}")
            words(text, multiline=True)
    reproduced, total = sum(each.reproduced for each in done), sum(each.total for each in done)
    withheld = sum(each.withheld for each in done)
    moved = [each.run for each in done if any(rules.moved for rules in each.rules)]
    if moved and not asked:
        where = moved[0] if len(moved) == 1 else "RUN"
        words(f"`harness replay --check {where} --diff` shows the frozen sources against the ones here.")
    apart = f"; {withheld} can't be checked" if withheld else ""
    words(f"reproduced {reproduced} of {total}{apart}")


def _as_json(done: list[Checked], diffs: dict[str, dict[str, str]]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ok": all(each.ok for each in done), "reproduced": sum(each.reproduced for each in done),
        "total": sum(each.total for each in done), "withheld": sum(each.withheld for each in done),
        "runs": [each.as_json() for each in done],
    }  # fmt: skip
    return {**found, "diff": diffs} if diffs else found
