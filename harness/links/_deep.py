"""What `ledger verify --deep` calls: every link of every run, and every derivation made again."""

from __future__ import annotations

from harness._fingerprint import plan_of
from harness._replay_check import check_runs
from harness.links._broken import Broken, Finder
from harness.links._check import check_links
from harness.links._claims import check_labels, check_reports
from harness.links._decided import check_gates
from harness.links._freezes import Freezes
from harness.links._marked import check_marks
from harness.links._said import check_said
from ledger import DeepCheck, Ledger

__all__ = ["deep"]

_MOST_SHOWN = 20


def deep(ledger: Ledger) -> DeepCheck:
    """Check a ledger as far as its events reach. Appends nothing. The first false link is named first, with both of its
    events and both values."""
    frozen = Freezes(ledger, Finder())
    broken, not_held, whole = _links(ledger, frozen)
    lines = [f"run {each.run}, {each.sentence()}" if each.run else each.sentence() for each in broken[:_MOST_SHOWN]]
    if len(broken) > _MOST_SHOWN:
        lines.append(f"and {len(broken) - _MOST_SHOWN} more links that are false")
    lines += [f"not held: {sentence}" for sentence in not_held]
    differences: list[str] = []
    reproduced = total = withheld = 0
    ok = not broken
    for each in check_runs(ledger, known=lambda run: frozen.thawed(plan_of(ledger, run))):
        if each.skipped:
            lines.append(f"run {each.run} is not derived again: {each.skipped}")
            continue
        lines += [f"run {each.run}, {rules.sentence()}" for rules in each.rules]
        differences += [f"run {each.run}, {other.sentence()}" for other in each.differences]
        reproduced, total, withheld = reproduced + each.reproduced, total + each.total, withheld + each.withheld
        ok = ok and each.ok
    if reproduced == total:
        said = f"{reproduced} of {total} derivations are reproduced by this code"
    else:
        said = f"{total - reproduced} of {total} derivations are not reproduced by this code"
    if withheld:
        said += f" ({withheld} more can't be checked: what they rest on is withheld)"
    lines += differences[:_MOST_SHOWN]
    if len(differences) > _MOST_SHOWN:
        lines.append(f"and {len(differences) - _MOST_SHOWN} more that are derived otherwise")
    links = (
        f"{len(broken)} links are FALSE, first: {broken[0].sentence()}"
        if broken
        else "every link holds"
        if whole
        else "every link that could be held holds, NOT FULLY CHECKED"
    )
    return DeepCheck(ok, f"{links}; {said}", tuple(lines), whole)


def _links(ledger: Ledger, frozen: Freezes) -> tuple[list[Broken], list[str], bool]:
    """What is false of a ledger's links, what couldn't be held, and whether every run could be looked at."""
    broken: dict[Broken, None] = {}
    not_held: dict[str, None] = {}
    bare: set[str] = set()
    for event in ledger.events(kind="plan"):
        found = check_links(ledger, event.run, frozen=frozen)
        broken.update(dict.fromkeys(found.broken))
        not_held.update(dict.fromkeys(found.not_held))
        bare |= set() if found.whole else {event.run}
    for event in ledger.events(kind="freeze"):
        frozen.check(event.seq)
    check_reports(ledger, frozen.finder, lambda report: report.run not in bare)
    check_labels(ledger, frozen.finder)
    check_gates(ledger, frozen.finder)
    check_marks(ledger, frozen.finder)
    check_said(ledger, frozen.finder)
    broken.update(dict.fromkeys(frozen.finder.found))
    not_held.update(frozen.finder.not_held)
    return sorted(broken, key=lambda each: each.event), list(not_held), not bare
