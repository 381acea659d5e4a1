"""The words in which a server refuses, for people: out of an error object, a page, or a text."""

from __future__ import annotations

import html
import re
from typing import Final

from harness.parse._encoding import decode
from harness.parse._errors import error_in
from harness.parse._json import load
from harness.parse._types import Wire

__all__ = ["said_in"]

_MOST: Final = 300
_READ: Final = 65_536
_UNSEEN: Final = re.compile(r"<(script|style|head|title)\b.*?</\1\s*>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
_TITLE: Final = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_TAG: Final = re.compile(r"<[^>]*>")


def said_in(wire: Wire) -> str:
    """What a refusing server says in words, on one line and at most 300 characters; empty where it says nothing.

    The message of its error object, the title and the text of an HTML page, or else the text as it came.
    """
    text = decode(wire.body, wire.header("content-encoding")).data[:_READ].decode("utf-8", "replace")
    error = error_in(load(text)[1])
    if error is not None and error.message:
        return _line(error.message)
    if text.lstrip()[:1] == "<":
        titled = _TITLE.search(text)
        title, rest = _plain(titled[1]) if titled else "", _plain(_UNSEEN.sub(" ", text))
        return _line(f"{title}: {rest}" if title and rest and rest != title else title or rest)
    return _line(text)


def _plain(markup: str) -> str:
    return " ".join(html.unescape(_TAG.sub(" ", markup)).split())


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST else line[: _MOST - 1] + "…"
