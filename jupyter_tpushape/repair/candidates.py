"""From a finding and the specs on both sides to edits worth trying, the likeliest first.

Order is a prior, by what an expert would reach for: at the cause rather than at the symptom, one edit
rather than two, nothing thrown away. Verification has the last word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..flow import Edit, Finding
from ..rules.evidence import Evidence
from . import entry, graph, labels


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


_MAKERS: dict[str, tuple[Any, ...]] = {
    "missing-batch-axis": (entry.add_batch_axis,),
    "batch-in-input-shape": (entry.declare_rows, entry.declare_inner),
    "channels-order": (entry.channels,),
    "swapped-axes": (entry.declare_rows, entry.permute_data),
    "transposed-input": (entry.transpose_data,),
    "flattened-input": (entry.reshape_data, entry.declare_and_reshape, entry.declare_rows),
    "input-rank": (entry.rank_data, entry.declare_rows),
    "input-axis": (entry.declare_rows, entry.resize_axis),
    "input-dtype": (graph.none,),
    "input-structure": (graph.none,),
    "data-misfit": (entry.transpose_rows, entry.shared_rows),
    "data-raises": (entry.recount,),
    "dynamic-unsupported": (entry.static_batch,),
    "varying-batch": (entry.static_batch,),
    "uneven-replicas": (entry.static_batch,),
    "empty-replicas": (entry.static_batch,),
    "string-input": (graph.host_layer,),
    "layer-rank": (
        graph.sequences_upstream,
        graph.embed_ids,
        graph.reshape_upstream,
        graph.higher_dimension,
        entry.rank_undeclared,
        graph.reshape_before,
        graph.other_dimension,
        entry.declare_rows,
        entry.rank_declared,
    ),
    "layer-axis": (graph.project_before,),
    "merge-shapes": (graph.merge, entry.declare_exact),
    "reshape-size": (graph.reshape_target,),
    "window-too-large": (graph.keep_size, entry.declare_rows),
    "axis-unknown": (graph.pool_unknown, entry.declare_known, entry.declare_rows, graph.leave_out),
    "attention-shapes": (graph.mask_shape,),
    "layer-raises": (graph.embed_ids, graph.other_dimension, graph.general, entry.declare_rows),
    "op-shapes": (graph.general,),
    "return-sequences": (labels.last_step, labels.pool_steps, labels.flatten_cause),
    "missing-flatten": (labels.flatten_cause, labels.flat_head),
    "integer-labels": (labels.sparse_loss, labels.one_hot_labels),
    "one-hot-labels": (labels.dense_loss, labels.label_numbers),
    "output-units": (labels.missing_head, labels.units, labels.label_numbers_binary, labels.append_head),
    "label-rank": (labels.label_numbers_binary, labels.label_axes, labels.one_unit, labels.flatten_cause),
    "loss-raises": (
        labels.whole_batch,
        labels.grid_sizes,
        labels.label_numbers_binary,
        labels.label_axes,
        labels.units,
        labels.flatten_cause,
        labels.one_hot_labels,
    ),
    "metric-raises": (labels.units, labels.flatten_cause, labels.label_axes),
    "loss-broadcast": (
        labels.broadcast_cause,
        labels.grid_sizes,
        labels.label_numbers_binary,
        labels.units,
        labels.label_axes,
        labels.flatten_cause,
        graph.leave_out,
    ),
    "label-range": (labels.more_units,),
    "embedding-range": (labels.more_rows,),
    "convolution-axes": (graph.other_dimension,),
    "logits-twice": (labels.no_logits,),
    "reshape-interleaves": (graph.permute,),
    "fixed-batch": (graph.free_batch,),
    "batch-axis-lost": (graph.leave_out,),
    "batch-axis-merged": (graph.leave_out,),
    "batch-broadcast": (graph.leave_out,),
}
