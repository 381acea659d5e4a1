"""`.env` in the working folder: settings for this process, never stored and never printed."""

from __future__ import annotations

import os
import re
from collections.abc import MutableMapping
from pathlib import Path

__all__ = ["load_dotenv", "read_dotenv"]

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*\Z")
_QUOTED = re.compile(r"""(?:"((?:[^"\\]|\\.)*)"|'([^']*)')\s*(?:#.*)?\Z""")
_MOST = 1 << 20
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def read_dotenv(text: str) -> dict[str, str]:
    """The settings of a `.env` file: NAME=value lines, `export` allowed, quotes, and comments after a space and '#'.

    Lines that are none of these are skipped: the file may serve other programs too.
    """
    found: dict[str, str] = {}
    for line in text.removeprefix("\ufeff").splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        name, value = match.groups()
        quoted = _QUOTED.match(value)
        if quoted is None:
            found[name] = "" if value.startswith("#") else re.split(r"\s#", value, maxsplit=1)[0].rstrip()
        elif quoted[1] is not None:
            found[name] = re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), quoted[1])
        else:
            found[name] = quoted[2]
    return found


def load_dotenv(environ: MutableMapping[str, str] = os.environ, path: Path = Path(".env")) -> None:
    """Add the settings of `.env`, if there is one; what the environment says already goes first."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST:
            return  # a pipe would wait for its writer, and no settings are that long
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return
    for name, value in read_dotenv(text).items():
        if "\x00" not in value:
            environ.setdefault(name, value)
