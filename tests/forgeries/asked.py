"""Forgeries of what was asked: the request of a cell, and why it was asked again."""

from __future__ import annotations

import json

from tests.forgeries.meaning import recount, reply_with, run_of
from tests.forgeries.retold import Fact, Retold
from tests.forgeries.table import forgery

Pair = tuple[Fact, Fact]


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


@forgery("request.parameters", "plain")
def asked_with_more_than_was_planned(story: Retold) -> Pair:
    """A request has a parameter that the plan's candidate hasn't: a seed that was tried out before."""
    request = story.one("request", cell=3)
    request.edit(seed=11)
    return request, story.one("plan")


@forgery("request.parameters", "looked_up")
def asked_hotter_in_another_protocol(story: Retold) -> Pair:
    """The options of a request to an Ollama server are others than the plan's."""
    request = story.one("request", cell=3)
    options = json.loads(request.data("body"))["options"]
    request.edit(options={**options, "temperature": 1.5})
    return request, story.one("plan")


@forgery("request.address", "plain")
def asked_elsewhere(story: Retold) -> Pair:
    """A request went to another server than the plan says."""
    request = story.one("request", cell=3)
    request["url"] = "http://elsewhere.example/v1/chat/completions"
    return request, story.one("plan")


@forgery("request.address", "accepted")
def moved_before_it_was_accepted(story: Retold) -> Pair:
    """A request went to the new address ahead of the person's acceptance of it."""
    early, late = story.one("request", cell=2), story.last("request")
    assert early["url"] != late["url"]
    early["url"] = late["url"]
    return early, story.one("plan")


@forgery("request.text", "plain")
def asked_with_a_hint(story: Retold) -> Pair:
    """A request tells the model the answer; the frozen case and prompt don't."""
    request = story.one("request", cell=2)
    messages = json.loads(request.data("body"))["messages"]
    messages[-1]["content"] += " (Arles.)"
    request.edit(messages=messages)
    return request, story.frozen("fixture")


@forgery("request.text", "plain")
def asked_under_another_prompt(story: Retold) -> Pair:
    """A request has another system prompt than the frozen one."""
    request = story.one("request", cell=2)
    messages = json.loads(request.data("body"))["messages"]
    messages[0]["content"] = "You know every river. One word."
    request.edit(messages=messages)
    return request, story.frozen("fixture")


@forgery("request.text", "judged")
def judge_shown_another_answer(story: Retold) -> Pair:
    """A judge was shown another answer than the one that was given."""
    request = story.one("request", run_of(story, 2), 2)
    request.blobs["body"] = request.data("body").replace(b"Ulm", b"Arles")
    assert b"Arles" in request.data("body")
    return request, story.by(story.all("plan")[-1]["fixtures"][0]["freeze"])


@forgery("request.bytes", "plain")
def asked_in_other_bytes(story: Retold) -> Pair:
    """A request's bytes are laid out otherwise than this very code does it."""
    request = story.one("request", cell=2)
    request.blobs["body"] = json.dumps(json.loads(request.data("body")), indent=1, sort_keys=True).encode()
    return request, story.one("plan")


@forgery("request.tools", "plain")
def asked_with_tools_that_nobody_sent(story: Retold) -> Pair:
    """A request says that it carried a list of tools; its body has none."""
    request = story.one("request", cell=2)
    request["tools"] = "5e" * 32
    return request, request


@forgery("request.attempt", "plain")
def earlier_attempts_left_out(story: Retold) -> Pair:
    """A cell's first request says that it is the third attempt: two were left out."""
    request = story.one("request", cell=2)
    request["attempt"] = story.one("response", cell=2)["attempt"] = 2
    return request, story.one("cell", cell=2)


@forgery("request.turn", "plain")
def second_turn_of_a_talk(story: Retold) -> Pair:
    """A request says that it is a later turn of a talk, of which there is no earlier one."""
    request = story.one("request", cell=2)
    request["turn"] = story.one("response", cell=2)["turn"] = 1
    return request, story.one("cell", cell=2)


@forgery("request.again", "plain")
def asked_until_right(story: Retold) -> Pair:
    """After a readable wrong answer the cell was asked again, and nobody had asked for that."""
    again = _asked_again(story, run_of(story), 2, "Arles")
    return again, story.one("response", cell=2)


@forgery("request.again", "retried")
def asked_again_for_another_reason(story: Retold) -> Pair:
    """A resume asked for cut answers again, and a whole but wrong one was asked again with them."""
    resume = story.last("resume")
    return _asked_again(story, run_of(story), 2, "Arles", after=resume), resume


@forgery("request.open", "plain")
def asked_twice_at_once(story: Retold) -> Pair:
    """A second request of a cell was sent while the first was open; the first answer was thrown away."""
    first = story.one("request", cell=2)
    second = first.another(attempt=1)
    story.insert(first, second)
    response = story.one("response", cell=2)
    response["attempt"], response.causes = 1, [second.mark]
    return second, first


@forgery("request.after_close", "plain")
def asked_after_the_close(story: Retold) -> Pair:
    """A cell was asked again once the run had been closed, and nothing had opened it."""
    close = story.one("close")
    facts = _attempt_of(story, run_of(story), 2, "Arles")
    story.insert(close, *facts)
    tally = story.one("tally").another()
    story.insert(facts[-1], tally, close.another(causes=[story.one("plan").mark, tally.mark]))
    recount(story, run_of(story))
    return facts[0], close


@forgery("wait.why", "resumed", unseen="verify.py")
def waited_for_another_reason(story: Retold) -> Pair:
    """A wait gives another reason than the reply that was waited for."""
    wait = story.last("wait")
    wait["why"] = "rate_limit"
    return wait, story.by(max(wait.causes))


@forgery("wait.attempt", "resumed")
def waited_for_another_attempt(story: Retold) -> Pair:
    """A wait names another attempt than the one that it follows."""
    wait = story.last("wait")
    wait["attempt"] = 4
    return wait, story.by(min(wait.causes))


@forgery("wait.asked", "resumed")
def waited_for_what_was_asked(story: Retold) -> Pair:
    """A wait says that the server asked for it, and the response has no such header."""
    wait = story.last("wait")
    wait["asked"] = "30"
    return wait, story.by(max(wait.causes))


@forgery("wait.causes", "resumed")
def waited_for_another_cell(story: Retold) -> Pair:
    """A wait of one cell is caused by another cell's request."""
    wait = story.last("wait")
    other = next(each for each in story.all("request", wait.run) if each.cell != wait.cell)
    wait.causes = [other.mark]
    return wait, other


@forgery("request.causes", "plain")
def asked_for_another_cell(story: Retold) -> Pair:
    """A request of one cell was caused by another cell."""
    request, other = story.one("request", cell=2), story.one("cell", cell=1)
    request.causes = [other.mark]
    return request, other


def _attempt_of(story: Retold, run: str, number: int, text: str) -> list[Fact]:
    """Another attempt of a cell, with an answer and all that is derived of it."""
    cell, request, response, parse, confirm, score = (
        story.one(kind, run, number) for kind in ("cell", "request", "response", "parse", "confirm", "score")
    )
    attempt = 1 + story.last("request", run, number)["attempt"]
    again = request.another(attempt=attempt)
    reply = response.another(attempt=attempt, causes=[again.mark])
    reply_with(story, reply, text)
    read = parse.another(
        value=json.dumps(text), span=[[0, len(text)]],
        causes=[reply.mark if cause == response.mark else cause for cause in parse.causes],
    )  # fmt: skip
    held = confirm.another(causes=[read.mark])
    scored = score.another(
        outcome="correct", metrics={"correct": 1}, verdict="match", causes=[cell.mark, held.mark]
    )  # fmt: skip
    return [again, reply, read, held, scored]


def _asked_again(story: Retold, run: str, number: int, text: str, *, after: Fact | None = None) -> Fact:
    facts = _attempt_of(story, run, number, text)
    story.insert(after or story.one("score", run, number), *facts)
    recount(story, run)
    return facts[0]
