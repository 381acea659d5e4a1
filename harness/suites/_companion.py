"""What a kind of suite brings beside its stage functions, and what is no part of a rule set's digest: how its suite is
made out of a manifest, and tables of its own for a report and a comparison.

The spine asks the registry here and imports no suite.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

from harness._json import JSON
from harness.suites._registry import Outcome

__all__ = ["Column", "Companion", "Made", "Record", "StudyTable", "companion"]

_COMPANIONS: Mapping[str, str] = MappingProxyType(
    {"rubric": "harness.rubrics:RUBRIC", "pairwise": "harness.rubrics:PAIRWISE"}
)
Form = Literal["text", "count", "percent", "decimal"]


@dataclass(frozen=True)
class Made:
    """A suite as its manifest makes it, in the form that every other suite has on disk.

    `name` is what plans call the suite: a variant's is that of the suite it extends. `fixtures` are files of cases
    (cases.jsonl) by name, `rules` whole rule files by name, `prompt` the template under `prompt_name`; `arms` names the
    condition that a fixture's cells measure. `engine` and `base_url` are whom to ask where a person names nobody.
    `trigger` are the texts of the tasks that a live target may be asked to write on, by their ids.
    """

    name: str
    prompt_name: str
    prompt: bytes
    fixtures: Mapping[str, bytes]
    rules: Mapping[str, bytes]
    rule_names: tuple[str, ...]
    parameters: Mapping[str, Any]
    arms: Mapping[str, str] = field(default_factory=dict[str, str])
    engine: str = ""
    base_url: str = ""
    trigger: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Record:
    """One cell of a run under one rule set, as its events have it: what a study counts.

    `findings` and `rejections` are the last confirm event's, empty where there is none; `gold` is the frozen case's,
    None where a redaction withholds it. `outcome` is "unmeasured" where there is no measurement.

    `judge` is whose grade joined the run, empty where the run's own stages scored; `asked` says whether that judge was
    shown the cell at all. `reference` says whether the case, as it was asked, shows a reference; None where nobody
    knows.
    """

    cell: int
    case: str
    fixture: str
    candidate: str
    arm: str
    epoch: int
    twin: int
    input: str
    outcome: Outcome | Literal["unmeasured"]
    status: str
    reason: str
    value: float | None
    verdict: str
    metrics: Mapping[str, float]
    classes: Mapping[str, str]
    blocked_by: tuple[str, ...]
    findings: Sequence[JSON]
    rejections: Sequence[JSON]
    gold: JSON
    judge: str = ""
    asked: bool = True
    reference: bool | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a study's table. `percent` is a share in [0, 1] that people are shown as one; None is no figure."""

    name: str
    form: Form = "text"


@dataclass(frozen=True, slots=True)
class StudyTable:
    """A table of a report: plain values, in the columns' forms. `about` is one sentence on what it counts, `notes`
    what it doesn't show; `warns` are sentences that a gate says aloud, and that fail nothing."""

    title: str
    about: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]
    notes: tuple[str, ...] = ()
    warns: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "title": self.title, "about": self.about,
            "columns": [{"name": each.name, "form": each.form} for each in self.columns],
            "rows": [list(row) for row in self.rows], "notes": list(self.notes), "warns": list(self.warns),
        }  # fmt: skip


@dataclass(frozen=True)
class Companion:
    """make(folder, manifest): the suite of a folder, `manifest` being its suite.toml as read; raises SuiteError with
    one sentence that names file and place, and RefusedError where two texts that must be one aren't.

    remake(folder, manifest, file): a rule file of a person, made whole as `Made.rules` has them; raises SuiteError.

    prompt(folder, manifest, name): the template prompts/NAME.txt, made as `Made.prompt` is; raises SuiteError.

    study(records, rules): what a report says of one candidate's cells under one rule set beside its figures (`rules` is
    the [score] table as the stages read it). contrast(a, b, rules): what a comparison says of two candidates' cells.
    """

    make: Callable[[Path, Mapping[str, Any]], Made] | None = None
    remake: Callable[[Path, Mapping[str, Any], bytes], bytes] | None = None
    prompt: Callable[[Path, Mapping[str, Any], str], bytes] | None = None
    study: Callable[[Sequence[Record], Mapping[str, Any]], tuple[StudyTable, ...]] | None = None
    contrast: Callable[[Sequence[Record], Sequence[Record], Mapping[str, Any]], tuple[StudyTable, ...]] | None = None


def companion(stage_name: str) -> Companion:
    """What belongs to the stages of that name; an empty one where they bring nothing."""
    where = _COMPANIONS.get(stage_name)
    if where is None:
        return Companion()
    module, _, name = where.partition(":")
    return cast("Companion", getattr(importlib.import_module(module), name))
