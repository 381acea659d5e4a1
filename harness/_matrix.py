"""The matrix of a run: models, prompts and parameters, and every candidate that they come to, with a label each.

A model is crossed with every prompt and every value of each dimension, but for what it sets itself. The label of a
candidate is its engine as it was typed and, where one engine stands for several, what tells them apart:
`openai/m[prompt=terse,temperature=0.7]`. A label is for people: it is part of no digest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import Any, cast

from harness._errors import UsageError
from harness._identity import file_digest

__all__ = ["Matrix", "Row", "Spec", "Typed", "plain", "spread"]

_WORD = re.compile(r"[A-Za-z0-9_.+-]+")
_LONGEST = 40
_MOST = 1_000
_DEFAULT_PROMPT = "(default)"


class Typed(float):
    """A float that still knows how it was written, for labels; `plain` makes an ordinary one of it."""

    text: str

    def __new__(cls, text: str) -> Typed:
        found = super().__new__(cls, text)
        found.text = text
        return found


def plain(value: Any) -> Any:
    """A value without its spelling, all the way down."""
    if isinstance(value, Typed):
        return float(value)
    if isinstance(value, list):
        return [plain(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in cast("dict[str, Any]", value).items()}
    return value


@dataclass(frozen=True)
class Row:
    """A model and what it sets itself; None is what it leaves to the matrix. A parameter that is None is left out of
    the request, also one that the suite sets."""

    engine: str
    base_url: str | None = None
    prompt: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stream: bool | None = None


@dataclass(frozen=True)
class Matrix:
    """`prompts` names files in the suite's prompts/ (none: the suite's own), `parameters` are every model's, and each
    of `dimensions` is a parameter with the values that it takes in turn."""

    rows: Sequence[Row]
    prompts: Sequence[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    dimensions: Mapping[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])
    stream: bool = False

    def with_parameters(self, given: Mapping[str, Any]) -> Matrix:
        """The same with parameters that hold for every model, whatever it or a dimension said of them."""
        rows = [replace(row, parameters=_without(row.parameters, given)) for row in self.rows]
        dimensions = {name: values for name, values in self.dimensions.items() if name not in given}
        return replace(self, rows=rows, parameters={**self.parameters, **given}, dimensions=dimensions)


def _without(parameters: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name not in given}


@dataclass(frozen=True)
class Spec:
    """One candidate to be. `parameters` stand beside the suite's own; an empty `prompt` is the suite's own, and an
    empty `label` what the engine calls itself."""

    engine: str
    base_url: str | None = None
    prompt: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stream: bool = False
    label: str = ""


def spread(matrix: Matrix) -> tuple[Spec, ...]:
    """Every candidate of a matrix, model by model, prompt by prompt, value by value, each with its label.

    Raises UsageError for two that would be asked the very same, and for more than a person can mean.
    """
    many = sum(_count(matrix, row) for row in matrix.rows)
    if many > _MOST:
        raise UsageError(
            f"the matrix comes to {many} candidates, and a run has at most {_MOST}; make several runs of it"
        )
    specs = [spec for row in matrix.rows for spec in _of_row(matrix, row)]
    # By place and not by equality, to which 1, 1.0 and True are one.
    of: dict[int, list[str]] = {}
    for engine in dict.fromkeys(spec.engine for spec in specs):
        places = [place for place, spec in enumerate(specs) if spec.engine == engine]
        of |= dict(zip(places, _distinctions([specs[place] for place in places]), strict=True))
    found = [
        replace(spec, label=f"{spec.engine}[{','.join(of[place])}]" if of[place] else "")
        for place, spec in enumerate(specs)
    ]
    _refuse_twins(found)
    return tuple(replace(each, parameters=plain(dict(each.parameters))) for each in found)


def _count(matrix: Matrix, row: Row) -> int:
    lengths = (len(values) for name, values in matrix.dimensions.items() if name not in row.parameters)
    return prod(lengths) * (1 if row.prompt is not None else max(1, len(matrix.prompts)))


def _of_row(matrix: Matrix, row: Row) -> Iterator[Spec]:
    prompts = [row.prompt] if row.prompt is not None else list(matrix.prompts) or [""]
    free = {name: values for name, values in matrix.dimensions.items() if name not in row.parameters}
    stream = matrix.stream if row.stream is None else row.stream
    for prompt in prompts:
        for values in product(*free.values()):
            chosen = dict(zip(free, values, strict=True))
            parameters = {**matrix.parameters, **chosen, **row.parameters}
            yield Spec(row.engine, row.base_url, prompt, parameters, stream)


def _distinctions(specs: Sequence[Spec]) -> list[list[str]]:
    """For each of one engine's candidates, `name=value` of everything that isn't the same for all of them."""
    columns: list[list[str]] = []
    if len({spec.prompt for spec in specs}) > 1:
        columns.append([f"prompt={spec.prompt or _DEFAULT_PROMPT}" for spec in specs])
    for name in dict.fromkeys(name for spec in specs for name in spec.parameters):
        values = [_value(spec.parameters, name) for spec in specs]
        if len(set(values)) > 1:
            columns.append([f"{_shown(name)}={value}" for value in values])
    if len({spec.stream for spec in specs}) > 1:
        columns.append([f"stream={'true' if spec.stream else 'false'}" for spec in specs])
    return [list(each) for each in zip(*columns, strict=True)] if columns else [[] for _ in specs]


def _value(parameters: Mapping[str, Any], name: str) -> str:
    if name not in parameters:
        return "(unset)"
    return "(left out)" if parameters[name] is None else _shown(parameters[name])


def _shown(value: Any) -> str:
    """A value in a label: as it was typed; a digest stands for the end of a long one."""
    text = value if isinstance(value, str) and _WORD.fullmatch(value) and not _reads(value) else _spelled(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 12]}…{file_digest(text.encode())[:8]}"


def _reads(text: str) -> bool:
    """Whether a text looks like a number, or like true, false or null: it is quoted then."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _spelled(value: Any) -> str:
    """As JSON, without square brackets: those are around what a matrix adds to an engine's name."""
    if isinstance(value, Typed):
        return value.text
    if isinstance(value, list):
        return f"({','.join(_spelled(item) for item in cast('list[Any]', value))})"
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return "{" + ",".join(f"{_spelled(name)}:{_spelled(item)}" for name, item in items) + "}"
    return json.dumps(value).replace("[", "\\u005b").replace("]", "\\u005d")


def _refuse_twins(specs: Sequence[Spec]) -> None:
    seen: dict[str, Spec] = {}
    for spec in specs:
        key = json.dumps([spec.engine, spec.prompt, plain(dict(spec.parameters)), spec.stream], sort_keys=True)
        other = seen.setdefault(key, spec)
        if other is spec:
            continue
        label = spec.label or spec.engine
        if spec.base_url != other.base_url:
            raise UsageError(
                f"the candidate {label} was given twice, and only its address differs, which is no part of a candidate;"
                " make it two runs and compare them"
            )
        raise UsageError(f"the candidate {label} was given twice; its two rows could not be told apart")
