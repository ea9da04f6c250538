"""What mixes samples with one another, or loses them: the batch axis on its way through the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..flow import Edge, Finding, Node, Shape, Side, show_shape
from .evidence import Evidence
from .examples import sequential
from .loss import ancestors
from .registry import check, rule
from .words import named, pair

_SOURCE = "which axes carry the batch is found by tracing with one row more"


PAIRWISE = rule(
    "batch-broadcast", "Every sample is combined with every other by a broadcast", severity="silent", source=_SOURCE,
    fails=sequential("L.Dense(1)", y="np.zeros((8,), 'float32')", loss="lambda t, p: tf.reduce_mean(tf.square(tf.reshape(t, (-1,)) - p))"),
    passes=sequential("L.Dense(1)", y="np.zeros((8,), 'float32')", loss="lambda t, p: tf.reduce_mean(tf.square(tf.reshape(t, (-1, 1)) - p))"),
    doc="""Two tensors whose *first* axes both carry the batch, with a different number of axes, meet element by
element: (B,) with (B, 1) gives (B, B). A broadcast is meant, and not reported, where only one side carries the
batch (bias, mask, positional code, per-channel scale), where both have the same number of axes (squeeze and
excite, additive attention, pairwise distances written with expand_dims), or where a matrix product makes the
pairs. Limits: operations inside built-in layers and compiled functions are not looked into.""",
)  # fmt: skip
LOST = rule(
    "batch-axis-lost", "The batch axis does not reach the output", severity="silent", source=_SOURCE,
    fails=sequential("L.Dense(4), Mean()", more="class Mean(L.Layer):\n    def call(self, x):\n        return tf.reduce_mean(x, axis=0, keepdims=True)"),
    passes=sequential("L.Dense(4), Mean()", more="class Mean(L.Layer):\n    def call(self, x):\n        return tf.reduce_mean(x, axis=1, keepdims=True)"),
    doc="""Reported at the model's output, and at a built-in layer with weights whose first axis is no longer the
batch while another one is. Batch statistics taken aside (a mean over the batch that is subtracted again) keep the
batch on the output and are not reported.""",
)  # fmt: skip
_SPLIT = "class Split(L.Layer):\n    def call(self, x):\n        return tf.reshape(x, (-1, %d))"
MERGED = rule(
    "batch-axis-merged", "Samples are torn apart or merged by a reshape", severity="silent", source=_SOURCE,
    fails=sequential("Split(), L.Dense(1)", y="np.zeros((16, 1), 'float32')[:8]", loss="lambda t, p: tf.reduce_mean(p)", more=_SPLIT % 3),
    passes=sequential("Split(), L.Dense(1)", loss="lambda t, p: tf.reduce_mean(p)", more=_SPLIT % 6),
)  # fmt: skip
INTERLEAVED = rule(
    "reshape-interleaves", "A reshape is used where a transpose is meant", severity="silent", source=_SOURCE,
    fails=sequential("L.Reshape((5, 4, 1)), L.Flatten(), L.Dense(1)", "(8, 4, 5, 1)"), passes=sequential("L.Permute((2, 1, 3)), L.Flatten(), L.Dense(1)", "(8, 4, 5, 1)"),
    doc="""A reshape keeps the order of the numbers in memory. Where its target has exactly the axes of its input in
another order, the sizes look right and rows and columns are mixed: a transpose (Permute) was meant. Reshapes that
split or merge axes are not reported, nor those of tensors whose axes beyond one are all 1. A reshape that puts the batch
behind another axis, as (batch, time) to (time, batch), mixes samples in the same way.""",
)  # fmt: skip
SOFTMAX = rule(
    "softmax-over-batch", "A softmax over the samples of a batch", severity="silent", source=_SOURCE,
    fails=sequential("Gate(), L.Dense(1)", more="class Gate(L.Layer):\n    def call(self, x):\n        return x * tf.nn.softmax(x, axis=0)"),
    passes=sequential("Gate(), L.Dense(1)", more="class Gate(L.Layer):\n    def call(self, x):\n        return x * tf.nn.softmax(x, axis=1)"),
    doc="""Reported inside a model where the axis that a softmax sums over is the batch and no other axis is. A table of every
sample against every other (contrastive learning) has two such axes and is meant; so is what a loss does with its own values.""",
)  # fmt: skip
FIXED = rule(
    "fixed-batch", "The number of rows is written into the program", severity="error", source="found by tracing with one row more",
    fails=sequential("Fold(), L.Dense(1)", "(40, 6)", "np.zeros((40, 1), 'float32')", more="class Fold(L.Layer):\n    def call(self, x):\n        return tf.reshape(x, (32, 6))"),
    passes=sequential("Fold(), L.Dense(1)", "(40, 6)", "np.zeros((40, 1), 'float32')", more="class Fold(L.Layer):\n    def call(self, x):\n        return tf.reshape(x, (-1, 6))"),
    doc="Serious where a batch of another size is known to come: the last one of an array whose rows do not divide, or batches of several sizes.",
)  # fmt: skip

_PAIRING = frozenset(
    {
        "Sub",
        "AddV2",
        "Add",
        "Mul",
        "RealDiv",
        "SquaredDifference",
        "Maximum",
        "Minimum",
        "Equal",
        "Less",
        "Greater",
        "LessEqual",
        "GreaterEqual",
        "NotEqual",
        "Pow",
        "DivNoNan",
        "SelectV2",
    }
)


def _axes(evidence: Evidence, edge: Edge) -> dict[int, float] | None:
    probe: Any = evidence.facts.get("probe")
    return None if probe is None else probe.axes.get(edge.id)


@check(order=41)
def batch_broadcast(evidence: Evidence) -> Iterator[Finding]:
    """Element-by-element operations that pair every sample with every other."""
    for node in evidence.flow.nodes:
        if node.kind != "op" or node.op not in _PAIRING:
            continue
        edges = evidence.flow.into(node.id)
        if len(edges) != 2 or not edges[0].spec.shape or not edges[1].spec.shape:
            continue
        a, b = edges[0].spec.shape, edges[1].spec.shape
        carries = [_axes(evidence, edge) for edge in edges]
        if len(a) == len(b) or any(not found or 0 not in found or len(found) != 1 for found in carries):
            continue
        short, long = (a, b) if len(a) < len(b) else (b, a)
        expected, found = pair(long, short, names=False)
        result = (
            *long[: len(long) - len(short)],
            *(max(x or 1, y or 1) for x, y in zip(long[len(long) - len(short) :], short, strict=True)),
        )
        yield Finding(
            PAIRWISE.id, "silent",
            f"{node.op}{_at(node)} combines {show_shape(a)} with {show_shape(b)} into {show_shape(result)}: every sample with every other.",
            "Shapes are matched from the right, so the batch axis of the one meets an inner axis of the other. Give both the same number of axes.",
            expected, found, (node.id,), tuple(edge.id for edge in edges), node.called,
        )  # fmt: skip


def _at(node: Node) -> str:
    return f" at {node.called}" if node.called is not None else ""


@check(order=42)
def batch_axis(evidence: Evidence) -> Iterator[Finding]:
    """The batch axis at the outputs, and at built-in layers with weights."""
    if evidence.where or evidence.facts.get("probe") is None:
        return
    for node in evidence.flow.nodes:
        for edge in evidence.flow.into(node.id):
            grown = _axes(evidence, edge)
            if grown is None or edge.label in ("labels", "weights", "mask") or edge.spec.shape is None:
                continue
            # What a step returns are losses and metrics.
            door = (node.kind == "output" and "step" not in evidence.facts) or (
                node.kind == "layer" and bool(node.weights) and len(edge.spec.shape) > 1
            )
            if not door:
                continue
            source = evidence.flow.node(edge.source)
            if grown.get(0) == 1 or (edge.spec.shape and edge.spec.shape[0] is None):
                continue
            if 0 in grown:
                if node.kind == "output":
                    yield _merged(evidence, edge, source, node)
            elif grown or node.kind == "output":
                yield _lost(evidence, edge, source, node, grown)


def _maker(evidence: Evidence, start: Node) -> Node:
    """The first operation upstream that the batch axis did not come through as it went in."""
    for node in [start, *ancestors(evidence, start.id)]:
        for edge in evidence.flow.into(node.id):
            grown = _axes(evidence, edge)
            if grown is not None and grown.get(0) == 1:
                return node
    return start


def _lost(evidence: Evidence, edge: Edge, source: Node, node: Node, grown: dict[int, float]) -> Finding:
    maker = _maker(evidence, source)
    where = "is gone" if not grown else f"stands on axis {min(grown)}"
    at = "at the model's output" if node.kind == "output" else f"where {named(node)} reads {show_shape(edge.spec.shape)}"
    return Finding(
        LOST.id, "silent", f"The batch axis {where} {at}: {named(maker)}{_at(maker)} took it away.",
        "Keras reads the first axis as the batch. What stands there now are not samples, so labels, losses and weights meet the wrong values.",
        Side("(batch, ...)"), Side(show_shape(edge.spec.shape)), (maker.id, node.id), (edge.id,), maker.called or maker.location,
    )  # fmt: skip


_MEANT = {
    False: "A -1 in a reshape takes up whatever is left, samples included. Write the inner axes so that they hold exactly one sample.",
    True: "Joined along axis 0, the batch, one branch stands under the other, and half of the rows have no label of their own. The last axis joins features.",
}


def _did(maker: Node) -> str:
    return "joined its branches along the batch" if maker.op.startswith("Concat") else "folded another axis into the batch"


def _merged(evidence: Evidence, edge: Edge, source: Node, node: Node) -> Finding:
    maker = _maker(evidence, source)
    probe: Any = evidence.facts["probe"]
    grown = probe.axes[edge.id]
    return Finding(
        MERGED.id, "silent",
        f"The output {show_shape(edge.spec.shape)} has {grown[0]:g} rows for every sample: {named(maker)}{_at(maker)} {_did(maker)}.",
        _MEANT[maker.op == "Concatenate" or maker.op.startswith("Concat")],
        Side("(batch, ...)"), Side(show_shape(edge.spec.shape)), (maker.id, node.id), (edge.id,), maker.called or maker.location,
    )  # fmt: skip


@check(order=43)
def reshape_interleaves(evidence: Evidence) -> Iterator[Finding]:
    """Reshapes whose target is the input's own axes in another order."""
    for node in evidence.flow.nodes:
        if node.op.lower() != "reshape" or node.status != "ok":
            continue
        for edge in evidence.flow.into(node.id):
            given = edge.spec.shape
            after = next((out.spec.shape for out in evidence.flow.out_of(node.id)), None)
            if not given or not after:
                continue
            if _moved(evidence, node, edge, after):
                expected, found = pair(given, after, names=False)
                yield Finding(
                    INTERLEAVED.id, "silent", f"{named(node)}{_at(node)} turns {show_shape(given)} into {show_shape(after)}: the batch stands on another axis, and no number was moved.",
                    "A reshape keeps the order in memory, so each position now holds pieces of several samples. To exchange axes, transpose is what moves the numbers.",
                    expected, found, (node.id,), (edge.id,), node.called or node.location,
                )  # fmt: skip
                continue
            before, then = [n for n in given[1:] if n != 1], [n for n in after[1:] if n != 1]
            if before != then and len(before) > 1 and sorted(map(str, before)) == sorted(map(str, then)):
                expected, found = pair(given, after, names=False)
                yield Finding(
                    INTERLEAVED.id, "silent", f"{named(node)}{_at(node)} turns {show_shape(given)} into {show_shape(after)} without moving a number: rows and columns are mixed.",
                    "A reshape keeps the order in memory and only renames positions. To exchange axes, Permute or transpose is what moves the numbers.",
                    expected, found, (node.id,), (edge.id,), node.called or node.location,
                )  # fmt: skip


def _moved(evidence: Evidence, node: Node, edge: Edge, after: Shape) -> bool:
    """Whether a reshape carries the whole batch from the first axis to one behind axes of more than one position."""
    if _axes(evidence, edge) != {0: 1.0}:
        return False
    for out in evidence.flow.out_of(node.id):
        grown = _axes(evidence, out)
        if grown and len(grown) == 1 and 0 not in grown and next(iter(grown.values())) == 1:
            return any(n != 1 for n in after[: next(iter(grown))])
    return False


@check(order=43)
def softmax_over_batch(evidence: Evidence) -> Iterator[Finding]:
    """Softmaxes inside the model whose axis is the batch."""
    for node in evidence.flow.nodes:
        if node.op not in ("Softmax", "LogSoftmax") or node.status != "ok" or _of_a_loss(evidence, node):
            continue
        for edge in evidence.flow.into(node.id)[:1]:
            grown, shape = _axes(evidence, edge), edge.spec.shape
            if not grown or not shape or len(grown) != 1:
                continue
            axis = node.config.get("axis", -1) if node.kind == "layer" else -1
            if not isinstance(axis, int) or axis % len(shape) not in grown or len(shape) < 2:
                continue
            where = next((item for item in [node, *_above(evidence, node)] if item.kind == "layer"), node)
            inside = f" inside {named(where)}" if where is not node else ""
            yield Finding(
                SOFTMAX.id, "silent", f"A softmax{inside}{_at(node)} runs over the batch: the weights of one sample depend on the others beside it.",
                "Its values sum to 1 over the samples of a batch, and not within a sample, so a sample alone gets another result. Axis 0 is the batch: take the axis that is meant.",
                Side("an axis of the sample"), Side("the batch axis"), (node.id,), (edge.id,), node.called or node.location,
            )  # fmt: skip


def _above(evidence: Evidence, node: Node) -> Iterator[Node]:
    while node.parent:
        node = evidence.flow.node(node.parent)
        yield node


def _of_a_loss(evidence: Evidence, node: Node) -> bool:
    return any(item.kind in ("loss", "metric") for item in _above(evidence, node))


@check(order=44)
def fixed_batch(evidence: Evidence) -> Iterator[Finding]:
    """What holds with this batch size and breaks with another."""
    probe: Any = evidence.facts.get("probe")
    if probe is None or probe.failure is None:
        return
    node = evidence.flow.node(probe.failure[0])
    batch = next((spec.shape[0] for _, spec in evidence.x if spec.shape), None)
    others = _other_batches(evidence, batch)
    comes = f" A batch of {others[0]} rows comes, too." if others else " As long as every batch has this size, it works."
    yield Finding(
        FIXED.id, "error" if others else "note", f"{named(node)}{_at(node)} works for {batch} rows only: the size of the batch is written into it.",
        f"With {probe.rows} rows it says: {probe.failure[1].splitlines()[-1][:200]}.{comes}", Side("any number of rows"), Side(f"{batch} rows"), (node.id,),
        location=node.called or node.location,
    )  # fmt: skip


def _other_batches(evidence: Evidence, batch: int | None) -> list[int]:
    sample = evidence.sample
    sizes = [size for size in getattr(sample, "batch_sizes", ()) or () if size != batch]
    rows, whole = getattr(sample, "rows", None), getattr(sample, "batch", None)
    if rows and whole and getattr(sample, "kind", "") == "arrays" and rows % whole and rows > whole:
        sizes.append(rows % whole)
    return sizes
