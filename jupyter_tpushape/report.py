"""The report: a traced program, the findings, and how to show and save them."""

from __future__ import annotations

import datetime as dt
import math
import weakref
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from .files import write_text
from .flow.decoding import decoded
from .flow.findings import Finding
from .flow.graph import Flow, Target
from .flow.sound import Unsound
from .flow.sound import check as sound
from .flow.wire import VERSION, About, Difference, Overlay, Verdict, WireReport, pack, unpack


class Subject:
    """The model and the data of a trace, held by weak references, and the time of the trace."""

    def __init__(self, model: Any, data: Any) -> None:
        self.when = dt.datetime.now().astimezone().isoformat(timespec="seconds")
        self._model = _weak(model)
        self._data = tuple(map(_weak, tuple.__iter__(data))) if issubclass(type(data), tuple) else _weak(data)

    def __getstate__(self) -> str:
        """In another process there is neither model nor data."""
        return self.when

    def __setstate__(self, when: str) -> None:
        self.when, self._model, self._data = when, _gone, _gone

    def __deepcopy__(self, _: Any) -> Subject:
        return self

    def called(self, *namespaces: Mapping[str, Any]) -> tuple[str, str]:
        """The variables that hold model and data, or each part of the data; ``""`` where one has none."""
        model, data = self.kept()
        return _variables(model, namespaces), _variables(data, namespaces)

    def kept(self) -> tuple[Any, Any]:
        """Model and data; ``None`` for what no longer exists or cannot be referenced weakly."""
        return self._model(), tuple(part() for part in self._data) if isinstance(self._data, tuple) else self._data()


def _variables(value: Any, namespaces: tuple[Mapping[str, Any], ...]) -> str:
    names = []
    for part in value if issubclass(type(value), tuple) else (value,):
        found = [name for space in namespaces for name, held in list(space.items()) if held is part and not name.startswith("_")]
        if part is None or not found:
            return ""
        names.append(found[0])
    return ", ".join(names)


def _gone() -> None:
    return None


def _weak(value: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(value)
    except Exception:
        # An object may say no in any way when it is looked at.
        return lambda: None


class Report:
    """What a trace found.

    Attributes:
        flow: the traced program.
        findings: the findings, most serious first.
        target: the TPU slice or strategy, or ``None``.
        verdicts: the results of compilers, if any ran.
        difference: how two programs differ, if the report is a comparison (:func:`diff`); the flow then contains both.
        about: the names of model and data in the caller's code, the backend, and when the trace was started; the notebook adds where.
        subject: the traced model and data, held by weak references; ``None`` for a report that was loaded.
        replacement: an iterator with all elements, if the trace drew some from a one-shot iterator;
            use it instead of the original. ``None`` otherwise.
    """

    def __init__(
        self,
        flow: Flow,
        findings: list[Finding],
        *,
        target: Target | None = None,
        verdicts: list[Verdict] | None = None,
        title: str = "",
        seconds: float = 0.0,
        limits: tuple[str, ...] = (),
        about: About | None = None,
        overlays: tuple[Overlay, ...] = (),
        difference: Difference | None = None,
    ) -> None:
        self.flow = flow
        self.findings = sorted(findings, key=lambda finding: finding.rank)
        self.target = target
        self.verdicts = verdicts or []
        self.title = title
        self.seconds = seconds
        self.limits = limits
        self.about = about or About()
        self.overlays = overlays
        self.difference = difference
        self.subject: Subject | None = None
        self.replacement: Any = None

    @property
    def ok(self) -> bool:
        """Whether there is no serious problem."""
        return not any(finding.serious for finding in self.findings)

    @property
    def summary(self) -> str:
        """The result in one line."""
        if self.difference is not None:
            return compared(self.difference)
        serious = [finding for finding in self.findings if finding.serious]
        where = f" on {self.target.name}" if self.target else ""
        if not serious:
            rest = len(self.findings)
            return f"No problems found{where}" + (f" · {rest} other finding{'s' * (rest > 1)}" if rest else "")
        words = {"error": "fails", "tpu": f"fails{where or ' on the TPU'}", "silent": "runs, but not as intended"}
        count = len(serious)
        return f"{count} problem{'s' * (count > 1)} · {words[serious[0].severity]}"

    def to_wire(self) -> WireReport:
        from . import __version__

        return WireReport(
            VERSION, self.title, self.summary, self.ok, pack(self.flow), self.findings, self.target, self.verdicts,
            f"jupyter_tpushape {__version__}", round(self.seconds, 3), self.limits, self.about, self.overlays, self.difference,
        )  # fmt: skip

    def to_json(self) -> str:
        """The report as a versioned JSON document."""
        wire = self.to_wire()
        try:
            return msgspec.json.encode(wire).decode()
        except UnicodeEncodeError:
            # A name holds half a character, which no document can.
            return msgspec.json.encode(_whole(msgspec.to_builtins(wire))).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Report:
        """Loads a report from the output of :meth:`to_json`.

        Raises:
            ValueError: if the text is not a report of this version; the message says why.
        """
        if not isinstance(text, (str, bytes, bytearray, memoryview)):
            raise TypeError(f"A report is loaded from text, but this is {type(text).__name__}: use the output of report.to_json().")
        try:
            wire = decoded(text, WireReport)
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            raise ValueError(f"This is not a tpushape report: {error}. Expected the output of report.to_json().") from None
        if wire.version != VERSION:
            raise ValueError(f"This report has version {wire.version}, but this jupyter_tpushape reads version {VERSION}: trace the model again.")
        try:
            sound(wire)
        except Unsound as error:
            raise ValueError(f"This report is not consistent: {error}. Expected the output of report.to_json().") from None
        report = cls(
            unpack(wire.flow), wire.findings, target=wire.target, verdicts=wire.verdicts,
            title=wire.title, seconds=wire.seconds, limits=wire.limits, about=wire.about, overlays=wire.overlays, difference=wire.difference,
        )  # fmt: skip
        # The facts that decide the order are no part of a document.
        report.findings = list(wire.findings)
        return report

    def save(self, path: str | Path) -> Path:
        """Saves the report as ``.html``, ``.json``, ``.svg`` or ``.md``, by the suffix of the path.

        Returns:
            The path.

        Raises:
            ValueError: for any other suffix.
            OSError: if the file cannot be written; an existing file is then unchanged.
        """
        from . import view

        target = Path(path)
        write_text(target, view("").render(self, target.suffix))
        return target

    def show(self) -> Any:
        """Displays the interactive view in a notebook, and returns its widget."""
        from . import view

        return view("widget").show(self)

    def overlay(self, values: Mapping[str, float], name: str, unit: str = "") -> Report:
        """Adds values for layers to the view, which colors boxes by them and shows sums for groups.

        Args:
            values: a number for each layer name or node id; a name applies to every node that has it.
            name: the name to select in the view; replaces an overlay of the same name.
            unit: the unit to show after the values, such as ``"ms"``.

        Returns:
            The report itself.

        Raises:
            ValueError: if there is no such layer, or a value is not finite; the message says which.

        Example::

            report.overlay({"dense": 1.5, "dense_1": 0.4}, "measured", "ms")
        """
        nodes: dict[str, list[str]] = {}
        for node in self.flow.nodes:
            nodes.setdefault(node.name, []).append(node.id)
        ids = {node.id for node in self.flow.nodes}
        placed: dict[str, float] = {}
        for layer, value in values.items():
            if layer not in nodes and layer not in ids:
                near = get_close_matches(layer, nodes, n=3)
                raise ValueError(f"There is no layer {layer!r} in this report{': did you mean ' + ' or '.join(map(repr, near)) + '?' if near else '.'}")
            number = float(value)
            if not math.isfinite(number):
                raise ValueError(f"The value of {layer!r} is {value!r}, which is not a finite number.")
            placed.update(dict.fromkeys(nodes.get(layer) or [layer], number))
        self.overlays = (*(one for one in self.overlays if one.name != name), Overlay(name, placed, unit))
        return self

    def to_dataframe(self) -> Any:
        """The layers as a ``pandas.DataFrame``: name, type, input and output tensors, parameters, placement, and bytes of the weights,
        of one replica's outputs, and of the compiled program if a compiler ran.

        Raises:
            ModuleNotFoundError: if pandas is not installed.
        """
        from . import view

        return view("layers").to_dataframe(self)

    def charts(self) -> list[Any]:
        """Plotly figures of the TPU compiler's results, in MiB: memory by layer and padding by layer for each program, and memory by
        batch size if several were compiled (``compile_batches``).

        Raises:
            ValueError: if there is nothing to plot or Plotly is not installed; the message says what to do.
        """
        from . import view

        return view("charts").charts(self)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        from . import view

        return str(view("text").to_text(self))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from . import view

        return view("mime").bundle(self)  # type: ignore[no-any-return]


def compared(difference: Difference) -> str:
    """A comparison in one line: how many nodes differ."""
    states = [mark.state for mark in difference.nodes.values()]
    counts = [f"{states.count(state)} {state}" for state in ("added", "removed", "changed") if state in states]
    return " · ".join(counts) or ("Differs in total only" if difference.totals or difference.edges else "No difference")


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(one) for key, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, (list, tuple)) else value
