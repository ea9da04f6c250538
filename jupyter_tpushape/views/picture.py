"""A static picture of a flow: its boxes, their positions and their edges.

For places where no script runs. The interactive view has its own layout; this one is small and
shows only the path to each problem and its neighborhood.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from ..flow import Edge, Flow, Node
from ..report import Report
from .folds import Unit, folded
from .nesting import depths_of
from .union import signed
from .words import short_dtype

GAP, APART, ROUND = 44.0, 28.0, 4
#: The least width of a box that stands alone in its row, and the room for a line beside a box.
COLUMN, TURN = 250.0, 14.0
#: What is off by so little is drawn straight.
NEARLY = 12.0
#: How much more than others a broken edge wishes to be straight.
BROKEN = 30
NEAR = 3


@dataclass
class Box:
    """What stands at one place: one node, a composite that stays closed, or a run that is left out."""

    nodes: list[Node]
    hidden: int = 0
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 48.0
    #: Room on either side for the words at a broken edge above it.
    room: float = 0.0
    #: What a stage gives.
    gives: str = ""
    #: What is written on a group, how often its block stands in it, and how many nodes it has.
    title: str = ""
    times: int = 1
    size: int = 0

    @property
    def left_out(self) -> bool:
        return len(self.nodes) > 1 and not self.title


@dataclass
class Line:
    source: Box
    target: Box
    edges: list[Edge]
    points: list[tuple[float, float]] = field(default_factory=list)


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
    width, height = _layered(rest, inner)
    top = _lane(stages, max(width, 720.0))
    wide = max(width, max((box.x + box.width for box in stages), default=0.0))
    for box in rest:
        box.x += (wide - width) / 2
        box.y += top
    for line in inner:
        line.points = [(x + (wide - width) / 2, y + top) for x, y in line.points]
    for line in lines:
        if line not in inner:
            line.points = _straight(line)
    return Picture(rest, lines, stages, wide, top + height)


def _marked(report: Report) -> set[str]:
    """The nodes that findings speak of, and those that a comparison marks."""
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
    order = [Box(unit.nodes, unit.hidden, title=unit.title, times=unit.times, size=unit.size) for unit in folded(flow, units)]
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
        return box.title, f"{box.times} × {layers} layers, identical" if box.times > 1 else f"{layers} layers"
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
    """Keeps free what `wants … gets …` needs beside a broken edge."""
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


def _ranks(boxes: list[Box], lines: list[Line]) -> dict[int, int]:
    rank = {id(box): 0 for box in boxes}
    place = {id(box): i for i, box in enumerate(boxes)}
    # The document's order is the flow's; an edge against it is drawn but does not pull.
    for line in sorted(lines, key=lambda line: place[id(line.source)]):
        if place[id(line.source)] < place[id(line.target)]:
            rank[id(line.target)] = max(rank[id(line.target)], rank[id(line.source)] + 1)
    return rank


def _layered(boxes: list[Box], lines: list[Line]) -> tuple[float, float]:
    """Places boxes rank by rank; gives the size of it all. Long edges bend round what they pass."""
    if not boxes:
        return 0.0, 0.0
    rank = _ranks(boxes, lines)
    rows: list[list[Box]] = [[] for _ in range(max(rank.values()) + 1)]
    for box in boxes:
        rows[rank[id(box)]].append(box)
    for row in rows:
        if len(row) == 1:
            row[0].width = max(row[0].width, COLUMN)
    chains: list[tuple[Line, list[Box]]] = []
    up: dict[int, list[Box]] = {}
    down: dict[int, list[Box]] = {}
    for line in lines:
        chain = [line.source]
        for r in range(rank[id(line.source)] + 1, rank[id(line.target)]):
            bend = Box([], width=8.0, height=0.0)
            rows[r].append(bend)
            chain.append(bend)
        chain.append(line.target)
        chains.append((line, chain))
        broken = any(edge.status == "failed" for edge in line.edges) and len(chain) == 2
        for a, b in list(pairwise(chain)) * (BROKEN if broken else 1):
            down.setdefault(id(a), []).append(b)
            up.setdefault(id(b), []).append(a)
    for sweep in range(2 * ROUND):
        near, order = (up, rows[1:]) if sweep % 2 == 0 else (down, rows[-2::-1])
        place = {id(box): float(i) - len(row) / 2 for row in rows for i, box in enumerate(row)}
        for row in order:
            row.sort(key=lambda box: _mean([place[id(other)] for other in near.get(id(box), [])], place[id(box)]))
            place.update((id(box), float(i) - len(row) / 2) for i, box in enumerate(row))
    for sweep in range(2 * ROUND + 1):
        near, order = (up, rows) if sweep % 2 == 0 else (down, rows[::-1])
        for row in order:
            _settle(row, near)
    left = min(box.x for row in rows for box in row)
    right = max(box.x + box.width + box.room for row in rows for box in row)
    y = 0.0
    tops = []
    for row in rows:
        tops.append(y)
        here = {id(box) for box in row}
        broken = any(edge.status == "failed" for line, chain in chains if id(chain[-2]) in here for edge in line.edges)
        tall = max(box.height for box in row)
        for box in row:
            box.x, box.y = box.x - left, y
        y += tall + (GAP + 26 if broken else GAP)
    for line, chain in chains:
        line.points = _through(line, chain[1:-1], rows[rank[id(line.source)]], rows[rank[id(line.target)]])
    for row in rows:
        _square(row, [line for line, _ in chains])
    most = max((x for line in lines for x, _ in line.points), default=0.0)
    return max(right - left, most), y - GAP


def _through(line: Line, bends: list[Box], first: list[Box], last: list[Box]) -> list[tuple[float, float]]:
    """The way of a line: a long one leaves and arrives at a side, where nothing stands in between."""
    a, b = line.source, line.target
    begin = [(a.x + a.width / 2, a.y + a.height)]
    end = [(b.x + b.width / 2, b.y)]
    if not bends and abs(begin[0][0] - end[0][0]) <= NEARLY:
        end = [(begin[0][0], b.y)]
    if bends:
        x = _beside(a, bends[0], first)
        if x is not None:
            begin = [(a.x + (a.width if x > a.x else 0.0), a.y + a.height / 2), (x, a.y + a.height / 2), (x, a.y + a.height)]
        x = _beside(b, bends[-1], last)
        if x is not None:
            end = [(x, b.y), (x, b.y + b.height / 2), (b.x + (b.width if x > b.x else 0.0), b.y + b.height / 2)]
    middle = [(bend.x + bend.width / 2, bend.y + down) for bend in bends for down in (0.0, 48.0)]
    return begin + middle + end


def _square(row: list[Box], lines: list[Line]) -> None:
    """Right angles for what leaves one box of a row, where nothing else moves aside at that height."""
    bottom = row[0].y + max(box.height for box in row)
    aside: dict[int, list[Line]] = {}
    spans: list[tuple[int, float, float]] = []
    for line in lines:
        for (ax, ay), (bx, by) in pairwise(line.points):
            if ay <= bottom < by and abs(ax - bx) > 2:
                spans.append((id(line.source), min(ax, bx), max(ax, bx)))
                if len(line.points) == 2:
                    aside.setdefault(id(line.source), []).append(line)
    for source, leaving in aside.items():
        own = [span for span in spans if span[0] == source]
        low, high = min(span[1] for span in own), max(span[2] for span in own)
        broken = any(edge.status == "failed" for line in lines if id(line.source) == source for edge in line.edges)
        if broken or any(span[0] != source and span[1] < high and span[2] > low for span in spans):
            continue
        for line in leaving:
            (ax, ay), (bx, by) = line.points
            if by - ay > 30:
                line.points = [(ax, ay), (ax, by - 14), (bx, by - 14), (bx, by)]


def _beside(box: Box, bend: Box, row: list[Box]) -> float | None:
    """Where a line to a bend stands beside a box; none where the bend runs under the box or another box is in between."""
    at = bend.x + bend.width / 2
    right = at > box.x + box.width / 2
    away = at - box.x - box.width if right else box.x - at
    x = at if away > TURN / 2 else box.x + box.width + TURN if right else box.x - TURN
    if box.x + 48 < at < box.x + box.width - 48:
        return None
    low, high = sorted((x, box.x))
    return None if any(one is not box and one.nodes and one.x < high + 6 and one.x + one.width > low - 6 for one in row) else x


def _mean(values: list[float], other: float) -> float:
    return sum(values) / len(values) if values else other


def _settle(row: list[Box], near: dict[int, list[Box]]) -> None:
    """Moves each box of a row as near to its neighbours' middle as order and distance allow."""
    blocks: list[tuple[float, float, int]] = []
    offset, offsets = 0.0, []
    for box in row:
        offsets.append(offset)
        others = near.get(id(box), [])
        straight = [other for other in others if other.nodes] or others
        middle = _mean([other.x + other.width / 2 for other in straight], box.x + box.width / 2)
        weight = 1000.0 * len(straight) if box.nodes and others else 1.0
        offset += box.room
        offsets[-1] = offset
        total, mass, size = (middle - box.width / 2 - offset) * weight, weight, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / mass:
            before = blocks.pop()
            total, mass, size = total + before[0], mass + before[1], size + before[2]
        blocks.append((total, mass, size))
        offset += box.width + box.room + APART
    at = iter(zip(row, offsets, strict=True))
    for total, mass, size in blocks:
        for _ in range(size):
            box, shift = next(at)
            box.x = total / mass + shift


def _lane(stages: list[Box], widest: float) -> float:
    """Places the pipeline's stages in rows; gives where the model begins below them."""
    x, y = 0.0, 22.0
    for box in stages:
        if x and x + box.width > widest:
            x, y = 0.0, y + box.height + 26
        box.x, box.y = x, y
        x += box.width + APART
    return y + 48.0 + GAP if stages else 0.0


def _straight(line: Line) -> list[tuple[float, float]]:
    a, b = line.source, line.target
    if a.y == b.y and b.x > a.x:
        return [(a.x + a.width, a.y + a.height / 2), (b.x, b.y + b.height / 2)]
    begin, end = (a.x + a.width / 2, a.y + a.height), (b.x + b.width / 2, b.y)
    if a.nodes[0].kind == "stage" and abs(begin[0] - end[0]) > 2 and end[1] - begin[1] > 20:
        middle = (begin[1] + end[1]) / 2
        return [begin, (begin[0], middle), (end[0], middle), end]
    return [begin, end]
