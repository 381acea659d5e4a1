"""`harness grade`: a judge over the answers of any run."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli._money_options import DryRun, MaxCost, MaxTokensTotal, Pilot, Prices
from harness.cli._voices import LogJson, voices
from ledger import printable
from ledger.cli import DEFAULT_DB, AsJson, DbToWrite, Words, emit_json

if TYPE_CHECKING:
    from harness._grade import GradeJob
    from harness._report import RunReport

__all__ = ["grade"]


def grade(
    target: Annotated[
        str,
        typer.Argument(
            metavar="[RUN[@CANDIDATE]]", help="The run whose answers are graded: an id, the start of one, or `latest`."
        ),
    ] = "",
    judge: Annotated[str, typer.Option("--judge", metavar="SUITE", help="The suite of judging.")] = "",
    engine: Annotated[
        list[str] | None,
        typer.Option("--engine", metavar="ENGINE/MODEL", help="The judge; repeatable. Default: the suite's own."),
    ] = None,
    base_url: Annotated[
        list[str] | None,
        typer.Option("--base-url", metavar="URL", help="Where; one for all judges, or one for each."),
    ] = None,
    rules: Annotated[
        list[str] | None,
        typer.Option("--rules", metavar="NAME|PATH.toml", help="A rule set of the judge's suite; repeatable."),
    ] = None,
    reference_gold: Annotated[
        bool, typer.Option("--reference-gold", help="Show the judge each case's gold, as a reference.")
    ] = False,
    against: Annotated[
        str,
        typer.Option(
            "--against",
            metavar="RUN[@CANDIDATE]",
            help="Choose between the two answers to each case instead, asked in both orders.",
        ),
    ] = "",
    labels: Annotated[
        str,
        typer.Option(
            "--labels",
            metavar="FILE.csv",
            help="People's labels of the answers: on record, and held against every"
            " judge. Without --judge nobody is asked.",
        ),
    ] = "",
    write: Annotated[
        list[str] | None,
        typer.Option(
            "--write",
            metavar="ENGINE/MODEL",
            help="In the place of a RUN: let this target write on the suite's tasks first, and grade that; repeatable.",
        ),
    ] = None,
    write_url: Annotated[
        list[str] | None, typer.Option("--write-url", metavar="URL", help="Where the target is asked.")
    ] = None,
    write_setting: Annotated[
        list[str] | None,
        typer.Option("--write-with", metavar="KEY=VALUE", help="A parameter of the target; repeatable."),
    ] = None,
    writes: Annotated[
        int, typer.Option("--writes", min=1, max=1_000_000, help="How often the target writes on each task.")
    ] = 1,
    epochs: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="How often each answer is graded; the first grade joins.")
    ] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N answers.")] = None,
    max_connections: Annotated[int, typer.Option(min=1, max=1000, help="At once, for each judge.")] = 8,
    max_retries: Annotated[int, typer.Option(min=0, help="Attempts after the first; see docs/PACE.md.")] = 3,
    max_wait: Annotated[float, typer.Option(min=0, help="The longest single wait before a retry, in seconds.")] = 60.0,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds for one attempt, first byte to last.")] = 300.0,
    temperature: Annotated[float | None, typer.Option(help="The judge's sampling temperature.")] = None,
    seed: Annotated[int | None, typer.Option(help="The judge's sampling seed.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="The token limit of the judge's reply.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("-M", metavar="KEY=VALUE", help="Any other parameter of the judge; repeatable.")
    ] = None,
    stream: Annotated[bool, typer.Option("--stream/--no-stream", help="Ask for streamed replies.")] = False,
    name: Annotated[str, typer.Option(help="A name for the judge's run.")] = "",
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag for the judge's run; repeatable.")] = None,
    note: Annotated[str, typer.Option(help="A sentence on the judge's run, kept and shown with it.")] = "",
    reuse: Annotated[
        bool, typer.Option("--reuse/--no-reuse", help="Take over earlier replies to the very same requests.")
    ] = False,
    even_superseded: Annotated[
        bool, typer.Option("--even-superseded", help="Grade a run that was superseded all the same.")
    ] = False,
    even_tainted: Annotated[
        bool, typer.Option("--even-tainted", help="Grade a run that rests on something tainted all the same.")
    ] = False,
    gate: Annotated[bool, typer.Option("--gate", help="Then exit 1 when a bar of the judge's run isn't met.")] = False,
    log_json: LogJson = False,
    prices: Prices = "",
    max_cost: MaxCost = "",
    max_tokens_total: MaxTokensTotal = None,
    pilot: Pilot = 0,
    dry_run: DryRun = False,
    db: DbToWrite = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Grade a run's answers by a judge, in a run of its own; its scores join the graded run. With --against the judge
    chooses between two runs' answers instead. Exit 0, or 3 when a grade ended in an error or was never asked; with
    --gate 1 when a bar isn't met."""
    from dataclasses import replace

    from harness._attempts import Patience
    from harness._budget import open_purse
    from harness._errors import UsageError
    from harness._grade import GradeJob, grade_job
    from harness._job import Job, parse_settings
    from harness._pairs_asked import PairJob, grade_pairs
    from harness._session import RunOptions
    from harness.cli._report import judged, show

    if labels and (against or write):
        raise UsageError("--labels are of the answers of one RUN; leave out --against and --write")
    if against and write:
        raise UsageError("--against chooses between two runs that are there; leave out --write")
    if labels and not judge:
        return _labels(target, labels, db, as_json=as_json)
    if not judge:
        raise UsageError("name the suite of judging: --judge SUITE")
    if bool(target) == bool(write):
        raise UsageError("name either a RUN whose answers are graded, or with --write who writes some first")
    progress, tell, words = voices(as_json=as_json, log_json=log_json)
    purse = open_purse(prices, max_cost, max_tokens_total, pilot)
    named = {"temperature": temperature, "seed": seed, "max_tokens": max_tokens}
    parameters = {key: value for key, value in named.items() if value is not None} | parse_settings(setting or ())
    options = RunOptions(
        epochs=epochs, limit=limit, max_connections=max_connections, timeout=timeout,
        patience=Patience(max_retries, max_wait), name=name, tags=tuple(dict.fromkeys(tag or ())), reuse=reuse,
    )  # fmt: skip
    asking = Job(
        judge, tuple(engine or ()), tuple(base_url or ()), tuple(rules or ()), parameters, stream, options,
        note=note, purse=purse, gate=gate,
    )  # fmt: skip
    writing = Job(
        judge, tuple(write or ()), tuple(write_url or ()), (), parse_settings(write_setting or ()), stream,
        RunOptions(
            epochs=writes, max_connections=max_connections, timeout=timeout, patience=options.patience,
            tags=options.tags,
        ), purse=replace(purse, pilot=0),
    )  # fmt: skip
    job = GradeJob(
        target, asking, reference_gold, even_superseded, even_tainted, writing if write else None
    )  # fmt: skip
    if dry_run:
        return _dry_run(job, against, db, words, as_json=as_json)
    labelled = _label(target, labels, db, judge, rules or (), words) if labels else {}
    done = (
        grade_pairs(
            PairJob(target, against, asking, reference_gold, even_superseded, even_tainted), db, progress, say=tell
        )
        if against
        else grade_job(job, db, progress, say=tell)
    )
    if as_json:
        emit_json({**done.as_json(), **labelled, **_agreement(done.board)})
    else:
        show(done.report)
        if done.board is not None:
            show(done.board)
    for sentence in done.sentences(shlex.quote(str(db))):
        words(printable(sentence))
    held = judged(done.report, db) if gate else 0
    return 3 if done.finished.failed or done.finished.status == "aborted" else held


def _dry_run(job: GradeJob, against: str, db: Path, words: Callable[[str], None], *, as_json: bool) -> int:
    from harness._errors import UsageError
    from harness._grade import grade_estimate

    if against:
        raise UsageError("--dry-run is of grading one RUN; leave out --against")
    estimate = grade_estimate(job, db)
    if as_json:
        emit_json(estimate.as_json())
    for sentence in estimate.sentences():
        words(printable(sentence))
    return 0


def _label(
    target: str, labels: str, db: Path, judge: str, rules: Sequence[str], words: Callable[[str], None]
) -> dict[str, Any]:  # fmt: skip
    """The labels go on record ahead of the judge, whose report then has the agreement."""
    from harness._labelled import label_run

    found = label_run(target, Path(labels), db, judge=judge, rules=rules)
    words(printable(found.sentences()[0]))
    return {"labels": {name: value for name, value in found.as_json().items() if name != "agreement"}}


def _agreement(board: RunReport | None) -> dict[str, Any]:
    """What the graded run's report says of agreement, the judge that was just asked among those who are held."""
    from harness._agreed import agreement_in

    tables = agreement_in(board.data) if board is not None else []
    return {"agreement": tables} if tables else {}


def _labels(target: str, labels: str, db: Path, *, as_json: bool) -> int:
    """Labels alone: nobody is asked."""
    from harness._agreed import EVERY_CANDIDATE, EVERY_JUDGE
    from harness._errors import UsageError
    from harness._labelled import label_run
    from harness._report import render_study
    from harness.cli._report import show_parts

    if not target:
        raise UsageError("name the RUN whose answers were labelled")
    found = label_run(target, Path(labels), db)
    if as_json:
        emit_json(found.as_json())
    else:
        show_parts(render_study(EVERY_CANDIDATE, EVERY_JUDGE, [each.as_json() for each in found.tables]))
    for sentence in found.sentences():
        Words(as_json=as_json)(printable(sentence))
    return 0
