"""Specs instead of data: planned shapes without values."""

from __future__ import annotations

from typing import Any

from ..flow import elements, show_shape
from ..flow.paths import flatten, map_leaves
from .kinds import dtype_name, has_base, is_spec
from .values import BadData, LeafSpec, Sample, Stage, TensorKind

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
