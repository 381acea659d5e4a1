"""`harness suites` and `harness freeze`: what there is to run, and fixing it ahead of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ledger import printable
from ledger.cli import DEFAULT_DB, AsJson, DbToWrite, Words, emit_json, table, tell

if TYPE_CHECKING:
    from harness._suite import Fixture, Suite

__all__ = ["freeze", "suites"]


def suites(as_json: AsJson = False) -> int:
    """List the suites under fixtures/ and those that this program carries, with their fixtures and rule sets; a variant
    says which suite it extends. Exit 2 when one of them can't be run, which is said beside the others."""
    from harness._carried import is_carried, known_suites
    from harness._errors import HarnessError
    from harness._job import load_rule_sets
    from harness._suite import load_suite

    rows: list[tuple[str, Suite, tuple[Fixture, ...]]] = []
    faults: dict[str, str] = {}
    for name in known_suites():
        try:
            suite, fixtures = load_suite(name)
            load_rule_sets(suite, [*suite.rule_names, *suite.own_rules])
        except HarnessError as error:
            faults[name] = printable(str(error))
        else:
            rows.append((name, suite, fixtures))
    status = 2 if faults else 0
    if as_json:
        emit_json(
            {
                "suites": [
                    {
                        "suite": name,
                        "carried": is_carried(suite.folder),
                        "extends": suite.name if suite.name != name else "",
                        "fixtures": {fixture.name: len(fixture.cases) for fixture in fixtures},
                        "rules": list(suite.rule_names),
                    }
                    for name, suite, fixtures in rows
                ],
                "faults": [{"suite": name, "fault": fault} for name, fault in faults.items()],
            }
        )
        return status
    words = Words(as_json=False)
    if not rows and not faults:
        words(
            "No suite lies under fixtures/ here, and this program carries none; a suite's folder can be named instead."
        )
        return 0
    cells = [
        [name + (f" (extends {suite.name})" if suite.name != name else "") + " (carried)" * is_carried(suite.folder),
         ", ".join(f"{fixture.name} ({len(fixture.cases)})" for fixture in fixtures),
         ", ".join(suite.rule_names)]
        for name, suite, fixtures in rows
    ]  # fmt: skip
    for line in table(["suite", "fixtures (cases)", "rule sets"], cells) if cells else ():
        words(line)
    for name, fault in faults.items():
        tell(f"error: {printable(name)} can't be run: {fault}")
    return status


def freeze(
    suite: Annotated[
        str, typer.Argument(metavar="[SUITE[/FIXTURE]]", help="What to fix; may be left out for a prediction alone.")
    ] = "",
    rules: Annotated[
        list[str] | None, typer.Option("--rules", help="A rule set; repeatable. Default: all that the suite lists.")
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option("--prompt", metavar="NAME", help="A file in the suite's prompts/; repeatable. Default: its own."),
    ] = None,
    prediction: Annotated[
        list[Path] | None,
        typer.Option("--prediction", metavar="FILE", help="What is expected of figures, as a file; repeatable."),
    ] = None,
    db: DbToWrite = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Fix a suite's prompt, fixtures and rules, or a prediction, ahead of any run: the chain shows what was first."""
    from harness._freeze_job import freeze_all

    done = freeze_all(suite, rules or (), prediction or (), db, prompt or ())
    words = Words(as_json=as_json)
    words(f"{db} did not exist; it was made." if done.created else f"Recorded in {db}.")
    if as_json:
        emit_json(done.as_json())
    for what, seqs in done.kinds():
        for name, seq in seqs.items():
            words(f"{what} {name}: event {seq}")
    words(f"{done.new} newly frozen; the rest stood frozen already.")
    return 0
