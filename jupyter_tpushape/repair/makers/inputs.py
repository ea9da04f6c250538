"""Candidates for what is fed: inputs in each other's place, tensors that are not dense, dtypes that a TPU lacks."""

from __future__ import annotations

import difflib
import itertools
from typing import Any

from ...flow import Edit, Finding, Shape, Spec, show_shape
from ...rules.entry import accepted, matched, names_apart
from ...rules.evidence import Evidence
from .edits import Made
from .entry import declaration, place

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
    if all(_suits(want, got) for (_, want), (_, got) in matched(evidence)) and not any(names_apart(evidence)):
        return
    paths = [path for path, _ in x]
    named = not any(path.startswith("x[") for path in paths)
    orders = [
        order
        for order in itertools.permutations(range(len(x)))
        if all(_suits(want, x[i][1]) for (_, want), i in zip(declared, order, strict=True))
    ]
    if not orders:
        return
    best = max(orders, key=lambda order: _alike(declared, x, order))
    unique = len(orders) == 1
    names = [name for name, _ in declared]
    if named:
        mapping = {name: paths[i] for name, i in zip(names, best, strict=True)}
        changed = [f"{new} gets {old}" for new, old in mapping.items() if old != new]
        yield (
            f"Hand the inputs over under their names: {', '.join(changed)}",
            [Edit("data-transform", "x", {"op": "exchange", "order": mapping})],
            "the only order in which every input fits" if unique else "by name and shape; other orders fit too",
        )
    elif best != tuple(range(len(x))):
        yield (
            f"Hand the inputs over in the declared order: {', '.join(paths[i] for i in best)}",
            [Edit("data-transform", "x", {"op": "exchange", "order": list(best)})],
            "the only order in which every input fits" if unique else "by shape and dtype; other orders fit too",
        )


def _alike(declared: list[tuple[str, Spec]], x: list[tuple[str, Spec]], order: tuple[int, ...]) -> tuple[float, float]:
    """How well an order agrees: dtypes first, then names."""
    pairs = [(want, x[i]) for want, i in zip(declared, order, strict=True)]
    kinds = sum(_kind(want[1].dtype) == _kind(got[1].dtype) for want, got in pairs)
    return kinds, sum(difflib.SequenceMatcher(None, want[0], got[0]).ratio() for want, got in pairs)


def _leaves(evidence: Evidence, kinds: tuple[str, ...]) -> list[tuple[str, Any]]:
    sample = evidence.sample
    if sample is None:
        return []
    return [(path, leaf) for path, leaf in sample.leaves() if path.startswith("x") and getattr(leaf, "kind", "dense") in kinds]


def _where(path: str) -> dict[str, Any]:
    key = path[1:].strip("/[]")
    return {"key": int(key) if key.isdigit() else key} if key else {}


def dense(evidence: Evidence, finding: Finding) -> Made:
    """Sparse and ragged tensors made dense in the pipeline."""
    edits = []
    for path, leaf in _leaves(evidence, ("sparse", "ragged")):
        detail: dict[str, Any] = {"op": "to_dense", "sparse": leaf.kind == "sparse", **_where(path)}
        edits.append(Edit("data-transform", "x", detail))
    if edits:
        yield "Make the tensors dense in the pipeline, on the host", edits, "a TPU takes dense tensors only"


def known_rank(evidence: Evidence, finding: Finding) -> Made:
    """A shape for what a Python function gave, as it was seen."""
    from ...sources.nested import flatten

    sample = evidence.sample
    edits, shown = [], []
    drawn = dict(flatten(sample.sampled[0][0], "x")) if sample is not None and sample.sampled else {}
    batches = set(getattr(sample, "batch_sizes", ()))
    for path, leaf in sample.leaves() if sample is not None else ():
        if path.startswith("x") and leaf.shape is None and path in drawn:
            size = leaf.concrete[0] if leaf.concrete else drawn[path].shape[0]
            shape: Shape = (size if len(batches) == 1 else None, *drawn[path].shape[1:])
            edits.append(Edit("data-transform", "x", {"op": "ensure_shape", "shape": list(shape), **_where(path)}))
            shown.append(show_shape(shape))
    if edits:
        yield f"Say the shape in the pipeline: {', '.join(shown)}", edits, "as the first batch has it; another shape then raises"


_NARROWER = {"int64": ("int32",), "uint64": ("int32",), "float64": ("float32",), "complex128": ("complex64",)}


def narrower(evidence: Evidence, finding: Finding) -> Made:
    """Data of a dtype that the operation has a TPU kernel for."""
    for index, ((name, want), (path, got)) in enumerate(matched(evidence)):
        for dtype in _NARROWER.get(got.dtype, ("float32",) if got.dtype.startswith(("int", "uint", "bool")) else ()):
            if want.shape is None:
                continue
            edits = [Edit("data-transform", "x", {"op": "cast", "dtype": dtype, **place(evidence, index, path)})]
            shape = declaration(index, want.shape[1:], name)
            edits.append(Edit(shape.kind, shape.target, {**shape.detail, "dtype": dtype}))
            yield f"Feed {name} as {dtype}", edits, f"the operation has a TPU kernel for it, and none for {got.dtype}"
