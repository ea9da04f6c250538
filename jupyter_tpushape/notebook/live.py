"""``%tpushape watch model data``: a trace after each cell that changed either, in one place."""

from __future__ import annotations

import sys
from typing import Any


class Live:
    """Traces two names again when what they stand for has changed, and says what changed."""

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
        said = changed(before, self.report)
        if said:
            print(f"tpushape ▸ {said}", file=sys.stderr)
        if self.widget is not None:
            self.widget.update(self.report)
        else:
            from .magic import _rich

            if _rich(self.shell):
                from ..views.widget import show

                self.widget = show(self.report)
            else:
                print(repr(self.report))


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
    """What changed between two reports, in a sentence; ``""`` where nothing did."""
    if before is None:
        return ""
    old = {(finding.rule, finding.message) for finding in before.findings if finding.serious}
    new = {(finding.rule, finding.message) for finding in now.findings if finding.serious}
    if old and not new:
        return "What was broken flows now: nothing serious is left."
    gone, come = len(old - new), [message for _, message in new - old]
    if come:
        return str(come[0])
    return f"{gone} problem{'s' * (gone != 1)} gone, {len(new)} left." if gone else ""
