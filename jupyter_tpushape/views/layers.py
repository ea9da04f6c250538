"""The layers of a report as a table: for pandas, and as Markdown."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ..flow import Edge, Flow, Node, elements, show_shape

if TYPE_CHECKING:
    from ..report import Report

#: Columns of the table, in their order. Sizes are in bytes; ``None`` where they are not known.
COLUMNS = ("name", "type", "within", "status", "takes", "gives", "parameters", "placement", "weight_bytes", "output_bytes", "compiled_bytes")

#: Kinds of nodes that have a row.
LISTED = ("layer", "op", "loss", "metric")

_BITS = {"bool": 8, "string": 0, "float8_e4m3fn": 8, "float8_e5m2": 8, "int4": 4, "uint4": 4}


def bytes_of(shape: Any, dtype: str) -> int | None:
    """The size of a tensor without padding."""
    count = elements(shape)
    digits = "".join(c for c in dtype.split("_", 1)[0] if c.isdigit())
    bits = _BITS.get(dtype, int(digits) if digits else 0)
    return None if count is None or not bits else (count * bits + 7) // 8


def rows(report: Report) -> list[dict[str, Any]]:
    """One row a layer, operation, loss or metric, in the order of the flow; a composite's numbers stand in its parts' rows.

    ``takes`` and ``gives`` are one replica's tensors. ``placement`` says what the replicas hold of what it gives, ``output_bytes`` what one
    replica does, and ``compiled_bytes`` what the compiler gave to it in the largest of the programs that it was asked about.
    """
    flow = report.flow
    into: dict[str, list[Edge]] = {}
    out: dict[str, list[Edge]] = {}
    for edge in flow.edges:
        into.setdefault(edge.target, []).append(edge)
        out.setdefault(edge.source, []).append(edge)
    names = {node.id: node.name for node in flow.nodes}
    compiled: Counter[str] = Counter()
    for verdict in report.verdicts:
        for layer in verdict.layers:
            compiled[layer.node] = max(compiled[layer.node], layer.bytes)
    return [
        {
            "name": node.name,
            "type": node.op or node.kind,
            "within": names.get(node.parent, ""),
            "status": node.status,
            "takes": _specs(into.get(node.id, [])),
            "gives": _specs(out.get(node.id, [])),
            "parameters": node.params,
            "placement": placement_of(out.get(node.id, [])),
            "weight_bytes": _weights(node),
            "output_bytes": _outputs(out.get(node.id, [])),
            "compiled_bytes": compiled.get(node.id),
        }
        for node in _listed(flow)
    ]


def _listed(flow: Flow) -> list[Node]:
    return [node for node in flow.nodes if node.kind in LISTED]


def _specs(edges: list[Edge]) -> str:
    return ", ".join(dict.fromkeys(str(edge.spec) for edge in edges))


def placement_of(edges: list[Edge]) -> str:
    """The shapes on the replicas of the first of these edges that is placed: ``8 × (8, 10)``."""
    for edge in edges:
        if edge.replicas:
            held = Counter(show_shape(replica.shape) for replica in edge.replicas)
            return ", ".join(f"{times} × {shape}" for shape, times in held.items())
    return ""


def _weights(node: Node) -> int | None:
    sizes = [bytes_of(weight.shape, weight.dtype) for weight in node.weights]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def _outputs(edges: list[Edge]) -> int | None:
    tensors = {(edge.spec.shape, edge.spec.dtype, edge.replicas) for edge in edges}
    sizes = []
    for shape, dtype, replicas in tensors:
        held = [bytes_of(replica.shape, dtype) for replica in replicas] or [bytes_of(shape, dtype)]
        sizes.append(None if None in held else max(size for size in held if size is not None))
    return None if not sizes or None in sizes else sum(size for size in sizes if size is not None)


def to_dataframe(report: Report) -> Any:
    """The rows as a ``pandas.DataFrame``.

    Raises:
        ModuleNotFoundError: if pandas is not installed.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise ModuleNotFoundError("report.to_dataframe() needs pandas: run pip install pandas") from None
    return pd.DataFrame(rows(report), columns=list(COLUMNS)).astype(
        {"parameters": "Int64", "weight_bytes": "Int64", "output_bytes": "Int64", "compiled_bytes": "Int64"}
    )
