"""A report for a terminal: readable at 80 columns, and in a pipe."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console
from rich.text import Text as RichText

from ..flow import Edge, Finding, Fix, Node, Side
from ..flow.text import line as one_line
from ..flow.text import uncommanding
from ..report import Report
from .folds import depths_of
from .verdicts import lines, title
from .words import about, laid

_MARKS = {"error": ("✖", "bold red"), "tpu": ("✖", "bold red"), "silent": ("◆", "bold magenta"), "slow": ("▲", "yellow"), "note": ("·", "dim")}
# Levels of nesting that are indented; a terminal has no room for more.
MOST_INDENT = 12
# Findings, fixes of one, and letters of one text that are printed: nobody reads on, and every line of them is wrapped.
MOST_FINDINGS, MOST_FIXES, MOST_TEXT = 200, 20, 4_000
_WORDS = {"error": "error", "tpu": "fails on the TPU", "silent": "silent", "slow": "slow", "note": "note"}


class Text(RichText):
    """Text in one line, whose control characters are shown as a replacement character."""

    def __init__(self, text: str = "", *args: Any, **kwargs: Any) -> None:
        super().__init__(one_line(_clipped(text)), *args, **kwargs)

    def append(self, text: Any, style: Any = None) -> RichText:
        return super().append(one_line(_clipped(text)) if isinstance(text, str) else text, style)


def _clipped(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT // 2]} … {text[-MOST_TEXT // 2 :]}"


def to_text(report: Report, *, width: int = 80, color: bool = False, flow: bool = True) -> str:
    """The report as text, ``width`` columns wide; ``color`` adds ANSI codes."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        soft_wrap=False,
        legacy_windows=False,
        force_jupyter=False,
    )
    write(console, report, flow=flow)
    return uncommanding(out.getvalue().rstrip("\n"))


def write(console: Console, report: Report, *, flow: bool = True) -> None:
    """Writes the report to a rich console: the result, the flow, then the findings."""
    mark, style = ("✓", "bold green") if report.ok else ("✖", "bold red")
    if report.difference is not None:
        mark, style = "≠", "bold"
    head = Text(f"{mark} {report.summary}", style=style)
    console.print(head)
    _paragraph(console, Text(" · ".join(about(report)), style="dim"), 0)
    if flow:
        console.print()
        _flow(console, report)
    for finding in report.findings[:MOST_FINDINGS]:
        console.print()
        _finding(console, finding)
    if len(report.findings) > MOST_FINDINGS:
        console.print()
        console.print(Text(f"⋮ {len(report.findings) - MOST_FINDINGS:,} more findings: save the report as .html or .json to see them", style="dim"))
    for verdict in report.verdicts:
        console.print()
        sign = "✓" if verdict.ok else "✖"
        console.print(Text(f"{sign} {title(verdict)}: {verdict.message or 'compiles'}", style="green" if verdict.ok else "red"))
        for line in lines(verdict):
            _paragraph(console, Text(line, style="dim"), 2, hang=2)
    for limit in report.limits:
        console.print(Text(f"Not checked: {limit}", style="dim"))


def _flow(console: Console, report: Report) -> None:
    edges: dict[str, list[Edge]] = {}
    for edge in report.flow.edges:
        edges.setdefault(edge.target, []).append(edge)
    named = {node for finding in report.findings if finding.serious for node in finding.nodes}
    if report.difference is not None:
        named.update(report.difference.nodes)
    nodes = report.flow.nodes
    shown = _worth(nodes, named)
    depths = depths_of(nodes)
    skipped = 0
    for i, node in enumerate(nodes):
        if not shown[i]:
            skipped += 1
            continue
        if skipped:
            console.print(Text(f"    ⋮ {skipped} more", style="dim"))
            skipped = 0
        console.print(_line(report, node, edges.get(node.id, []), node.id in named, min(depths[node.id], MOST_INDENT)))
    if skipped:
        console.print(Text(f"    ⋮ {skipped} more", style="dim"))


def _worth(nodes: list[Node], named: set[str]) -> list[bool]:
    if len(nodes) <= 40:
        return [True] * len(nodes)
    keep = [node.kind not in ("layer", "op") or node.status == "failed" or node.id in named for node in nodes]
    near = [any(keep[max(0, i - 2) : i + 3]) for i in range(len(nodes))]
    return [a or (b and i < 400) for i, (a, b) in enumerate(zip(keep, near, strict=True))]


def _line(report: Report, node: Node, edges: list[Edge], named: bool, depth: int) -> Text:
    sign, style = {"failed": ("✖", "bold red"), "not-reached": ("░", "dim")}.get(node.status, ("◆", "bold magenta") if named else ("│", ""))
    name = node.name if node.name.replace("_", "").lower().startswith(node.op.replace("_", "").lower()) else f"{node.name} {node.op}"
    if node.kind in ("loss", "metric", "output", "input", "stage", "split"):
        name = f"{node.kind} {node.name}" if node.kind != "split" else node.name
    if node.status == "not-reached":
        given = "not reached"
    else:
        shown = [(edge, laid(edge, report.target)) for edge in edges if edge.label != "mask"]
        parts = [f"{edge.label + ' ' if edge.label else ''}{edge.spec}{f' as {lies}' if lies else ''}" for edge, lies in shown]
        given = " ← " + ", ".join(dict.fromkeys(parts)) if parts else ""
    text = Text(f"  {sign} {'  ' * depth}", style=style)
    text.append(name, style="bold" if node.status == "failed" or named else style)
    text.append(f" {given}" if given else "", style="red" if node.status == "failed" else "dim")
    if node.location is not None and (node.status == "failed" or named):
        text.append(f"  {node.location}", style="cyan")
    return text


def _finding(console: Console, finding: Finding) -> None:
    mark, style = _MARKS[finding.severity]
    console.print(Text.assemble((f"{mark} {_WORDS[finding.severity]} ", style), (finding.rule, "dim")))
    _paragraph(console, Text(finding.message), 2)
    if finding.expected is not None:
        console.print(Text("  wants  ").append(_side(finding.expected)))
    if finding.found is not None:
        console.print(Text("  gets   ").append(_side(finding.found)))
    if finding.why:
        _paragraph(console, Text(finding.why, style="dim"), 2)
    if finding.behind:
        _paragraph(console, Text(f"found after applying the fix: {finding.behind}", style="dim"), 2)
    if finding.location is not None:
        source = f"  {finding.location.text}" if finding.location.text else ""
        console.print(Text(f"  at {finding.location}{source}", style="cyan"))
    for fix in finding.fixes[:MOST_FIXES]:
        _fix(console, fix)
    if finding.rejected:
        _paragraph(console, Text(f"tried and rejected: {'; '.join(finding.rejected)}", style="dim"), 2)


def _paragraph(console: Console, text: RichText, indent: int, hang: int = 0) -> None:
    for i, line in enumerate(text.wrap(console, max(20, console.width - indent - hang))):
        line.rstrip()
        console.print(Text(" " * (indent + (hang if i else 0))).append_text(line))


def _side(side: Side) -> Text:
    if not side.axes or len(side.axes) < 1 or not side.text.startswith("("):
        return Text(side.text)
    text = Text("(")
    for i, axis in enumerate(side.axes):
        text.append(", " if i else "")
        text.append(f"*{axis}*" if i in side.differs else axis, style="bold" if i in side.differs else "")
    text.append(",)" if len(side.axes) == 1 else ")")
    return text


_STANDINGS = {
    "run": ("✓ fix, verified: ", "green"),
    "live": ("✓ fix, verified on the live model: ", "green"),
    "step": ("◐ first step, fixes only this finding: ", "yellow"),
    "idea": ("? idea, not verified: ", "yellow"),
}


def _fix(console: Console, fix: Fix) -> None:
    sign, style = _STANDINGS[fix.standing]
    _paragraph(console, Text.assemble((sign, style), (fix.title, "bold")), 2, hang=2)
    if fix.effect is not None and fix.effect.text:
        _paragraph(console, Text(fix.effect.text, style="dim"), 6)
    if fix.reason:
        _paragraph(console, Text(fix.reason, style="dim"), 6)
    if fix.then:
        _paragraph(console, Text(f"next: {', '.join(fix.then)}", style="dim"), 6)
    for line in fix.diff.split("\n")[:28]:
        if fix.also and line.startswith("+++ "):
            console.print(Text(f"      in {line[4:]}:", style="dim"), soft_wrap=True)
        elif not line.startswith(("---", "+++", "@@")):
            console.print(Text(f"      {line}", style={"+": "green", "-": "red"}.get(line[:1], "dim")), soft_wrap=True)
