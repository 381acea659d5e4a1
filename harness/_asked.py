"""What `harness run` was asked for: the flags of its command line, and the eval.toml that they stand above.

A flag that was given takes the place of the file's key, and a sentence says so.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness._attempts import Patience
from harness._errors import SuiteError, UsageError
from harness._eval_file import EVAL_FILE, EvalFile, find_suite, read_eval_file
from harness._job import Job
from harness._matrix import Matrix, Row
from harness._run import RunOptions
from harness._suite import find_made
from harness.engines import is_replay
from ledger import LATEST, printable

__all__ = ["Asked", "Flags", "read_asked"]


@dataclass(frozen=True)
class Flags:
    """The flags as they were given; None, "" and () are those that weren't. `file` is where an eval.toml lies."""

    suite: str = ""
    file: Path | None = None
    engines: Sequence[str] = ()
    base_urls: Sequence[str] = ()
    prompts: Sequence[str] = ()
    rules: Sequence[str] = ()
    filters: Sequence[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stream: bool | None = None
    epochs: int | None = None
    limit: int | None = None
    arm: str | None = None
    name: str | None = None
    tags: Sequence[str] = ()
    note: str | None = None
    reuse: bool | None = None
    reuse_outcomes: Sequence[str] = ()
    max_connections: int | None = None
    max_retries: int | None = None
    max_wait: float | None = None
    timeout: float | None = None
    max_cost: str | None = None
    max_tokens_total: int | None = None
    prices: str | None = None


@dataclass(frozen=True)
class Asked:
    """The job, the budget and price list that were asked for with it, and what to say of how flags and file met."""

    job: Job
    max_cost: str | None
    max_tokens_total: int | None
    prices: str | None
    notes: tuple[str, ...]


_SAME = (
    "rules", "filters", "epochs", "limit", "arm", "name", "tags", "note", "reuse", "reuse_outcomes",
    "max_connections", "max_retries", "max_wait", "timeout", "max_cost", "max_tokens_total", "prices",
)  # fmt: skip
_FLAG = {"filters": "filter", "tags": "tag"}
_KEY = {"filters": "filter"}


def read_asked(flags: Flags) -> Asked:
    """What flags and file come to. The file is read where it was named, and where no suite was.

    Raises UsageError, also where there is neither a suite nor a file.
    """
    if flags.suite and flags.file is None:
        notes = [f"{EVAL_FILE} is not read: a suite was named (--file reads it)"] if _says_something(EVAL_FILE) else []
        return _asked(flags, _of_flags(flags, notes), flags.suite, notes)
    path = flags.file or EVAL_FILE
    if flags.file is None and not path.exists():
        raise UsageError(f"expected a SUITE, or an {EVAL_FILE} here that says what to run (--file PATH names another)")
    file = read_eval_file(path)
    merged, notes = _over(flags, file)
    matrix = _matrix(flags, file, notes)
    suite = flags.suite or (find_suite(file.suite, path) if file.suite else "")
    if not suite:
        raise UsageError(f"{_show(path)}: suite: expected the name or the folder of a suite, got nothing")
    if flags.suite and file.suite:
        notes.insert(0, f"SUITE takes the place of suite in {_show(path)}")
    if not matrix.rows and (judge := _judge_of(suite, flags, notes)) is not None:
        matrix = replace(matrix, rows=[judge])
    if not matrix.rows:
        raise UsageError(
            f'{_show(path)}: models: put at least one engine there, such as models = ["openai/gpt-4.1-mini"]'
        )
    return _asked(merged, matrix, suite, notes)


def _says_something(path: Path) -> bool:
    """Whether an eval.toml names anybody to ask; the one that `harness new` writes doesn't."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True
    return bool(table.get("models") or table.get("candidate"))


def _asked(flags: Flags, matrix: Matrix, suite: str, notes: Sequence[str]) -> Asked:
    if flags.name in LATEST:
        raise UsageError(f"--name {flags.name}: `{flags.name}` always names the newest such run; choose another name")
    if "\0" in f"{flags.note}{flags.name}{flags.arm}{''.join(flags.tags)}":
        raise UsageError("a name, a tag, an arm and a note can't hold the character U+0000")
    if flags.reuse_outcomes and flags.reuse is False:
        raise UsageError("--reuse-outcomes chooses among what --reuse takes over; leave --no-reuse out")
    base = RunOptions()
    options = RunOptions(
        epochs=flags.epochs or base.epochs, limit=flags.limit,
        max_connections=flags.max_connections or base.max_connections, timeout=flags.timeout or base.timeout,
        patience=Patience(
            base.patience.max_retries if flags.max_retries is None else flags.max_retries,
            base.patience.max_wait if flags.max_wait is None else flags.max_wait,
        ),
        name=flags.name or "", tags=tuple(dict.fromkeys(flags.tags)), arm=flags.arm or "",
        reuse=bool(flags.reuse or flags.reuse_outcomes), reuse_outcomes=tuple(flags.reuse_outcomes),
        via="replay" if all(is_replay(row.engine) for row in matrix.rows) else "live",
    )  # fmt: skip
    job = Job(
        suite, [row.engine for row in matrix.rows], (), flags.rules, matrix.parameters, matrix.stream, options, matrix,
        flags.filters, flags.note or "",
    )  # fmt: skip
    return Asked(job, flags.max_cost, flags.max_tokens_total, flags.prices, tuple(notes))


def _of_flags(flags: Flags, notes: list[str]) -> Matrix:
    judge = None if flags.engines and flags.base_urls else _judge_of(flags.suite, flags, notes)
    if judge is not None:
        return Matrix([judge], flags.prompts, flags.parameters, {}, bool(flags.stream))
    if not flags.engines:
        raise UsageError(
            "name whom to ask: --engine provider/model, such as --engine openai/gpt-4.1-mini,"
            f"{_under_judge(flags.suite)} or models in {EVAL_FILE} (read without a SUITE); --engine replay/ledger.db"
            " asks the recorded history"
        )
    engines = list(flags.engines)
    urls = _addresses(flags.base_urls, len(engines))
    rows = [Row(engine, url) for engine, url in zip(engines, urls, strict=True)]
    return Matrix(rows, flags.prompts, flags.parameters, {}, bool(flags.stream))


def _judge_of(suite: str, flags: Flags, notes: list[str]) -> Row | None:
    """Whom a suite of judging asks by its own manifest, where no engine was given, or its own without an address."""
    try:
        loaded = find_made(suite)
    except SuiteError:
        if not flags.engines:
            raise
        return None  # whoever loads the suite says so
    made = loaded.made if loaded else None
    if loaded is None or made is None or not made.engine or len(flags.base_urls) > 1:
        return None
    if tuple(flags.engines) not in ((), (made.engine,)):
        return None
    address = flags.base_urls[0] if flags.base_urls else made.base_url or None
    if not flags.engines or not flags.base_urls:
        at = f" at {address}" if address and not flags.base_urls else ""
        notes.append(f"asking {made.engine}{at}, as [judge] in {_show(loaded.folder / 'suite.toml')} says")
    return Row(made.engine, address)


def _under_judge(suite: str) -> str:
    """Where a suite of judging may name its judge, for a message."""
    loaded = find_made(suite)
    return f" or engine under [judge] in {_show(loaded.folder / 'suite.toml')}," if loaded else ""


def _over(flags: Flags, file: EvalFile) -> tuple[Flags, list[str]]:
    """The flags, filled up with the file's keys, and a sentence for each key that a flag stands above."""
    notes: list[str] = []
    taken: dict[str, Any] = {}
    for name in _SAME:
        mine, theirs = getattr(flags, name), getattr(file, name)
        if mine is None or mine == ():
            taken[name] = _beside(theirs, file.path) if name == "rules" else theirs
            if name == "prices" and theirs:
                (taken[name],) = _beside([theirs], file.path)
        elif theirs is not None and theirs != () and _comparable(mine) != _comparable(theirs):
            flag = "--" + _FLAG.get(name, name).replace("_", "-")
            notes.append(f"{flag} takes the place of {_KEY.get(name, name)} in {_show(file.path)}")
    return replace(flags, **taken), notes


def _comparable(value: Any) -> Any:
    """A list as a tuple, so that the two compare."""
    return tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]


def _beside(names: Sequence[str], path: Path) -> tuple[str, ...]:
    """Files are looked for beside the eval file first; what doesn't end in .toml is no file."""
    return tuple(
        (path.parent / name).as_posix() if name.endswith(".toml") and (path.parent / name).is_file() else name
        for name in names
    )


def _matrix(flags: Flags, file: EvalFile, notes: list[str]) -> Matrix:
    matrix, of = file.matrix, f"in {_show(file.path)}"
    if flags.engines:
        known = {row.engine: row for row in reversed(matrix.rows)}
        if matrix.rows:
            notes.append(f"--engine takes the place of the models {of}")
        matrix = replace(matrix, rows=[known.get(engine, Row(engine)) for engine in flags.engines])
    if flags.base_urls:
        if any(row.base_url for row in matrix.rows):
            notes.append(f"--base-url takes the place of the addresses {of}")
        urls = _addresses(flags.base_urls, len(matrix.rows))
        matrix = replace(
            matrix, rows=[replace(row, base_url=url) for row, url in zip(matrix.rows, urls, strict=True)]
        )  # fmt: skip
    if flags.prompts:
        if matrix.prompts or any(row.prompt for row in matrix.rows):
            notes.append(f"--prompt takes the place of the prompts {of}")
        matrix = replace(matrix, prompts=flags.prompts, rows=[replace(row, prompt=None) for row in matrix.rows])
    if flags.parameters:
        said = {*matrix.parameters, *matrix.dimensions, *(name for row in matrix.rows for name in row.parameters)}
        for name in flags.parameters:
            if name in said:
                notes.append(f"{name} on the command line takes the place of {name} {of}, for every model")
        matrix = matrix.with_parameters(flags.parameters)
    if flags.stream is not None:
        if matrix.stream != flags.stream or any(row.stream not in (None, flags.stream) for row in matrix.rows):
            notes.append(f"--{'' if flags.stream else 'no-'}stream takes the place of stream {of}")
        matrix = replace(matrix, stream=flags.stream, rows=[replace(row, stream=None) for row in matrix.rows])
    return matrix


def _addresses(given: Sequence[str], engines: int) -> list[str | None]:
    if not given:
        return [None] * engines
    if len(given) not in (1, engines):
        raise UsageError(
            f"expected one --base-url for all engines, or one for each of the {engines}, got {len(given)}"
        )  # fmt: skip
    return list(given) if len(given) == engines else [given[0]] * engines


def _show(path: Path) -> str:
    return printable(str(path))
