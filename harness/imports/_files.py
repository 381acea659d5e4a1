"""Reading another project's files: whole, within bounds, as JSON; and their words, as an event body may hold them."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from harness._absent import no_file
from harness._errors import UsageError
from harness._json import JSONError, guarded, number, unique
from ledger import printable

__all__ = ["MAX_FILE", "json_claim", "read_file", "read_json", "shown", "text_claim", "what"]

MAX_FILE: Final = 256 * 2**20
"""Bytes; an artifact goes whole into the ledger, once for each of its runs."""

_MAX_CLAIM: Final = 2_000


def shown(path: Path) -> str:
    """A path as a message may hold it."""
    return printable(str(path))


def read_file(path: Path) -> bytes:
    """The bytes of a regular file of at most `MAX_FILE` bytes. Raises UsageError."""
    try:
        if not path.is_file():
            raise UsageError(no_file(path))
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(MAX_FILE + 1) if size <= MAX_FILE else b""
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{shown(path)}: can't be read: {reason}") from None
    if max(size, len(data)) > MAX_FILE:
        raise UsageError(f"{shown(path)}: expected at most {MAX_FILE >> 20} MiB, got more; split the artifact")
    return data


def read_json(data: bytes, where: str) -> Any:
    """The JSON value of a file. NaN and the infinities, which Python writes, are read as a number that is none.

    Numbers are int or Decimal. Raises UsageError for anything else that isn't JSON, duplicate keys included.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{where}: not UTF-8 (byte {error.start}); save it as UTF-8") from None
    decoder = json.JSONDecoder(
        object_pairs_hook=unique, parse_int=number, parse_float=number, parse_constant=lambda _: Decimal("NaN")
    )
    try:
        return guarded(decoder, text)
    except JSONError as error:
        raise UsageError(f"{where}: expected one JSON value, got a file that isn't: {error}") from None


def what(value: Any) -> str:
    """What kind of JSON value something is, for messages."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    kinds = {str: "a text", list: "a list", dict: "an object"}
    return next((name for kind, name in kinds.items() if isinstance(value, kind)), "a number")


def text_claim(text: str) -> str:
    """Their text as a body may hold it: U+0000 and lone surrogates as visible escapes, and cut where it is long."""
    cut = text if len(text) <= _MAX_CLAIM else text[:_MAX_CLAIM] + f"… ({len(text)} characters)"
    return cut.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def json_claim(value: Any) -> str:
    """Their value as JSON text; a text itself stays as it is."""
    if isinstance(value, str):
        return text_claim(value)
    try:
        return text_claim(json.dumps(value, default=str))
    except (ValueError, RecursionError):  # a number of 4,300 digits, or more lists in lists than the stack has room for
        return what(value)
