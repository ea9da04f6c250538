"""From a finding and the specs on both sides to edits worth trying, the likeliest first.

Order is a prior, by what an expert would reach for: at the cause rather than at the symptom, one edit
rather than two, nothing thrown away. Verification has the last word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..examine.evidence import Evidence
from ..flow import Edit, Finding
from .makers import (
    batching,
    calls,
    classes,
    data,
    entry,
    expressions,
    foreign,
    frames,
    heads,
    inputs,
    jax_arrays,
    joined,
    labels,
    layers,
    merging,
    names,
    numbers,
    operands,
    operations,
    reshapes,
    scope,
    states,
    transforms,
    widths,
    written,
)


@dataclass(frozen=True)
class Candidate:
    """Edits to try, what they are called, and why they stand where they stand."""

    title: str
    edits: tuple[Edit, ...]
    reason: str = ""
    prior: float = 0.0


def candidates(evidence: Evidence, finding: Finding) -> list[Candidate]:
    """Every candidate for a finding, in the order in which they are tried."""
    makers = (*_FIRST, *_MAKERS.get(finding.rule, (layers.general,)))
    if evidence.raised is not None and finding.rule in _AT_THE_LINE:
        makers = (
            *_FIRST,
            expressions.cast,
            expressions.states,
            operands.letters,
            operands.shape_of_other,
            operands.repeated,
            expressions.axes,
            numbers.rows,
            widths.own_width,
            written.written_size,
            numbers.last_kept,
            numbers.parts_of,
            numbers.sizes,
            numbers.shape_index,
            numbers.read_axis,
            numbers.row_size,
            *makers,
        )
    found: list[Candidate] = []
    seen: set[str] = set()
    for make in makers:
        for title, edits, reason in make(evidence, finding):
            key = repr(edits)
            if key not in seen:
                seen.add(key)
                found.append(Candidate(title, tuple(edits), reason, float(len(found))))
    return found


# Raised by an operation or a layer that a line of the user's own calls.
_AT_THE_LINE = frozenset(
    {
        "op-shapes",
        "reshape-size",
        "layer-raises",
        "attention-shapes",
        "loss-raises",
        "metric-raises",
        "code-raises",
        "merge-shapes",
        "data-raises",
        "dtype-mix",
        "symbolic-tensor",
        "rnn-states",
    }
)
# Where these see their own fault, it is the cause of whatever else was said.
_FIRST: tuple[Any, ...] = (batching.batch_dataset, inputs.regrouped, inputs.exchanged)
_MAKERS: dict[str, tuple[Any, ...]] = {
    "missing-batch-axis": (entry.add_batch_axis,),
    "batch-in-input-shape": (entry.declare_rows, entry.declare_inner, entry.add_batch_axis),
    "channels-order": (entry.channels,),
    "swapped-axes": (entry.declare_rows, entry.permute_data),
    "transposed-input": (entry.transpose_data,),
    "flattened-input": (entry.reshape_data, entry.declare_and_reshape, entry.declare_rows),
    "input-rank": (batching.batch_once, entry.rank_data, entry.declare_rows),
    "input-axis": (entry.grey_for_backbone, entry.declare_rows, entry.resize_axis),
    "input-dtype": (entry.declare_text,),
    "input-patches": (),
    "input-structure": (inputs.unstacked,),
    "data-misfit": (
        data.pad_rows,
        labels.class_numbers,
        data.yield_tuple,
        data.group_rows,
        data.transpose_all,
        data.transpose_rows,
        data.shared_rows,
    ),
    "data-raises": (data.recount, data.whole_windows),
    "dynamic-unsupported": (batching.static_batch, batching.static_lengths, batching.static_both, operations.static_mask),
    "dynamic-axis": (batching.static_lengths, batching.static_both),
    "batchnorm-empty-replica": (batching.static_batch,),
    "cache-after-random": (batching.cache_first,),
    "tpu-kernel": (operations.host_augmentation,),
    "shard-by-file": (batching.share_by_rows,),
    "composite-input": (inputs.dense,),
    "unknown-rank": (inputs.known_rank,),
    "unbatched-dataset": (),
    "tpu-dtype": (inputs.narrower, operations.single_precision),
    "tpu-kernel-dtype": (inputs.narrower,),
    "int64-matmul": (inputs.narrower,),
    "data-dependent-mix": (operations.static_mask,),
    "data-dependent-size": (operations.static_mask,),
    "scope-outside": (scope.in_scope,),
    "scope-unused": (scope.in_scope,),
    "optimizer-outside": (scope.in_scope,),
    "optimizer-of-another-model": (scope.fresh_optimizer,),
    "run-eagerly": (scope.not_eagerly,),
    "jit-compile": (scope.jit_auto,),
    "varying-batch": (batching.static_batch,),
    "uneven-replicas": (batching.static_batch,),
    "mesh-batch": (batching.static_batch,),
    "empty-replicas": (batching.static_batch,),
    "string-input": (inputs.without_text, operations.host_layer),
    "layer-rank": (
        batching.batch_once,
        entry.declare_wanted,
        layers.end_sequence,
        layers.without_time,
        layers.sequences_upstream,
        layers.other_order,
        layers.embed_ids,
        frames.flat_frames,
        layers.reshape_upstream,
        layers.higher_dimension,
        frames.each_frame,
        entry.rank_undeclared,
        entry.image_rows,
        reshapes.reshape_before,
        layers.other_dimension,
        entry.declare_rows,
        entry.rank_declared,
        operations.other_axis,
        operations.leave_out,
    ),
    "layer-axis": (layers.project_before,),
    "merge-shapes": (
        joined.exchange_query,
        joined.exchange_skips,
        merging.one_width,
        merging.flat_embeddings,
        merging.ended_sequence,
        written.written_size,
        merging.pad_and_crop,
        merging.stride_beside,
        merging.at_cause,
        merging.all_padded,
        merging.keep_positions,
        written.written_map,
        merging.merge,
        written.written_features,
        entry.declare_exact,
    ),
    "reshape-size": (reshapes.reshape_target,),
    "window-too-large": (layers.keep_size, entry.declare_rows),
    "axis-unknown": (layers.pool_unknown, batching.declared_lengths, entry.declare_known, entry.declare_rows, operations.leave_out),
    "attention-shapes": (expressions.axes, expressions.itself, layers.embed_ids, layers.attention_width, operations.mask_shape),
    "layer-raises": (
        foreign.in_keras_ops,
        numbers.first_shape,
        layers.states_too,
        calls.missing_axis,
        calls.looked_up,
        expressions.itself,
        layers.state_units,
        operations.own_weights,
        entry.cast_data,
        layers.embed_ids,
        layers.other_dimension,
        layers.general,
        entry.declare_rows,
    ),
    "op-shapes": (
        reshapes.divided,
        jax_arrays.carried,
        transforms.carried_dtype,
        transforms.not_mapped,
        transforms.aux,
        transforms.whole_size,
        transforms.whole_index,
        batching.whole_graph,
        layers.flatten_upstream,
        layers.state_units,
        operations.own_weights,
        entry.cast_data,
        written.written_size,
        merging.stride_beside,
        merging.at_cause,
        merging.all_padded,
    ),
    "rnn-states": (expressions.first_state, states.joined_states, layers.state_units),
    "made-in-call": (layers.made_once,),
    "embedding-coded": (layers.word_numbers, entry.ids_of_rows),
    "layer-uncalled": (calls.call_layer,),
    "stateful-batch": (batching.declared_rows,),
    "weights-apart": (),
    "graph-disconnected": (),
    "symbolic-tensor": (expressions.keras_functions, operands.counted_by_reshape, entry.declare_known),
    "value-asked": (expressions.keras_functions, operands.plain_sizes),
    "tensorflow-on-jax": (foreign.in_keras_ops, expressions.keras_functions),
    "unseeded-random": (foreign.seeded,),
    "item-assigned": (jax_arrays.item_set,),
    "variable-as-tensor": (operands.variables,),
    "dtype-mix": (operations.own_weights, entry.cast_data),
    "output-names": (names.named_outputs, labels.listed_losses, labels.columns),
    "add-loss-vector": (expressions.scalar_loss,),
    "metric-labels": (),
    "colour-masks": (),
    "string-labels": (labels.class_numbers,),
    "last-step-only": (heads.whole_sequence,),
    "return-sequences": (heads.last_step, heads.pool_steps, heads.flatten_cause),
    "missing-flatten": (heads.last_frame, heads.flatten_cause, heads.flat_head),
    "integer-labels": (labels.sparse_loss, labels.one_hot_labels),
    "one-hot-labels": (labels.dense_loss, labels.label_numbers),
    "output-units": (
        labels.one_channel,
        written.written_side,
        heads.missing_head,
        heads.units,
        labels.label_numbers_binary,
        heads.append_head,
    ),
    "label-rank": (
        heads.unfolded,
        heads.last_frame,
        labels.label_numbers_binary,
        labels.label_axes,
        heads.one_unit,
        heads.flatten_cause,
        heads.whole_rows,
    ),
    "output-size": (
        labels.next_steps,
        merging.padded_throughout,
        written.written_output,
        written.written_grid,
        merging.at_cause,
        merging.crop_output,
        merging.pad_and_crop,
        heads.grid_sizes,
    ),
    "loss-raises": (
        foreign.in_keras_ops,
        classes.of_its_own,
        labels.class_numbers,
        labels.listed_losses,
        labels.whole_batch,
        heads.grid_sizes,
        labels.label_numbers_binary,
        labels.label_axes,
        heads.units,
        heads.flatten_cause,
        labels.one_hot_labels,
    ),
    "metric-raises": (foreign.in_keras_ops, heads.units, heads.flatten_cause, labels.label_axes),
    "loss-broadcast": (
        labels.one_channel,
        heads.last_frame,
        heads.broadcast_cause,
        heads.grid_sizes,
        labels.label_numbers_binary,
        heads.missing_head,
        heads.units,
        labels.label_axes,
        heads.flatten_cause,
        operations.other_axis,
        operations.leave_out,
    ),
    "label-range": (heads.more_units,),
    "embedding-range": (labels.more_rows,),
    "convolution-axes": (layers.other_dimension,),
    "logits-twice": (heads.no_logits,),
    "reshape-interleaves": (reshapes.permute, operations.transpose_for_reshape),
    "softmax-over-batch": (layers.steps_for_attention, operations.softmax_axis),
    "code-raises": (foreign.in_keras_ops, calls.missing_axis, calls.looked_up, expressions.keras_functions),
    "rows-unknown": (numbers.rows_as_it_runs, batching.static_batch),
    "fixed-batch": (numbers.rows, operations.free_batch, batching.declared_rows, batching.static_batch),
    "batch-axis-lost": (operations.other_axis, operations.leave_out),
    "batch-axis-merged": (expressions.stacked, merging.last_axis, operations.whole_rows, operations.other_axis, operations.leave_out),
    "batch-broadcast": (expressions.unpaired, labels.label_axes, labels.rows_of_one, operations.other_axis, operations.leave_out),
}
