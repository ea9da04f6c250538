"""What runs, raises nothing and computes something else than was meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..flow import Edge, Finding, Node, Shape, Side, Spec, show_shape
from .evidence import Evidence
from .loss import ancestors, cause_of_axes, ends, kind_of
from .registry import check, rule
from .words import RECURRENT, axes_of, named, pair

_SOURCE = "tpu-rules L7, L8, O10, O11; which axes carry the batch is found by tracing with one row more"


def _model(layers: str, x: str = "(8, 6)", y: str = "np.zeros((8, 1), 'float32')", loss: str = "'mse'", more: str = "") -> str:
    return f"""
{more}
def build():
    m = keras.Sequential([keras.Input({x}[1:]), {layers}]); m.compile("sgd", {loss}); return m
def data():
    return np.zeros({x}, "float32"), {y}
"""


BROADCAST = rule(
    "loss-broadcast", "The loss repeats labels or predictions to make them fit", severity="silent", source=_SOURCE,
    fails=_model("L.LSTM(4, return_sequences=True), L.Dense(1)", "(8, 5, 6)"), passes=_model("L.LSTM(4), L.Dense(1)", "(8, 5, 6)"),
    doc="""Regression losses subtract labels from predictions, and subtraction repeats an axis of size 1. Keras first
removes or adds one trailing axis of size 1, which is meant; what still differs after that is compared crosswise.""",
)  # fmt: skip
PAIRWISE = rule(
    "batch-broadcast", "Every sample is combined with every other by a broadcast", severity="silent", source=_SOURCE,
    fails=_model("L.Dense(1)", y="np.zeros((8,), 'float32')", loss="lambda t, p: tf.reduce_mean(tf.square(tf.reshape(t, (-1,)) - p))"),
    passes=_model("L.Dense(1)", y="np.zeros((8,), 'float32')", loss="lambda t, p: tf.reduce_mean(tf.square(tf.reshape(t, (-1, 1)) - p))"),
    doc="""Two tensors whose *first* axes both carry the batch, with a different number of axes, meet element by
element: (B,) with (B, 1) gives (B, B). A broadcast is meant, and not reported, where only one side carries the
batch (bias, mask, positional code, per-channel scale), where both have the same number of axes (squeeze and
excite, additive attention, pairwise distances written with expand_dims), or where a matrix product makes the
pairs. Limits: operations inside built-in layers and compiled functions are not looked into.""",
)  # fmt: skip
LOST = rule(
    "batch-axis-lost", "The batch axis does not reach the output", severity="silent", source=_SOURCE,
    fails=_model("L.Dense(4), Mean()", more="class Mean(L.Layer):\n    def call(self, x):\n        return tf.reduce_mean(x, axis=0, keepdims=True)"),
    passes=_model("L.Dense(4), Mean()", more="class Mean(L.Layer):\n    def call(self, x):\n        return tf.reduce_mean(x, axis=1, keepdims=True)"),
    doc="""Reported at the model's output, and at a built-in layer with weights whose first axis is no longer the
batch while another one is. Batch statistics taken aside (a mean over the batch that is subtracted again) keep the
batch on the output and are not reported.""",
)  # fmt: skip
_SPLIT = "class Split(L.Layer):\n    def call(self, x):\n        return tf.reshape(x, (-1, %d))"
MERGED = rule(
    "batch-axis-merged", "Samples are torn apart or merged by a reshape", severity="silent", source=_SOURCE,
    fails=_model("Split(), L.Dense(1)", y="np.zeros((16, 1), 'float32')[:8]", loss="lambda t, p: tf.reduce_mean(p)", more=_SPLIT % 3),
    passes=_model("Split(), L.Dense(1)", loss="lambda t, p: tf.reduce_mean(p)", more=_SPLIT % 6),
)  # fmt: skip
INTERLEAVED = rule(
    "reshape-interleaves", "A reshape is used where a transpose is meant", severity="silent", source=_SOURCE,
    fails=_model("L.Reshape((5, 4, 1)), L.Flatten(), L.Dense(1)", "(8, 4, 5, 1)"), passes=_model("L.Permute((2, 1, 3)), L.Flatten(), L.Dense(1)", "(8, 4, 5, 1)"),
    doc="""A reshape keeps the order of the numbers in memory. Where its target has exactly the axes of its input in
another order, the sizes look right and rows and columns are mixed: a transpose (Permute) was meant. Reshapes that
split or merge axes are not reported, nor those of tensors whose axes beyond one are all 1.""",
)  # fmt: skip
FIXED = rule(
    "fixed-batch", "The number of rows is written into the program", severity="error", source="tpu-rules B; found by tracing with one row more",
    fails=_model("Fold(), L.Dense(1)", "(40, 6)", "np.zeros((40, 1), 'float32')", more="class Fold(L.Layer):\n    def call(self, x):\n        return tf.reshape(x, (32, 6))"),
    passes=_model("Fold(), L.Dense(1)", "(40, 6)", "np.zeros((40, 1), 'float32')", more="class Fold(L.Layer):\n    def call(self, x):\n        return tf.reshape(x, (-1, 6))"),
    doc="Serious where a batch of another size is known to come: the last one of an array whose rows do not divide, or batches of several sizes.",
)  # fmt: skip
LOGITS = rule(
    "logits-twice", "from_logits=True behind a softmax or sigmoid", severity="silent", source=_SOURCE,
    fails=_model("L.Dense(3, activation='softmax')", y="np.arange(8) % 3", loss="keras.losses.SparseCategoricalCrossentropy(from_logits=True)"),
    passes=_model("L.Dense(3)", y="np.arange(8) % 3", loss="keras.losses.SparseCategoricalCrossentropy(from_logits=True)"),
)  # fmt: skip
PROBABILITIES = rule(
    "logits-missing", "A cross-entropy on values that may be no probabilities", severity="note", source=_SOURCE,
    fails=_model("L.Dense(3)", y="np.arange(8) % 3", loss="'sparse_categorical_crossentropy'"),
    passes=_model("L.Dense(3, activation='softmax')", y="np.arange(8) % 3", loss="'sparse_categorical_crossentropy'"),
)  # fmt: skip
ONE_UNIT = rule(
    "one-unit-softmax", "A softmax or categorical cross-entropy over a single unit", severity="note", source="tpu-rules L8",
    fails=_model("L.Dense(1, activation='softmax')", loss="'binary_crossentropy'"), passes=_model("L.Dense(1, activation='sigmoid')", loss="'binary_crossentropy'"),
)  # fmt: skip
LABEL_RANGE = rule(
    "label-range", "A class number that the output has no unit for", severity="error", source="tpu-rules O11",
    fails=_model("L.Dense(3, activation='softmax')", y="np.arange(8) % 5", loss="'sparse_categorical_crossentropy'"),
    passes=_model("L.Dense(5, activation='softmax')", y="np.arange(8) % 5", loss="'sparse_categorical_crossentropy'"),
)  # fmt: skip
ID_RANGE = rule(
    "embedding-range", "An id beyond the embedding's table", severity="error", source="tpu-rules O10",
    fails="""
def build():
    return keras.Sequential([keras.Input((4,), dtype="int32"), L.Embedding(5, 2)])
def data():
    return np.full((8, 4), 9, "int32"), None
""",
    passes="""
def build():
    return keras.Sequential([keras.Input((4,), dtype="int32"), L.Embedding(10, 2)])
def data():
    return np.full((8, 4), 9, "int32"), None
""",
)  # fmt: skip
CONV_AXES = rule(
    "convolution-axes", "A convolution slides over fewer axes than the data has", severity="silent", source="tf_keras' and Keras' Conv1D take extra batch axes",
    frameworks=("tf_keras",),
    fails="""
def build():
    m = keras.Sequential([L.Conv1D(4, 2), L.Flatten(), L.Dense(3)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((4, 12, 12, 3), "float32"), np.zeros((4, 3), "float32")
""",
    passes="""
def build():
    m = keras.Sequential([L.Conv2D(4, 2), L.Flatten(), L.Dense(3)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((4, 12, 12, 3), "float32"), np.zeros((4, 3), "float32")
""",
)  # fmt: skip


def aligned(y: Shape, p: Shape) -> tuple[Shape, Shape]:
    """Labels and predictions as Keras aligns them before a loss: one trailing axis of size 1 comes or goes."""
    if len(y) == len(p) + 1 and y[-1] == 1:
        return (y, (*p, 1)) if len(p) == 1 else (y[:-1], p)
    if len(p) == len(y) + 1 and p[-1] == 1:
        return ((*y, 1), p) if len(y) == 1 else (y, p[:-1])
    return y, p


@check(order=40)
def loss_broadcast(evidence: Evidence) -> Iterator[Finding]:
    """Labels and predictions of a built-in loss that only broadcasting brings together."""
    if evidence.where:
        return
    for node in evidence.losses():
        labels, predictions = ends(evidence, node)
        kind = kind_of(node)
        if (
            labels is None
            or predictions is None
            or kind not in ("regression", "binary")
            or not labels.spec.shape
            or not predictions.spec.shape
        ):
            continue
        y, p = aligned(labels.spec.shape, predictions.spec.shape)
        if y == p:
            continue
        cause = (
            cause_of_axes(evidence, predictions)
            if len(predictions.spec.shape) > 2 and len(predictions.spec.shape) > len(labels.spec.shape)
            else None
        )
        giver = evidence.flow.node(predictions.source)
        expected, found = pair(predictions.spec.shape, labels.spec.shape, names=False)
        hint = ""
        blamed = giver
        if cause is not None:
            blamed = cause[1]
            hint = {
                "sequences": f" {named(blamed)} returns one vector for every time step.",
                "grid": f" The inner axes of {named(blamed)} are never flattened or pooled.",
                "input": " The inner axes of the input are never flattened.",
            }[cause[0]]
        yield Finding(
            BROADCAST.id, "silent",
            f"{node.name} compares predictions {show_shape(predictions.spec.shape)} with labels {show_shape(labels.spec.shape)} crosswise: nothing raises and the model learns something else.",
            f"An axis of size 1 is repeated until the shapes match, so each label is held against values that are not its own.{hint}",
            expected, found, (blamed.id, node.id), (predictions.id, labels.id), blamed.location or blamed.called,
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
            door = node.kind == "output" or (node.kind == "layer" and bool(node.weights) and len(edge.spec.shape) > 1)
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


def _merged(evidence: Evidence, edge: Edge, source: Node, node: Node) -> Finding:
    maker = _maker(evidence, source)
    probe: Any = evidence.facts["probe"]
    grown = probe.axes[edge.id]
    return Finding(
        MERGED.id, "silent",
        f"The output {show_shape(edge.spec.shape)} has {grown[0]:g} rows for every sample: {named(maker)}{_at(maker)} folded another axis into the batch.",
        "A -1 in a reshape takes up whatever is left, samples included. Write the inner axes so that they hold exactly one sample.",
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
            before, then = [n for n in given[1:] if n != 1], [n for n in after[1:] if n != 1]
            if before != then and len(before) > 1 and sorted(map(str, before)) == sorted(map(str, then)):
                expected, found = pair(given, after, names=False)
                yield Finding(
                    INTERLEAVED.id, "silent", f"{named(node)}{_at(node)} turns {show_shape(given)} into {show_shape(after)} without moving a number: rows and columns are mixed.",
                    "A reshape keeps the order in memory and only renames positions. To exchange axes, Permute or transpose is what moves the numbers.",
                    expected, found, (node.id,), (edge.id,), node.called or node.location,
                )  # fmt: skip


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


@check(order=45)
def loss_values(evidence: Evidence) -> Iterator[Finding]:
    """Logits and probabilities, single units, and class numbers beyond the output's units."""
    if evidence.where:
        return
    for node in evidence.losses():
        labels, predictions = ends(evidence, node)
        if predictions is None or not predictions.spec.shape:
            continue
        giver = evidence.flow.node(predictions.source)
        kind, last = kind_of(node), predictions.spec.shape[-1]
        activation = str(giver.config.get("activation") or (giver.op.lower() if giver.op == "Softmax" else ""))
        if kind in ("sparse", "categorical", "binary"):
            logits = bool(node.config.get("from_logits"))
            if logits and activation in ("softmax", "sigmoid"):
                yield Finding(
                    LOGITS.id, "silent", f"{named(giver)} ends in a {activation}, and {node.name} with from_logits=True applies it a second time.",
                    "from_logits=True expects raw values. Twice squashed, the gradients shrink and the model hardly learns.",
                    Side("raw values (no activation)"), Side(activation), (giver.id, node.id), (predictions.id,), giver.location,
                )  # fmt: skip
            elif not logits and giver.op == "Dense" and not activation:
                yield Finding(
                    PROBABILITIES.id, "note", f"{named(giver)} has no activation, and {node.name} reads its values as probabilities.",
                    "Values outside 0 to 1 are clipped. Add a softmax or sigmoid, or say from_logits=True.", None, None, (giver.id, node.id), (predictions.id,), giver.location,
                )  # fmt: skip
        if last == 1 and (activation == "softmax" or kind == "categorical"):
            yield Finding(
                ONE_UNIT.id, "note", f"{named(giver)} has a single unit: a {'softmax' if activation == 'softmax' else 'categorical cross-entropy'} over one value is always 1.",
                "The shapes agree. For two classes a sigmoid with binary_crossentropy is usual.", None, None, (giver.id,), (predictions.id,), giver.location,
            )  # fmt: skip
        if kind == "sparse" and labels is not None and last:
            yield from _label_range(evidence, node, giver, last, labels.spec)


def _label_range(evidence: Evidence, node: Node, giver: Node, classes: int, spec: Spec) -> Iterator[Finding]:
    # Of several labels the ones that this loss reads, where their spec tells them apart.
    own = [path.replace("y[", "y/").replace("]", "") for path, other in evidence.y if other == spec]
    for path, stats in (getattr(evidence.sample, "label_stats", None) or {}).items():
        mine = len(evidence.y) == 1 or (len(own) == 1 and path in (own[0], f"y/{own[0]}"))
        if not mine or stats is None or not getattr(stats, "integer", False) or stats.maximum is None:
            continue
        if stats.maximum >= classes or (stats.minimum is not None and stats.minimum < 0):
            bad = int(stats.maximum if stats.maximum >= classes else stats.minimum)
            yield Finding(
                LABEL_RANGE.id, "error", f"A label is {bad}, and {named(giver)} has {classes} units: classes 0 to {classes - 1}.",
                f"{node.name} refuses it on a CPU and turns the loss into NaN on a TPU. {path} was seen from {int(stats.minimum)} to {int(stats.maximum)}.",
                Side(f"0 to {classes - 1}"), Side(f"{int(stats.minimum)} to {int(stats.maximum)}"), (giver.id, node.id), location=giver.location,
            )  # fmt: skip


@check(order=46)
def embedding_range(evidence: Evidence) -> Iterator[Finding]:
    """Ids of an integer input that goes straight into an embedding."""
    stats = getattr(evidence.sample, "stats", None) or {}
    for node in evidence.flow.nodes:
        size = node.config.get("input_dim") if node.op == "Embedding" else None
        if not isinstance(size, int):
            continue
        for edge in evidence.flow.into(node.id):
            source = evidence.flow.node(edge.source)
            while source.kind == "op" and source.op == "Cast" and evidence.flow.into(source.id):
                source = evidence.flow.node(evidence.flow.into(source.id)[0].source)
            path = source.role.replace("[", "/").replace("]", "") if source.kind == "input" else ""
            seen = next((stats[key] for key in (path, f"x/{path}", f"x/{source.name}") if key in stats), None)
            if seen is None or seen.maximum is None or not (seen.maximum >= size or (seen.minimum is not None and seen.minimum < 0)):
                continue
            yield Finding(
                ID_RANGE.id, "error", f"{named(node)} has {size} rows, and the data brings ids from {int(seen.minimum)} to {int(seen.maximum)}.",
                f"A CPU raises at the first id beyond {size - 1}; a TPU silently takes the last row instead. input_dim is the number of ids, the largest one plus 1.",
                Side(f"0 to {size - 1}"), Side(f"{int(seen.minimum)} to {int(seen.maximum)}"), (node.id,), (edge.id,), node.location,
            )  # fmt: skip


@check(order=47)
def convolution_axes(evidence: Evidence) -> Iterator[Finding]:
    """A 1-D convolution straight on data that has two spatial axes."""
    for node in evidence.flow.nodes:
        names = axes_of(node.op)
        if node.status != "ok" or not names or not node.op.startswith("Conv") or node.op in RECURRENT:
            continue
        for edge in evidence.flow.into(node.id):
            shape = edge.spec.shape
            source = evidence.flow.node(edge.source)
            if source.kind == "input" and shape and len(shape) == len(names) + 1 and evidence.declared is None:
                yield Finding(
                    CONV_AXES.id, "silent", f"{named(node)} slides over one axis, and the data {show_shape(shape)} has {len(shape) - 2}: each row of it is convolved alone.",
                    "An extra axis is read as more batch. For images, Conv2D sees neighbours in both directions.", Side(f"({', '.join(names)})", names),
                    Side(show_shape(shape)), (node.id,), (edge.id,), node.location,
                )  # fmt: skip
