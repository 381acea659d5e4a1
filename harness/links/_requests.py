"""Links of a request: what was asked is the frozen case, of the plan's candidate, at its address.

The body that the pure functions of `harness.engines` make of prompt, case and candidate is the measure. What decides an
answer (model, parameters, the text of the turns, tools) must be the same whatever code moved since; only its layout may
be another's, where another release wrote it. A masked byte is an asterisk, and stands for any.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from harness._candidate import Candidate
from harness._chat import Chat
from harness._identity import tools_digest
from harness.engines import expected_body, expected_url, request_bytes
from harness.links._broken import Finder
from harness.links._plans import Kept, PlanLinks
from ledger.kinds import PlanCandidate, Request

__all__ = ["RequestLinks", "same_but_masked"]

_MASK = "*"
_NO_DIFFERENCE = ("", None, None)
_TEXT = frozenset({"messages", "system"})
_DEFAULTS: Mapping[str, Any] = {"stream": False}
"""What a release may write out or leave out, since it means the same."""


@dataclass
class RequestLinks:
    """Holds requests of one run to the plan. `moved` says that the run was asked by other code than this."""

    planned: PlanLinks
    finder: Finder
    addresses: Mapping[str, Sequence[tuple[int, str]]]
    moved: bool
    masked: int = 0
    _made: dict[str, Candidate | None] = field(default_factory=dict[str, "Candidate | None"])

    def check(self, seq: int, cell: int, request: Request, body: bytes | None, kept: Kept | None, label: str) -> None:
        """Hold one request. `body` is None where it is withheld, `kept` where the cell's case isn't known."""
        planned = next((each for each in self.planned.plan.candidates if each.label == label), None)
        if planned is not None:
            self._address(seq, cell, request, planned)
        if body is not None and "tools" not in request.unsaid():
            follows = tools_digest(body, lambda: bytes.fromhex(self.planned.freezes.ledger.genesis.identity_key))
            self.finder.hold("request.tools", seq, "tools", request.tools, seq, follows, cell=cell)
        self.check_text(seq, cell, request, body, kept, label)

    def check_text(
        self, seq: int, cell: int, request: Request, body: bytes | None, kept: Kept | None, label: str
    ) -> None:  # fmt: skip
        """Hold what was asked, wherever it was sent. `seq` is the event that says so: the request, or a reuse of it."""
        planned = next((each for each in self.planned.plan.candidates if each.label == label), None)
        if planned is None or body is None or kept is None:
            return
        made = self._candidate(planned)
        entry = self.planned.stages
        if made is None or entry is None:
            self.finder.skip("the text of requests whose prompt is withheld, or whose rules name no suite")
            return
        try:
            chat = entry.messages(made.prompt, kept.frozen.case.input)
        except ValueError:
            self.finder.broken(
                "request.text", seq, "the case", kept.frozen.case.id, kept.freeze, "one that can be asked", cell=cell
            )
            return
        self._body(seq, cell, request, body, made, chat, planned, kept)

    def _address(self, seq: int, cell: int, request: Request, planned: PlanCandidate) -> None:
        follows = "EXEC" if planned.protocol == "command" else "POST"
        self.finder.hold("request.address", seq, "method", request.method, self.planned.seq, follows, cell=cell)
        said = self.addresses[planned.label]
        # The last that was accepted ahead of the request is where it went.
        at, base = [each for each in said if each[0] < seq][-1]
        url = expected_url(planned.protocol, base)
        if request.url != url and not same_but_masked(request.url, url):
            self.finder.broken("request.address", seq, "url", request.url, at, url, cell=cell)

    def _candidate(self, planned: PlanCandidate) -> Candidate | None:
        if planned.label not in self._made:
            self._made[planned.label] = self.planned.candidate(planned)
        return self._made[planned.label]

    def _body(
        self, seq: int, cell: int, request: Request, body: bytes, made: Candidate, chat: Chat, planned: PlanCandidate,
        kept: Kept,
    ) -> None:  # fmt: skip
        follows = expected_body(made, chat)
        if request_bytes(follows) == body:
            return
        masked = any(each.where.startswith("body") for each in request.masked)
        self.masked += masked
        if isinstance(follows, str):
            if not (masked and same_but_masked(body.decode("utf-8", "replace"), follows)):
                said = body.decode("utf-8", "replace")
                self.finder.broken("request.text", seq, "what was asked", said, kept.freeze, follows, cell=cell)
            return
        try:
            said: Any = json.loads(body)
        except ValueError:
            self.finder.broken("request.bytes", seq, "body", "no JSON", self.planned.seq, "a JSON object", cell=cell)
            return
        if _same(said, follows, masked=masked) and (planned.protocol == "anthropic" or _in_order(said, follows)):
            return
        name, one, other = _difference(_normal(said), _normal(follows), masked=masked)
        if name:
            link, rests = _LINK_OF.get(name, "request.parameters"), kept.freeze if name == "text" else self.planned.seq
            self.finder.broken(link, seq, name, one, rests, other, cell=cell)
        elif not self.moved:
            self.finder.broken(
                "request.bytes", seq, "the layout of its body", said, self.planned.seq, follows, cell=cell
            )


_LINK_OF = {"model": "request.model", "text": "request.text"}


def same_but_masked(said: str, follows: str) -> bool:
    """Whether two texts are one, where an asterisk in the first stands for the byte that was masked."""
    one, other = said.encode("utf-8", "surrogatepass"), follows.encode("utf-8", "surrogatepass")
    return len(one) == len(other) and all(a == b or a == 0x2A for a, b in zip(one, other, strict=True))


def _same(said: Any, follows: Any, *, masked: bool) -> bool:
    if not masked:
        return said == follows and _alike(said, follows)
    if isinstance(said, dict) and isinstance(follows, dict):
        one, other = cast("dict[str, Any]", said), cast("dict[str, Any]", follows)
        return one.keys() == other.keys() and all(_same(one[name], other[name], masked=True) for name in one)
    if isinstance(said, list) and isinstance(follows, list):
        some, others = cast("list[Any]", said), cast("list[Any]", follows)
        return len(some) == len(others) and all(_same(a, b, masked=True) for a, b in zip(some, others, strict=True))
    if isinstance(said, str) and isinstance(follows, str):
        return said == follows or (_MASK in said and same_but_masked(said, follows))
    return said == follows and isinstance(said, bool) is isinstance(follows, bool)


def _alike(said: Any, follows: Any) -> bool:
    """Whether values that Python calls equal are so in JSON, where true isn't 1."""
    if isinstance(said, dict):
        mine, other = cast("dict[str, Any]", said), cast("dict[str, Any]", follows)
        return all(_alike(mine[name], other[name]) for name in mine)
    if isinstance(said, list):
        return all(_alike(a, b) for a, b in zip(cast("list[Any]", said), cast("list[Any]", follows), strict=True))
    return isinstance(said, bool) is isinstance(follows, bool)


def _in_order(said: Any, follows: Any) -> bool:
    """Whether the members of all objects stand in the same order."""
    if isinstance(said, dict):
        mine, other = cast("dict[str, Any]", said), cast("dict[str, Any]", follows)
        return list(mine) == list(other) and all(_in_order(mine[name], other[name]) for name in mine)
    if isinstance(said, list):
        return all(_in_order(a, b) for a, b in zip(cast("list[Any]", said), cast("list[Any]", follows), strict=True))
    return True


# What decides an answer, whoever wrote it down


def _normal(body: Any) -> dict[str, Any]:
    """A request's body without its layout: `model`, `text` (the turns as role and text, images and calls as they are),
    and every other field by its name, those of `options` among them."""
    if not isinstance(body, dict):
        return {"text": body}
    given = dict(cast("dict[str, Any]", body))
    options = given.pop("options", None)
    if isinstance(options, dict):
        given.update(cast("dict[str, Any]", options))
    if "num_predict" in given:
        given["max_tokens"] = given.pop("num_predict")
    turns: list[tuple[str, Any]] = []
    if "system" in given:
        turns.append(("system", _parts(given.pop("system"))))
    messages = given.pop("messages", [])
    for each in cast("list[Any]", messages) if isinstance(messages, list) else [messages]:
        message = cast("dict[str, Any]", each) if isinstance(each, dict) else {"content": each}
        rest = {name: value for name, value in message.items() if name not in ("role", "content")}
        turns.append((str(message.get("role", "")), [*_parts(message.get("content")), *([rest] if rest else [])]))
    kept = {name: value for name, value in given.items() if name not in _DEFAULTS or value != _DEFAULTS[name]}
    return {"model": kept.pop("model", None), "text": turns, **kept}


def _parts(content: Any) -> list[Any]:
    """A message's content as a list, texts as plain strings."""
    parts = cast("list[Any]", content) if isinstance(content, list) else [content]
    return [_part(each) for each in parts]


def _part(part: object) -> object:
    found = cast("dict[str, Any]", part) if isinstance(part, dict) else {}
    return found["text"] if set(found) == {"type", "text"} else cast("object", part)


def _difference(said: Mapping[str, Any], follows: Mapping[str, Any], *, masked: bool) -> tuple[str, Any, Any]:
    """The first field that differs, with both values; an empty name where none does."""
    for name in [*follows, *(name for name in said if name not in follows)]:
        one, other = _listed(said.get(name)), _listed(follows.get(name))
        if (name in said) is not (name in follows) or not _same(one, other, masked=masked):
            return name, said.get(name, "nothing"), follows.get(name, "nothing")
    return _NO_DIFFERENCE


def _listed(value: Any) -> Any:
    """Tuples as lists, as JSON has them."""
    return [_listed(each) for each in cast("Sequence[Any]", value)] if isinstance(value, list | tuple) else value
