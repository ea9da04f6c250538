"""What a small program with a fix computes: each input and label counts, samples stay apart, nothing becomes a constant.

The program is traced once more, for a few rows and in inference mode, and computed from drawn weights and drawn data of both signs.
Nothing is trained, and no variable of the user's is read or written. What cannot be computed is left to the graph's verdict.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..examine import Examined
from ..flow import elements
from ..flow.paths import flatten, show
from ..trace.ran import Run
from ..trace.recorder import Recorder
from ..trace.run import run

# Up to how many weights and values between layers, and how many nodes, a program is small.
VALUES, NODES = 500_000, 80
ROWS = 7
# Weights are drawn anew as long as something seems not to count.
DRAWS = 4
# Predictions above this hide a label of size 1 in a float32 loss.
LARGE = 1e5
# The units of an output are changed in at most so many groups.
GROUPS = 8

Fact = tuple[str, str]


def facts(seen: Examined) -> frozenset[Fact] | None:
    """What does not count in a program."""
    if not _small(seen):
        return None
    # What the program or a backend cannot do is no verdict.
    with contextlib.suppress(Exception):
        for rows in (ROWS, None):
            traced = _traced(seen, rows)
            if traced.error is None and traced.graph is not None and traced.graph.ends:
                computed = _Computed(seen, traced)
                return frozenset(computed.facts()) or frozenset(computed.unread())
    return None


_ASKED = {
    "input": "May the model ignore {name}? With this edit, no output changes with it.",
    "label": "May the loss ignore {name}? With this edit, the loss does not change with it.",
    "mixed": "Should the prediction for a sample depend on the other samples of its batch? With this edit, it does.",
    "units": "May the loss ignore units of {name}? With this edit, it reads only some of them.",
    "constant": "Is a constant meant at {name}? With this edit, a value computed there is the same for all data.",
}


def asked_of(fact: Fact) -> str:
    """The question that decides whether a fix may do this."""
    return _ASKED[fact[0]].format(name=fact[1] or "this place")


def _small(seen: Examined) -> bool:
    flow = seen.evidence.flow
    held = [elements(edge.spec.shape[1:]) if edge.spec.shape else None for edge in flow.edges]
    weights = sum(node.params or 0 for node in flow.nodes)
    own_step = "train_step" in (seen.evidence.facts.get("overrides") or ())
    return seen.run is not None and not own_step and len(flow.nodes) <= NODES and weights + ROWS * sum(size or 0 for size in held) <= VALUES


def _traced(seen: Examined, rows: int | None) -> Run:
    own = seen.shape_of()
    assert seen.adapter is not None
    counts = {shape[0] for leaf in _leaves(seen.sample) if (shape := own(leaf))}

    def few(leaf: Any) -> Any:
        shape = own(leaf)
        return (rows, *shape[1:]) if rows and shape and len(counts) == 1 else shape

    return run(seen.adapter, seen.model, seen.sample, shape=few, training=False, loss=seen.program.loss, recorder=Recorder(), fast=False)


def _leaves(sample: Any) -> list[Any]:
    return [leaf for part in (sample.x, sample.y, sample.weight) for _, leaf in flatten(part)]


class _Computed:
    """One program, computed several times."""

    def __init__(self, seen: Examined, traced: Run) -> None:
        assert seen.adapter is not None
        backend = seen.adapter.backend
        self.traced = traced
        self.values = backend.values(traced.recorder, traced.graph, traced.graph.ends, seen.adapter.variables(seen.model))
        self.keys = {path: id(tensor) for path, tensor in traced.fed.items()}
        self.specs = {leaf.path: leaf.spec for leaf in (*traced.x, *traced.y, *traced.weight)}
        self.ends = [id(tensor) for tensor in traced.graph.ends]
        self.loss = self.ends[-1] if traced.reached_loss else None
        self.outputs = self.ends[:-1] if traced.reached_loss else self.ends
        sampled = getattr(seen.sample, "sampled", None) or [(None, None, None)]
        self.known = {
            path: value for part, name in zip(sampled[0], ("x", "y", "weight"), strict=True) if part is not None for path, value in flatten(part, name)
        }

    def facts(self) -> Iterator[Fact]:
        """What never counted in any of several draws, and whether samples met."""
        # What no operation leads on from is the graph's business: a loss may be written without its labels.
        names = {leaf.path: show(leaf.path) for leaf in self.traced.x if self.keys[leaf.path] in self._leading(self.ends)}
        labels = {leaf.path: show(leaf.path) for leaf in self.traced.y if self.keys[leaf.path] in self._leading(self.ends[len(self.outputs) :])}
        silent = names | labels
        lost: set[Any] = set()
        moved: set[int] = set()
        hidden: set[int] = set()
        for seed in range(DRAWS):
            draw = np.random.default_rng(seed)
            # Rows that end in padding leave the last steps constant, whatever the program does with them.
            scattered = seed >= DRAWS // 2
            data = {path: self._drawn(path, draw, scattered) for path in self.keys}
            if seed == DRAWS - 1:
                # The largest of the whole numbers of a picture is the same in every draw of them.
                data = {path: self._smaller(path, value) for path, value in data.items()}
            base = self._run(data, seed)
            # Beside the -1e9 of a mask no other number shows, in the branch that is for masked positions; what is empty shows none.
            hidden |= {key for key, value in base.items() if not value.size or np.abs(value).min() > LARGE}
            if any(np.abs(base[key]).max(initial=0) > LARGE for key in self.outputs):
                lost |= set(labels)  # beside such predictions no label changes a float32 loss
            for path in names | labels:
                other = self._drawn(path, draw, scattered)
                if path in names and len(other) > 1:
                    other = np.concatenate([data[path][:1], other[1:]])
                made = self._run(data | {path: other}, seed)
                changed = {key for key in made if _changed(base[key], made[key])}
                moved |= changed if path in names else set()
                if changed & set(self.ends if path in names else [self.loss]):
                    silent.pop(path, None)
                if path in names and any(self._first_differs(base[key], made[key]) for key in self.outputs):
                    # Scores of each sample against each, or a matrix between the samples, say themselves that samples meet.
                    pairs = [base[key].shape for key in self.outputs] + [self.specs[at].shape for at in names]
                    if not any(shape and len(shape) > 1 and shape[0] == shape[1] for shape in pairs):
                        yield "mixed", ""
                        return
            still = self._still(moved) & set(base) - hidden
            if not silent and not still:
                return
        silent = {path: name for path, name in silent.items() if path not in lost}
        yield from (("input" if path in names else "label", name) for path, name in silent.items())
        if not silent:
            yield from (("constant", name) for name in sorted({self._named(key) for key in still if base[key].any() or not self._inside(key, moved)}))

    def unread(self) -> Iterator[Fact]:
        """Outputs of which a loss of the user's own reads some units and never others."""
        if self.loss is None or not any(call.kind == "loss" and not call.opaque for call in self.traced.recorder.calls):
            return
        never: dict[int, list[Any]] = {}
        for seed in range(DRAWS):
            draw = np.random.default_rng(seed)
            data = {path: self._drawn(path, draw) for path in self.keys}
            base = self._run(data, seed)
            widths = {key: base[key].shape[-1] for key in self.outputs if base[key].ndim > 1 and base[key].shape[-1] > 1}
            groups = {key: np.array_split(np.arange(width), min(GROUPS, width)) for key, width in widths.items()}
            never = never or dict(groups)
            for key, left in never.items():
                never[key] = [at for at in left if not self._reads(key, at, data, base, seed, draw)]
                # A loss may read the unit of a sample's own class alone, and no sample that was drawn need be of this class.
                for at in never[key][:] if seed == DRAWS - 1 else ():
                    labels = {path: self._of_class(value, at[0], widths[key]) for path, value in data.items() if path[0] == "y"}
                    if self._reads(key, at, data | labels, self._run(data | labels, seed), seed, draw):
                        never[key] = [other for other in never[key] if other is not at]
            if not any(never.values()):
                return
        yield from (("units", self._named(key)) for key, left in never.items() if 0 < len(left) < len(groups[key]))

    def _reads(self, key: int, units: Any, data: Any, base: dict[int, Any], seed: int, draw: Any) -> bool:
        assert self.loss is not None
        changed = base[key].copy()
        changed[..., units] = draw.uniform(size=changed[..., units].shape)
        return _changed(base[self.loss], self._run(data, seed, {key: changed})[self.loss])

    @staticmethod
    def _of_class(labels: Any, unit: int, width: int) -> Any:
        if labels.ndim > 1 and labels.shape[-1] == width and np.isin(labels, (0, 1)).all() and (labels.sum(-1) == 1).all():
            return np.broadcast_to(np.arange(width) == unit, labels.shape).astype(labels.dtype)
        if labels.dtype.kind in "iu" and labels.max(initial=0) < width:
            return np.full_like(labels, unit)
        return labels

    def _run(self, data: Any, seed: int, outputs: dict[int, Any] | None = None) -> dict[int, Any]:
        made = self.values.compute({self.keys[path]: value for path, value in data.items()} | (outputs or {}), seed)
        if not all(np.isfinite(made[key]).all() for key in self.ends):
            raise ArithmeticError
        return made

    def _drawn(self, path: Any, draw: Any, scattered: bool = False) -> Any:
        """Rows of the data as it was sampled for labels and whole numbers, numbers of both signs otherwise.

        ``scattered``: whole numbers of the inputs out of their order.
        """
        spec, known = self.specs[path], np.asarray(self.known.get(path, 0))
        if spec.shape is None or spec.kind != "dense" or None in spec.shape:
            raise ValueError(path)
        if path[0] == "weight":
            return np.ones(spec.shape, spec.dtype)
        whole = known.dtype.kind in "bui" or not (known % 1).any()
        if path[0] == "x" and spec.dtype.startswith("float") and not (whole and known.any()):
            return draw.normal(size=spec.shape).astype(spec.dtype)
        if path[0] == "x" and scattered and whole and known.ndim > 1 and known.shape[1:] == spec.shape[1:]:
            return draw.choice(known.ravel(), size=spec.shape).astype(spec.dtype)
        if known.shape[1:] == spec.shape[1:] and known.ndim and (known != known[:1]).any():
            return known[draw.integers(len(known), size=spec.shape[0])].astype(spec.dtype)
        top = max(1, int(known.max())) if whole else 1
        return (draw.integers(top + 1, size=spec.shape) if whole else draw.uniform(size=spec.shape)).astype(spec.dtype)

    def _smaller(self, path: Any, drawn: Any) -> Any:
        known = np.asarray(self.known.get(path, 0))
        return np.floor(drawn / 2) if path[0] == "x" and drawn.dtype.kind == "f" and known.any() and not (known % 1).any() else drawn

    def _first_differs(self, one: Any, other: Any) -> bool:
        rows = {spec.shape[0] for spec in self.specs.values() if spec.shape}
        return one.ndim > 0 and rows == {len(one)} and len(one) > 1 and _differ(one[0], other[0])

    def _leading(self, ends: list[int]) -> set[int]:
        needed = set(ends)
        for _, inputs, outputs in reversed(self.values.operations):
            if needed & set(outputs):
                needed |= set(inputs)
        return needed

    def _still(self, moved: set[int]) -> set[int]:
        """Tensors on the way to an output that did not change with what they are computed from."""
        needed = self._leading(self.outputs)
        data = {self.keys[path] for path in self.keys if path[0] == "x"}
        return {
            key
            for kind, inputs, outputs in self.values.operations
            if kind not in _SHAPED and (moved | data) & set(inputs)
            for key in outputs
            if key in needed and key not in moved
        }

    def _named(self, key: int) -> str:
        call = self._call(key)
        return str(call.name) if call is not None else ""

    def _inside(self, key: int, moved: set[int]) -> bool:
        call = self._call(key)
        ports = [port.key for port in call.outputs] if call is not None and call.kind == "layer" and call.opaque else []
        return bool(ports) and key not in ports and any(port in moved for port in ports)

    def _call(self, key: int) -> Any:
        reached, producers = {key}, self.traced.recorder.producers
        for _, inputs, outputs in self.values.operations:
            if reached & set(inputs) or reached & set(outputs):
                reached |= set(outputs)
                call = next((producers[one] for one in outputs if one in producers and one not in self.ends), None)
                if call is not None:
                    return call
        return None


# What is made in the shape of data only, or chosen by a mask, which the drawn data may leave as it is.
_SHAPED = frozenset({"OnesLike", "ZerosLike", "Shape", "SelectV2", "Select", "select_n"})


def _changed(one: Any, other: Any) -> bool:
    if one is other:
        return False
    one, other = np.asarray(one, "float64"), np.asarray(other, "float64")
    with np.errstate(invalid="ignore"):  # a loss may be infinite
        return bool((np.abs(one - other) > 1e-5 * np.maximum(np.abs(one), np.abs(other)) + 1e-7).any())


def _differ(one: Any, other: Any) -> bool:
    """The same up to what an order of summation changes, in proportion to the largest value."""
    if one is other:
        return False
    one, other = np.asarray(one, "float64"), np.asarray(other, "float64")
    size = max(np.abs(one).max(initial=0), np.abs(other).max(initial=0))
    return bool(np.abs(one - other).max(initial=0) > 1e-4 * size + 1e-6)
