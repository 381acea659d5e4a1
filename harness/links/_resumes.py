"""Links of resumes: what each went on from, and what was accepted for it.

A resume rests on the plan, on the close before it, and on what servers were asked since the last one. What a person
accepted follows from the resume that says so, and what a resume says was accepted follows from it. Of a run whose plan
is older than this kind of event, what was accepted ahead of its first resume is no question.
"""

from __future__ import annotations

from collections.abc import Iterable

from harness._replies import seqs_in
from harness._typed import typed
from harness.links._broken import Finder
from ledger import Ledger
from ledger.kinds import Accept, Plan, Resume

__all__ = ["check_resumes"]

_EVENTS = (
    "SELECT seq, kind, causes, body FROM main.events WHERE run = ? AND kind IN ('resume', 'accept', 'close', 'lookup')"
    " ORDER BY seq"
)


def check_resumes(ledger: Ledger, run: str, plan: tuple[int, Plan], finder: Finder) -> None:
    """Hold every resume of a run. A body that is withheld says nothing, and nothing is held against it."""
    at, planned = plan
    close = resume = 0
    looked: set[int] = set()
    # None: not known, so whatever is accepted may have been.
    named: set[str] | None = None if planned.suite_arms is None else set()
    missing: set[str] = set()
    for seq, kind, causes, text in ledger.sql(_EVENTS, (run,)):
        if kind == "close":
            close = seq
        elif kind == "lookup":
            # Those ahead of the plan are the plan's own; of one that was refused no resume followed.
            looked |= {seq} if seq > at else set()
        elif kind == "resume":
            _none_missing(missing, resume, finder)
            _rests_on(seq, {*seqs_in(causes)} - looked, {at, close} - {0}, finder)
            looked = set()
            resume = seq
            named = None if text is None else {*typed(Resume, text, f"event {seq}").accept}
            missing = {*(named or ())}
        elif text is None:
            missing = set()
        else:
            component = typed(Accept, text, f"event {seq}").component
            missing.discard(component)
            if named is not None and component not in named:
                said = ", ".join(sorted(named)) or "nothing"
                finder.broken("resume.accept", resume or seq, "accept", said, seq, component)
    _none_missing(missing, resume, finder)


def _rests_on(seq: int, causes: set[int], follows: set[int], finder: Finder) -> None:
    if causes != follows:
        other = min(causes - follows or follows - causes)
        finder.broken("resume.causes", seq, "causes", sorted(causes), other, sorted(follows))


def _none_missing(components: Iterable[str], resume: int, finder: Finder) -> None:
    for component in sorted(components):
        finder.broken("resume.accept", resume, "accept", component, 0, "what an accept after it names")
