"""Edges against causes: `edges` is derived, so it must hold exactly what the causes of all events give."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from ledger._verify_findings import Findings

__all__ = ["EdgeStream"]

_SELECT = "SELECT effect, cause FROM main.edges ORDER BY effect, cause"
_SELECT_AFTER = _SELECT.replace(" ORDER", " WHERE effect > ? ORDER")
_SELECT_UNTIL = _SELECT.replace(" ORDER", " WHERE effect <= ? ORDER")
_SELECT_BETWEEN = _SELECT.replace(" ORDER", " WHERE effect > ? AND effect <= ? ORDER")


class EdgeStream:
    """Rows of `edges` by effect; `take` is called for each event in order of seq. SQLite sorts, on disk if large.

    With `after`, only the edges that lead to later events than that one; with `until`, none to later ones than that.
    """

    def __init__(
        self, connection: sqlite3.Connection, findings: Findings, after: int = 0, until: int | None = None
    ) -> None:
        self._findings = findings
        if until is None:
            asked = (_SELECT_AFTER, (after,)) if after else (_SELECT, ())
        else:
            asked = (_SELECT_BETWEEN, (after, until)) if after else (_SELECT_UNTIL, (until,))
        self._rows: Iterator[tuple[object, object]] = iter(connection.execute(*asked))
        self._next: tuple[int, int] | None = None
        self._advance()

    def _advance(self) -> None:
        for effect, cause in self._rows:
            if type(effect) is int and type(cause) is int:
                self._next = (effect, cause)
                return
            self._findings.add(None, "an edge", "two integers", (cause, effect))
        self._next = None

    def only_cause(self, seq: int, causes: object) -> int:
        """The cause of event `seq` if the next edge gives exactly the text of its causes; else 0.

        An edge's cause that is smaller than `seq`, written as `[cause]`, is of the grammar by itself.
        """
        following = self._next
        if following is not None and following[0] == seq and 0 < following[1] < seq:
            return following[1] if causes == b"[%d]" % following[1] else 0
        return 0

    def take(self, seq: int, causes: tuple[int, ...] | None) -> None:
        """Hold the edges into event `seq` against its causes (None: not readable, and reported already)."""
        following = self._next
        if following is None or following[0] > seq:
            for cause in causes or ():
                self._findings.add(seq, "an edge is missing", f"{cause} -> {seq}", "nothing")
            return
        while self._next is not None and self._next[0] < seq:
            self._stray(None)
        for cause in causes or ():
            while self._next is not None and self._next[0] == seq and self._next[1] < cause:
                self._stray(seq)
            if self._next == (seq, cause):
                self._advance()
            else:
                self._findings.add(seq, "an edge is missing", f"{cause} -> {seq}", "nothing")
        while self._next is not None and self._next[0] == seq:
            if causes is None:
                self._advance()
            else:
                self._stray(seq)

    def _stray(self, seq: int | None) -> None:
        assert self._next is not None
        effect, cause = self._next
        self._findings.add(seq, "an edge that no event's causes give", "nothing", f"{cause} -> {effect}")
        self._advance()

    def finish(self) -> None:
        """Whatever is left leads to no event."""
        while self._next is not None:
            self._stray(None)
