"""The table of forgeries: what each makes false, of which honest ledger, and which link of harness.links it breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.forgeries.retold import Fact, Retold

__all__ = ["FORGERIES", "Forge", "Forgery", "forgery"]

Forge = Callable[[Retold], tuple[Fact, Fact]]
"""Changes the events, and returns the pair to be named: the false one, and the one that it should follow from."""


@dataclass(frozen=True)
class Forgery:
    """One row. `link` names a row of the table of links, `base` an honest ledger of tests.forgeries.bases.

    `unseen` are holders who hold only a part of the link, or aren't shown what is false: what nobody asked for is in no
    bundle and beside no number.
    """

    name: str
    link: str
    what: str
    base: str
    forge: Forge
    unseen: frozenset[str] = frozenset()


FORGERIES: dict[str, Forgery] = {}


def forgery(link: str, base: str, *, unseen: str = "") -> Callable[[Forge], Forge]:
    """Register a forgery. Its docstring says what is false, in one sentence."""

    def register(function: Forge) -> Forge:
        name = function.__name__.replace("_", "-")
        assert function.__doc__ and name not in FORGERIES, name
        FORGERIES[name] = Forgery(name, link, function.__doc__, base, function, frozenset(unseen.split()))
        return function

    return register
