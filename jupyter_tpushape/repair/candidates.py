"""From a finding and the specs on both sides to edits worth trying, the likeliest first.

Order is a prior, by what an expert would reach for: at the cause rather than at the symptom, one edit
rather than two, nothing thrown away. Verification has the last word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..flow import Edit, Finding, Node, Shape, elements
from ..rules.evidence import Evidence
from . import entry, graph


@dataclass(frozen=True)
class Candidate:
    """Edits to try, what they are called, and why they stand where they stand."""

    title: str
    edits: tuple[Edit, ...]
    reason: str = ""
    prior: float = 0.0


def candidates(evidence: Evidence, finding: Finding) -> list[Candidate]:
    """Every candidate for a finding, in the order in which they are tried."""
    makers = _MAKERS.get(finding.rule, (graph.general,))
    found: list[Candidate] = []
    seen: set[str] = set()
    for make in makers:
        for title, edits, reason in make(evidence, finding):
            key = repr(edits)
            if key not in seen:
                seen.add(key)
                found.append(Candidate(title, tuple(edits), reason, float(len(found))))
    return found


Made = Iterator[tuple[str, list[Edit], str]]


def _shape(value: Any) -> Shape | None:
    return value if isinstance(value, tuple) else None


_MAKERS: dict[str, tuple[Any, ...]] = {
    "missing-batch-axis": (entry.add_batch_axis,),
    "batch-in-input-shape": (entry.declare_rows, entry.declare_inner),
    "channels-order": (entry.channels,),
    "swapped-axes": (entry.declare_rows, entry.permute_data),
    "transposed-input": (entry.transpose_data,),
    "flattened-input": (entry.reshape_data, entry.declare_and_reshape),
    "input-rank": (entry.rank_data, entry.declare_rows),
    "input-axis": (entry.declare_rows, entry.resize_axis),
    "input-dtype": (graph.none,),
    "input-structure": (graph.none,),
    "data-misfit": (entry.transpose_rows,),
    "data-raises": (entry.recount,),
    "dynamic-unsupported": (entry.static_batch,),
    "varying-batch": (entry.static_batch,),
    "uneven-replicas": (entry.static_batch,),
    "empty-replicas": (entry.static_batch,),
    "string-input": (graph.host_layer,),
    "layer-rank": (graph.sequences_upstream, graph.higher_dimension, entry.rank_undeclared, graph.reshape_before, graph.other_dimension, entry.declare_rows, entry.rank_declared),
    "layer-axis": (graph.project_before,),
    "merge-shapes": (graph.merge,),
    "reshape-size": (graph.reshape_target,),
    "window-too-large": (graph.keep_size, entry.declare_rows),
    "axis-unknown": (graph.pool_unknown, entry.declare_rows),
    "attention-shapes": (graph.mask_shape,),
    "layer-raises": (graph.other_dimension, graph.general, entry.declare_rows),
    "op-shapes": (graph.general,),
    "return-sequences": (graph.last_step, graph.pool_steps, graph.flatten_cause),
    "missing-flatten": (graph.flatten_cause, graph.flat_head),
    "integer-labels": (graph.sparse_loss, graph.one_hot_labels),
    "one-hot-labels": (graph.dense_loss, graph.label_numbers),
    "output-units": (graph.missing_head, graph.units, graph.label_numbers_binary, graph.append_head),
    "label-rank": (graph.label_axes, graph.one_unit, graph.flatten_cause),
    "loss-raises": (graph.whole_batch, graph.label_axes, graph.units, graph.flatten_cause, graph.one_hot_labels),
    "metric-raises": (graph.units, graph.flatten_cause, graph.label_axes),
    "loss-broadcast": (graph.broadcast_cause, graph.units, graph.label_axes, graph.flatten_cause),
    "label-range": (graph.more_units,),
    "embedding-range": (graph.more_rows,),
    "convolution-axes": (graph.other_dimension,),
    "logits-twice": (graph.no_logits,),
    "reshape-interleaves": (graph.permute,),
    "fixed-batch": (graph.free_batch,),
}


def size(node: Node) -> int:
    return elements(tuple(node.config.get("units", 0) for _ in range(1))) or 0
