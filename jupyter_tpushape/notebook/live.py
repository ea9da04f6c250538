"""``%tpushape watch model data``: traces again after each cell that changed either, and updates one output."""

from __future__ import annotations

from typing import Any

from ..flow import Finding
from ..views.naming import listed, named
from .tell import rich, tell


class Live:
    """Traces two names again when their values have changed, and reports the difference."""

    def __init__(self, shell: Any, magics: Any, names: list[str], chosen: dict[str, Any]) -> None:
        self.shell, self.magics, self.names, self.chosen = shell, magics, names, chosen
        self.widget: Any = None
        self.report: Any = None
        self._print: Any = None

    def again(self, first: bool = False) -> None:
        """Traces where something changed; the first time in any case."""
        from ..diagnose import trace

        values = [self.magics._value(name) for name in self.names]
        now = tuple(_fingerprint(value) for value in values)
        if now == self._print and not first:
            return
        self._print = now
        before, self.report = self.report, trace(values[0], values[1] if len(values) > 1 else None, **{**self.chosen, "progress": None})
        named(self.report, self.shell, *self.names[:2])
        said = changed(before, self.report)
        if said:
            tell(self.shell, said)
        if self.widget is not None:
            self.widget.update(self.report)
        else:
            if rich(self.shell):
                from ..views.widget import show

                self.widget = show(self.report)
            else:
                print(repr(self.report))


MOST_KEPT = 50


def keep(reports: dict[str, Any], model: str, report: Any) -> Any:
    """Stores a model's report, and returns the report to compare it with.

    That is the report of the last failure if it is about the same code, and otherwise the model's previous report on this data and target.
    """
    failed = reports.get("")
    before = reports.pop(model, None)
    reports[model] = report
    while len(reports) > MOST_KEPT:
        reports.pop(next(iter(reports)))
    if model and failed is not None and failed.about.model in ("", model):
        reports.pop("", None)
        return failed
    same = before is not None and before.target == report.target and listed(before.about.data) == listed(report.about.data)
    return before if same else None


def _fingerprint(value: Any) -> Any:
    if isinstance(value, (tuple, list)) and len(value) <= 8:
        # `(x, y)` is made anew each time that it is read.
        return tuple(_fingerprint(item) for item in value)
    layers = getattr(value, "layers", None)
    optimizer = getattr(value, "optimizer", None)
    inner = tuple((id(layer), len(getattr(layer, "weights", ()) or ())) for layer in layers) if isinstance(layers, list) else ()
    return (
        id(value),
        inner,
        id(optimizer),
        str(getattr(value, "loss", "")),
        str(getattr(value, "shape", "")),
        str(getattr(value, "element_spec", "")),
    )


def changed(before: Any, now: Any) -> str:
    """What changed between two reports, in one or two sentences; ``""`` if nothing changed."""
    if before is None:
        return ""
    old = [finding for finding in before.findings if finding.serious]
    new = [finding for finding in now.findings if finding.serious]
    gone = [finding for finding in old if not any(_alike(finding, other) for other in new)]
    come = [finding for finding in new if not any(_alike(finding, other) for other in old)]
    if come:
        return str(come[0])
    if gone:
        left = f" {len(new)} problem{'s' * (len(new) != 1)} left." if new else " No serious problem is left."
        return f"{_mended(before, gone[0])}{left}"
    return _moved(before.flow, now.flow)


def _alike(one: Finding, other: Finding) -> bool:
    """Whether two findings are the same, regardless of node ids."""
    return one.rule == other.rule and one.fact == other.fact


def _mended(before: Any, finding: Any) -> str:
    """That what a finding spoke of flows now."""
    names = {node.id: node.name or node.op for node in before.flow.nodes}
    edges = {edge.id: edge for edge in before.flow.edges}
    broken = [edges[edge] for edge in finding.edges if edge in edges] or [edge for edge in edges.values() if edge.status == "failed"]
    if broken and finding.severity != "silent":
        return f"Fixed: the edge {names.get(broken[0].source, '')} → {names.get(broken[0].target, '')}."
    return f"Fixed: {finding}"


def _moved(before: Any, now: Any) -> str:
    """That the shape which reaches an output is another one."""
    was, is_now = _reached(before), _reached(now)
    for name, spec in is_now.items():
        if name in was and was[name] != spec:
            return f"{name} changed from {was[name]} to {spec}."
    return ""


def _reached(flow: Any) -> dict[str, str]:
    ends = {node.id: node.name or node.op for node in flow.nodes if node.kind == "output"}
    return {f"The output {ends[edge.target]}": str(edge.spec) for edge in flow.edges if edge.target in ends}
