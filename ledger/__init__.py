"""The memory of an evaluation: an append-only, hash-chained record of events in one SQLite file.

    from ledger import Draft, Ledger

`ledger` knows events, bytes, chains, lineage and views. It knows no model and no suite.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ledger._deep import DeepCheck
    from ledger._drafts import Draft, Earlier, Prepared, Salts
    from ledger._errors import (
        AppendFailed,
        BadBody,
        BadExport,
        BadLine,
        BadQuery,
        LedgerError,
        LedgerExists,
        LedgerReplaced,
        NotALedger,
        NotErased,
        NotFound,
        NotTimestamped,
        Refused,
        RunHeld,
    )
    from ledger._event import Event, new_run_id
    from ledger._export import export_file, export_lines
    from ledger._export_full import export_full, export_full_file
    from ledger._files import sync_file, sync_folder
    from ledger._functions import Functions
    from ledger._impact import Impact, impact_of
    from ledger._import import Imported, import_full
    from ledger._lineage import Category, Superseded, supersede
    from ledger._lock import hold_run, run_is_held
    from ledger._newer import refuse_newer
    from ledger._open import open
    from ledger._resting import not_reproducible
    from ledger._runs import LATEST, find_run, find_tagged, run_status
    from ledger._screen import printable
    from ledger._snapshot import snapshot
    from ledger._standing import Standing, runs_set_aside, standing_of, standing_scoreboard
    from ledger._store import Ledger
    from ledger._targets import Found, find_target
    from ledger._upgrade import upgrade
    from ledger._verify import Problem, Verdict, verify
    from ledger._verify_outside import CheckpointSeen, Outside
    from ledger._views import as_of, over_views
    from ledger.checkpoints import Made, make_checkpoint
    from ledger.kinds import KINDS, Body
    from ledger.tree import SigningKey, VerifierKey

__all__ = [
    "KINDS",
    "LATEST",
    "AppendFailed",
    "BadBody",
    "BadExport",
    "BadLine",
    "BadQuery",
    "Body",
    "Category",
    "CheckpointSeen",
    "DeepCheck",
    "Draft",
    "Earlier",
    "Event",
    "Found",
    "Functions",
    "Impact",
    "Imported",
    "Ledger",
    "LedgerError",
    "LedgerExists",
    "LedgerReplaced",
    "Made",
    "NotALedger",
    "NotErased",
    "NotFound",
    "NotTimestamped",
    "Outside",
    "Prepared",
    "Problem",
    "Refused",
    "RunHeld",
    "Salts",
    "SigningKey",
    "Standing",
    "Superseded",
    "Verdict",
    "VerifierKey",
    "as_of",
    "export_file",
    "export_full",
    "export_full_file",
    "export_lines",
    "find_run",
    "find_tagged",
    "find_target",
    "hold_run",
    "impact_of",
    "import_full",
    "make_checkpoint",
    "new_run_id",
    "not_reproducible",
    "open",
    "over_views",
    "printable",
    "refuse_newer",
    "run_is_held",
    "run_status",
    "runs_set_aside",
    "snapshot",
    "standing_of",
    "standing_scoreboard",
    "supersede",
    "sync_file",
    "sync_folder",
    "upgrade",
    "verify",
]

_HOMES = {
    "_deep": ("DeepCheck",),
    "_drafts": ("Draft", "Earlier", "Prepared", "Salts"),
    "_errors": (
        "AppendFailed", "BadBody", "BadExport", "BadLine", "BadQuery", "LedgerError", "LedgerExists", "LedgerReplaced",
        "NotALedger", "NotErased", "NotFound", "NotTimestamped", "Refused", "RunHeld",
    ),
    "_event": ("Event", "new_run_id"),
    "_export": ("export_file", "export_lines"),
    "_export_full": ("export_full", "export_full_file"),
    "_files": ("sync_file", "sync_folder"),
    "_functions": ("Functions",),
    "_impact": ("Impact", "impact_of"),
    "_import": ("Imported", "import_full"),
    "_lineage": ("Category", "Superseded", "supersede"),
    "_lock": ("hold_run", "run_is_held"),
    "_newer": ("refuse_newer",),
    "_open": ("open",),
    "_resting": ("not_reproducible",),
    "_runs": ("LATEST", "find_run", "find_tagged", "run_status"),
    "_screen": ("printable",),
    "_snapshot": ("snapshot",),
    "_standing": ("Standing", "runs_set_aside", "standing_of", "standing_scoreboard"),
    "_store": ("Ledger",),
    "_targets": ("Found", "find_target"),
    "_upgrade": ("upgrade",),
    "_verify": ("Problem", "Verdict", "verify"),
    "_verify_outside": ("CheckpointSeen", "Outside"),
    "_views": ("as_of", "over_views"),
    "checkpoints": ("Made", "make_checkpoint"),
    "kinds": ("KINDS", "Body"),
    "tree": ("SigningKey", "VerifierKey"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    # Lazy (PEP 562), because pydantic alone takes longer to import than `ledger --help` may take.
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'ledger' has no attribute {name!r}")
    value = getattr(import_module(f"ledger.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
