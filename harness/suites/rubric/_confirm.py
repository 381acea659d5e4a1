"""What of a judgement holds: its layers as they were worked out, the detectors' findings in what the judge was shown,
and the judge's own claims that don't hold.

Nothing that the judge wrote stands here but numbers, and ids and words of the rule file.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from harness._json import JSON
from harness.judging import detect
from harness.suites._registry import Confirmed

__all__ = ["REJECTIONS", "confirm"]

REJECTIONS: Mapping[str, str] = MappingProxyType({
    "total_differs": "The judge's total is not what its scores come to.",
    "pass_over_fail": "The judge says pass, and its scores or flags say otherwise.",
    "fail_over_pass": "The judge says fail, and its scores and flags pass.",
    "verdict_invisible": "The judge's verdict holds characters that nobody sees, so it isn't taken for one.",
})  # fmt: skip
_LAYERS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "vector": ("scores", "sum", "weighted"),
    "quality": ("quality", "share"),
    "security": ("security", "flags"),
    "verdict": ("verdict", "blocked_by"),
    "claims": ("total", "total_class", "said", "claim"),
})  # fmt: skip


def confirm(value: JSON, case_input: JSON, rules: Mapping[str, Any]) -> Confirmed:
    """`value` is an answer's; see there. Findings in the order of the layers, then those of the detectors by text."""
    held: Mapping[str, JSON] = value if isinstance(value, Mapping) else {}
    findings: list[dict[str, Any]] = [
        {"proposal": 0, "layer": layer, **{key: held[key] for key in keys if key in held}}
        for layer, keys in _LAYERS.items()
    ]
    asked: Mapping[str, JSON] = case_input if isinstance(case_input, Mapping) else {}
    for name in ("text", "reference", "asked"):
        text = asked.get(name)
        if isinstance(text, str):
            findings += [
                {"proposal": 0, "layer": "detector", "detector": each.detector, "in": name,
                 "span": [each.start, each.end]}
                for each in detect(text, rules["detectors"])
            ]  # fmt: skip
    wrong = ["total_differs"] if held.get("total_class") == "differs" else []
    wrong += ["verdict_invisible"] if held.get("claim") == "invisible" else []
    wrong += [each for each in ("pass_over_fail", "fail_over_pass") if held.get("claim") == each]
    rejections = tuple({"proposal": 0, "reason": each, "reasons": [each]} for each in wrong)
    return Confirmed(tuple(findings), rejections)
