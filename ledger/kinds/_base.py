"""What every body has, and the value types that bodies are made of."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

__all__ = ["BlobRef", "Body", "Count", "Hex32", "Hex64", "Origin", "Outcome", "Part", "RunStatus", "Scope", "Seq"]

Hex32 = Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{32}\z")]
Hex64 = Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{64}\z")]
Origin = Annotated[str, StringConstraints(pattern=r"\A[a-z0-9][a-z0-9./-]{0,99}\z")]
Seq = Annotated[int, Field(ge=1, le=2**53 - 1)]
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
Scope = Literal["ledger", "run", "cell", "any"]
RunStatus = Literal["complete", "partial", "incomplete", "interrupted", "aborted"]
Outcome = Literal["correct", "incorrect", "graded", "unmeasured"]


class Part(BaseModel):
    """A piece of a body: frozen, strict, and closed to unknown fields."""

    # NaN keeps its name in JSON, where the door then finds and refuses it; as null it would slip through.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, ser_json_inf_nan="constants")


class BlobRef(Part):
    """Names one blob of the event: `hash` = BLAKE3(salt ‖ bytes), `size` in bytes."""

    hash: Hex64
    size: Count


class Body(Part):
    """What every body has. `kind` and `scope` belong to the class, not to the stored JSON.

    `scope` says what the line must carry: "ledger" no run, "run" a run and cell 0, "cell" a run and a cell from 1.
    `since` names the fields that a later schema brought, with the schema that did: an older body must not have them.
    A class that has any sets the default of `version` to its newest schema, which is what new bodies are written in.
    """

    kind: ClassVar[str]
    scope: ClassVar[Scope]
    since: ClassVar[Mapping[str, int]] = MappingProxyType({})

    # `schema` is the stored name; pydantic keeps that word for itself.
    version: int = Field(default=1, alias="schema", ge=1)
    blobs: dict[str, BlobRef] = Field(default_factory=dict)

    @classmethod
    def latest(cls) -> int:
        """The newest schema of this kind that this release knows, and the one that it writes."""
        return int(cls.model_fields["version"].default)

    def unsaid(self) -> frozenset[str]:
        """The fields that a body of this one's schema doesn't have."""
        return frozenset(name for name, schema in self.since.items() if schema > self.version)

    def refuse_too_new(self) -> Self:
        """The body as it is. Raises ValueError where it has a field that came after its schema."""
        early = sorted(self.unsaid() & self.model_fields_set)
        if early:
            raise ValueError(f"{early[0]} is no field of schema {self.version}")
        return self
