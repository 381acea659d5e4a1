"""Forgeries of cells: which case they are of, how often, and in what order."""

from __future__ import annotations

from tests.forgeries.meaning import identify, keyed, mark_right, recount, run_of
from tests.forgeries.retold import Fact, Retold
from tests.forgeries.table import forgery

Pair = tuple[Fact, Fact]


@forgery("cell.product", "plain")
def one_case_six_times(story: Retold) -> Pair:
    """One case was asked six times of each model, and is counted as six."""
    for cell in story.all("cell"):
        first = story.one("cell", cell=1 if cell.cell <= 6 else 7)
        for name in ("case", "input", "gold", "identity"):
            cell[name] = first[name]
        story.one("request", cell=cell.cell).blobs["body"] = story.one("request", cell=first.cell).data("body")
    mark_right(story, run_of(story))
    return story.one("cell", cell=2), story.one("plan")


@forgery("cell.gold", "plain")
def gold_of_a_cell_exchanged(story: Retold) -> Pair:
    """A cell carries the digest of another gold than its case has."""
    cell = story.one("cell", cell=2)
    cell["gold"] = keyed(story, "Ulm")
    return cell, story.frozen("fixture")


@forgery("cell.input", "plain")
def input_of_a_cell_exchanged(story: Retold) -> Pair:
    """A cell carries the digest of another input than its case has."""
    cell = story.one("cell", cell=2)
    cell["input"] = keyed(story, "Where does the Danube end?")
    identify(story, cell)
    return cell, story.frozen("fixture")


@forgery("cell.identity", "plain")
def cell_known_as_another(story: Retold) -> Pair:
    """A cell's identity doesn't follow from what it measures: an answer could be taken over that isn't its own."""
    cell = story.one("cell", cell=2)
    cell["identity"] = story.one("cell", cell=3)["identity"]
    return cell, story.one("plan")


@forgery("cell.product", "plain")
def cells_exchanged_between_models(story: Retold) -> Pair:
    """A right answer of one model, and a wrong one of another, have changed places."""
    one, other = story.one("cell", cell=1), story.one("cell", cell=8)
    one["candidate"], other["candidate"] = other["candidate"], one["candidate"]
    for cell in (one, other):
        identify(story, cell)
    recount(story, run_of(story))
    return one, story.one("plan")


@forgery("cell.order", "plain")
def cells_out_of_order(story: Retold) -> Pair:
    """Two cells stand in each other's place, and so do their numbers."""
    one, other = story.one("cell", cell=2), story.one("cell", cell=3)
    at, to = story.facts.index(one), story.facts.index(other)
    story.facts[at], story.facts[to] = other, one
    return other, story.one("plan")


@forgery("cell.once", "plain")
def cell_laid_out_twice(story: Retold) -> Pair:
    """A cell that came out right stands there a second time."""
    first = story.one("cell", cell=3)
    second = first.another()
    story.insert(first, second)
    return second, second


@forgery("cell.product", "plain")
def cell_beyond_the_plan(story: Retold) -> Pair:
    """A thirteenth cell that nobody planned was asked and scored."""
    run, last = run_of(story), story.last("cell")
    cell = last.another(cell=13)
    story.insert(last, cell)
    facts: list[Fact] = []
    marks = {last.mark: cell.mark}
    for old in [fact for fact in story.facts if fact.cell == 12 and fact is not last]:
        new = old.another(cell=13, causes=[marks.get(cause, cause) for cause in old.causes])
        marks[old.mark] = new.mark
        facts.append(new)
    story.insert(story.last("score", run, 12), *facts)
    recount(story, run, planned=False)
    story.one("close").update(planned=12, asked=13)
    return cell, story.one("plan")


@forgery("cell.all", "plain")
def cell_never_laid_out(story: Retold) -> Pair:
    """The last cell, which was planned, and everything of it are gone."""
    story.drop(*(fact for fact in story.facts if fact.cell == 12))
    recount(story, run_of(story))
    story.one("close").update(planned=12, asked=11)
    return story.one("plan"), story.one("request")


@forgery("cell.twin", "resumed")
def twin_passed_off_as_the_first(story: Retold) -> Pair:
    """Two cells with one input both say that they are the first of it."""
    run = run_of(story)
    twin = next(cell for cell in story.all("cell", run) if cell["twin"] == 1) if _has_twins(story, run) else None
    cell = twin or story.one("cell", run, 2)
    cell["twin"] = 0 if twin else 1
    identify(story, cell)
    return cell, story.frozen("fixture")


def _has_twins(story: Retold, run: str) -> bool:
    return any(cell["twin"] for cell in story.all("cell", run))


@forgery("cell.arm", "armed")
def cell_under_another_condition(story: Retold) -> Pair:
    """A cell was measured under a condition that the plan doesn't give it."""
    cell = story.one("cell", run_of(story), 2)
    cell["arm"] = "by day"
    identify(story, cell)
    return cell, story.one("plan")


@forgery("cell.arm", "armed")
def arms_of_two_fixtures_exchanged(story: Retold) -> Pair:
    """Where the suite gives each fixture its arm, the cells of two fixtures have each other's."""
    run = run_of(story, 2)
    plan = story.one("plan", run)
    assert len(plan["arms"]) > 1
    one, other = plan["arms"][:2]
    for cell in story.all("cell", run):
        cell["arm"] = {one: other, other: one}.get(cell["arm"], cell["arm"])
        identify(story, cell)
    return story.one("cell", run), plan


@forgery("cell.causes", "plain")
def cell_caused_by_a_freeze(story: Retold) -> Pair:
    """A cell isn't caused by its plan, but by the fixture's freeze."""
    cell = story.one("cell", cell=2)
    cell.causes = [story.frozen("fixture").mark]
    return cell, story.one("plan")


@forgery("cell.evidence", "judged")
def grade_of_another_answer(story: Retold) -> Pair:
    """A judge's cell is caused by another answer than the one that it shows the judge."""
    target, judge = run_of(story), run_of(story, 2)
    cell = story.one("cell", judge, 2)
    own = next(cause for cause in cell.causes if story.by(cause).kind == "response")
    other = story.one("response", target, 3).mark
    assert own != other
    cell.causes = [other if cause == own else cause for cause in cell.causes]
    return cell, story.by(own)


@forgery("cell.people", "reviewed")
def notes_of_another_reviewer(story: Retold) -> Pair:
    """A cell carries another digest of what is people's in its case than the frozen case gives."""
    cell = story.one("cell", cell=2)
    assert cell["people"]
    cell["people"] = story.one("cell", cell=1)["people"]
    return cell, story.frozen("fixture")
