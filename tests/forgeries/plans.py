"""Forgeries of a plan: what it names of the frozen files, what it counts, and whom it says it asks."""

from __future__ import annotations

import json

from tests.forgeries.meaning import identify, recount, reseal, run_of
from tests.forgeries.retold import Fact, Retold
from tests.forgeries.table import forgery

Pair = tuple[Fact, Fact]


@forgery("plan.labels", "plain")
def two_models_one_name(story: Retold) -> Pair:
    """Both candidates have one label, so that two models are counted as one."""
    plan = story.one("plan")
    plan["candidates"][1]["label"] = plan["candidates"][0]["label"]
    for cell in story.all("cell"):
        cell["candidate"] = plan["candidates"][0]["label"]
    tally = story.one("tally")
    tally["metrics"] = [{**tally["metrics"][0], "k": 6, "n": 12, "planned": 12}]
    return plan, plan


@forgery("plan.planned", "plain")
def half_was_planned(story: Retold) -> Pair:
    """The plan says that three cells of each candidate were planned for the metric; there are six."""
    plan = story.one("plan")
    plan["rules"][0]["metrics"][0]["planned"] = 3
    for metric in story.one("tally")["metrics"]:
        metric["planned"] = 3
    return plan, plan


@forgery("plan.cells", "plain")
def failures_never_planned(story: Retold) -> Pair:
    """The cells that came out wrong were never planned, and neither limit nor filter says why."""
    plan, tally, close = story.one("plan"), story.one("tally"), story.one("close")
    keep = [cell.cell for cell in story.all("cell") if story.one("score", cell=cell.cell)["outcome"] == "correct"]
    story.drop(*(fact for fact in story.facts if fact.cell and fact.cell not in keep))
    for fact in story.facts:
        fact.cell = keep.index(fact.cell) + 1 if fact.cell else 0
    plan["cells"] = close["asked"] = len(keep)
    plan["rules"][0]["metrics"][0]["planned"] = 3
    recount(story, plan.run)
    assert [metric["planned"] for metric in tally["metrics"]] == [3, 3]
    return plan, story.one("cell", cell=2)


@forgery("plan.cells", "plain")
def one_cell_more_was_planned(story: Retold) -> Pair:
    """The plan and the close count thirteen cells; twelve were ever laid out."""
    plan = story.one("plan")
    plan["cells"] = story.one("close")["planned"] = 13
    return plan, plan


@forgery("plan.rules", "plain")
def rules_by_a_kinder_name(story: Retold) -> Pair:
    """The plan calls its rule set by another name than the one that it was frozen under."""
    plan = story.one("plan")
    old = plan["rules"][0]["label"]
    label = old.replace("exact", "human")
    plan["rules"][0].update(name="human", label=label)
    for kind in ("parse", "confirm", "score", "tally"):
        for fact in story.all(kind):
            fact["rules"] = label
    close = story.one("close")
    close["outcomes"] = {label: close["outcomes"][old]}
    return plan, story.frozen("rules")


@forgery("plan.metrics", "plain")
def metric_of_no_importance(story: Retold) -> Pair:
    """The plan says that the rule set's one metric isn't the one that counts."""
    plan = story.one("plan")
    plan["rules"][0]["metrics"][0]["primary"] = False
    for metric in story.one("tally")["metrics"]:
        metric["primary"] = False
    return plan, story.frozen("rules")


@forgery("plan.fixtures", "plain")
def fixture_by_another_name(story: Retold) -> Pair:
    """The plan and its cells call the fixture otherwise than its freeze does."""
    plan = story.one("plan")
    for each in [*plan["fixtures"]]:
        each["name"] = "hard"
    for cell in story.all("cell"):
        cell["fixture"] = "hard"
    return plan, story.frozen("fixture")


@forgery("plan.fixtures", "plain")
def fixture_of_nine(story: Retold) -> Pair:
    """The plan says that its fixture has nine cases; it has six."""
    plan = story.one("plan")
    plan["fixtures"][0]["cases"] = 9
    return plan, story.frozen("fixture")


@forgery("plan.prompt", "plain")
def prompt_of_a_stranger(story: Retold) -> Pair:
    """A candidate's prompt has another digest than the frozen one that it names."""
    plan = story.one("plan")
    plan["candidates"][0]["prompt"] = "ab" * 32
    return plan, story.frozen("prompt")


@forgery("plan.candidate", "plain")
def candidate_cooler_than_its_digest(story: Retold) -> Pair:
    """A candidate's parameters, and its requests, are others than its digest stands for."""
    plan = story.one("plan")
    plan["candidates"][0]["parameters"] = {"temperature": 0.7}
    for request in story.all("request"):
        if request.cell <= 6:
            request.edit(temperature=0.7)
    return plan, plan


@forgery("plan.limit", "resumed")
def limit_that_limits_nothing(story: Retold) -> Pair:
    """The plan says that a limit narrowed it, and the limit is above the number of its cases."""
    plan = story.one("plan")
    plan["limit"] = 9
    return plan, plan


@forgery("plan.limit", "resumed")
def limit_forgotten(story: Retold) -> Pair:
    """The run was cut down to five cases, and the plan says nothing of it."""
    plan = story.one("plan")
    plan["limit"] = None
    return plan, plan


@forgery("plan.filter", "filtered")
def filter_of_another_coast(story: Retold) -> Pair:
    """The plan names another condition than the one that its cells meet."""
    plan = story.one("plan")
    plan["filter"] = plan["filter"].replace("south", "west")
    return plan, plan


@forgery("plan.filter", "filtered")
def filter_forgotten(story: Retold) -> Pair:
    """Only some of the cases were kept, and the plan says nothing of it."""
    plan = story.one("plan")
    plan["filter"] = ""
    given = json.loads(plan["given"])
    assert given.pop("filters", None)
    plan["given"] = json.dumps(given)
    return plan, plan


@forgery("plan.epochs", "resumed")
def epochs_that_never_were(story: Retold) -> Pair:
    """The plan says that each case is asked once; each was asked twice."""
    plan = story.one("plan")
    plan["epochs"] = 1
    return plan, plan


@forgery("plan.arms", "armed")
def condition_forgotten(story: Retold) -> Pair:
    """The cells were measured under a condition, and the plan names none."""
    plan = story.one("plan")
    plan["arms"] = []
    return story.one("cell", plan.run), plan


@forgery("plan.probe", "plain")
def run_hidden_as_a_probe(story: Retold) -> Pair:
    """A run of twelve cells calls itself a probe, which no scoreboard counts."""
    plan = story.one("plan")
    plan["purpose"] = "probe"
    return plan, plan


@forgery("plan.price", "priced")
def cheaper_than_the_list(story: Retold) -> Pair:
    """A candidate's price isn't the one that the frozen list has."""
    plan = story.one("plan")
    plan["candidates"][0]["price"]["output"] = "2"
    return plan, story.frozen("prices")


@forgery("plan.prices", "priced")
def prices_that_are_a_prompt(story: Retold) -> Pair:
    """The plan's price list is a frozen prompt."""
    plan = story.one("plan")
    plan["prices"] = story.frozen("prompt").mark
    plan.causes = [cause for cause in plan.causes if cause != story.frozen("prices").mark]
    return plan, story.frozen("prompt")


@forgery("plan.via", "imported")
def answers_of_others_as_ones_own(story: Retold) -> Pair:
    """A run of imported answers says that it was asked live."""
    plan = story.all("plan")[-1]
    plan["via"] = "live"
    return plan, story.one("import", plan.run, 1)


@forgery("plan.causes", "plain")
def plan_without_its_rules(story: Retold) -> Pair:
    """The plan isn't caused by the freeze of its rule set, so that nothing shows that this came first."""
    plan = story.one("plan")
    plan.causes.remove(story.frozen("rules").mark)
    return plan, plan


@forgery("plan.grades", "judged")
def judge_of_nobody(story: Retold) -> Pair:
    """A judge's run doesn't name the run whose answers it graded."""
    plan = story.all("plan")[-1]
    plan["grades"] = []
    return story.one("cell", plan.run), story.one("response", run_of(story))


@forgery("plan.server", "looked_up")
def other_weights(story: Retold) -> Pair:
    """The plan says that the server had other weights than it told."""
    plan = story.one("plan")
    plan["candidates"][0]["server"]["weights"] = "cd" * 32
    return plan, story.one("lookup")


@forgery("plan.candidate", "plain")
def model_renamed_with_its_digest(story: Retold) -> Pair:
    """The plan names another model than was asked, with a digest, a label and identities to match."""
    plan = story.one("plan")
    plan["candidates"][0]["model"] = "galley"
    reseal(story, plan.run)
    for cell in story.all("cell"):
        identify(story, cell)
    return story.one("request", cell=1), plan
