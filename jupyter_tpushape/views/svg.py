"""A static SVG of a flow, made without a browser. Its text stays text."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from xml.sax.saxutils import escape, quoteattr

from ..flow import Finding, Report, Side, Spec, show_shape
from .picture import Box, Line, Picture, label, picture

WHOLE, STILL = 400, 20
PAD = 20.0

SIGNS = {"error": "✖", "tpu": "✖", "silent": "≠", "slow": "◔", "note": "i"}
SHORT = {"float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "string": "str"}


@cache
def style() -> str:
    """The look of a still."""
    return (resources.files("jupyter_tpushape.views") / "templates" / "still.css").read_text(encoding="utf-8")


def clean(text: object) -> str:
    """Text for an XML document: escaped, and without the characters that XML forbids."""
    return escape(re.sub(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", str(text)))


def to_svg(report: Report, *, most: int = WHOLE) -> str:
    """The flow of a report as one SVG document with about ``most`` boxes at most."""
    drawn = picture(report, most)
    found = _by_edge(report)
    parts = [_line(line, found) for line in drawn.lines]
    parts += [_box(box) for box in drawn.stages + drawn.boxes]
    parts += _labels(drawn, found)
    if drawn.stages:
        parts.append('<text class="lane" x="0" y="12" letter-spacing=".06em">PIPELINE</text>')
    words = max((len(part.text) for finding in report.findings for part in (finding.expected, finding.found) if part), default=0)
    wide = drawn.width + 2 * PAD + min(300, 90 + words * 5)
    tall = drawn.height + 2 * PAD
    title = clean(f"{report.title} · {report.summary}")
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
    full = clean(" · ".join([name, words, *([node.failure.last_line] if node.failure else [])]))
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
    (x, y), path = points[0], ""
    path = f"M{x:g} {y:g}"
    for i, (to_x, to_y) in enumerate(points[1:], 1):
        end = to_y - (6 if i == len(points) - 1 and y != to_y else 0)
        middle = (y + end) / 2
        straight = abs(to_x - x) < 0.5 or y == to_y
        path += f"L{to_x - (6 if y == to_y else 0):g} {end:g}" if straight else f"C{x:g} {middle:g} {to_x:g} {middle:g} {to_x:g} {end:g}"
        x, y = to_x, to_y
    return path


def _line(line: Line, found: dict[str, Finding]) -> str:
    state, finding = _state(line, found)
    way = _way(line.points)
    (px, py), (x, y) = line.points[-2:]
    tip = f"M{x - 7:g} {y - 4:g}V{y + 4:g}L{x:g} {y:g}Z" if py == y else f"M{x - 4:g} {y - 7.5:g}H{x + 4:g}L{x:g} {y - 0.5:g}Z"
    core = f'<path class="core" d="{way}"/>' if state == "silent" else ""
    badge = _badge(finding.severity if finding else "error", (px + x) / 2, (py + y) / 2) if state not in ("ok", "not-reached") else ""
    spec = line.edges[0].spec
    return f'<g class="line {_family(spec.dtype)} {state}"><path class="edge" d="{way}"/>{core}<path class="tip" d="{tip}"/>{badge}</g>'


def _labels(drawn: Picture, found: dict[str, Finding]) -> list[str]:
    told: set[tuple[int, Spec]] = set()
    taken: set[int] = set()
    parts = []
    for line in drawn.lines:
        state, finding = _state(line, found)
        (px, py), (x, y) = line.points[-2:]
        if state not in ("ok", "not-reached"):
            rows = [(word, side) for word, side in (("wants", finding.expected), ("gets", finding.found)) if side] if finding else []
            for i, (word, side) in enumerate(rows):
                at = f'x="{(px + x) / 2 + 17:g}" y="{(py + y) / 2 - 4 + 17 * i:g}"'
                parts.append(f'<text class="mono" {at}>{word.ljust(6)}{side_words(side)}</text>')
            if rows:
                continue
        spec = line.edges[0].spec
        if py == y or (id(line.source), spec) in told:
            continue
        told.add((id(line.source), spec))
        sx, sy = line.points[0]
        if len(line.points) > 2:
            # A long edge is written where it runs alone.
            sx, sy = line.points[1][0], line.points[1][1] - 6
        elif id(line.source) in taken:
            continue
        else:
            taken.add(id(line.source))
        words = "not reached" if state == "not-reached" and spec.shape is None else show_shape(spec.shape)
        dtype = "" if words == "not reached" else f'<tspan class="dtype">{clean(short_dtype(spec.dtype))} </tspan>'
        more = f" {line.edges[0].label}" if line.edges[0].label and not line.edges[0].label.isdigit() else ""
        parts.append(f'<text class="mono" x="{sx + 9:g}" y="{sy + 16:g}">{dtype}{clean(words + more)}</text>')
    return parts


def short_dtype(dtype: str) -> str:
    return SHORT.get(dtype) or re.sub(r"^(u?)int(\d+)$", lambda found: f"{found[1] or 'i'}{found[2]}", dtype)


def side_words(side: Side) -> str:
    """One side of a disagreement as escaped spans, the axes that differ set off."""
    if not side.axes:
        return f'<tspan class="value">{clean(_clip(side.text, 60))}</tspan>'
    axes = [
        f"<tspan class={quoteattr('differs' if i in side.differs else 'value')}>{clean(_clip(axis, 30))}</tspan>"
        for i, axis in enumerate(side.axes)
    ]
    return f"({', '.join(axes)}{',' if len(axes) == 1 else ''})"


__all__ = ["STILL", "WHOLE", "clean", "short_dtype", "side_words", "to_svg"]
