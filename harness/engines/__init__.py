"""Engines: how a candidate is asked, over a transport that records everything.

Light to import; the HTTP libraries and the SDK load when an engine is opened.
"""

from __future__ import annotations

from harness.engines._bodies import expected_body, expected_url, request_bytes
from harness.engines._command import WARNING as COMMAND_WARNING
from harness.engines._compose import compose_requests, recorded_key
from harness.engines._models import ask_models, models_in, other_address
from harness.engines._open import Engine, open_engine
from harness.engines._parts import cannot_ask
from harness.engines._providers import Provider, load_providers
from harness.engines._replay import open_replay
from harness.engines._resolve import is_replay, resolve_engine
from harness.engines._server import Told, ask_server, said_of_server

__all__ = [
    "COMMAND_WARNING",
    "Engine",
    "Provider",
    "Told",
    "ask_models",
    "ask_server",
    "cannot_ask",
    "compose_requests",
    "expected_body",
    "expected_url",
    "is_replay",
    "load_providers",
    "models_in",
    "open_engine",
    "open_replay",
    "other_address",
    "recorded_key",
    "request_bytes",
    "resolve_engine",
    "said_of_server",
]
