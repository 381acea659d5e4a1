"""Searching a ledger: case ids, names, tags, candidates, reasons, faults, notes and recipients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ledger.web._figure import Figure, sql
from ledger.web._index import GROUPS, Group, Hit, SearchIndex
from ledger.web._pages import Crumb, Page, PageMissing, View

__all__ = ["Found", "Part", "excerpt", "search"]

_PATIENCE = 1.0
_AT_FIRST = 10
_A_PAGE = 25
_LONGEST = 200
_MOST_WORDS = 12
_LEAST = 3
_AROUND = 60


@dataclass(frozen=True)
class Part:
    """A hit as a page shows it: the text before, at and after the first word that was found, cut to a line."""

    hit: Hit
    before: str
    at: str
    after: str


@dataclass(frozen=True)
class Found:
    """What was found of a group, and where in it the reader is. `first` and `last` count from 1."""

    group: Group
    count: int
    places: Sequence[Sequence[Part]]
    cut: bool
    first: int
    last: int
    newer: int | None
    older: int | None


def search(view: View) -> Page:
    """The search page: `q` is what to look for, `in` one group of results, and `page` where in that."""
    if view.fixed:
        raise PageMissing("a file can't be searched; `ledger serve` shows the ledger that it came from")
    text = view.first("q").strip()
    terms, said = _terms(text)
    group = _group(view)
    page = view.number("page", 1, least=1, most=10_000)
    index = view.memory.room("search", lambda: SearchIndex(view.memory.path))
    covered, problem = index.reach(view.size, patience=_PATIENCE)
    found: list[Found] = []
    if terms:
        for each in GROUPS if group is None else (group,):
            found.append(
                _of_group(index, terms, view.size, each, page if group else 1, _A_PAGE if group else _AT_FIRST)
            )
    values = {
        "text": text[:_LONGEST],
        "said": said,
        "problem": problem,
        "found": found,
        "any": any(each.count for each in found),
        "group": group,
        "covered": _reached(covered) if covered < view.size and not problem else None,
        "size": _reached(view.size),
    }
    title = f"Search: {text[:60]}" if terms else "Search"
    return Page(title, "ledger/search.html", values, [Crumb("Runs", "home"), Crumb("Search")])


def _reached(seq: int) -> Figure:
    return sql(f"SELECT seq FROM events WHERE seq = {seq}" if seq else "SELECT 0", seq)  # noqa: S608 - a number


def _group(view: View) -> Group | None:
    wanted = view.first("in")
    for group in GROUPS:
        if wanted == group:
            return group
    if wanted:
        raise PageMissing(f"in: expected runs, cells or events, got {wanted[:40]!r}")
    return None


def _terms(text: str) -> tuple[Sequence[str], str]:
    """The words to look for; or none, and a sentence that says why."""
    if not text:
        return (), ""
    if len(text) > _LONGEST:
        return (), "That is too long to search for: two hundred characters are the most."
    words = list(dict.fromkeys(text.split()))
    if "\0" in text:
        return (), "No text in a ledger holds that character (NUL), so nothing can be found."
    if len(words) > _MOST_WORDS:
        return (), "Those are too many words to search for: twelve are the most."
    if max(map(len, words)) < _LEAST:
        return (), "That is too short to search for: one word needs at least three characters."
    # Half of a pair can't be in a ledger, and can't be given to SQLite either.
    return [word.encode("utf-8", "replace").decode() for word in words], ""


def _of_group(index: SearchIndex, terms: Sequence[str], size: int, group: Group, page: int, most: int) -> Found:
    skip = (page - 1) * most
    hits = index.find(terms, size, group, skip=skip, most=most)
    last = skip + len(hits.places)
    return Found(
        group, hits.count, [[excerpt(hit, terms) for hit in place] for place in hits.places], hits.cut,
        skip + 1 if hits.places else 0, last, page - 1 if page > 1 else None, page + 1 if last < hits.count else None,
    )  # fmt: skip


def excerpt(hit: Hit, terms: Sequence[str]) -> Part:
    """The part of a text around the first of the words that stands in it."""
    folded = hit.text.lower()
    places = [(folded.find(term.lower()), len(term)) for term in terms]
    start, length = min((each for each in places if each[0] >= 0), default=(0, 0))
    if len(folded) != len(hit.text):
        # Some letters get longer when they get small: where the word is can't be told, only that it is there.
        start, length = 0, 0
    before, at, after = hit.text[:start], hit.text[start : start + length], hit.text[start + length :]
    before = before if len(before) <= _AROUND else "…" + before[-_AROUND:]
    after = after if len(after) <= 2 * _AROUND else after[: 2 * _AROUND] + "…"
    return Part(hit, before, at, after)
