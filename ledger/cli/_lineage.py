"""What was replaced, what is unsafe, and who built on it: `ledger supersede`, `taint`, `clear`, `impact`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ledger._said import aimed
from ledger.cli._options import DEFAULT_DB, AsJson, Db, DbToWrite
from ledger.cli._output import Words, emit_json, shown_minute, table
from ledger.cli._taint_span import taint_span

if TYPE_CHECKING:
    from ledger._impact import Impact

__all__ = ["clear", "impact", "supersede", "taint"]

# As in ledger._lineage, which loads pydantic: `ledger --help` must not.
_Category = Literal["transport", "capture", "parser", "harness", "fixture", "provider", "operator", "other"]
_Reason = Annotated[str, typer.Option(help="Why, for those who read it later.")]
_TARGET_HELP = (
    "An event (seq or hash), a blob, a run, a freeze, a report, a rule set, a candidate, a model as resolved, or a"
    " harness version; WHAT:NAME (such as model:llama3.2) where a name alone could be several."
)


def supersede(
    target: Annotated[
        str, typer.Argument(metavar="RUN|FREEZE|REPORT", help="What is replaced; or the seq of a supersession.")
    ],
    category: Annotated[_Category, typer.Option(help="What was wrong with it.")],
    reason: _Reason,
    by: Annotated[str | None, typer.Option(help="What replaces it.", metavar="X")] = None,
    no_successor: Annotated[bool, typer.Option("--no-successor", help="Nothing replaces it.")] = False,
    db: DbToWrite = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Say that a run, a freeze or a report is replaced. It stays in every list, marked; nothing is removed."""
    from ledger._errors import BadBody
    from ledger._lineage import supersede as say
    from ledger._store import Ledger

    if (by is None) != no_successor:
        raise BadBody("expected either --by with what replaces it, or --no-successor")
    with Ledger.open(db) as ledger:
        done = say(ledger, target, by=by, category=category, reason=reason)
    if as_json:
        emit_json(
            {
                "seq": done.event.seq, "hash": done.event.hash, "target": str(done.target),
                "by": str(done.by) if done.by else None, "overrides": done.overrides,
            }
        )  # fmt: skip
    words = Words(as_json=as_json)
    how = f"by {done.by}" if done.by else "without a successor"
    words(f"Superseded {done.target} {how}, as event {done.event.seq} {done.event.hash}")
    if done.overrides is not None:
        words(f"It overrides what event {done.overrides} said of it.")
    return 0


def taint(
    reason: _Reason,
    target: Annotated[str | None, typer.Argument(metavar="TARGET", help=_TARGET_HELP)] = None,
    before: Annotated[
        str | None, typer.Option(metavar="WHEN", help="Every run that opened before, by its plan's own clock, in UTC.")
    ] = None,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Every run that opened from A on, and before B."),
    ] = None,
    suite: Annotated[str, typer.Option(help="With a time: only runs of this suite.")] = "",
    harness: Annotated[str, typer.Option(help="With a time: only runs of this harness version.")] = "",
    model: Annotated[str, typer.Option(help="With a time: only runs that this model answered.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With a time: only say what it touches.")] = False,
    db: DbToWrite = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Say that something is unsafe to build on. Every number that rests on it is marked until it is cleared."""
    from ledger._errors import BadBody

    timed = before is not None or between is not None
    if timed == (target is not None) or (before is not None and between is not None):
        raise BadBody("expected a TARGET, or --before WHEN, or --between A B: one of the three")
    if timed:
        from ledger._runs import since_when
        from ledger._taint_time import Span

        start = None if between is None else since_when(between[0], option="--between")
        end = since_when(between[1], option="--between") if between else since_when(before or "", option="--before")
        span = Span(start, end, suite, harness, model)
        return taint_span(span, reason=reason, dry_run=dry_run, db=db, as_json=as_json)
    if suite or harness or model or dry_run:
        raise BadBody("--suite, --harness, --model and --dry-run go with --before or --between")
    assert target is not None
    from ledger._impact import impact_of
    from ledger._lineage import taint as say
    from ledger._store import Ledger

    with Ledger.open(db) as ledger:
        event, found = say(ledger, target, reason=reason)
        rests = impact_of(ledger, found)
    if as_json:
        emit_json({"seq": event.seq, "hash": event.hash, "target": str(found)})
    words = Words(as_json=as_json)
    words(f"Tainted {found}, as event {event.seq} {event.hash}")
    more = aimed(f"`ledger impact {found}` names them; `ledger clear {event.seq}` withdraws it.", db)
    words(f"{_summary(rests)} {more}")
    return 0


def clear(
    taint: Annotated[int, typer.Argument(metavar="TAINT", min=1, help="The seq of the taint.")],
    reason: _Reason,
    db: DbToWrite = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Withdraw a taint. Both stay in the record."""
    from ledger._lineage import clear as say
    from ledger._store import Ledger

    with Ledger.open(db) as ledger:
        event, withdrawn = say(ledger, taint, reason=reason)
    target = f"{withdrawn.target.what}:{withdrawn.target.id}"
    if as_json:
        emit_json({"seq": event.seq, "hash": event.hash, "taint": taint, "target": target})
    Words(as_json=as_json)(f"Cleared taint {taint} of {target}, as event {event.seq} {event.hash}")
    return 0


def impact(
    target: Annotated[str, typer.Argument(metavar="TARGET", help=_TARGET_HELP)],
    mermaid: Annotated[bool, typer.Option("--mermaid", help="A picture, as Mermaid flowchart text.")] = False,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Name every run, score, report and release decision that rests on something, and whom a report was given to."""
    from ledger._errors import BadBody
    from ledger._impact import impact_of
    from ledger._mermaid import mermaid as draw
    from ledger._store import Ledger
    from ledger._targets import find_target

    if mermaid and as_json:
        raise BadBody("expected --mermaid or --json, got both")
    with Ledger.open(db, read_only=True) as ledger:
        found = impact_of(ledger, find_target(ledger, target))
    if as_json:
        emit_json(found.as_json())
    words = Words(as_json=as_json)
    if mermaid:
        words(draw(found).rstrip("\n"), multiline=True)
        return 0
    if not as_json:
        _show(found, words)
    words(_summary(found))
    return 0


def _show(found: Impact, words: Words) -> None:
    words(f"What rests on {found.target}")
    blocks: list[tuple[str, tuple[str, ...], list[tuple[object, ...]]]] = [
        (
            "Runs",
            ("run", "suite", "name", "opened", "scores", "superseded by"),
            [
                (
                    row["run"], row["suite"], row["name"], shown_minute(row["opened_at"]), row["scores"],
                    row["superseded_by"] or ("(none)" if row["superseded"] else ""),
                )
                for row in found.runs
            ],
        ),
        (
            "Scores",
            ("score", "run", "cell", "case", "candidate", "rules", "outcome"),
            [
                tuple(row[name] for name in ("seq", "run", "cell", "case", "candidate", "rules", "outcome"))
                for row in found.scores
            ],
        ),
        ("Tallies", ("tally", "run", "rules"), [(row["seq"], row["run"], row["rules"]) for row in found.tallies]),
        (
            "Reports",
            ("report", "run", "format", "rests on", "superseded by"),
            [
                (
                    row["seq"], row["run"], row["format"], ", ".join(map(str, row["rests_on"])),
                    row["superseded_by"] or ("(none)" if row["superseded"] else ""),
                )
                for row in found.reports
            ],
        ),
        (
            "Release decisions",
            ("gate", "run", "held to", "outcome", "rests on"),
            [
                (
                    row["seq"], row["run"] or "(withheld)", _held_to(row), _verdict(row),
                    ", ".join(map(str, row["rests_on"])),
                )
                for row in found.gates
            ],
        ),
        (
            "Published to",
            ("recipient", "report", "event"),
            [
                ("(withheld)" if row["to"] is None else row["to"], row["report"], row["seq"])
                for row in found.published
            ],
        ),
    ]  # fmt: skip
    for title, header, rows in blocks:
        if rows:
            words()
            words(title)
            for line in table(header, rows):
                words(f"  {line}")
    words()


def _held_to(row: Mapping[str, Any]) -> str:
    if row["what"] == "bars":
        return "the bars of its rules"
    return f"{row['against']}, margin {row['margin']}" if row["what"] else ""


def _verdict(row: Mapping[str, Any]) -> str:
    through = ", let through" if row["lenient"] and row["outcome"] == "inconclusive" else ""
    return f"{row['outcome']}{through}" if row["outcome"] else ""


def _summary(found: Impact) -> str:
    people = {row["to"] for row in found.published}
    counts = [
        (len(found.runs), "run", "runs"), (len(found.scores), "score", "scores"),
        (len(found.reports), "report", "reports"), (len(people), "recipient", "recipients"),
        (len(found.gates), "release decision", "release decisions"),
    ]  # fmt: skip
    said = [f"{count} {one if count == 1 else many}" for count, one, many in counts if count]
    if not said:
        return f"No run, score, report or release decision of this ledger rests on {found.target}."
    return f"On {found.target} rest{'s' if [count for count, *_ in counts if count] == [1] else ''} {', '.join(said)}."
