"""A prompt template split into its turns, before anything is put in: inserted text can't make a turn.

    === system ===
    You answer in one word.
    === messages ===
    === user ===
    {{ question }}

A line of its own opens a turn; without any, the whole template is one turn of the user. `=== messages ===` is where a
case's own messages go.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

__all__ = ["MARKERS", "Part", "split_turns"]

Role = Literal["system", "user", "assistant", "messages"]
MARKERS: tuple[Role, ...] = ("system", "user", "assistant", "messages")
_MARKER = re.compile(r"===[ \t]*([A-Za-z]+)[ \t]*===[ \t]*")


@dataclass(frozen=True)
class Part:
    """One turn's template, or with role `messages` the place of the case's own. `line` is that of its first text in
    the file, from 1."""

    role: Role
    text: str
    line: int


def split_turns(template: str) -> tuple[Part, ...]:
    """The turns of a template, in order. Raises ValueError with one sentence that names the line.

    Line ends of Windows count as those of Unix, so that a file saved there asks the same. Empty lines at the ends of a
    turn don't belong to it; of a template without turns, the file's last line end doesn't.
    """
    lines = template.replace("\r\n", "\n").split("\n")
    found: list[tuple[Role, int, list[str]]] = []
    ahead: list[str] = []
    for number, line in enumerate(lines, start=1):
        role = _role(line, number)
        if role is not None:
            found.append((role, number + 1, []))
        else:
            (found[-1][2] if found else ahead).append(line)
    if not found:
        return (Part("user", "\n".join(lines[:-1] if len(lines) > 1 and not lines[-1] else lines), 1),)
    if place := next((number for number, line in enumerate(ahead, start=1) if line.strip()), 0):
        raise ValueError(f"line {place}: text ahead of the first turn belongs to no turn; put === user === above it")
    parts = [_part(role, first, body) for role, first, body in found]
    of_case = [part for part in parts if part.role == "messages"]
    if len(of_case) > 1:
        raise ValueError(
            f"line {of_case[1].line - 1}: === messages === stands twice; a case's messages go to one place"
        )
    if of_case and of_case[0].text:
        raise ValueError(f"line {of_case[0].line}: text after === messages === belongs to no turn; put a role above it")
    if all(part.role == "system" for part in parts):
        raise ValueError("expected a turn of the user beside the system turn; put === user === above the question")
    return tuple(parts)


def _role(line: str, number: int) -> Role | None:
    """The role that a line opens; None for a line of text, also one that only looks alike (`=== Part two ===`)."""
    marker = _MARKER.fullmatch(line)
    role: Role | None = next((each for each in MARKERS if marker and each == marker[1].lower()), None)
    if marker and role and marker[1] != role:
        raise ValueError(f"line {number}: expected === {role} === in lower case, got {line.strip()!r}")
    return role


def _part(role: Role, first: int, body: list[str]) -> Part:
    start, end = 0, len(body)
    while start < end and not body[start].strip():
        start += 1
    while end > start and not body[end - 1].strip():
        end -= 1
    return Part(role, "\n".join(body[start:end]), first + start)
