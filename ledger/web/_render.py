"""Drawing a page: Jinja2 templates that escape everything, with what every template may use.

Text out of a ledger was written by models, servers and strangers; nothing marks it as safe but `_text`, which escapes.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined
from markupsafe import Markup

from ledger._screen import printable
from ledger.web._links import Links
from ledger.web._pages import Page, View, all_pages, route_named
from ledger.web._text import name, when
from ledger.web._verdict import verdict_known

__all__ = ["asset_bytes", "draw", "draw_problem", "read_templates"]

DEFAULT_LEDGER = "ledger.db"
_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


@cache
def _environment() -> Environment:
    # Datasette takes the folder `templates` of its plugins for its own: a base.html there would be every page's of
    # Datasette. So what has a name that Datasette knows lies one folder further in.
    loaders: dict[str, BaseLoader] = {
        each.name: ChoiceLoader([
            PackageLoader(each.package, folder)
            for folder in (f"templates/{each.name}", "templates")
            if (files(each.package) / folder).is_dir()
        ])
        for each in all_pages()
    }  # fmt: skip
    environment = Environment(
        loader=PrefixLoader(loaders), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(name=name, when=when)
    return environment


@cache
def asset_bytes(package: str, file: str) -> tuple[bytes, str] | None:
    """A static file of an installed package's pages, and its media type; None where there is none."""
    for each in all_pages():
        if each.name == package and "/" not in file and not file.startswith("."):
            found = files(each.package) / "static" / file
            kind = _TYPES.get(file.rpartition(".")[2])
            if kind is not None and found.is_file():
                return found.read_bytes(), kind
    return None


def read_templates() -> None:
    """Read every template ahead of the first page that needs it."""
    for template in _environment().list_templates(extensions=["html"]):
        _environment().get_template(template)


class _Link:
    """`link(text, route, query, **parts)` of templates: an anchor, or the text alone where there is no such page."""

    def __init__(self, links: Links) -> None:
        self._links = links

    def __call__(
        self, text: object, route: str, query: Mapping[str, object] | None = None, /, **parts: object
    ) -> Markup:
        address = self._links.to(route, query, **parts)
        shown = name(text) if isinstance(text, str) and not isinstance(text, Markup) else text
        return Markup('<a href="{}">{}</a>').format(address, shown) if address else Markup("{}").format(shown)


def _styles() -> Sequence[tuple[str, str]]:
    return [(each.name, style) for each in all_pages() for style in each.styles]


def _nav() -> Sequence[tuple[str, str]]:
    return [each for pages in all_pages() for each in pages.nav if route_named(each[0])]


def _db_words(path: str) -> str:
    """What a command needs that is to read this ledger; nothing for the one that it reads by itself."""
    return "" if path in ("", DEFAULT_LEDGER) else f" --db {shlex.quote(printable(path))}"


def draw(page: Page, view: View, **more: Any) -> str:
    """The page as HTML. `more` are variables of whoever asks (such as a policy that stands in the file)."""
    values = {
        **page.values, "page": page, "view": view, "links": view.links, "to": view.links.to, "table": view.links.table,
        "link": _Link(view.links), "nav": _nav(), "styles": _styles(), "db": _db_words(view.db), **more,
    }  # fmt: skip
    # A page that is handed on alone says too what is known of the chain that it was drawn from.
    if "drawn_from" not in more:
        values["drawn_from"] = verdict_known(view)
    return _environment().get_template(page.template).render(values)


def draw_problem(
    sentence: str, status: int, ledgers: Sequence[tuple[str, str]] = (), *, policy: str = "", links: Links | None = None
) -> str:  # fmt: skip
    """A page that says what is wrong, without a ledger to speak of; or which `ledgers` there are, name and address.

    `policy` is the Content-Security-Policy that stands in the page itself, where no server sends one; `links` lead back
    into the ledger that was asked, and to its looks.
    """
    template = _environment().get_template("ledger/problem.html")
    return template.render(sentence=sentence, status=status, ledgers=ledgers, policy=policy, links=links)
