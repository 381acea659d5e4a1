"""The texts that a person wants hidden, out of what is frozen and, for replies, out of what was read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from ledger._errors import LedgerError
from ledger._event import Event
from ledger._store import Ledger
from ledger.bundle._derivers import derivers
from ledger.bundle._draw import DrawnCase, case_lines
from ledger.bundle._holds import Word
from ledger.bundle._readme import FIXED_WORDS
from ledger.bundle._select import pages
from ledger.bundle._texts import HiddenTexts, folded_words, keys_of, leaves
from ledger.kinds import KINDS, BlobRef, Masked, PlanCandidate, PlanFixture, PlanMetric, PlanRules, TallyMetric, Target

__all__ = ["Known", "known_texts", "reader_source"]

_PARTS = (BlobRef, Masked, PlanCandidate, PlanFixture, PlanMetric, PlanRules, Target, TallyMetric)
_LABELS = (
    "SELECT DISTINCT candidate.value ->> '$.label' AS label FROM main.events AS plan"
    " CROSS JOIN json_each(plan.body, '$.candidates') AS candidate WHERE plan.kind = 'plan' AND plan.seq <= ?"
)
_RUNS = "SELECT run FROM main.events WHERE kind = 'plan' AND seq <= ?"
_ROLES = "user system assistant text image message content openai anthropic ollama command replay"
_METRICS = (
    "SELECT DISTINCT metric.value ->> '$.name' AS name FROM main.events AS plan"
    " CROSS JOIN json_each(plan.body, '$.rules') AS rules CROSS JOIN json_each(rules.value, '$.metrics') AS metric"
    " WHERE plan.kind = 'plan' AND plan.seq <= ?"
)


@dataclass
class Known:
    """What must not be shown. `apart` are words that may stand in frozen files nevertheless: those of the program's own
    sources, which a rule set's sources are made of, those that answer several cases, and those of drawn cases.
    `unread` are the freezes whose file is withheld, so that nobody knows its texts."""

    texts: HiddenTexts
    apart: set[str] = field(default_factory=set[str])
    unread: list[int] = field(default_factory=list[int])


def reader_source() -> bytes:
    """`verify.py`, as it goes into every bundle."""
    return (files("ledger.bundle") / "verify.py").read_bytes()


@cache
def _program_words() -> frozenset[str]:
    """The words of the sources of this package, and of the one that derives again, whose sources are frozen with a
    rule set: they were written before any case, and anybody can read them."""
    found: set[str] = set()
    folders = [files(name) for name in ("ledger", *sorted({each.module.partition(".")[0] for each in derivers()}))]
    while folders:
        for each in folders.pop().iterdir():
            if each.is_dir():
                folders.append(each)
            elif each.name.endswith(".py"):
                found |= folded_words(each.read_text("utf-8"))
    return frozenset(found)


def _common(ledger: Ledger, size: int) -> str:
    """What stands in every bundle, and the names of figures, which rule sets fix."""
    fields = " ".join(" ".join(model.model_fields) for model in (*KINDS.values(), *_PARTS))
    metrics = " ".join(str(row["name"]) for row in ledger.rows(_METRICS, (size,)))
    return " ".join([reader_source().decode("utf-8"), FIXED_WORDS, " ".join(KINDS), fields, metrics, _ROLES])


def known_texts(
    ledger: Ledger,
    size: int,
    hide: frozenset[Word],
    *,
    seqs: Sequence[int] = (),
    drawn: Sequence[DrawnCase] | None = None,
) -> Known:
    """The texts of every fixture and template that was frozen, as far as `hide` says.

    A template isn't looked for where cells are `drawn`: their requests show it. A drawn case's texts still are,
    because what is short may be another case's too. `seqs` are the events of the bundle; the values read out of their
    replies are hidden with those.
    """
    if not hide:
        return Known(HiddenTexts())
    labels = [str(row["label"]) for row in ledger.rows(_LABELS, (size,))]
    shown = {word for case in drawn or () for word in folded_words(case.line)}
    known = Known(
        HiddenTexts(_common(ledger, size), labels, [str(row["run"]) for row in ledger.rows(_RUNS, (size,))]),
        shown | _program_words(),
    )
    wanted = [name for word, name in (("gold", "gold"), ("prompts", "input")) if word in hide]
    if wanted:
        fixtures = [event for event in ledger.events(kind="freeze") if event.seq <= size]
        for event in fixtures:
            _add_cases(ledger, event, wanted, known)
        for event in fixtures:
            _add_template(ledger, event, known, hidden="prompts" in hide, revealed=drawn is not None)
    if "replies" in hide:
        for event in pages(ledger, seqs):
            if event.kind == "parse" and event.body is not None:
                _add_reading(event.body, known.texts)
    return known


def _add_digests(body: dict[str, Any], texts: HiddenTexts) -> None:
    for name in ("digest", "identity"):
        texts.add_digest(str(body[name]))


def _add_cases(ledger: Ledger, event: Event, wanted: Sequence[str], known: Known) -> None:
    body: dict[str, Any] = json.loads(event.body or "{}")
    if body.get("what") != "fixture":
        return
    _add_digests(body, known.texts)
    keys: Counter[str] = Counter()
    words: Counter[str] = Counter()
    cases = 0
    for _, _, case in case_lines(ledger, event):
        cases += 1
        for name in wanted:
            keys.update(keys_of(case.get(name)))
            said = set(leaves(case.get(name)))
            words.update(word for text in said for word in folded_words(text) if word == text.casefold())
            for text in said:
                known.texts.add(text)
    # A word that answers several cases is one of a list, which rules name; so is a name put together of common words.
    known.apart |= {word for word, count in (words + keys).items() if count > 1}
    known.apart |= {word for word in words if "_" in word and known.apart.issuperset(word.split("_"))}
    # Keys that every case has are the form that answers are written in; others say something.
    for key, count in keys.items():
        if count < cases:
            known.texts.add(key)
    if not cases:
        _add_file(ledger, event, known)


def _add_file(ledger: Ledger, event: Event, known: Known) -> None:
    """A fixture in a form of its own: every line of it is taken for a text."""
    try:
        data = ledger.blob(event, "file")
    except LedgerError:
        known.unread.append(event.seq)
        return
    for line in data.decode("utf-8", "replace").splitlines():
        known.texts.add(line)


def _add_template(ledger: Ledger, event: Event, known: Known, *, hidden: bool, revealed: bool) -> None:
    """A template, or at least its digests where it holds what is hidden."""
    body: dict[str, Any] = json.loads(event.body or "{}")
    if body.get("what") != "prompt":
        return
    try:
        data = ledger.blob(event, "file")
    except LedgerError:
        known.unread.append(event.seq)
        return
    if hidden or known.texts.held_by_bytes(data):
        _add_digests(body, known.texts)
    if hidden and not revealed:
        text = data.decode("utf-8", "replace")
        known.texts.add(text)
        for line in text.splitlines():
            known.texts.add_quotable(line)


def _add_reading(text: str, texts: HiddenTexts) -> None:
    value = json.loads(text).get("value")
    if not isinstance(value, str):
        return
    try:
        read = json.loads(value)
    except ValueError:
        read = value
    texts.add_quotable(value)
    for each in leaves(read):
        texts.add_quotable(each)
