"""Fields of a case's `meta` that its suite names as people's: review criteria, notes for whoever evaluates.

Neither the model nor scoring sees them, so they are part of no identity. What people judge by is held all the same:
every cell carries the digest of its case's fields, taken over the object of those that the case has.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, cast

from harness._errors import IdentityError, SuiteError
from harness._identity import digest, tagged_form
from harness._json import JSONError, members

__all__ = ["check_people", "people_digest", "people_text", "read_people"]


def read_people(listed: Any, where: str) -> tuple[str, ...]:
    """The names under `people` in a manifest, sorted; `where` is for messages. Raises SuiteError."""
    names = cast("list[Any]", listed)
    if not isinstance(listed, list) or not all(isinstance(name, str) and name.isprintable() for name in names):
        raise SuiteError(f"{where}: people: expected a list of names of fields of meta, got {listed!r}")
    for name in names:
        if not name or names.count(name) > 1:
            raise SuiteError(f"{where}: people: expected names, each once, got {name!r} {names.count(name)} times")
    return tuple(sorted(names))


def check_people(metas: Iterable[tuple[int, str]], names: Sequence[str], where: str) -> None:
    """Raises SuiteError for the first `meta` (with its line in the file) whose named fields have no digest."""
    for line, meta in metas if names else ():
        try:
            tagged_form(people_text(meta, names))
        except IdentityError as error:
            raise SuiteError(f"{where}:{line}: meta: {error}") from None


def people_text(meta: str, names: Sequence[str]) -> str:
    """The JSON object of those named fields that the `meta` of a case has. Raises IdentityError where it is none."""
    try:
        found = members(meta)
    except JSONError:
        raise IdentityError("expected an object, for the suite names fields of it as people's") from None
    return "{" + ", ".join(f"{json.dumps(name)}: {found[name]}" for name in sorted(names) if name in found) + "}"


def people_digest(meta: str, names: Sequence[str], key: bytes) -> str | None:
    """The keyed digest of the named fields; None where the suite names none. Raises IdentityError."""
    return digest(people_text(meta, names), key) if names else None
