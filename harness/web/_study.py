"""A suite's own tables of a run or a comparison, as a page shows them: each figure with its place in the JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from ledger import printable
from ledger.web import Figure, Source, cli, name

__all__ = ["Table", "run_tables", "tables"]

_DIGIT = re.compile(r"[0-9]")
_FORMS: Mapping[str, Any] = {"text": "text", "count": "count", "percent": "percent", "decimal": "decimal"}


@dataclass(frozen=True)
class Table:
    """One table, ready to be shown. `right` says of each column whether it holds numbers."""

    title: str
    about: Figure | Markup
    columns: Sequence[tuple[str, bool]]
    rows: Sequence[Sequence[Figure | Markup]]
    notes: Sequence[Figure | Markup]
    warns: Sequence[Figure | Markup]


def run_tables(data: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Those of a run's report, by rule set and candidate."""
    source = cli("harness", "report", data["run"]["id"])
    return [
        {
            "rules": each["rules"], "candidate": each["candidate"],
            "tables": tables(source, f"/study/{at}/tables", each["tables"]),
        }
        for at, each in enumerate(data.get("study", ()))
    ]  # fmt: skip


def tables(source: Source, where: str, found: Sequence[Mapping[str, Any]]) -> Sequence[Table]:
    """Tables in their JSON form, which stand at `where` in what the source prints."""
    return [_table(source, f"{where}/{at}", each) for at, each in enumerate(found)]


def _table(source: Source, here: str, found: Mapping[str, Any]) -> Table:
    forms = [str(column["form"]) for column in found["columns"]]
    return Table(
        str(found["title"]), _told(source, f"{here}/about", found["about"]),
        [(str(column["name"]), column["form"] != "text") for column in found["columns"]],
        [
            [
                _value(source, f"{here}/rows/{row}/{at}", value, forms[at])
                for at, value in enumerate(cells)
            ]
            for row, cells in enumerate(found["rows"])
        ],
        *([_told(source, f"{here}/{key}/{at}", said) for at, said in enumerate(found[key])]
          for key in ("notes", "warns")),
    )  # fmt: skip


def _value(source: Source, where: str, value: str | int | float | None, form: str) -> Figure | Markup:
    return _told(source, where, value) if isinstance(value, str) else source.at(where, value, _FORMS.get(form, "plain"))


def _told(source: Source, where: str, text: str) -> Figure | Markup:
    """A text, as a figure where it tells a number. One that would act or hide on a page is a name, drawn as such."""
    return source.at(where, text, "text") if _DIGIT.search(text) and printable(text) == text else name(text)
