"""Which rubric a prompt shows: its first line names it by digest, as a comment of the template that isn't sent.

{# rubric <64 hex> #}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["check_rules", "naming_rubric", "without_name"]

_HEAD = re.compile(r"\{# rubric ([0-9a-f]{64}) #\}\r?\n?")


def naming_rubric(digest: str, template: str) -> str:
    """The template with the line that names its rubric ahead of it."""
    return f"{{# rubric {digest} #}}\n{template}"


def without_name(template: str) -> str:
    """The template without that line."""
    head = _HEAD.match(template)
    return template[head.end() :] if head else template


def check_rules(template: str, rules: Mapping[str, Any]) -> str | None:
    """One sentence on why answers to a prompt can't be scored under a rubric: the judge was shown another. Or None."""
    head = _HEAD.match(template)
    if head is not None and head[1] == rules.get("rubric"):
        return None
    shown = f"another rubric ({head[1][:12]})" if head else "a prompt that names no rubric"
    return f"the judge is shown {shown}, and these rules are of rubric {str(rules.get('rubric'))[:12]}"
