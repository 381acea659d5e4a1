"""An impact as a picture: Mermaid flowchart text, from the target over runs, scores and reports to people."""

from __future__ import annotations

import re
from collections import Counter

from ledger._impact import Impact

__all__ = ["mermaid"]

_PLAIN = re.compile(r"[A-Za-z0-9 _.,:@/()+=\-]")


def _label(text: str) -> str:
    # Names come from strangers: whatever isn't plain becomes Mermaid's numeric code, so nothing can end the label.
    return "".join(each if _PLAIN.match(each) else f"#{ord(each)};" for each in text)


class _Picture:
    def __init__(self) -> None:
        self.lines = ["flowchart LR"]
        self.ids: dict[tuple[object, ...], str] = {}
        self.joined: set[tuple[str, str]] = set()

    def node(self, key: tuple[object, ...], text: str) -> str:
        if key not in self.ids:
            self.ids[key] = f"n{len(self.ids)}"
            self.lines.append(f'  {self.ids[key]}["{_label(text)}"]')
        return self.ids[key]

    def join(self, start: str, end: str) -> None:
        if start != end and (start, end) not in self.joined:
            self.joined.add((start, end))
            self.lines.append(f"  {start} --> {end}")


def mermaid(impact: Impact) -> str:
    """The picture. Scores stand as one node for each run and rule set, with their number."""
    picture = _Picture()
    target = picture.node(("target",), str(impact.target))
    known = {str(row["run"]) for row in impact.runs}
    for row in impact.runs:
        superseded = ", superseded" if row["superseded"] else ""
        name = f" {row['name']}" if row["name"] else ""
        if (impact.target.target.what, impact.target.target.id) == ("run", row["run"]):
            picture.ids["run", row["run"]] = target
        else:
            picture.join(target, picture.node(("run", row["run"]), f"run {row['run']}{name}{superseded}"))

    def run_node(run: object) -> str:
        return picture.ids[("run", run)] if run in known else target

    groups = Counter((row["run"], row["rules"]) for row in impact.scores)
    for (run, rules), count in groups.items():
        text = f"{count} score{'s' if count != 1 else ''} under {rules}"
        picture.join(run_node(run), picture.node(("scores", run, rules), text))
    ends: dict[int, str] = {int(row["seq"]): picture.ids["scores", row["run"], row["rules"]] for row in impact.scores}
    for row in impact.tallies:
        node = picture.node(("tally", row["seq"]), f"tally {row['seq']}")
        group = ("scores", row["run"], row["rules"])
        picture.join(picture.ids.get(group, run_node(row["run"])), node)
        ends[int(row["seq"])] = node
    for row in impact.reports:
        superseded = ", superseded" if row["superseded"] else ""
        node = picture.node(("report", row["seq"]), f"report {row['seq']} {row['format']}{superseded}")
        for start in [ends[seq] for seq in row["rests_on"]] or [run_node(row["run"])]:
            picture.join(start, node)
    for row in impact.gates:
        outcome = str(row["outcome"] or "withheld")
        node = picture.node(("gate", row["seq"]), f"gate {row['seq']} {outcome}")
        for start in [ends[seq] for seq in row["rests_on"]] or [run_node(row["run"])]:
            picture.join(start, node)
    for row in impact.published:
        to = "(withheld)" if row["to"] is None else str(row["to"])
        start = picture.ids.get(("report", row["report"]), target)
        picture.join(start, picture.node(("to", to), f"published to {to}"))
    return "\n".join(picture.lines) + "\n"
