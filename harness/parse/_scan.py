"""A walk over JSON that says where, and by which name, a text stops being it. No recursion; linear in what it walks."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Final, NoReturn

from harness.parse._types import ReadRules

__all__ = [
    "BRACKETS", "LONE_SURROGATE", "MAX_DEPTH", "MAX_DIGITS", "STRING", "SURROGATE_ESCAPE", "Broken", "Edit", "Value",
    "scan", "scan_scalar", "skip_broken",
]  # fmt: skip

MAX_DEPTH: Final = 256
MAX_DIGITS: Final = 4300

_BODY: Final = r'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+'
_BODY_RUN: Final = re.compile(_BODY)
STRING: Final = re.compile(f'"{_BODY}"')
BRACKETS: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")
LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")

_SPACE: Final = re.compile(r"[ \t\n\r]*+")
_CUT_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
_APOSTROPHED: Final = re.compile(r"'([^'\\\n\r]*+(?:\\[^\n\r][^'\\\n\r]*+)*+)'")
_ESCAPE: Final = re.compile(r"""\\(.)|(")""", re.DOTALL)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![A-Za-z0-9_.+-])")
_NUMBER_START: Final = re.compile(r"-?[0-9]*+(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]*+)?")
_WORD: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*+")
_COMMENT: Final = re.compile(r"//[^\n]*+|#[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/")
_PLACEHOLDER: Final = re.compile(r"\.\.\.|\u2026|<[A-Za-z][^<>\n{}\[\]\"]*+>")
_SMART: Final = frozenset("\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u201b\u00ab\u00bb\u2039\u203a\uff02")
_JSON_WORDS: Final = ("true", "false", "null")
_PYTHON_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_NONFINITE: Final = frozenset({"NaN", "nan", "Infinity", "infinity", "inf", "Inf"})
_CLOSER: Final = {"{": "}", "[": "]"}
_WRITTEN: Final = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}

Edit = tuple[int, int, str, str]
_NOTHING: Final = ReadRules.strict()


@dataclass(frozen=True, slots=True)
class Value:
    """A valid value text[start:end]. `edits` are the leniencies taken: (start, end, replacement, name), in text
    order.
    """

    start: int
    end: int
    edits: tuple[Edit, ...] = ()

    def read(self, text: str) -> str:
        """The value's JSON text: the slice as sent, with the granted leniencies written out."""
        if not self.edits:
            return text[self.start : self.end]
        parts: list[str] = []
        at = self.start
        for start, end, replacement, _ in self.edits:
            parts += (text[at:start], replacement)
            at = end
        return "".join([*parts, text[at : self.end]])


@dataclass(frozen=True, slots=True)
class Broken:
    """A value that begins at `start` and can't go on at `at`; `ended` when all up to the text's end is valid.

    `depth` counts the brackets open at `at`. `started`: something was read that JSON begins a container with, or the
    fault itself has a name. `strong`: it can hardly be anything but JSON, being an object up to a key, or a list up to
    a string or a container.
    """

    start: int
    at: int
    reason: str
    depth: int
    ended: bool
    started: bool
    strong: bool


class _Refused(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def skip_broken(text: str, start: int, limit: int) -> int:
    """Where the brackets opened at `start` are closed, minding strings and nothing else; `limit` if that isn't before
    it.
    """
    depth = 0
    for token in BRACKETS.finditer(text, start, limit):
        mark = token[0]
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
            if depth <= 0:
                return token.end()
    return limit


def scan(text: str, start: int, end: int, rules: ReadRules = _NOTHING) -> Value | Broken:
    """Walk the object or list that opens at `start`; the text is taken to end at `end`. `rules` grants JSON
    leniencies.
    """
    walk = _Walk(text, start, end, rules)
    try:
        walk.container()
    except _Refused as refused:
        name = refused.name
        plain = name in ("no_json", "unterminated")
        return Broken(
            start, walk.at, name, len(walk.open), name == "unterminated", walk.tokens > 0 or not plain, walk.strong
        )
    return Value(start, walk.at, tuple(sorted(walk.edits)))


def scan_scalar(text: str, start: int, end: int, rules: ReadRules = _NOTHING) -> Value | str:
    """The string, number or word that text[start:end] is the whole of, or the name of what is wrong with it."""
    walk = _Walk(text, start, end, rules)
    try:
        walk.scalar()
    except _Refused as refused:
        return refused.name
    return Value(start, end, tuple(walk.edits)) if walk.at == end else "no_json"


class _Walk:
    """One walk: a position, the open brackets with their keys, and the leniencies taken."""

    __slots__ = ("after_string", "at", "comma", "edits", "end", "keys", "open", "rules", "strong", "text", "tokens")

    def __init__(self, text: str, start: int, end: int, rules: ReadRules) -> None:
        self.text = text
        self.at = start
        self.end = end
        self.rules = rules
        self.open: list[str] = []
        self.keys: list[set[str]] = []
        self.edits: list[Edit] = []
        self.tokens = 0
        self.strong = False
        self.after_string = False
        self.comma: int | None = None

    def container(self) -> None:
        self._push()
        wants_value = False  # after a colon, where no bracket may close
        while True:
            self._space()
            mark = self.text[self.at]
            if mark == _CLOSER[self.open[-1]] and not wants_value:
                self._pop()
                if not self.open or not self._separators():
                    return
                continue
            if self.open[-1] == "{" and not wants_value:
                self._key()
                wants_value = True
                continue
            wants_value = False
            if mark in "{[":
                self._push()
                continue
            self.scalar()
            if not self._separators():
                return

    def _push(self) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise _Refused("too_deep")
        if self.open:
            self.tokens += 1
            self.strong = self.strong or (self.open == ["["] and self.tokens == 1 and self._opens_like_json())
        self.open.append(self.text[self.at])
        self.keys.append(set())
        self.at += 1
        self.comma = None

    def _opens_like_json(self) -> bool:
        """`[[`, `[{"` and `[{}` are JSON; `[{name}]` may be prose."""
        following = _after_space(self.text, self.at + 1)
        return self.text[self.at] == "[" or self.text[following : following + 1] in ('"', "'", "}")

    def _pop(self) -> None:
        if self.comma is not None:
            if not self.rules.trailing_comma:
                raise _Refused("trailing_comma")
            self.edits.append((self.comma, self.comma + 1, "", "trailing_comma"))
            self.comma = None
        self.open.pop()
        self.keys.pop()
        self.at += 1
        self.tokens += 1
        self.after_string = False

    def _separators(self) -> bool:
        """After a value: closing brackets, then a comma. False when the last bracket was closed."""
        while True:
            self._space()
            mark = self.text[self.at]
            if mark == ",":
                self.comma = self.at
                self.at += 1
                return True
            if mark != _CLOSER[self.open[-1]]:
                self._no_separator(mark)
            self._pop()
            if not self.open:
                return False

    def _no_separator(self, mark: str) -> NoReturn:
        if _PLACEHOLDER.match(self.text, self.at, self.end):
            raise _Refused("placeholder")
        # Words, or another quotation mark right after a string's closing one: the string's text went on.
        if self.after_string and mark not in "{}[]:" and (mark != '"' or self.text[self.at - 1] == '"'):
            raise _Refused("bad_quote")
        raise _Refused("no_json")

    def _space(self) -> None:
        """Go to the next character that isn't white space (or an allowed comment)."""
        while True:
            self.at = _after_space(self.text, self.at)
            if self.at >= self.end:
                self.at = self.end
                raise _Refused("unterminated")
            if self.text[self.at] not in "/#" or not self._comment():
                return

    def _comment(self) -> bool:
        if self.text[self.at] == "/" and self.text[self.at + 1 : self.at + 2] not in ("/", "*"):
            return False
        if not self.rules.comment:
            raise _Refused("comment")
        found = _COMMENT.match(self.text, self.at, self.end)
        if found is None:
            self.at = self.end
            raise _Refused("comment")
        self.edits.append((found.start(), found.end(), " ", "comment"))
        self.at = found.end()
        return True

    def _key(self) -> None:
        start = self.at
        mark = self.text[start]
        if mark not in "\"'":
            word = _WORD.match(self.text, start, self.end)
            if word is not None and self.text.startswith(":", _after_space(self.text, word.end())):
                self.strong = True
                raise _Refused("no_json")
            raise _Refused(self._why_not(mark))
        self.strong = True
        key = self._string() if mark == '"' else self._apostrophed()
        if key in self.keys[-1]:
            self.at = start
            raise _Refused("duplicate_key")
        self.keys[-1].add(key)
        self.comma = None
        self._space()
        if self.text[self.at] != ":":
            odd = self.text[self.at]
            raise _Refused("bad_quote" if odd.isalnum() or self.text[self.at - 1 : self.at + 1] == '""' else "no_json")
        self.at += 1

    def scalar(self) -> None:
        """Read a string, a number or a word."""
        text, at = self.text, self.at
        mark = text[at]
        self.comma = None
        if mark in "\"'":
            self.strong = self.strong or (self.tokens == 0 and self.open == ["["])
            if mark == '"':
                self._string()
            else:
                self._apostrophed()
            self.after_string = True
            return
        self.after_string = False
        number = _NUMBER.match(text, at, self.end)
        if number is not None:
            self._check_number(number[0])
            self.at = number.end()
        else:
            self._word(mark)
        self.tokens += 1

    def _word(self, mark: str) -> None:
        word = _WORD.match(self.text, self.at, self.end)
        if word is not None and word[0] in _JSON_WORDS:
            self.at = word.end()
        elif word is not None and word[0] in _PYTHON_WORDS and self.rules.python_literal:
            self.edits.append((word.start(), word.end(), _PYTHON_WORDS[word[0]], "python_literal"))
            self.at = word.end()
        else:
            raise _Refused(self._why_not(mark))

    def _check_number(self, token: str) -> None:
        if len(token) > MAX_DIGITS + (token[0] == "-"):
            raise _Refused("number_too_long")
        if not token.lstrip("-").isdigit() and math.isinf(float(token)):
            raise _Refused("nonfinite")

    def _string(self) -> str:
        found = STRING.match(self.text, self.at, self.end)
        if found is None:
            return self._faulty_string()
        raw = found[0]
        self.at = found.end()
        self.tokens += 1
        if "\\" not in raw:
            return raw[1:-1]
        return self._decoded(raw)

    def _decoded(self, raw: str) -> str:
        string: str = json.loads(raw)
        if SURROGATE_ESCAPE.search(raw) and LONE_SURROGATE.search(string):
            raise _Refused("lone_surrogate")
        return string

    def _faulty_string(self) -> str:
        """A string that the strict pattern refuses: allowed raw characters are written as escapes, anything else is
        named.
        """
        text, start = self.text, self.at
        edits: list[Edit] = []
        at = start + 1
        while True:
            run = _BODY_RUN.match(text, at, self.end)
            at = run.end() if run else at
            if at >= self.end or _CUT_ESCAPE.fullmatch(text, at, self.end):
                self.at = self.end
                raise _Refused("unterminated")
            mark = text[at]
            if mark == '"':
                break
            if mark == "\\" or not self.rules.raw_control_char or mark not in _WRITTEN:
                self.at = at
                raise _Refused("bad_escape" if mark == "\\" else "raw_control_char")
            edits.append((at, at + 1, _WRITTEN[mark], "raw_control_char"))
            at += 1
        self.edits += edits
        self.at = at + 1
        self.tokens += 1
        return self._decoded(Value(start, at + 1, tuple(edits)).read(text))

    def _apostrophed(self) -> str:
        self.strong = True
        found = _APOSTROPHED.match(self.text, self.at, self.end)
        if found is None or not self.rules.single_quotes:
            raise _Refused("single_quotes")
        written = '"' + _ESCAPE.sub(_requoted, found[1]) + '"'
        if STRING.fullmatch(written) is None:
            raise _Refused("bad_escape" if "\t" not in written else "raw_control_char")
        self.edits.append((found.start(), found.end(), written, "single_quotes"))
        self.at = found.end()
        self.tokens += 1
        return self._decoded(written)

    def _why_not(self, mark: str) -> str:
        """The name for what stands where a key or a value should."""
        text, at, end = self.text, self.at, self.end
        if _PLACEHOLDER.match(text, at, end):
            return "placeholder"
        if mark in _SMART:
            self.strong = True
            return "smart_quotes"
        word = _WORD.match(text, at + (mark in "+-"), end)
        if word is not None and word[0] in _NONFINITE:
            return "nonfinite"
        if word is not None and word[0] in _PYTHON_WORDS:
            return "python_literal"
        # What the text's end cut may have been going to be right: `tru`, `-`, `1.`, `2e`.
        cut_word = word is not None and word.end() == end and any(full.startswith(word[0]) for full in _JSON_WORDS)
        number = _NUMBER_START.match(text, at, end)
        if cut_word or (number is not None and number.end() == end):
            self.at = end
            return "unterminated"
        return "no_json"


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _requoted(found: re.Match[str]) -> str:
    if found[2]:
        return '\\"'
    return "'" if found[1] == "'" else found[0]
