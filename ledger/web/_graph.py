"""A small graph, layer by layer from left to right, as SVG: pure functions from nodes and edges to places.

Layers are given; the order within each follows the barycentres of what it is joined to, and an edge over several layers
gets a place of its own in each (Sugiyama, Tagawa and Toda 1981). No two nodes overlap, and no text leaves its box.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from markupsafe import Markup

from ledger._screen import printable

__all__ = ["Box", "Edge", "Graph", "Node", "draw_graph", "fit", "layout"]

LINE = 15
PAD = 8
GAP = 10
MOST_WIDE = 210
LEAST_WIDE = 90
_BETWEEN = 38
_MARGIN = 8
_HEAD = 14
_SWEEPS = 6
# Of the widest common sans-serif at 12 pixels, with some room: text that is narrower stays inside all the same.
_WIDTHS = {"W": 13.0, "F": 13.0, "N": 7.4, "Na": 7.4, "H": 7.4, "A": 12.0}


@dataclass(frozen=True, slots=True)
class Node:
    """`lines` are drawn one under the other, the first of them bold. `kind` is a class; `href` makes it a link."""

    id: str
    layer: int
    lines: Sequence[str]
    kind: str = ""
    href: str | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """From node to node. `kind` is a class: "" for what was derived, "said" for what only speaks of the other."""

    start: str
    end: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Box:
    """Where a node stands: left, top, width, height in pixels, and its lines cut to fit."""

    node: Node
    x: float
    y: float
    width: float
    height: float
    lines: Sequence[str]


@dataclass(frozen=True)
class Graph:
    """A graph laid out. `paths` holds, for each edge, the points that it goes through."""

    boxes: Sequence[Box]
    paths: Sequence[tuple[Edge, Sequence[tuple[float, float]]]]
    width: float
    height: float


@dataclass
class _Slot:
    """What takes room in a layer: a node, or the place where a long edge passes."""

    layer: int
    height: float
    y: float = 0
    before: list[str] = field(default_factory=list[str])
    after: list[str] = field(default_factory=list[str])

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def _wide(text: str) -> float:
    return sum(_WIDTHS.get(unicodedata.east_asian_width(each), 7.4) + (2 if each in "MWmw@%" else 0) for each in text)


def fit(text: str, width: float) -> str:
    """`text` on one line, cut with an ellipsis where it is wider than `width` pixels at 12 pixels a letter."""
    shown = printable(text)
    if _wide(shown) <= width:
        return shown
    room, kept = width - _wide("…"), ""
    for each in shown:
        room -= _wide(each)
        if room < 0:
            break
        kept += each
    return kept + "…"


def layout(nodes: Sequence[Node], edges: Sequence[Edge]) -> Graph:
    """Places for nodes and edges. Edges to a node that isn't there, or to none further right, are left out."""
    by_id = {node.id: node for node in nodes}
    kept = [
        edge for edge in dict.fromkeys(edges)
        if edge.start in by_id and edge.end in by_id and by_id[edge.start].layer < by_id[edge.end].layer
    ]  # fmt: skip
    used = sorted({node.layer for node in by_id.values()})
    place = {layer: position for position, layer in enumerate(used)}
    slots = {
        node.id: _Slot(place[node.layer], PAD * 2 + LINE * len(node.lines)) for node in by_id.values()
    }  # fmt: skip
    routes = [_route(slots, edge, number) for number, edge in enumerate(kept)]
    layers: list[list[str]] = [[] for _ in used]
    for name, slot in slots.items():
        layers[slot.layer].append(name)
    _order(layers, slots)
    height = _stack(layers, slots)
    lines = {node.id: [fit(line, MOST_WIDE - 2 * PAD) for line in node.lines] for node in by_id.values()}
    widths = [
        max((_needed(lines[name]) for name in layer if name in by_id), default=float(LEAST_WIDE)) for layer in layers
    ]
    lefts = [_MARGIN + sum(widths[:position]) + _BETWEEN * position for position in range(len(widths))]
    boxes = [
        Box(node, lefts[slots[node.id].layer], slots[node.id].y, widths[slots[node.id].layer], slots[node.id].height,
            lines[node.id])
        for node in by_id.values()
    ]  # fmt: skip
    paths = [(edge, _points(route, slots, lefts, widths)) for edge, route in zip(kept, routes, strict=True)]
    total = lefts[-1] + widths[-1] + _MARGIN if widths else 2 * _MARGIN
    return Graph(boxes, paths, total, height + 2 * _MARGIN)


def _needed(lines: Iterable[str]) -> float:
    return max(LEAST_WIDE, *(_wide(line) + 2 * PAD for line in lines), 0)


def _route(slots: dict[str, _Slot], edge: Edge, number: int) -> list[str]:
    """The slots that an edge goes through, one a layer; those between are made."""
    first, last = slots[edge.start].layer, slots[edge.end].layer
    route = [edge.start]
    for layer in range(first + 1, last):
        name = f"\0{number}.{layer}"
        slots[name] = _Slot(layer, 4)
        route.append(name)
    route.append(edge.end)
    for start, end in pairwise(route):
        slots[start].after.append(end)
        slots[end].before.append(start)
    return route


def _order(layers: list[list[str]], slots: Mapping[str, _Slot]) -> None:
    """Order each layer by the mean position of its neighbours, forth and back a few times."""
    position = {name: at for layer in layers for at, name in enumerate(layer)}

    def mean(names: Sequence[str], default: int) -> float:
        return sum(position[name] for name in names) / len(names) if names else default

    for sweep in range(_SWEEPS):
        forth = sweep % 2 == 0
        for layer in layers if forth else layers[::-1]:
            keys = {
                name: mean(slots[name].before if forth else slots[name].after, position[name]) for name in layer
            }  # fmt: skip
            layer.sort(key=lambda name, keys=keys: (keys[name], position[name]))
            position.update((name, at) for at, name in enumerate(layer))


def _stack(layers: Sequence[Sequence[str]], slots: Mapping[str, _Slot]) -> float:
    """Put each layer's slots one under the other, around the middle of the highest layer; gives its height."""
    heights = [sum(slots[name].height + GAP for name in layer) - GAP for layer in layers]
    highest = max(heights, default=0)
    for layer, height in zip(layers, heights, strict=True):
        top = _MARGIN + (highest - height) / 2
        for name in layer:
            slots[name].y = top
            top += slots[name].height + GAP
    return highest


def _points(
    route: Sequence[str], slots: Mapping[str, _Slot], lefts: Sequence[float], widths: Sequence[float]
) -> list[tuple[float, float]]:
    points: list[tuple[float, float]] = []
    for position, name in enumerate(route):
        slot = slots[name]
        left, right = lefts[slot.layer], lefts[slot.layer] + widths[slot.layer]
        if position > 0:
            points.append((left, slot.middle))
        if position < len(route) - 1:
            points.append((right, slot.middle))
    return points


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """A path that leaves and meets every box level: curves between layers, straight lines along them."""
    (x, y), *rest = points
    steps = [f"M{x:.1f} {y:.1f}"]
    for number, (to_x, to_y) in enumerate(rest):
        if number % 2:
            steps.append(f"L{to_x:.1f} {to_y:.1f}")
        else:
            half = (x + to_x) / 2
            steps.append(f"C{half:.1f} {y:.1f} {half:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    return " ".join(steps)


def draw_graph(graph: Graph, *, name: str, title: str, about: str, heads: Mapping[int, str] | None = None) -> Markup:
    """The graph as SVG, `name` being an id of its own on the page. Nodes with an address are links.

    `heads` are words above layers.
    """
    above = {box.x: heads[box.node.layer] for box in graph.boxes if heads and box.node.layer in heads}
    top = _HEAD if above else 0
    headings = Markup("").join(
        Markup('<text class="step" x="{:.1f}" y="12">{}</text>').format(x, text) for x, text in above.items()
    )
    arrow = Markup(
        '<defs><marker id="{}-end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="head" d="M0 0L8 4L0 8z"/></marker></defs>'
    ).format(name)
    edges = Markup("").join(
        Markup('<path class="edge {}" d="{}" fill="none" marker-end="url(#{}-end)"/>').format(
            edge.kind, _curve(points), name
        )
        for edge, points in graph.paths
    )
    return Markup(
        '<svg class="graph" role="group" aria-labelledby="{name}-title {name}-about" viewBox="0 0 {w:.0f} {h:.0f}"'
        ' width="{w:.0f}" height="{h:.0f}"><title id="{name}-title">{title}</title><desc id="{name}-about">{about}'
        "</desc>{arrow}{headings}<g{shift}>{edges}{boxes}</g></svg>"
    ).format(
        name=name, w=graph.width, h=graph.height + top, title=title, about=about, arrow=arrow, edges=edges,
        headings=headings, shift=Markup(' transform="translate(0 {})"').format(top) if top else "",
        boxes=Markup("").join(map(_box, graph.boxes)),
    )  # fmt: skip


def _box(box: Box) -> Markup:
    node = box.node
    rows = Markup("").join(
        Markup('<text x="{:.1f}" y="{:.1f}"{}>{}</text>').format(
            box.x + PAD, box.y + PAD + LINE * number + 11, Markup(' font-weight="600"') * (number == 0), line
        )
        for number, line in enumerate(box.lines)
    )
    whole = " · ".join(printable(each) for each in (*node.lines, node.title) if each)
    drawn = Markup('<title>{}</title><rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="5"/>{}').format(
        whole, box.x, box.y, box.width, box.height, rows
    )
    if node.href is not None:
        return Markup('<a class="node {}" href="{}">{}</a>').format(node.kind, node.href, drawn)
    return Markup('<g class="node quoted {}">{}</g>').format(node.kind, drawn)
