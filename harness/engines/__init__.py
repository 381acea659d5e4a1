"""Engines: how a candidate is asked, over a transport that records everything.

Light to import; the HTTP libraries and the SDK load when an engine is opened.
"""

from __future__ import annotations

from harness.engines._command import WARNING as COMMAND_WARNING
from harness.engines._open import Engine, open_engine
from harness.engines._replay import open_replay
from harness.engines._resolve import is_replay, resolve_engine

__all__ = ["COMMAND_WARNING", "Engine", "is_replay", "open_engine", "open_replay", "resolve_engine"]
