"""Texts that a bundle must not hold, and looking for them in what it is about to hold.

A text is found as it stands, in capitals or not, with its white space in whatever form, and in what JSON, HTML, URLs,
hex digits and base64 make of it. A long one is found by any quotation of `QUOTED` characters.
"""

from __future__ import annotations

import binascii
import gzip
import html
import json
import re
import unicodedata
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, cast
from urllib.parse import unquote_plus

from blake3 import blake3

__all__ = ["QUOTED", "HiddenTexts", "folded_words", "keys_of", "leaves"]

QUOTED = 36
"""Any quotation of so many characters of a longer text is found."""
_PIECE, _STRIDE = 24, 12  # a run of _PIECE + _STRIDE - 1 characters holds one piece whole, wherever it begins
_SHORTEST = 4
_HEAD = 4
_FEW_HEADS = 100
_MOST_UNPACKED = 1 << 26
_WORD = re.compile(r"\w+")
_ENTITY = re.compile(r"&(?:#|[A-Za-z]+;)")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_PLAIN = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{6,}")
_START = 8
_HEX_RUN = re.compile(r"[0-9a-f]{8,}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){4,}")
_DIGEST = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{12}|[0-9a-f]{8})(?![0-9A-Za-z])")
_ID = re.compile(r"(?<![0-9A-Za-z])[a-z0-9]{16,32}(?![0-9A-Za-z])")
_EVERYDAY = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "from", "had", "has", "have", "i", "if", "in",
    "is", "it", "its", "no", "not", "of", "on", "one", "or", "our", "run", "s", "so", "than", "that", "the", "then",
    "there", "they", "this", "to", "too", "two", "was", "we", "were", "what", "when", "who", "why", "with", "wrong",
    "right", "yes",
})  # fmt: skip
"""Words that stand in any sentence: as answers they tell nothing there."""
_SPACES = {ord(each): " " for each in "\t\n\r"}
_LOCATOR = re.compile(r"ledger:[a-z0-9./-]+/[0-9]+(?:,attempt=[0-9]+)?/[0-9a-f]{64}/[0-9a-f]{8}")
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def leaves(value: Any) -> Iterator[str]:
    """Every string and number of a JSON value, numbers by their text."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int | float):
        yield json.dumps(value)
    elif isinstance(value, list | dict):
        inner = cast("dict[str, Any]", value).values() if isinstance(value, dict) else cast("list[Any]", value)
        for each in inner:
            yield from leaves(each)


def keys_of(value: Any) -> set[str]:
    """The keys of every object in a JSON value."""
    if isinstance(value, dict):
        inner = cast("dict[str, Any]", value)
        return {*inner, *(key for each in inner.values() for key in keys_of(each))}
    if isinstance(value, list):
        return {key for each in cast("list[Any]", value) for key in keys_of(each)}
    return set()


def _folded(text: str) -> str:
    """What a text is compared by: one form of each letter, no capitals, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def folded_words(text: str) -> set[str]:
    """The words of a text as texts are compared."""
    return set(_WORD.findall(_folded(text)))


def _unescaped(text: str) -> str:
    """What JSON's escapes stand for."""
    plain = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _PLAIN[found[2]], text)
    return _SURROGATES.sub(lambda found: found[0].encode("utf-16", "surrogatepass").decode("utf-16"), plain)


def _decoded(text: str) -> str:
    """What runs of base64 and of hex digits in a text come to, as far as that is text, one after the other."""
    found: list[bytes] = []
    for run in _BASE64.findall(text):
        packed = run.replace("-", "+").replace("_", "/")
        # A run may begin with letters of something else, so that the bytes come out from each of four places.
        for start in range(min(4, len(packed) - 5)):
            rest = packed[start:]
            rest = rest[: len(rest) - 1] if len(rest) % 4 == 1 else rest
            found.append(binascii.a2b_base64(rest + "=" * (-len(rest) % 4)))
    for run in _HEX.findall(text):
        found += [bytes.fromhex(run), bytes.fromhex(run[1:-1])]
    return "\0".join(filter(None, map(_as_text, found)))


def _as_text(data: bytes) -> str:
    """Bytes as text; empty where they are none, as what comes out of names and hashes isn't."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return text if text.translate(_SPACES).isprintable() else ""


class HiddenTexts:
    """The texts to be hidden. `common` is what stands in every bundle: what is part of that, tells nobody anything."""

    def __init__(self, common: str = "", labels: Iterable[str] = (), ids: Iterable[str] = ()) -> None:
        """`labels` are names that have to be shown: as a whole, or as a quotation, they tell nothing either. `ids` are
        of runs: drawn by chance, as hashes are, so that what they spell is chance."""
        self._ids = frozenset(ids)
        self._digests: set[str] = set()
        self._labels = {_folded(each) for each in labels}
        self._common = _folded(common)
        folded = "\0".join((self._common, *self._labels))
        self._common_pieces = {folded[at : at + _PIECE] for at in range(len(folded) - _PIECE + 1)}
        self._wholes: set[str] = set()
        # Short texts, and pieces of long ones, by their first characters, then by length: many may begin alike.
        self._texts: dict[str, dict[int, set[str]]] = {}
        self._brief: set[str] = set()  # two or three letters, of scripts that say much with few
        self._clean: set[bytes] = set()

    def add(self, text: str) -> None:
        """Add one text. One that is too short, or common, is only found where it is the whole of a value."""
        folded = _folded(text)
        if not folded or folded in self._labels:
            return
        self._clean.clear()
        if len(folded.encode("utf-8", "surrogatepass")) < _SHORTEST or folded in self._common:
            self._wholes.add(folded)
        elif len(folded) < _HEAD:
            self._brief.add(folded)
        else:
            for each in (folded,) if len(folded) <= QUOTED else set(_pieces_of(folded)) - self._common_pieces:
                self._texts.setdefault(each[:_HEAD], {}).setdefault(len(each), set()).add(each)

    def add_digest(self, digest: str) -> None:
        """Add a digest, in hex, that a guess could be tried against: its first 8 digits are enough for that."""
        self._digests.add(digest[:_START])

    def add_quotable(self, text: str) -> None:
        """Add a text that is only looked for by quotations of it: a short one would be found everywhere."""
        if len(_folded(text)) > QUOTED:
            self.add(text)

    def is_one(self, value: str) -> bool:
        """Whether a whole value is one of the texts that are too short or too common to be looked for within others."""
        return bool(self._wholes) and any(_folded(form) in self._wholes for form in _forms(value))

    def names_one(self, prose: str) -> bool:
        """Whether a sentence that somebody wrote has one of the common texts among its words."""
        words = {_folded(each) for form in _forms(prose) for each in _WORD.findall(form)}
        return bool(self._wholes & words - _EVERYDAY)

    def held_by(self, text: str, apart: Collection[str] = ()) -> bool:
        """Whether a text holds one of those that are long enough to be told from chance; but for those in `apart`."""
        if _LOCATOR.search(text) or any(run[:_START] in self._digests for run in _HEX_RUN.findall(text.lower())):
            return True
        seen: set[str] = set()
        for form in _forms(text):
            folded = _folded(self._without_chance(form))
            if folded in seen:
                continue
            seen.add(folded)
            if self._within(folded, apart):
                return True
        return self._within(_folded(_decoded(text)), apart)

    def held_by_bytes(self, data: bytes, apart: Collection[str] = ()) -> bool:
        """Whether a file holds one of the texts but for those in `apart`, packed with gzip or zlib or not."""
        digest = blake3(data).digest() + bool(apart).to_bytes()
        if digest in self._clean:  # the same file, looked into already
            return False
        # Made of such words alone, as frozen sources are: then a number in a longer number tells nothing either.
        if apart and folded_words(_unescaped(data.decode("utf-8", "replace"))).issubset(apart):
            return False
        for plain in (data, _unpacked(data)):
            if plain and (
                self.held_by(plain.decode("utf-8", "replace"), apart)
                or (plain[:2] in (b"\xff\xfe", b"\xfe\xff") and self.held_by(plain.decode("utf-16", "replace"), apart))
            ):
                return True
        self._clean.add(digest)
        return False

    def _without_chance(self, text: str) -> str:
        """A text without hashes and ids of runs: short texts, numbers above all, stand in those by chance."""
        text = _DIGEST.sub(" ", text)
        return _ID.sub(lambda found: " " if found[0] in self._ids else found[0], text) if self._ids else text

    def _within(self, folded: str, apart: Collection[str]) -> bool:
        if any(each in folded for each in self._brief):
            return True
        grams = {folded[at : at + _HEAD] for at in range(len(folded) - _HEAD + 1)}
        heads = self._texts.keys() & grams
        if len(heads) <= _FEW_HEADS:
            return any(_begins(folded, head, self._texts[head], apart) for head in heads)
        for at in range(len(folded) - _HEAD + 1):
            found = self._texts.get(folded[at : at + _HEAD])
            if found is not None and _stands(folded, at, found, apart):
                return True
        return False


def _stands(folded: str, at: int, texts: Mapping[int, set[str]], apart: Collection[str]) -> bool:
    """Whether one of the texts, by length, stands at this place."""
    for size, among in texts.items():
        here = folded[at : at + size]
        if here in among and here not in apart:
            return True
    return False


def _begins(folded: str, head: str, texts: Mapping[int, set[str]], apart: Collection[str]) -> bool:
    """Whether one of the texts stands somewhere that `head` does."""
    at = folded.find(head)
    while at >= 0:
        if _stands(folded, at, texts, apart):
            return True
        at = folded.find(head, at + 1)
    return False


def _pieces_of(folded: str) -> Iterator[str]:
    last = len(folded) - _PIECE
    for at in range(0, last, _STRIDE):
        yield folded[at : at + _PIECE]
    yield folded[last:]


def _forms(text: str) -> Iterator[str]:
    yield text
    if "\\" in text:
        # JSON; and JSON in JSON in JSON, as a request that carries a tool's arguments is.
        once = _unescaped(text)
        yield once
        yield _unescaped(_unescaped(once))
    if _ENTITY.search(text):
        yield html.unescape(text)
    if _PERCENT.search(text):
        yield unquote_plus(text)


def _unpacked(data: bytes) -> bytes:
    try:
        if data[:2] == b"\x1f\x8b":
            return gzip.decompress(data)[:_MOST_UNPACKED]
        if data[:1] == b"\x78":
            return zlib.decompressobj().decompress(data, _MOST_UNPACKED)
    except (OSError, EOFError, zlib.error):
        pass
    return b""
