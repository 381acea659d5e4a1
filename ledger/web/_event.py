"""The page of one event: its line and body, both recomputed as the page is drawn, and what stands around it."""

from __future__ import annotations

import re
import shlex
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

from ledger._errors import LedgerError
from ledger._event import GENESIS_PREV, Event
from ledger._look import Seen, SeenBlob, inspect
from ledger._screen import printable
from ledger._standing import standing_of_runs
from ledger._withheld import withheld_by
from ledger.kinds import KINDS
from ledger.web._around import SPEAKS, Group, causes_of, effects_of, neighbours_of, taints_on
from ledger.web._figure import Figure, cli
from ledger.web._graph import Edge, Node, draw_graph, layout
from ledger.web._pages import Crumb, Page, View
from ledger.web._row import Row, row_of, seq_of
from ledger.web._tree import tree

__all__ = ["blob_part", "crumbs_to", "event", "meaning", "saved_as"]

T = TypeVar("T")

_DRAWN_EACH = 3
_MOST_BOXES = 9
_LINE_SHOWN = 2_000
_PREV = "SELECT CAST(hash AS BLOB) FROM main.events WHERE seq = ?"
_SEQ_KEYS = frozenset(
    {"freeze", "prompt_freeze", "prices", "corrects", "report", "taint", "of", "tally", "against_tally"}
)
_BAD_STATES = ("DOES NOT MATCH", "GONE", "missing", "can't be read", "not named")


@dataclass(frozen=True)
class ShownBlob:
    """A blob as the page lists it. `part` names it in addresses, `by` is the event that withholds it, if one does."""

    seen: SeenBlob
    part: str
    size: Figure | None
    by: tuple[int, str, str] | None

    @property
    def state(self) -> str:
        """How it stands, in words; what a redaction says of it stands in `by`."""
        return "withheld" if self.by else self.seen.state

    @property
    def bad(self) -> bool:
        """Whether it isn't what the event committed to."""
        return self.by is None and self.seen.state.startswith(_BAD_STATES)


def meaning(kind: str) -> str:
    """What a kind is, in the first sentence of its definition."""
    model = KINDS.get(kind)
    if model is None:
        return "A kind that this release doesn't know; a newer one wrote it."
    return f"{(model.__doc__ or '').strip().partition('.')[0]}."


def blob_part(name: str, digest: str) -> str:
    """What names a blob in an address: its name, or its hash where the name wouldn't come through as it is."""
    if name in ("", ".", "..") or any("\ud800" <= each <= "\udfff" for each in name):
        return digest
    return name


def saved_as(view: View, file: str, route: str, /, **parts: object) -> str:
    """What a shell calls the file that a download is saved under: `file`, or that of the one in a folder of pages."""
    address = view.links.to(route, **parts) if view.fixed else None
    return shlex.quote(printable(unquote(address.rpartition("/")[2]))) if address else file


def crumbs_to(found: Event, *further: Crumb) -> list[Crumb]:
    """The way to an event's page: its run and cell, where it has them, then the event itself, then `further`."""
    way = [Crumb("Runs", "home")]
    if found.run:
        way.append(Crumb(f"Run {found.run}", "run", {"run": found.run}))
    if found.cell:
        way.append(Crumb(f"Cell {found.cell}", "cell", {"run": found.run, "cell": found.cell}))
    last = Crumb(f"Event {found.seq}", "event", {"seq": found.seq}) if further else Crumb(f"Event {found.seq}")
    return [*way, last, *further]


def event(view: View, seq: str) -> Page:
    """The page of one event, also of one that was tampered with. Raises PageMissing."""
    number = seq_of(view, seq)
    row = row_of(view.ledger, number)
    problems = list(row.problems)
    if not problems:
        try:
            return _sound(view, inspect(view.ledger, str(number), effects=False))
        except (LedgerError, sqlite3.Error, ValueError, TypeError) as problem:
            problems.append(str(problem))
    return _unreadable(view, number, row, problems)


def _unreadable(view: View, seq: int, row: Row, problems: Sequence[str]) -> Page:
    values = {
        "seq": seq, "row": row, "problems": problems, "before": seq - 1 if seq > 1 else None,
        "after": seq + 1 if seq < view.size else None,
    }  # fmt: skip
    return Page(f"Event {seq}", "ledger/row.html", values, [Crumb("Runs", "home"), Crumb(f"Event {seq}")])


def _sound(view: View, seen: Seen) -> Page:
    found, problems = seen.event, list[str]()
    shown = cli("ledger", "show", str(found.seq))

    def part(work: Callable[[], T], instead: T) -> T:
        # Other rows than this one may have been tampered with, and this one is to be shown all the same.
        try:
            return work()
        except (sqlite3.Error, ValueError, TypeError) as problem:
            problems.append(str(problem))
            return instead

    prev = part(lambda: _prev_of(view, found), None)
    causes, missing = part(lambda: causes_of(view.ledger, found.seq, found.causes), (list[Group](), list(found.causes)))
    effects, total, until = part(
        lambda: effects_of(view, found.seq), (list[Group](), Figure(None, "count", shown, ""), None)
    )
    taints, taints_until = part(lambda: taints_on(view, found.seq), ((), None))
    values: dict[str, Any] = {
        "seen": seen, "event": found, "problems": problems, "prev": prev, "causes": causes, "missing": missing,
        "effects": effects, "effects_total": total, "effects_until": until,
        "seq_figure": shown.at("/seq", found.seq, "plain"),
        "cell_figure": shown.at("/cell", found.cell, "plain"), "meaning": meaning(found.kind),
        "near": part(lambda: neighbours_of(view, found.seq, found.run), None),
        "known": found.kind in KINDS, "blobs": part(lambda: _blobs(view, seen), list[ShownBlob]()),
        "by": part(lambda: withheld_by(view.ledger, found.seq), None) if found.body is None else None,
        "body": None if found.body is None else tree(found.body, link=_linker(view, found)),
        "said": [group for group in effects if group.kind in SPEAKS],
        "taints": taints, "taints_until": taints_until,
        "superseded": part(lambda: _superseded(view, found.run), None),
        "graph": _graph(view, found, causes, effects), "line": seen.line[:_LINE_SHOWN],
        "line_file": saved_as(view, f"event-{found.seq}-line.txt", "line", seq=found.seq),
        "line_cut": len(seen.line) > _LINE_SHOWN, "genesis_prev": GENESIS_PREV, "kind_titles": meaning,
    }  # fmt: skip
    return Page(f"Event {found.seq}", "ledger/event.html", values, crumbs_to(found), about=found.run)


def _prev_of(view: View, found: Event) -> str | None:
    """The hash stored before this event; the format's zeros before the first; None where that row is missing."""
    if found.seq == 1:
        return GENESIS_PREV
    row = view.ledger.sql(_PREV, (found.seq - 1,)).fetchone()
    return row[0].decode("utf-8", "backslashreplace") if row else None


def _superseded(view: View, run: str) -> tuple[int, str | None] | None:
    """By which event the run is superseded, and which run replaces it."""
    if not run:
        return None
    kept = view.memory.kept(
        view.ledger, view.size, "", ("superseded",), lambda ledger: standing_of_runs(ledger, taints=False)
    )
    stands = kept.value.get(run)
    return (stands.superseded, stands.by) if stands and stands.superseded is not None else None


def _blobs(view: View, seen: Seen) -> list[ShownBlob]:
    shown = cli("ledger", "show", str(seen.event.seq))
    return [
        ShownBlob(
            blob, blob_part(blob.name, blob.hash),
            None if blob.size is None else shown.at(f"/blobs/{number}/size", blob.size, "bytes"),
            withheld_by(view.ledger, blob.hash) if blob.size is None else None,
        )
        for number, blob in enumerate(seen.blobs)
    ]  # fmt: skip


def _linker(view: View, found: Event) -> Callable[[tuple[str, ...], int], str | None]:
    """Links the numbers of a body that are seqs of earlier events."""

    def link(path: tuple[str, ...], number: int) -> str | None:
        key = path[-1] if path else ""
        listed = found.kind == "redact" and path == ("bodies", "*")
        if number >= found.seq or not (key in _SEQ_KEYS or listed) or "parameters" in path:
            return None
        return view.links.to("event", seq=number)

    return link


def _graph(view: View, found: Event, causes: Sequence[Group], effects: Sequence[Group]) -> Any:
    """This event in the middle, what it came of on the left, what came of it on the right; many as one box a kind."""
    if not causes and not effects:
        return None
    here = Node("here", 1, [f"{found.kind} {found.seq}"], "here")
    nodes, edges = [here], list[Edge]()
    for layer, groups, anchor in ((0, causes, "cause"), (2, effects, "effect")):
        boxes = [box for group in groups for box in _boxes(view, group, layer, anchor)]
        if len(boxes) > _MOST_BOXES:
            left = len(boxes) - _MOST_BOXES + 1
            rest = Node(f"{anchor}-more", layer, [f"{left} more boxes"], "", f"#{anchor}s")
            boxes = [*boxes[: _MOST_BOXES - 1], rest]
        nodes += boxes
        edges += [
            Edge(box.id, "here", box.kind) if layer == 0 else Edge("here", box.id, box.kind) for box in boxes
        ]  # fmt: skip
    return draw_graph(
        layout(nodes, edges), name="around", title=f"Where event {found.seq} stands",
        about="The events that it was derived from on the left, those derived from it on the right; listed below.",
    )  # fmt: skip


def _boxes(view: View, group: Group, layer: int, anchor: str) -> list[Node]:
    said = "said" if layer == 2 and group.kind in SPEAKS else ""
    if isinstance(group.count.value, int) and group.count.value > _DRAWN_EACH:
        name = re.sub("[^a-z_]", "", group.kind)
        lines = [group.kind, f"{group.count.text} events"]
        return [Node(f"{anchor}-{group.kind}", layer, lines, said, f"#{anchor}-{name}")]
    return [
        Node(f"{anchor}-{near.seq}", layer, [f"{near.kind} {near.seq}"], said, view.links.to("event", seq=near.seq))
        for near in group.first
    ]
