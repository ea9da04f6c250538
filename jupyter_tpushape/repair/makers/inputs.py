"""Candidates for what is fed: inputs in each other's place, tensors that are not dense, dtypes that a TPU lacks."""

from __future__ import annotations

import difflib
import itertools
from typing import Any

from ...examine.evidence import Evidence
from ...flow import Edit, Finding, KeyPath, Shape, Spec, show_shape
from ...flow.paths import flatten, show
from ...rules.entry import accepted, crossed, matched
from .edits import Made, where
from .entry import declaration

_MOST_INPUTS = 5


def _kind(dtype: str) -> str:
    return "number" if dtype.startswith(("int", "uint")) else dtype.rstrip("0123456789")


def _suits(want: Spec, got: Spec) -> bool:
    return accepted(want, got) and (want.dtype == "string") == (got.dtype == "string")


def exchanged(evidence: Evidence, finding: Finding) -> Made:
    """Two inputs handed over in each other's place, or under other names: the one order in which all of them fit."""
    declared, x = evidence.declared or [], evidence.x
    if len(declared) != len(x) or not 2 <= len(x) <= _MOST_INPUTS:
        return
    pairs = matched(evidence)
    if len(pairs) == len(x) and all(_suits(want, got) for (_, want), (_, got) in pairs) and not crossed(evidence):
        return
    if any(len(path) != 2 for path, _ in x):
        return
    wanted = [(evidence.doors[path].word, spec) for path, spec in declared]
    given = [(path[1], spec) for path, spec in x]
    orders = [
        order
        for order in itertools.permutations(range(len(x)))
        if all(_suits(want, x[i][1]) for (_, want), i in zip(declared, order, strict=True))
    ]
    if not orders:
        return
    best = max(orders, key=lambda order: _alike(wanted, given, order))
    unique = len(orders) == 1
    if all(isinstance(key, str) for key, _ in given):
        mapping = {name: given[i][0] for (name, _), i in zip(wanted, best, strict=True)}
        changed = [f"{new} gets {old}" for new, old in mapping.items() if old != new]
        yield (
            f"Hand the inputs over under their names: {', '.join(changed)}",
            [Edit("data-transform", "x", {"op": "exchange", "order": mapping})],
            "the only order in which every input fits" if unique else "by name and shape; other orders fit too",
        )
    elif best != tuple(range(len(x))):
        yield (
            f"Hand the inputs over in the declared order: {', '.join(show(x[i][0]) for i in best)}",
            [Edit("data-transform", "x", {"op": "exchange", "order": list(best)})],
            "the only order in which every input fits" if unique else "by shape and dtype; other orders fit too",
        )


def _alike(declared: list[tuple[str, Spec]], x: list[tuple[Any, Spec]], order: tuple[int, ...]) -> tuple[float, float]:
    """How well an order agrees: dtypes first, then names."""
    pairs = [(want, x[i]) for want, i in zip(declared, order, strict=True)]
    kinds = sum(_kind(want[1].dtype) == _kind(got[1].dtype) for want, got in pairs)
    return kinds, sum(difflib.SequenceMatcher(None, want[0], str(got[0])).ratio() for want, got in pairs)


def _leaves(evidence: Evidence, kinds: tuple[str, ...]) -> list[tuple[KeyPath, Any]]:
    sample = evidence.sample
    return [(path, leaf) for path, leaf in sample.leaves("x") if leaf.kind in kinds] if hasattr(sample, "leaves") else []


def dense(evidence: Evidence, finding: Finding) -> Made:
    """Sparse and ragged tensors made dense in the pipeline."""
    edits = []
    for path, leaf in _leaves(evidence, ("sparse", "ragged")):
        detail: dict[str, Any] = {"op": "to_dense", "sparse": leaf.kind == "sparse", **where(path)}
        edits.append(Edit("data-transform", "x", detail))
    if edits:
        yield "Make the tensors dense in the pipeline, on the host", edits, "a TPU takes dense tensors only"


def known_rank(evidence: Evidence, finding: Finding) -> Made:
    """A shape for what a Python function gave, as it was seen."""
    sample = evidence.sample
    edits, shown = [], []
    drawn = dict(flatten(sample.sampled[0][0], "x")) if sample is not None and sample.sampled else {}
    batches = set(getattr(sample, "batch_sizes", ()))
    for path, leaf in sample.leaves("x") if sample is not None else ():
        if leaf.shape is None and path in drawn:
            size = leaf.concrete[0] if leaf.concrete else drawn[path].shape[0]
            shape: Shape = (size if len(batches) == 1 else None, *drawn[path].shape[1:])
            edits.append(Edit("data-transform", "x", {"op": "ensure_shape", "shape": list(shape), **where(path)}))
            shown.append(show_shape(shape))
    if edits:
        yield f"Say the shape in the pipeline: {', '.join(shown)}", edits, "as the first batch has it; another shape then raises"


_NARROWER = {"int64": ("int32",), "uint64": ("int32",), "float64": ("float32",), "complex128": ("complex64",)}


def narrower(evidence: Evidence, finding: Finding) -> Made:
    """Data of a dtype that the operation has a TPU kernel for."""
    for (door, want), (path, got) in matched(evidence):
        for dtype in _NARROWER.get(got.dtype, ("float32",) if got.dtype.startswith(("int", "uint", "bool")) else ()):
            if want.shape is None:
                continue
            edits = [Edit("data-transform", "x", {"op": "cast", "dtype": dtype, **where(path)})]
            shape = declaration(evidence, door, want.shape[1:])
            edits.append(Edit(shape.kind, shape.target, {**shape.detail, "dtype": dtype}))
            yield f"Feed {evidence.doors[door].name} as {dtype}", edits, f"the operation has a TPU kernel for it, and none for {got.dtype}"
