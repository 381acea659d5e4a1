"""A candidate: everything that decides a request beside the case, and the address it is sent to.

The key and the exact address are held here and nowhere else; neither shows in a repr, and neither is ever stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import JsonValue

from harness._errors import EngineError
from harness._identity import file_digest

__all__ = ["PROTOCOLS", "Candidate", "Protocol"]

Protocol = Literal["openai", "anthropic", "ollama", "command", "text"]
PROTOCOLS: tuple[Protocol, ...] = ("openai", "anthropic", "ollama")
"""Those that are spoken over HTTP; `command` is a local program on a terminal."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is asked, and how. `label` names it for people and in cells, such as "openai/gpt-x".

    `parameters` is what goes into the request beside model and messages, under the names a person gives (`max_tokens`
    for every protocol). `prompt` is the template's text and `prompt_digest` the plain BLAKE3 of its file, which is
    called `prompt_name` (empty: as the suite's manifest calls it; part of no digest). `base_url` is the address as it
    may be recorded, with secrets masked; `address` is the one that is used, when it differs.
    `recorded` says that a recording answers in its place, which costs nothing.
    """

    label: str
    protocol: Protocol
    model: str
    parameters: Mapping[str, JsonValue]
    stream: bool = False
    base_url: str = ""
    prompt: str = ""
    prompt_digest: str = field(default_factory=lambda: file_digest(b""))
    api_key: str = field(default="", repr=False)
    address: str = field(default="", repr=False)
    prompt_name: str = ""
    recorded: bool = False

    @property
    def url(self) -> str:
        """The base URL that requests are sent to; may hold secrets."""
        return self.address or self.base_url

    def with_prompt(self, file: bytes, name: str = "") -> Candidate:
        """The same candidate asking with this prompt file, called `name`. Raises EngineError when it isn't UTF-8."""
        try:
            text = file.decode("utf-8")
        except UnicodeDecodeError as error:
            raise EngineError(
                f"expected a prompt in UTF-8, got byte {error.start} that isn't; save it as UTF-8"
            ) from None
        return replace(self, prompt=text, prompt_digest=file_digest(file), prompt_name=name)
