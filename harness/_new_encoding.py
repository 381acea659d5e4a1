"""The text of a table's bytes: UTF-8, or the encoding that was said. A likely one is named, and never taken."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness._errors import UsageError
from ledger import printable

__all__ = ["text_of"]

_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "UTF-32", "utf-32"), (codecs.BOM_UTF32_BE, "UTF-32", "utf-32"),
    (codecs.BOM_UTF16_LE, "UTF-16", "utf-16"), (codecs.BOM_UTF16_BE, "UTF-16", "utf-16"),
)  # fmt: skip
"""Byte order marks; those of UTF-32 begin as those of UTF-16 do."""
_NARROW: Final = (
    ("Windows-1252", "cp1252"), ("Japanese Shift JIS", "shift_jis"), ("Chinese GB18030", "gb18030"),
    ("Windows-1251", "cp1251"), ("Latin-1", "latin-1"),
)  # fmt: skip


def text_of(data: bytes, path: Path, encoding: str) -> str:
    """The text of a file. Raises UsageError for what is no text, naming an encoding only where all of it reads so."""
    shown = printable(str(path))
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise UsageError(f"{shown}: this is a spreadsheet, not text; save the sheet as CSV in UTF-8")
    if encoding:
        text = _decoded(data, shown, encoding)
    else:
        for mark, name, likely in _MARKS:
            if data.startswith(mark):
                raise UsageError(f"{shown}: this is {name}; save it as UTF-8{_or_say(data, likely)}")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UsageError(f"{shown}: {_not_utf8(data, error.start)}") from None
    at = text.find("\0")
    if at >= 0:
        wide = "" if encoding else _wide(data)
        if wide:
            raise UsageError(f"{shown}: this is {wide[:6].upper()}; save it as UTF-8{_or_say(data, wide)}")
        line = text.count("\n", 0, at) + 1
        raise UsageError(f"{shown}: line {line}: holds a NUL character; this is no text")
    return text


def _decoded(data: bytes, shown: str, encoding: str) -> str:
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except (LookupError, ValueError) as error:
        if not isinstance(error, UnicodeError):
            raise UsageError(f"--encoding: {encoding!r} is no encoding that is known here") from None
        raise UsageError(f"{shown}: not {printable(encoding)}: {repr(str(error))[1:120]}") from None


def _or_say(data: bytes, encoding: str) -> str:
    return f", or say --encoding {encoding}" if _reads(data, encoding) else "; it is cut or damaged"


def _reads(data: bytes, encoding: str) -> bool:
    """Whether all of a file is text in an encoding."""
    try:
        return "\0" not in data.decode(encoding)
    except UnicodeError:
        return False


def _wide(data: bytes) -> str:
    """The encoding of two or four bytes a character that a file without a mark seems to be in: where its NULs stand."""
    zeros = data.count(0)
    if 3 * zeros < len(data):
        return ""
    size = 32 if 5 * zeros >= 3 * len(data) else 16
    little = data[1::2].count(0) > data[::2].count(0) if size == 16 else data[3::4].count(0) > data[::4].count(0)
    likely = f"utf-{size}-{'le' if little else 'be'}"
    return likely if _reads(data, likely) else ""


def _not_utf8(data: bytes, start: int) -> str:
    line = data.count(b"\n", 0, start) + 1
    for name, encoding, shown in _likely(data, start):
        return (
            f"line {line}: not UTF-8 (byte {start}). It reads as {name} ({shown!r}): save it as UTF-8,"
            f" or say --encoding {encoding} (another, if that isn't what it says)."
        )
    return f"line {line}: not UTF-8 (byte {start}). Save it as UTF-8, or name its encoding with --encoding."


def _likely(data: bytes, start: int) -> Iterator[tuple[str, str, str]]:
    """Encodings in which all of a file reads, with what stands at the place then; the likely one first."""
    wide = _wide(data)
    if wide:
        yield wide[:6].upper(), wide, data.decode(wide)[:20].strip()
    begin = data.rfind(b"\n", 0, start) + 1
    around = data[max(begin, start - 20) : start + 20].split(b"\n")[0]
    for name, encoding in _NARROW:
        if _reads(data, encoding):
            yield name, encoding, around.decode(encoding, "replace").strip()
