"""Suites: what to ask, and how to confirm and score the answer. The registry is the one way in."""

from harness.suites._registry import Confirmed, Kind, Message, Metric, Outcome, Scored, Stages, stage_names, stages

__all__ = ["Confirmed", "Kind", "Message", "Metric", "Outcome", "Scored", "Stages", "stage_names", "stages"]
