"""Two reports side by side: what was added, removed and changed, with nodes matched by where they stand and not by name alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from ..flow import Flow, Node
from ..flow.text import clean
from ..report import Report
from .layers import rows

#: What is compared of two layers, as it is said.
_SAID = {
    "type": "type", "status": "status", "takes": "takes", "gives": "gives", "parameters": "parameters", "placement": "placement",
    "weight_bytes": "bytes of weights", "output_bytes": "bytes of output", "compiled_bytes": "bytes as compiled",
}  # fmt: skip
_COUNTED = re.compile(r"_\d+$")
_LISTED = ("layer", "op", "loss", "metric")


@dataclass(frozen=True)
class Change:
    """A layer that both have. ``what`` holds, by what it is, the value before and the value after."""

    before: str
    after: str
    type: str
    what: dict[str, tuple[Any, Any]]

    def __str__(self) -> str:
        name = self.before if _COUNTED.sub("", self.before) == _COUNTED.sub("", self.after) else f"{self.before} → {self.after}"
        return f"{name} ({self.type}): {'; '.join(f'{key} {_show(old)} → {_show(new)}' for key, (old, new) in self.what.items())}"


@dataclass
class Comparison:
    """What one report has otherwise than another: names of layers with their types, in the order of the flow.

    Attributes:
        added: layers that only the second has, as ``(name, type)``.
        removed: layers that only the first has.
        changed: layers of both that differ in type, tensors, parameters, placement, memory or configuration.
        totals: of the whole, by what it is, the value before and after; only what differs.
        same: how many layers are alike in both.
    """

    titles: tuple[str, str]
    added: list[tuple[str, str]] = field(default_factory=list)
    removed: list[tuple[str, str]] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)
    totals: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    same: int = 0

    def __bool__(self) -> bool:
        """Whether there is any difference."""
        return bool(self.added or self.removed or self.changed or self.totals)

    def __repr__(self) -> str:
        lines = [f"{self.titles[0]} → {self.titles[1]}"]
        lines += [f"  {key}: {_show(old)} → {_show(new)}{_more(old, new)}" for key, (old, new) in self.totals.items()]
        lines += [f"+ {name} ({op})" for name, op in self.added]
        lines += [f"- {name} ({op})" for name, op in self.removed]
        lines += [f"~ {change}" for change in self.changed]
        lines.append(f"  {self.same} layers alike" if self else "  no difference")
        return clean("\n".join(lines))


def diff(before: Report, after: Report) -> Comparison:
    """Compares two reports: of two models, two versions, two targets or two backends, or before and after a fix.

    A layer is taken for the same where it stands at the same place between layers that are the same, whatever it is called.

    Args:
        before: the first report.
        after: the second.

    Returns:
        What was added, removed and changed; its ``repr`` is the comparison as text.
    """
    result = Comparison((_title(before), _title(after)))
    old, new = ([node for node in report.flow.nodes if node.kind in _LISTED] for report in (before, after))
    pairs = _matched(before.flow, after.flow, old, new)
    rows_before, rows_after = rows(before), rows(after)
    taken = {j for _, j in pairs}
    kept = {i for i, _ in pairs}
    result.removed = [(node.name, node.op) for i, node in enumerate(old) if i not in kept]
    result.added = [(node.name, node.op) for j, node in enumerate(new) if j not in taken]
    for i, j in pairs:
        what = _differences(old[i], new[j], rows_before[i], rows_after[j])
        if what:
            result.changed.append(Change(old[i].name, new[j].name, new[j].op or new[j].kind, what))
    result.same = len(pairs) - len(result.changed)
    result.totals = _totals(before, after, rows_before, rows_after)
    return result


def _title(report: Report) -> str:
    target = f" on {report.target.name}" if report.target else ""
    return f"{report.title or 'model'}{target}"


def _differences(old: Node, new: Node, before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    what = {said: (before[key], after[key]) for key, said in _SAID.items() if before[key] != after[key]}
    for key in sorted({*old.config, *new.config} - {"name", "call"}):
        if old.config.get(key) != new.config.get(key):
            what[key] = (old.config.get(key), new.config.get(key))
    return what


def _totals(before: Report, after: Report, old: list[dict[str, Any]], new: list[dict[str, Any]]) -> dict[str, tuple[Any, Any]]:
    def total(key: str) -> tuple[Any, Any]:
        return (sum(row[key] or 0 for row in old), sum(row[key] or 0 for row in new))

    found = {
        "framework": (before.flow.framework, after.flow.framework),
        "target": (before.target.name if before.target else None, after.target.name if after.target else None),
        "verdict": (before.summary, after.summary),
        "parameters": total("parameters"),
        "bytes of output": total("output_bytes"),
    }
    programs = {verdict.program: verdict for verdict in before.verdicts}
    for verdict in after.verdicts:
        first = programs.get(verdict.program)
        if first is not None:
            sizes = [one.arguments + one.outputs + one.temporaries for one in (first, verdict)]
            found[f"bytes of {verdict.program}, compiled"] = (sizes[0], sizes[1])
    return {key: pair for key, pair in found.items() if pair[0] != pair[1]}


# -- which layer is which ------------------------------------------------------------------------------------------------


def _matched(before: Flow, after: Flow, old: list[Node], new: list[Node]) -> list[tuple[int, int]]:
    """Places of the same layers. What stands among the same neighbours first; then, between these, what is of one type; then of one name."""
    a, b = _neighbours(before, old), _neighbours(after, new)
    pairs = _aligned(a, b, range(len(old)), range(len(new)))
    for key in (_type, _name):
        pairs = _between(pairs, [key(node) for node in old], [key(node) for node in new])
    return pairs


def _type(node: Node) -> tuple[str, ...]:
    return (node.kind, node.op)


def _name(node: Node) -> tuple[str, ...]:
    return (node.kind, _COUNTED.sub("", node.name))


def _neighbours(flow: Flow, nodes: list[Node]) -> list[tuple[Any, ...]]:
    """For each node its type and those of what it reads and of what reads it."""
    types = {node.id: _type(node) for node in flow.nodes}
    reads: dict[str, list[tuple[str, ...]]] = {}
    read: dict[str, list[tuple[str, ...]]] = {}
    for edge in flow.edges:
        reads.setdefault(edge.target, []).append(types[edge.source])
        read.setdefault(edge.source, []).append(types[edge.target])
    return [(types[node.id], *sorted(reads.get(node.id, [])), "→", *sorted(read.get(node.id, []))) for node in nodes]


def _aligned(a: Sequence[Any], b: Sequence[Any], left: range, right: range) -> list[tuple[int, int]]:
    """Pairs of a longest run of equal keys, what is equal at both ends set aside: that is what costs nothing."""
    i, j, k, m = left.start, right.start, left.stop, right.stop
    head, tail = [], []
    while i < k and j < m and a[i] == b[j]:
        head.append((i, j))
        i, j = i + 1, j + 1
    while i < k and j < m and a[k - 1] == b[m - 1]:
        k, m = k - 1, m - 1
        tail.append((k, m))
    blocks = SequenceMatcher(None, a[i:k], b[j:m], autojunk=False).get_matching_blocks()
    middle = [(i + block.a + n, j + block.b + n) for block in blocks for n in range(block.size)]
    return [*head, *middle, *reversed(tail)]


def _between(pairs: list[tuple[int, int]], a: Sequence[Any], b: Sequence[Any]) -> list[tuple[int, int]]:
    """The pairs, and more of them where in the gaps between two the keys are equal."""
    result: list[tuple[int, int]] = []
    last = (-1, -1)
    for pair in [*pairs, (len(a), len(b))]:
        result += _aligned(a, b, range(last[0] + 1, pair[0]), range(last[1] + 1, pair[1]))
        if pair[0] < len(a) or pair[1] < len(b):
            result.append(pair)
        last = pair
    return result


def _show(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _more(old: Any, new: Any) -> str:
    both = isinstance(old, int) and isinstance(new, int)
    return f" ({new - old:+,})" if both else ""


Trace = Callable[..., Report]


def compared(values: Sequence[Any], trace: Trace) -> Comparison:
    """Compares two values, each a report or a model, models traced on the third value where there is one."""
    data = values[2] if len(values) > 2 else None
    first, second = (value if isinstance(value, Report) else trace(value, data) for value in values[:2])
    return diff(first, second)
