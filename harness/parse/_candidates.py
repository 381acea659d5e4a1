"""A survey of a text: every bracket tried, every valid value noted, and what stands around them.

Nothing is chosen here. The rules that matter:

- A value counts only if the whole of it is valid; nothing inside a broken value is ever looked at, so that a cut or a
  repair can't promote a part to the answer.
- A closing bracket that nothing opened means that the values before it stood inside something whose head is missing.
- A reasoning tag outside every value is one; inside a string it is data.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Final

from harness.parse._json import end_of_value
from harness.parse._scan import Broken, Value, scan, skip_broken
from harness.parse._types import ReadRules

__all__ = ["CLOSING_TAG", "OPENING_TAG", "Block", "Spot", "Survey", "survey"]

_NAMES: Final = (
    r"(?:[a-z][\w.-]*:)?(?:(?:ant)?think(?:ing)?|(?:inner[_-]?)?thoughts?|inner[_-]?monologue"
    r"|reason(?:ing)?|reflection|analysis|scratch[_-]?pad)"
)
# Beside tags in angle brackets: Mistral's [THINK], Kimi's ◁think▷, and marks of chat formats that leaked into a text.
OPENING_TAG: Final = re.compile(
    rf"<{_NAMES}(?:\s[^<>]*)?(?<!/)>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|channel\|>analysis<\|message\|>",
    re.IGNORECASE,
)
CLOSING_TAG: Final = re.compile(rf"</\s*{_NAMES}\s*>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|end\|>", re.IGNORECASE)
_EVENT: Final = re.compile(
    rf"(?P<open>{OPENING_TAG.pattern})|(?P<close>{CLOSING_TAG.pattern})|[{{}}\[\]]|^[ \t]*+(?:`{{3,}}|~{{3,}})|`{{3,}}",
    re.IGNORECASE | re.MULTILINE,
)
_MARKS: Final = re.compile(r"[{}\[\]]|^[ \t]*+(?:`{3,}|~{3,})|`{3,}", re.MULTILINE)
_INFO: Final = re.compile(r"[ \t]*([^\s`{}\[\]\"]*)[^\n`{}\[\]\"]*")
_BLANK_LINE: Final = re.compile(r"[ \t\r]*+(?=\n|\Z)")
# What can't follow an opening brace in anything that JSON, or a slip in writing it, begins with.
_TRIES: Final = 8
_HOPELESS: Final = re.compile(r"[ \t\n\r]*+[{\[\]0-9,:;()=|&+*^!?%\\-]")


@dataclass(slots=True)
class Block:
    """A code fence: its content is text[start:end]; `end` is the text's end while `closed` is false."""

    mark: str
    start: int
    end: int
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Spot:
    """A valid value, the bracket it opens with, and the code fence that it stands in."""

    value: Value
    mark: str
    block: Block | None


@dataclass(slots=True)
class Survey:
    """What a text holds. `unfinished` is a value that runs, valid so far, into the text's end."""

    values: list[Spot] = field(default_factory=list[Spot])
    broken: list[Broken] = field(default_factory=list[Broken])
    unfinished: Broken | None = None
    blocks: list[Block] = field(default_factory=list[Block])
    reasoning: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    rest: int = 0
    unclosed_reasoning: bool = False
    headless: bool = False

    @property
    def unclosed_fence(self) -> bool:
        """Whether the last code fence runs into the text's end."""
        return bool(self.blocks) and not self.blocks[-1].closed


def survey(text: str, start: int, rules: ReadRules) -> Survey:
    """Survey text[start:]. Of the rules only `reasoning` and the JSON leniencies matter here."""
    return _Surveyor(text, start, rules).run()


class _Surveyor:
    def __init__(self, text: str, start: int, rules: ReadRules) -> None:
        self.text = text
        self.at = start
        self.start = start
        self.rules = rules
        self.found = Survey(rest=start)
        self.earlier: list[Spot] = []
        self.closings = [tag.span() for tag in CLOSING_TAG.finditer(text, start)] if rules.reasoning else []
        # The C decoder counts lines from the text's start for every failure: a few of them, and it is left aside.
        self.tries = 0 if rules.grants_json_faults else _TRIES
        self.event = _EVENT if rules.reasoning else _MARKS
        self.openers = 0
        self.block: Block | None = None

    def run(self) -> Survey:
        found = self.found
        while (event := self.event.search(self.text, self.at)) is not None and not found.unclosed_reasoning:
            mark = event[0]
            if mark in ("{", "["):
                self._bracket(event.start(), mark)
                continue
            self.at = event.end()
            if mark in ("}", "]"):
                self._closer()
            elif event.re is _EVENT and event["open"]:
                self._opening_tag(event.start())
            elif event.re is _EVENT and event["close"]:
                self._lone_closing_tag(event.end())
            else:
                self._fence(event.start(), mark)
        if not found.values and not found.unclosed_reasoning:
            found.values = self.earlier
        return found

    def _bracket(self, start: int, mark: str) -> None:
        text, found = self.text, self.found
        if mark == "{" and _HOPELESS.match(text, start + 1):
            self.openers += 1
            self.at = start + 1
            return
        end = end_of_value(text, start) if self.tries else None
        self.tries -= end is None and self.tries > 0
        read = scan(text, start, len(text), self.rules) if end is None else Value(start, end)
        if isinstance(read, Value):
            found.values.append(Spot(read, mark, self.block))
            self.at = read.end
            return
        if not read.started and not (read.ended and self._begins_line(start)):
            self.openers += 1
            self.at = start + 1
            return
        # A closing tag that the walk passed over inside a valid string is data; one it did not reach ends the
        # reasoning.
        closing = self._closing_from(read.at)
        if not (read.strong or read.ended or read.reason == "too_deep"):
            self.openers += read.depth
            self.at = max(read.at, start + 1)
            found.broken.append(read)
            return
        limit = len(text) if closing is None else closing[0]
        self.at = limit if read.ended else skip_broken(text, start, limit)
        found.broken.append(read)
        if read.ended:
            found.unfinished = read

    def _begins_line(self, start: int) -> bool:
        line = self.text.rfind("\n", 0, start) + 1
        return not self.text[max(line, self.start) : start].strip()

    def _closer(self) -> None:
        if self.openers:
            self.openers -= 1
        elif self.found.values or self.earlier:
            self.found.values.clear()
            self.earlier.clear()
            self.found.headless = True

    def _closing_from(self, at: int) -> tuple[int, int] | None:
        index = bisect_left(self.closings, (at, 0))
        return self.closings[index] if index < len(self.closings) else None

    def _opening_tag(self, start: int) -> None:
        # Between its tags reasoning is not looked at; only the values ahead of it stay.
        closing = self._closing_from(self.at)
        if closing is None:
            self.found.unclosed_reasoning = True
            self.found.reasoning.append((start, len(self.text)))
            return
        self.earlier += self.found.values
        self.found.reasoning.append((start, closing[1]))
        self._begin_again(closing[1])

    def _lone_closing_tag(self, end: int) -> None:
        self.earlier.clear()
        self.found.reasoning = [(self.start, end)]
        self._begin_again(end)

    def _begin_again(self, at: int) -> None:
        self.at = self.found.rest = at
        self.found.values = []
        self.found.broken = []
        self.found.blocks = []
        self.found.unfinished = None
        self.found.headless = False
        self.block = None
        self.openers = 0

    def _fence(self, start: int, run: str) -> None:
        text, mark, block = self.text, run.lstrip(), self.block
        if block is not None:
            fits = mark[0] == block.mark[0] and len(mark) >= len(block.mark)
            if fits and _BLANK_LINE.match(text, self.at):
                block.end = start
                block.closed = True
                self.block = None
            return
        info = _INFO.match(text, self.at)
        after = info.end() if info else self.at
        alone = text[after : after + 1] in ("", "\n")
        begins_line = start in (0, self.start) or text[start - 1] == "\n"
        if not begins_line and not alone:
            return
        # A tag on a line of its own is passed over whole; on the value's own line only the tag's first word is.
        self.at = after if alone else (info.end(1) if info else self.at)
        self.block = Block(mark, self.at, len(text))
        self.found.blocks.append(self.block)
