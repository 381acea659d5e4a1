"""Suites: what to ask, and how to confirm and score the answer. The registry is the one way in."""

from harness._chat import Chat, Message
from harness.suites._registry import (
    Answer,
    Confirmed,
    Kind,
    Metric,
    Outcome,
    Scored,
    ScoreRules,
    Stages,
    Unscorable,
    stage_names,
    stages,
)

__all__ = [
    "Answer",
    "Chat",
    "Confirmed",
    "Kind",
    "Message",
    "Metric",
    "Outcome",
    "ScoreRules",
    "Scored",
    "Stages",
    "Unscorable",
    "stage_names",
    "stages",
]
