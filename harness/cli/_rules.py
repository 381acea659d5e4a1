"""`harness rules`: the rule sets there are, what each says, and how two of them differ."""

from __future__ import annotations

from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.cli import DEFAULT_DB, AsJson, Db, Words, emit_json, table

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from harness._rules import RuleSet
    from ledger import Ledger

__all__ = ["app"]

app = typer.Typer(
    help="The rule sets there are, what each says, and how two of them differ.",
    rich_markup_mode=None,
    no_args_is_help=True,
)
_NAME = "A rule set: SUITE/NAME, NAME, a file's path, or NAME@DIGITS as it stands frozen in the ledger."


def _ledger(db: Path) -> AbstractContextManager[Ledger | None]:
    from harness._rules_shelf import open_if_there

    found = open_if_there(db)
    return nullcontext() if found is None else closing(found)


@app.command("list")
def list_(
    suite: Annotated[str, typer.Option(metavar="SUITE", help="Only this suite's.")] = "",
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """List the rule sets on disk and built in, and whether each stands frozen in the ledger."""
    from harness._rules_shelf import about, confirms, list_rules, reads, scores

    with _ledger(db) as ledger:
        found = list_rules(ledger, suite)
    if as_json:
        emit_json({"rules": [each.as_json() for each in found]})
        return 0
    words = Words(as_json=False)
    if not found:
        words("There is no rule set here.")
        return 0
    rows: list[list[object]] = []
    for each in found:
        stands = str(each.frozen) if each.frozen is not None else ("another is" if each.others else "")
        if each.rules is None:
            rows.append([each.suite, each.name, "", "", "", "", stands, each.fault])
            continue
        rules = each.rules
        counts = f"policy {rules.policy.name}" if rules.policy else ""
        bars = "; ".join(bar.text for bar in rules.bars)
        rows.append([
            each.suite or "(built in)", rules.label, ", ".join(reads(rules)) or "strict",
            ", ".join(confirms(rules)) or ("as the suite does" if rules.stages else ""),
            ", ".join(filter(None, [*dict.fromkeys(rules.primary.values()), *scores(rules), counts])), bars, stands,
            about(rules),
        ])  # fmt: skip
    for line in table(["suite", "rule set", "reads", "confirms", "outcome", "bars", "frozen", "about"], rows):
        words(line)
    return 0


@app.command()
def show(
    rules: Annotated[str, typer.Argument(metavar="RULES", help=_NAME)], db: Db = DEFAULT_DB, as_json: AsJson = False
) -> int:
    """Show a rule set: its file, every switch in force, its code, where it stands frozen and was used."""
    from harness._rules_diff import switches
    from harness._rules_shelf import find_any_rules, frozen_rules, use_of

    with _ledger(db) as ledger:
        found = find_any_rules(rules, ledger)
        frozen = [each.seq for each in frozen_rules(ledger) if each.identity == found.digest] if ledger else []
        used = use_of(ledger, found.label) if ledger else []
    if as_json:
        emit_json({
            "label": found.label, "name": found.name, "digest": found.digest, "suite": found.stages,
            "file_digest": found.file_digest, "file": found.file.decode("utf-8"), "switches": switches(found),
            "sources": _digests(found), "frozen": frozen, "runs": [dict(each) for each in used],
        })  # fmt: skip
        return 0
    words = Words(as_json=False)
    words(f"{found.label} (digest {found.digest})")
    words(f"file, BLAKE3 {found.file_digest}:")
    words()
    words(found.file.decode("utf-8").rstrip("\n"), multiline=True)
    words()
    words("Switches in force:")
    for line in table(["switch", "value"], [[name, _shown(value)] for name, value in switches(found).items()]):
        words("  " + line)
    words(f"Carried out by {len(found.sources)} modules:")
    for line in table(["module", "BLAKE3"], [[name, digest[:12]] for name, digest in _digests(found).items()]):
        words("  " + line)
    words(f"Frozen by event {', '.join(map(str, frozen))}." if frozen else "Not frozen in this ledger.")
    if used:
        words("Applied to:")
        rows = [[each["run"], each["name"], each["standing"], each["because"]] for each in used]
        for line in table(["run", "name", "standing", "because"], rows):
            words("  " + line)
    return 0


@app.command()
def diff(
    a: Annotated[str, typer.Argument(metavar="A", help=_NAME)],
    b: Annotated[str, typer.Argument(metavar="B", help="The other one.")],
    code: Annotated[bool, typer.Option("--code", help="Show the lines of code that differ.")] = False,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Show how two rule sets differ, switch by switch and module by module. Exit 0 whether they do or not."""
    from harness._rules_diff import code_diff, diff_rules
    from harness._rules_shelf import find_any_rules

    with _ledger(db) as ledger:
        found = diff_rules(find_any_rules(a, ledger), find_any_rules(b, ledger))
    lines = list(code_diff(found.a, found.b)) if code else []
    if as_json:
        emit_json({**found.as_json(), **({"lines": lines} if code else {})})
        return 0
    words = Words(as_json=False)
    words(f"{found.a.label} and {found.b.label}: {found.sentence()}.")
    if found.switches:
        rows = [[each.switch, _shown(each.a), _shown(each.b)] for each in found.switches]
        for line in table(["switch", found.a.label, found.b.label], rows):
            words("  " + line)
    if found.code:
        rows = [[each.module, *((digest or "not there")[:12] for digest in (each.a, each.b))] for each in found.code]
        for line in table(["module", found.a.label, found.b.label], rows):
            words("  " + line)
    for line in lines:
        words(line, multiline=True)
    return 0


def _digests(rules: RuleSet) -> dict[str, str]:
    from harness._identity import file_digest

    return {name: file_digest(source) for name, source in sorted(rules.sources.items())}


def _shown(value: object) -> str:
    if value is None:
        return "not there"
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
