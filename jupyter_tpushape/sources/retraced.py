"""A pipeline that fails as it runs, looked at stage by stage with the sizes of its batches: which line of its functions cannot work."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from .pipeline import inputs_of, op_name, plain, user_function, wrappers_of

Keeps = Callable[[Any], AbstractContextManager[Any]]
_BATCHED = frozenset({"batch", "padded_batch"})


def of_a_kernel(error: BaseException) -> bool:
    """Whether an operation of a running pipeline raised, and not the program's own Python."""
    return type(error).__module__.startswith("tensorflow.")


def raised_by_stage(dataset: Any, keeps: Keeps) -> BaseException | None:
    """What the function of a ``map`` raises when it is traced with the batch size in place of an unknown size of the first axis.

    TensorFlow traces these functions once, when the pipeline is made, with sizes that may be unknown; an error that only the values of
    those show has no line of the program in its traceback.

    Args:
        dataset: the pipeline.
        keeps: runs the program's own function inside, and leaves what it reaches as it was.
    """
    tf = sys.modules.get("tensorflow")
    for source in inputs_of(dataset):
        found = raised_by_stage(source, keeps)
        if found is not None:
            return found
    wrappers = wrappers_of(dataset) if op_name(dataset) == "map" else []
    if tf is None or not wrappers:
        return None
    source = inputs_of(dataset)[0]
    rows = _rows(source)
    try:
        specs = tf.nest.map_structure(lambda spec: _with_rows(tf, spec, rows), source.element_spec)
        function = user_function(wrappers[0])
        if str(getattr(function, "__module__", "")).startswith("tensorflow."):
            return None
    except Exception:
        return None
    error = _raises(tf, function, specs, keeps)
    # What raises as well with the sizes that the pipeline was made with cannot be traced a second time, and says nothing of sizes.
    return error if error is not None and _raises(tf, function, source.element_spec, keeps) is None else None


def _raises(tf: Any, function: Any, specs: Any, keeps: Keeps) -> BaseException | None:
    try:
        with keeps(function):
            tf.function(function).get_concrete_function(*(specs if isinstance(specs, tuple) else (specs,)))
    except Exception as error:
        return error
    return None


def _rows(dataset: Any) -> int | None:
    """The rows of the last ``batch`` of a pipeline, where nothing behind it takes batches apart."""
    while op_name(dataset) not in _BATCHED:
        sources = inputs_of(dataset)
        if len(sources) != 1 or op_name(dataset) in ("unbatch", "rebatch", "flat_map", "interleave"):
            return None
        dataset = sources[0]
    size = plain(getattr(dataset, "_batch_size", None))
    return size if isinstance(size, int) else None


def _with_rows(tf: Any, spec: Any, rows: int | None) -> Any:
    shape: Any = getattr(spec, "shape", None)
    if rows is None or type(spec) is not tf.TensorSpec or not shape.rank or shape[0] is not None:
        return spec
    return tf.TensorSpec((rows, *shape[1:]), spec.dtype)
