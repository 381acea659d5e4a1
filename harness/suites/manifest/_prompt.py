"""What a manifest suite asks: a template (Jinja2) filled in with a case's input, turn by turn.

What is put in is text: it is never looked at again, can't open a turn, and isn't escaped. A text of the case stands
as it is; any other value as its JSON text, a number digit for digit as in the case's file (1.0 stays 1.0), but that
one with an exponent is written out (1e3 as 1000).

The language is Jinja's, cut down to what can neither run long nor differ from one day to the next: values, `if`,
`for` over what the case has, comparisons, whole-number arithmetic, and the filters of `FILTERS`. Nothing can be
called, nothing is loaded, and a name that the case doesn't have is an error, not an empty text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from harness._chat import Chat, Message
from harness._json import JSON
from harness.suites.manifest._input import EXTRAS, MESSAGES, images_of, plain
from harness.suites.manifest._turns import Part, split_turns

if TYPE_CHECKING:
    from harness.suites.manifest._template import Filled

__all__ = ["DEFAULT", "check_prompt", "messages", "place"]

DEFAULT = "{{ input }}"
"""The template of a suite that names none: a text as it is, or the case's own messages."""

_MAX_TEMPLATE = 262_144
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAKEN = frozenset([
        "and", "else", "elif", "endif", "endfor", "false", "False", "for", "if", "import", "in", "include", "is",
    "none", "None", "not", "or", "recursive", "self", "set", "true", "True", "loop", "caller", "varargs", "kwargs",
    "context", "environment", "input",
])  # fmt: skip


def messages(template: str, case_input: JSON) -> Chat:
    """The chat for one case. Raises ValueError, with one sentence, where the prompt and the case don't go together."""
    fields = dict(case_input) if isinstance(case_input, Mapping) else {}
    own = fields.get(MESSAGES)
    if template.strip() == DEFAULT and isinstance(own, list):
        turns = [_own(message) for message in own]
    else:
        if template.strip() == DEFAULT and fields and set(fields) != {"input"}:
            raise ValueError(
                f"the case has named fields ({_names(fields)}), and there is no prompt that says where they go; name"
                ' one in suite.toml with prompt = "…"'
            )
        turns = _turns(template, case_input, fields, own)
    pictures = images_of(case_input)
    if pictures:
        _add_images(turns, [plain(part) for part in pictures])
    return Chat(tuple(turns), {name: plain(fields[name]) for name in EXTRAS if name in fields})


def check_prompt(template: str) -> str | None:
    """One sentence on why a template won't do, with the line, or None."""
    if len(template) > _MAX_TEMPLATE:
        return f"expected a prompt of at most {_MAX_TEMPLATE} characters, got {len(template)}; put texts into the cases"
    try:
        parts = _compiled(template)
    except ValueError as error:
        return str(error)
    if not any(part.role == MESSAGES or (filled and filled.names) for part, filled in parts):
        return "names nothing of the case, so every case would ask the same; put {{ input }} or a field's name in"
    return None


def place(name: str) -> str:
    """How a template says where the field `name` goes, whatever characters the name is made of."""
    if _PLAIN_NAME.fullmatch(name) and (name == "input" or name not in _TAKEN):
        return f"{{{{ {name} }}}}"
    quoted = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'{{{{ input["{quoted}"] }}}}'


def _turns(template: str, case_input: JSON, fields: Mapping[str, JSON], own: JSON) -> list[Message]:
    from harness.suites.manifest._template import Work

    parts = _compiled(template)
    marked = any(part.role == MESSAGES for part, _ in parts)
    if marked and not isinstance(own, list):
        raise ValueError('the prompt has the line === messages ===, and the case has no "messages"')
    if isinstance(own, list) and not marked:
        raise ValueError("the case has messages of its own, and the prompt no line === messages === that says where")
    work = Work(case_input)
    turns: list[Message] = []
    for part, filled in parts:
        if filled is None:
            turns += [_own(message) for message in cast("list[Any]", own)]
            continue
        text = filled.render({"input": case_input, **fields}, work)
        if text.strip():
            turns.append({"role": cast("Any", part.role), "content": text})
        elif part.role != "system":
            raise ValueError(f"the {part.role} turn comes out empty; a model can't be asked nothing")
    return turns


@lru_cache(maxsize=64)
def _compiled(template: str) -> tuple[tuple[Part, Filled | None], ...]:
    from harness.suites.manifest._template import compile_part

    return tuple(
        (part, None if part.role == MESSAGES else compile_part(part.text, part.line)) for part in split_turns(template)
    )


def _own(message: Any) -> Message:
    return cast("Message", plain(message))


def _add_images(turns: list[Message], parts: list[Any]) -> None:
    """Into the last turn of the user, ahead of its text."""
    for index in range(len(turns) - 1, -1, -1):
        if turns[index]["role"] == "user":
            content = turns[index]["content"]
            said = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
            turns[index] = {**turns[index], "content": [*parts, *said]}
            return
    raise ValueError("the case has images, and no turn of the user that they could go into")


def _names(fields: Mapping[str, JSON]) -> str:
    return ", ".join(ascii(name)[1:-1][:40] for name in list(fields)[:12]) + (", …" if len(fields) > 12 else "")
