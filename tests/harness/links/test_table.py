"""The table of links is whole: no field of any kind of event without a line."""

from __future__ import annotations

import typing
from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from harness.links import LINKS, PRIMARY
from ledger.kinds import KINDS

HELD = {name for each in LINKS for name in each.fields}
SAID = [name for names in PRIMARY for name in names.split()]


def fields(model: type[BaseModel], *above: str) -> Iterator[str]:
    """The paths of a body's fields, down to values that are no models."""
    for name, field in model.model_fields.items():
        if name in ("version", "blobs"):
            continue
        part = part_of(field.annotation)
        if part is None:
            yield ".".join([*above, name])
        else:
            yield from fields(part, *above, name)


def part_of(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((part for each in typing.get_args(annotation) if (part := part_of(each))), None)


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_a_kind_follows_from_something_or_says_something_first(kind: str) -> None:
    for name in fields(KINDS[kind], kind):
        assert (name in HELD) is not (name in SAID), name


def test_the_table_names_no_field_that_is_not_there() -> None:
    there = {name for kind, model in KINDS.items() for name in fields(model, kind)}
    beside = {f"{kind}.causes" for kind in KINDS} | set(KINDS)
    assert {name for name in {*HELD, *SAID} - there if ".blobs." not in name} <= beside
    assert len(SAID) == len(set(SAID))


def test_a_link_has_one_line_and_somebody_who_holds_it() -> None:
    names = [each.name for each in LINKS]
    assert len(names) == len(set(names))
    assert all(each.held and each.follows for each in LINKS)
