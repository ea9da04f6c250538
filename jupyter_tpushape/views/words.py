"""Short words for several views."""

from __future__ import annotations

import re

from ..flow import Edge, Target
from ..report import Report

_SHORT = {"float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "string": "str"}


def short_dtype(dtype: str) -> str:
    """``float32`` as ``f32``, ``int8`` as ``i8``."""
    return _SHORT.get(dtype) or re.sub(r"^(u?)int(\d+)$", lambda found: f"{found[1] or 'i'}{found[2]}", dtype)


def laid(edge: Edge, target: Target | None) -> str:
    """The layout of a tensor on a mesh: ``(batch/2, 64, model/4)``."""
    if target is None or not target.mesh or not edge.layout or edge.spec.shape is None:
        return ""
    sizes = {axis.name: axis.size for axis in target.mesh}
    parts = [
        f"{axis}/{sizes[axis]}" if axis in sizes else axis or ("?" if size is None else str(size))
        for size, axis in zip(edge.spec.shape, edge.layout, strict=False)
    ]
    return f"({', '.join(parts)}{',' * (len(parts) == 1)})"


def about(report: Report) -> list[str]:
    """What a report is of: model, data, backend, target, cell and local time, as far as they are known."""
    said, stages = report.about, [node.name for node in report.flow.nodes if node.kind == "stage"]
    # An error that is explained was raised without a choice of data and target.
    data = said.data or next(iter(stages), "declared inputs" if said.when and not said.explains else "")
    words = [
        said.model or report.title,
        "" if report.difference is not None else data,
        said.backend or report.flow.framework,
        report.target.name if report.target else "no target" if (said.when or report.title) and not said.explains else "",
        f"In[{said.execution}]" if said.execution else "",
        said.when[:16].replace("T", " "),
    ]
    return [word for word in words if word]
