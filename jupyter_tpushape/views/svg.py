"""A static SVG of a flow, created without a browser. Its text is text, not outlines."""

from __future__ import annotations

import math
import re
from functools import cache
from importlib import resources
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from ..flow import Finding, Shape, Side, show_shape
from ..report import Report
from .layered import Box, Line
from .picture import Picture, label, picture
from .words import about, short_dtype

WHOLE, STILL = 60, 24
PAD, ROUND = 20.0, 8.0

SIGNS = {"error": "✖", "tpu": "✖", "silent": "≠", "slow": "◔", "note": "i"}


@cache
def style() -> str:
    """The look of a still."""
    return (resources.files("jupyter_tpushape.views") / "templates" / "still.css").read_text(encoding="utf-8")


def clean(text: object) -> str:
    """Text for an XML document: escaped, and without characters that XML forbids."""
    return escape(re.sub(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", str(text)))


def to_svg(report: Report, *, most: int = WHOLE) -> str:
    """The flow of a report as one SVG document with about ``most`` boxes at most."""
    drawn = picture(report, most)
    found = _by_edge(report)
    parts = [_line(line, found) for line in sorted(drawn.lines, key=lambda line: _state(line, found)[0] not in ("ok", "not-reached"))]
    parts += [_box(box) for box in drawn.stages + drawn.boxes]
    parts += _labels(drawn, found)
    if drawn.stages:
        parts.append('<text class="lane" x="0" y="12" letter-spacing=".06em">PIPELINE</text>')
    words = max((len(part.text) for finding in report.findings for part in (finding.expected, finding.found) if part), default=0)
    wide = drawn.width + 2 * PAD + min(300, 90 + words * 5)
    tall = drawn.height + 2 * PAD
    title = clean(" · ".join([*about(report), report.summary]))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-PAD:g} {-PAD:g} {wide:g} {tall:g}" width="{wide:g}" height="{tall:g}" role="img">'
        f"<title>{title}</title><style>{style()}</style>"
        '<defs><pattern id="hatch" width="9" height="9" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<line x1="0" y1="0" x2="0" y2="9" stroke="#dfe3e8" stroke-width="4"/></pattern></defs>'
        f'<rect x="{-PAD:g}" y="{-PAD:g}" width="{wide:g}" height="{tall:g}" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _by_edge(report: Report) -> dict[str, Finding]:
    found: dict[str, Finding] = {}
    for finding in report.findings:
        for edge in finding.edges:
            found.setdefault(edge, finding)
    return found


def _clip(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _box(box: Box) -> str:
    node = box.nodes[0]
    name, words = label(box)
    status = "out" if box.left_out else node.status
    round_ = 24 if node.kind == "split" else 7
    x, y, w, h = box.x, box.y, box.width, box.height
    inner = f'<rect class="box" width="{w:g}" height="{h:g}" rx="{round_}"/>'
    if status == "not-reached":
        inner += f'<rect width="{w:g}" height="{h:g}" rx="{round_}" fill="url(#hatch)"/>'
    elif node.kind != "split" and not box.left_out:
        inner += f'<rect class="kind" y="8" width="3.5" height="{h - 16:g}" rx="1.5"/>'
    left = 20 if node.kind == "split" else 14
    inner += f'<text class="name" x="{left}" y="21">{clean(_clip(name, 44))}</text>'
    inner += f'<text class="sub" x="{left}" y="38">{clean(_clip(words, 44))}</text>'
    if node.status == "failed":
        inner += _badge("error", w - 2, 0)
    full = clean(" · ".join([name, words, *([node.failure.said] if node.failure else [])]))
    return f'<g class="{node.kind} {status}" transform="translate({x:g} {y:g})"><title>{full}</title>{inner}</g>'


def _badge(severity: str, x: float, y: float) -> str:
    look = "" if severity in ("error", "tpu") else "light"
    return (
        f'<g class="{look}"><circle class="badge" cx="{x:g}" cy="{y:g}" r="9.5"/>'
        f'<text class="sign" x="{x:g}" y="{y + 4:g}" text-anchor="middle">{SIGNS.get(severity, "i")}</text></g>'
    )


def _family(dtype: str) -> str:
    if dtype.startswith(("bfloat16", "float16", "float8")):
        return "half"
    if dtype.startswith(("float", "complex")):
        return "float"
    return "int" if dtype.lstrip("u").startswith("int") else "other"


def _state(line: Line, found: dict[str, Finding]) -> tuple[str, Finding | None]:
    finding = next((found[edge.id] for edge in line.edges if edge.id in found), None)
    statuses = {edge.status for edge in line.edges}
    if "failed" in statuses or (finding and finding.severity in ("error", "tpu")):
        return "failed", finding
    if finding and finding.severity != "note":
        return finding.severity, finding
    return ("not-reached" if statuses == {"not-reached"} else "ok"), finding


def _way(points: list[tuple[float, float]]) -> str:
    """The path through some points: corners rounded, what lies between two heights curved, short of its tip at the end."""
    (px, py), (tip_x, tip_y) = points[-2:]
    tip = (tip_x - math.copysign(6, tip_x - px), tip_y) if py == tip_y else (tip_x, tip_y - 6)
    (x, y), last = points[0], len(points) - 1
    path = f"M{x:g} {y:g}"
    for i, (to_x, to_y) in enumerate([*points[1:-1], tip], 1):
        level, upright = y == to_y, abs(to_x - x) < 0.5
        if not level and not upright:
            middle = (y + to_y) / 2
            path += f"C{x:g} {middle:g} {to_x:g} {middle:g} {to_x:g} {to_y:g}"
        elif i < last and (level or points[i + 1][1] == to_y):
            next_x, next_y = points[i + 1]
            back = (to_x - math.copysign(ROUND, to_x - x), to_y) if level else (to_x, to_y - math.copysign(ROUND, to_y - y))
            on = (to_x, to_y + math.copysign(ROUND, next_y - to_y)) if level else (to_x + math.copysign(ROUND, next_x - to_x), next_y)
            path += f"L{back[0]:g} {back[1]:g}Q{to_x:g} {to_y:g} {on[0]:g} {on[1]:g}"
        else:
            path += f"L{to_x:g} {to_y:g}"
        x, y = to_x, to_y
    return path


def _middle(points: list[tuple[float, float]]) -> tuple[float, float]:
    (ax, ay), (bx, by) = points[-2:]
    if ay == by and len(points) > 3:
        (ax, ay), (bx, by) = points[-4], points[-3]
    return (ax + bx) / 2, (ay + by) / 2


def _line(line: Line, found: dict[str, Finding]) -> str:
    state, finding = _state(line, found)
    way = _way(line.points)
    (px, py), (x, y) = line.points[-2:]
    tip = f"M{x - math.copysign(7, x - px):g} {y - 4:g}V{y + 4:g}L{x:g} {y:g}Z" if py == y else f"M{x - 4:g} {y - 7.5:g}H{x + 4:g}L{x:g} {y - 0.5:g}Z"
    core = f'<path class="core" d="{way}"/>' if state == "silent" else ""
    badge = _badge(finding.severity if finding else "error", *_middle(line.points)) if state not in ("ok", "not-reached") else ""
    spec = line.edges[0].spec
    return f'<g class="line {_family(spec.dtype)} {state}"><path class="edge" d="{way}"/>{core}<path class="tip" d="{tip}"/>{badge}</g>'


def _labels(drawn: Picture, found: dict[str, Finding]) -> list[str]:
    # What is said of a broken line is not said again of another with the same tensor.
    broken = [line for line in drawn.lines if _state(line, found)[0] not in ("ok", "not-reached")]
    told = {(id(line.source), line.edges[0].spec) for line in broken if (finding := _state(line, found)[1]) and finding.expected}
    taken: set[int] = set()
    room = Room(drawn)
    parts = []
    for line in drawn.lines:
        state, finding = _state(line, found)
        if state not in ("ok", "not-reached"):
            for i, (word, side) in enumerate(rows := _sides(drawn, line, finding)):
                x, y = _middle(line.points)
                at = f'x="{x + 17:g}" y="{y - 4 + 17 * i:g}"'
                parts.append(f'<text class="mono" {at}>{word.ljust(6)}{side_words(side)}</text>')
                room.take((x + 17, y - 4 + 17 * i), 7 + len(side.text))
            if rows:
                continue
        spec = line.edges[0].spec
        if line.source.nodes[0].kind == "stage" or (id(line.source), spec) in told:
            continue
        told.add((id(line.source), spec))
        (sx, sy), (bx, by) = line.points[:2]
        if by == sy:
            # A long edge is written where it runs alone.
            sx, sy = line.points[2]
        elif bx != sx and len(line.points) > 2:
            sx, sy = bx, by - 6
        elif id(line.source) in taken:
            continue
        else:
            taken.add(id(line.source))
        words = "not reached" if state == "not-reached" and spec.shape is None else show_shape(spec.shape)
        dtype = "" if words == "not reached" else f'<tspan class="dtype">{clean(short_dtype(spec.dtype))} </tspan>'
        more = f" {line.edges[0].label}" if line.edges[0].label and not line.edges[0].label.isdigit() else ""
        spot = room.beside(sx, sy + 16, len(f"{short_dtype(spec.dtype)} {words}{more}"))
        if spot is not None:
            parts.append(f'<text class="mono" x="{spot[0]:g}" y="{spot[1]:g}">{dtype}{clean(words + more)}</text>')
    return parts


def _sides(drawn: Picture, line: Line, finding: Finding | None) -> list[tuple[str, Side]]:
    if finding is None:
        return []
    wants, broken, own = finding.expected, {*finding.edges}, line.edges[0].spec.shape
    meeting = {edge.spec.shape for one in drawn.lines if one.target is line.target for edge in one.edges if edge.id in broken and edge.spec.shape}
    impartial = wants is not None and wants.axes in map(_axes, meeting)
    if own is None or not impartial or len(meeting) < 2 or len({*map(len, meeting)}) > 1:
        return [(word, side) for word, side in (("wants", wants), ("gets", finding.found)) if side]
    target = line.target.nodes[0]
    # Along the axis that they are joined at they may differ.
    joined = int((target.config or {}).get("axis", -1)) % len(own) if "concat" in target.op.lower() else None
    differs = (i for i, sizes in enumerate(zip(*meeting, strict=True)) if len({*sizes}) > 1 and i != joined)
    return [("gives", Side(show_shape(own), _axes(own), tuple(differs)))]


def _axes(shape: Shape) -> tuple[str, ...]:
    return tuple("?" if size is None else str(size) for size in shape)


def side_words(side: Side) -> str:
    """One side of a disagreement as escaped spans, the axes that differ set off."""
    if not side.axes:
        return f'<tspan class="value">{clean(_clip(side.text, 60))}</tspan>'
    axes = [f"<tspan class={quoteattr('differs' if i in side.differs else 'value')}>{clean(_clip(axis, 30))}</tspan>" for i, axis in enumerate(side.axes)]
    return f"({', '.join(axes)}{',' if len(axes) == 1 else ''})"


#: A character of the labels' font, and a line of them, in pixels.
WIDE, TALL = 6.7, 12.0
BESIDE = 9.0

Area = tuple[float, float, float, float]


class Room:
    """What is taken: by boxes, by words that are written already, and by lines, which words may cross where they must."""

    def __init__(self, drawn: Picture) -> None:
        self.taken: list[Area] = [(box.x, box.y, box.x + box.width, box.y + box.height) for box in (*drawn.boxes, *drawn.stages)]
        self.lines = [(min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)) for line in drawn.lines for (ax, ay), (bx, by) in pairwise(line.points)]

    def take(self, place: tuple[float, float], characters: int) -> None:
        self.taken.append(_area(place, characters))

    def beside(self, x: float, y: float, characters: int) -> tuple[float, float] | None:
        """Where so many characters stand beside a line: to its right or left."""
        places = [(x + BESIDE, y), (x - BESIDE - WIDE * characters, y)]
        free = [place for place in places if not any(_meet(_area(place, characters), one) for one in self.taken)]
        if not free:
            return None
        best = min(free, key=lambda place: sum(_meet(_area(place, characters), one) for one in self.lines))
        self.take(best, characters)
        return best


def _area(place: tuple[float, float], characters: int) -> Area:
    x, y = place
    return x, y - TALL + 2, x + WIDE * characters, y + 2


def _meet(one: Area, other: Area) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


__all__ = ["STILL", "WHOLE", "clean", "short_dtype", "side_words", "to_svg"]
