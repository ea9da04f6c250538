"""``%tpushape watch model data``: traces again after each cell that changed either, and updates one output."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from IPython.core.error import UsageError

from ..flow import Finding
from ..views.naming import canonical, named
from .idle import Idle
from .tell import rich, tell


class Live:
    """Traces two names again when their values have changed, and reports the difference."""

    def __init__(self, shell: Any, magics: Any, names: list[str], chosen: dict[str, Any]) -> None:
        self.shell, self.magics, self.names, self.chosen = shell, magics, names, {**chosen, "progress": None}
        self.widget: Any = None
        self.report: Any = None
        #: Whether a trace made way for a message and is still to come.
        self.owed = False
        self._print: Any = None
        self._idle = Idle.of(shell)

    def later(self, reported: Callable[[], AbstractContextManager[None]]) -> None:
        """After a cell: traces what changed as soon as the kernel has nothing else to do, and at once where there is no kernel."""
        idle = self._idle
        if idle is not None:
            idle.soon(lambda: self._aside(idle, reported))
            return
        with reported():
            self._again()

    def _aside(self, idle: Idle, reported: Callable[[], AbstractContextManager[None]]) -> None:
        extension = self.magics.extension
        if extension.watched is not self or extension.busy:
            return  # the end of the cell that runs asks again
        with reported():
            self.owed = not idle.run(self._again)
            if self.owed:
                idle.soon(lambda: self._aside(idle, reported))

    def _again(self) -> None:
        from ..examine import BadProgram
        from ..sources import BadData

        try:
            self.look()
        except (BadProgram, BadData) as error:
            tell(self.shell, str(error))
        except UsageError as error:
            if self._print != str(error):
                self._print = str(error)
                tell(self.shell, self._print)

    def look(self) -> None:
        """Traces where something changed, and shows it."""
        from ..diagnose import trace

        values = [self.magics._value(name) for name in self.names]
        last, now = self._print, tuple(_fingerprint(value) for value in values)
        if now == last:
            return
        self._print = now
        try:
            report = trace(values[0], values[1] if len(values) > 1 else None, **self.chosen)
        except KeyboardInterrupt:
            self._print = last
            raise
        before, self.report = self.report, named(report, self.shell, *self.names[:2])
        said = changed(before, report)
        if said:
            tell(self.shell, said)
        if self.widget is not None:
            self.widget.update(report)
        elif rich(self.shell):
            from ..views.widget import show

            self.widget = show(report)
        else:
            print(repr(report))


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
    same = before is not None and before.target == report.target and canonical(before.about.data) == canonical(report.about.data)
    return before if same else None


def _fingerprint(value: Any) -> Any:
    if isinstance(value, (tuple, list)) and len(value) <= 8:
        # `(x, y)` is made anew each time that it is read.
        return tuple(_fingerprint(item) for item in value)
    layers = getattr(value, "layers", None)
    optimizer = getattr(value, "optimizer", None)
    inner = tuple((id(layer), len(getattr(layer, "weights", ()) or ())) for layer in layers) if isinstance(layers, list) else ()
    return (id(value), inner, id(optimizer), str(getattr(value, "loss", "")), str(getattr(value, "shape", "")), str(getattr(value, "element_spec", "")))


def changed(before: Any, now: Any) -> str:
    """What changed between two reports, in one or two sentences."""
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
    return one.rule == other.rule and one.fact == other.fact


def _mended(before: Any, finding: Any) -> str:
    names = {node.id: node.name or node.op for node in before.flow.nodes}
    edges = {edge.id: edge for edge in before.flow.edges}
    broken = [edges[edge] for edge in finding.edges if edge in edges] or [edge for edge in edges.values() if edge.status == "failed"]
    if broken and finding.severity != "silent":
        return f"Fixed: the edge {names.get(broken[0].source, '')} → {names.get(broken[0].target, '')}."
    return f"Fixed: {finding}"


def _moved(before: Any, now: Any) -> str:
    was, is_now = _reached(before), _reached(now)
    for name, spec in is_now.items():
        if name in was and was[name] != spec:
            return f"{name} changed from {was[name]} to {spec}."
    return ""


def _reached(flow: Any) -> dict[str, str]:
    ends = {node.id: node.name or node.op for node in flow.nodes if node.kind == "output"}
    return {f"The output {ends[edge.target]}": str(edge.spec) for edge in flow.edges if edge.target in ends}
