"""The table of links: every field of every event kind that follows from another event, from what, and who holds it.

docs/LINKS.md is made of it. `PRIMARY` names the rest: fields that say something for the first time, and who says it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

__all__ = ["HOLDERS", "LINKS", "PRIMARY", "Holder", "Link"]

Holder = Literal["door", "verify", "deep", "read", "reader", "verify.py"]
HOLDERS: Mapping[Holder, str] = MappingProxyType({
    "door": "an append refuses it",
    "verify": "`ledger verify`",
    "deep": "`ledger verify --deep`",
    "read": "reports, views and pages, beside the number",
    "reader": "`ledger verify` of a bundle",
    "verify.py": "the reader inside a bundle, alone",
})  # fmt: skip
"""Who can hold a link, and how people call on them."""


@dataclass(frozen=True, slots=True)
class Link:
    """One line of the table. `fields` are paths into bodies, with their kind ahead; a blob is `kind.blobs.NAME`, causes
    are `kind.causes`, and `kind` alone is that the event is there. `follows` says from what, and who holds it."""

    name: str
    fields: tuple[str, ...]
    follows: str
    held: frozenset[Holder]


def _rows(*rows: tuple[str, str, str, str]) -> tuple[Link, ...]:
    by_letter: Mapping[str, Holder] = {
        "a": "door", "v": "verify", "d": "deep", "r": "read", "b": "reader", "p": "verify.py",
    }  # fmt: skip
    return tuple(
        Link(name, tuple(fields.split()), follows, frozenset(by_letter[letter] for letter in held))
        for name, fields, follows, held in rows
    )


# The letters: a door, v verify, d deep, r reads, b our reader of bundles, p the bundle's own verify.py.
LINKS: tuple[Link, ...] = (
    *_rows(
        ("genesis.tables", "genesis.tables", "the tables and guards in the file", "v"),
        ("schema.digest", "schema.release schema.digest", "the views and indexes in the file", "v"),
        ("freeze.digest", "freeze.digest freeze.blobs.file", "the bytes of the blob `file`", "drbp"),
        ("freeze.identity", "freeze.identity", "of rules the file and every source; else the digest", "drbp"),
        ("freeze.sources", "freeze.sources freeze.blobs.sources", "each source in the blob `sources`", "drbp"),
        ("freeze.cases", "freeze.blobs.cases", "every case of the file: id, line, digests of input and gold", "drbp"),
        ("freeze.case_ids", "freeze.blobs.file", "a case's id stands once in a file", "drbp"),
        ("freeze.jsonl", "freeze.blobs.jsonl", "the foreign file, read again by its format", "db"),
    ),
    *_rows(
        ("plan.causes", "plan.causes", "the freezes that the plan names, and what its servers told", "dbp"),
        ("plan.labels", "plan.candidates.label plan.rules.label plan.fixtures.name", "each once in its plan", "drbp"),
        ("plan.fixtures", "plan.fixtures.name plan.fixtures.freeze plan.fixtures.cases plan.suite",
         "the freeze of the fixture: its name and how many cases its file has", "drbp"),
        ("plan.rules", "plan.rules.name plan.rules.label plan.rules.identity plan.rules.freeze",
         "the freeze of the rule set: its name and identity", "drbp"),
        ("plan.metrics", "plan.rules.metrics.name plan.rules.metrics.kind plan.rules.metrics.primary",
         "the frozen rule file", "drb"),
        ("plan.planned", "plan.rules.metrics.planned", "the kept cases that it applies to, times the epochs", "drbp"),
        ("plan.prompt", "plan.candidates.prompt plan.candidates.prompt_freeze", "the freeze of the prompt", "drbp"),
        ("plan.candidate", "plan.candidates.digest plan.candidates.protocol plan.candidates.model"
         " plan.candidates.parameters plan.candidates.stream", "the keyed digest of all that decides a request", "drb"),
        ("plan.server", "plan.candidates.server", "the look-ups ahead of the plan, where they are events", "db"),
        ("plan.prices", "plan.prices", "a freeze of a price list", "drb"),
        ("plan.price", "plan.candidates.price", "the frozen price list", "drb"),
        ("plan.filter", "plan.filter", "the conditions that were asked for, and the meta of the frozen cases", "drb"),
        ("plan.limit", "plan.limit", "less than the cases that the filter keeps", "drbp"),
        ("plan.cells", "plan.cells", "candidates times epochs times kept cases", "drbp"),
        ("plan.epochs", "plan.epochs", "how often each case of each candidate has a cell", "drbp"),
        ("plan.arms", "plan.arms plan.suite_arms", "the arms of the cells", "drbp"),
        ("plan.grades", "plan.grades", "runs that were planned before, whose answers the cells rest on", "db"),
        ("plan.via", "plan.via", "imported answers are no requests, and the other way round", "db"),
        ("plan.probe", "plan.purpose", "a probe has one cell, one candidate, no fixture and no rules", "drbp"),
    ),
    *_rows(
        ("cell.once", "cell", "an ordinal has one cell", "vdrbp"),
        ("cell.order", "cell", "cells stand in the order of their ordinals", "drbp"),
        ("cell.all", "cell", "every planned cell stands before anything is asked", "drbp"),
        ("cell.product", "cell.case cell.fixture cell.candidate cell.epoch",
         "the case, candidate and epoch that the plan has at its place", "drbp"),
        ("cell.input", "cell.input", "the keyed digest of the frozen case's input", "drbp"),
        ("cell.gold", "cell.gold", "the keyed digest of the frozen case's gold", "drbp"),
        ("cell.people", "cell.people plan.people", "the keyed digest of what is people's in the frozen meta", "drb"),
        ("cell.twin", "cell.twin", "kept cases before it with the same input", "drbp"),
        ("cell.arm", "cell.arm", "the arm of the run, or of its fixture by the plan", "drbp"),
        ("cell.identity", "cell.identity", "suite, input, candidate, arm, epoch and twin", "drbp"),
        ("cell.causes", "cell.causes", "the plan of its run; of a judge's, the answer too", "dbp"),
        ("cell.evidence", "cell.causes", "the answer that the judge's frozen case was made of", "db"),
    ),
    *_rows(
        ("request.causes", "request.causes", "its cell", "dbp"),
        ("request.model", "request.blobs.body", "the model of the plan's candidate", "dbp"),
        ("request.parameters", "request.blobs.body", "the parameters of the plan's candidate", "dbp"),
        ("request.text", "request.blobs.body", "the frozen prompt, filled with the frozen case", "dbp"),
        ("request.tools", "request.tools", "the keyed digest of the tools in its body", "dbp"),
        ("request.bytes", "request.blobs.body", "what the pure body functions make, byte for byte", "db"),
        ("request.address", "request.method request.url", "the address of the plan, or the one accepted since", "dbp"),
        ("request.attempt", "request.attempt", "one more than the attempt before it", "dbp"),
        ("request.turn", "request.turn", "0: a cell has one turn", "dbp"),
        ("request.open", "request", "the attempt before it has a response or a fault", "dbp"),
        ("request.again", "request", "a wait, or a resume that asked for what the cell was", "dbp"),
        ("request.after_close", "request", "a resume after the close", "dbp"),
        ("response.of", "response.causes", "a request of its cell", "dbp"),
        ("response.once", "response", "a request has one response", "dbp"),
        ("response.attempt", "response.attempt response.turn", "those of its request", "dbp"),
        ("response.after_close", "response", "a resume after the close", "dbp"),
        ("response.whole", "response.whole", "not whole where a fault cut it, else whole", "dbp"),
        ("fault.attempt", "fault.attempt fault.turn", "those of its request", "dbp"),
        ("fault.once", "fault", "an attempt has one fault", "dbp"),
        ("fault.reason", "fault.stage fault.reason fault.domain", "the taxonomy of outcomes", "db"),
        ("fault.causes", "fault.causes", "what failed, of its own cell", "dbp"),
        ("wait.attempt", "wait.attempt wait.turn", "those of the attempt that it waits after", "dbp"),
        ("wait.why", "wait.why", "what that attempt came to: an error", "dbp"),
        ("wait.asked", "wait.asked", "the response's header Retry-After", "db"),
        ("wait.causes", "wait.causes", "that attempt's events", "dbp"),
        ("reuse.of", "reuse.of reuse.causes", "a response of another run", "dbp"),
        ("reuse.hash", "reuse.hash", "the hash of that event", "dbp"),
        ("reuse.identity", "reuse", "both cells have one identity", "dbp"),
        ("reuse.all", "reuse", "every answer that fits is taken over, unless the plan says which outcomes are", "d"),
        ("reuse.once", "reuse", "a response is taken over once a run", "dbp"),
    ),
    *_rows(
        ("parse.value", "parse.status parse.stage parse.reason parse.domain parse.flags parse.value parse.span"
         " parse.usage parse.stop parse.model parse.served parse.blobs.value",
         "the reply's bytes, read under the rule set", "db"),
        ("parse.evidence", "parse.causes", "the attempt that stood for its cell", "db"),
        ("parse.causes", "parse.causes", "a freeze of rules, and a reply of its own cell", "dbp"),
        ("derived.rules", "parse.rules confirm.rules score.rules", "the freeze or the parse that it rests on", "dbp"),
        ("confirm.findings", "confirm.findings confirm.rejections", "the parse and the case", "db"),
        ("confirm.causes", "confirm.causes", "a parse of its own cell", "dbp"),
        ("score.outcome", "score.outcome score.status score.stage score.reason score.domain score.value score.applies"
         " score.metrics score.policy score.verdict score.classes score.blocked_by", "reply, case and rule set", "db"),
        ("score.withheld", "score.outcome", "the parse that is still shown, where the reply is withheld", "dbp"),
        ("score.joined", "score.outcome", "the judge's score that it rests on", "db"),
        ("score.causes", "score.causes", "its cell, and what was derived or came of it", "dbp"),
    ),
    *_rows(
        ("tally.freeze", "tally.freeze tally.rules", "the freeze of the rule set that the scores were made by", "dbp"),
        ("tally.outcomes", "tally.outcomes", "the last score of every planned cell", "drbp"),
        ("tally.metrics", "tally.metrics.candidate tally.metrics.metric tally.metrics.kind tally.metrics.k"
         " tally.metrics.total tally.metrics.n tally.metrics.planned tally.metrics.primary tally.metrics.unmeasured",
         "the last scores, counted again", "dbp"),
        ("tally.causes", "tally.causes", "the rule set and the plan; of a join, the judge's tally", "dbp"),
        ("close.planned", "close.planned", "the cells of the plan", "dbp"),
        ("close.asked", "close.asked", "cells that were asked, but for those taken over", "dbp"),
        ("close.outcomes", "close.outcomes", "the tallies that it closes with", "dbp"),
        ("close.status", "close.status", "whether a cell is unfinished, and whether the plan is a part", "dbp"),
        ("close.causes", "close.causes", "the plan and its tallies", "dbp"),
        ("accept.component", "accept.component", "endpoint or code", "db"),
        ("accept.before", "accept.before", "the plan, or what was accepted before", "db"),
        ("accept.causes", "accept.causes", "the plan of its run", "dbp"),
        ("resume.accept", "resume.accept", "the accepts that follow it", "db"),
        ("resume.causes", "resume.causes", "the plan, the close before it, and what servers told", "dbp"),
        ("lookup.body", "lookup.blobs.body", "what the plan says of the server", "d"),
        ("lookup.candidate", "lookup.candidate", "a candidate of the plan that follows", "db"),
    ),
    *_rows(
        ("report.digest", "report.digest report.blobs.file", "the bytes of the blob `file`", "dbp"),
        ("report.head", "report.head report.size", "the event at that place", "dbp"),
        ("report.run", "report.run report.figures", "the run and rules of the tallies that its figures name", "dbp"),
        ("report.figures", "report.figures", "the tallies that they name", "dbp"),
        ("report.marks", "report.figures", "how the answers came about, by the events before it", "d"),
        ("report.corrects", "report.corrects", "a report", "d"),
        ("publish.report", "publish.report", "a report before it", "d"),
        ("gate.run", "gate.run gate.against", "two runs, whose tallies it rests on", "d"),
        ("gate.outcome", "gate.outcome", "the worst of its results", "d"),
        ("gate.results", "gate.results", "the tallies that it rests on", "d"),
        ("gate.marks", "gate.results", "how the answers came about, by the events before it", "d"),
        ("supersede.target", "supersede.target.what supersede.target.id", "something that is there", "d"),
        ("supersede.by", "supersede.by.what supersede.by.id", "something that is there", "d"),
        ("taint.target", "taint.target.what taint.target.id", "something that is there, and among its causes", "d"),
        ("clear.taint", "clear.taint", "a taint", "d"),
        ("import.digest", "import.digest import.blobs.file import.blobs.output", "the bytes of its blob", "db"),
        ("import.labels", "import.claimed", "of people's labels: the run they are about, and how many there are", "d"),
        ("import.artifact", "import.blobs.output", "the artifact, read again by its format", "db"),
        ("redact.targets", "redact.bodies redact.blobs_withheld redact.causes", "what is withheld, and no more", "v"),
        ("anchor.root", "anchor.size anchor.root", "the tree of the first `size` lines", "v"),
    ),
)  # fmt: skip
"""Every link, in the order of a run's life."""

PRIMARY: Mapping[str, str] = MappingProxyType({
    "genesis.format genesis.origin genesis.id genesis.identity_key": "whoever made the ledger",
    "freeze.what freeze.name": "whoever froze it; plans and labels are held to it",
    "plan.name plan.tags plan.ask plan.given plan.candidates.base_url plan.environment plan.code": "whoever ran it",
    "request.headers request.masked.where request.masked.times request.masked.bytes": "the engine, as it asked",
    "response.status response.headers response.headers_ms response.total_ms response.masked.where"
    " response.masked.times response.masked.bytes": "the server; readings follow from it",
    "fault.detail fault.total_ms wait.seconds": "the harness, as it met it",
    "execute.argv execute.isolation execute.exit execute.signal execute.limits": "the sandbox",
    "close.reason accept.after accept.reason resume.retry resume.reason": "whoever ran it, in words or by an option",
    "supersede.category supersede.reason taint.reason clear.reason redact.category redact.reason note.text"
    " publish.to report.format": "a person",
    "gate.what gate.tag gate.suite gate.margin gate.lenient": "whoever asked for the gate",
    "import.format import.tool import.grade": "who read the artifact",
    "lookup.method lookup.url lookup.headers lookup.status lookup.detail lookup.masked.where lookup.masked.times"
    " lookup.masked.bytes": "the server that was asked",
    "anchor.what anchor.key": "who signed",
})  # fmt: skip
"""Fields that follow from no other event, several a line, and who says them."""
