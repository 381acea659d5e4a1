"""Forgeries of what a run stands on: the frozen files, and the plan."""

from __future__ import annotations

import json

from tests.forgeries.meaning import digest_of_file, identify, keyed, mark_right, run_of
from tests.forgeries.retold import Fact, Retold
from tests.forgeries.table import forgery

Pair = tuple[Fact, Fact]


@forgery("freeze.digest", "plain")
def golds_exchanged(story: Retold) -> Pair:
    """The frozen fixture has other golds than the file that its digest stands for; all that was wrong is right."""
    fixture = story.frozen("fixture")
    rows = fixture.lines("file")
    answers = {"Rhone": "Ulm", "Oder": "Ulm", "Ebro": "Ulm"}
    for row in rows:
        row["gold"] = next((to for river, to in answers.items() if river in row["input"]), row["gold"])
    fixture.put_lines("file", rows)
    mark_right(story, run_of(story))
    return fixture, story.one("cell", cell=2)


@forgery("freeze.digest", "plain")
def prompt_exchanged(story: Retold) -> Pair:
    """The frozen prompt isn't the file that its digest, and the candidates, stand for."""
    prompt = story.frozen("prompt")
    prompt.blobs["file"] = prompt.data("file").replace(b"One word", b"One kind word")
    return prompt, prompt


@forgery("freeze.digest", "plain")
def rules_file_exchanged(story: Retold) -> Pair:
    """The frozen rule set's file isn't the one that its digest stands for."""
    rules = story.frozen("rules")
    rules.blobs["file"] = rules.data("file") + b"\n# kinder\n"
    return rules, rules


@forgery("freeze.sources", "plain")
def scoring_source_exchanged(story: Retold) -> Pair:
    """The sources that are frozen with a rule set are others than their digests say."""
    rules = story.frozen("rules")
    sources = json.loads(rules.data("sources"))
    sources["harness.scorers"] = "def score(answer, gold):\n    return 1\n"
    rules.blobs["sources"] = json.dumps(sources, sort_keys=True).encode()
    return rules, rules


@forgery("freeze.identity", "plain")
def rules_named_after_others(story: Retold) -> Pair:
    """A rule set has the identity of another one: what it says and names doesn't give it."""
    rules = story.frozen("rules")
    plan, label = story.one("plan"), "exact@" + "ab" * 6
    old = plan["rules"][0]["label"]
    rules["identity"] = "ab" * 32
    plan["rules"][0].update(label=label, identity="ab" * 32)
    for kind in ("parse", "confirm", "score", "tally"):
        for fact in story.all(kind):
            assert fact["rules"] == old
            fact["rules"] = label
    close = story.one("close")
    close["outcomes"] = {label: close["outcomes"][old]}
    return rules, rules


@forgery("freeze.cases", "plain")
def list_of_cases_lies(story: Retold) -> Pair:
    """The list of a fixture's cases, which carries their digests, gives one case another gold's digest."""
    fixture = story.frozen("fixture")
    rows = fixture.lines("cases")
    rows[1]["gold"] = keyed(story, "Ulm")
    fixture.put_lines("cases", rows)
    return fixture, fixture


@forgery("freeze.case_ids", "plain")
def one_id_for_two_cases(story: Retold) -> Pair:
    """Two cases of the fixture have one id: whose answers are whose can't be told."""
    fixture = story.frozen("fixture")
    for name in ("file", "cases"):
        rows = fixture.lines(name)
        rows[1]["id"] = rows[0]["id"]
        fixture.put_lines(name, rows)
    fixture["digest"] = fixture["identity"] = digest_of_file(fixture.data("file"))
    for cell in story.all("cell"):
        cell["case"] = {"rhone": "rhine"}.get(cell["case"], cell["case"])
    return fixture, fixture


@forgery("freeze.identity", "plain")
def fixture_known_as_another(story: Retold) -> Pair:
    """A fixture's identity is another than the digest of its file."""
    fixture = story.frozen("fixture")
    fixture["identity"] = digest_of_file(b"another")
    return fixture, fixture


@forgery("freeze.cases", "plain")
def list_of_cases_short(story: Retold) -> Pair:
    """The list of a fixture's cases lacks one that its file has."""
    fixture = story.frozen("fixture")
    fixture.put_lines("cases", fixture.lines("cases")[:-1])
    return fixture, fixture


@forgery("freeze.jsonl", "foreign")
def foreign_cases_retold(story: Retold) -> Pair:
    """The cases that scoring reads aren't those of the foreign file that is frozen beside them."""
    fixture = story.frozen("fixture")
    rows, listed = fixture.lines("jsonl"), fixture.lines("cases")
    rows[2]["input"]["text"] += "3. Nothing else is said.\n"
    listed[2]["input"] = keyed(story, rows[2]["input"])
    listed[2]["line"] = 3
    fixture.put_lines("jsonl", rows)
    fixture.put_lines("cases", listed)
    for cell in story.all("cell"):
        if cell["case"] == rows[2]["id"]:
            cell["input"] = listed[2]["input"]
            identify(story, cell)
    return fixture, fixture


@forgery("freeze.digest", "priced")
def prices_exchanged(story: Retold) -> Pair:
    """The frozen price list isn't the file that its digest stands for."""
    prices = story.frozen("prices")
    prices.blobs["file"] = prices.data("file").replace(b'"2000"', b'"2001"')
    return prices, prices


@forgery("freeze.digest", "decided", unseen="read reader verify.py")
def prediction_after_the_fact(story: Retold) -> Pair:
    """What was predicted isn't what was frozen before the run."""
    prediction = story.frozen("prediction")
    prediction.blobs["file"] = prediction.data("file").replace(b"1/3", b"3/6")
    return prediction, prediction
