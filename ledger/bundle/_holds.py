"""What an event of each kind may hold of what a person wants hidden: one table, a row for every kind.

A body is committed to as a whole, so a body that holds something is hidden whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, cast

__all__ = ["HIDEABLE", "HOLDS", "FreeTexts", "Word", "free_texts", "hidden_by", "prose"]

Word = Literal["gold", "prompts", "replies"]
HIDEABLE: tuple[Word, ...] = ("gold", "prompts", "replies")
"""What `--hide` knows, sorted."""

_ALL = frozenset(HIDEABLE)
_ASKED: frozenset[Word] = frozenset({"gold", "prompts"})
_NOTHING: frozenset[Word] = frozenset()

HOLDS: Mapping[str, frozenset[Word]] = MappingProxyType(
    {
        "genesis": _ASKED,  # the key of the digests in cells
        "schema": _NOTHING,
        "freeze": _NOTHING,  # of a fixture or a prompt: _ASKED; see hidden_by
        "plan": frozenset({"prompts"}),  # plain digests of templates
        "cell": _ASKED,  # keyed digests: safe until somebody has genesis from another bundle
        "request": _ASKED,  # headers too may carry a digest of what is sent
        "response": _ALL,
        "fault": _ALL,  # quotes what came
        "wait": _NOTHING,
        "reuse": _NOTHING,
        "parse": _ALL,
        "confirm": _ALL,
        "execute": _ALL,
        "score": _NOTHING,
        "tally": _NOTHING,
        "close": _NOTHING,
        "accept": _ASKED,  # digests of what moved
        "supersede": _NOTHING,  # of a candidate: prompts
        "taint": _NOTHING,  # of a candidate: prompts
        "clear": _NOTHING,
        "report": _ASKED,  # prints the plain digests of what is frozen, and has one of itself
        "publish": _NOTHING,
        "import": _ALL,
        "redact": _NOTHING,
        "note": _ASKED,
        "anchor": _NOTHING,
        "resume": _NOTHING,
        "gate": _ASKED,  # says with plain digests what moved
        "lookup": _ALL,  # a server may say anything
    }
)
"""By kind, the words of `--hide` under which its body and blobs are hidden, whatever they say."""

# What people write in sentences of their own.
_PROSE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "plan": ("name", "tags"), "supersede": ("reason",), "taint": ("reason",), "clear": ("reason",),
        "publish": ("to",), "redact": ("category", "reason"), "close": ("reason",),
        "resume": ("reason",),
    }
)  # fmt: skip

# Words out of lists that the harness and the rule sets fix: they are the same whatever was asked and answered.
_FIXED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "schema": frozenset({"digest"}),
        "freeze": frozenset({"what"}),
        "plan": frozenset({"purpose", "ask", "via", "kind", "protocol"}),
        "wait": frozenset({"why"}),
        "score": frozenset({"outcome", "status", "stage", "reason", "domain", "applies", "policy", "metrics"}),
        "tally": frozenset({"outcomes", "metric", "kind"}),
        "close": frozenset({"status", "outcomes"}),
        "supersede": frozenset({"what", "category"}),
        "taint": frozenset({"what"}),
        "report": frozenset({"format", "metric", "kind"}),
        "anchor": frozenset({"what"}),
        "resume": frozenset({"retry", "accept"}),
    }
)


def hidden_by(kind: str, body: Mapping[str, Any], hide: frozenset[Word]) -> frozenset[Word]:
    """The words of `hide` under which an event is hidden for what it is. An unknown kind is hidden under any."""
    holds = HOLDS.get(kind, _ALL)
    if kind == "freeze" and body.get("what") in ("fixture", "prompt"):
        holds = _ASKED
    elif kind in ("supersede", "taint"):
        targets = [body.get("target"), body.get("by")]
        named = {cast("dict[str, Any]", each).get("what") for each in targets if isinstance(each, dict)}
        holds = frozenset[Word]({"prompts"}) if "candidate" in named else _NOTHING
    return holds & hide


@dataclass(frozen=True, slots=True)
class FreeTexts:
    """What a body says in words of its own: its string values, and the keys of its objects."""

    values: list[str] = field(default_factory=list[str])
    keys: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        # Nothing that is compared holds U+0000, so that no text is found across two of these.
        return "\0".join((*self.values, *self.keys))


def prose(kind: str, body: Mapping[str, Any]) -> list[str]:
    """The sentences of a body, in which a common word is somebody's own."""
    found = FreeTexts()
    _walk([body.get(name) for name in _PROSE.get(kind, ())], frozenset(), found)
    return found.values


def free_texts(kind: str, body: Mapping[str, Any]) -> FreeTexts:
    """The texts of a body that could say anything: all but the words of fixed lists, and the hashes of blobs."""
    found = FreeTexts()
    _walk(body, _FIXED.get(kind, frozenset()), found)
    return found


def _walk(value: Any, fixed: frozenset[str], found: FreeTexts) -> None:
    if isinstance(value, str):
        found.values.append(value)
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            _walk(each, fixed, found)
    elif isinstance(value, dict):
        for key, each in cast("dict[str, Any]", value).items():
            found.keys.append(key)
            if key == "blobs":
                found.keys.extend(cast("dict[str, Any]", each))
            elif key not in fixed:
                _walk(each, fixed, found)
