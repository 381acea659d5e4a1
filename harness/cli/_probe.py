"""`harness probe`: one real, recorded call to see how a model at an address answers."""

from __future__ import annotations

from typing import Annotated

import typer

from ledger.cli import DEFAULT_DB, AsJson, DbToWrite, Words, emit_json

__all__ = ["probe"]

_CHOICES = ("object", "array", "jsonl", "python", "text")


def probe(
    engine: Annotated[str, typer.Argument(metavar="ENGINE/MODEL", help="Whom to ask.")],
    prompt: Annotated[str, typer.Option(help="What to ask.")],
    ask: Annotated[str, typer.Option(help="The shape of the answer: object, array, jsonl, python or text.")] = "text",
    base_url: Annotated[str | None, typer.Option("--base-url", metavar="URL", help="Where.")] = None,
    rules: Annotated[str, typer.Option(help="How to read the answer.")] = "default",
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds for one attempt, first byte to last.")] = 300,
    max_retries: Annotated[int, typer.Option(min=0, help="Attempts after the first, where asking again may help.")] = 3,
    max_wait: Annotated[float, typer.Option(min=0, help="The longest single wait before a retry, in seconds.")] = 60,
    setting: Annotated[
        list[str] | None, typer.Option("-M", metavar="KEY=VALUE", help="A model parameter; repeatable.")
    ] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Ask for a streamed reply.")] = False,
    db: DbToWrite = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Ask once and show how the reply reads. Exit 0 when it was parsed, 3 for an error, 1 for anything else."""
    import os

    from harness._attempts import Patience
    from harness._errors import UsageError
    from harness._find_rules import find_rules
    from harness._job import parse_settings
    from harness._probe import probe as ask_once
    from harness.engines import resolve_engine
    from ledger import Ledger

    if ask not in _CHOICES:
        raise UsageError(f"--ask: expected one of {', '.join(_CHOICES)}, got {ask!a}")
    found = find_rules(rules)
    candidate = resolve_engine(
        engine, base_url=base_url, parameters=parse_settings(setting or ()), stream=stream, environ=os.environ
    )
    ledger, created = Ledger.open_or_create(db)
    with ledger:
        probed = ask_once(
            ledger, candidate, prompt, ask=ask, rules=found.read, label=found.label,
            patience=Patience(max_retries, max_wait), timeout=timeout,
        )  # fmt: skip
    words = Words(as_json=as_json)
    if created:
        words(f"{db} did not exist; it was made.")
    shown = probed.as_json()
    if as_json:
        emit_json(shown)
    for name, value in shown.items():
        words(f"{name:12} {value if isinstance(value, str) else ascii(value)}")
    if probed.reading.status == "parsed":
        return 0
    return 3 if probed.reading.status in ("error", "fate_unknown") else 1
