"""A graph laid out in layers: nothing overlaps, nothing is cut unseen, edges end where nodes stand."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from ledger.web._graph import MOST_WIDE, Edge, Node, draw_graph, fit, layout

NODES = st.lists(
    st.tuples(st.integers(0, 4), st.lists(st.text(max_size=60), min_size=1, max_size=3)), min_size=1, max_size=14
).map(lambda found: [Node(str(number), layer, lines) for number, (layer, lines) in enumerate(found)])


@given(NODES, st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=30))
def test_no_two_boxes_touch_and_all_lie_inside(nodes: list[Node], joined: list[tuple[int, int]]) -> None:
    graph = layout(nodes, [Edge(str(start), str(end)) for start, end in joined])
    assert [box.node for box in graph.boxes] == nodes
    for number, box in enumerate(graph.boxes):
        assert 0 <= box.x <= box.x + box.width <= graph.width
        assert 0 <= box.y <= box.y + box.height <= graph.height
        assert box.width <= MOST_WIDE + 1
        for other in graph.boxes[:number]:
            apart = box.x + box.width < other.x or other.x + other.width < box.x
            assert apart or box.y + box.height < other.y or other.y + other.height < box.y


@given(NODES, st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=30))
def test_every_edge_leads_from_its_start_on_to_the_right_to_its_end(
    nodes: list[Node], joined: list[tuple[int, int]]
) -> None:
    graph = layout(nodes, [Edge(str(start), str(end)) for start, end in joined])
    boxes = {box.node.id: box for box in graph.boxes}
    wanted = {
        (str(start), str(end)) for start, end in joined
        if max(start, end) < len(nodes) and nodes[start].layer < nodes[end].layer
    }  # fmt: skip
    assert {(edge.start, edge.end) for edge, _ in graph.paths} == wanted
    for edge, points in graph.paths:
        start, end = boxes[edge.start], boxes[edge.end]
        assert points[0] == (start.x + start.width, start.y + start.height / 2)
        assert points[-1] == (end.x, end.y + end.height / 2)
        assert [x for x, _ in points] == sorted(x for x, _ in points)


def test_an_edge_over_a_layer_goes_around_the_boxes_of_it() -> None:
    nodes = [Node("a", 0, ["a"]), Node("b", 1, ["b"]), Node("c", 2, ["c"])]
    graph = layout(nodes, [Edge("a", "b"), Edge("b", "c"), Edge("a", "c")])
    between = next(box for box in graph.boxes if box.node.id == "b")
    points = next(points for edge, points in graph.paths if (edge.start, edge.end) == ("a", "c"))
    for x, y in points[1:-1]:
        assert between.x <= x <= between.x + between.width
        assert not between.y <= y <= between.y + between.height


def test_parents_in_one_order_have_their_children_in_the_same() -> None:
    nodes = [Node(f"p{each}", 0, ["p"]) for each in range(4)] + [Node(f"c{each}", 1, ["c"]) for each in (2, 0, 3, 1)]
    graph = layout(nodes, [Edge(f"p{each}", f"c{each}") for each in range(4)])
    height = {box.node.id: box.y for box in graph.boxes}
    order = {kind: sorted(range(4), key=lambda each, kind=kind: height[f"{kind}{each}"]) for kind in "pc"}
    assert order["p"] == order["c"]


def test_text_too_long_for_its_box_ends_in_an_ellipsis_and_stands_whole_in_its_title() -> None:
    long = "a name that goes on and on, far past what a box in a graph can hold"
    (box,) = layout([Node("a", 0, [long])], []).boxes
    assert box.lines[0].endswith("…")
    assert long.startswith(box.lines[0][:-1])
    assert f"<title>{long}</title>" in draw_graph(layout([Node("a", 0, [long])], []), name="g", title="t", about="a")


def test_wide_letters_take_more_room_and_controls_are_spelled_out() -> None:
    assert len(fit("日" * 100, 100)) < len(fit("a" * 100, 100)) < 100
    assert fit("a\x1bb", 100) == "a\\x1bb"


def test_the_drawing_escapes_links_where_it_may_and_names_itself() -> None:
    nodes = [Node("a", 0, ["<b>"], "kind", "/x?a=1&b=2", "the whole"), Node("b", 1, ["plain"])]
    drawn = str(
        draw_graph(layout(nodes, [Edge("a", "b")]), name="g", title="A <graph>", about="About", heads={0: "First"})
    )
    assert "<b>" not in drawn
    assert '<a class="node kind" href="/x?a=1&amp;b=2">' in drawn
    assert '<title id="g-title">A &lt;graph&gt;</title><desc id="g-about">About</desc>' in drawn
    assert "style=" not in drawn
    assert re.search('<text class="step"[^>]*>First</text>', drawn)
    assert drawn.count('<path class="edge') == 1


def test_nothing_to_draw_is_an_empty_drawing() -> None:
    assert layout([], []).boxes == []
