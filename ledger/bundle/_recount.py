"""The claims of a bundle, each held against its tally and counted again from the scores that are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ledger._errors import BadBundle
from ledger.bundle._read import Claim
from ledger.bundle._seen import Seen
from ledger.kinds import Cell, Freeze, Score, Tally

__all__ = ["Recounted", "recount"]


@dataclass(frozen=True, slots=True)
class Recounted:
    """What a claim came to. `hidden` scores are the tally's word alone; `scores` were counted, and give k (or total) of
    n of planned. `before`: the rules were frozen before the first response of the run."""

    claim: Claim
    scores: int
    hidden: int
    total: float
    n: int
    planned: int
    before: bool

    def sentence(self) -> str:
        """The claim, and how much of it is proved."""
        claim = self.claim
        value = f"{claim.k}/{claim.n}" if claim.kind == "rate" else f"{claim.total} over {claim.n}"
        when = "frozen before the first response" if self.before else "frozen AFTER the first response"
        said = f"{claim.metric} {value} of {claim.planned} planned, run {claim.run}, {claim.candidate}, {claim.rules}"
        said = f"{said}, {when}"
        if not self.hidden:
            return f"{said}: counted again from {self.scores} scores"
        shown = f"{round(self.total)}/{self.n}" if claim.kind == "rate" else f"{self.total} over {self.n}"
        return (
            f"{said}: PROVED IN PART, {shown} of {self.planned} by the scores shown; {self.hidden} are hidden,"
            " and stand by the tally alone"
        )


def recount(seen: Seen, claim: Claim, *, newest: bool) -> Recounted:
    """Count a claim again. `newest`: its tally must be the newest of its rules. Raises BadBundle where it is false."""
    line, tally = seen.events.get(claim.tally), seen.bodies.get(claim.tally)
    if line is None or not isinstance(tally, Tally):
        raise BadBundle(f"its tally, event {claim.tally}, isn't shown")
    if (line.run, tally.rules) != (claim.run, claim.rules):
        raise BadBundle(f"its tally, event {claim.tally}, is of run {line.run} under {tally.rules}")
    _against_tally(claim, tally)
    _frozen_as(seen, claim, tally)
    if newest:
        later = [each.seq for each in seen.of("tally", claim.run) if each.seq > claim.tally]
        for seq in later:
            other = seen.bodies.get(seq)
            if not isinstance(other, Tally) or other.rules == claim.rules:
                raise BadBundle(f"event {seq} is a newer tally under these rules, or may be one")
    whose = _candidates(seen, claim.run, tally)
    scores, unsure = _scores(seen, claim, tally)
    own = [cell for cell in sorted(whose) if whose[cell] == claim.candidate]
    counted = [scores[cell] for cell in own if cell in scores and cell not in unsure]
    first = next((each.seq for each in seen.of("response", claim.run)), None)
    return _count(claim, counted, len(unsure.intersection(own)), before=first is None or tally.freeze < first)


def _against_tally(claim: Claim, tally: Tally) -> None:
    rows = [each for each in tally.metrics if (each.candidate, each.metric) == (claim.candidate, claim.metric)]
    if len(rows) != 1:
        raise BadBundle(f"its tally has no one figure {claim.metric} of {claim.candidate}")
    for name in ("kind", "k", "total", "n", "planned", "unmeasured", "primary"):
        said, is_ = getattr(claim, name), getattr(rows[0], name)
        if said != is_:
            raise BadBundle(f"it claims {name} {said}, and its tally, event {claim.tally}, says {is_}")


def _frozen_as(seen: Seen, claim: Claim, tally: Tally) -> None:
    """The label is the name and digest under which the rules were frozen, where that can be seen."""
    freeze = seen.bodies.get(tally.freeze)
    if isinstance(freeze, Freeze) and f"{freeze.name}@{freeze.identity[:12]}" != claim.rules:
        raise BadBundle(f"event {tally.freeze}, which its tally names, froze {freeze.name}@{freeze.identity[:12]}")


def _candidates(seen: Seen, run: str, tally: Tally) -> Mapping[int, str]:
    """Whose each cell is: by its body; where that is hidden, by its place."""
    cells = seen.of("cell", run)
    count = sum(tally.outcomes.values())
    if sorted(each.cell for each in cells) != list(range(1, count + 1)):
        raise BadBundle(f"its tally counts {count} cells, and the bundle has not each of them once")
    order = list(dict.fromkeys(each.candidate for each in tally.metrics))
    found: dict[int, str] = {}
    for each in cells:
        body = seen.bodies.get(each.seq)
        place = order[(each.cell - 1) * len(order) // count]
        found[each.cell] = body.candidate if isinstance(body, Cell) else place
    return found


def _scores(seen: Seen, claim: Claim, tally: Tally) -> tuple[dict[int, Score], set[int]]:
    """The last score of each cell under the rules before the tally, and the cells of which a hidden one may be that."""
    scores: dict[int, Score] = {}
    unsure: set[int] = set()
    for each in seen.of("score", claim.run):
        if each.seq > claim.tally:
            continue
        body = seen.bodies.get(each.seq)
        if isinstance(body, Score):
            if body.rules == claim.rules:
                scores[each.cell] = body
                unsure.discard(each.cell)
        elif tally.freeze in seen.rests[each.seq] or not seen.rests[each.seq]:
            # Lines alone tell on which rule set's freeze a hidden score rests.
            unsure.add(each.cell)
    return scores, unsure


def _count(claim: Claim, scores: Sequence[Score], hidden: int, *, before: bool) -> Recounted:
    counted = [each for each in scores if claim.metric in each.applies]
    having = [each for each in counted if claim.metric in each.metrics]
    total: float = 0
    for each in having:
        total += each.metrics[claim.metric]
    k, n, planned = round(total), len(having), len(counted)
    unmeasured = sum(each.outcome == "unmeasured" for each in having)
    more = claim.n - n
    fits = 0 <= more <= hidden and 0 <= claim.planned - planned <= hidden
    if claim.kind == "rate":
        fits = fits and claim.k is not None and 0 <= claim.k - k <= more
    elif not hidden:
        fits = fits and claim.total == total
    if not hidden:
        fits = fits and unmeasured == claim.unmeasured
    if not fits:
        value = f"{k}/{n}" if claim.kind == "rate" else f"{total} over {n}"
        rest = f", and {hidden} hidden ones can't make up for it" if hidden else ""
        raise BadBundle(
            f"{claim.metric} of {claim.candidate} in run {claim.run} under {claim.rules}: its scores give {value} of"
            f" {planned} planned, {unmeasured} unmeasured{rest}"
        )
    return Recounted(claim, planned, hidden, total, n, planned, before)
