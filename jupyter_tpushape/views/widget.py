"""The interactive view as a widget, for JupyterLab, Colab, VS Code and the classic notebook.

Importing this module imports anywidget; ``report.show()`` does that when it is called.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from typing import Any

import anywidget
import ipywidgets
import traitlets

from ..flow import MIME
from ..report import Report
from .mime import fragment
from .naming import named_here
from .script import STATIC, module

_here = threading.local()


class Code(ipywidgets.Widget):  # type: ignore[misc]
    """The view's script: one model for all widgets of a kernel, so that it is sent, and stored in a notebook, only once."""

    source = traitlets.Unicode().tag(sync=True)
    digest = traitlets.Unicode().tag(sync=True)

    @classmethod
    def shared(cls) -> Code:
        """The one of this kernel; another where somebody closed it, and for each thread: a server may run one session in each."""
        held: Code | None = getattr(_here, "code", None)
        if held is None or held.comm is None:
            source = module()
            held = _here.code = cls(source=source, digest=hashlib.sha256(source.encode()).hexdigest()[:16])
        return held


class ReportWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """A report in an interactive view.

    Attributes:
        selected: the id of the selected node, or ``""``; can be set.
        finding: the index of the shown finding; can be set.
        report: the wire document as a dict; set it (or call :meth:`update`) to show another report.
    """

    _esm = STATIC / "loader.js"
    code = traitlets.Instance(Code).tag(sync=True, **ipywidgets.widget_serialization)
    report = traitlets.Dict().tag(sync=True)
    selected = traitlets.Unicode("").tag(sync=True)
    finding = traitlets.Int(0).tag(sync=True)
    can_apply = traitlets.Bool(False).tag(sync=True)

    def __init__(self, report: Report, **more: Any) -> None:
        self._still = ""
        self._source = report
        self._shown_in: int | None = None
        super().__init__(report=json.loads(report.to_json()), code=Code.shared(), **more)

    def update(self, report: Report) -> None:
        """Shows another report in this view; expanded groups and the selection stay if they still exist."""
        self._source, self._still = report, ""
        self.report = json.loads(report.to_json())

    def on_apply(self, callback: Callable[[int, int], None]) -> None:
        """Adds an Apply button to each fix; a click calls back with the indices of the finding and the fix."""

        def receive(_: object, content: dict[str, Any], __: object) -> None:
            finding, fix = content.get("finding"), content.get("fix")
            # Indices of what is shown, and nothing else.
            if content.get("type") != "apply" or type(finding) is not int or type(fix) is not int:
                return
            found = self._source.findings
            if 0 <= finding < len(found) and 0 <= fix < len(found[finding].fixes):
                callback(finding, fix)

        self.on_msg(receive)
        self.can_apply = True

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        if self._shown_in is not None and self._shown_in == _execution():
            # `report.show()` at the end of a cell: it stands there already.
            return {"text/plain": f"{self._source.title or 'the model'}: shown above"}, {}
        made = super()._repr_mimebundle_(**options)
        if made is None:
            return None
        data, metadata = made if isinstance(made, tuple) else (made, {})
        # What stays visible where no widget runs: the document where our renderer is installed, the still on GitHub and nbviewer.
        self._still = self._still or fragment(self._source)
        return {**data, "text/plain": repr(self._source), "text/html": self._still, MIME: self.report}, metadata


def _execution() -> int | None:
    from IPython import get_ipython

    shell = get_ipython()
    return None if shell is None else int(shell.execution_count)


def show(report: Report) -> ReportWidget:
    """Displays the interactive view and returns its widget."""
    from IPython.display import display

    widget = ReportWidget(named_here(report))
    display(widget)
    widget._shown_in = _execution()
    return widget
