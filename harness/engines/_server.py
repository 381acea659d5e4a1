"""What a server tells of itself: its version, and the digest of the weights behind a model's name.

Ollama does (GET /api/tags and /api/version of its HTTP API). It is information beside the plan: a server that tells
nothing, or tells it badly, is asked its cases all the same.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, cast

from harness._candidate import Candidate
from harness.engines._address import proxy_for
from harness.engines._bodies import endpoint

__all__ = ["ask_server"]

_SECONDS = 2.0
_MOST = 4 * 1024 * 1024
"""Bytes of a reply that are read; a list of models is shorter."""
_LONGEST = 200


def ask_server(candidate: Candidate) -> dict[str, str]:
    """`weights` and `version`, as far as the candidate's server tells them. Never raises for what a server does."""
    if candidate.protocol != "ollama":
        return {}
    tags = _get(candidate, "/api/tags")
    if tags is None:
        return {}
    found: dict[str, str] = {}
    digest = _weights(tags, candidate.model)
    if digest is not None:
        found["weights"] = digest
    version = _plain((_get(candidate, "/api/version") or {}).get("version"))
    if version is not None:
        found["version"] = version
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


def _get(candidate: Candidate, path: str) -> Mapping[str, Any] | None:
    import httpx

    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    if candidate.api_key:
        headers["Authorization"] = f"Bearer {candidate.api_key}"
    end = time.monotonic() + _SECONDS
    body = bytearray()
    try:
        with (
            httpx.Client(proxy=proxy_for(candidate.url), trust_env=False, timeout=_SECONDS) as client,
            client.stream("GET", endpoint(candidate.url, path), headers=headers) as response,
        ):
            if response.status_code != 200:
                return None
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > _MOST or time.monotonic() > end:
                    return None
        found = json.loads(bytes(body))
    except Exception:  # noqa: BLE001 - whatever the far side brings about, it has told nothing
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None
