"""Candidates in how the data is batched: sizes, lengths, the order of stages, how files are shared out."""

from __future__ import annotations

import ast
from typing import Any

from ...examine.evidence import Evidence
from ...flow import Finding, KeyPath, Shape, show_shape
from ...flow.paths import flatten, show
from ...flow.syntax import called
from ...rules.compared import seen_at
from ...rules.facts.entry import ZippedApart
from ...rules.facts.layers import OperationRaised
from ...rules.facts.orders import OrdersApart
from ...rules.facts.reasons import WholeOnly
from ...rules.tpu_batch import never_batched
from ...rules.words import count
from ..edits import AddBatch, BatchedParts, BatchNumber, BatchOnce, InputBatch, Rebatch, ShardedOnce, ShareRows, ShuffledPairs, data_code
from ..text.source import nodes
from .edits import Made, of, shapes_set, transform
from .entry import declaration
from .line import lines_at

_DEFAULT = 32


def batch_dataset(evidence: Evidence, finding: Finding) -> Made:
    """A batch for a pipeline that has none."""
    if not never_batched(evidence, maybe=True):
        return
    replicas = evidence.target.replicas if evidence.target else 1
    declared = next((spec.shape[0] for _, spec in evidence.declared or [] if spec.shape), None)
    size = declared or -(-(evidence.facts.get("batch_size") or _DEFAULT) // replicas) * replicas
    rows = getattr(evidence.sample, "cardinality", None) or 0
    short = 0 < rows < size
    drop = (replicas > 1 or bool(declared)) and not short
    edit = AddBatch("data", size, drop, any(None in (leaf.shape or ()) for _, leaf in evidence.sample.leaves()))
    yield (f"Batch the dataset: {edit.stage}", [edit], "fit expects a batched dataset and does not batch it itself.")


@of(ZippedApart)
def batched_parts(evidence: Evidence, finding: Finding, fact: ZippedApart) -> Made:
    """The same batches for the other parts of a zipped pipeline."""
    parts = " and ".join(str(index + 1) for index in fact.single)
    drop = ", drop_remainder=True" if fact.drops else ""
    yield (
        f"Batch part {parts} of the zipped dataset, too: .batch({fact.batch}{drop})",
        [BatchedParts("data", list(fact.single), fact.batch, fact.drops)],
        "Each batch is then paired with a batch of the same samples.",
    )


@of(OrdersApart)
def shuffled_pairs(evidence: Evidence, finding: Finding, fact: OrdersApart) -> Made:
    """The order of the pairs, in place of that of one part."""
    yield "Move shuffle() after zip(): one order for all parts", [ShuffledPairs("data")], "Each sample then keeps its label."


def batch_once(evidence: Evidence, finding: Finding) -> Made:
    """A pipeline that batches batches."""
    sample = evidence.sample
    if sample is None:
        return
    ranks = [len(leaf.shape) for _, leaf in sample.leaves("x") if leaf.shape is not None]
    declared = [spec.rank for _, spec in evidence.declared or [] if spec.rank is not None]
    if sample.batchings > 1 and ranks and (not declared or [rank - 1 for rank in ranks] == declared):
        yield (
            "Batch only once: add unbatch() after the second batch(), or remove that batch()",
            [BatchOnce("data")],
            f"The pipeline calls batch() {sample.batchings} times, and each call adds an axis.",
        )


def whole_graph(evidence: Evidence, finding: Finding) -> Made:
    """All rows in one batch, where an input has one number for each row."""
    sample = evidence.sample
    rows = getattr(sample, "rows", None)
    across = [show(path) for path, spec in evidence.x if len(evidence.x) > 1 and spec.shape and len(spec.shape) > 1 and spec.shape[1] == rows]
    if isinstance(finding.fact, OperationRaised) and isinstance(finding.fact.reason, WholeOnly):
        across.append(f"The {rows} × {rows} matrix")
    if rows and across and getattr(sample, "batch", None) != rows:
        # A backend that draws a size for the unknown batch axis builds the layer only where the size is declared.
        declared = _batch_declared(evidence, rows) if evidence.where == "build" else []
        yield (
            f"Feed all {rows} rows in one batch{f', and declare it: batch_size={rows}' if declared else ''}",
            [*declared, Rebatch("data", rows, False)],
            f"{across[0]} has one value per row, so do not shuffle or split the data.",
        )


def _batch_declared(evidence: Evidence, rows: int) -> list[InputBatch]:
    flow = evidence.flow
    inputs = [node for node in flow.nodes if node.kind == "input"]
    shapes = {edge.source: edge.spec.shape for edge in flow.edges}
    opened = [(shapes.get(node.id) or (rows,))[0] is None for node in inputs]
    return [InputBatch(node.name, i, rows) for i, (node, unknown) in enumerate(zip(inputs, opened, strict=True)) if unknown]


def declared_rows(evidence: Evidence, finding: Finding) -> Made:
    """Batches of the number of rows that the model's input declares."""
    declared = {spec.shape[0] for _, spec in evidence.declared or [] if spec.shape}
    stateful = any(node.config.get("stateful") for node in evidence.flow.nodes)
    if len(declared) == 1 and (size := declared.pop()) and stateful:
        yield (
            f"Use batches of {count(size, 'row')} and drop the remainder",
            [Rebatch("data", size, True)],
            "A stateful layer keeps one state for each row of the declared batch.",
        )


def written_batch(evidence: Evidence, finding: Finding) -> Made:
    """Another number of rows where the code of a generator or a PyDataset writes it."""
    sample, parts = evidence.sample, evidence.split.parts if evidence.split is not None else 1
    batch = next(iter(getattr(sample, "batch_sizes", ())), None)
    if getattr(sample, "kind", "") not in ("generator", "pydataset") or not batch or parts < 2 or batch % parts == 0:
        return
    for size in dict.fromkeys(n for n in (round(batch / parts) * parts, -(-batch // parts) * parts, batch // parts * parts) if n):
        yield (
            f"Use batches of {count(size, 'row')} instead of {batch}",
            [BatchNumber("data", batch, size)],
            f"Each of {parts} devices then receives {count(size // parts, 'row')}.",
        )


def shared_rows(evidence: Evidence, finding: Finding) -> Made:
    """Arrays without the rows of a last batch that devices cannot share."""
    sample, split = evidence.sample, evidence.split
    rows, batch = getattr(sample, "rows", None), getattr(sample, "batch", None)
    if sample is None or sample.kind != "arrays" or split is None or not rows or not batch or not split.divides(batch):
        return
    left = rows % batch
    leaves = [path for part in ("x", "y", "weight") for path, leaf in sample.leaves(part) if leaf.shape]
    if left and rows > batch and leaves:
        yield (
            f"Leave out the last {count(left, 'row')}: {rows - left} of {rows}",
            [transform(path, "first_rows", rows=rows - left) for path in leaves],
            f"fit then has {count((rows - left) // batch, 'batch', 'batches')} of {count(batch, 'row')}.",
        )


def static_batch(evidence: Evidence, finding: Finding) -> Made:
    """One batch size that every replica can share, and no smaller last batch."""
    replicas = evidence.target.replicas if evidence.target else 1
    sample = evidence.sample
    batch = getattr(sample, "batch", None) or max(getattr(sample, "batch_sizes", ()) or (replicas,))
    rows = getattr(sample, "rows", None)
    if rows is None and getattr(sample, "cardinality", None) and sample.cardinality > 0 and getattr(sample, "batch_sizes", ()):
        rows = sum(_drawn(sample)) if sample.cardinality <= len(_drawn(sample)) else batch * sample.cardinality
    sizes = [max(1, round(batch / replicas)) * replicas, -(-batch // replicas) * replicas, batch // replicas * replicas]
    for size in dict.fromkeys(n for n in sizes if n > 0):
        short = rows is not None and rows < size
        shared = f" ({size // replicas} for each of {replicas} replicas)" if replicas > 1 else ""
        title = f"Use batches of {count(size, 'row')} and drop the remainder{shared}"
        yield (
            title,
            [Rebatch("data", size, True, -(-size // rows) if short and rows else 0)],
            "Every step then runs the same program." + (" The data is repeated because it has fewer rows." if short else ""),
        )


def for_hosts(evidence: Evidence, finding: Finding) -> Made:
    """Arrays as a pipeline of as many rows a step, of which Keras gives each host its part."""
    sample, split = evidence.sample, evidence.split
    size = getattr(sample, "batch", None)
    if sample is not None and sample.kind == "arrays" and size and (split is None or split.divides(size)):
        whole = sample.rows is not None and sample.rows % size == 0
        yield (
            f"Pass a tf.data.Dataset of the arrays in batches of {count(size, 'row')}{'' if whole else ' and drop the remainder'}",
            [Rebatch("data", size, not whole)],
            "Keras then gives each host its own rows. fit does not shuffle a dataset: call shuffle() on it before batch().",
        )
    elif sample is not None and sample.kind == "dataset":
        yield from static_batch(evidence, finding)


def sharded_once(evidence: Evidence, finding: Finding) -> Made:
    """A pipeline that only Keras shards."""
    if getattr(finding.fact, "twice", False):
        yield (
            "Remove shard() from the pipeline",
            [ShardedOnce("data")],
            "Keras then gives each host its part of every batch. With auto_shard_dataset=False and shard(), each host reads a whole batch instead.",
        )


def whole_batches(evidence: Evidence, finding: Finding) -> Made:
    """As many batches of a PyDataset as are full ones: a division rounded down in its ``__len__``."""
    stages = evidence.stages
    for line in lines_at(evidence, stages[0].location) if stages and stages[0].op == "pydataset" else []:
        for method in (item for item in nodes(line.owner(), ast.FunctionDef) if item.name == "__len__"):
            for value in (item.value for item in nodes(method, ast.Return)):
                up = next((item for item in nodes(value, ast.Call) if called(item) == "ceil"), None) if value is not None else None
                ratio = up.args[0] if up is not None and up.args else None
                if isinstance(ratio, ast.BinOp) and isinstance(ratio.op, ast.Div) and value is not None:
                    whole = f"{ast.unparse(ratio.left)} // {ast.unparse(ratio.right)}"
                    yield f"Leave out the last batch: {whole} in __len__", [line.edit(value, whole)], "All other batches are full."


def rounded_up(evidence: Evidence, finding: Finding) -> Made:
    """As many batches as have rows: a division rounded up in ``__len__``."""
    sample = evidence.sample
    stages = sample.stages if sample is not None and any(problem.code == "empty-batch" for problem in sample.problems) else ()
    for line in lines_at(evidence, stages[0].location) if stages and stages[0].op == "pydataset" else []:
        for method in (item for item in nodes(line.owner(), ast.FunctionDef) if item.name == "__len__"):
            for value in nodes(method, ast.BinOp):
                ratio, more = (value.left, value.right) if isinstance(value.left, ast.BinOp) else (value.right, value.left)
                one = isinstance(more, ast.Constant) and more.value == 1 and isinstance(value.op, ast.Add)
                if one and isinstance(ratio, ast.BinOp) and isinstance(ratio.op, ast.FloorDiv):
                    up = f"-(-{ast.unparse(ratio.left)} // {ast.unparse(ratio.right)})"
                    yield f"Use {up} in __len__: rounded up", [line.edit(value, up)], "The last batch then has at least one row."


def _drawn(sample: Any) -> list[int]:
    return [int(next(iter(flatten(x, "x")))[1].shape[0]) for x, _, _ in sample.sampled]


def _longest(evidence: Evidence) -> list[tuple[KeyPath, int, int]]:
    """``(path, axis, size)`` of axes of x that differ from batch to batch: the longest that was seen, rounded up to eights."""
    found = []
    sample = evidence.sample
    for path, leaf in sample.leaves("x") if sample is not None and getattr(sample, "kind", "") == "dataset" else ():
        if leaf.shape is None:
            continue
        for axis, size in enumerate(leaf.shape):
            sizes = [array.shape[axis] for array in seen_at(evidence, path) if array.ndim > axis]
            if axis and size is None and sizes:
                found.append((path, axis, -(-max(sizes) // 8) * 8))
    return found


# Stages that give rows of different sizes one size.
_LEVELS = frozenset({"padded_batch", "ragged_batch", "bucket_by_sequence_length", "group_by_window"})


def _one_size(evidence: Evidence) -> dict[KeyPath, Shape]:
    """The shapes of leaves of x that the pipeline leaves open, if nothing pads and all batches have one size."""
    sample, found = evidence.sample, {}
    if sample is None or getattr(sample, "kind", "") != "dataset" or any(stage.op in _LEVELS for stage in sample.stages):
        return {}
    for path, leaf in sample.leaves("x"):
        if leaf.shape is None or None not in leaf.shape[1:]:
            continue
        rows = {array.shape[1:] for array in seen_at(evidence, path)}
        if len(rows) != 1:
            return {}
        found[path] = (leaf.shape[0], *(int(size) for size in rows.pop()))
    return found


def static_lengths(evidence: Evidence, finding: Finding) -> Made:
    """One length for sequences of several."""
    fixed = _one_size(evidence)
    if fixed:
        yield from shapes_set(fixed, "Every batch that was drawn has this size. An element of another size then raises an error.")
        return
    longest = _longest(evidence)
    edits = []
    for path, axis, size in longest:
        edits.append(transform(path, "pad_axis", axis=axis, size=size, lengths=True))
    if edits:
        sizes = ", ".join(str(size) for _, _, size in longest)
        yield (
            f"Pad every sequence to {sizes} steps",
            edits,
            "Every step then runs the same program. Longer sequences raise an error; for several lengths, use ds.bucket_by_sequence_length.",
        )


def declared_lengths(evidence: Evidence, finding: Finding) -> Made:
    """One length for sequences of several, in the data and in the declaration."""
    longest = _longest(evidence)
    for title, edits, reason in static_lengths(evidence, finding):
        if len(evidence.x) != 1 or len(evidence.declared or []) != 1:
            return
        (door, want), *_ = evidence.declared or []
        sizes = {axis: size for _, axis, size in longest}
        row = tuple(sizes.get(axis, n) for axis, n in enumerate(want.shape or ()))[1:]
        yield f"{title} and declare {show_shape(row)}", [*edits, declaration(evidence, door, row)], reason


def static_both(evidence: Evidence, finding: Finding) -> Made:
    """One length and one batch size."""
    for title, edits, reason in static_lengths(evidence, finding):
        for other, more, _ in static_batch(evidence, finding):
            yield f"{title}; {other[:1].lower()}{other[1:]}", [*more, *edits], reason


def cache_first(evidence: Evidence, finding: Finding) -> Made:
    """``cache`` in front of a random stage: what is drawn anew each epoch is not kept."""
    for steps in (1, 2, 3):
        yield (
            f"Cache before the random stage: move cache() up by {steps} stage{'s' * (steps > 1)}",
            [data_code.MoveStage("data", "cache", steps)],
            "Random values are then drawn again in every epoch.",
        )


def share_by_rows(evidence: Evidence, finding: Finding) -> Made:
    """Rows shared out instead of files."""
    yield ("Shard the rows across hosts: auto_shard_policy = DATA", [ShareRows("data", "DATA")], "There are no files to shard.")
