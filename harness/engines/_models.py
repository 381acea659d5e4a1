"""Which models a server lists: asked once a candidate was given up, so that a person sees what the name should be.

OpenAI's protocol has GET /models below its /v1, Anthropic's GET /v1/models, Ollama's GET /api/tags.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from harness._candidate import Candidate
from harness.engines._server import Told, get_told, object_of

__all__ = ["ask_models", "models_in", "other_address"]

_PATHS = {"openai": "/models", "anthropic": "/v1/models", "ollama": "/api/tags"}
_LONGEST = 200
_V1 = "/v1"


def ask_models(candidate: Candidate, address: str = "") -> Told | None:
    """Ask a candidate's server, or the one at `address`, which models it has; None for one that isn't asked over HTTP.

    Never raises for what a server does.
    """
    path = _PATHS.get(candidate.protocol)
    if path is None:
        return None
    return get_told(replace(candidate, base_url=address, address="") if address else candidate, path)


def models_in(told: Told) -> tuple[str, ...] | None:
    """The names that a reply lists, in its order; None where it is no such list."""
    found = object_of(told) or {}
    listed = found.get("data", found.get("models"))
    if not isinstance(listed, list):
        return None
    names: list[str] = []
    for each in cast("list[Any]", listed):
        entry = cast("dict[str, Any]", each) if isinstance(each, dict) else {}
        name = entry.get("id", entry.get("name"))
        if isinstance(name, str) and 0 < len(name) <= _LONGEST and name.isprintable():
            names.append(name)
    return tuple(names)


def other_address(candidate: Candidate) -> str:
    """The address that people mean when they give this one: with `/v1` where it is missing, without where it is too
    much, once where it stands twice. May hold secrets, as the candidate's own does."""
    parts = urlsplit(candidate.url)
    path = parts.path.rstrip("/")
    for tail in ("/chat/completions", "/messages", "/api/chat", "/completions"):
        path = path.removesuffix(tail)
    bare = path
    while bare.endswith(_V1):
        bare = bare.removesuffix(_V1)
    wanted = bare + _V1 if candidate.protocol == "openai" else bare
    if wanted == parts.path.rstrip("/"):
        # Nothing is missing or doubled; what OpenAI's protocol has below /v1 may stand without it on some servers.
        wanted = bare if candidate.protocol == "openai" else wanted
    return "" if wanted == parts.path.rstrip("/") else urlunsplit((parts.scheme, parts.netloc, wanted, parts.query, ""))
