"""A static picture of a flow: its boxes, their positions and their edges.

For places where no script runs. The interactive view has its own layout; this one is small and
shows only the path to each problem and its neighborhood.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..flow import Flow, Node
from ..report import Report
from .folds import Unit, depths_of, folded
from .layered import Box, Line, lane, layered, straight
from .union import signed
from .words import short_dtype

NEAR = 3


@dataclass
class Picture:
    boxes: list[Box]
    lines: list[Line]
    stages: list[Box]
    width: float
    height: float


def picture(report: Report, most: int) -> Picture:
    """The static picture of a report with about ``most`` boxes."""
    flow = signed(report)
    shown = _visible(flow, _marked(report), most)
    boxes = _elide(flow, shown, _marked(report), most)
    lines = _lines(flow, boxes, shown)
    for line in lines:
        if line.source.nodes[0].kind == "stage" and line.edges[0].spec.shape is not None:
            spec = line.edges[0].spec
            line.source.gives = f"{'×'.join('?' if n is None else str(n) for n in spec.shape or ())} {short_dtype(spec.dtype)}".strip()
    for box in boxes:
        box.width, box.height = _size(box)
    _make_room(report, lines)
    stages = [box for box in boxes if box.nodes[0].kind == "stage"]
    rest = [box for box in boxes if box.nodes[0].kind != "stage"]
    inner = [line for line in lines if line.source in rest and line.target in rest]
    width, height = layered(rest, inner)
    top = lane(stages, lines, max(width, 720.0))
    wide = max(width, max((box.x + box.width for box in stages), default=0.0))
    for box in rest:
        box.x += (wide - width) / 2
        box.y += top
    for line in inner:
        line.points = [(x + (wide - width) / 2, y + top) for x, y in line.points]
    for line in lines:
        if line not in inner:
            line.points = straight(line)
    return Picture(rest, lines, stages, wide, top + height)


def _marked(report: Report) -> set[str]:
    ends = {edge.id: (edge.source, edge.target) for edge in report.flow.edges}
    marked = {node.id for node in report.flow.nodes if node.status == "failed"}
    if report.difference is not None:
        marked.update(report.difference.nodes)
    for finding in report.findings:
        marked.update(finding.nodes)
        for edge in finding.edges:
            marked.update(ends.get(edge, ()))
    return marked


def _visible(flow: Flow, marked: set[str], most: int) -> dict[str, Node]:
    """For each node, the node that stands for it: itself, or the outermost composite that is closed."""
    nodes = {node.id: node for node in flow.nodes}
    depths = depths_of(flow.nodes)
    inside = Counter(node.parent for node in flow.nodes)
    raw = {node.parent for node in flow.nodes} - {node.parent for node in flow.nodes if node.kind != "op"}
    opened: set[str] = set()
    for mark in marked:
        at = nodes[mark].parent if mark in nodes else ""
        while at in nodes and at not in opened:
            opened.add(at)
            at = nodes[at].parent
    by_depth = sorted(flow.nodes, key=lambda node: depths[node.id])

    def clear(node: Node) -> bool:
        return node.parent not in nodes or (node.parent in opened and node.parent in seen)

    # Nodes whose parents are all open.
    seen: set[str] = set()
    current = 0
    for node in by_depth:
        if clear(node):
            seen.add(node.id)
            current += node.id not in opened
    seen = set()
    stand: dict[str, Node] = {}
    for node in by_depth:
        if not clear(node):
            stand[node.id] = stand[node.parent]
            continue
        seen.add(node.id)
        if node.id not in opened and inside[node.id] and node.id not in raw and current + inside[node.id] <= most:
            opened.add(node.id)
            current += inside[node.id] - 1
        stand[node.id] = node
    return {node.id: stand[node.id] for node in flow.nodes if node.id not in opened}


def _elide(flow: Flow, shown: dict[str, Node], marked: set[str], most: int) -> list[Box]:
    """Boxes in the order of the flow; where they are too many, groups and folds, and at last one box for a long run that no finding speaks of."""
    kept: dict[str, Box] = {}
    for node in flow.nodes:
        if node.id in shown:
            stand = shown[node.id]
            box = kept.setdefault(stand.id, Box([stand]))
            box.hidden += stand.id != node.id
    order = list(kept.values())
    if len(order) <= most:
        return order
    place = {box.nodes[0].id: i for i, box in enumerate(order)}
    near = {place[shown[mark].id] + d for mark in marked if mark in shown for d in range(-NEAR, NEAR + 1)}
    units = [Unit(box.nodes, box.hidden, kept=i in near) for i, box in enumerate(order)]
    order = [Box(unit.nodes, unit.hidden, title=unit.title, times=unit.times, size=unit.size, same=unit.same) for unit in folded(flow, units)]
    if len(order) <= most:
        return order
    place = {node.id: i for i, box in enumerate(order) for node in box.nodes}
    near = {place[shown[mark].id] for mark in marked if mark in shown}
    wanted = {i + d for i in near for d in range(-NEAR, NEAR + 1)}
    edge = max(3, (most - len(wanted)) // 2)
    wanted.update(range(edge), range(len(order) - edge, len(order)))
    wanted.update(i for i, box in enumerate(order) if box.nodes[0].kind in ("stage", "split", "loss", "input"))
    boxes: list[Box] = []
    for i, box in enumerate(order):
        if i in wanted:
            boxes.append(box)
        elif boxes and boxes[-1].hidden < 0:
            boxes[-1].nodes += box.nodes
        else:
            boxes.append(Box(list(box.nodes), hidden=-1))
    return boxes


def _lines(flow: Flow, boxes: list[Box], shown: dict[str, Node]) -> list[Line]:
    home = {node.id: box for box in boxes for node in box.nodes}
    order = {id(box): i for i, box in enumerate(boxes)}
    lines: dict[tuple[int, int], Line] = {}
    for edge in flow.edges:
        if edge.source not in shown or edge.target not in shown:
            continue
        a, b = home[shown[edge.source].id], home[shown[edge.target].id]
        if a is not b:
            lines.setdefault((order[id(a)], order[id(b)]), Line(a, b, [])).edges.append(edge)
    return list(lines.values())


def label(box: Box) -> tuple[str, str]:
    """The two lines of words in a box."""
    first = box.nodes[0]
    if box.title:
        layers = box.size // box.times
        return (box.title, f"{box.times} × {layers} layers, {'identical' if box.same else 'similar'}" if box.times > 1 else f"{layers} layers")
    if box.left_out:
        return f"… {len(box.nodes)} more …", f"{first.name} to {box.nodes[-1].name}"
    if first.kind == "split" and first.note:
        return first.name, first.note
    words = [first.op] if first.op and first.op != first.name else []
    if box.gives:
        words.append(box.gives)
    if box.hidden > 0:
        words.append(f"{box.hidden} inside")
    if first.location and first.kind != "stage":
        words.append(str(first.location))
    return first.name or first.op, " · ".join(words) or first.note or first.kind


def _make_room(report: Report, lines: list[Line]) -> None:
    longest: dict[str, int] = {}
    for finding in report.findings:
        words = max((len(side.text) for side in (finding.expected, finding.found) if side), default=0)
        longest.update((edge, words) for edge in finding.edges)
    for line in lines:
        words = max((longest.get(edge.id, 0) for edge in line.edges), default=0)
        if words:
            line.target.room = max(0.0, min(words, 60) * 7.0 + 70 - line.target.width / 2)


def _size(box: Box) -> tuple[float, float]:
    first, second = (min(len(words), 44) for words in label(box))
    return max(130.0, first * 8.0 + 34, second * 6.5 + 30), 48.0
