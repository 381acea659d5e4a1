"""pass@k and pass^k for the k that somebody asks for: as data of a report, and as rows of its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness._passes import passes_at
from harness._report_data import AsOf
from harness._report_document import between
from ledger import Ledger, printable

__all__ = ["pass_at_of", "pass_tables"]

_COLUMNS = ("candidate", "rules", "k", "cases", "left out", "pass@k", "95% by case", "pass^k", "95% by case")


def pass_at_of(ledger: Ledger, run: str, rules: Sequence[str], ks: Sequence[int]) -> list[dict[str, Any]]:
    """A row a rule set of `rules`, candidate and k, as the ledger is now."""
    found = passes_at(AsOf(ledger, ledger.head()[0]).rows, run, ks)
    return [
        {"candidate": candidate, "rules": label, **each}
        for (candidate, label), estimates in found.items() if label in rules for each in estimates
    ]  # fmt: skip


def pass_tables(found: Sequence[Mapping[str, Any]]) -> list[object]:
    """The table for rich; none where nothing was asked for. Where there is no figure it says why."""
    if not found:
        return []
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text("pass@k and pass^k, over the cases with so many measured answers"), title_justify="left",
        box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0),
    )  # fmt: skip
    for at, name in enumerate(_COLUMNS):
        table.add_column(name, overflow="fold", justify="right" if at > 1 else "left")
    for each in found:
        table.add_row(*(Text(printable(str(cell))) for cell in _row(each)))
    return [table]


def _row(each: Mapping[str, Any]) -> tuple[object, ...]:
    start = each["candidate"], each["rules"], each["k"], each["cases"], each["left_out"]
    if each["pass_at"] is None:
        why = {"graded": "graded", "k_exceeds_n": "too few answers"}.get(each["reason"], "no data")
        return (*start, why, "–", why, "–")
    return (
        *start, f"{each['pass_at']:.3f}", between(each["pass_at_low"], each["pass_at_high"]),
        f"{each['pass_hat']:.3f}", between(each["pass_hat_low"], each["pass_hat_high"]),
    )  # fmt: skip
