"""Detectors: patterns of a rule file over untrusted text. They know nothing of a judge and always say the same.

    [[confirm.detectors]]
    name = "NAME"
    about = "one line for people"
    patterns = ["(?i)…"]                        RE2, whose time grows with the text and no faster
    folds = ["nfkc", "invisible", "case"]       how the text is looked at (harness.judging._folds)

One more is always there, `delimiter`: what looks like the lines between which the text travels. Spans are characters
of the text as it stands.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from harness.judging._folds import FOLDS, Folded, fold
from harness.judging._untrusted import looks_delimited

__all__ = ["DELIMITER", "Detector", "Found", "detect", "read_detectors"]

DELIMITER = "delimiter"
"""The detector that no rule file has to name."""
_MOST = 64
_MOST_PATTERNS = 100
_MOST_FOUND = 20
"""Findings of one detector in one text; a text is flagged by the first."""
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_KEYS = ("name", "about", "patterns", "folds")


@dataclass(frozen=True, slots=True)
class Detector:
    """A named list of patterns, and the folds of the text that they are held against."""

    name: str
    about: str
    patterns: tuple[str, ...]
    folds: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} [{' '.join(self.folds)}]: {' | '.join(self.patterns)}"


@dataclass(frozen=True, slots=True)
class Found:
    """Where a detector fired: [start, end) in characters of the text."""

    detector: str
    start: int
    end: int


def read_detectors(given: Any) -> tuple[Detector, ...]:
    """The detectors of a rule file, None being none. Raises ValueError with one sentence."""
    if given is None:
        return ()
    if not isinstance(given, list):
        raise ValueError("[[detectors]]: expected tables with name, patterns and folds")
    listed = cast("list[Any]", given)
    if len(listed) > _MOST:
        raise ValueError(f"[[detectors]]: expected at most {_MOST}, got {len(listed)}")
    found = tuple(_detector(each, f"[[detectors]] {at}") for at, each in enumerate(listed, start=1))
    names = [each.name for each in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"[[detectors]]: the name {twice!a} stands twice")
    return found


def _detector(given: Any, where: str) -> Detector:
    if not isinstance(given, Mapping):
        raise ValueError(f"{where}: expected a table with name, patterns and folds, got {ascii(given)[:80]}")
    table = cast("Mapping[str, Any]", given)
    unknown = sorted(set(table) - set(_KEYS))
    if unknown:
        raise ValueError(f"{where}: unknown key {unknown[0]!a}; expected {', '.join(_KEYS)}")
    name, about = table.get("name"), table.get("about", "")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"{where}: name: expected lower-case letters, digits, _ and -, got {ascii(name)[:80]}")
    if name == DELIMITER:
        raise ValueError(f"{where}: name: {DELIMITER!a} is a detector that is always there; choose another name")
    if not isinstance(about, str):
        raise ValueError(f"{where} ({name}): about: expected text, got {ascii(about)[:80]}")
    patterns = _texts(table.get("patterns"), f"{where} ({name}): patterns")
    if not 0 < len(patterns) <= _MOST_PATTERNS:
        raise ValueError(f"{where} ({name}): patterns: expected 1 to {_MOST_PATTERNS}, got {len(patterns)}")
    for pattern in patterns:
        try:
            matches_nothing = _compiled(pattern).search("") is not None
        except ValueError as error:
            raise ValueError(f"{where} ({name}): {error}") from None
        if matches_nothing:
            raise ValueError(f"{where} ({name}): {pattern!a} matches an empty text, so it would fire on every one")
    folds = _texts(table.get("folds", []), f"{where} ({name}): folds")
    strange = next((each for each in folds if each not in FOLDS), None)
    if strange is not None:
        raise ValueError(f"{where} ({name}): folds: expected some of {', '.join(FOLDS)}, got {strange!a}")
    return Detector(name, about, patterns, tuple(each for each in FOLDS if each in folds))


def _texts(given: Any, where: str) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in cast("list[Any]", given)):
        raise ValueError(f"{where}: expected a list of texts, got {ascii(cast('Any', given))[:80]}")
    return tuple(cast("list[str]", given))


def detect(text: str, detectors: Iterable[Detector]) -> list[Found]:
    """What the detectors find in a text, detector by detector, `delimiter` first; each place once, in order."""
    folded: dict[tuple[str, ...], Folded] = {}
    found = [Found(DELIMITER, *span) for span in islice(_delimiters(text), _MOST_FOUND)]
    for each in detectors:
        if each.folds not in folded:
            folded[each.folds] = fold(text, each.folds)
        spans = sorted(set(islice(_spans(folded[each.folds], each), _MOST_FOUND)))
        found += [Found(each.name, *span) for span in spans]
    return found


def _delimiters(text: str) -> Iterator[tuple[int, int]]:
    seen = fold(text, ("invisible", "nfkc", "case"))
    return (seen.span(*span) for span in looks_delimited(seen.text))


def _spans(folded: Folded, detector: Detector) -> Iterator[tuple[int, int]]:
    for pattern in detector.patterns:
        for match in _compiled(pattern).finditer(folded.text):
            start, end = match.span()
            if start < end:
                yield folded.span(start, end)


@lru_cache(maxsize=1024)
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
    raise ValueError(f"expected a pattern that RE2 compiles, got {pattern!a}: {said}")
