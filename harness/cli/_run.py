"""`harness run`: ask every planned cell and score it under every rule set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli._money_options import DryRun, MaxCost, MaxTokensTotal, Pilot, Prices
from harness.cli._voices import LogJson, voices
from ledger import printable
from ledger.cli import DEFAULT_DB, AsJson, DbToWrite, emit_json

__all__ = ["run"]


def run(
    suite: Annotated[
        str,
        typer.Argument(
            metavar="[SUITE[/FIXTURE]]",
            help="A suite's name or folder, or one fixture. Without one, ./eval.toml says what to run.",
        ),
    ] = "",
    file: Annotated[
        Path | None,
        typer.Option("--file", envvar="HARNESS_FILE", metavar="PATH", help="An eval.toml; flags stand above its keys."),
    ] = None,
    engine: Annotated[
        list[str] | None,
        typer.Option("--engine", metavar="ENGINE/MODEL", help="Whom to ask, such as openai/gpt-4.1-mini; repeatable."),
    ] = None,
    base_url: Annotated[
        list[str] | None,
        typer.Option("--base-url", metavar="URL", help="Where; one for all engines, or one for each."),
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(
            "--prompt", metavar="NAME", help="A file in the suite's prompts/; repeatable: each model by each."
        ),
    ] = None,
    rules: Annotated[
        list[str] | None,
        typer.Option(
            "--rules", metavar="NAME|PATH.toml", help="A rule set; repeatable. Default: all that the suite lists."
        ),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, max=1_000_000, show_default="1", help="How often each case is asked.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N cases; the run then reads partial.")
    ] = None,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="CONDITION",
            help="Only cases such as meta.topic=law (= != ~ < <= > >=); repeated: all of them. The run reads partial.",
        ),
    ] = None,
    max_connections: Annotated[
        int | None, typer.Option(min=1, max=1000, show_default="8", help="At once, for each candidate.")
    ] = None,
    max_retries: Annotated[
        int | None,
        typer.Option(min=0, show_default="3", help="Attempts after the first, where it may help; see docs/PACE.md."),
    ] = None,
    max_wait: Annotated[
        float | None, typer.Option(min=0, show_default="60", help="The longest single wait before a retry, in seconds.")
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(min=0.001, show_default="300", help="Seconds for one attempt, first byte to last."),
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="Sampling temperature.")] = None,
    seed: Annotated[int | None, typer.Option(help="Sampling seed, where the provider takes one.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="The token limit of a reply.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("-M", metavar="KEY=VALUE", help="Any other model parameter; repeatable.")
    ] = None,
    stream: Annotated[bool | None, typer.Option("--stream/--no-stream", help="Ask for streamed replies.")] = None,
    name: Annotated[str | None, typer.Option(help="A name for the run.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag for the run; repeatable.")] = None,
    note: Annotated[str | None, typer.Option(help="A sentence on the run, kept and shown with it.")] = None,
    arm: Annotated[
        str | None, typer.Option(help="The condition that is measured, such as with-notes; part of identity.")
    ] = None,
    reuse: Annotated[
        bool | None,
        typer.Option(
            "--reuse/--no-reuse", help="Take over earlier answers to the very same requests of the same cells."
        ),
    ] = None,
    reuse_outcomes: Annotated[
        list[str] | None,
        typer.Option(
            "--reuse-outcomes",
            metavar="OUTCOME",
            help="Take over only answers that came to this, such as correct or wrong, and ask for the others again;"
            " repeatable. Every figure then says how many were asked again.",
        ),
    ] = None,
    gate: Annotated[
        bool, typer.Option("--gate", help="Then exit 1 when a bar isn't met, as `harness report --gate` does.")
    ] = False,
    log_json: LogJson = False,
    prices: Prices = "",
    max_cost: MaxCost = "",
    max_tokens_total: MaxTokensTotal = None,
    pilot: Pilot = 0,
    dry_run: DryRun = False,
    db: DbToWrite = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Run a suite, or what eval.toml says. Exit 0, or 3 when a cell ended in an error or was never asked; with --gate 1
    when a bar isn't met."""
    from dataclasses import replace

    from harness._asked import Flags, read_asked
    from harness._budget import open_purse
    from harness._job import parse_settings, run_job
    from harness.cli._report import judged, show

    progress, tell, words = voices(as_json=as_json, log_json=log_json)
    named = {"temperature": temperature, "seed": seed, "max_tokens": max_tokens}
    given = {key: value for key, value in named.items() if value is not None}
    asked = read_asked(
        Flags(
            suite, file, tuple(engine or ()), tuple(base_url or ()), tuple(prompt or ()), tuple(rules or ()),
            tuple(filters or ()), given | parse_settings(setting or ()), stream, epochs, limit, arm, name,
            tuple(tag or ()), note, reuse, tuple(reuse_outcomes or ()), max_connections, max_retries,
            max_wait, timeout, max_cost or None, max_tokens_total, prices or None,
        )
    )  # fmt: skip
    for sentence in asked.notes:
        tell(sentence)
    purse = open_purse(asked.prices or "", asked.max_cost or "", asked.max_tokens_total, pilot)
    job = replace(asked.job, purse=purse, gate=gate)
    if dry_run:
        from harness._job import dry_run as estimated

        estimate = estimated(job, db)
        if as_json:
            emit_json(estimate.as_json())
        for sentence in estimate.sentences():
            words(printable(sentence))
        return 0
    if any(each.startswith("command/") for each in job.engines):
        from harness.engines import COMMAND_WARNING

        tell(f"warning: {COMMAND_WARNING}")
    done = run_job(job, db, progress, say=tell)
    finished = done.finished
    if as_json:
        outcomes = {rules: dict(counts) for rules, counts in finished.outcomes.items()}
        emit_json(
            {
                "run": finished.run, "status": finished.status, "planned": finished.planned, "asked": finished.asked,
                "reused": finished.reused, "outcomes": outcomes, "spent": done.spent,
                **({"takes_over": done.taken.as_json()} if done.taken else {}),
            }
        )  # fmt: skip
    else:
        show(done.report)
    if finished.reason:
        tell(finished.reason)
    for sentence in finished.advice:
        tell(sentence)
    words(f"{db} did not exist; it was made." if done.created else f"Recorded in {db}.")
    status = finished.status if job.options.via == "replay" else f"{finished.status} ({done.spent} spent)"
    words(f"run {finished.run} is {status}: `harness report {finished.run} --db {_shown(db)}` shows it again.")
    if finished.failed or finished.status in ("interrupted", "aborted"):
        words(f"`harness resume {finished.run} --db {_shown(db)}` asks what is unfinished.")
    held = judged(done.report, db) if gate else 0
    return 3 if finished.failed or finished.status == "aborted" else held


def _shown(db: Path) -> str:
    import shlex

    return shlex.quote(str(db))
