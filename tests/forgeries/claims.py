"""Forgeries of what people did and said: accepts, resumes, reports, gates, corrections, findings, labels."""

from __future__ import annotations

import json

from tests.forgeries.meaning import run_of
from tests.forgeries.retold import Fact, Retold
from tests.forgeries.table import forgery

Pair = tuple[Fact, Fact]


@forgery("accept.before", "accepted")
def accepted_what_never_stood(story: Retold) -> Pair:
    """A person accepted that an address moved which the plan never had."""
    accept = story.one("accept")
    accept["before"] = "http://nowhere.example/v1"
    return accept, story.one("plan")


@forgery("request.again", "retried", unseen="verify.py")
def resumed_for_something_else(story: Retold) -> Pair:
    """A resume that asked cut answers again says that it asked for none."""
    resume = story.one("resume")
    resume["retry"] = []
    request = next(each for each in story.all("request") if each["attempt"] == 1)
    return request, resume


@forgery("resume.accept", "accepted")
def resumed_without_accepting(story: Retold) -> Pair:
    """A resume says that nothing was to be accepted, and an acceptance follows from it."""
    resume = story.one("resume")
    resume["accept"] = []
    return resume, story.one("accept")


@forgery("resume.accept", "accepted")
def resumed_with_more_accepted(story: Retold) -> Pair:
    """A resume says that other code was accepted too, and no acceptance of any follows."""
    resume = story.one("resume")
    resume["accept"] = ["code", "endpoint"]
    return resume, resume


@forgery("report.figures", "decided")
def report_with_a_better_figure(story: Retold) -> Pair:
    """The event of a report has a better figure than the tally that it names."""
    report = story.one("report")
    figure = next(each for each in report["figures"] if each.get("k") == 3)
    figure.update(k=5, rate=5 / 6)
    return report, story.by(figure["tally"])


@forgery("report.marks", "rerolled")
def report_without_its_mark(story: Retold) -> Pair:
    """The event of a report leaves out that cells were asked again although they had an answer."""
    report = story.one("report")
    assert all("were asked again" in each.pop("marks") for each in report["figures"] if "metric" in each)
    return report, story.last("score", report["run"])


@forgery("gate.marks", "rerolled")
def gate_without_its_mark(story: Retold) -> Pair:
    """A gate's results say that nothing of the run was asked again."""
    gate = story.one("gate")
    for each in gate["results"]:
        assert "were asked again" in each["marks"]
        each["marks"] = ""
    return gate, story.last("score", gate["run"])


@forgery("reuse.all", "rerolled")
def chosen_without_a_word(story: Retold) -> Pair:
    """A plan doesn't say that the run took over only right answers, and asked for the wrong ones again."""
    plan = story.last("plan")
    given = json.loads(plan["given"])
    assert given.pop("reuse_outcomes") == ["correct"]
    plan["given"] = json.dumps(given)
    asked = story.all("request", plan.run)[0].cell
    first = story.all("plan")[0].run
    identity = story.one("cell", plan.run, asked)["identity"]
    cell = next(each.cell for each in story.all("cell", first) if each["identity"] == identity)
    return plan, story.last("response", first, cell)


@forgery("report.digest", "decided")
def report_exchanged(story: Retold) -> Pair:
    """The file of a report isn't the one that its digest stands for."""
    report = story.one("report")
    report.blobs["file"] = report.data("file").replace(b"3/6", b"5/6")
    return report, report


@forgery("report.head", "decided")
def report_of_another_ledger(story: Retold) -> Pair:
    """A report says that it was made of a ledger that ended in another event."""
    report = story.one("report")
    story.heads.pop(report.mark, None)
    report["head"] = "ab" * 32
    return report, report


@forgery("report.run", "decided")
def report_of_another_run(story: Retold) -> Pair:
    """A report's event says that it is of a run whose tally it doesn't rest on."""
    report = story.one("report")
    report["run"] = run_of(story, 1)
    return report, story.by(report.causes[0])


@forgery("report.corrects", "decided")
def correction_of_nothing(story: Retold) -> Pair:
    """A corrected report says that it corrects an event that is no report."""
    report = story.last("report")
    assert report["corrects"]
    report["corrects"] = story.one("tally").mark
    return report, story.one("tally")


@forgery("publish.report", "decided")
def published_what_was_no_report(story: Retold) -> Pair:
    """What was handed out is no report, but a tally."""
    publish = story.one("publish")
    publish["report"] = story.one("tally").mark
    publish.causes = [story.one("tally").mark]
    return publish, story.one("tally")


@forgery("gate.outcome", "decided")
def gate_left_open(story: Retold) -> Pair:
    """A gate let a run through, and its results say otherwise."""
    gate = story.one("gate")
    gate["outcome"] = "fail"
    return gate, gate


@forgery("gate.results", "decided")
def gate_with_other_figures(story: Retold) -> Pair:
    """A gate's results aren't what the tallies under it give."""
    gate = story.one("gate")
    result = gate["results"][0]
    name = next(each for each in ("k", "ours_k", "correct", "value", "ours") if each in result)
    result[name] = 6
    return gate, story.by(gate.causes[-1])


@forgery("gate.run", "decided")
def gate_of_another_run(story: Retold) -> Pair:
    """A gate names a run whose tally it doesn't rest on."""
    gate = story.one("gate")
    gate["run"] = "a" * 16
    return gate, story.by(gate.causes[-1])


@forgery("supersede.target", "decided")
def superseded_a_run_that_never_was(story: Retold) -> Pair:
    """What was superseded is a run that the ledger doesn't have."""
    event = story.one("supersede")
    event["target"] = {"what": "run", "id": "a" * 16}
    return event, story.by(event.causes[0])


@forgery("supersede.by", "decided")
def superseded_by_what_never_was(story: Retold) -> Pair:
    """A run was superseded by one that the ledger doesn't have."""
    event = story.one("supersede")
    event["by"] = {"what": "run", "id": "a" * 16}
    return event, story.by(event.causes[-1])


@forgery("taint.target", "decided")
def tainted_another_run(story: Retold) -> Pair:
    """A finding names another run than the one that it rests on."""
    event = story.one("taint")
    event["target"] = {"what": "run", "id": run_of(story, 2)}
    return event, story.by(event.causes[0])


@forgery("clear.taint", "decided")
def cleared_what_was_no_finding(story: Retold) -> Pair:
    """What was withdrawn is no finding, but a plan."""
    event = story.one("clear")
    event["taint"] = story.one("plan").mark
    event.causes = [story.one("plan").mark]
    return event, story.one("plan")


@forgery("import.labels", "labelled")
def labels_exchanged(story: Retold) -> Pair:
    """An import of people's labels says that more was labelled than its file has."""
    event = story.last("import")
    name = next(each for each, value in event["claimed"].items() if value == "6")
    event["claimed"][name] = "60"
    return event, event


@forgery("lookup.body", "looked_up")
def server_told_otherwise(story: Retold) -> Pair:
    """What a server told of itself isn't what the plan says that it told."""
    lookup = next(each for each in story.all("lookup") if b"abab" in each.data("body"))
    lookup.blobs["body"] = lookup.data("body").replace(b"abab", b"cdcd")
    return story.one("plan"), lookup


@forgery("lookup.candidate", "looked_up")
def lookup_for_nobody(story: Retold) -> Pair:
    """A server was looked up for a candidate that the plan doesn't have."""
    lookup = story.one("lookup")
    lookup["candidate"] = "ollama/galley"
    return lookup, story.one("plan")


@forgery("accept.component", "accepted")
def accepted_what_nobody_may(story: Retold) -> Pair:
    """A person accepted that the golds moved, which no option lets anybody accept."""
    accept = story.one("accept")
    accept["component"] = "gold"
    return accept, accept


@forgery("accept.causes", "accepted")
def accepted_of_a_cell(story: Retold) -> Pair:
    """An acceptance rests on one cell, in the place of the plan."""
    accept, cell = story.one("accept"), story.one("cell")
    accept.causes = [cell.mark]
    return accept, cell


@forgery("resume.causes", "accepted")
def resumed_from_a_cell(story: Retold) -> Pair:
    """A resume rests on one cell, in the place of the plan and of the close before it."""
    resume, cell = story.one("resume"), story.one("cell")
    resume.causes = [cell.mark]
    return resume, cell


@forgery("genesis.tables", "plain")
def tables_of_another_format(story: Retold) -> Pair:
    """The first event commits to other tables and guards than the file has."""
    genesis = story.one("genesis")
    genesis["tables"] = "ab" * 32
    return genesis, genesis


@forgery("schema.digest", "plain")
def views_of_another_release(story: Retold) -> Pair:
    """The views in the file aren't those that the ledger says are in force."""
    schema = story.one("schema")
    schema["digest"] = "ab" * 32
    return schema, schema


@forgery("redact.targets", "redacted")
def redaction_of_something_else(story: Retold) -> Pair:
    """A redaction names an event that is still there, and not the one that is withheld."""
    redact = story.one("redact")
    gone, kept = redact["bodies"][0], story.one("response", cell=3).mark
    redact["bodies"] = sorted([kept, *redact["bodies"][1:]])
    redact.causes = sorted(kept if cause == gone else cause for cause in redact.causes)
    return story.by(gone), story.by(gone)


@forgery("anchor.root", "signed")
def signed_another_tree(story: Retold) -> Pair:
    """A checkpoint was signed of another tree than the events before it give."""
    anchor = story.one("anchor")
    anchor["root"] = "A" * 43 + "="
    return anchor, anchor
