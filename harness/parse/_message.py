"""One model message, whatever protocol brought it, and the outcome that it amounts to before its text is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from harness.parse._answer import read_string
from harness.parse._served import Served
from harness.parse._types import Ask, Reading, ReadRules, make_reading
from harness.parse._usage import Told

__all__ = ["Ending", "Message", "as_list", "as_object", "as_text", "read_message", "with_facts"]

Ending = Literal["end", "length", "refusal", "filter", "tool", "pause", "idle", "error"]


@dataclass(slots=True)
class Message:
    """What an envelope says, blocks sorted by type.

    `texts` is None where the content field is null or missing, and empty where there are blocks but none of text.
    `before` is the text that stood ahead of a tool that the provider ran itself. `calls` are the tool calls, by any
    name that tells them apart, and whether each is still open. `stop` is the provider's own word, `ending` what it
    means where the protocol's table isn't asked. `fault` is set by what makes the envelope unreadable.
    """

    texts: list[str] | None = None
    reasoning: list[str] = field(default_factory=list[str])
    refusal: list[str] = field(default_factory=list[str])
    before: list[str] = field(default_factory=list[str])
    calls: dict[str, bool] = field(default_factory=dict[str, bool])
    stop: str | None = None
    ending: Ending | None = None
    model: str | None = None
    told: Told = field(default_factory=Told)
    served: Served = field(default_factory=dict[str, "list[str]"])
    many: bool = False
    fault: str = ""
    done: bool = False

    @property
    def text(self) -> str | None:
        """The text blocks, joined; None without any. What stood ahead of a provider's own tool was a step on the way:
        it is the text only where nothing stands after it."""
        texts = self.texts if self.texts and any(self.texts) else self.before or self.texts
        return _paired("".join(texts)) if texts else None

    @property
    def tool(self) -> bool:
        """Whether a tool call is left open: somebody else would have to run it."""
        return any(self.calls.values())

    def begin_anew(self) -> None:
        """A tool of the provider's own ran here: what is said after it is the answer."""
        if self.texts and any(text.strip() for text in self.texts):
            self.before, self.texts = [*self.before, *self.texts], []


def _paired(text: str) -> str:
    """The text, with a surrogate pair that was cut between two pieces of a stream made one character again."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        return text


def as_text(value: object) -> str:
    """`value` if it is a string, else nothing."""
    return value if isinstance(value, str) else ""


def as_object(value: object) -> dict[str, Any] | None:
    """`value` if it is a JSON object."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def as_list(value: object) -> list[Any] | None:
    """`value` if it is a JSON list."""
    return cast("list[Any]", value) if isinstance(value, list) else None


def read_message(message: Message, endings: Mapping[str, Ending], ask: Ask, rules: ReadRules) -> Reading:
    """The outcome of a message that came whole and holds no error."""
    message.told.settle()
    return with_facts(_read(message, endings, ask, rules), message)


def with_facts(reading: Reading, message: Message) -> Reading:
    """The reading, with what the envelope says beside the text."""
    steps = "".join(message.before) if message.texts and any(message.texts) else ""
    own = "".join(message.reasoning)
    reasoning = "\n".join(part for part in (steps, own, reading.reasoning) if part) or None
    counts = message.told.counts or None
    return Reading(
        reading.status, reading.reason, reading.stage, reading.domain, reading.retry, reading.flags, reading.value,
        reading.span, _storable(reading.text), _storable(reasoning), counts, _storable(message.stop),
        _storable(message.model), {what: tuple(names) for what, names in message.served.items()},
    )  # fmt: skip


def _storable(text: str | None) -> str | None:
    """Text with half of a surrogate pair in it, which is never an answer, with that half as a visible escape."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _read(message: Message, endings: Mapping[str, Ending], ask: Ask, rules: ReadRules) -> Reading:
    text = message.text
    if message.many:
        return make_reading("ambiguous", "many_choices")
    if message.refusal:
        refusal = "".join(message.refusal)
        return make_reading("refused", "refusal_field", value=json.dumps(refusal), text=text)
    ending = message.ending or (endings.get(message.stop) if message.stop else None)
    if ending is None:
        name = "unknown_stop_reason" if message.stop else "no_stop_reason"
        return make_reading("error", name, text=text, flags=_partial(text))
    if ending == "error":
        return make_reading("error", "error_in_200", text=text, flags=_partial(text))
    if ending == "refusal":
        return make_reading("refused", "stop_refusal", text=text, value=json.dumps(text) if text else None)
    if ending == "filter":
        return make_reading("refused", "content_filter", text=text, flags=_partial(text))
    if ending == "pause":
        return make_reading("incomplete", "pause_turn", text=text, flags=_partial(text))
    if ending == "tool" or (message.tool and ending != "length"):
        return make_reading("wrong_shape", "tool_call", text=text)
    if ending == "idle" and text and text.strip():
        return make_reading("error", "unknown_stop_reason", text=text, flags=_partial(text))
    if not text or not text.strip():
        return _empty(message, text, cut=ending == "length")
    return read_string(text, ask=ask, stop="length" if ending == "length" else "end", rules=rules)


def _partial(text: str | None) -> tuple[str, ...]:
    return ("partial_text",) if text else ()


def _empty(message: Message, text: str | None, *, cut: bool) -> Reading:
    """No answer text at all: the budget went into reasoning, or there never was any."""
    thought = bool("".join(message.reasoning).strip())
    if cut:
        hidden = any(count > 0 for key, count in message.told.counts.items() if key.endswith("reasoning_tokens"))
        return make_reading("truncated", "inside_reasoning" if thought or hidden else "stop_length", text=text)
    if thought:
        return make_reading("empty", "reasoning_only", text=text)
    if text:
        return make_reading("empty", "only_space", text=text)
    if message.texts is None:
        return make_reading("empty", "null_content")
    return make_reading("empty", "empty_content" if message.texts else "no_text_block", text=text)
