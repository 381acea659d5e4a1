"""The counts that a reply tells of its tokens, and whether they are those of the whole reply.

What they come to is told elsewhere (`harness._usage`, the view `usage`): here they keep the provider's own names, those
of objects inside the usage object under `outer.inner`. Two names are ours, and say that the others are no count of the
reply: `not_counts` (so many fields are named like tokens and hold no count) and `not_final`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

__all__ = [
    "BREAKDOWN", "NOT_COUNTS", "NOT_FINAL", "TIER", "TOKEN_ENDINGS", "Told", "as_counts", "as_kept_before",
    "has_own_price",
]  # fmt: skip

NOT_COUNTS: Final = "not_counts"
NOT_FINAL: Final = "not_final"
SEARCH: Final = "search_context_size"
BREAKDOWN: Final = "usage_breakdown"
TIER: Final = "service_tier"
"""Three more names stand for what is no number: that a search, several models, or a tier are charged apart."""
_WORDS: Final = ("service_tier", "speed", "inference_geo")
"""Where replies name what multiplies a price: a tier (OpenAI, Groq, Anthropic), and Anthropic's speed and place."""
_USUAL: Final = frozenset({"", "auto", "default", "standard", "on_demand", "global", "not_available"})
"""What such words say of the usual price."""

TOKEN_ENDINGS: Final = ("tokens", "Tokens", "token_count", "TokenCount")
"""How a name ends that stands for tokens."""

_COUNTED: Final = (*TOKEN_ENDINGS, "eval_count")
_ANSWERED: Final = ("completion_tokens", "output_tokens")
_CACHES: Final = ("cache_read_input_tokens", "cache_creation_input_tokens")
_SUMMED: Final = ("input_tokens", "output_tokens", *_CACHES)
_DEEPEST: Final = 3
_LONGEST: Final = 200
_MOST: Final = 190


@dataclass(slots=True)
class Told:
    """What a reply told of its tokens so far, by the provider's names.

    Counts of a stream are those of the whole only where nothing of the answer came after them. They are cumulative in
    every dialect that is known; where they shrink, or stay what they were while the answer grew, they are not, and what
    they add up to is unknown. `final` is what the last statement said of itself, until more of the answer came.
    """

    counts: dict[str, int] = field(default_factory=dict[str, int])
    final: bool = False
    _before: dict[str, int] = field(default_factory=dict[str, int])
    _grew: bool = False
    _odd: bool = False

    def tell(self, usage: object, *, final: bool, placeholders: Collection[str] = ()) -> None:
        """Take what a whole reply, or one event of a stream, tells; of `placeholders` it tells no figure yet."""
        told = as_counts(usage)
        if not told:
            return
        for name, count in told.items():
            if not name.endswith(_COUNTED):
                continue
            before = self._before.get(name, 0)
            still = self._grew and name in _ANSWERED and count == before > 0
            self._odd = self._odd or count < before or still
        # A prompt that was told without its caches may hold them: some servers of Anthropic's protocol say so at first.
        late = [name for name in _CACHES if told.get(name) and not self.counts.get(name)]
        self._odd = self._odd or bool(late and "input_tokens" in self.counts and "input_tokens" not in told)
        self.counts.update(told)
        self._before.update((name, count) for name, count in told.items() if name not in placeholders)
        self._grew, self.final = False, final

    def more(self) -> None:
        """More of the answer came: what was told before isn't all."""
        self._grew, self.final = True, False

    def settle(self) -> None:
        """The reply is over: counts that aren't those of the whole are marked as such."""
        if self.counts and (self._odd or not self.final):
            self.counts[NOT_FINAL] = 1


def as_counts(value: object) -> dict[str, int]:
    """The whole numbers of a usage object. A field that is named like tokens and holds anything else, null aside, is
    counted under `not_counts`; so are iterations whose sums aren't the object's own figures, and a list of more numbers
    than any reply has reason to tell."""
    if not isinstance(value, dict):
        return {}
    usage = cast("dict[str, Any]", value)
    found: dict[str, int] = {}
    bad = 0
    for name, item, depth in _fields(usage, "", 1):
        tokens = name.endswith(_COUNTED)
        readable = len(name) <= _LONGEST and name.isprintable()
        if isinstance(item, int) and not isinstance(item, bool) and _fits(item, signed=not tokens) and readable:
            # What stands so deep is nearly always 0, and then tells nothing.
            if depth < _DEEPEST or (tokens and item):
                bad += name in found
                found[name] = item
        elif tokens:
            bad += 1
    if usage.get("search_context_size"):
        # Perplexity charges for the search of each request, by a size that is a word.
        found[SEARCH] = 1
    if found and has_own_price(usage, *_WORDS):
        found[TIER] = 1
    bad += not _iterated(usage)
    if len(found) > _MOST:
        return {NOT_COUNTS: len(found)}
    return {**found, NOT_COUNTS: bad} if bad else found


def has_own_price(body: Mapping[str, Any], *names: str) -> bool:
    """Whether one of these fields names a tier, a speed or a place with a price of its own."""
    return any(isinstance(word := body.get(name), str) and word.lower() not in _USUAL for name in names)


def as_kept_before(counts: Mapping[str, int] | None, kept: Mapping[str, int] | None) -> Mapping[str, int] | None:
    """The counts as a parse of schema 1, which is held against them, would have them: it knew no marks, and looked two
    objects deep and in one place only. `kept` is what it has; where that is nothing, no count stood in that place."""
    if not counts or not kept:
        return None if kept is None else {}
    marks = (NOT_COUNTS, NOT_FINAL, SEARCH, BREAKDOWN, TIER)
    return {name: count for name, count in counts.items() if name not in marks and name.count(".") < _DEEPEST - 1}


def _fits(count: int, *, signed: bool) -> bool:
    return (-(2**53) if signed else -1) < count < 2**53


def _fields(usage: dict[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, object, int]]:
    """Every field that isn't null, with its name and how deep it stands."""
    for key, item in usage.items():
        if isinstance(item, dict) and depth < _DEEPEST and not key.endswith(_COUNTED):
            yield from _fields(cast("dict[str, Any]", item), f"{prefix}{key}.", depth + 1)
        elif item is not None:
            yield prefix + key, item, depth


def _iterated(usage: dict[str, Any]) -> bool:
    """Whether the sums of Anthropic's `iterations`, where there are any, are the object's own figures: what a
    compaction or another model used stands in the iterations alone."""
    iterations = usage.get("iterations")
    if not isinstance(iterations, list) or not iterations:
        return True
    each = [cast("dict[str, Any]", one) for one in cast("list[Any]", iterations) if isinstance(one, dict)]
    try:
        return all(sum(one.get(name) or 0 for one in each) == (usage.get(name) or 0) for name in _SUMMED)
    except TypeError:
        return False
