"""A reply read again for its page: the decoded text that spans count in, and whether it reads today as it is recorded.

The text is never stored, since the bytes are: it is decoded here as deriving does it, under the rule set as it was
frozen, by the code that is here.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from typing import cast

from harness._derive import Derived, Reply, derive, read_and_check
from harness._errors import HarnessError
from harness._replies import read_replies
from harness._rules import RuleSet, builtin_names, builtin_rules, moved_sources
from harness._suite import Ask, Case
from harness._thaw import thaw_rules
from harness.parse import ReadRules, read_fault, read_reply
from harness.suites import Stages, stages
from harness.web._story import Item, Scoring, Story
from ledger import Ledger, LedgerError, over_views
from ledger.kinds import Body, Confirm, Parse, Score
from ledger.web import View

__all__ = ["Again", "Thawed", "read_again", "thawed"]

_FREEZE = over_views("SELECT freeze FROM run_rules WHERE run = ? AND rules = ?")
_MOST_READ = 128 << 10
"""Bytes of a reply that are read and derived anew for a page; of a longer one the text alone is taken."""


@dataclass(frozen=True)
class Thawed:
    """A rule set as it was frozen, or `why` it can't be had. `moved` names its modules whose source is another here."""

    rules: RuleSet | None
    why: str = ""
    moved: tuple[str, ...] = ()

    @property
    def stages(self) -> Stages | None:
        """The suite's stages, for a rule set that belongs to one."""
        return stages(self.rules.stages) if self.rules is not None and self.rules.stages else None


@dataclass(frozen=True)
class Again:
    """A reply read today. `text` and `reasoning` are None where there is none, or `why` says why they can't be shown.

    `checked` says that the reading was derived anew and held against what is recorded; `differs` names the events that
    come out otherwise ("parse", "confirm", "score").
    """

    text: str | None = None
    reasoning: str | None = None
    why: str = ""
    checked: bool = False
    differs: tuple[str, ...] = ()
    unchecked: str = ""


def thawed(view: View, story: Story, scoring: Scoring) -> Thawed:
    """The rule set that a scoring was made under."""
    label = scoring.label
    freeze = next((each.freeze for each in story.plan.rules if each.label == label), scoring.freeze)
    if freeze is None and label and story.plan.purpose != "probe":
        # Grades that joined rest on the judge's score; their rule set is the tally's.
        freeze = next((row["freeze"] for row in view.ledger.rows(_FREEZE, (story.run, label))), None)
    if freeze is None:
        return _built_in(label)
    return view.memory.kept(
        view.ledger, view.size, story.run, ("rules", freeze, label), lambda ledger: _thaw(ledger, freeze, label),
        own=True,
    ).value  # fmt: skip


def _built_in(label: str) -> Thawed:
    """A probe freezes nothing: it reads under a rule set that ships with the package, here perhaps another."""
    name = label.rpartition("@")[0] or label
    if name not in builtin_names():
        return Thawed(None, "no freeze of this rule set is named in the ledger")
    rules = builtin_rules(name)
    return Thawed(rules) if label in (rules.label, name) else Thawed(rules, "", ("its file or code",))


def _thaw(ledger: Ledger, freeze: int, label: str) -> Thawed:
    try:
        rules = thaw_rules(ledger, freeze)
    except (HarnessError, LedgerError) as problem:
        return Thawed(None, str(problem))
    if rules.label != label:
        return Thawed(None, f"event {freeze} freezes another rule set")
    return Thawed(rules, "", moved_sources(rules))


def read_again(view: View, story: Story, scoring: Scoring, rules: Thawed, case: Case | None) -> Again:
    """The reply that a scoring rests on, read under its rule set. What took long is kept."""
    evidence = scoring.evidence
    if evidence is None:
        return Again()
    key = ("again", story.run, story.cell, evidence.seq, _end(scoring), scoring.label)
    return view.memory.kept(
        view.ledger, view.size, story.run, key, lambda ledger: _read(ledger, story, scoring, rules, case), own=True
    ).value  # fmt: skip


def _end(scoring: Scoring) -> int:
    last = scoring.score or scoring.confirm or scoring.parse
    return last.seq if last else 0


def _read(ledger: Ledger, story: Story, scoring: Scoring, thaw: Thawed, case: Case | None) -> Again:
    place = story.place(ledger, scoring.evidence)
    if place is None or story.candidate is None:
        return Again(why="nothing says how its bytes are to be read")
    try:
        (_, reply), *_ = read_replies(ledger, [place], {story.candidate.label: story.candidate})
    except (HarnessError, LedgerError, sqlite3.Error) as problem:
        return Again(why=f"what it rests on can't be read: {problem}")
    if reply is None:
        return Again(why="what it rests on is withheld by a redaction")
    if reply.wire is None:
        return _checked(Again(), reply, story, scoring, thaw, case)
    rules = thaw.rules
    if rules is None or len(reply.wire.body) > _MOST_READ:
        found = _plain(reply, rules.read if rules is not None else ReadRules.strict())
        said = thaw.why if rules is None else "it is too long to be read anew for a page"
        return replace(found, unchecked=said)
    ask = cast("Ask", story.plan.ask)
    if thaw.stages is None:
        reading = read_reply(
            reply.wire, protocol=reply.protocol, stream=reply.stream, ask=ask, rules=rules.read, now=reply.at
        )
        return Again(reading.text, reading.reasoning, unchecked="it was read, and belongs to no suite that scores it")
    reading = read_and_check(reply, ask=ask, stages=thaw.stages, rules=rules.read).reading
    return _checked(Again(reading.text, reading.reasoning), reply, story, scoring, thaw, case)


def _plain(reply: Reply, rules: ReadRules) -> Again:
    """The text of a reply, without looking for a value in it."""
    if reply.wire is None:
        reading = read_fault(*(reply.fault or ("harness", "internal")))
    else:
        only = ReadRules(reasoning=rules.reasoning, terminal=rules.terminal)
        reading = read_reply(
            reply.wire, protocol=reply.protocol, stream=reply.stream, ask="text", rules=only, now=reply.at
        )
    return Again(reading.text, reading.reasoning)


def _checked(found: Again, reply: Reply, story: Story, scoring: Scoring, thaw: Thawed, case: Case | None) -> Again:
    """`found`, with what a derivation of today comes to beside what is recorded."""
    if thaw.rules is None or thaw.stages is None or case is None or scoring.score is None:
        return replace(found, unchecked=thaw.why or "the case that it was scored by can't be read")
    if scoring.failed is not None:
        return replace(found, unchecked="our own code failed on it when it was scored")
    try:
        derived = derive(reply, ask=cast("Ask", story.plan.ask), stages=thaw.stages, case=case, rules=thaw.rules)
    except Exception as problem:  # noqa: BLE001  our own code may fail on a reply; the page says so
        return replace(found, unchecked=f"deriving it here fails: {type(problem).__name__}")
    parts = (("parse", scoring.parse), ("confirm", scoring.confirm), ("score", scoring.score))
    if any(item is not None and item.body is None for _, item in parts):
        return replace(found, unchecked="some of what was recorded is withheld, or can't be read")
    differs = tuple(name for name, item in parts if not _same(name, item, derived))
    return replace(found, checked=True, differs=differs)


def _same(name: str, item: Item | None, derived: Derived) -> bool:
    now: Body | None = {"parse": derived.parse, "confirm": derived.confirm, "score": derived.score}[name]
    if item is None or now is None:
        return item is None and now is None
    body = item.body
    assert isinstance(body, Parse | Confirm | Score)
    blobs = {each: len(data) for each, data in derived.parse_blobs.items()} if name == "parse" else {}
    sizes = {each: reference.size for each, reference in body.blobs.items()}
    return sizes == blobs and body.model_copy(update={"blobs": {}}).model_dump() == now.model_dump()
