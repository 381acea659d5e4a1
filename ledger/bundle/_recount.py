"""The claims of a bundle, each held against its tally and counted again from the scores that are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ledger._errors import BadBundle
from ledger.bundle._read import Claim
from ledger.bundle._readme import number
from ledger.bundle._seen import Seen
from ledger.kinds import Cell, Freeze, Plan, Score, Tally

__all__ = ["Recounted", "recount"]


@dataclass(frozen=True, slots=True)
class Recounted:
    """What a claim came to. `hidden` scores are the tally's word alone; `scores` were counted, and give k (or total) of
    n of planned. `before`: the rules were frozen before the first response of the run.
    `placed` says what of the candidates is told; `weak` scores rest on something that a redaction withholds."""

    claim: Claim
    scores: int
    hidden: int
    total: float
    n: int
    planned: int
    before: bool
    placed: str = ""
    weak: int = 0

    @property
    def in_part(self) -> bool:
        """Whether scores are hidden, or rest on something that a redaction withholds."""
        return bool(self.hidden or self.weak)

    def sentence(self) -> str:
        """The claim, and how much of it is proved."""
        claim = self.claim
        value = f"{claim.k}/{claim.n}" if claim.kind == "rate" else f"{number(claim.total)} over {claim.n}"
        when = "frozen before the first response" if self.before else "frozen AFTER the first response"
        policy = f", {claim.unmeasured} of them unmeasured and counted by a policy" if claim.unmeasured else ""
        # Names are written as literals: one that looks like a figure stays a name.
        said = f"{value} of {claim.planned} planned{policy}, rules {when}: {claim.metric!r}, run {claim.run}"
        said = f"{said}, {claim.candidate!r}, {claim.rules!r}"
        if not self.hidden:
            weak = f", {self.weak} of them on what a redaction withholds" if self.weak else ""
            return f"{said}: counted again from {self.scores} scores{weak}"
        shown = f"{round(self.total)}/{self.n}" if claim.kind == "rate" else f"{number(self.total)} over {self.n}"
        return (
            f"{said}: {shown} of {self.planned} by the scores shown; {self.hidden} are hidden, and stand by the"
            " tally alone"
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
    whose, placed = _candidates(seen, claim.run, tally)
    scores, unsure, seqs = _scores(seen, claim, tally)
    _every_cell(tally, whose, scores, unsure)
    own = [cell for cell in sorted(whose) if whose[cell] == claim.candidate]
    counted = [scores[cell] for cell in own if cell in scores and cell not in unsure]
    before = _frozen_before(seen, claim.run, tally.freeze)
    weak = sum(seqs.get(cell) in seen.weak for cell in own)
    return replace(_count(claim, counted, len(unsure.intersection(own)), before=before), placed=placed, weak=weak)


def _against_tally(claim: Claim, tally: Tally) -> None:
    rows = [each for each in tally.metrics if (each.candidate, each.metric) == (claim.candidate, claim.metric)]
    if len(rows) != 1:
        raise BadBundle(f"its tally has no one figure {claim.metric} of {claim.candidate}")
    for name in ("kind", "k", "total", "n", "planned", "unmeasured", "primary"):
        said, is_ = getattr(claim, name), getattr(rows[0], name)
        if said != is_:
            # Here the digits matter, for they are what differs.
            raise BadBundle(f"it claims {name} {said}, and its tally, event {claim.tally}, says {is_}")


def _frozen_as(seen: Seen, claim: Claim, tally: Tally) -> None:
    """The label is the name and digest under which the rules were frozen, where that can be seen."""
    line, freeze = seen.events.get(tally.freeze), seen.bodies.get(tally.freeze)
    if line is None or line.kind != "freeze":
        raise BadBundle(f"event {tally.freeze}, which its tally names, froze nothing that is shown")
    if isinstance(freeze, Freeze) and f"{freeze.name}@{freeze.identity[:12]}" != claim.rules:
        raise BadBundle(f"event {tally.freeze}, which its tally names, froze {freeze.name}@{freeze.identity[:12]}")


def _frozen_before(seen: Seen, run: str, freeze: int) -> bool:
    """Whether the rules, and the fixtures of the plan, were frozen before the run's first response: that of another
    run where it was taken over, and before everything where it was imported, or came from another ledger."""
    if seen.of("import", run):
        return False
    came = [each.seq for each in seen.of("response", run)]
    for each in seen.of("reuse", run):
        taken = [cause for cause in each.causes if cause in seen.events and seen.events[cause].kind == "response"]
        came += taken or [0]
    bodies = [(cause, seen.bodies.get(cause)) for plan in seen.of("plan", run) for cause in plan.causes]
    fixtures = [seq for seq, body in bodies if isinstance(body, Freeze) and body.what == "fixture"]
    return not came or max([freeze, *fixtures]) < min(came)


def _candidates(seen: Seen, run: str, tally: Tally) -> tuple[Mapping[int, str], str]:
    """Whose each cell is: by its body; where that is hidden, by its place. And what of that is only told."""
    cells = seen.of("cell", run)
    count = sum(tally.outcomes.values())
    if sorted(each.cell for each in cells) != list(range(1, count + 1)):
        raise BadBundle(f"its tally counts {count} cells, and the bundle has not each of them once")
    order = list(dict.fromkeys(each.candidate for each in tally.metrics))
    plan = next((body for each in seen.of("plan", run) if isinstance(body := seen.bodies.get(each.seq), Plan)), None)
    if plan is not None and (plan.cells, [each.label for each in plan.candidates]) != (count, order):
        raise BadBundle(f"the plan of run {run} has other cells or candidates than its tally counts")
    found: dict[int, str] = {}
    elsewhere: list[int] = []
    for each in cells:
        body = seen.bodies.get(each.seq)
        place = order[(each.cell - 1) * len(order) // count]
        found[each.cell] = body.candidate if isinstance(body, Cell) else place
        if found[each.cell] != place:
            elsewhere.append(each.cell)
    hidden = sum(each.seq not in seen.bodies for each in cells)
    if hidden and elsewhere:
        raise BadBundle(f"cell {elsewhere[0]} of run {run} stands at another candidate's place, and others are hidden")
    if not hidden or len(order) == 1 or plan is not None:
        return found, ""
    return (
        found,
        f"whose the {hidden} hidden cells of run {run} are: by their places, as its tally names the candidates",
    )


def _scores(seen: Seen, claim: Claim, tally: Tally) -> tuple[dict[int, Score], set[int], dict[int, int]]:
    """The last score of each cell under the rules before the tally, the cells of which a hidden one may be that, and
    the seq of each score."""
    scores: dict[int, Score] = {}
    seqs: dict[int, int] = {}
    unsure: set[int] = set()
    alike = _same_rules(seen, tally.freeze)
    for each in seen.of("score", claim.run):
        if each.seq > claim.tally:
            continue
        body = seen.bodies.get(each.seq)
        if isinstance(body, Score):
            if body.rules == claim.rules:
                if seen.rests[each.seq] and not alike.intersection(seen.rests[each.seq]):
                    raise BadBundle(f"event {each.seq} was scored by rules that another event froze")
                scores[each.cell] = body
                seqs[each.cell] = each.seq
                unsure.discard(each.cell)
        elif alike.intersection(seen.rests[each.seq]) or not seen.rests[each.seq]:
            # Lines alone tell on which rule set's freeze a hidden score rests.
            unsure.add(each.cell)
    return scores, unsure, seqs


def _same_rules(seen: Seen, freeze: int) -> set[int]:
    """The freezes of the very same rules: a label alone could be another rule set's too."""
    body = seen.bodies.get(freeze)
    if not isinstance(body, Freeze):
        return {freeze}
    others = ((seq, each) for seq, each in seen.bodies.items() if isinstance(each, Freeze))
    return {freeze, *(seq for seq, each in others if each.identity == body.identity)}


def _every_cell(tally: Tally, whose: Mapping[int, str], scores: Mapping[int, Score], unsure: set[int]) -> None:
    """Every cell ends in one outcome, or a wrong one could be left out of what is counted."""
    gone = sorted(set(whose) - set(scores) - unsure)
    if gone:
        raise BadBundle(f"cell {gone[0]} has no score under {tally.rules}")
    ends = Counter(each.outcome for each in scores.values())
    if not unsure and ends != Counter({name: count for name, count in tally.outcomes.items() if count}):
        raise BadBundle(f"its scores end as {dict(ends)}, and its tally says {tally.outcomes}")


def _count(claim: Claim, scores: Sequence[Score], hidden: int, *, before: bool) -> Recounted:
    counted = [each for each in scores if claim.metric in each.applies]
    having = [each for each in counted if claim.metric in each.metrics]
    total: float = 0
    for each in having:
        value = each.metrics[claim.metric]
        if claim.kind == "rate" and value not in (0, 1):
            raise BadBundle(f"{claim.metric} is a rate, and a score of it is {value}: expected 0 or 1")
        total += value
    k, n, planned = round(total), len(having), len(counted)
    unmeasured = sum(each.outcome == "unmeasured" for each in having)
    more = claim.n - n
    fits = 0 <= more <= hidden and 0 <= claim.planned - planned <= hidden
    if claim.kind == "rate":
        fits = fits and claim.k is not None and 0 <= claim.k - k <= more
    elif not hidden:
        fits = fits and claim.total == total
    fits = fits and 0 <= claim.unmeasured - unmeasured <= hidden
    if not fits:
        value = f"{k}/{n}" if claim.kind == "rate" else f"{number(total)} over {n}"
        rest = f", and {hidden} hidden ones can't make up for it" if hidden else ""
        raise BadBundle(
            f"{claim.metric} of {claim.candidate} in run {claim.run} under {claim.rules}: its scores give {value} of"
            f" {planned} planned, {unmeasured} unmeasured{rest}"
        )
    return Recounted(claim, planned, hidden, total, n, planned, before)
