"""Verify's reading of bodies: their commitment, their RFC 8785 form, their shape, and what they name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, cast

import orjson
from pydantic import ValidationError

from ledger._canonical import MAX_BODY, MAX_DEPTH, why_not_canonical
from ledger._verify_findings import Findings
from ledger.kinds import KINDS, first_problem

__all__ = ["MAY_HOLD_FLOATS", "Bodies"]

MAY_HOLD_FLOATS = frozenset({b"wait", b"plan", b"confirm", b"score", b"tally", b"report", b"execute", b"gate"})
"""Kinds whose models allow a fraction, an unbounded integer or free JSON somewhere.

A body of any other kind that its model accepts holds no number that orjson and RFC 8785 write differently and nests no
deeper than its model, so the orjson round trip alone settles its form. A test holds this list against the models.
"""
# In canonical text a number follows ':', ',' or '['; a false alarm, inside a string, only costs time.
_FRACTION_OR_LONG = re.compile(rb"[:,\[]-?(?:[0-9]+[.eE]|[0-9]{16})")

_KIND, _BODY = 5, 11  # places in a row of the scan

_Refs = list[tuple[bytes, int]]
_NO_REFS: _Refs = []


def _needs_care(body: bytes) -> bool:
    return _FRACTION_OR_LONG.search(body) is not None or body.count(b"{") + body.count(b"[") > MAX_DEPTH


class Bodies:
    """Reads the bodies of known and unknown kinds. One instance a verification."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._validate: dict[bytes, Callable[[bytes], Any]] = {
            name.encode(): model.__pydantic_validator__.validate_json for name, model in KINDS.items()
        }
        self._versions = {name.encode(): model.latest() for name, model in KINDS.items()}
        self._quick = {name: (validate, self._versions[name]) for name, validate in self._validate.items()}

    def settle(self, rows: Sequence[tuple[Any, ...]]) -> list[dict[str, Any] | None]:
        """The bodies of these event rows that are beyond doubt: canonical and of their kind's model; None for others.

        By the batch, one step after the other, because the processor keeps one parser's code at hand at a time; row by
        row, parsing takes twice as long.
        """
        quick = self._quick
        values: list[dict[str, Any] | None] = []
        for row in rows:
            body, value = row[_BODY], None
            if row[_KIND] in quick and type(body) is bytes and len(body) <= MAX_BODY and body.isascii():
                try:
                    value = orjson.loads(body)
                    if (
                        orjson.dumps(value, option=orjson.OPT_SORT_KEYS) != body
                        or b"\\u0000" in body
                        or (row[_KIND] in MAY_HOLD_FLOATS and _needs_care(body))
                    ):
                        value = None
                except (ValueError, TypeError, RecursionError):
                    value = None
            values.append(value)
        for position, (row, value) in enumerate(zip(rows, values, strict=True)):
            if value is not None:
                validate, latest = quick[row[_KIND]]
                try:
                    validate(row[_BODY])
                    # Every known one: a ledger that an older release wrote is read as fast as our own.
                    if not 1 <= value["schema"] <= latest:
                        values[position] = None
                except (ValueError, KeyError):
                    values[position] = None
        return values

    def refs(self, seq: int, kind: bytes, body: bytes, settled: dict[str, Any] | None) -> _Refs | None:
        """The blobs that a body names as (hash, size), in its order; None when it can't be read."""
        value = self._slowly(seq, kind, body) if settled is None else settled
        if value is None:
            return None
        blobs = value.get("blobs")
        if blobs is None:
            return _NO_REFS
        if settled is not None:
            return [(ref["hash"].encode(), ref["size"]) for ref in blobs.values()]
        return self._careful_refs(seq, blobs)

    def _slowly(self, seq: int, kind: bytes, body: bytes) -> dict[str, Any] | None:
        """The exact way: RFC 8785 by the reference library, then the model, each fault named."""
        reason = why_not_canonical(body)
        if reason is not None:
            self._findings.add(seq, "the body's form", "one JSON object in its RFC 8785 form", reason)
            return None
        try:
            value = cast("dict[str, Any]", orjson.loads(body))
        except ValueError as problem:
            self._findings.add(seq, "the body's form", "JSON", problem)
            return None
        version = value.get("schema")
        if type(version) is not int or version < 1:
            self._findings.add(seq, "the body's schema", "an integer from 1", version)
            return value
        validate = self._validate.get(kind)
        if validate is None:
            return value
        name = kind.decode()
        if version > self._versions[kind]:
            self._findings.unread(
                f"bodies of kind {name} with schema {version} are newer than this package knows: chain and form were"
                " checked, not their shape"
            )
            return value
        try:
            validate(body)
        except ValidationError as problem:
            self._findings.add(seq, "the body's shape", f"a body of kind {name}", first_problem(problem))
        return value

    def _careful_refs(self, seq: int, blobs: Any) -> _Refs | None:
        refs: _Refs = []
        values = cast("dict[str, object]", blobs).values() if isinstance(blobs, dict) else [blobs]
        for ref in values:
            match ref:
                case {"hash": str(digest), "size": int(size)}:
                    refs.append((digest.encode(), size))
                case _:
                    self._findings.add(seq, "the body's blobs", "a hash and a size by name", ref)
                    return None
        return refs
