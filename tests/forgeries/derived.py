"""Forgeries of what was made of the answers: readings, scores, tallies and closes."""

from __future__ import annotations

from tests.forgeries.meaning import mark_right, recount, run_of
from tests.forgeries.retold import Fact, Retold
from tests.forgeries.table import forgery

Pair = tuple[Fact, Fact]


@forgery("parse.value", "plain")
def read_kindly(story: Retold) -> Pair:
    """A reply is read as the gold, which it doesn't say."""
    parse = story.one("parse", cell=2)
    parse["value"], parse["span"] = '"Arles"', [[0, 5]]
    mark_right(story, run_of(story), 2)
    return parse, story.one("response", cell=2)


@forgery("parse.value", "plain")
def answered_by_another_build(story: Retold) -> Pair:
    """A reading names a build of the server that its reply doesn't name."""
    parse = story.one("parse", cell=2)
    parse["served"] = {**parse["served"], "fingerprint": ["fp_of_last_week"]}
    return parse, story.one("response", cell=2)


@forgery("parse.evidence", "plain")
def read_off_another_cell(story: Retold) -> Pair:
    """A reading rests on another cell's response."""
    parse, other = story.one("parse", cell=2), story.one("response", cell=1)
    parse.causes = [other.mark if story.by(cause).kind == "response" else cause for cause in parse.causes]
    return parse, other


@forgery("parse.evidence", "resumed")
def first_answer_still_counts(story: Retold) -> Pair:
    """After an answer was asked for again, the score still rests on the one that was overtaken."""
    run = run_of(story)
    response = next(each for each in story.all("response", run) if each["attempt"] == 1)
    first = story.one("response", run, response.cell)
    parse = story.last("parse", run, response.cell)
    parse.causes = [first.mark if cause == response.mark else cause for cause in parse.causes]
    return parse, response


@forgery("derived.rules", "rescored")
def read_under_other_rules(story: Retold) -> Pair:
    """A reading under one rule set is caused by the freeze of another."""
    parse = story.last("parse", cell=2)
    (freeze,) = [cause for cause in parse.causes if story.by(cause).kind == "freeze"]
    other = next(each.mark for each in story.all("freeze") if each["what"] == "rules" and each.mark != freeze)
    parse.causes = [other if cause == freeze else cause for cause in parse.causes]
    return parse, story.by(other)


@forgery("derived.rules", "rescored")
def confirmed_under_other_rules(story: Retold) -> Pair:
    """What one rule set confirms rests on what another read."""
    confirm, first = story.last("confirm", cell=2), story.one("parse", cell=2)
    confirm.causes = [first.mark]
    return confirm, first


@forgery("confirm.findings", "plain")
def confirmed_out_of_nothing(story: Retold) -> Pair:
    """A confirmation has a finding that nothing gives."""
    confirm = story.one("confirm", cell=2)
    confirm["findings"] = [{"claim": "Arles", "held": True}]
    return confirm, confirm


@forgery("score.outcome", "plain")
def scored_kindly(story: Retold) -> Pair:
    """A wrong answer is scored as right."""
    mark_right(story, run_of(story), 2)
    score = story.one("score", cell=2)
    return score, score


@forgery("score.outcome", "plain")
def failure_excused(story: Retold) -> Pair:
    """A wrong answer is scored as unmeasured, for a reason that it doesn't have."""
    score = story.one("score", cell=2)
    score.update(
        outcome="unmeasured", status="truncated", stage="parse", reason="stop_length", domain="model", metrics={},
        verdict="",
    )  # fmt: skip
    recount(story, run_of(story), planned=False)
    return score, score


@forgery("score.causes", "plain")
def score_of_another_cell(story: Retold) -> Pair:
    """A score rests on another cell's confirmation."""
    score, other = story.one("score", cell=2), story.one("confirm", cell=1)
    score.causes = [story.one("cell", cell=2).mark, other.mark]
    return score, other


@forgery("score.joined", "judged")
def grade_raised_on_the_way(story: Retold) -> Pair:
    """A judge's grade came out better in the run that it joined."""
    run = run_of(story)
    joined = [each for each in story.all("score", run) if not each["rules"].startswith("exact")]
    low, high = min(joined, key=lambda each: each["value"]), max(joined, key=lambda each: each["value"])
    for name in ("outcome", "value", "metrics", "verdict", "classes"):
        low[name] = high[name]
    return low, story.by(max(low.causes))


@forgery("tally.metrics", "plain")
def one_more_was_right(story: Retold) -> Pair:
    """A tally counts one more than its scores give."""
    tally = story.one("tally")
    tally["metrics"][0]["k"] = 4
    return tally, tally


@forgery("tally.outcomes", "plain")
def failures_not_counted(story: Retold) -> Pair:
    """A tally leaves the wrong answers out of its counts."""
    tally = story.one("tally")
    tally["outcomes"] = {"correct": 6}
    for metric in tally["metrics"]:
        metric["n"] = 3
    story.one("close")["outcomes"] = {tally["rules"]: {"correct": 6}}
    return tally, tally


@forgery("tally.freeze", "rescored")
def counted_under_earlier_rules(story: Retold) -> Pair:
    """A tally of later rules names the freeze that came before the run, so that they read as frozen ahead of it."""
    first, last = story.one("tally"), story.last("tally")
    assert first["freeze"] != last["freeze"]
    last["freeze"] = first["freeze"]
    last.causes = list(first.causes)
    return last, story.by(first["freeze"])


@forgery("close.planned", "plain")
def closed_with_fewer(story: Retold) -> Pair:
    """The close says that six were planned."""
    close = story.one("close")
    close["planned"] = 6
    return close, story.one("plan")


@forgery("close.asked", "plain")
def closed_with_more_asked(story: Retold) -> Pair:
    """The close says that more cells were asked than were."""
    close = story.one("close")
    close["asked"] = 11
    return close, close


@forgery("close.outcomes", "plain")
def closed_with_other_outcomes(story: Retold) -> Pair:
    """The close counts other outcomes than the tally."""
    close, tally = story.one("close"), story.one("tally")
    close["outcomes"] = {tally["rules"]: {"correct": 12}}
    return close, tally


@forgery("close.status", "filtered")
def part_closed_as_whole(story: Retold) -> Pair:
    """A run over part of the cases closes as complete."""
    close = story.one("close")
    close["status"] = "complete"
    return close, close


@forgery("close.causes", "plain")
def closed_without_a_tally(story: Retold) -> Pair:
    """The close rests on a single score, in the place of the tally."""
    close, score = story.one("close"), story.one("score")
    close.causes = [story.one("plan").mark, score.mark]
    return close, score


@forgery("score.outcome", "plain")
def scored_again_after_the_close(story: Retold) -> Pair:
    """After the close, a wrong answer was scored once more under the same rules, as right; the last score counts."""
    run, close = run_of(story), story.one("close")
    score = story.one("score", cell=2)
    again = score.another(outcome="correct", metrics={"correct": 1}, verdict="match")
    tally = story.one("tally").another()
    story.insert(close, again, tally)
    recount(story, run)
    close["outcomes"] = {tally["rules"]: story.one("tally")["outcomes"]}
    return again, again


@forgery("score.withheld", "redacted")
def failure_scored_right_and_withheld(story: Retold) -> Pair:
    """A wrong answer was scored as right, and the reply redacted; what was read of it stands, and isn't the gold."""
    gone = [each for each in story.all("response") if each.body is None]
    cell = next(each.cell for each in gone if story.one("score", cell=each.cell)["outcome"] == "incorrect")
    mark_right(story, run_of(story), cell)
    return story.one("score", cell=cell), story.one("response", cell=cell)


@forgery("parse.causes", "plain")
def read_without_rules(story: Retold) -> Pair:
    """A reading rests on the prompt, in the place of the rules that it was made by."""
    parse, prompt = story.one("parse", cell=2), story.frozen("prompt")
    parse.causes = [prompt.mark if story.by(cause).kind == "freeze" else cause for cause in parse.causes]
    return parse, prompt


@forgery("confirm.causes", "plain")
def confirmed_of_another_cell(story: Retold) -> Pair:
    """A confirmation of one cell rests on another cell's reading."""
    confirm, other = story.one("confirm", cell=2), story.one("parse", cell=1)
    confirm.causes = [other.mark]
    return confirm, other


@forgery("tally.causes", "plain")
def tally_of_one_cell(story: Retold) -> Pair:
    """A tally of a run rests on one cell, in the place of its plan."""
    tally, cell = story.one("tally"), story.one("cell")
    tally.causes = [story.frozen("rules").mark, cell.mark]
    return tally, cell
