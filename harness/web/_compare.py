"""The page that compares: two runs, two candidates, or one run under two rule sets, paired by case.

Every number is the one that `harness compare` prints for the same names, and refused where it refuses them.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from harness._compare import Compared, Comparison, compare
from harness._contrast import Contrast
from harness._errors import HarnessError
from harness._sides import Duel, name_duels
from harness.web._flipped import Turned, turned
from harness.web._offers import Offers, offers
from harness.web._study import Table, tables
from ledger import LedgerError, printable
from ledger.web import Crumb, Desk, Figure, Kept, Page, Source, View, cli, readable

__all__ = ["compare_page"]

_MOST_MISSING = 40


@dataclass(frozen=True)
class Asked:
    """What a person named: as `harness compare` takes it."""

    a: str
    b: str
    rules: tuple[str, ...]
    force: bool

    @property
    def words(self) -> list[str]:
        """The command line that prints the same."""
        rules = [word for name in self.rules for word in ("--rules", name)]
        force = ["--force"] if self.force else []
        return ["harness", "compare", self.a, *([self.b] if self.b else []), *rules, *force]

    @property
    def query(self) -> dict[str, Any]:
        """The same as the query of an address."""
        return {"a": self.a, "b": self.b, "rules": list(self.rules), "force": "1" if self.force else ""}


@dataclass(frozen=True)
class Shown:
    """A side's figure over the paired cases."""

    k: Figure | None
    n: Figure
    rate: Figure
    low: Figure
    high: Figure
    counted: Figure | None


@dataclass(frozen=True)
class Metric:
    """A metric of both sides, ready to be shown. `plot` is its difference with its interval."""

    found: Contrast
    a: Shown
    b: Shown
    planned: Figure
    pairs: Figure
    table: tuple[Figure, Figure, Figure, Figure] | None
    difference: Figure
    low: Figure | None
    high: Figure | None
    p: Figure | None
    plot: Markup | None


@dataclass(frozen=True)
class Lack:
    """What one side lacks, by why: how many, and the first of the cells."""

    side: str
    why: str
    cells: Sequence[tuple[str, int | None]]
    count: int

    @property
    def more(self) -> bool:
        """Whether some aren't named."""
        return self.count > len(self.cells)


@dataclass(frozen=True)
class Pairing:
    """One pair of sides, ready to be shown. `turned` are its cases that differ, of the one pair whose are shown."""

    found: Compared
    at: int
    metrics: Sequence[Metric]
    cases: Figure | None
    lacks: Sequence[Lack]
    repeats: Sequence[tuple[str, Figure, Figure]]
    turned: Turned | None
    studied: Sequence[Table] = ()

    @property
    def differs(self) -> bool:
        """Whether any case differs."""
        return bool(self.found.stages) or any(each.flips for each in self.found.metrics)


@readable("ledger")
def compare_page(view: View) -> Page:
    """A comparison; without names, or with names that don't go together, the form, and why."""
    asked = _asked(view)
    if not asked.a:
        return _page(view, asked, None, "")
    try:
        duels = name_duels(view.ledger, asked.a, asked.b or None, asked.rules)
        kept = Desk(view).get(
            duels[0].a.run if duels else "", _key(view, asked, duels),
            lambda ledger: compare(ledger, asked.a, asked.b or None, rules=asked.rules, force=asked.force),
        )  # fmt: skip
    except (HarnessError, LedgerError) as problem:
        return _page(view, asked, None, str(problem))
    return _page(view, asked, kept, "", awaits=kept is None)


def _asked(view: View) -> Asked:
    rules = tuple(each for each in view.query.get("rules", ()) if each)
    return Asked(view.first("a").strip(), view.first("b").strip(), rules, view.first("force") == "1")


def _key(view: View, asked: Asked, duels: Sequence[Duel]) -> tuple[object, ...]:
    """What the figures go by. The first run is watched by the memory itself, the other is part of the key."""
    runs = dict.fromkeys(side.run for duel in duels for side in (duel.a, duel.b))
    touched = tuple(view.memory.touched(view.ledger, view.size, run) for run in list(runs)[1:])
    return ("compare", tuple(duels), asked.rules, asked.force, touched)


def _page(view: View, asked: Asked, kept: Kept[Comparison] | None, problem: str, *, awaits: bool = False) -> Page:
    found = None if kept is None else kept.value
    pairings: list[Pairing] = []
    if found is not None:
        source = cli(*map(shlex.quote, asked.words))
        order = _in_order(found.pairs)
        chosen = min(view.number("pair", order[0] if order else 0), len(order) - 1)
        pairings = [_pairing(view, source, at, found.pairs[at], whole=at == chosen) for at in order]
    offered = Offers() if view.fixed else offers(view.ledger)
    values = {
        "asked": asked, "typed": [_typed(each) for each in (asked.a, asked.b, *asked.rules[:2], "", "")],
        "found": found, "problem": problem, "pairings": pairings, "offers": offered,
        "command": shlex.join(asked.words), "kept": kept,
        "awaited": awaits,
    }  # fmt: skip
    title = printable(f"{asked.a} and {asked.b or 'itself'} compared") if found is not None else "Compare"
    crumbs = [Crumb("Runs", "home"), Crumb("Compare")]
    status = 400 if problem else 200
    return Page(title, "harness/compare.html", values, crumbs, about="", status=status, awaits=awaits)


def _in_order(pairs: Sequence[Compared]) -> list[int]:
    """The places of the pairs, rule sets in the order of every page: that of the report."""
    sides = list(dict.fromkeys((each.duel.a.candidate, each.duel.b.candidate) for each in pairs))

    def where(at: int) -> tuple[int, str, str]:
        a, b = pairs[at].duel.a, pairs[at].duel.b
        return sides.index((a.candidate, b.candidate)), a.rules, b.rules

    return sorted(range(len(pairs)), key=where)


def _typed(text: str) -> str:
    """What goes back into a field: nothing that acts or hides there."""
    return text if printable(text) == text else ""


# One pair of sides


def _pairing(view: View, source: Source, at: int, pair: Compared, *, whole: bool) -> Pairing:
    here = f"/comparisons/{at}"
    metrics = [_metric(source, f"{here}/metrics/{place}", each) for place, each in enumerate(pair.metrics)]
    repeats = [
        (
            name.upper(), source.at(f"{here}/repeatability/{name}/changed", row["changed"]),
            source.at(f"{here}/repeatability/{name}/repeated", row["repeated"]),
        )
        for name, row in (pair.repeatability or {}).items() if row["repeated"]
    ]  # fmt: skip
    return Pairing(
        pair, at, metrics, source.at(f"{here}/cases", pair.cases) if pair.shown else None, _lacks(pair), repeats,
        turned(view, source, at, pair) if whole and pair.shown else None,
        tables(source, f"{here}/study", [each.as_json() for each in pair.study]),
    )  # fmt: skip


def _metric(source: Source, here: str, found: Contrast) -> Metric:
    rate = found.kind == "rate"
    apart: Any = "points" if rate else "signed"
    interval = found.interval
    table = None
    if found.both is not None:
        table = (
            source.at(f"{here}/both", found.both), source.at(f"{here}/only_a", found.only_a),
            source.at(f"{here}/only_b", found.only_b), source.at(f"{here}/neither", found.neither),
        )  # fmt: skip
    return Metric(
        found, _side(source, f"{here}/a", found, first=True), _side(source, f"{here}/b", found, first=False),
        source.at(f"{here}/planned", found.planned), source.at(f"{here}/pairs", found.pairs), table,
        source.at(f"{here}/difference", found.difference, apart),
        source.at(f"{here}/interval/low", interval.low, apart) if interval else None,
        source.at(f"{here}/interval/high", interval.high, apart) if interval else None,
        source.at(f"{here}/mcnemar_exact_p", found.p, "p") if found.p is not None else None,
        _plot(found) if found.difference is not None else None,
    )  # fmt: skip


def _side(source: Source, here: str, found: Contrast, *, first: bool) -> Shown:
    figure = found.a if first else found.b
    form: Any = "percent" if found.kind == "rate" else "decimal"
    return Shown(
        source.at(f"{here}/k", figure.k) if figure.k is not None else None, source.at(f"{here}/n", figure.n),
        source.at(f"{here}/rate", figure.rate, form), source.at(f"{here}/low", figure.low, form),
        source.at(f"{here}/high", figure.high, form),
        source.at(f"{here}/unmeasured", figure.counted) if figure.counted else None,
    )  # fmt: skip


def _plot(found: Contrast) -> Markup:
    """The difference on a line from -1 to 1 (narrower where it is small), zero in the middle."""
    assert found.difference is not None
    interval = found.interval
    ends = [abs(found.difference)] + ([abs(interval.low), abs(interval.high)] if interval else [])
    reach = next((reach for reach in (0.1, 0.25, 0.5, 1.0) if max(ends) <= reach), 1.0)

    def x(value: float) -> str:
        return f"{200 + 190 * max(-1.0, min(1.0, value / reach)):.1f}"

    bar = Markup("")
    if interval is not None:
        bar = Markup('<line class="interval" x1="{}" y1="16" x2="{}" y2="16"/>').format(
            x(interval.low), x(interval.high)
        )
    return Markup(
        '<svg class="difference" viewBox="0 0 400 44" role="img"><title>A less B, {}</title><desc>A dot at the'
        " difference, a bar for its interval, a dashed line where there is none. The table has the same figures.</desc>"
        '<line class="axis" x1="10" y1="16" x2="390" y2="16"/><line class="zero" x1="200" y1="4" x2="200" y2="28"/>{}'
        '<circle class="dot" cx="{}" cy="16" r="5"/><text class="tick" x="10" y="40">B higher</text>'
        '<text class="tick" x="200" y="40" text-anchor="middle">no difference</text>'
        '<text class="tick" x="390" y="40" text-anchor="end">A higher</text></svg>'
    ).format(printable(found.metric), bar, x(found.difference))


def _lacks(pair: Compared) -> list[Lack]:
    groups: dict[tuple[str, str], list[tuple[str, int | None]]] = {}
    for each in pair.missing:
        why = f"unmeasured: {each.status}, {each.reason}" if each.why == "unmeasured" else each.why
        groups.setdefault((each.side, why), []).append((each.case or "a case that is withheld", each.cell))
    return [Lack(side, why, cells[:_MOST_MISSING], len(cells)) for (side, why), cells in groups.items()]
