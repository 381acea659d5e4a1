"""The providers that a person can name: a data file of ours, and lines of their own.

A provider is no code: a protocol that an engine speaks, an address, and the names of the variables that hold keys.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from harness._candidate import PROTOCOLS, Protocol
from harness._errors import EngineError
from harness.engines._address import check_url, is_loopback

__all__ = ["PROVIDERS_FILE", "Provider", "built_in_providers", "find_provider", "load_providers", "read_providers"]

PROVIDERS_FILE = "providers.toml"
"""Where a person's own lines are looked for, unless HARNESS_PROVIDERS names another file."""

_VARIABLE = "HARNESS_PROVIDERS"
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")
_ENVIRONMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_TEXTS = ("protocol", "base_url", "address", "path", "through", "note")
_KNOWN = ("protocol", "base_url", "keys", "address", "path", "through", "note")
_TAKEN = frozenset({"command", "replay", "text"})
_MOST = 1 << 20


@dataclass(frozen=True, slots=True)
class Provider:
    """One line. `base_url` is empty where everybody has their own; `keys` and `address` name variables.

    `through` says, for one that no engine speaks with, by which gateway it is reached.
    """

    name: str
    protocol: Protocol = "openai"
    base_url: str = ""
    keys: tuple[str, ...] = ()
    address: str = ""
    path: str = ""
    through: str = ""
    note: str = ""

    @property
    def is_local(self) -> bool:
        """Whether its own address is on this machine."""
        return bool(self.base_url) and _loopback(self.base_url)

    def needs_key(self, address: str) -> bool:
        """Whether nothing can be asked there without a key: at its own address, unless that is on this machine."""
        if not self.keys or _loopback(address):
            return False
        return not self.base_url or address.rstrip("/") == self.base_url.rstrip("/")


def _loopback(url: str) -> bool:
    from urllib.parse import urlsplit

    return is_loopback(urlsplit(url).hostname or "")


def built_in_providers() -> dict[str, Provider]:
    """The lines that ship, by name."""
    return read_providers((files("harness.engines") / PROVIDERS_FILE).read_bytes(), f"harness/engines/{PROVIDERS_FILE}")


def load_providers(environ: Mapping[str, str]) -> dict[str, Provider]:
    """Ours, and a person's own before them. Raises EngineError for a file that isn't there or a line that is wrong."""
    named = environ.get(_VARIABLE, "").strip()
    path = Path(named or PROVIDERS_FILE)
    if not named and not path.is_file():
        return built_in_providers()
    try:
        if path.is_file() and path.stat().st_size > _MOST:
            raise EngineError(f"{path} is larger than {_MOST} bytes, which no list of providers is")
        file = path.read_bytes()
    except OSError as problem:
        asked = f"{_VARIABLE} names {path}" if named else str(path)
        raise EngineError(f"{asked}, which can't be read: {problem.strerror}") from None
    return {**built_in_providers(), **read_providers(file, str(path))}


def find_provider(name: str, providers: Mapping[str, Provider], typed: str) -> Provider:
    """The provider of that name. Raises EngineError, with those that there are, and those that come close."""
    found = providers.get(name)
    if found is None:
        near = difflib.get_close_matches(name.lower(), [*providers, *sorted(_TAKEN - {"text"})], n=3, cutoff=0.6)
        close = f"did you mean {' or '.join(near)}? There are" if near else "there are"
        raise EngineError(
            f"there is no provider {name!a}, which {typed!a} begins with; {close} {', '.join(sorted(providers))},"
            f" command and replay, and lines of your own in {PROVIDERS_FILE}"
        )
    if found.through:
        raise EngineError(f"{name} is asked through a gateway: {found.through}; {typed!a} can't be asked as it stands")
    return found


def read_providers(file: bytes, path: str) -> dict[str, Provider]:
    """The lines of a file; `path` is what it is called in errors. Raises EngineError with file and line."""
    try:
        text = file.decode("utf-8-sig")
        table = tomllib.loads(text)
    except UnicodeDecodeError as problem:
        raise EngineError(f"{path}: expected UTF-8, got byte {problem.start} that isn't; save it as UTF-8") from None
    except (ValueError, RecursionError) as problem:
        raise EngineError(f"{path}: not valid TOML: {problem}") from None
    return {name: _provider(name, each, f"{path}, {_line(text, name)}") for name, each in table.items()}


def _line(text: str, name: str) -> str:
    """Where a line or a table of that name begins, for people."""
    own = rf"(?:\"{re.escape(name)}\"|'{re.escape(name)}'|{re.escape(name)})"
    wanted = re.compile(rf"\s*(?:\[\s*{own}\s*\]|{own}\s*[.=])")
    for number, line in enumerate(text.splitlines(), 1):
        if wanted.match(line):
            return f"line {number}"
    return f"{name!a}"


def _provider(name: str, value: object, where: str) -> Provider:
    if not _NAME.fullmatch(name):
        raise EngineError(f"{where}: expected a name of small letters, digits, '-', '_' and '.', got {name!a}")
    if name in _TAKEN:
        raise EngineError(f"{where}: {name} means something else already; name it otherwise")
    if not isinstance(value, dict):
        raise EngineError(f'{where}: expected {name} = {{ base_url = "https://…/v1", keys = ["A_VARIABLE"] }}')
    line = cast("dict[str, Any]", value)
    for key, each in line.items():
        if key not in _KNOWN:
            raise EngineError(f"{where}: {key!a} is not known; expected {', '.join(_KNOWN)}")
        if key in _TEXTS and not (isinstance(each, str) and each.isprintable()):
            raise EngineError(f"{where}: {key}: expected text on one line, got {_short(each)}")
    keys, address = _variables(line.get("keys", []), where), str(line.get("address", ""))
    if address and not _ENVIRONMENT.fullmatch(address):
        raise EngineError(f"{where}: address: expected a variable's name such as MY_BASE_URL, got {_short(address)}")
    protocol = line.get("protocol", "openai")
    if protocol not in PROTOCOLS:
        raise EngineError(f"{where}: protocol: expected {', '.join(PROTOCOLS)}, got {_short(protocol)}")
    found = Provider(
        name, protocol, str(line.get("base_url", "")), keys, address, str(line.get("path", "")),
        str(line.get("through", "")), str(line.get("note", "")),
    )  # fmt: skip
    if found.base_url:
        check_url(found.base_url, f"{where}: base_url")
    elif not (found.address or found.through):
        raise EngineError(f"{where}: expected a base_url, or the variable `address` that holds one")
    if found.path and not found.path.startswith("/"):
        raise EngineError(f"{where}: path: expected one such as /v1, got {_short(found.path)}")
    return found


def _variables(value: object, where: str) -> tuple[str, ...]:
    names = cast("Sequence[object]", value) if isinstance(value, list) else [value]
    for each in names:
        if not isinstance(each, str) or not _ENVIRONMENT.fullmatch(each):
            # It may be the key itself, put where its variable's name belongs: it isn't repeated.
            raise EngineError(
                f"{where}: keys: expected the names of variables, such as MY_API_KEY; a key itself never stands here"
            )
    return tuple(cast("Sequence[str]", names))


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else text[:60] + "…"
