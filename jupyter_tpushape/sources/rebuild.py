"""The same pipeline without its stateful stages: shuffle, cache, snapshot.

Each pass over ``shuffle`` advances its seeds, and a pass over ``cache`` fills it or locks its file. A
sample must do neither, so the stages after such a stage are created again on top of its input, with the
functions that are already traced. No Python code of the user runs here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .pipeline import inputs_of, op_name

DROPPED = frozenset({"shuffle", "cache", "snapshot", "save"})
UNCHANGED = frozenset({"prefetch", "options", "ignore_errors", "restructured"})


class CannotRemake(Exception):
    """A stage after a stateful one is of an unknown kind; the message names it."""


def remembers(dataset: Any) -> bool:
    """Whether a pass over the pipeline would change its state."""
    return op_name(dataset) in DROPPED or any(remembers(source) for source in inputs_of(dataset))


def _function(dataset: Any, attribute: str = "_map_func") -> tuple[Any, Any]:
    function = getattr(dataset, attribute).function
    return function, function.captured_inputs


def _map(raw: Any, ds: Any, source: Any, args: dict[str, Any]) -> Any:
    f, captured = _function(ds)
    return raw.MapDataset(input_dataset=source, other_arguments=captured, f=f, preserve_cardinality=bool(ds._preserve_cardinality), **args)


def _filter(raw: Any, ds: Any, source: Any, args: dict[str, Any]) -> Any:
    f, captured = _function(ds, "_predicate")
    return raw.FilterDataset(input_dataset=source, other_arguments=captured, predicate=f, **args)


def _take_while(raw: Any, ds: Any, source: Any, args: dict[str, Any]) -> Any:
    f, captured = _function(ds, "_predicate")
    return raw.TakeWhileDataset(input_dataset=source, other_arguments=captured, predicate=f, **args)


def _flat_map(raw: Any, ds: Any, source: Any, args: dict[str, Any]) -> Any:
    f, captured = _function(ds)
    return raw.FlatMapDataset(input_dataset=source, other_arguments=captured, f=f, **args)


def _interleave(raw: Any, ds: Any, source: Any, args: dict[str, Any]) -> Any:
    f, captured = _function(ds)
    return raw.InterleaveDataset(
        input_dataset=source, other_arguments=captured, f=f, cycle_length=max(1, int(ds._cycle_length)),
        block_length=max(1, int(ds._block_length)), **args,
    )  # fmt: skip


def _batch(raw: Any, ds: Any, source: Any, args: dict[str, Any]) -> Any:
    return raw.BatchDatasetV2(input_dataset=source, batch_size=ds._batch_size, drop_remainder=ds._drop_remainder, **args)


def _padded_batch(raw: Any, ds: Any, source: Any, args: dict[str, Any]) -> Any:
    tf = sys.modules["tensorflow"]
    return raw.PaddedBatchDatasetV2(
        input_dataset=source, batch_size=ds._batch_size, drop_remainder=ds._drop_remainder,
        padded_shapes=[tf.cast(shape, tf.int64) for shape in tf.nest.flatten(ds._padded_shapes)],
        padding_values=tf.nest.flatten(ds._padding_values), output_shapes=args["output_shapes"], metadata=args["metadata"],
    )  # fmt: skip


def _counted(kind: str) -> Callable[[Any, Any, Any, dict[str, Any]], Any]:
    def make(raw: Any, ds: Any, source: Any, args: dict[str, Any]) -> Any:
        return getattr(raw, kind)(input_dataset=source, count=ds._count, **args)

    return make


def _shard(raw: Any, ds: Any, source: Any, args: dict[str, Any]) -> Any:
    return raw.ShardDataset(input_dataset=source, num_shards=ds._num_shards, index=ds._index, **args)


def _unbatch(raw: Any, _: Any, source: Any, args: dict[str, Any]) -> Any:
    return raw.UnbatchDataset(input_dataset=source, **args)


def _rebatch(raw: Any, ds: Any, source: Any, args: dict[str, Any]) -> Any:
    return raw.RebatchDatasetV2(
        input_dataset=source, batch_sizes=ds._batch_sizes, drop_remainder=ds._drop_remainder,
        output_types=args["output_types"], output_shapes=args["output_shapes"],
    )  # fmt: skip


MAKERS: dict[str, Callable[[Any, Any, Any, dict[str, Any]], Any]] = {
    "map": _map, "filter": _filter, "take_while": _take_while, "flat_map": _flat_map, "interleave": _interleave, "batch": _batch,
    "padded_batch": _padded_batch, "repeat": _counted("RepeatDataset"), "take": _counted("TakeDataset"), "skip": _counted("SkipDataset"),
    "shard": _shard, "unbatch": _unbatch, "rebatch": _rebatch,
}  # fmt: skip


def _variant(dataset: Any) -> Any:
    if not remembers(dataset):
        return dataset._variant_tensor
    op = op_name(dataset)
    sources = inputs_of(dataset)
    if op in DROPPED or op in UNCHANGED:
        return _variant(sources[0])
    raw = sys.modules["tensorflow"].raw_ops
    args = dict(dataset._flat_structure, metadata=getattr(dataset, "_metadata", None))
    args["metadata"] = args["metadata"].SerializeToString() if args["metadata"] is not None else b""
    if op == "zip":
        return raw.ZipDataset(input_datasets=[_variant(source) for source in sources], **args)
    if op == "concatenate":
        return raw.ConcatenateDataset(input_dataset=_variant(sources[0]), another_dataset=_variant(sources[1]), **args)
    if op not in MAKERS or len(sources) != 1:
        raise CannotRemake(op)
    return MAKERS[op](raw, dataset, _variant(sources[0]), args)


def without_memory(dataset: Any) -> Any:
    """A dataset with the same elements, in the order of their source, that leaves the original unchanged.

    Raises:
        CannotRemake: with the kind of stage that cannot be created again.
    """
    if not remembers(dataset):
        return dataset
    module = sys.modules["tensorflow.python.data.ops.dataset_ops"]
    try:
        return module._VariantDataset(_variant(dataset), dataset.element_spec)
    except CannotRemake:
        raise
    except Exception as error:  # a private attribute that another TensorFlow names otherwise
        raise CannotRemake(f"{op_name(dataset)}: {type(error).__name__}") from error
