"""`harness resume`: ask exactly what a run left unfinished, if everything it stands on is still what it was."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli._money_options import MaxCostAgain, MaxTokensAgain
from harness.cli._voices import LogJson, voices
from ledger.cli import DEFAULT_DB, AsJson, DbToWrite, emit_json

__all__ = ["resume"]


def resume(
    run: Annotated[
        str, typer.Argument(metavar="[RUN]", help="A run: its id, the start of it, its name, or `latest`.")
    ] = "",
    accept: Annotated[
        list[str] | None,
        typer.Option(
            "--accept", metavar="endpoint|code", help="Go on although this moved; needs --reason; repeatable."
        ),
    ] = None,
    reason: Annotated[str, typer.Option(help="Why it may have moved; every later view of the run shows it.")] = "",
    retry_outcomes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OUTCOME",
            help="Ask these again too though they have an answer, such as refused, truncated or wrong; repeatable."
            " Every figure then says how many were.",
        ),
    ] = None,
    suite: Annotated[str, typer.Option(metavar="FOLDER", help="Where the suite lies now, if it was moved.")] = "",
    engine: Annotated[
        list[str] | None, typer.Option("--engine", metavar="ENGINE/MODEL", help="Compared with the run's own.")
    ] = None,
    base_url: Annotated[
        list[str] | None, typer.Option("--base-url", metavar="URL", help="Where the server is now.")
    ] = None,
    rules: Annotated[list[str] | None, typer.Option("--rules", help="Compared with the run's own; repeatable.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Compared with the run's own.")] = None,
    seed: Annotated[int | None, typer.Option(help="Compared with the run's own.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Compared with the run's own.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("-M", metavar="KEY=VALUE", help="Compared with the run's own; repeatable.")
    ] = None,
    stream: Annotated[bool | None, typer.Option("--stream/--no-stream", help="Compared with the run's own.")] = None,
    arm: Annotated[str | None, typer.Option(help="Compared with the run's own.")] = None,
    max_connections: Annotated[int, typer.Option(min=1, max=1000, help="At once, for each candidate.")] = 8,
    max_retries: Annotated[
        int, typer.Option(min=0, help="Attempts after the first, where it may help; see docs/PACE.md.")
    ] = 3,
    max_wait: Annotated[float, typer.Option(min=0, help="The longest single wait before a retry, in seconds.")] = 60,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds for one attempt, first byte to last.")] = 300,
    log_json: LogJson = False,
    max_cost: MaxCostAgain = "",
    max_tokens_total: MaxTokensAgain = None,
    db: DbToWrite = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Resume a run (default: the newest). Exit 0, 3 when cells are still unfinished, 4 when something moved."""
    from harness._attempts import Patience
    from harness._errors import RunMoved
    from harness._job import parse_settings
    from harness._resume import ResumeJob, resume_job
    from harness._session import RunOptions

    progress, tell, words = voices(as_json=as_json, log_json=log_json)
    named = {"temperature": temperature, "seed": seed, "max_tokens": max_tokens}
    given = {key: value for key, value in named.items() if value is not None}
    options = RunOptions(max_connections=max_connections, timeout=timeout, patience=Patience(max_retries, max_wait))
    job = ResumeJob(
        run, accept or (), reason, retry_outcomes or (), suite, engine or (), base_url or (), rules or (),
        given | parse_settings(setting or ()), stream, arm, options, max_cost, max_tokens_total,
    )  # fmt: skip
    try:
        done = resume_job(job, db, progress, say=tell)
    except RunMoved as refused:
        if as_json:
            emit_json({"run": refused.run, "refused": list(refused.moved)})
        raise
    finished = done.finished
    if as_json:
        outcomes = {label: dict(counts) for label, counts in finished.outcomes.items()}
        emit_json(
            {
                "run": finished.run, "status": finished.status, "planned": finished.planned, "asked": finished.asked,
                "reused": finished.reused, "outcomes": outcomes, "notes": list(done.notes),
                "spent": done.spent, **done.told,
            }
        )  # fmt: skip
    else:
        from harness.cli._report import show

        show(done.report)
    for note in (*done.notes, *([finished.reason] if finished.reason else []), *finished.advice):
        tell(note)
    words(f"run {finished.run} is {finished.status} ({done.spent} spent); {finished.asked} cells were asked now.")
    return 3 if finished.failed or finished.status == "aborted" else 0
