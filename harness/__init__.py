"""Acts: asks models, captures what crosses the wire, reads, confirms and scores.

    from harness import Job, run_job

`harness` writes through `ledger` and never the other way round.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness._derive import Derived, Reply, derive
    from harness._errors import HarnessError
    from harness._job import Job, JobDone, run_job
    from harness._report import RunReport, read_report
    from harness._rules import RuleSet, load_rules
    from harness._run import Finished, RunOptions
    from harness._suite import Case, Fixture, Suite, load_suite

__all__ = [
    "Case",
    "Derived",
    "Finished",
    "Fixture",
    "HarnessError",
    "Job",
    "JobDone",
    "Reply",
    "RuleSet",
    "RunOptions",
    "RunReport",
    "Suite",
    "derive",
    "load_rules",
    "load_suite",
    "read_report",
    "run_job",
]

_HOMES = {
    "_derive": ("Derived", "Reply", "derive"),
    "_errors": ("HarnessError",),
    "_job": ("Job", "JobDone", "run_job"),
    "_report": ("RunReport", "read_report"),
    "_rules": ("RuleSet", "load_rules"),
    "_run": ("Finished", "RunOptions"),
    "_suite": ("Case", "Fixture", "Suite", "load_suite"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    # Lazy (PEP 562): `harness --help` loads none of what these need.
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    value = getattr(import_module(f"harness.{home}"), name)
    globals()[name] = value
    return value
