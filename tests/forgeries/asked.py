"""Forgeries of cells, of what was asked for them, and of what came."""

from __future__ import annotations

import json

from tests.forgeries.meaning import identify, keyed, mark_right, recount, reply_with, run_of
from tests.forgeries.retold import Fact, Retold
from tests.forgeries.table import forgery

Pair = tuple[Fact, Fact]


@forgery("cell.case", "plain")
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


@forgery("request.model", "plain")
def asked_another_model(story: Retold) -> Pair:
    """A request names another model than the candidate whose figures it makes."""
    request = story.one("request", cell=3)
    request.edit(model="galley")
    return request, story.one("plan")


@forgery("request.parameters", "plain")
def asked_hotter(story: Retold) -> Pair:
    """A request names another temperature than the plan's candidate."""
    request = story.one("request", cell=3)
    request.edit(temperature=1.5)
    return request, story.one("plan")


@forgery("request.address", "plain")
def asked_elsewhere(story: Retold) -> Pair:
    """A request went to another server than the plan says."""
    request = story.one("request", cell=3)
    request["url"] = "http://elsewhere.example/v1/chat/completions"
    return request, story.one("plan")


@forgery("request.text", "plain")
def asked_with_a_hint(story: Retold) -> Pair:
    """A request tells the model the answer; the frozen case and prompt don't."""
    request = story.one("request", cell=2)
    asked = json.loads(request.data("body"))["messages"]
    asked[-1]["content"] += " (Arles.)"
    request.edit(messages=asked)
    return request, story.one("cell", cell=2)


@forgery("response.once", "plain")
def second_answer_counts(story: Retold) -> Pair:
    """A request has two responses: a wrong one, then the right one, which counts."""
    first = story.one("response", cell=2)
    second = first.another()
    reply_with(story, second, "Arles")
    story.insert(first, second)
    parse = story.one("parse", cell=2)
    parse.causes = [second.mark if cause == first.mark else cause for cause in parse.causes]
    parse["value"], parse["span"] = '"Arles"', [[0, 5]]
    mark_right(story, run_of(story), 2)
    return second, first


@forgery("response.after_answer", "plain")
def asked_until_right(story: Retold) -> Pair:
    """After a readable wrong answer the cell was asked again, and nobody had asked for that."""
    cell = story.one("cell", cell=2)
    score = story.one("score", cell=2)
    request = story.one("request", cell=2)
    again = request.another(attempt=1)
    response = story.one("response", cell=2).another(attempt=1, causes=[again.mark])
    reply_with(story, response, "Arles")
    old = story.one("parse", cell=2)
    parse = old.another(value='"Arles"', span=[[0, 5]], causes=[*old.causes[:-1], response.mark])
    confirm = story.one("confirm", cell=2).another(causes=[parse.mark])
    scored = score.another(causes=[cell.mark, confirm.mark])
    story.insert(score, again, response, parse, confirm, scored)
    scored.update(outcome="correct", metrics={"correct": 1}, verdict="match")
    recount(story, run_of(story))
    return response, story.one("response", cell=2)
