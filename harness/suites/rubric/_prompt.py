"""What a judge is asked: a manifest suite's template, in which the graded text and the reference stand as data.

The template's first line may say by a digest which rubric it words, `{# rubric <64 hex> #}`; that line isn't sent.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness._chat import Chat
from harness._json import JSON
from harness.judging import delimited, nonce_of, without_name
from harness.suites.manifest._prompt import check_prompt as check_template
from harness.suites.manifest._prompt import messages as fill

__all__ = ["check_prompt", "messages"]

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
    chat = fill(without_name(template), {**fields, **blocks, "nonce": nonce})
    said = [each["content"] for each in chat.messages if isinstance(each["content"], str)]
    for name, block in blocks.items():
        if not any(block in each for each in said):
            raise ValueError(f"the prompt doesn't show the {name} as it is; put {{{{ {name} }}}} on a line of its own")
    return chat


def check_prompt(template: str) -> str | None:
    """One sentence on why a template won't do, or None."""
    body = without_name(template)
    fault = check_template(body)
    if fault is not None:
        return fault
    try:
        messages(body, {"task": "A task.", "text": "A text."})
    except ValueError as error:
        return str(error)
    return None
