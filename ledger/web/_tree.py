"""JSON as a page shows it: nested lists that fold, with keys in the order and numbers in the spelling they stand in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from markupsafe import Markup

from ledger.web._text import MOST_SHOWN, excerpts, visible
from ledger.web._text import name as a_name

__all__ = ["LinkOf", "tree"]

LinkOf = Callable[[tuple[str, ...], int], str | None]
"""For a whole number at a path of keys ("*" for a place in an array): the address to link it to, where there is one."""

_MOST_TEXT = 256 << 10
_MOST_NODES = 4_000
_MOST_DEEP = 64
_ONE_LINE = 160
_OPEN_UP_TO = 12
_HASH = re.compile(r"[0-9a-f]{64}")
_TOO_DEEP = "nested deeper than this page folds"


class _Number(str):
    """A number in the spelling that stands in the text."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class _Members:
    """An object as written: every pair in order, a key that comes twice as well."""

    pairs: Sequence[tuple[str, Any]]


class _NoTree(Exception):
    """What was given can't be folded; the text of the exception says why."""


def tree(value: object, *, link: LinkOf | None = None) -> Markup:
    """JSON text (a str), or a value that JSON has, as nested lists that fold without a script.

    Text that isn't JSON, is nested too deep or is too large is shown as the text that it is, with a word on why.
    `link` may give whole numbers, such as seqs, an address.
    """
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    try:
        if len(text) > _MOST_TEXT:
            raise _NoTree("too long to be folded")
        drawn = _Drawing(link).node(_loaded(text), None, ())
    except _NoTree as problem:
        return _as_text(text, str(problem))
    return Markup('<div class="tree">{}</div>').format(drawn)


def _loaded(text: str) -> Any:
    try:
        return json.loads(
            text, object_pairs_hook=_Members, parse_int=_Number, parse_float=_Number, parse_constant=_Number
        )
    except RecursionError:
        raise _NoTree(_TOO_DEEP) from None
    except ValueError:
        raise _NoTree("no JSON") from None


def _as_text(text: str, why: str) -> Markup:
    (first, *_) = excerpts(text)
    rest = "" if first.end == len(text.encode("utf-8", "surrogatepass")) else " Only its beginning is shown here."
    return Markup('<p class="quiet">Shown as text: it is {}.{}</p><pre class="text" dir="auto">\n{}</pre>').format(
        why, rest, first.drawn
    )


class _Drawing:
    """One tree. What it may still draw is counted, so that no body makes an endless page."""

    def __init__(self, link: LinkOf | None) -> None:
        self._link = link
        self._nodes = _MOST_NODES
        self._bytes = 4 * MOST_SHOWN

    def node(self, value: Any, key: Markup | None, path: tuple[str, ...]) -> Markup:
        self._nodes -= 1
        if len(path) > _MOST_DEEP:
            raise _NoTree(_TOO_DEEP)
        label = Markup("{} ").format(key) if key is not None else Markup("")
        match value:
            case _Members():
                return self._container(value.pairs, label, path, "{}", "key")
            case list():
                items = cast("list[Any]", value)
                return self._container([(None, each) for each in items], label, path, "[]", "item")
            case _Number():
                return label + self._number(value, path)
            case str():
                return self._string(value, label)
            case _:
                return label + Markup('<code class="json-word">{}</code>').format(json.dumps(value))

    def _number(self, token: _Number, path: tuple[str, ...]) -> Markup:
        drawn = Markup('<code class="json-num">{}</code>').format(token)
        if self._link is None or not re.fullmatch(r"[1-9][0-9]{0,15}", token):
            return drawn
        address = self._link(path, int(token))
        return Markup('<a href="{}">{}</a>').format(address, drawn) if address else drawn

    def _string(self, text: str, label: Markup) -> Markup:
        if _HASH.fullmatch(text):
            return label + Markup('<code class="json-hash">{}</code>').format(text)
        (first, *_) = excerpts(text, most=max(self._bytes, _ONE_LINE))
        self._bytes -= first.end
        cut = first.end < len(text.encode("utf-8", "surrogatepass"))
        if len(text) <= _ONE_LINE and "\n" not in text and not cut:
            return label + Markup('<code class="json-str">“<bdi>{}</bdi>”</code>').format(first.drawn)
        start = visible(text.split("\n", 1)[0][:60])
        rest = Markup('<p class="quiet">The rest isn’t shown here.</p>') if cut else Markup("")
        return Markup(
            '<details><summary>{}<code class="json-str">“<bdi>{}</bdi>…</code></summary>'
            '<pre class="text" dir="auto">\n{}</pre>{}</details>'
        ).format(label, start, first.drawn, rest)

    def _container(
        self, members: Sequence[tuple[str | None, Any]], label: Markup, path: tuple[str, ...], signs: str, what: str
    ) -> Markup:
        if not members:
            return label + Markup('<code class="json-word">{}</code>').format(signs)
        items: list[Markup] = []
        for key, value in members:
            if self._nodes <= 0:
                items.append(Markup('<li class="quiet">… and more, which isn’t shown here</li>'))
                break
            name = Markup('<code class="json-key">{}</code>').format(a_name(key)) if key is not None else None
            items.append(Markup("<li>{}</li>").format(self.node(value, name, (*path, "*" if key is None else key))))
        tag = Markup("ol") if signs == "[]" else Markup("ul")
        count = f"{signs[0]}{len(members)} {what}{'s' if len(members) != 1 else ''}{signs[1]}"
        opened = Markup(" open") if not path or (len(path) < 3 and len(members) <= _OPEN_UP_TO) else Markup("")
        return Markup(
            '<details{}><summary>{}<code class="json-size">{}</code></summary><{}>{}</{}></details>'
        ).format(opened, label, count, tag, Markup("").join(items), tag)  # fmt: skip
