"""A report as a file: from data to bytes, and from bytes back to the data that they carry."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any, Literal, cast

from harness import _report_html, _report_md
from harness._errors import UsageError
from harness._report_data import REPORT_FORMAT
from harness._report_document import document

__all__ = ["FORMATS", "Format", "data_in", "data_text", "figures_in", "format_for", "format_of", "render"]

Format = Literal["md", "html", "json"]
FORMATS: tuple[Format, ...] = ("md", "html", "json")
_FENCE = "\n```json\n"
_DEEPEST = 64
_FIGURE = re.compile(r"\d+/\d+|\d+\.\d+")
_NOT_SHOWN = re.compile(r"<style>.*?</style>|<[^>]*>", re.DOTALL)


def data_text(data: Mapping[str, Any]) -> str:
    """The data as JSON text: ASCII, one value a line, the order of keys kept."""
    return json.dumps(data, ensure_ascii=True, allow_nan=False, indent=1).replace("\x7f", "\\u007f")


def render(data: Mapping[str, Any], form: str) -> bytes:
    """The report of `collect`'s data. Pure: the same data give the same bytes.

    Raises UsageError for an unknown format, and for data that aren't a report's.
    """
    text = data_text(data)
    if form == "json":
        return text.encode() + b"\n"
    if form not in FORMATS:
        raise UsageError(f"--format: expected {', '.join(FORMATS)}, got {form!a}")
    try:
        made = document(data)
        drawn = _report_md.md_document(made, text) if form == "md" else _report_html.html_document(made, text)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise UsageError(f"the data aren't those of a report: {type(problem).__name__}: {problem}") from None
    return drawn.encode()


def format_for(form: str | None, path: Path | None) -> str | None:
    """The format that was asked for, or the one that the file's name says; None where neither was given."""
    if form is None and path is not None:
        form = {".md": "md", ".markdown": "md", ".html": "html", ".htm": "html", ".json": "json"}.get(
            path.suffix.lower()
        )
        if form is None:
            raise UsageError(f"{path} doesn't say in which format; expected --format {', '.join(FORMATS)}")
    if form is not None and form not in FORMATS:
        raise UsageError(f"--format: expected {', '.join(FORMATS)}, got {form!a}")
    return form


def format_of(text: str) -> Format | None:
    """Which format a file that starts so is in; None for what was never a report of ours."""
    start = text.lstrip("\ufeff \t\r\n")
    if start.startswith(_report_md.OPENING[:20]):
        return "md"
    if start.replace("\r\n", "\n").startswith(_report_html.OPENING[:33]):
        return "html"
    return "json" if start.startswith("{") and REPORT_FORMAT in text[:400] else None


def data_in(text: str, form: Format) -> dict[str, Any]:
    """The data that a report carries. Raises UsageError, saying what is the matter with them."""
    if form == "json":
        found = text.lstrip("\ufeff")
    elif form == "md":
        start, end = text.rfind(_FENCE), text.rfind("\n```")
        if start < 0 or end <= start:
            raise UsageError("its data block is missing or has no end")
        found = text[start + len(_FENCE) : end]
    else:
        start, end = text.rfind(_report_html.DATA_START), text.rfind(_report_html.DATA_END)
        if start < 0 or end < start:
            raise UsageError("its data block is missing or has no end")
        found = unescape(text[start + len(_report_html.DATA_START) : end])
    try:
        value = json.loads(found, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_once)
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"its data block can't be read: {problem}") from None
    if not isinstance(value, dict):
        raise UsageError("its data block isn't a JSON object")
    if not _shallow(cast("object", value)):
        raise UsageError(f"its data block is nested deeper than {_DEEPEST} levels, as no report is")
    return cast("dict[str, Any]", value)


def figures_in(text: str, form: Format) -> frozenset[str]:
    """Every fraction and decimal number that the text of a report shows above its data, in whatever digits."""
    if form == "json":
        return frozenset()
    shown = text[: text.rfind(_FENCE if form == "md" else _report_html.DATA_START)]
    return frozenset(_FIGURE.findall(_NOT_SHOWN.sub(" ", shown) if form == "html" else shown))


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is too large for a number")
    return number


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    # Readers differ in which of two they take, so one file would say two things.
    found = dict(pairs)
    if len(found) < len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {name[:80]!a} stands twice in one object")
    return found


def _shallow(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(_DEEPEST):
        inner: list[object] = []
        for each in level:
            if isinstance(each, dict):
                inner += cast("dict[str, object]", each).values()
            elif isinstance(each, list):
                inner += cast("list[object]", each)
        if not inner:
            return True
        level = inner
    return False
