"""Two reports side by side: what was added, removed and changed, as text and as one picture of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..flow import Node
from ..flow.text import clean
from ..flow.wire import About, Difference, Mark
from ..flow.wire import Change as Said
from ..report import Report
from .layers import LISTED, rows
from .matching import matched, uncounted
from .union import united

#: What is compared of two layers, as it is said.
_SAID = {
    "type": "type", "status": "status", "takes": "takes", "gives": "gives", "parameters": "parameters", "placement": "placement",
    "weight_bytes": "bytes of weights", "output_bytes": "bytes of output", "compiled_bytes": "bytes as compiled",
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A layer that both programs have. ``what`` maps each property to its value before and after."""

    before: str
    after: str
    type: str
    what: dict[str, tuple[Any, Any]]

    def __str__(self) -> str:
        name = self.before if uncounted(self.before) == uncounted(self.after) else f"{self.before} → {self.after}"
        return f"{name} ({self.type}): {'; '.join(f'{key} {_show(old)} → {_show(new)}' for key, (old, new) in self.what.items())}"


@dataclass
class Comparison:
    """The difference between two reports: names of layers with their types, in the order of the flow.

    A notebook shows both programs in one view, with marks for what was added, removed and changed.

    Attributes:
        added: layers that only the second program has, as ``(name, type)``.
        removed: layers that only the first program has.
        changed: layers of both that differ in type, tensors, parameters, placement, memory or configuration.
        totals: totals that differ, with their values before and after.
        same: the number of layers that are equal in both.
        report: both programs in one flow, with its ``difference``; this is what the views show.
    """

    titles: tuple[str, str]
    added: list[tuple[str, str]] = field(default_factory=list)
    removed: list[tuple[str, str]] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)
    totals: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    same: int = 0
    report: Report = field(kw_only=True)

    def __bool__(self) -> bool:
        """Whether there is any difference."""
        return bool(self.added or self.removed or self.changed or self.totals)

    def __repr__(self) -> str:
        lines = [f"{self.titles[0]} → {self.titles[1]}"]
        lines += [f"  {key}: {_show(old)} → {_show(new)}{_more(old, new)}" for key, (old, new) in self.totals.items()]
        lines += [f"+ {name} ({op})" for name, op in self.added]
        lines += [f"- {name} ({op})" for name, op in self.removed]
        lines += [f"~ {change}" for change in self.changed]
        lines.append(f"  {self.same} layer{'s' * (self.same != 1)} equal" if self else "  no difference")
        return clean("\n".join(lines))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from .mime import bundle

        return {**bundle(self.report), "text/plain": repr(self)}

    def show(self) -> Any:
        """Displays both programs in one interactive view, and returns its widget."""
        return self.report.show()

    def save(self, path: str | Path) -> Path:
        """Saves the view of both programs as ``.html``, ``.json``, ``.svg`` or ``.md``, by the suffix of the path.

        Raises:
            ValueError: for any other suffix.
        """
        return self.report.save(path)


def diff(before: Report, after: Report) -> Comparison:
    """Compares two reports: of two models, versions, targets or backends, or before and after a fix.

    Two layers are treated as the same if they are at the same place between equal layers, whatever their names.

    Args:
        before: the first report.
        after: the second report.

    Returns:
        A :class:`Comparison`; its ``repr`` is text, and a notebook shows both programs in one view.

    Example::

        tpushape.diff(tpushape.trace(old, data), tpushape.trace(new, data))
    """
    old, new = ([node for node in report.flow.nodes if node.kind in LISTED] for report in (before, after))
    pairs = matched(before.flow, after.flow, old, new)
    rows_before, rows_after = rows(before), rows(after)
    taken = {j for _, j in pairs}
    kept = {i for i, _ in pairs}
    changed: list[Change] = []
    marks: dict[str, Mark] = {}
    for i, j in pairs:
        what = _differences(old[i], new[j], rows_before[i], rows_after[j])
        if what:
            changed.append(Change(old[i].name, new[j].name, new[j].op or new[j].kind, what))
            renamed = uncounted(old[i].name) != uncounted(new[j].name)
            marks[new[j].id] = Mark("changed", _told(what), old[i].name if renamed else "")
    told = before.about.model != after.about.model
    titles = (_title(before, told), _title(after, told))
    totals = _totals(before, after, rows_before, rows_after)
    same = len(pairs) - len(changed)
    flow, nodes, edges = united(before.flow, after.flow, {old[i].id: new[j].id for i, j in pairs}, frozenset(LISTED), marks)
    return Comparison(
        titles,
        [(node.name, node.op) for j, node in enumerate(new) if j not in taken],
        [(node.name, node.op) for i, node in enumerate(old) if i not in kept],
        changed,
        totals,
        same,
        report=Report(
            flow,
            after.findings,
            target=after.target,
            verdicts=after.verdicts,
            title=f"{titles[0]} → {titles[1]}",
            limits=after.limits,
            about=_about(before.about, after.about),
            overlays=after.overlays,
            difference=Difference(*titles, nodes, edges, _told(totals), same),
        ),
    )


def _title(report: Report, told: bool) -> str:
    target = f" on {report.target.name}" if report.target else ""
    return f"{(told and report.about.model) or report.title or 'model'}{target}"


def _about(before: About, after: About) -> About:
    model = f"{before.model} → {after.model}" if before.model and after.model else ""
    return About(model, after.data, after.backend, after.when)


def _told(what: dict[str, tuple[Any, Any]]) -> tuple[Said, ...]:
    return tuple(Said(key, _show(old), _show(new)) for key, (old, new) in what.items())


def _differences(old: Node, new: Node, before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    what = {}
    for key in sorted({*old.config, *new.config} - {"name", "call"}):
        if old.config.get(key) != new.config.get(key):
            what[key] = (old.config.get(key), new.config.get(key))
    what.update({said: (before[key], after[key]) for key, said in _SAID.items() if before[key] != after[key]})
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


def _show(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _more(old: Any, new: Any) -> str:
    both = isinstance(old, int) and isinstance(new, int)
    return f" ({new - old:+,})" if both else ""
