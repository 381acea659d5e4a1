"""`harness run`: ask every planned cell and score it under every rule set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ledger.cli import DEFAULT_DB, AsJson, Db, Words, emit_json, tell

__all__ = ["run"]


def run(
    suite: Annotated[str, typer.Argument(metavar="SUITE[/FIXTURE]", help="A suite's name or folder, or one fixture.")],
    engine: Annotated[
        list[str] | None,
        typer.Option("--engine", metavar="ENGINE/MODEL", help="Whom to ask; repeatable. Default: replay/ledger.db"),
    ] = None,
    base_url: Annotated[
        list[str] | None,
        typer.Option("--base-url", metavar="URL", help="Where; one for all engines, or one for each."),
    ] = None,
    rules: Annotated[
        list[str] | None, typer.Option("--rules", help="A rule set; repeatable. Default: all that the suite lists.")
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, max=1_000_000, help="How often each case is asked.")] = 1,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N cases; the run then reads partial.")
    ] = None,
    max_connections: Annotated[int, typer.Option(min=1, max=1000, help="At once, for each candidate.")] = 8,
    max_retries: Annotated[int, typer.Option(min=0, help="Attempts after the first, where asking again may help.")] = 3,
    max_wait: Annotated[float, typer.Option(min=0, help="The longest single wait before a retry, in seconds.")] = 60,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds for one attempt, first byte to last.")] = 300,
    temperature: Annotated[float | None, typer.Option(help="Sampling temperature.")] = None,
    seed: Annotated[int | None, typer.Option(help="Sampling seed, where the provider takes one.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="The token limit of a reply.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("-M", metavar="KEY=VALUE", help="Any other model parameter; repeatable.")
    ] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Ask for streamed replies.")] = False,
    name: Annotated[str, typer.Option(help="A name for the run.")] = "",
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag for the run; repeatable.")] = None,
    arm: Annotated[
        str, typer.Option(help="The condition that is measured, such as with-notes; part of identity.")
    ] = "",
    reuse: Annotated[
        bool, typer.Option("--reuse", help="Take over earlier answers to the very same requests of the same cells.")
    ] = False,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Run a suite. Exit 0, or 3 when a cell ended in an error or was never asked."""
    from harness._attempts import Patience
    from harness._job import DEFAULT_ENGINE, Job, parse_settings, run_job
    from harness._progress import ScreenProgress
    from harness._run import RunOptions

    engines = engine or [DEFAULT_ENGINE]
    named = {"temperature": temperature, "seed": seed, "max_tokens": max_tokens}
    given = {key: value for key, value in named.items() if value is not None}
    options = RunOptions(
        epochs=epochs, limit=limit, max_connections=max_connections, timeout=timeout,
        patience=Patience(max_retries, max_wait), name=name, tags=tuple(tag or ()), arm=arm, reuse=reuse,
        via="replay" if all(each.startswith("replay/") for each in engines) else "live",
    )  # fmt: skip
    job = Job(suite, engines, base_url or (), rules or (), given | parse_settings(setting or ()), stream, options)
    words = Words(as_json=as_json)
    if any(each.startswith("command/") for each in engines):
        from harness.engines import COMMAND_WARNING

        tell(f"warning: {COMMAND_WARNING}")
    done = run_job(job, db, ScreenProgress())
    finished = done.finished
    if as_json:
        outcomes = {rules: dict(counts) for rules, counts in finished.outcomes.items()}
        emit_json(
            {
                "run": finished.run, "status": finished.status, "planned": finished.planned, "asked": finished.asked,
                "reused": finished.reused, "outcomes": outcomes,
            }
        )  # fmt: skip
    else:
        from harness.cli._report import show

        show(done.report)
    for sentence in done.taken.sentences() if done.taken else ():
        tell(sentence)
    if finished.reason:
        tell(finished.reason)
    if done.created:
        words(f"{db} did not exist; it was made.")
    words(f"run {finished.run} is {finished.status}: `harness report {finished.run} --db {_shown(db)}` shows it again.")
    if finished.failed or finished.status in ("interrupted", "aborted"):
        words(f"`harness resume {finished.run} --db {_shown(db)}` asks what is unfinished.")
    return 3 if finished.failed or finished.status == "aborted" else 0


def _shown(db: Path) -> str:
    import shlex

    return shlex.quote(str(db))
