"""What may reach a terminal: text out of a ledger was written by models, servers and strangers.

A terminal obeys control codes, reorders text at bidi marks and hides zero-width characters; here each shows as an
escape instead (Unicode TR36 and TR39; "Trojan Source", Boucher and Anderson 2021).
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["printable", "shown"]

# Printable to Python, and yet drawn as nothing: the rest of Unicode's Default_Ignorable_Code_Point, and blanks that
# aren't spaces.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def _escape(character: str) -> str:
    number = ord(character)
    if character in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character]
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def shown(character: str) -> bool:
    """Whether a character is drawn as something, and neither acts nor hides. Newline and tab are not."""
    return (character.isprintable() or unicodedata.category(character) == "Zs") and not _INVISIBLE.match(character)


def printable(text: str, *, multiline: bool = False) -> str:
    """`text` with everything that a terminal obeys or hides shown as a visible escape, such as `\\x1b`.

    That is C0 and C1 controls, DEL, bidi overrides and isolates, zero-width and other invisible characters, line and
    paragraph separators, lone surrogates, private and unassigned code points. With `multiline`, newlines and tabs stay
    as they are; otherwise they are escaped too, so that one value can't pass for two lines.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if shown(character) or (multiline and character in "\n\t") else _escape(character)
        for character in text
    )
