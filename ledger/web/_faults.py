"""What Datasette answers when something goes wrong: one sentence, and nothing of the program's insides.

Datasette 0.65 prints every exception, a plain 404 as well, with the values of all local variables when `rich` is
installed, as it is with us; and it fails itself where the exception is no longer being handled.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from datasette import Response  # pyright: ignore[reportMissingTypeStubs]
from datasette.database import QueryInterrupted  # pyright: ignore[reportMissingTypeStubs]
from markupsafe import Markup

from ledger._screen import printable
from ledger.web._answering import links_of
from ledger.web._render import draw_problem
from ledger.web._shelves import is_ledger

__all__ = ["answer_of", "without_default"]

_TOO_LONG = "SQL Interrupted"
_OWN = "datasette.handle_exception"


def without_default(answers: Sequence[Any]) -> list[Any]:
    """The answers of all plugins but Datasette's own, which prints before it answers."""
    return [each for each in answers if getattr(each, "__module__", "") != _OWN]


def answer_of(datasette: Any, request: Any, problem: Exception) -> Callable[[], Awaitable[Response]]:
    """What works out the answer to an exception that nobody handled."""

    async def answer() -> Response:
        status, title, said = _told(datasette, request, problem)
        headers = {"Access-Control-Allow-Origin": "*"} if datasette.cors else {}
        if request.path.partition("?")[0].endswith(".json"):
            text = str(said.striptags()) if isinstance(said, Markup) else said
            told = {"ok": False, "error": text, "status": status, "title": title}
            body, kind = json.dumps(told), "application/json; charset=utf-8"
            return Response(body, status=status, headers=headers, content_type=kind)
        values: dict[str, Any] = {"ok": False, "error": said, "status": status, "title": title}
        try:
            drawn = await datasette.render_template([f"{status}.html", "error.html"], values, request=request)
        except Exception:  # noqa: BLE001 - what is wrong may be wrong with every page
            drawn = draw_problem(str(said), status)
        return Response(drawn, status=status, headers=headers, content_type="text/html; charset=utf-8")

    return answer


def _told(datasette: Any, request: Any, problem: Exception) -> tuple[int, str | None, str]:
    status = getattr(problem, "status", None)
    title = getattr(problem, "title", None)
    if isinstance(problem, QueryInterrupted):
        # One that Datasette asked on the way to its page, and not the page's own.
        status, title = 400, _TOO_LONG
    if not isinstance(status, int):
        where = printable(f"{request.method} {request.path}")[:200]
        print(f"error: {where}: {printable(f'{type(problem).__name__}: {problem}')[:500]}", file=sys.stderr, flush=True)
        if isinstance(problem, sqlite3.Error):
            return 500, None, f"the database can't be read: {problem}"
        said = f"this failed ({type(problem).__name__}), and the server wrote a line about it"
        if request.path.partition("/-/ledger/")[1]:
            said += "; `ledger verify` says whether the ledger is as it was written"
        return 500, None, said
    if title == _TOO_LONG:
        return status, "Stopped: it took too long", _too_long(datasette, request)
    said = str(getattr(problem, "message", None) or (problem.args[0] if problem.args else ""))
    if status == 404 and said in ("", "404"):
        said = "there is no such page here"
    # What Datasette itself wrote as HTML is shown as the text that it is: it may quote what was asked for.
    return status, title, re.sub(r"<[^>]*>", " ", said) if getattr(problem, "message_is_html", False) else said


def _too_long(datasette: Any, request: Any) -> str:
    limit = int(datasette.setting("sql_time_limit_ms"))
    name = request.url_vars.get("database", "")
    said = f"That took longer than {limit:,} ms, the time limit of a query (sql_time_limit_ms)."
    try:
        database = datasette.get_database(route=name).name
        run = str(request.args.get("run") or "")
        if is_ledger(datasette, database) and re.fullmatch(r"[a-z0-9]{16,32}", run):
            whole = links_of(datasette, database).to("run", run=run)
            return Markup('{} <a href="{}">The run’s own page</a> has its figures.').format(said, whole or "")
        if is_ledger(datasette, database):
            return Markup(
                '{} Ask about one run: add <code>?run=…</code>, or choose one from the <a href="{}">runs</a>.'
            ).format(said, str(datasette.urls.table(database, "runs")))
    except (KeyError, IndexError):
        pass
    return f"{said} Narrow it, or serve with a higher one."
