"""What a server tells of itself: its version, and the digest of the weights behind a model's name.

Ollama does (GET /api/tags and /api/version of its HTTP API). It is information beside the plan: a server that tells
nothing, or tells it badly, is asked its cases all the same. What was asked and what came is a `lookup` event before
anything follows from it, and what follows is read out of what was recorded.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from harness._candidate import Candidate
from harness._secrets import Secrets, secrets_in_url
from harness.engines._address import proxy_for
from harness.engines._bodies import endpoint
from ledger.kinds import Lookup

__all__ = ["Told", "ask_server", "get_told", "object_of", "said_of_server"]

_SECONDS = 2.0
_MOST = 4 * 1024 * 1024
"""Bytes of a reply that are read; a list of models is shorter."""
_LONGEST = 200
_MOST_DETAIL = 400
_TAGS, _VERSION = "/api/tags", "/api/version"
_ANTHROPIC_VERSION = "2023-06-01"


@dataclass(frozen=True, slots=True)
class Told:
    """One look-up as it is recorded: `reply` is the body that came, secrets masked, None where none came whole."""

    lookup: Lookup
    reply: bytes | None


def ask_server(candidate: Candidate) -> Iterator[Told]:
    """Ask a candidate's server of itself; nothing for one that tells nothing. Never raises for what a server does.

    It is asked the next thing only once the one before is taken, so that each can be recorded before it is built on.
    """
    if candidate.protocol != "ollama":
        return
    tags = get_told(candidate, _TAGS)
    yield tags
    if object_of(tags) is not None:
        yield get_told(candidate, _VERSION)


def said_of_server(told: Iterable[Told], model: str) -> dict[str, str]:
    """`weights` and `version`, as far as these look-ups tell them of a model."""
    found: dict[str, str] = {}
    for each in told:
        said = object_of(each) or {}
        path = urlsplit(each.lookup.url).path
        name = "weights" if path.endswith(_TAGS) else "version"
        value = _weights(said, model) if name == "weights" else _plain(said.get("version"))
        if value is not None:
            found[name] = value
    return found


def _weights(tags: Mapping[str, Any], model: str) -> str | None:
    models = tags.get("models")
    wanted = {model, f"{model}:latest"}
    for each in cast("list[Any]", models) if isinstance(models, list) else []:
        if isinstance(each, dict):
            entry = cast("dict[str, Any]", each)
            if entry.get("name") in wanted or entry.get("model") in wanted:
                return _plain(entry.get("digest"))
    return None


def _plain(value: Any) -> str | None:
    """A short printable text as it is; None for anything else."""
    fits = isinstance(value, str) and 0 < len(value) <= _LONGEST and value.isascii() and value.isprintable()
    return value if fits else None


def object_of(told: Told) -> Mapping[str, Any] | None:
    """The JSON object that a server said, where it said one and all was well; else None."""
    if told.lookup.status != 200 or told.reply is None:
        return None
    try:
        found = json.loads(told.reply)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def get_told(candidate: Candidate, path: str) -> Told:
    """GET a path below a candidate's address, in 2 seconds. Never raises for what the far side does."""
    import httpx

    proxy = proxy_for(candidate.url)
    secrets = Secrets([candidate.api_key, *secrets_in_url(candidate.url), *secrets_in_url(proxy)])
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    if candidate.api_key and candidate.protocol == "anthropic":
        headers |= {"x-api-key": candidate.api_key, "anthropic-version": _ANTHROPIC_VERSION}
    elif candidate.api_key:
        headers["Authorization"] = f"Bearer {candidate.api_key}"
    url = endpoint(candidate.url, path)
    status: int | None = None
    reply: bytes | None = None
    detail = ""
    try:
        with (
            httpx.Client(proxy=proxy, trust_env=False, timeout=_SECONDS) as client,
            client.stream("GET", url, headers=headers) as response,
        ):
            status = response.status_code
            reply, detail = _read(response.iter_raw(), time.monotonic() + _SECONDS)
    except Exception as problem:  # noqa: BLE001 - whatever the far side brings about, it has told nothing
        detail = f"{type(problem).__name__}: {problem}"
    shown_url, masked = secrets.mask_url(url)
    shown_headers, in_headers = secrets.mask_headers([(n.encode(), v.encode()) for n, v in headers.items()])
    shown, in_reply = secrets.mask(reply, "body") if reply is not None else (None, [])
    lookup = Lookup(
        candidate=candidate.label, method="GET", url=shown_url, headers=shown_headers, status=status,
        detail=secrets.mask_text(detail)[:_MOST_DETAIL], masked=[*masked, *in_headers, *in_reply],
    )  # fmt: skip
    return Told(lookup, shown)


def _read(chunks: Iterator[bytes], end: float) -> tuple[bytes | None, str]:
    """The body, or None and why it wasn't read to its end."""
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > _MOST:
            return None, f"the body is longer than {_MOST} bytes"
        if time.monotonic() > end:
            return None, f"the body took longer than {_SECONDS:g} s"
    return bytes(body), ""
