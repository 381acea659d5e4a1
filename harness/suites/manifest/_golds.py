"""What a gold of a case may be, for the scorers that compare texts: one text, or a list of which any will do."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from harness._json import JSON
from harness.suites.manifest._where import plain_text

__all__ = ["check_texts", "gold_texts"]


def gold_texts(gold: JSON) -> tuple[str, ...] | None:
    """The texts of which any is right; None where the gold is nothing of the kind."""
    found = [plain_text(each) for each in gold] if isinstance(gold, list) else [plain_text(gold)]
    texts = tuple(each for each in found if each is not None)
    return texts if texts and len(texts) == len(found) else None


def check_texts(gold: JSON, normal: Callable[[str], str], name: str) -> str | None:
    """One sentence on why a gold can't be compared under a normaliser, or None."""
    found = gold_texts(gold)
    if found is None:
        return f"gold: expected a text, a number, or a list of those (any of them is right), got {shown(gold)}"
    empty = first_empty(found, normal)
    return None if empty is None else f"gold: {empty!r} has no normal form under {name}, so no answer could match it"


def first_empty(texts: Iterable[str], normal: Callable[[str], str]) -> str | None:
    """The first text that a normaliser leaves nothing of."""
    return next((each for each in texts if not normal(each)), None)


def shown(gold: JSON) -> str:
    """A gold in a message: what it is, and its beginning."""
    if gold is None:
        return "null"
    if isinstance(gold, list):
        return "an empty list" if not gold else f"a list of {len(gold)}, one of which is no text"
    text = plain_text(gold)
    if text is None:
        return "an object" if not isinstance(gold, str | int) else "a number too long to write"
    return f"{text[:60]!r}"
