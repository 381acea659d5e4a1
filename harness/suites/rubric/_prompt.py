"""What a judge is asked: a manifest suite's template, in which the graded text and the reference stand as data.

The template's first line may say by a digest which rubric it words, `{# rubric <64 hex> #}`; that line isn't sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from harness._chat import Chat
from harness._json import JSON
from harness.judging import delimited, nonce_of
from harness.suites.manifest._prompt import check_prompt as check_template
from harness.suites.manifest._prompt import messages as fill

__all__ = ["check_prompt", "check_rules", "messages"]

_HEAD = re.compile(r"\{# rubric ([0-9a-f]{64}) #\}\r?\n?")
_DATA = ("text", "reference")


def messages(template: str, case_input: JSON) -> Chat:
    """The chat for one case: {{ task }}, {{ text }}, {{ reference }}, and {{ nonce }}, which is around the last two.

    A task that somebody was asked elsewhere (`asked` in the case) may hold anybody's words: it stands in the place of
    {{ task }} as data too, and {{ asked }} is defined.

    Raises ValueError, with one sentence, where prompt and case don't go together, and where the judge would not be
    shown what the case has.
    """
    fields: dict[str, JSON] = dict(case_input) if isinstance(case_input, Mapping) else {}
    if not all(isinstance(each, str) for each in fields.values()) or "text" not in fields:
        raise ValueError(
            'expected a case of {"task" or "asked", "text"}, and "reference" where there is one, texts all of them'
        )
    nonce = nonce_of(case_input)
    blocks = {name: delimited(str(fields[name]), nonce) for name in _DATA if name in fields}
    if "asked" in fields:
        fields["asked"] = fields["task"] = delimited(str(fields["asked"]), nonce)
    chat = fill(_HEAD.sub("", template, count=1) if _HEAD.match(template) else template, {
        **fields, **blocks, "nonce": nonce
    })  # fmt: skip
    said = [each["content"] for each in chat.messages if isinstance(each["content"], str)]
    for name, block in blocks.items():
        if not any(block in each for each in said):
            raise ValueError(f"the prompt doesn't show the {name} as it is; put {{{{ {name} }}}} on a line of its own")
    return chat


def check_prompt(template: str) -> str | None:
    """One sentence on why a template won't do, or None."""
    body = _HEAD.sub("", template, count=1) if _HEAD.match(template) else template
    fault = check_template(body)
    if fault is not None:
        return fault
    try:
        messages(body, {"task": "A task.", "text": "A text."})
    except ValueError as error:
        return str(error)
    return None


def check_rules(template: str, rules: Mapping[str, Any]) -> str | None:
    """One sentence on why answers to a prompt can't be scored under a rubric: the judge was shown another. Or None."""
    head = _HEAD.match(template)
    if head is not None and head[1] == rules.get("rubric"):
        return None
    shown = f"another rubric ({head[1][:12]})" if head else "a prompt that names no rubric"
    return f"the judge is shown {shown}, and these rules are of rubric {str(rules.get('rubric'))[:12]}"
