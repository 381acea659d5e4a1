"""Checkpoints of a ledger: its keys, its signed tree heads, and who outside vouched for them.

from ledger.checkpoints import find_key, make_checkpoint

made = make_checkpoint("ledger.db", find_key(ledger_id, Path("ledger.db")))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ledger.checkpoints._anchor import Timestamped, anchor_rfc3161
    from ledger.checkpoints._keys import default_key_path, find_key, make_key, read_key
    from ledger.checkpoints._make import Made, make_checkpoint
    from ledger.checkpoints._timestamp import Timestamp

__all__ = [
    "Made",
    "Timestamp",
    "Timestamped",
    "anchor_rfc3161",
    "default_key_path",
    "find_key",
    "make_checkpoint",
    "make_key",
    "read_key",
]

_HOMES = {
    "_anchor": ("Timestamped", "anchor_rfc3161"),
    "_keys": ("default_key_path", "find_key", "make_key", "read_key"),
    "_make": ("Made", "make_checkpoint"),
    "_timestamp": ("Timestamp",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    # Lazy (PEP 562): the store reads the folder of checkpoints by modules in here, and these read the store.
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'ledger.checkpoints' has no attribute {name!r}")
    value = getattr(import_module(f"ledger.checkpoints.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
