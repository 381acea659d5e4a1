"""eval.toml: what `harness run` asks for when nothing is named on its command line. docs/RUNS.md has the reference.

    suite = "capitals"                      a suite, SUITE/FIXTURE, or a folder; from the file's own folder
    models = ["openai/a", "ollama/b"]       and [[candidate]] for those that need more than a name
    prompts = ["plain", "terse"]            each model with each
    [parameters]                            a value is a value: stop = ["\\n"] is one list, for every request
    [matrix]                                a list is a dimension: temperature = [0, 0.7] makes two of each candidate

Every mistake is one sentence that names the file and the key.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from harness._budget import parse_max_cost
from harness._errors import PricesError, UsageError
from harness._filter import read_filters
from harness._matrix import Matrix, Row, Typed
from ledger import printable

__all__ = ["EVAL_FILE", "EvalFile", "find_suite", "read_eval_file"]

EVAL_FILE = Path("eval.toml")
_MOST = 1 << 20
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")


@dataclass(frozen=True)
class EvalFile:
    """An eval.toml as read; None and () are what it doesn't say. `path` is for messages."""

    path: Path
    suite: str | None
    matrix: Matrix
    rules: tuple[str, ...] = ()
    epochs: int | None = None
    limit: int | None = None
    arm: str | None = None
    name: str | None = None
    tags: tuple[str, ...] = ()
    note: str | None = None
    filters: tuple[str, ...] = ()
    reuse: bool | None = None
    reuse_outcomes: tuple[str, ...] = ()
    max_connections: int | None = None
    max_retries: int | None = None
    max_wait: float | None = None
    timeout: float | None = None
    max_cost: str | None = None
    max_tokens_total: int | None = None
    prices: str | None = None


_KEYS = (
    "suite", "models", "base_url", "base_urls", "prompts", "rules", "epochs", "limit", "arm", "name", "tags", "note",
    "filter", "stream", "leave_out", "reuse", "reuse_outcomes", "max_connections", "max_retries", "max_wait",
    "timeout", "max_cost", "max_tokens_total", "prices", "parameters", "matrix", "candidate",
)  # fmt: skip
_CANDIDATE_KEYS = ("model", "base_url", "prompt", "parameters", "leave_out", "stream")


def read_eval_file(path: Path) -> EvalFile:
    """Read one. Raises UsageError with one sentence."""
    table = _Table(_load(path), _show(path))
    table.known(_KEYS)
    table.base_urls()
    limits = {
        "max_connections": table.whole("max_connections", least=1, most=1000),
        "max_retries": table.whole("max_retries", least=0),
        "max_wait": table.number("max_wait", least=0),
        "timeout": table.number("timeout", least=0.001),
    }
    filters = table.get("filter")
    conditions = (filters,) if isinstance(filters, str) else tuple(table.names("filter"))
    read_filters(conditions, table.at("filter"))
    return EvalFile(
        path=path,
        suite=table.text("suite"),
        matrix=_matrix(table),
        rules=tuple(table.names("rules")),
        epochs=table.whole("epochs", least=1),
        limit=table.whole("limit", least=1),
        arm=table.text("arm", empty=True),
        name=table.text("name", empty=True),
        tags=tuple(table.names("tags")),
        note=table.text("note", empty=True),
        filters=conditions,
        reuse=table.switch("reuse"),
        reuse_outcomes=tuple(table.names("reuse_outcomes")),
        max_cost=_cost(table),
        max_tokens_total=table.whole("max_tokens_total", least=1),
        prices=table.text("prices"),
        **limits,  # pyright: ignore[reportArgumentType]
    )


def find_suite(reference: str, file: Path) -> str:
    """The suite that an eval file names, as `load_suite` takes it: looked for beside the file before anywhere else."""
    if file.parent == Path():
        return reference
    for folder in (file.parent / "fixtures" / reference, file.parent / reference):
        if (folder / "suite.toml").is_file() or (folder.parent / "suite.toml").is_file():
            return folder.as_posix()
    return reference


def _load(path: Path) -> dict[str, Any]:
    shown = _show(path)
    if path.exists() and not path.is_file():
        raise UsageError(f"{shown}: expected a file")  # a pipe or a device could be waited for for ever
    try:
        with path.open("rb") as file:
            data = file.read(_MOST + 1)
        if len(data) > _MOST:
            raise UsageError(f"{shown}: expected an eval file of at most {_MOST} bytes")
        return tomllib.loads(data.decode("utf-8"), parse_float=Typed)
    except FileNotFoundError:
        raise UsageError(f"{shown}: there is no such file; name a suite, or write down there what to run") from None
    except OSError as error:
        raise UsageError(f"{shown}: can't be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown}: not UTF-8 (byte {error.start}); save it as UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{shown}: expected TOML, got text that isn't: {printable(str(error))}") from None


def _cost(table: _Table) -> str | None:
    """max_cost as the flag takes it: a number as it was typed, or a text with a currency."""
    cost = table.get("max_cost")
    if cost is None:
        return None
    text = cost.text if isinstance(cost, Typed) else str(cost)
    try:
        if isinstance(cost, bool) or not isinstance(cost, int | float | str):
            raise PricesError
        parse_max_cost(text)
    except PricesError:
        raise table.wrong("max_cost", 'an amount above 0 such as 2.50 or "2.50 EUR"', cost) from None
    return text


def _matrix(table: _Table) -> Matrix:
    models = table.names("models")
    urls = table.base_urls()
    common = table.text("base_url")
    rows = [Row(model, urls.get(model, common)) for model in models]
    listed = table.get("candidate")
    if listed is not None and not (isinstance(listed, list) and all(isinstance(e, dict) for e in listed)):  # pyright: ignore[reportUnknownVariableType]
        raise table.wrong("candidate", "tables, each under [[candidate]]", listed)
    for number, item in enumerate(cast("list[dict[str, Any]]", listed or []), start=1):
        one = _Table(item, table.path, f"[[candidate]] {number}")
        one.known(_CANDIDATE_KEYS)
        model = one.text("model")
        if model is None:
            raise one.wrong("model", "an engine such as openai/gpt-4.1-mini", None)
        stream, url = one.switch("stream"), one.text("base_url") or urls.get(model, common)
        rows.append(Row(model, url, one.prompt("prompt"), one.parameters(), stream))
    strange = [name for name in urls if name not in {row.engine for row in rows}]
    if strange:
        raise UsageError(f"{table.at('base_urls')}: {strange[0]!r} is none of the models{_near(strange[0], models)}")
    prompts = table.names("prompts")
    for name in prompts:
        if not _NAME.fullmatch(name):
            raise table.wrong("prompts", "names of files in prompts/ without .txt", name)
    parameters, dimensions = table.parameters(), table.dimensions()
    both = [name for name in dimensions if name in parameters]
    if both:
        raise UsageError(f"{table.at('matrix')}.{both[0]}: stands under [parameters] or leave_out too; leave one out")
    return Matrix(rows, prompts, parameters, dimensions, bool(table.switch("stream")))


class _Table:
    """A table of the file, and where it stands; every reader raises UsageError with one sentence."""

    def __init__(self, found: Mapping[str, Any], path: str, where: str = "") -> None:
        self.path = path
        self._found = found
        self._where = where

    def at(self, key: str) -> str:
        """Where a key stands."""
        return f"{self.path}: {self._where} {key}" if self._where else f"{self.path}: {key}"

    def get(self, key: str) -> Any:
        return self._found.get(key)

    def wrong(self, key: str, expected: str, got: Any) -> UsageError:
        shown = "nothing" if got is None else _shown(got)
        return UsageError(f"{self.at(key)}: expected {expected}, got {shown}")

    def known(self, keys: tuple[str, ...]) -> None:
        for key in self._found:
            if key not in keys:
                there = f"; there are {', '.join(keys)}"
                where = f"{self.path}: {self._where + ': ' if self._where else ''}"
                raise UsageError(f"{where}unknown key {key!r}{_near(key, keys) or there}")

    def _one(self, key: str, expected: str, fits: Callable[[Any], bool]) -> Any:
        value = self._found.get(key)
        if value is not None and not fits(value):
            raise self.wrong(key, expected, value)
        return value

    def text(self, key: str, *, empty: bool = False) -> str | None:
        return self._one(key, "text", lambda value: isinstance(value, str) and (empty or bool(value.strip())))

    def prompt(self, key: str) -> str | None:
        expected = "the name of a file in prompts/ without .txt"
        return self._one(key, expected, lambda value: isinstance(value, str) and bool(_NAME.fullmatch(value)))

    def switch(self, key: str) -> bool | None:
        return self._one(key, "true or false", lambda value: isinstance(value, bool))

    def whole(self, key: str, *, least: int, most: int = 2**53 - 1) -> int | None:
        expected = f"a whole number from {least}" + (f" to {most}" if most < 2**53 - 1 else "")
        return self._one(
            key, expected, lambda v: isinstance(v, int) and not isinstance(v, bool) and least <= v <= most
        )  # fmt: skip

    def number(self, key: str, *, least: float) -> float | None:
        found = self._one(
            key, f"a number from {least}",
            lambda v: isinstance(v, int | float) and not isinstance(v, bool) and least <= v < float("inf"),
        )  # fmt: skip
        return None if found is None else float(found)

    def names(self, key: str) -> list[str]:
        value = self._found.get(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(e, str) and e for e in cast("list[Any]", value)):
            raise self.wrong(key, "a list of texts", value)
        names = cast("list[str]", value)
        if not names:
            mend = {
                "models": 'put an engine there, such as models = ["openai/gpt-4.1-mini"]',
                "prompts": "name files of prompts/, or leave the key out for the suite's own",
            }.get(key, "leave the key out instead")
            raise UsageError(f"{self.at(key)}: the list is empty; {mend}")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"{self.at(key)}: {twice!r} stands there twice")
        return names

    def base_urls(self) -> dict[str, str]:
        found = self._found.get("base_urls", {})
        if not isinstance(found, dict):
            raise self.wrong("base_urls", "a table, a model and its address a line", found)
        for model, url in cast("dict[str, Any]", found).items():
            if not isinstance(url, str) or not url:
                raise self.wrong(f"base_urls.{printable(model)}", "an address", url)
        return cast("dict[str, str]", found)

    def parameters(self) -> dict[str, Any]:
        """[parameters], and None for each that leave_out names."""
        found = self._found.get("parameters", {})
        if not isinstance(found, dict):
            raise self.wrong("parameters", "a table", found)
        given = cast("dict[str, Any]", found)
        for name, value in given.items():
            if not _json(value):
                raise self.wrong(f"parameters.{printable(name)}", "what JSON can hold", value)
        out = self.names("leave_out")
        both = [name for name in out if name in given]
        if both:
            raise UsageError(f"{self.at('leave_out')}: {both[0]!r} stands under parameters too; leave one out")
        return {**given, **dict.fromkeys(out)}

    def dimensions(self) -> dict[str, list[Any]]:
        found = self._found.get("matrix", {})
        if not isinstance(found, dict):
            raise self.wrong("matrix", "a table, a parameter and the list of its values a line", found)
        for name, values in cast("dict[str, Any]", found).items():
            key = f"matrix.{printable(name)}"
            if name in ("models", "model", "prompts", "prompt", "epochs"):
                mend = {"model": "models", "prompt": "prompts"}.get(name, name)
                raise UsageError(f"{self.at(key)}: is no parameter; give {mend} above the first [table]")
            if not isinstance(values, list) or not values:
                mend = "a list of values, one for each candidate; a single value goes under [parameters]"
                raise self.wrong(key, mend, values)
            for value in cast("list[Any]", values):
                if not _json(value):
                    raise self.wrong(key, "values that JSON can hold", value)
            texts = [json.dumps(each) for each in cast("list[Any]", values)]
            if len(set(texts)) < len(texts):
                raise UsageError(f"{self.at(key)}: a value stands there twice")
        return cast("dict[str, list[Any]]", found)


def _json(value: Any) -> bool:
    if isinstance(value, list):
        return all(_json(item) for item in cast("list[Any]", value))
    if isinstance(value, dict):
        return all(_json(item) for item in cast("dict[str, Any]", value).values())
    if isinstance(value, float):
        return value - value == 0  # neither NaN nor infinite
    return isinstance(value, str | bool | int)


def _near(name: str, known: list[str] | tuple[str, ...]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {printable(close[0])}?" if close else ""


def _shown(value: Any) -> str:
    text = value.text if isinstance(value, Typed) else repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _show(path: Path) -> str:
    return printable(str(path))
