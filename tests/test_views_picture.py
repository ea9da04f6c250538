"""The still: small, ordered, and nothing over anything else."""

from __future__ import annotations

import importlib.util
import re
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from jupyter_tpushape.flow import Edge, Finding, Flow, Node, Side, Spec
from jupyter_tpushape.report import Report
from jupyter_tpushape.views.picture import Picture, label, picture
from jupyter_tpushape.views.svg import to_svg

spec = importlib.util.spec_from_file_location("view_flows", Path(__file__).parent / "view_browser" / "flows.py")
assert spec
assert spec.loader
flows = importlib.util.module_from_spec(spec)
spec.loader.exec_module(flows)


def names(drawn: Picture) -> list[str]:
    return [box.nodes[0].name for box in drawn.stages + drawn.boxes]


def faults(drawn: Picture) -> list[str]:
    """What is wrong with a still, in words."""
    boxes = drawn.stages + drawn.boxes
    found = []
    for a, b in combinations(boxes, 2):
        if a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height:
            found.append(f"{a.nodes[0].id} lies over {b.nodes[0].id}")
    for line in drawn.lines:
        ys = [y for _, y in line.points]
        if ys != sorted(ys):
            found.append(f"{line.source.nodes[0].id} to {line.target.nodes[0].id} goes up")
    return found


@pytest.mark.parametrize("make", [*flows.ALL.values(), lambda: flows.chain(40), lambda: flows.chain(1000)])
@pytest.mark.parametrize("most", [12, 40, 400])
def test_nothing_lies_over_anything_and_no_edge_goes_up(make: object, most: int) -> None:
    assert callable(make)
    assert faults(picture(make(), most)) == []


def test_the_same_flow_gives_the_same_still() -> None:
    def places() -> list[tuple[float, float]]:
        return [(box.x, box.y) for box in picture(flows.conv_lstm(), 40).boxes]

    assert places() == places()


def test_a_long_flow_shows_its_ends_and_what_is_next_to_a_problem() -> None:
    report = flows.chain(1000)
    report.findings = [Finding("r", "error", "m", nodes=("n500",))]
    drawn = picture(report, 24)
    shown = {box.nodes[0].id for box in drawn.boxes if not box.left_out}
    assert {"n0", *(f"n{i}" for i in range(497, 504))} <= shown
    assert drawn.boxes[-1].nodes[-1].id == "n999"
    assert sum(len(box.nodes) for box in drawn.boxes) == 1000
    assert len(drawn.boxes) <= 30


def test_a_closed_composite_stands_for_what_is_in_it() -> None:
    nodes = [Node("m", "model", "layer", "Functional"), *(Node(f"a{i}", f"a{i}", "layer", "Dense", "m") for i in range(30)), Node("b", "b", "layer", "Dense")]
    edges = [Edge(f"e{i}", f"a{i}", f"a{i + 1}", Spec((1,), "float32")) for i in range(29)] + [Edge("x", "a29", "b", Spec((1,), "float32"))]
    assert names(picture(Report(Flow(nodes, edges), []), 10)) == ["model", "b"]
    assert len(names(picture(Report(Flow(nodes, edges), []), 100))) == 31


def test_the_composite_around_a_problem_is_open() -> None:
    nodes = [Node("m", "model", "layer", "Functional"), *(Node(f"a{i}", f"a{i}", "layer", "Dense", "m", "failed" if i == 2 else "ok") for i in range(4))]
    edges = [Edge(f"e{i}", f"a{i}", f"a{i + 1}", Spec((1,), "float32")) for i in range(3)]
    assert names(picture(Report(Flow(nodes, edges), []), 2))[:3] != ["model"]
    assert "a2" in names(picture(Report(Flow(nodes, edges), []), 4))


def test_repeated_blocks_stand_in_one_box() -> None:
    drawn = picture(flows.chain(1000), 24)
    folds = [label(box) for box in drawn.boxes if box.times > 1]
    assert folds == [("conv2d_1 … add_995", "199 × 5 layers, identical")]
    assert sum(len(box.nodes) for box in drawn.boxes) == 1000
    assert not any(box.left_out for box in drawn.boxes)


def test_parts_that_share_a_numbered_name_stand_in_one_box() -> None:
    nodes, edges = [Node("x", "input", "input", "InputLayer")], []
    for block in range(3):
        for i, op in enumerate(["Conv2D", "BatchNormalization", "ReLU"] * (2 + block)):
            nodes.append(Node(f"b{block}{i}", f"block{block}_{op.lower()}_{i}", "layer", op, params=block * i))
            edges.append(Edge(f"e{len(edges)}", nodes[-2].id, nodes[-1].id, Spec((8, 4), "float32")))
    report = Report(Flow(nodes, edges), [])
    assert [label(box) for box in picture(report, 10).boxes] == [
        ("input", "InputLayer"),
        ("block0", "6 layers"),
        ("block1", "9 layers"),
        ("block2", "12 layers"),
    ]
    # What a finding speaks of, and what stands next to it, is never in a group.
    report.findings = [Finding("r", "error", "m", nodes=("b14",))]
    alone = {box.nodes[0].id for box in picture(report, 20).boxes if not box.title}
    assert {f"b1{i}" for i in range(1, 8)} <= alone


def blocks(**last: object) -> Report:
    """Six blocks of two layers each; the last two are configured with something else."""
    nodes, edges = [Node("x", "input", "input", "InputLayer")], []
    for i in range(12):
        config = {"units": 8, "activation": "relu"} if i % 2 else {"rate": 0.1}
        changed = {key: value for key, value in last.items() if key in config} if i > 7 else {}
        nodes.append(Node(f"n{i}", f"layer_{i}", "layer", "Dense" if i % 2 else "Dropout", config={**config, **changed}))
        edges.append(Edge(f"e{i}", nodes[-2].id, nodes[-1].id, Spec((8, 8), "float32")))
    return Report(Flow(nodes, edges), [])


def test_blocks_are_identical_where_they_are_configured_alike_and_similar_where_a_rate_differs() -> None:
    def folds(report: Report) -> list[str]:
        return [label(box)[1] for box in picture(report, 8).boxes if box.times > 1]

    assert folds(blocks()) == ["5 × 2 layers, identical"], "nothing reads the last"
    assert folds(blocks(rate=0.2)) == ["5 × 2 layers, similar"]
    assert folds(blocks(activation="tanh")) == ["4 × 2 layers, identical"], "another activation is another block"


def test_blocks_that_differ_are_not_called_identical() -> None:
    assert not [box for box in picture(flows.chain(1000, folded=False), 24).boxes if box.times > 1]


def test_stages_beside_each_other_stand_one_below_the_other_and_no_line_runs_behind_a_box() -> None:
    stages = [Node(name, name, "stage", name) for name in ("left", "left_batch", "right", "right_batch", "zip", "prefetch")]
    ways = [("left", "left_batch"), ("right", "right_batch"), ("left_batch", "zip"), ("right_batch", "zip"), ("zip", "prefetch")]
    nodes = [*stages, Node("split", "split over 8", "split", ""), Node("dense", "dense", "layer", "Dense")]
    edges = [Edge(f"e{i}", *way, Spec((8, 4), "float32")) for i, way in enumerate([*ways, ("prefetch", "split"), ("split", "dense")])]
    drawn = picture(Report(Flow(nodes, edges), []), 40)
    rows = {box.nodes[0].id: (box.x, box.y) for box in drawn.stages}
    assert rows["left"][0] == rows["right"][0]
    assert rows["left"][1] < rows["right"][1]
    for line in drawn.lines:
        for (ax, ay), (bx, by) in pairwise(line.points):
            for box in drawn.stages + drawn.boxes:
                across = max(min(ax, bx), box.x) < min(max(ax, bx), box.x + box.width) and box.y < ay < box.y + box.height
                down = max(min(ay, by), box.y) < min(max(ay, by), box.y + box.height) and box.x < ax < box.x + box.width
                assert not across, (line.source.nodes[0].id, box.nodes[0].id)
                assert not down, (line.source.nodes[0].id, box.nodes[0].id)


@pytest.mark.parametrize("make", [*flows.ALL.values(), lambda: flows.chain(40)])
def test_no_words_stand_over_a_box_or_over_other_words(make: object) -> None:
    assert callable(make)
    report = make()
    boxes = [(box.x, box.y, box.x + box.width, box.y + box.height) for box in picture(report, 60).boxes]
    said = re.findall(r'<text class="mono" x="([\d.-]+)" y="([\d.-]+)">(.*?)</text>', to_svg(report))
    areas = [(float(x), float(y) - 8, float(x) + 6 * len(re.sub("<.*?>", "", words)), float(y)) for x, y, words in said]
    for one, other in combinations(areas, 2):
        assert not (one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3])
    for one in areas:
        assert not any(one[0] < box[2] and box[0] < one[2] and one[1] < box[3] and box[1] < one[3] for box in boxes)


def test_at_a_merge_each_line_says_what_it_gives() -> None:
    nodes = [Node("a", "a", "layer", "Conv2D"), Node("b", "b", "layer", "Conv2D"), Node("m", "m", "layer", "Concatenate", config={"axis": -1})]
    shapes = {"a": (8, 65, 65, 32), "b": (8, 64, 64, 64)}
    edges = [Edge(name, name, "m", Spec(shape, "float32"), status="failed") for name, shape in shapes.items()]
    sides = [Side(str(shape), tuple(map(str, shape)), (1, 2)) for shape in shapes.values()]
    report = Report(Flow(nodes, edges), [Finding("merge-shapes", "error", "m", "", *sides, nodes=("m",), edges=("a", "b"))])
    said = re.findall(r'<text class="mono"[^>]*>(gives|wants|gets)\s+\((.*?)\)</text>', to_svg(report))
    assert {(word, re.sub("<.*?>", "", sides)) for word, sides in said} == {("gives", "8, 65, 65, 32"), ("gives", "8, 64, 64, 64")}
    assert {tuple(re.findall('"differs">(\\d+)', sides)) for _, sides in said} == {("65", "65"), ("64", "64")}
