"""Reading one object, or one list, out of a text.

A whole-text parse comes first. Else the text is surveyed; exactly one valid value of the asked shape is an answer, two
that differ are ambiguous, and everything else gets its own name.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from harness._outcomes import Status
from harness.parse._candidates import Block, Spot, Survey, survey
from harness.parse._json import Integer, load, normal, trim
from harness.parse._scan import Broken, Value, scan, scan_scalar
from harness.parse._spans import byte_spans
from harness.parse._types import Ask, Reading, ReadRules, Stop, make_reading, unclosed_reasoning, unless_cut

__all__ = ["read_document", "read_value", "read_whole"]

_OPENS: Final[dict[str, str]] = {"object": "{", "array": "["}
# A bracket on the line may be a value's, which must not lose its head; `{.json}`, an attribute, can be none.
_FENCE_LINE: Final = re.compile(r"(?:`{3,}+|~{3,}+)[^\n{\[]*+(?:\{[.#][^\n{}\[\]]*+\}[ \t\r]*+)?\n")
_FENCE_HEAD: Final = re.compile(r"(?:`{3,}+|~{3,}+)[ \t]*+(?:[A-Za-z][\w.+#-]*+)?[ \t]*+")
_SPACE: Final = re.compile(r"\s")
_CALL_KEYS: Final = (
    frozenset({"name", "arguments"}), frozenset({"name", "parameters"}),
    frozenset({"id", "name", "arguments"}), frozenset({"type", "name", "arguments"}),
    frozenset({"type", "name", "parameters"}), frozenset({"id", "type", "name", "arguments"}),
    frozenset({"type", "name", "input"}), frozenset({"type", "id", "name", "input"}),
    frozenset({"type", "function"}), frozenset({"id", "type", "function"}), frozenset({"function"}),
    frozenset({"tool_calls"}), frozenset({"tool_call"}), frozenset({"function_call"}), frozenset({"tool_use"}),
)  # fmt: skip
_LONGEST_CALL: Final = 4


def read_document(text: str, start: int, ask: Ask, stop: Stop, rules: ReadRules) -> Reading:
    """Read text[start:], which isn't blank and as a whole is no value, as the asked "object" or "array"."""
    found = survey(text, start, rules)
    judge = _judge if rules.prose else _without_prose
    reading = judge(text, found, ask, stop, rules)
    if not found.reasoning:
        return reading
    return replace(reading, reasoning="\n".join(text[first:last] for first, last in found.reasoning))


def read_whole(text: str, start: int, ask: Ask, stop: Stop, rules: ReadRules) -> Reading | None:
    """The reading of text[start:] if the whole of it is one value, of whatever shape; else None."""
    whole = _whole(text, start, len(text), ask, rules)
    return whole if whole is None else _end(whole, stop)


def _end(reading: Reading, stop: Stop) -> Reading:
    """A whole value under a length stop keeps its status, and says so."""
    return replace(reading, flags=(*reading.flags, "stop_length")) if stop == "length" else reading


def _whole(text: str, start: int, end: int, ask: Ask, rules: ReadRules) -> Reading | None:
    """The reading of text[start:end] if the whole of it is one value, else None."""
    start, end = trim(text, start, end)
    if start == end:
        return None
    good, value = load(text[start:end] if start or end < len(text) else text)
    if good:
        return _shaped(text, Value(start, end), value, ask, rules)
    if not rules.grants_json_faults:
        return None
    found = scan(text, start, end, rules) if text[start] in "{[" else scan_scalar(text, start, end, rules)
    if not isinstance(found, Value) or found.end != end:
        return None
    return _shaped(text, found, load(found.read(text))[1], ask, rules)


def _shaped(text: str, found: Value, value: Any, ask: Ask, rules: ReadRules, *more: str) -> Reading:
    """The reading of one valid value: an answer if it has the asked shape."""
    span = byte_spans(text, ((found.start, found.end),))
    flags = (*more, *dict.fromkeys(name for *_, name in found.edits)) if found.edits else more
    kind = _kind(value)
    if ask == "object" and kind == "list" and rules.list_not_object:
        return make_reading("parsed", value=found.read(text), span=span, text=text, flags=(*flags, "list_not_object"))
    if kind != ("object" if ask == "object" else "list"):
        asked = "object" if ask == "object" else "list"
        return make_reading("wrong_shape", f"{kind}_not_{asked}", span=span, text=text, flags=flags)
    if kind == "object" and len(value) <= _LONGEST_CALL and _is_call(value):
        if not rules.tool_call_like:
            return make_reading("wrong_shape", "tool_call_like", span=span, text=text, flags=flags)
        flags = (*flags, "tool_call_like")
    return make_reading("parsed", value=found.read(text), span=span, text=text, flags=flags)


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "list"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float, Integer)):
        return "number"
    return "null" if value is None else "string"


def _is_call(value: dict[str, Any]) -> bool:
    """Whether an object is how a model writes a tool call: a name with arguments, or one of the protocols' wrappers."""
    if frozenset(value) not in _CALL_KEYS:
        return False
    if "name" in value:
        arguments = value.get("arguments", value.get("parameters", value.get("input")))
        return isinstance(value["name"], str) and isinstance(arguments, (dict, str))
    inner = next(value[key] for key in value if key not in ("id", "type"))
    return isinstance(inner, (dict, list))


def _judge(text: str, found: Survey, ask: Ask, stop: Stop, rules: ReadRules) -> Reading:
    """What the survey amounts to, where prose may stand around the value."""
    if found.unclosed_reasoning:
        return unclosed_reasoning(stop, text)
    mark = _OPENS[ask]
    asked = [spot for spot in found.values if spot.mark == mark or (rules.list_not_object and ask == "object")]
    allowed = [spot for spot in asked if spot.block is None or _fence_allowed(spot.block, rules)]
    if found.unfinished is not None and text[found.unfinished.start] == mark and allowed:
        # A second answer had begun; whether it would have been the same one nobody can know.
        return unless_cut(stop, "malformed", _diagnosis(text, found), text)
    if allowed:
        return _end(_candidates(text, allowed, found, ask, rules), stop)
    if asked:
        return make_reading("malformed", "unterminated" if rules.fence else "fenced", text=text)
    other = _other_shape(text, found, ask, rules) if found.unfinished is None else None
    if other is not None:
        return _end(other, stop)
    return _nothing(text, found, stop)


def _fence_allowed(block: Block, rules: ReadRules) -> bool:
    return rules.fence and (rules.unclosed_fence or block.closed)


def _candidates(text: str, spots: list[Spot], found: Survey, ask: Ask, rules: ReadRules) -> Reading:
    """One candidate, or several that are the same value, is an answer."""
    forms = [normal(spot.value.read(text)) for spot in spots] if len(spots) > 1 else []
    if any(form != forms[0] for form in forms[1:]):
        spans = [(spot.value.start, spot.value.end) for spot in spots]
        return make_reading("ambiguous", "two_candidates", span=byte_spans(text, spans), text=text)
    first = spots[0]
    flags: list[str] = []
    if any(spot.block is not None and not spot.block.closed for spot in spots):
        flags.append("unclosed_fence")
    if len(spots) > 1:
        flags.append("identical_candidates")
    return _shaped(text, first.value, load(first.value.read(text))[1], ask, rules, *flags)


def _other_shape(text: str, found: Survey, ask: Ask, rules: ReadRules) -> Reading | None:
    """A valid value of another shape, where it can be nothing but the answer that was meant."""
    rest = _whole(text, found.rest, len(text), ask, rules)
    if rest is not None:
        return rest
    blocks = [block for block in found.blocks if text[block.start : block.end].strip()]
    if len(blocks) == 1 and rules.fence:
        inside = _whole(text, blocks[0].start, blocks[0].end, ask, rules)
        if inside is not None:
            return inside
    for spot in found.values:
        value = load(spot.value.read(text))[1]
        # `[1]` and `[2, 3]` in prose are references; a list of anything else is what was meant.
        if isinstance(value, dict) or any(not isinstance(item, (int, Integer)) or item is True for item in value):
            return _shaped(text, spot.value, value, ask, rules)
    return None


def _nothing(text: str, found: Survey, stop: Stop) -> Reading:
    """No valid value that could be the answer."""
    if found.reasoning and not text[found.rest :].strip():
        return unless_cut(stop, "empty", "reasoning_only", text)
    if found.blocks and not found.broken and all(_is_blank(text, block) for block in found.blocks):
        return unless_cut(stop, "empty", "empty_fence", text)
    return unless_cut(stop, "malformed", _diagnosis(text, found), text)


def _is_blank(text: str, block: Block) -> bool:
    return not text[block.start : block.end].strip()


def _diagnosis(text: str, found: Survey) -> str:
    """The reason: of the first broken value that can hardly be prose, else of the first that has a name."""
    ranked: list[Broken] = [one for one in found.broken if one.strong]
    ranked += [one for one in found.broken if one.reason != "no_json"]
    if ranked:
        return ranked[0].reason
    # A lone word or number may have a name (NaN, None, 'x'); text that merely begins like one has none.
    start, end = _inside(text, found)
    if start == end or text[start] in "{[" or _SPACE.search(text, start, end):
        return "no_json"
    scalar = scan_scalar(text, start, end)
    return scalar if isinstance(scalar, str) and scalar not in ("placeholder", "comment") else "no_json"


def _inside(text: str, found: Survey) -> tuple[int, int]:
    blocks = [block for block in found.blocks if not _is_blank(text, block)]
    return trim(text, blocks[0].start, blocks[0].end) if len(blocks) == 1 else trim(text, found.rest, len(text))


def _without_prose(text: str, found: Survey, ask: Ask, stop: Stop, rules: ReadRules) -> Reading:
    """Only the whole text, or with `fence` the whole of one fence, may be the answer; the survey explains the rest."""
    if found.unclosed_reasoning:
        return unclosed_reasoning(stop, text)
    flags: tuple[str, ...] = ()
    inner = [(found.rest, len(text))]
    if rules.fence:
        peeled, closed = _peel(text, found.rest)
        if closed or rules.unclosed_fence:
            inner = peeled
            flags = () if closed else ("unclosed_fence",)
    whole = next((one for part in inner if (one := _whole(text, *part, ask, rules)) is not None), None)
    if whole is not None:
        return _end(replace(whole, flags=(*flags, *whole.flags)), stop)
    if stop == "length":
        return make_reading("truncated", "stop_length", text=text)
    would_be = _judge(text, found, ask, stop, replace(rules, fence=True, unclosed_fence=True, prose=True))
    if would_be.status in ("malformed", "empty"):
        return would_be
    status: Status = "malformed"
    in_fence = any(spot.block is not None for spot in found.values) or (not found.values and bool(found.blocks))
    if not rules.fence and in_fence:
        return make_reading(status, "fenced", text=text)
    if rules.fence and found.unclosed_fence and not rules.unclosed_fence:
        return make_reading(status, "unterminated", text=text)
    return make_reading(status, "text_around", text=text)


def _peel(text: str, start: int) -> tuple[list[tuple[int, int]], bool]:
    """text[start:] without white space, one leading fence line and one trailing fence; and whether both or neither
    stood there, or the trailing one alone.

    The leading line goes whole, whatever its info string says; or, if the value begins on it, its run and one word. No
    text is a value both ways.
    """
    end = len(text)
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    heads = [found for head in (_FENCE_LINE, _FENCE_HEAD) if (found := head.match(text, start, end)) is not None]
    starts = [head.end() for head in heads] or [start]
    tail_length = end - _run_start(text, starts[-1], end)
    if tail_length < 3:
        return [(at, end) for at in starts], not heads
    return [(at, max(at, end - tail_length)) for at in starts], True


def _run_start(text: str, start: int, end: int) -> int:
    at = end
    while at > start and text[at - 1] == text[end - 1] and text[end - 1] in "`~":
        at -= 1
    return at


def read_value(text: str, rules: ReadRules) -> tuple[str, tuple[str, ...]] | None:
    """The JSON text of the one value, of any kind, that `text` is the whole of, and the leniencies it took; None if
    it isn't.
    """
    start, end = trim(text, 0, len(text))
    if load(text[start:end])[0]:
        return text[start:end], ()
    if start == end:
        return None
    found = scan(text, start, end, rules) if text[start] in "{[" else scan_scalar(text, start, end, rules)
    if not isinstance(found, Value) or found.end != end:
        return None
    return found.read(text), tuple(dict.fromkeys(name for *_, name in found.edits))
