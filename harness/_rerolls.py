"""Which answers are asked for again by choice, as people name them: by outcome, status or reason.

Only faults of transport, provider and harness are asked again unasked. Whoever has answers asked again says which, and
every figure then says how many: choosing what to repeat raises scores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from harness._errors import UsageError
from harness._outcomes import PATTERNS, REASONS
from harness._session import UNFINISHED
from ledger import printable
from ledger.kinds import Score

__all__ = ["counts_text", "named", "outcome_names", "to_retry", "word_of"]

_ALSO: Mapping[str, str] = {"wrong": "incorrect", "cut": "truncated"}
_MEASURED = ("correct", "incorrect", "graded")
_WORDS: Mapping[str, str] = {"incorrect": "wrong"}
_ORDER = ("correct", "graded", "incorrect")


def outcome_names(given: Iterable[str], option: str, own: Collection[str] = ()) -> tuple[str, ...]:
    """The names as they are recorded: `wrong` is incorrect, `cut` truncated. `own` are reasons that a suite brings.

    Raises UsageError for what is the name of no outcome, status or reason of an answer.
    """
    found = tuple(dict.fromkeys(_ALSO.get(name, name) for name in given))
    answers = {status for status, _ in REASONS} - UNFINISHED - {"parsed"}
    reasons = {name for status, name in REASONS if status not in UNFINISHED} - {""}
    for name in found:
        known = name in (*_MEASURED, *answers, *reasons, *own)
        if not known and not any(kind.status not in UNFINISHED and each.fullmatch(name) for each, kind in PATTERNS):
            there = ", ".join([*_MEASURED, *sorted(answers)])
            raise UsageError(f"{option}: expected an outcome ({there}) or a reason of one, got {printable(name)!a}")
    return found


def word_of(score: Score) -> str:
    """What an answer came to, in one name: its outcome, or the status of one that is unmeasured."""
    return score.status if score.outcome == "unmeasured" else score.outcome


def named(score: Score, names: Collection[str]) -> bool:
    """Whether an answer's outcome, status or reason is among the names."""
    return word_of(score) in names or (score.outcome == "unmeasured" and score.reason in names)


def to_retry(scores: Sequence[Score], retry: Collection[str]) -> bool:
    """Whether a cell is asked again: named under some rule set, and under none a measured answer that isn't named."""
    free = all(score.outcome == "unmeasured" or score.outcome in retry for score in scores)
    return bool(scores) and free and any(named(score, retry) for score in scores)


def counts_text(counts: Mapping[str, int]) -> str:
    """`correct 80, wrong 30, refused 10`: the measured first, then the most."""
    order = sorted(counts.items(), key=lambda one: (_place(one[0]), -one[1], one[0]))
    return ", ".join(f"{_WORDS.get(name, name)} {count}" for name, count in order if count)


def _place(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)
