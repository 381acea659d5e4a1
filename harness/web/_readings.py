"""How a cell was read, confirmed and scored under each rule set, as its page shows it: side by side, and in the text
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from markupsafe import Markup

from harness._json import JSON, JSONError, loads
from harness._outcomes import reason as known_reason
from harness._suite import Case
from harness.suites import Stages
from harness.web._asking import Failed, failed
from harness.web._claims import Claim, claims_of
from harness.web._grades import Elsewhere, judged_in
from harness.web._judgement import Judgement, judgement_of
from harness.web._numbers import BlobAt, Numbers, blob_at, unreadable
from harness.web._reread import Again, Thawed, read_again, thawed
from harness.web._story import Item, Scoring, Story
from harness.web._words import flag_words, reason_words
from ledger import Ledger
from ledger.kinds import Confirm, Execute, Parse, Score
from ledger.web import Excerpt, Figure, Mark, View, excerpts, tree

__all__ = ["Heard", "Ran", "Reading", "readings", "texts"]


@dataclass(frozen=True)
class Ran:
    """Untrusted code that ran, and what it left behind."""

    item: Item
    argv: Sequence[str]
    isolation: str
    exit: Figure
    signal: Figure | None
    limits: Sequence[str]
    blobs: Sequence[BlobAt]


@dataclass(frozen=True)
class Reading:
    """One scoring of the cell, ready to be shown. `why` says what keeps the parse from being shown.

    `judgement` stands in the place of claims where a judge's reply was read; `judged` is the judge's cell, where the
    score is a grade that joined the run.
    """

    label: str
    anchor: str
    scoring: Scoring
    thawed: Thawed
    again: Again
    outcome: str = ""
    status: str = ""
    stage: str = ""
    reason: str = ""
    domain: str = ""
    sentence: str = ""
    value: Figure | None = None
    metrics: Sequence[tuple[str, Figure | None]] = ()
    verdict: str = ""
    policy: str = ""
    parsed: Parse | None = None
    parse_sentence: str = ""
    parse_why: str = ""
    spans: Sequence[tuple[Figure, Figure]] = ()
    flags: Sequence[tuple[str, str]] = ()
    usage: Sequence[tuple[str, Figure]] = ()
    answer: Markup | None = None
    answer_why: str = ""
    claims: Sequence[Claim] = ()
    more_claims: int = 0
    confirm_why: str = ""
    score_why: str = ""
    ran: Sequence[Ran] = ()
    failed: Failed | None = None
    classes: Sequence[tuple[str, str]] = ()
    blocked_by: Sequence[str] = ()
    judgement: Judgement | None = None
    judged: Elsewhere | None = None


@dataclass(frozen=True)
class Heard:
    """A decoded text with what was read in it marked, for every rule set (`readings`) that read it so."""

    readings: Sequence[Reading]
    evidence: Item
    pieces: Sequence[Excerpt]
    length: int
    reasoning: Sequence[Excerpt]
    reasoning_length: int
    marked: bool

    @property
    def whole(self) -> bool:
        """Whether all of the text is drawn."""
        return len(self.pieces) == 1 and self.pieces[0].end >= self.length

    @property
    def partial(self) -> bool:
        """Whether the text came beside what failed."""
        return any(each.parsed is not None and "partial_text" in each.parsed.flags for each in self.readings)

    @property
    def reasoning_whole(self) -> bool:
        """Whether all of the reasoning is drawn."""
        return not self.reasoning or self.reasoning[-1].end >= self.reasoning_length


def readings(view: View, story: Story, case: Case | None, numbers: Numbers, first: str) -> list[list[Reading]]:
    """By rule set, the one named `first` ahead and the others as in the report: its scorings, the one that counts first
    and then the older ones."""
    order = sorted(story.scorings, key=lambda label: (label != first, label))
    found: list[list[Reading]] = []
    for at, label in enumerate(order):
        newest_first = list(reversed(story.scorings[label]))
        mine = [
            _reading(view, story, each, case, numbers, f"rules-{at}" if back == 0 else "", whole=back == 0)
            for back, each in enumerate(newest_first)
        ]
        found.append(mine or [_none(label, f"rules-{at}")])
    return found


def _none(label: str, anchor: str) -> Reading:
    nothing = Scoring(label, None, None, (), None, None, None, None)
    return Reading(label, anchor, nothing, Thawed(None), Again(), score_why="not scored yet under this rule set")


def _reading(
    view: View, story: Story, scoring: Scoring, case: Case | None, numbers: Numbers, anchor: str, *, whole: bool
) -> Reading:
    ledger = view.ledger
    rules = thawed(view, story, scoring)
    judged = judged_in(ledger, scoring, rules)
    again = Again(unchecked="a judge graded it, in a cell of its own")
    if judged is None:
        again = read_again(view, story, scoring, rules, case) if whole else Again()
    found = Reading(scoring.label, anchor, scoring, rules, again, judged=judged)
    found = _with_score(ledger, found, numbers)
    found = _with_parse(ledger, found, numbers, whole=whole)
    if not whole:
        return found
    found = _with_claims(ledger, found, numbers, case)
    return replace(
        found,
        ran=[ran for each in scoring.executed if (ran := _ran(ledger, each, numbers)) is not None],
        failed=failed(ledger, scoring.failed, numbers) if scoring.failed is not None else None,
    )


def _with_score(ledger: Ledger, found: Reading, numbers: Numbers) -> Reading:
    item = found.scoring.score
    body = item.as_a(Score) if item is not None else None
    if item is None or body is None:
        return replace(found, score_why=unreadable(ledger, item) or "read, and not scored")
    metrics = [
        (name, numbers.of(item, "metrics", name, form="plain") if name in body.metrics else None)
        for name in dict.fromkeys([*body.applies, *body.metrics])
    ]
    return replace(
        found, outcome=body.outcome, status=body.status, stage=body.stage, reason=body.reason, domain=body.domain,
        sentence=_sentence(body, found.thawed.stages),
        value=numbers.of(item, "value", form="plain") if body.value is not None else None,
        metrics=metrics, verdict=body.verdict, policy=body.policy, classes=list(body.classes.items()),
        blocked_by=body.blocked_by,
    )  # fmt: skip


def _sentence(body: Score | Parse, stages: Stages | None) -> str:
    """What a status and its reason mean, by the taxonomy or the suite's own words."""
    own = stages.reasons if stages is not None else None
    try:
        return known_reason(cast("Any", body.status), body.reason, own).sentence
    except LookupError:
        return reason_words(body.stage, body.reason)


# Parse


def _with_parse(ledger: Ledger, found: Reading, numbers: Numbers, *, whole: bool) -> Reading:
    item = found.scoring.parse
    body = item.as_a(Parse) if item is not None else None
    if item is None or body is None:
        said = "no response was read" if found.judged is None else "read by a judge, in a cell of its own"
        return replace(found, parse_why=unreadable(ledger, item) or said)
    text, why = _value(ledger, item, body, numbers)
    return replace(
        found, parsed=body, parse_sentence=_sentence(body, found.thawed.stages),
        spans=[
            (numbers.of(item, "span", at, 0), numbers.of(item, "span", at, 1)) for at in range(len(body.span[:20]))
        ],
        flags=[(flag, flag_words(flag)) for flag in body.flags],
        usage=[(name, numbers.of(item, "usage", name)) for name in body.usage or {}],
        answer=tree(text) if text is not None and whole else None, answer_why=why,
    )  # fmt: skip


def _value(ledger: Ledger, item: Item, body: Parse, numbers: Numbers) -> tuple[str | None, str]:
    """The parsed value as JSON text, out of the body or the blob that a long one has; or why it can't be had."""
    blob = blob_at(ledger, item, "value", numbers)
    if blob is None:
        return body.value, ""
    if blob.data is None:
        return None, blob.why
    return blob.data.decode("utf-8", "surrogatepass"), ""


# Confirm


def _with_claims(ledger: Ledger, found: Reading, numbers: Numbers, case: Case | None) -> Reading:
    item = found.scoring.confirm
    body = item.as_a(Confirm) if item is not None else None
    if item is None or body is None:
        return replace(found, confirm_why=unreadable(ledger, item))
    judgement = judgement_of(item, body, found.thawed, case, numbers)
    if judgement is not None:
        return replace(found, judgement=judgement)
    claims, more = claims_of(item, body, found.thawed, _parsed_value(ledger, found, numbers), case, numbers)
    return replace(found, claims=claims, more_claims=more)


def _parsed_value(ledger: Ledger, found: Reading, numbers: Numbers) -> JSON:
    item = found.scoring.parse
    body = item.as_a(Parse) if item is not None else None
    if item is None or body is None:
        return None
    text, _ = _value(ledger, item, body, numbers)
    try:
        return loads(text) if text is not None else None
    except JSONError:
        return None


# Execute


def _ran(ledger: Ledger, item: Item, numbers: Numbers) -> Ran | None:
    body = item.as_a(Execute)
    if body is None:
        return None
    blobs = [found for name in body.blobs if (found := blob_at(ledger, item, name, numbers)) is not None]
    return Ran(
        item, body.argv, body.isolation, numbers.of(item, "exit", form="plain"),
        numbers.of(item, "signal", form="plain") if body.signal is not None else None, body.limits, blobs,
    )  # fmt: skip


# The text


def texts(found: Sequence[Sequence[Reading]]) -> list[Heard]:
    """Each decoded text once for every way in which it was read, by the scorings that count. A text in which nothing
    was read is left out where another rule set's marks stand in the same."""
    groups: dict[tuple[int, str, tuple[tuple[int, int], ...]], list[Reading]] = {}
    for reading, *_ in found:
        if reading.scoring.evidence is not None and reading.again.text is not None:
            spans = tuple((start, end) for start, end in reading.parsed.span) if reading.parsed is not None else ()
            groups.setdefault((reading.scoring.evidence.seq, reading.again.text, spans), []).append(reading)
    read_in = {(seq, text) for seq, text, spans in groups if spans}
    return [
        _heard(mine, text, spans) for (seq, text, spans), mine in groups.items() if spans or (seq, text) not in read_in
    ]


def _heard(mine: Sequence[Reading], text: str, spans: Sequence[tuple[int, int]]) -> Heard:
    evidence = mine[0].scoring.evidence
    assert evidence is not None
    under = ", ".join(each.label for each in mine)
    parsed = mine[0].parsed
    what = "read" if parsed is not None and parsed.status != "ambiguous" else "one of several candidates"
    marks = [
        Mark(start, end, "read", f"{what} under {under}", f"{mine[0].anchor}-read" if at == 0 else "")
        for at, (start, end) in enumerate(spans)
    ]
    reasoning = next((each.again.reasoning for each in mine if each.again.reasoning), None) or ""
    return Heard(
        mine, evidence, excerpts(text, marks), _length(text), excerpts(reasoning) if reasoning else (),
        _length(reasoning), bool(spans),
    )  # fmt: skip


def _length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
