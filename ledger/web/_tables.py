"""A ledger in Datasette's own table pages: described, linked to the pages, and harmless to look at.

Only the HTML is touched: what Datasette gives out as JSON or CSV are the stored values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, cast

from markupsafe import Markup

from ledger.web._answering import links_of
from ledger.web._described import columns_of, relations
from ledger.web._links import LiveLinks
from ledger.web._shelves import is_ledger, served
from ledger.web._text import name as a_name
from ledger.web._tree import tree

__all__ = ["cell", "described", "metadata", "sheet"]

Drawn = Markup | Callable[[], Awaitable[Markup]] | None

_TITLE = "A ledger: every action of an evaluation as an event of one hash-chained file"
# Newest first, and few enough at once that what a row holds (a blob may be megabytes) is read in no time.
_ORDER: dict[str, dict[str, Any]] = {
    "events": {"sort_desc": "seq", "size": 50},
    "blobs": {"sort_desc": "id", "size": 20},
    "edges": {"sort_desc": "cause"},
    "freezes": {"sort_desc": "seq"},
    "reports": {"sort_desc": "seq"},
    "supersessions": {"sort_desc": "seq"},
    "taints": {"sort_desc": "seq"},
}
_SEQS = frozenset({
    "seq", "cause", "effect", "taint", "freeze", "request", "response", "fault", "score", "redact", "cleared_by",
    "first_response", "corrects", "report", "event", "by_event", "at_event",
})  # fmt: skip
_RUN = re.compile(r"[a-z0-9]{16,32}")
_SEQ = re.compile(r"[1-9][0-9]{0,15}")
_LABELS = frozenset({"kind", "outcome"})
_FIGURES_OF = frozenset({"run_metrics", "scoreboard", "standing_scoreboard"})
_ONE_LINE = 80
_MOST_FOLDED = 8 << 10
_MOST_NAME = 200
_BLOB_NAME = (
    "SELECT named.key FROM events, json_each(events.body, '$.blobs') AS named"
    " WHERE events.seq = :seq AND named.value ->> '$.hash' = :hash"
)


def metadata(datasette: Any) -> dict[str, Any]:
    """What Datasette shows beside its tables. Made anew each time: Datasette writes the reader's own into it."""
    ledgers = [name for name in served(datasette) if is_ledger(datasette, name)]
    return {"databases": {name: described() for name in ledgers}} if ledgers else {}


def described() -> dict[str, Any]:
    """What is said of one ledger, its tables, views and columns."""
    tables = {
        name: {"description": said, "columns": dict(_columns(name)), **_ORDER.get(name, {})}
        for name, said in relations().items()
    }  # fmt: skip
    return {"description": _TITLE, "tables": tables}


@cache
def _columns(name: str) -> dict[str, str]:
    return columns_of(name)


def sheet(datasette: Any, database: str) -> str:
    """The address of the sheet for what `cell` draws, as the plugin hook wants it: without base_url."""
    address = links_of(datasette, database).asset("ledger", "ledger-tables.css") or ""
    return "/" + address.removeprefix(datasette.setting("base_url"))


def cell(
    datasette: Any, database: str | None, table: str | None, column: str, value: Any, row: Any
) -> Drawn:  # fmt: skip
    """How one cell of a table, a view or a query's answer is drawn; None where Datasette's own way is right."""
    links = links_of(datasette, str(database))
    if value is None:
        gone = (table == "events" and column in ("body", "salt")) or (table == "blobs" and column in ("data", "salt"))
        return Markup('<em class="ledger-gone">withheld</em>') if gone else None
    if isinstance(value, bytes):
        return _bytes_of(datasette, str(database), links, value, row) if table == "blobs" else None
    if isinstance(value, int):
        return _number(links, column, value, row)
    return _text(links, table, column, value, row) if isinstance(value, str) else None


def _number(links: LiveLinks, column: str, value: int, row: Any) -> Markup | None:
    if value > 0 and column in _SEQS:
        return _anchor(links.to("event", seq=value), str(value))
    run = _of(row, "run")
    if value > 0 and column == "cell" and isinstance(run, str) and _RUN.fullmatch(run):
        return _anchor(links.to("cell", run=run, cell=value), str(value))
    return None


def _text(links: LiveLinks, table: str | None, column: str, value: str, row: Any) -> Drawn:
    if not value:
        return None
    if column == "run" and _RUN.fullmatch(value):
        return _anchor(links.to("run", run=value), value)
    if column in ("superseded_by", "by", "id"):
        return _named(links, column, value, row)
    if column in ("hash", "body_hash", "prev") and re.fullmatch(r"[0-9a-f]{64}", value):
        return _hash(links, column, value, row)
    if column in _LABELS and table not in _FIGURES_OF:
        return Markup('<span class="ledger-tag">{}</span>').format(a_name(value))
    if column == "causes":
        return _causes(links, value)
    if column == "body" or value[0] in "{[":
        return _json(links, value, row if column == "body" else None)
    return _plain(value)


def _plain(value: str) -> Markup | None:
    # What looks like an address would be made a link by Datasette: a stranger's, under a ledger's roof.
    if value.isascii() and value.isprintable() and not value.strip().lower().startswith(("http://", "https://")):
        return None
    return a_name(value, _MOST_NAME)


def _named(links: LiveLinks, column: str, value: str, row: Any) -> Markup | None:
    what = _of(row, "what")
    if _SEQ.fullmatch(value) and (column == "superseded_by" or what in ("event", "freeze", "report", "supersession")):
        return _anchor(links.to("event", seq=value), value)
    if _RUN.fullmatch(value) and (column == "superseded_by" or what == "run"):
        return _anchor(links.to("run", run=value), value)
    return _plain(value)


def _hash(links: LiveLinks, column: str, value: str, row: Any) -> Markup | None:
    seq = _of(row, "seq")
    if not isinstance(seq, int) or (column == "prev" and seq < 2):
        return None
    shown = Markup('<code title="{}">{}…</code>').format(value, value[:16])
    return _anchor(links.to("event", seq=seq - 1 if column == "prev" else seq), shown)


def _causes(links: LiveLinks, value: str) -> Markup | None:
    seqs = _parsed(value)
    if not isinstance(seqs, list):
        return _plain(value)
    found = [each for each in cast("list[Any]", seqs)[:50] if isinstance(each, int)]
    more = f" … {len(cast('list[Any]', seqs)) - len(found)} more" if len(found) < len(cast("list[Any]", seqs)) else ""
    return Markup(" ").join(_anchor(links.to("event", seq=each), str(each)) for each in found) + Markup("{}").format(
        more
    )


def _json(links: LiveLinks, value: str, event: Any) -> Markup | None:
    if len(value) <= _ONE_LINE:
        return Markup("<code>{}</code>").format(a_name(value))
    short = a_name(value[: _ONE_LINE - 1])
    if len(value) <= _MOST_FOLDED:
        return Markup("<details><summary><code>{}…</code></summary>{}</details>").format(short, tree(value))
    size = Markup("{:,} characters").format(len(value))
    seq = _of(event, "seq") if event is not None else None
    whole = links.to("event", seq=seq) if isinstance(seq, int) else None
    return Markup("<code>{}…</code> {}").format(short, _anchor(whole, size))


def _bytes_of(datasette: Any, database: str, links: LiveLinks, value: bytes, row: Any) -> Drawn:
    seq, digest = _of(row, "seq"), _of(row, "hash")
    size = Markup("{:,} {}").format(len(value), "byte" if len(value) == 1 else "bytes")
    if not isinstance(seq, int):
        return None

    async def draw() -> Markup:
        found = (await datasette.databases[database].execute(_BLOB_NAME, {"seq": seq, "hash": digest})).first()
        if found is None:
            return _anchor(links.to("event", seq=seq), size)
        return _anchor(links.to("blob", seq=seq, name=found[0]) or links.to("event", seq=seq), size)

    return draw


def _anchor(address: str | None, shown: Markup | str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(address, shown) if address else Markup("{}").format(shown)


def _of(row: Any, column: str) -> Any:
    try:
        return row[column]
    except (IndexError, KeyError, TypeError):
        return None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
