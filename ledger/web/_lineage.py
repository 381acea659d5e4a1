"""The lineage of a run, from what was frozen to whom its numbers were given: a graph, and a table of the same facts.

Cells are grouped by outcome, so that it is as readable at a hundred thousand cells as at two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ledger._runs import find_run
from ledger.web._changed import readable
from ledger.web._figure import Figure, sql
from ledger.web._graph import Edge, Node, draw_graph, layout
from ledger.web._lineage_rows import Facts, RuleSet, read_facts
from ledger.web._literal import literal
from ledger.web._pages import Crumb, Page, View

__all__ = ["Item", "items_of", "lineage"]

STEPS = ("Stands on", "Plan", "Cells", "Outcomes", "Tallies", "Reports", "Given to")
_MOST_EACH = 8
_OF_SEQS = "SELECT count(*) FROM events WHERE seq IN ({seqs})"
_PLANNED = "SELECT body ->> '$.cells' FROM events WHERE run = {run} AND kind = 'plan'"
_TALLIES = "SELECT count(*) FROM events WHERE run = {run} AND kind = 'tally' AND body ->> '$.rules' = {rules}"
_REUSED = (
    "SELECT count(*) FROM events AS reuse, json_each(reuse.causes) AS cause JOIN events AS origin"
    " ON origin.seq = cause.value WHERE reuse.run = {run} AND reuse.kind = 'reuse' AND origin.kind = 'response'"
    " AND origin.run = {origin}"
)


@dataclass(frozen=True)
class Item:
    """One box of the graph and one row of the table. `of` names the items that it comes of, by their ids.

    `note` is a text that somebody wrote, or the rest of what the box says. `count` is how many, None for one event.
    """

    id: str
    step: int
    what: str
    name: str = ""
    count: Figure | None = None
    unit: str = ""
    note: str = ""
    of: Sequence[str] = ()
    route: str = ""
    query: Mapping[str, object] = field(default_factory=dict[str, object])
    parts: Mapping[str, object] = field(default_factory=dict[str, object])
    kind: str = ""
    said: bool = False
    later: bool = False

    @property
    def place(self) -> str:
        """Which step of the way this is, in words."""
        return "Said of it" if self.said else "Frozen later" if self.later else STEPS[self.step]

    @property
    def lines(self) -> list[str]:
        """What stands in the box."""
        number = f"{self.count.text} {self.unit}".strip() if self.count is not None else ""
        return [" ".join(filter(None, (self.what, number))), *filter(None, (self.name,)), *filter(None, (self.note,))]


@readable("run")
def lineage(view: View, run: str) -> Page:
    """The page. Raises NotFound."""
    run = find_run(view.ledger, run)
    facts = read_facts(view, run)
    items = items_of(facts)
    return Page(
        f"Lineage of run {run}", "ledger/lineage.html",
        {
            "run": run, "facts": facts, "items": items,
            "graph": _drawn(view, items, run), "standing": facts.standing,
        },
        [Crumb("Runs", "home"), Crumb(f"Run {run}", "run", {"run": run}), Crumb("Lineage")], about=run,
    )  # fmt: skip


def _drawn(view: View, items: Sequence[Item], run: str) -> Any:
    nodes = [
        Node(
            item.id, item.step, item.lines, f"{item.kind} {'said' if item.said else ''}".strip(),
            view.links.to(item.route, item.query, **item.parts) if item.route else None,
        )
        for item in items
    ]  # fmt: skip
    edges = [Edge(start, item.id, "said" if item.said else "") for item in items for start in item.of]
    return draw_graph(
        layout(nodes, edges), name="lineage", title=f"Lineage of run {run}",
        about="From frozen files on the left to publications on the right; the table below holds the same.",
        heads=dict(enumerate(STEPS)),
    )  # fmt: skip


def items_of(facts: Facts) -> list[Item]:
    """Everything to draw, each kind of thing grouped where there are many of it."""
    items = [*_stands_on(facts), _plan(facts), _cells(facts), *_outcomes(facts), *_reports(facts)]
    known = {item.id: item for item in items}
    return [*items, *_speaking(facts, known)]


def _event(seq: object, **more: Any) -> dict[str, Any]:
    return {"route": "event", "parts": {"seq": seq}, **more}


def _stands_on(facts: Facts) -> list[Item]:
    found: list[Item] = []
    late = _late(facts)
    by_what: dict[str, list[Mapping[str, Any]]] = {}
    for row in facts.freezes:
        by_what.setdefault(str(row["what"]), []).append(row)
    for what, rows in by_what.items():
        for row in rows[:_MOST_EACH]:
            name = str(row["name"])
            if what == "rules" and row["identity"]:
                name = f"{name.rpartition('/')[2]}@{str(row['identity'])[:12]}"
            # Rules that only a rescore brought stand beside the cells that they were applied to.
            later = row["seq"] in late
            step = 2 if later else 0
            found.append(
                Item(f"freeze-{row['seq']}", step, f"{what} {row['seq']}", name, later=later, **_event(row["seq"]))
            )
        if len(rows) > _MOST_EACH:
            found.append(Item(f"freezes-{what}", 0, what, "named in the plan", _how_many(rows[_MOST_EACH:]), "more"))
    for row in facts.imports[:_MOST_EACH]:
        found.append(
            Item(f"import-{row['seq']}", 0, f"import {row['seq']}", str(row["format"]), note=f"grade: {row['grade']}",
                 **_event(row["seq"]))
        )  # fmt: skip
    for row in facts.reused[:_MOST_EACH]:
        found.append(_reused(facts.run, row))
    return found


def _late(facts: Facts) -> frozenset[int | None]:
    """Freezes that no rule set of the plan stands on, but one of a rescore."""
    planned = {each.freeze for each in facts.rule_sets if each.planned}
    return frozenset(each.freeze for each in facts.rule_sets if not each.planned) - planned


def _how_many(rows: Sequence[Mapping[str, Any]]) -> Figure:
    return sql(_OF_SEQS.format(seqs=", ".join(str(int(row["seq"])) for row in rows)), len(rows))


def _reused(run: str, row: Mapping[str, Any]) -> Item:
    query = _REUSED.format(run=literal(run), origin=literal(row["run"]))
    return Item(
        f"reuse-{row['run']}", 0, "reused", f"from run {row['run']}", sql(query, row["answers"]),
        "answer" if row["answers"] == 1 else "answers", route="run", parts={"run": row["run"]},
    )  # fmt: skip


def _plan(facts: Facts) -> Item:
    late = _late(facts)
    before = [f"freeze-{row['seq']}" for row in facts.freezes if row["seq"] not in late]
    before += [f"freezes-{row['what']}" for row in facts.freezes] + [f"import-{row['seq']}" for row in facts.imports]
    gone = "gone" if facts.standing.superseded is not None else ""
    return Item(
        "plan", 1, f"plan {facts.plan_seq}", facts.plan.suite, note=facts.plan.name, of=list(dict.fromkeys(before)),
        kind=gone, **_event(facts.plan_seq),
    )  # fmt: skip


def _cells(facts: Facts) -> Item:
    planned = sql(_PLANNED.format(run=literal(facts.run)), facts.plan.cells)
    return Item(
        "cells", 2, "planned", "", planned, "cell" if facts.plan.cells == 1 else "cells",
        of=["plan", *(f"reuse-{row['run']}" for row in facts.reused)], route="run", parts={"run": facts.run},
    )  # fmt: skip


def _outcomes(facts: Facts) -> list[Item]:
    found: list[Item] = []
    for at, rules in enumerate(facts.rule_sets):
        late = [] if rules.planned or rules.freeze is None else [f"freeze-{rules.freeze}"]
        for segment in rules.segments:
            found.append(
                Item(
                    f"outcome-{at}-{segment.outcome}", 3, segment.outcome, rules.label, segment.cells,
                    of=["cells", *late], route="run", parts={"run": facts.run},
                    query={"rules": rules.label, "outcome": segment.outcome}, kind=segment.outcome,
                )
            )  # fmt: skip
        if rules.tallies:
            found.append(_tally(facts, rules, at))
    return found


def _tally(facts: Facts, rules: RuleSet, at: int) -> Item:
    last = rules.tallies[-1]
    count = None
    if len(rules.tallies) > 1:
        count = sql(_TALLIES.format(run=literal(facts.run), rules=literal(rules.label)), len(rules.tallies))
    return Item(
        f"tally-{at}", 4, f"tally {last}" if count is None else f"tally {last}, the last of", rules.label, count,
        of=[f"outcome-{at}-{segment.outcome}" for segment in rules.segments], **_event(last),
    )  # fmt: skip


def _reports(facts: Facts) -> list[Item]:
    tallies = {seq: f"tally-{at}" for at, rules in enumerate(facts.rule_sets) for seq in rules.tallies}
    found: list[Item] = []
    replaced = {said["id"] for said in facts.said if said["what"] == "report" and said["in_force"]}
    for row in facts.reports[-_MOST_EACH:]:
        rests = list(dict.fromkeys(tallies[cause] for cause in json.loads(row["causes"]) if cause in tallies))
        note = f"corrects report {row['corrects']}" if row["corrects"] else ""
        found.append(
            Item(
                f"report-{row['seq']}", 5, f"report {row['seq']}", str(row["format"]), note=note, of=rests or ["cells"],
                kind="gone" if str(row["seq"]) in replaced else "", **_event(row["seq"]),
            )
        )  # fmt: skip
    if len(facts.reports) > _MOST_EACH:
        found.append(Item("reports", 5, "older reports", "", _how_many(facts.reports[:-_MOST_EACH]), of=["cells"]))
    shown = {item.id for item in found}
    given = [row for row in facts.published if f"report-{row['report']}" in shown]
    for row in given[-_MOST_EACH:]:
        to = "(withheld)" if row["to"] is None else str(row["to"])
        found.append(
            Item(f"publish-{row['seq']}", 6, f"published {row['seq']}", to, of=[f"report-{row['report']}"],
                 **_event(row["seq"]))
        )  # fmt: skip
    if len(given) > _MOST_EACH:
        found.append(Item("published", 6, "published earlier", "", _how_many(given[:-_MOST_EACH]), "times"))
    return found


def _speaking(facts: Facts, known: Mapping[str, Item]) -> list[Item]:
    """What was said of any of it: accepted, withheld, found unsafe, withdrawn, replaced."""

    def beside(target: str, name: str, what: str, note: str, seq: object, kind: str = "", more: str = "") -> Item:
        of = target if target in known else "plan"
        step = min((known[of].step if of in known else 1) + 1, len(STEPS) - 1)
        return Item(name, step, what, more, note=note, of=[of], kind=kind, said=True, **_event(seq))

    found: list[Item] = []
    for row in facts.accepts[-_MOST_EACH:]:
        found.append(
            beside("plan", f"accept-{row['seq']}", f"accepted {row['seq']}", str(row["reason"]), row["seq"],
                   more=f"component {row['component']}")
        )  # fmt: skip
    for row in facts.redacted[-_MOST_EACH:]:
        found.append(
            beside("cells", f"redact-{row['seq']}", f"withheld {row['seq']}", str(row["reason"]), row["seq"],
                   more=f"category {row['category']}")
        )  # fmt: skip
    for mark in facts.standing.taints[-_MOST_EACH:]:
        target = _target(facts, mark.what, mark.id)
        found.append(
            beside(target, f"taint-{mark.taint}", f"taint {mark.taint}", mark.reason, mark.taint,
                   more=f"of {mark.what} {mark.id}")
        )  # fmt: skip
    for row in facts.withdrawn[-_MOST_EACH:]:
        target = _target(facts, str(row["what"]), str(row["id"]))
        found.append(
            beside(target, f"taint-{row['seq']}", f"taint {row['seq']} withdrawn", str(row["cleared_because"]),
                   row["seq"], "gone", f"by {row['cleared_by']}")
        )  # fmt: skip
    for row in facts.said[-_MOST_EACH:]:
        found.append(_superseding(facts, row, beside))
    return found


def _superseding(facts: Facts, row: Mapping[str, Any], beside: Any) -> Item:
    replaces = row["what"] == "run" and row["by"] == facts.run
    target = "plan" if replaces else _target(facts, str(row["what"]), str(row["id"]))
    if replaces:
        what, more = f"replaces {row['seq']}", f"run {row['id']}"
    else:
        what = f"superseded {row['seq']}"
        more = f"by {row['what']} {row['by']}" if row["by"] else "without a successor"
    taken = "" if row["in_force"] else ", taken back"
    return beside(
        target, f"supersede-{row['seq']}", what + taken, f"{row['category']}: {row['reason']}", row["seq"],
        "" if row["in_force"] else "gone", more,
    )  # fmt: skip


def _target(facts: Facts, what: str, identifier: str) -> str:
    match what:
        case "run":
            return "plan"
        case "freeze" | "report":
            return f"{what}-{identifier}"
        case "rules":
            return next((f"freeze-{each.freeze}" for each in facts.rule_sets if each.label == identifier), "plan")
        case _:
            return "cells"
