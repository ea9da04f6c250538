"""Where the boxes of a static picture lie, rank by rank, and how its lines run."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from ..flow import Edge, Node

GAP, APART, ROUND = 44.0, 28.0, 4
#: Between two rows of stages.
BELOW = 26.0
#: The least width of a box that stands alone in its row, and the room for a line beside a box.
COLUMN, TURN = 250.0, 14.0
#: What is off by so little is drawn straight.
NEARLY = 12.0
#: How much more than others a broken edge wishes to be straight.
BROKEN = 30


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
    #: Its blocks are configured alike to the last fraction.
    same: bool = True

    @property
    def left_out(self) -> bool:
        return len(self.nodes) > 1 and not self.title


@dataclass
class Line:
    source: Box
    target: Box
    edges: list[Edge]
    points: list[tuple[float, float]] = field(default_factory=list)


def _ranks(boxes: list[Box], lines: list[Line]) -> dict[int, int]:
    rank = {id(box): 0 for box in boxes}
    place = {id(box): i for i, box in enumerate(boxes)}
    # The document's order is the flow's; an edge against it is drawn but does not pull.
    for line in sorted(lines, key=lambda line: place[id(line.source)]):
        if place[id(line.source)] < place[id(line.target)]:
            rank[id(line.target)] = max(rank[id(line.target)], rank[id(line.source)] + 1)
    return rank


def layered(boxes: list[Box], lines: list[Line]) -> tuple[float, float]:
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


def lane(stages: list[Box], lines: list[Line], widest: float) -> float:
    """Places the pipeline's stages from left to right, those beside each other one below the other; gives where the model begins below them."""
    if not stages:
        return 0.0
    column = {id(box): 0 for box in stages}
    place = {id(box): i for i, box in enumerate(stages)}
    for line in sorted(lines, key=lambda line: place.get(id(line.source), 0)):
        if place.get(id(line.source), len(stages)) < place.get(id(line.target), 0):
            column[id(line.target)] = max(column[id(line.target)], column[id(line.source)] + 1)
    columns: list[list[Box]] = [[] for _ in range(max(column.values()) + 1)]
    for box in stages:
        columns[column[id(box)]].append(box)
    x, top, bottom = 0.0, 22.0, 22.0
    for beside in columns:
        width = max(box.width for box in beside)
        if x and x + width > widest:
            x, top = 0.0, bottom + BELOW
        for i, box in enumerate(beside):
            box.x, box.y = x, top + i * (box.height + 18)
            bottom = max(bottom, box.y + box.height)
        x += width + APART
    return bottom + GAP


def straight(line: Line) -> list[tuple[float, float]]:
    """The way of a line from a stage: to the right, down into the next row of stages, or into the model."""
    a, b = line.source, line.target
    if a.nodes[0].kind == b.nodes[0].kind == "stage":
        begin, end, middle = (a.x + a.width, a.y + a.height / 2), (b.x, b.y + b.height / 2), b.x - APART / 2
        if b.x > a.x:
            return [begin, end] if a.y == b.y else [begin, (middle, begin[1]), (middle, end[1]), end]
        begin, end, middle = (a.x + a.width / 2, a.y + a.height), (b.x + b.width / 2, b.y), b.y - BELOW / 2
        return [begin, (begin[0], middle), (end[0], middle), end]
    begin, end = (a.x + a.width / 2, a.y + a.height), (b.x + b.width / 2, b.y)
    if a.nodes[0].kind == "stage" and abs(begin[0] - end[0]) > 2 and end[1] - begin[1] > 20:
        # Below whatever stands beside it.
        middle = end[1] - GAP / 2
        return [begin, (begin[0], middle), (end[0], middle), end]
    return [begin, end]
