"""The confirmer: accepts a proposal only where the case's own text bears it out. No model, no judgement, no repair.

A proposal is confirmed when every clause holds:

    unknown_source, unknown_target   both items exist
    low_confidence                   confidence >= min_confidence, compared as decimals
    empty_span                       the cited span is not empty
    span_not_in_source               it is a part of the source item, both folded
    too_short                        the span holds enough letters and digits to be evidence, as the scorer quote
                                     counts them; all of an item is never too short     (min_span, 0: off)
    no_shared_scope_term             enough scope terms occur in both items, all folded   (shared_scope_terms, 0: off)
    bounded_span                     a `supersedes` whose span is about some customers ("for … customers") does not
                                     retire an item about all of them                     (bounded_customers)
    no_relation_in_span              one sentence of the span holds a scope term and a word of relation
                                                                                          (relation_in_span)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, cast

from harness._json import JSON
from harness.scorers import Quote, too_short
from harness.suites._registry import Confirmed
from harness.suites.authority._case import items
from harness.suites.authority._schema import REASONS, fault_of

__all__ = ["REJECTIONS", "confirm", "confirm_rules", "fold", "locate"]

REJECTIONS = MappingProxyType(
    {
        **REASONS,
        "unknown_source": "The source is no item of the case.",
        "unknown_target": "The target is no item of the case.",
        "low_confidence": "The confidence is below the gate.",
        "empty_span": "No span is cited.",
        "span_not_in_source": "The cited span does not stand in the source item.",
        "too_short": "The cited span is shorter than the rules ask, or says too little to be evidence.",
        "no_shared_scope_term": "Too few scope terms occur in both items.",
        "bounded_span": "The span is about some customers, the target about all of them.",
        "no_relation_in_span": "No sentence of the span holds both a scope term and a word of relation.",
    }
)

_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "min_confidence": Decimal("0.60"),
        "fold": ("lower", "space"),
        "min_span": 4,
        "shared_scope_terms": 1,
        "bounded_customers": True,
        "relation_in_span": False,
    }
)
_RELATION = re.compile(
    r"(?<!\w)(?:replace[ds]?|retire[ds]?|deprecated?|supersede[ds]?|overrides?|overridden|discontinued?|revoked?"
    r"|no\s+longer|instead|only|now)(?!\w)"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_UNIVERSAL = re.compile(r"(?<!\w)(?:all\s+customers|every\s+region|global)(?!\w)")
_CLAUSE_END = re.compile(r"[.;:!?](?=\s|$)")
_WORD = re.compile(r"[\w'’-]+")
_UNBOUNDED = frozenset({"all", "any", "each", "every", "global", "of", "our", "the", "your"})


def confirm_rules(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The [confirm] table of a rule file, checked and completed. Raises ValueError with one sentence."""
    unknown = set(table) - set(_DEFAULTS)
    if unknown:
        raise ValueError(f"unknown key {min(unknown)!a}; expected {', '.join(_DEFAULTS)}")
    rules = {**_DEFAULTS, **table}
    gate = rules["min_confidence"]
    if isinstance(gate, bool) or not isinstance(gate, int | Decimal) or not _between(Decimal(gate), 0, 1):
        raise ValueError(f"min_confidence: expected a number from 0 to 1, got {gate!a}")
    folds = cast("list[Any]", rules["fold"])
    if not isinstance(rules["fold"], list | tuple) or any(way not in ("lower", "space") for way in folds):
        raise ValueError(f'fold: expected a list out of "lower" and "space", got {folds!a}')
    for count in ("shared_scope_terms", "min_span"):
        least = rules[count]
        if isinstance(least, bool) or not isinstance(least, int) or least < 0:
            raise ValueError(f"{count}: expected a whole number from 0, got {least!a}")
    for switch in ("bounded_customers", "relation_in_span"):
        if not isinstance(rules[switch], bool):
            raise ValueError(f"{switch}: expected true or false, got {rules[switch]!a}")
    return MappingProxyType({**rules, "min_confidence": Decimal(gate), "fold": tuple(folds)})


def _between(value: Decimal, low: int, high: int) -> bool:
    return value.is_finite() and low <= value <= high


def confirm(value: JSON, case_input: JSON, rules: Mapping[str, Any]) -> Confirmed:
    """Hold the proposals in `value` (a list, as `schema` returns it) against the items of the case.

    A finding is {proposal, type, source, target, span, term}: `span` is [start, end) in characters of the source
    item, so that what is kept is a place in the case and not the model's copy of it; `term` is the index of the first
    shared scope term, or None where the rules ask for none. A rejection is {proposal, reason, reasons}.
    """
    known = items(case_input)
    findings: list[dict[str, Any]] = []
    rejections: list[dict[str, Any]] = []
    for index, proposal in enumerate(value if isinstance(value, list) else []):
        reasons = _failing(proposal, known, rules)
        if reasons:
            rejections.append({"proposal": index, "reason": reasons[0], "reasons": reasons})
        else:
            findings.append({"proposal": index, **_finding(cast("Mapping[str, Any]", proposal), known, rules)})
    return Confirmed(tuple(findings), tuple(rejections))


def _failing(proposal: JSON, known: Mapping[str, str], rules: Mapping[str, Any]) -> list[str]:
    """Every reason why a proposal is not confirmed; a wrong shape (`schema` stops those earlier) is the only one."""
    fault = fault_of(proposal)
    return [fault] if fault is not None else list(_clauses(cast("Mapping[str, Any]", proposal), known, rules))


def _clauses(proposal: Mapping[str, Any], known: Mapping[str, str], rules: Mapping[str, Any]) -> Iterator[str]:
    folds = rules["fold"]
    source, target = known.get(proposal["source_item_id"]), known.get(proposal["target_item_id"])
    if source is None:
        yield "unknown_source"
    if target is None:
        yield "unknown_target"
    if proposal["confidence"] < rules["min_confidence"]:
        yield "low_confidence"
    span = fold(proposal["cited_evidence_span"], folds)
    if not span.strip():
        yield "empty_span"
    else:
        at = -1 if source is None else fold(source, folds).find(span)
        if source is not None and at < 0:
            yield "span_not_in_source"
        held = Quote("none") if at < 0 else Quote("exact", ((at, at + len(span)),))
        if too_short(fold(source or "", folds), span, held, rules["min_span"]):
            yield "too_short"
    if source is not None and target is not None:
        if len(_shared(proposal["scope_terms"], source, target, folds)) < rules["shared_scope_terms"]:
            yield "no_shared_scope_term"
        if rules["bounded_customers"] and proposal["type"] == "supersedes" and _bounded(span) and _universal(target):
            yield "bounded_span"
    if rules["relation_in_span"] and not _relation_in(span, proposal["scope_terms"], folds):
        yield "no_relation_in_span"


def _finding(proposal: Mapping[str, Any], known: Mapping[str, str], rules: Mapping[str, Any]) -> dict[str, Any]:
    source, target = known[proposal["source_item_id"]], known[proposal["target_item_id"]]
    shared = _shared(proposal["scope_terms"], source, target, rules["fold"])
    return {
        "type": proposal["type"],
        "source": proposal["source_item_id"],
        "target": proposal["target_item_id"],
        "span": list(locate(proposal["cited_evidence_span"], source, rules["fold"])),
        "term": shared[0] if shared else None,
    }


def fold(text: str, ways: tuple[str, ...]) -> str:
    """`text` as it is compared: "lower" lower-cases, "space" makes white space one space and strips the ends."""
    if "lower" in ways:
        text = text.lower()
    return " ".join(text.split()) if "space" in ways else text


def locate(span: str, source: str, ways: tuple[str, ...]) -> tuple[int, int]:
    """Where in `source` (characters, end exclusive) the first match of `span` stands, both folded.

    Raises ValueError when it doesn't stand there.
    """
    # One entry for each folded character: where in the source it came from. Lower-casing can lengthen a character,
    # and its length never depends on the neighbours, so this walk and `fold` agree on every offset.
    origin: list[int] = []
    pending = False
    for place, character in enumerate(source):
        if "space" in ways and character.isspace():
            pending = bool(origin)
            continue
        if pending:
            origin.append(place - 1)
            pending = False
        origin.extend([place] * len(character.lower() if "lower" in ways else character))
    wanted = fold(span, ways)
    start = fold(source, ways).index(wanted)
    return origin[start], origin[start + len(wanted) - 1] + 1


def _shared(terms: list[str], source: str, target: str, ways: tuple[str, ...]) -> list[int]:
    folded_source, folded_target = fold(source, ways), fold(target, ways)
    found: list[int] = []
    for index, term in enumerate(terms):
        wanted = fold(term, ways)
        # An empty term is a part of every text and says nothing about any.
        if wanted.strip() and wanted in folded_source and wanted in folded_target:
            found.append(index)
    return found


def _bounded(span: str) -> bool:
    """Whether the span limits itself to some customers: "for", then within the clause "customers", and between the
    two at least one word that narrows ("for all of our customers" has none)."""
    for clause in _CLAUSE_END.split(span.lower()):
        words = _WORD.findall(clause)
        if "for" in words:
            between = words[words.index("for") + 1 :]
            if "customers" in between and set(between[: between.index("customers")]) - _UNBOUNDED:
                return True
    return False


def _universal(target: str) -> bool:
    return _UNIVERSAL.search(target.lower()) is not None


def _relation_in(span: str, terms: list[str], ways: tuple[str, ...]) -> bool:
    wanted = [folded for term in terms if (folded := fold(term, ways)).strip()]
    return any(
        _RELATION.search(sentence.lower()) is not None and any(term in sentence for term in wanted)
        for sentence in _SENTENCE_END.split(span)
    )
