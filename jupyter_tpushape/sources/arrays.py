"""Arrays as both Kerases feed them: batch size, dtype casts, what they refuse.

Sources: ``keras/src/trainers/data_adapters/{array_data_adapter,array_slicing}.py`` and
``tf_keras/src/engine/data_adapter.py``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..flow import elements, show_shape
from ..flow.paths import children, flatten, is_nested, like, map_leaves
from .kinds import dtype_name, floatx, has_base, is_array, is_number, is_pandas, is_ragged, is_scipy, is_sparse, is_spec, is_tf_tensor, tensor_kind, type_name
from .refused import numbers_only, problems_of, row_shape, unreadable
from .stats import all_stats, kept
from .tables import head, rows_of
from .values import BadData, LeafSpec, Problem, Sample, Stage, TensorKind

FLOATS = ("float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2")


def collapse(tree: Any) -> Any:
    """The structure with each list of plain numbers replaced by an array."""
    if isinstance(tree, (list, tuple)) and numbers_only(tree):
        try:
            return np.asarray(tree)
        except ValueError:
            return np.asarray([np.asarray(item, dtype=object) for item in tree], dtype=object)
    if is_nested(tree):
        return like(tree, {key: collapse(value) for key, value in children(tree)})
    return np.asarray(tree) if is_number(tree) else tree


def shape_of(value: Any) -> tuple[int | None, ...]:
    """The shape as ``fit`` sees it; a pandas Series is a column."""
    said = getattr(value, "shape", ()) or ()
    try:
        shape = tuple(None if n is None else int(n) for n in said)
    except (TypeError, ValueError, OverflowError):
        raise BadData(f"The data has a {type_name(value)} whose shape is {str(said)[:80]}, which is not a valid shape.") from None
    if any(n is not None and n < 0 for n in shape):
        raise BadData(f"The data has a {type_name(value)} of shape {shape}, but the size of an axis cannot be negative.")
    return (*shape, 1) if is_pandas(value) == "Series" and len(shape) == 1 else shape


def dtype_of(value: Any, framework: str) -> str:
    """The dtype after ``fit`` casts to the default float."""
    if unreadable(value, framework):
        return floatx(framework)  # as if its numbers had been taken out of it, so that the trace goes on
    rows = head(value, framework)
    if rows is not None:
        name = dtype_name(rows.dtype)
        cast = framework == "keras" or is_pandas(value) == "Series"
        return floatx(framework) if name in FLOATS and cast else name
    name = dtype_name(getattr(value, "dtype", np.asarray(value).dtype))
    if name not in FLOATS:
        return name
    # tf_keras casts NumPy arrays alone; Keras 3 casts tensors of any framework as well.
    return floatx(framework) if framework == "keras" or isinstance(value, np.ndarray) else name


def to_numpy(value: Any, start: int, stop: int, framework: str) -> Any:
    """Rows of one leaf as NumPy, as a view if possible."""
    if is_scipy(value):
        return np.asarray(value.tocsr()[start:stop].todense())
    if is_ragged(value):
        return np.asarray(value[start:stop].to_tensor())
    if is_sparse(value):
        return None
    if is_pandas(value):
        rows = rows_of(value, start, stop, framework)
        return rows[:, None] if rows.ndim == 1 else rows
    if is_tf_tensor(value):
        return value[start:stop].numpy()
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    return array[start:stop]


def _row_counts(data: tuple[Any, Any, Any]) -> dict[str, list[int]]:
    counts: dict[str, list[int]] = {}
    for name, tree in zip(("x", "y", "sample_weight"), data, strict=True):
        found = [int(shape_of(leaf)[0] or 0) for _, leaf in flatten(tree) if shape_of(leaf)]
        if found:
            counts[name] = found
    return counts


def sample_arrays(x: Any, y: Any, weight: Any, *, framework: str, batch_size: int | None, batches: int) -> Sample:
    """What ``fit`` makes of arrays: batches of ``batch_size`` rows (32 unless given), the rest last.

    Returns:
        a :class:`Sample`; unequal row counts, single values and object arrays are its ``problems``.
    """
    raw = (x, y, weight)
    data = (collapse(x), collapse(y), collapse(weight))
    problems = problems_of(data, raw, framework)
    counts = _row_counts(data)
    flat = [n for found in counts.values() for n in found]
    rows = min(flat) if flat else 0
    if len(set(flat)) > 1:
        found = ", ".join(f"{name}: {' and '.join(map(str, sizes))}" for name, sizes in counts.items())
        problems.insert(
            0, Problem("cardinality", f"The arrays have different numbers of rows ({found}), but each sample needs one row in every array",
                       f"{counts[next(iter(counts))][0]} rows everywhere", found, tuple(sizes[0] for sizes in counts.values()))
        )  # fmt: skip
    if flat and not any(flat):
        problems.append(Problem("no-rows", "The arrays have no rows, so there is nothing to train on", "at least 1 row", "0 rows"))
    size = int(batch_size or 32)
    first = min(size, rows)
    static = size if rows and rows % size == 0 else None
    full, rest = divmod(rows, size)
    nested_weight = data[2]
    if framework == "keras" and nested_weight is not None and is_nested(data[1]) and not is_nested(nested_weight):
        nested_weight = map_leaves(lambda _: weight, data[1])  # Keras 3 gives each output the one array

    def leaf(value: Any) -> LeafSpec:
        shape = shape_of(value)
        if not shape:
            return LeafSpec((), dtype_of(value, framework), "dense", ())
        if isinstance(value, np.ndarray) and unreadable(value, framework):
            shape = (shape[0], *row_shape(value))
        return LeafSpec((static, *shape[1:]), dtype_of(value, framework), tensor_kind(value), (first, *shape[1:]))

    specs = [None if tree is None else map_leaves(leaf, tree) for tree in (data[0], data[1], nested_weight)]
    sampled = []
    starts = list(range(0, full * size, size)[: max(1, batches)])
    if rest and full * size not in starts:
        starts = [*starts[: max(1, batches) - 1], full * size] if starts else [full * size]
    for start in starts if rows and not any(p.code == "scalar-data" for p in problems) else ():
        stop = min(start + size, rows)

        def cut(value: Any, start: int = start, stop: int = stop) -> Any:
            return to_numpy(value, start, stop, framework)

        sampled.append(tuple(None if tree is None else map_leaves(cut, tree) for tree in (data[0], data[1], nested_weight)))
    stats = {}
    if sampled:

        def all_rows(value: Any) -> Any:
            whole = len(value) if isinstance(value, np.ndarray) and value.ndim else rows
            return to_numpy(value, 0, whole if isinstance(value, np.ndarray) or is_tf_tensor(value) else first, framework)

        ids = tuple(None if tree is None else map_leaves(all_rows, tree) for tree in (data[0], data[1]))
        stats = all_stats([(*ids, None)])  # type: ignore[list-item]
    stages = [
        Stage("arrays", "arrays", {"rows": rows}, tuple(spec for spec in specs if spec is not None)),
        Stage("batch", "batch", {"batch_size": size, "default": batch_size is None, "drop_remainder": False},
              tuple(spec for spec in specs if spec is not None), inputs=("arrays",)),
    ]  # fmt: skip
    return Sample(
        "arrays", specs[0], specs[1], specs[2], batch=first or None, rows=rows, cardinality=math.ceil(rows / size) if rows else 0,
        sampled=[tuple(None if tree is None else map_leaves(kept, tree) for tree in batch) for batch in sampled],  # type: ignore[misc]
        batch_sizes=tuple(n for n in ((size if full else 0), rest) if n), stats=stats, stages=stages, problems=problems,
        alone=isinstance(x, (tuple, list)),
    )  # fmt: skip


def all_arrays(*trees: Any) -> bool:
    """Whether each leaf is an array, or a plain number inside a list."""
    leaves = [leaf for tree in trees if tree is not None for _, leaf in flatten(tree)]
    return bool(leaves) and all(is_array(leaf) or is_number(leaf) for leaf in leaves)


def describe(tree: Any) -> str:
    """The types of a structure's leaves, for a message."""
    found = sorted({type_name(leaf) for _, leaf in flatten(tree)})
    return " and ".join(found) if found else f"an empty {type_name(tree)}"


# TensorFlow counts them in 64 bits.
MOST_ELEMENTS = 2**63 - 1


def spec_leaf(value: Any) -> LeafSpec:
    """One spec as a leaf; axis 0 is the global batch."""
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(shape, "rank"):
        shape = None if shape.rank is None else shape.as_list()
    dims = None if shape is None else tuple(None if n is None else int(n) for n in shape)
    if has_base(value, "InputSpec", "") and dims is None and getattr(value, "ndim", None) is not None:
        axes = dict(getattr(value, "axes", None) or {})
        dims = tuple(axes.get(axis, axes.get(axis - value.ndim)) for axis in range(value.ndim))
    if (elements(dims) or 0) > MOST_ELEMENTS:
        raise BadData(f"No tensor has as many elements as a spec of shape {show_shape(dims)}: use smaller sizes.")
    kind: TensorKind = "dense"
    if getattr(value, "kind", "") in ("ragged", "sparse"):
        kind = value.kind
    if has_base(value, "RaggedTensorSpec", "tensorflow") or getattr(value, "ragged", False) is True:
        kind = "ragged"
    elif has_base(value, "SparseTensorSpec", "tensorflow") or getattr(value, "sparse", False) is True:
        kind = "sparse"
    dtype = getattr(value, "dtype", None)
    return LeafSpec(dims, dtype_name(dtype) if dtype is not None else "float32", kind, dims)


def all_specs(tree: Any) -> bool:
    leaves = [leaf for _, leaf in flatten(tree)]
    return bool(leaves) and all(is_spec(leaf) for leaf in leaves)


def sample_specs(x: Any, y: Any, weight: Any) -> Sample:
    """Specs that describe the global batch."""
    trees = [None if tree is None else map_leaves(spec_leaf, tree) for tree in (x, y, weight)]
    sample = Sample("specs", trees[0], trees[1], trees[2], alone=isinstance(x, (tuple, list)))
    leaf = next((leaf for _, leaf in sample.leaves()), None)
    sample.batch = leaf.shape[0] if leaf is not None and leaf.shape else None
    sample.batch_sizes = (sample.batch,) if sample.batch else ()
    sample.stages = [Stage("specs", "specs", {"batch_size": sample.batch}, tuple(tree for tree in trees if tree is not None))]
    return sample
