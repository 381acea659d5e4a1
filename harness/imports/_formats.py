"""Which formats can be imported, and how each is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from harness._errors import UsageError
from harness.imports import _memory_authority_auditor as memory_authority_auditor
from harness.imports._foreign import ForeignFixture, ForeignRun, Grade

__all__ = ["FORMATS", "Format", "find_format"]


class _ReadFixture(Protocol):
    def __call__(self, data: bytes, path: Path, /) -> ForeignFixture: ...


class _ReadArtifact(Protocol):
    def __call__(
        self, data: bytes, path: Path, fixture: ForeignFixture, /
    ) -> tuple[Sequence[ForeignRun], Sequence[str]]: ...


@dataclass(frozen=True)
class Format:
    """A kind of foreign evidence. `suite` is the suite whose stages score it, `rules` the rule sets that an import is
    scored under at once; the two readers raise UsageError, and touch nothing but the bytes they are given. `of_suite`:
    the format belongs to no suite, so that which suite it was read for is part of what an import is."""

    name: str
    about: str
    grade: Grade
    suite: str
    rules: tuple[str, ...]
    read_fixture: _ReadFixture
    read_artifact: _ReadArtifact
    of_suite: bool = False


FORMATS: Final[Mapping[str, Format]] = MappingProxyType({
    each.name: each
    for each in (
        Format(
            name="memory-authority-auditor",
            about="runs of the project memory-authority-auditor (path_a_eval_RUN.json), with the fixture they ran on",
            grade="text",
            suite="authority",
            rules=("strict-cite",),
            read_fixture=memory_authority_auditor.read_fixture,
            read_artifact=memory_authority_auditor.read_artifact,
        ),
    )
})  # fmt: skip


def find_format(name: str) -> Format:
    """The format called `name`. Raises UsageError, saying what there is."""
    found = FORMATS.get(name)
    if found is None:
        raise UsageError(f"expected a format out of {', '.join(FORMATS)}, got {name[:100]!r}")
    return found
