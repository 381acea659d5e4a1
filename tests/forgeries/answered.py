"""Forgeries of what came: responses, faults, what was taken over and what was imported."""

from __future__ import annotations

from tests.forgeries.meaning import digest_of_file, mark_right, recount, reply_with, run_of
from tests.forgeries.retold import Fact, Retold
from tests.forgeries.table import forgery

Pair = tuple[Fact, Fact]


@forgery("response.once", "plain")
def second_answer_counts(story: Retold) -> Pair:
    """A request has two responses: a wrong one, then the right one, which counts."""
    first = story.one("response", cell=2)
    second = first.another()
    reply_with(story, second, "Arles")
    story.insert(first, second)
    _reread(story, story.one("parse", cell=2), first, second, "Arles")
    mark_right(story, run_of(story), 2)
    return second, first


@forgery("response.once", "accepted")
def answer_to_a_failed_request(story: Retold) -> Pair:
    """A request that the server failed on has a second, fine response."""
    run = run_of(story)
    broken = next(each for each in story.all("response", run) if each["status"] == 500)
    good = story.last("response", run, broken.cell).another(causes=list(broken.causes), attempt=broken["attempt"])
    story.insert(broken, good)
    return good, broken


@forgery("response.of", "plain")
def answer_of_another_cell(story: Retold) -> Pair:
    """A cell's response is that to another cell's request."""
    response = story.one("response", cell=2)
    response.causes = [story.one("request", cell=1).mark]
    return response, story.one("request", cell=2)


@forgery("response.attempt", "plain")
def answer_to_another_attempt(story: Retold) -> Pair:
    """A response names another attempt than its request."""
    response = story.one("response", cell=2)
    response["attempt"] = 3
    return response, story.one("request", cell=2)


@forgery("response.after_close", "plain")
def answer_after_the_close(story: Retold) -> Pair:
    """The answer that counts came after the run was closed: until then, its request was open."""
    run, cell = run_of(story), 12
    later = [each for each in story.facts if each.cell == cell and each.kind not in ("cell", "request")]
    tally, close = story.one("tally"), story.one("close")
    story.drop(*later)
    again, closed = tally.another(), close.another()
    closed.causes = [story.one("plan").mark, again.mark]
    for old in later:
        for each in later:
            if old.mark in each.causes:
                continue
    request, cells = story.one("request", run, cell).mark, story.one("cell", run, cell).mark
    chain = {"response": [request], "confirm": [later[1].mark], "score": [cells, later[2].mark]}
    for each in later:
        each.causes = chain.get(each.kind, [story.frozen("rules").mark, later[0].mark])
    story.insert(close, *later, again, closed)
    tally["metrics"][1].update(n=5)
    tally["outcomes"] = {**tally["outcomes"], "incorrect": tally["outcomes"]["incorrect"] - 1}
    recount(story, run)
    return later[0], close


@forgery("fault.once", "plain")
def answer_declared_lost(story: Retold) -> Pair:
    """A request that was answered also has a fault, two times over."""
    response = story.one("response", cell=2)
    first = _fault(response)
    second = _fault(response)
    story.insert(response, first, second)
    return second, first


@forgery("fault.attempt", "plain")
def fault_of_another_attempt(story: Retold) -> Pair:
    """A fault names another attempt than the request that it is of."""
    response = story.one("response", cell=2)
    fault = _fault(response)
    fault["attempt"] = 5
    story.insert(response, fault)
    return fault, story.one("request", cell=2)


@forgery("fault.reason", "plain")
def fault_of_nobody(story: Retold) -> Pair:
    """A fault lays a timeout at the harness's door, where the taxonomy has it the provider's."""
    response = story.one("response", cell=2)
    fault = _fault(response)
    fault["domain"] = "harness"
    story.insert(response, fault)
    return fault, fault


@forgery("reuse.of", "reused")
def taken_over_from_a_request(story: Retold) -> Pair:
    """What was taken over is no response, but the request to it."""
    reuse = story.one("reuse", run_of(story, 2), 2)
    request = story.by(reuse["of"]).causes[0]
    reuse.causes = [request if cause == reuse["of"] else cause for cause in reuse.causes]
    reuse["of"] = request
    reuse["hash"] = "ab" * 32
    return reuse, story.by(request)


@forgery("reuse.identity", "reused")
def taken_over_from_another_case(story: Retold) -> Pair:
    """A wrong cell took over the right answer of another case."""
    run = run_of(story, 2)
    mine, other = story.one("reuse", run, 2), story.one("reuse", run, 3)
    mine.causes = [other["of"] if cause == mine["of"] else cause for cause in mine.causes]
    mine["of"], mine["hash"] = other["of"], other["hash"]
    return mine, story.one("cell", run_of(story), 3)


@forgery("reuse.hash", "reused")
def taken_over_by_another_hash(story: Retold) -> Pair:
    """A reuse names another hash than the event has that it takes over."""
    reuse = story.one("reuse", run_of(story, 2), 2)
    reuse["hash"] = "ab" * 32
    return reuse, story.by(reuse["of"])


@forgery("reuse.once", "reused")
def taken_over_twice(story: Retold) -> Pair:
    """One answer was taken over for two cells of one run."""
    run = run_of(story, 2)
    first = story.one("reuse", run, 2)
    second = story.one("reuse", run, 3)
    second.causes = [first["of"] if cause == second["of"] else cause for cause in second.causes]
    second["of"], second["hash"] = first["of"], first["hash"]
    return second, first


@forgery("import.digest", "imported")
def answer_retold_on_the_way_in(story: Retold) -> Pair:
    """The answer that was imported isn't the one that its digest stands for."""
    event = story.one("import", run_of(story), 2)
    event.blobs["output"] = b"Ulm"
    return event, event


@forgery("import.digest", "imported")
def artifact_retold(story: Retold) -> Pair:
    """The file that a run's answers were imported from isn't the one that its digest stands for."""
    event = next(each for each in story.all("import", run_of(story)) if not each.cell)
    event.blobs["file"] = event.data("file") + b"\n"
    return event, event


@forgery("import.artifact", "imported")
def answer_that_no_file_has(story: Retold) -> Pair:
    """The answer of a cell is another than the imported file has."""
    event = story.one("import", run_of(story), 2)
    assert event.data("output") != b"Ulm"
    event.blobs["output"] = b"Ulm"
    event["digest"] = digest_of_file(b"Ulm")
    return event, next(each for each in story.all("import", event.run) if not each.cell)


@forgery("import.digest", "labelled", unseen="reader")
def labels_exchanged_for_others(story: Retold) -> Pair:
    """The file of people's labels isn't the one that its digest stands for."""
    event = story.last("import")
    event.blobs["file"] = event.data("file").replace(b"pass", b"fail")
    return event, event


@forgery("response.whole", "plain")
def cut_answer_passed_off_as_whole(story: Retold) -> Pair:
    """A response says that it isn't whole, and no fault says what cut it."""
    response = story.one("response", cell=2)
    response["whole"] = False
    return response, response


@forgery("fault.causes", "plain")
def fault_of_another_cell(story: Retold) -> Pair:
    """A fault of one cell was caused by another's request."""
    response, other = story.one("response", cell=2), story.one("request", cell=1)
    fault = _fault(response)
    fault.causes = [other.mark]
    fault.update(attempt=None, turn=None)
    story.insert(response, fault)
    return fault, other


def _fault(response: Fact) -> Fact:
    body = {
        "schema": 1, "attempt": response["attempt"], "turn": 0, "stage": "transport", "reason": "timeout",
        "domain": "provider", "detail": "", "total_ms": 1,
    }  # fmt: skip
    return Fact("fault", response.run, response.cell, response.at, list(response.causes), body, {})


def _reread(story: Retold, parse: Fact, was: Fact, now: Fact, text: str) -> None:
    parse.causes = [now.mark if cause == was.mark else cause for cause in parse.causes]
    parse["value"], parse["span"] = f'"{text}"', [[0, len(text)]]
