"""Cells in a row that come to the very same refusal: the mark of a wrong address, a wrong name or a wrong parameter.

Another question gets no other answer from a server that isn't there, a path that isn't its interface's, or a model that
it doesn't have. So nobody has to wait until all cells have failed the same way.
"""

from __future__ import annotations

import re

from harness._capture import Exchange
from harness.parse import Reading, said_in

__all__ = ["ALIKE_CELLS", "UNREACHABLE", "Alike"]

ALIKE_CELLS = 5
"""So many in a row are no accident."""
UNREACHABLE = frozenset({"dns", "connect_refused", "tls", "tls_cut", "proxy_refused"})
_ADDRESS = UNREACHABLE | {"protocol", "redirect", "not_json", "model_missing", "forbidden", "auth"}
_REQUEST = frozenset({"bad_request", "http_415", "http_422"})
"""What may lie with a case: it counts only in the same words, and where nothing was answered yet."""
_CLASS = re.compile(r"http_[34][0-9]{2}")
_OF_A_CASE = frozenset({"http_408", "http_409", "http_413", "http_425", "http_429", "http_499"})


class Alike:
    """Counts one candidate's cells as they end."""

    def __init__(self) -> None:
        self._last: tuple[object, ...] | None = None
        self._times = 0
        self._answered = False
        self._cells = 0

    @property
    def all_alike(self) -> bool:
        """Whether every cell so far ended in the same way, however few there were."""
        return 0 < self._cells == self._times

    def ends(self, exchange: Exchange, reading: Reading) -> bool:
        """Note how a cell ended; whether that is the fifth in a row of one kind (once: the sixth says no more)."""
        key = self._key(exchange, reading)
        self._cells += 1
        self._answered = self._answered or reading.status != "error"
        self._times = self._times + 1 if key is not None and key == self._last else int(key is not None)
        self._last = key
        return self._times == ALIKE_CELLS

    def _key(self, exchange: Exchange, reading: Reading) -> tuple[object, ...] | None:
        if reading.status != "error":
            return None
        name, status = reading.reason, exchange.wire.status if exchange.wire else None
        if name in _REQUEST:
            return None if self._answered or exchange.wire is None else (status, name, said_in(exchange.wire))
        of_address = name in _ADDRESS or (_CLASS.fullmatch(name) is not None and name not in _OF_A_CASE)
        return (status, name) if of_address else None
