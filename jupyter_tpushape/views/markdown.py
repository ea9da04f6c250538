"""The report as Markdown: for a pull request, an issue, a log."""

from __future__ import annotations

import re

from ..flow import Finding
from ..flow.text import clean, uncommanding
from ..flow.wire import Change, Difference
from ..report import Report
from .layers import rows
from .mime import WORDS
from .verdicts import lines as verdict_lines
from .verdicts import title
from .words import about

_STANDINGS = {"run": " (verified)", "live": " (verified on the live model)", "step": " (first step: fixes only this finding)", "idea": ""}


def plain(text: object) -> str:
    """Text without Markdown markup."""
    text = str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]()#+!|~])", r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """Inline code, fenced by more backticks than it holds."""
    text = " ".join(text.split())
    ticks = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}" if text else ""


def block(text: str, language: str) -> list[str]:
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return [f"{ticks}{language}", *text.rstrip("\n").split("\n"), ticks]


def to_markdown(report: Report) -> str:
    """The findings, the fixes, and the results of compilers."""
    mark = "≠" if report.difference is not None else "✓" if report.ok else "✖"
    lines = [f"# {mark} {plain(report.summary)}", "", " · ".join(map(plain, about(report))), ""]
    if report.difference is not None:
        lines += _difference(report.difference, {node.id: node.name for node in report.flow.nodes})
    for i, finding in enumerate(report.findings, 1):
        lines += _finding(i, finding)
    if report.verdicts:
        lines += ["## Compiler results", ""]
    for verdict in report.verdicts:
        lines += [f"**{'✓' if verdict.ok else '✖'} {plain(title(verdict))}**: {plain(verdict.message or 'compiles')}", ""]
        said = verdict_lines(verdict)
        lines += [*block("\n".join(said), "text"), ""] if said else []
    if report.limits:
        lines += ["## Not checked", "", *(f"- {plain(words)}" for words in report.limits), ""]
    lines += _layers(report)
    return uncommanding(clean("\n".join(lines).rstrip())) + "\n"


def _difference(difference: Difference, names: dict[str, str]) -> list[str]:
    rows = [("", "", change) for change in difference.totals]
    for node, mark in difference.nodes.items():
        rows += [(names[node], mark.state, change) for change in mark.changes or (Change("", "", ""),)]
    cells = [(name, state, change.what, change.before, change.after) for name, state, change in rows[:MOST]]
    if not cells:
        return []
    more = [f"and {len(rows) - MOST} more", ""] if len(rows) > MOST else []
    head = ["| part | | what | before | after |", "|---|---|---|---|---|"]
    return [*head, *(f"| {' | '.join(plain(cell) for cell in row)} |" for row in cells), "", *more]


#: Rows of the layer table; what is beyond is in the report's other forms.
MOST = 200


def _layers(report: Report) -> list[str]:
    table = rows(report)
    if not table:
        return []
    lines = ["## Layers", "", "| name | type | input | output | parameters | placement | output, bytes |", "|---|---|---|---|---:|---|---:|"]
    for row in table[:MOST]:
        name = plain(row["name"]) if row["status"] == "ok" else f"{plain(row['name'])} ({row['status']})"
        bytes_ = "" if row["output_bytes"] is None else f"{row['output_bytes']:,}"
        cells = [name, *(plain(row[key]) for key in ("type", "takes", "gives")), f"{row['parameters']:,}", plain(row["placement"]), bytes_]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, *([f"| … {len(table) - MOST} more | | | | | | |"] if len(table) > MOST else []), ""]


def _finding(i: int, finding: Finding) -> list[str]:
    lines = [f"## {i}. {plain(finding.message)}", ""]
    where = f" · {code(str(finding.location))}" if finding.location else ""
    lines += [f"{WORDS[finding.severity]}{where} · {code(finding.rule)}", ""]
    if finding.expected:
        lines.append(f"- wants {code(finding.expected.text)}")
    if finding.found:
        lines.append(f"- gets {code(finding.found.text)}")
    if finding.expected or finding.found:
        lines.append("")
    if finding.why:
        lines += [plain(finding.why), ""]
    for fix in finding.fixes:
        tried = _STANDINGS[fix.standing]
        lines += [f"**{plain(fix.title)}**{tried}", ""]
        more = [words for words in (fix.effect.text if fix.effect is not None else "", fix.reason) if words]
        lines += [plain("; ".join(more)), ""] if more else []
        if fix.patch:
            lines += [*block(fix.diff, "diff" if "@@" in fix.patch else "python"), ""]
    if finding.rejected:
        lines += ["Tried and rejected:", "", *(f"- {plain(words)}" for words in finding.rejected), ""]
    return lines
