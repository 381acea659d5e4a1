"""Ledgers behind a Datasette, for the tests of pages: asked in this process, without a socket."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from ledger import Draft, Ledger, kinds
from ledger.web import make_datasette

__all__ = ["Served", "noted"]


class Served:
    """A Datasette over these ledgers. Each call is one request; the answer is httpx's."""

    def __init__(self, *paths: Path, datasette: Any = None, **more: Any) -> None:
        self.datasette = datasette if datasette is not None else make_datasette(*paths, **more)

    def __call__(self, path: str, *, method: str = "GET", actor: str = "", **more: Any) -> Any:
        return asyncio.run(self._ask(path, method, actor, more))

    async def _ask(self, path: str, method: str, actor: str, more: dict[str, Any]) -> Any:
        await self.datasette.invoke_startup()
        if actor:
            more["cookies"] = {"ds_actor": self.datasette.sign({"a": {"id": actor}}, "actor")}
        return await self.datasette.client.request(method, path, **more)


def noted(path: Path, text: str = "seen") -> Path:
    """A new ledger with one note in it."""
    with Ledger.create(path) as ledger:
        ledger.append(Draft(kinds.Note(text=text)))
    return path
