"""Reading Python: the fenced block, or the whole draft. Code counts only if it compiles; its bytes are kept as sent."""

from __future__ import annotations

import ast
import json
import re
import warnings
from dataclasses import dataclass
from typing import Final

from harness.parse._fences import Fence, fences, split_reasoning
from harness.parse._spans import byte_spans
from harness.parse._terminal import CONTROL
from harness.parse._types import Reading, ReadRules, Stop, make_reading, unclosed_reasoning, unless_cut

__all__ = ["read_code"]

_PYTHON_TAGS: Final = frozenset({"python", "py", "python3", "py3", "python2", "{.python}", "{python}"})
_TAG: Final = re.compile(r"[ \t]*(\{?\.?[A-Za-z][\w.+#-]*\}?)?(?:[ \t]+(\S[^\n]*))?[ \t\r]*")
_DOING: Final = (
    ast.Call, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Compare, ast.BoolOp,
    ast.IfExp, ast.Subscript, ast.JoinedStr, ast.Await, ast.NamedExpr,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Draft:
    start: int
    end: int
    closed: bool
    tagged: bool


def read_code(text: str, start: int, stop: Stop, rules: ReadRules) -> Reading:
    """Read text[start:], which isn't blank, as Python source."""
    whole = _Draft(start, len(text), closed=False, tagged=False)
    if _counts(text, whole):
        return _answer(text, [whole], stop, None)
    reasoning = None
    if rules.reasoning:
        rest, left_open = split_reasoning(text, start, inside=True)
        if left_open:
            return unclosed_reasoning(stop, text)
        reasoning = text[start:rest] or None
        start = rest
        if not text[start:].strip():
            return unless_cut(stop, "empty", "reasoning_only", text, reasoning)
    found = fences(text, start)
    drafts = [draft for one in found for draft in _drafts(text, one) if _counts(text, draft)]
    if not drafts:
        drafts = [draft for draft in [_unfenced(text, start, found)] if _counts(text, draft)]
        if drafts:
            return _answer(text, drafts, stop, reasoning)
        return _no_code(text, found, stop, reasoning)
    if not rules.fence:
        return make_reading("malformed", "fenced", text=text, reasoning=reasoning)
    if not rules.unclosed_fence and not all(draft.closed for draft in drafts):
        return make_reading("malformed", "unterminated", text=text, reasoning=reasoning)
    if not rules.prose and _around(text, start, found).strip():
        return make_reading("malformed", "text_around", text=text, reasoning=reasoning)
    return _answer(text, drafts, stop, reasoning)


def _drafts(text: str, fence: Fence) -> list[_Draft]:
    """The code of a fence that isn't tagged as something else.

    An opening line whose first word is no tag holds code: `def` is none. After a tag it may hold attributes of the
    fence, or code: both are drafts.
    """
    opening = _TAG.fullmatch(text, fence.after_run, max(fence.after_run, fence.start - 1))
    word, more = (opening[1], opening[2]) if opening is not None else (None, None)
    python = word is not None and word.lower() in _PYTHON_TAGS
    if opening is not None and python and more:
        below = _Draft(fence.start, fence.end, fence.closed, tagged=True)
        beside = _Draft(opening.start(2), fence.end, fence.closed, tagged=True)
        return [below] if more.startswith("{") else [below, beside]
    if opening is not None and not more and not (word and _is_keyword(word)):
        tag_fits = word is None or python
        return [_Draft(fence.start, fence.end, fence.closed, tagged=python)] if tag_fits else []
    return [_Draft(fence.after_run, fence.end, fence.closed, tagged=False)]


def _is_keyword(word: str) -> bool:
    return word in ("pass", "return", "break", "continue", "raise", "def", "class", "import", "else", "try")


def _unfenced(text: str, start: int, found: list[Fence]) -> _Draft:
    """The whole draft, up to a fence line that closes what was never opened; what follows that is dropped."""
    if found and not found[0].info and text[start : found[0].head].strip():
        return _Draft(start, found[0].head, closed=True, tagged=False)
    stripped = text.rstrip()
    if not found and stripped.endswith("```"):
        return _Draft(start, len(stripped.rstrip("`")), closed=True, tagged=False)
    return _Draft(start, len(text), closed=False, tagged=False)


def _counts(text: str, draft: _Draft) -> bool:
    """Whether a draft is code: it compiles, and, where no tag says that it is Python, does more than write a name or
    a literal down.
    """
    source = text[draft.start : draft.end]
    if not source.strip():
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(CONTROL.sub(" ", source))
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    if draft.tagged or any(not isinstance(statement, ast.Expr) for statement in tree.body):
        return draft.tagged or bool(tree.body)
    return any(isinstance(node, _DOING) for node in ast.walk(tree))


def _answer(text: str, drafts: list[_Draft], stop: Stop, reasoning: str | None) -> Reading:
    codes = [text[draft.start : draft.end] for draft in drafts]
    spans = byte_spans(text, [(draft.start, draft.end) for draft in drafts])
    if any(code.strip() != codes[0].strip() for code in codes[1:]):
        return make_reading("ambiguous", "two_candidates", span=spans, text=text, reasoning=reasoning)
    if stop == "length" and not drafts[0].closed:
        # Code that compiles may still lack its last lines.
        return make_reading("truncated", "stop_length", text=text, reasoning=reasoning)
    if CONTROL.search(codes[0]):
        return make_reading("malformed", "terminal_control_bytes", text=text, reasoning=reasoning)
    flags: list[str] = []
    if drafts[0].tagged and not drafts[0].closed:
        flags.append("unclosed_fence")
    if len(drafts) > 1:
        flags.append("identical_candidates")
    if stop == "length":
        flags.append("stop_length")
    value = json.dumps(codes[0])
    return make_reading("parsed", value=value, span=spans[:1], text=text, flags=tuple(flags), reasoning=reasoning)


def _around(text: str, start: int, found: list[Fence]) -> str:
    ends = [start, *[fence.foot for fence in found]]
    heads = [*[fence.head for fence in found], len(text)]
    return "".join(text[first:last] for first, last in zip(ends, heads, strict=True))


def _no_code(text: str, found: list[Fence], stop: Stop, reasoning: str | None) -> Reading:
    if found and all(not text[one.start : one.end].strip() for one in found):
        return unless_cut(stop, "empty", "empty_fence", text, reasoning)
    return unless_cut(stop, "malformed", "not_code", text, reasoning)
