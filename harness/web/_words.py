"""Sentences and pictures of the harness, as a page shows them: names isolated, events and runs as links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from harness._outcomes import REASONS, Status, flag_sentence, reason
from harness._report_document import EventSeq, Name, RunId, Sentence
from harness._svg import interval_plot
from harness.suites import stage_names, stages
from ledger.web import View, name

__all__ = ["anchor", "flag_words", "intervals", "outcome_bar", "reason_words", "sentence"]

_PATTERNED: tuple[Status, ...] = ("error", "malformed")
_OUTCOMES = ("correct", "graded", "incorrect", "unmeasured")
_WIDE = 200


def anchor(view: View, text: object, route: str, query: Mapping[str, object] | None = None, **parts: object) -> Markup:
    """A link to a part of a page further down (`into`, in `parts`, is the id there), or the text alone."""
    into = parts.pop("into", "")
    address = view.links.to(route, query, **parts)
    shown = name(text) if isinstance(text, str) and not isinstance(text, Markup) else text
    if address is None:
        return Markup("{}").format(shown)
    return Markup('<a href="{}{}">{}</a>').format(address, f"#{into}" if into else "", shown)


def sentence(view: View, said: Sentence) -> Markup:
    """A sentence of a report as a paragraph."""
    parts = Markup("").join(_part(view, part) for part in said.parts)
    return Markup('<p class="quoted {}">{}</p>').format(said.tone, parts)


def _part(view: View, part: str) -> Markup:
    if isinstance(part, RunId):
        return anchor(view, str(part), "run", run=part)
    if isinstance(part, EventSeq):
        return anchor(view, Markup("{}").format(str(part)), "event", seq=part)
    return name(part) if isinstance(part, Name) else escape(part)


def intervals(title: str, rows: Sequence[Mapping[str, Any]]) -> Markup:
    """The plot of rates and their intervals that reports have: what it is given it escapes."""
    return Markup("\n".join(interval_plot(title, rows)))  # noqa: S704 - every text in it was escaped by _svg


def outcome_bar(counts: Mapping[str, int]) -> Markup:
    """How cells ended, as one bar: each outcome as wide as its share. The numbers stand beside it."""
    whole = sum(counts.values()) or 1
    at, drawn = 0.0, Markup("")
    for outcome in _OUTCOMES:
        width = _WIDE * counts.get(outcome, 0) / whole
        if width:
            drawn += Markup('<rect class="{}" x="{:.2f}" y="0" width="{:.2f}" height="12"/>').format(outcome, at, width)
        at += width
    said = ", ".join(f"{counts[outcome]} {outcome}" for outcome in _OUTCOMES if counts.get(outcome))
    return Markup(
        '<svg class="outcomes" viewBox="0 0 {} 12" preserveAspectRatio="none" role="img">'
        "<title>Outcomes: {}</title>{}</svg>"
    ).format(_WIDE, said or "none", drawn)


def reason_words(stage: str, named: str) -> str:
    """What a reason for being unmeasured means, in one sentence; empty for one that this release doesn't know."""
    for known in REASONS.values():
        if (known.stage, known.name) == (stage, named):
            return known.sentence
    for status in _PATTERNED:
        try:
            found = reason(status, named)
        except LookupError:
            continue
        if found.stage == stage:
            return found.sentence
    if stage != "parse":
        return ""
    own = {said for each in stage_names() if (said := stages(each).reasons.get(named))}
    return own.pop() if len(own) == 1 else ""


def flag_words(flag: str) -> str:
    """What a flag means, in one sentence; empty for one that this release doesn't know."""
    try:
        return flag_sentence(flag)
    except LookupError:
        return ""
