"""An answer's claims and what became of each: held or not and why, with the stretch of the source that it cites."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from markupsafe import Markup

from harness._json import JSON
from harness._suite import Case
from harness.web._evidence import Evidence, evidence_of, said_of
from harness.web._numbers import Numbers
from harness.web._reread import Thawed
from harness.web._story import Item
from ledger.kinds import Confirm
from ledger.web import Excerpt, Figure, Mark, excerpts, tree

__all__ = ["Cited", "Claim", "claims_of"]

_MOST_CLAIMS = 50
_BESIDE = ("proposal", "reason", "reasons")


@dataclass(frozen=True)
class Cited:
    """An item of the case's source, with the cited stretch of it marked."""

    item: str
    note: str
    pieces: Sequence[Excerpt]
    whole: bool
    length: int


@dataclass(frozen=True)
class Claim:
    """One claim of the answer and what became of it. `reasons` are those why it isn't held, each with a sentence."""

    held: bool
    number: Figure | None
    facts: Markup | None
    reasons: Sequence[tuple[str, str]]
    said: Markup | None
    cited: Sequence[Cited]


def claims_of(
    item: Item, body: Confirm, thaw: Thawed, value: JSON, case: Case | None, numbers: Numbers
) -> tuple[list[Claim], int]:
    """The claims of a confirm event in the order of the answer, and how many are left out past the first fifty.

    `value` is the answer that was parsed, None where it can't be had.
    """
    every = [("findings", at, each) for at, each in enumerate(body.findings)]
    every += [("rejections", at, each) for at, each in enumerate(body.rejections)]
    every.sort(key=lambda each: _proposal(each[2]))
    shown = [
        _claim(item, where, at, _table(each), thaw, value, case, numbers) for where, at, each in every[:_MOST_CLAIMS]
    ]
    return shown, max(0, len(every) - _MOST_CLAIMS)


def _table(claim: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", claim) if isinstance(claim, dict) else {"claim": claim}


def _proposal(claim: object) -> int:
    match claim:
        case {"proposal": int(number)}:
            return number
        case _:
            return 0


def _claim(
    item: Item, where: str, at: int, claim: Mapping[str, Any], thaw: Thawed, value: JSON, case: Case | None,
    numbers: Numbers,
) -> Claim:  # fmt: skip
    said = said_of(value, claim)
    stages = thaw.stages
    words = stages.rejections if stages is not None else cast("Mapping[str, str]", {})
    facts = {name: each for name, each in claim.items() if name not in _BESIDE}
    found: Sequence[Evidence] = ()
    if stages is not None and thaw.rules is not None and case is not None:
        found = evidence_of(stages.name, case.input, claim, said, thaw.rules.confirm)
    return Claim(
        where == "findings", numbers.of(item, where, at, "proposal") if "proposal" in claim else None,
        tree(json.dumps(facts, ensure_ascii=False)) if facts else None,
        [(name, words.get(name, "")) for name in _reasons(claim)],
        tree(_written(said)) if said is not None else None,
        [_cited(each) for each in found],
    )  # fmt: skip


def _written(value: JSON) -> str:
    """A value as JSON text again, its numbers in the spelling that they had."""
    try:
        return _text(value)
    except RecursionError:
        return '"nested deeper than this page folds"'


def _text(value: JSON) -> str:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{json.dumps(name)}: {_text(each)}' for name, each in value.items())}}}"
    return json.dumps(value, ensure_ascii=False)


def _reasons(claim: Mapping[str, Any]) -> list[str]:
    """The reasons of a rejection, the one that goes first ahead."""
    more = claim.get("reasons")
    listed = [claim.get("reason"), *(cast("list[Any]", more) if isinstance(more, list) else [])]
    return list(dict.fromkeys(str(each) for each in listed if each is not None))


def _cited(found: Evidence) -> Cited:
    def at(place: int) -> int:
        return len(found.text[:place].encode("utf-8", "surrogatepass"))

    pieces = excerpts(found.text, [Mark(at(start), at(end), "cited", "cited") for start, end in found.spans])
    length = at(len(found.text))
    return Cited(
        found.item, found.note, pieces if found.text else (), len(pieces) == 1 and pieces[0].end >= length, length
    )
