"""Making the data of a report again from its ledger, as of the event that its receipt names."""

from __future__ import annotations

from typing import Any, cast

from harness._basis import Basis
from harness._correction import correction_again
from harness._errors import HarnessError
from harness._report_data import Data, collect
from harness._report_wrong import with_answers
from ledger import Ledger, LedgerError

__all__ = ["recollect", "with_correction"]


def with_correction(data: Data, correction: Data | None) -> Data:
    """The data of a report that corrects another: `correction` stands before the receipt, which stays last."""
    last = data["receipt"]
    return {
        **{name: value for name, value in data.items() if name != "receipt"},
        "correction": correction,
        "receipt": last,
    }


def recollect(ledger: Ledger, basis: Basis, said: Data) -> Data:
    """The data as the ledger gives them. `said` tells whether the report was a correction, and of which."""
    fresh = collect(ledger, basis.run, basis.size, basis.labels)
    if "wrong" in said:
        fresh = with_answers(ledger, fresh, _rules_of(said))
    correction: Any = said.get("correction")
    if not isinstance(correction, dict):
        return fresh
    try:
        again = correction_again(ledger, cast("Data", correction), basis, fresh["scoreboard"])
    except (HarnessError, LedgerError):
        again = None
    return with_correction(fresh, again)


def _rules_of(said: Data) -> list[str]:
    """The rule sets that the wrong answers of a report are under, as far as it says so."""
    match said["wrong"]:
        case {"rules": [*rules]}:
            return [str(each) for each in cast("list[object]", rules)]
        case _:
            return []
