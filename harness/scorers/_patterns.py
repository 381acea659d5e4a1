"""Answers by a pattern, with RE2: time grows with the text and never explodes, whatever the pattern and the text.

RE2 has no look-around and no back-references; see https://github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any, Final

from harness._errors import UsageError

__all__ = ["PATTERNS_VERSION", "check_pattern", "pattern_spans"]

PATTERNS_VERSION: Final = 1


def check_pattern(pattern: str) -> None:
    """Raises UsageError, with one sentence, for a pattern that RE2 doesn't compile, or that an empty text matches."""
    compiled = _compiled(pattern)
    if compiled.search("") is not None:
        raise UsageError(f"{pattern!a} matches an empty text, so there would be an answer in every reply; ask for more")
    if compiled.groups > 1:
        # Which of them is the answer would be for the reader of the rules to guess.
        raise UsageError(f"{pattern!a} has {compiled.groups} groups; leave one, and write the others as (?:…)")


def pattern_spans(text: str, pattern: str) -> list[tuple[int, int]]:
    """[start, end) of what `pattern` finds in `text`, match by match: its first group, or the match where it has none.
    Matches of nothing are left out.
    """
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return []
    compiled = _compiled(pattern)
    group = min(compiled.groups, 1)
    found = (match.span(group) for match in compiled.finditer(text))
    return [(start, end) for start, end in found if 0 <= start < end]


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> Any:
    # Imported by name, for it comes without types.
    re2: Any = importlib.import_module("re2")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        args: tuple[Any, ...] = error.args
        said = args[0].decode("utf-8", "replace") if args and isinstance(args[0], bytes) else str(error)
    except UnicodeEncodeError:
        said = "it holds half of a surrogate pair"
    raise UsageError(f"expected a pattern that RE2 compiles, got {pattern!a}: {said}")
