"""What a loss or metric compares: its labels and predictions, its kind, and what an operation inside a custom function received of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..examine.evidence import Evidence
from ..flow import Edge, KeyPath, Node, Shape, elements
from ..flow.paths import flatten, show
from ..sources.stats import stats_of
from ..sources.values import Stats
from ..trace.axes import recurs
from .upstream import ancestors
from .words import PAIRING

_DIFFERENCES = frozenset({"Sub", "SquaredDifference", "sub"})


def kind_of(node: Node) -> str:
    """``sparse``, ``categorical``, ``binary``, ``regression`` or ``custom``."""
    op = node.op.lower().replace("_", "")
    if not node.config.get("builtin", False):
        return "custom"
    if of_sequences(node):
        return "custom"
    if "sparse" in op:
        return "sparse"
    if "categorical" in op:
        return "categorical"
    if "binary" in op:
        return "binary"
    return "regression"


def texts_of(evidence: Evidence, path: KeyPath) -> set[str]:
    """The texts that were seen at a leaf of the labels."""
    items = (item for values in seen_at(evidence, path) for item in values.reshape(-1).tolist())
    return {item.decode(errors="replace") if isinstance(item, bytes) else str(item) for item in items}


def written_numbers(texts: set[str]) -> str:
    """The dtype of the numbers that texts write: ``int64``, ``float32``."""
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return ""
    if not numbers or not np.isfinite(numbers).all():
        return ""
    return "int64" if all(text.strip().lstrip("+-").isdigit() for text in texts) else "float32"


def of_sequences(node: Node) -> bool:
    """Whether a loss of the framework's own compares sequences of class numbers with sequences of predictions, of any two lengths: CTC."""
    return bool(node.config.get("builtin")) and node.op.lower().startswith("ctc")


def ends(evidence: Evidence, node: Node) -> tuple[Edge | None, Edge | None]:
    """The edges of the labels and predictions of a loss or metric."""
    edges = evidence.flow.into(node.id)
    labels = next((edge for edge in edges if edge.label == "labels"), None)
    predictions = next((edge for edge in edges if edge.label == "predictions"), None)
    if node.kind == "op" and node.op in _DIFFERENCES and len(edges) == 2 and labels is predictions is None:
        # A step of the program's own that compares its data with what a model gives.
        data = [evidence.flow.node(edge.source).kind in ("input", "stage") for edge in edges]
        if data.count(True) == 1:
            return edges[data.index(True)], edges[data.index(False)]
    return labels, predictions


def folder(evidence: Evidence, y: Shape, p: Shape, predictions: Edge) -> Node | None:
    """The layer upstream that folded, or pooled, the axis that the labels have but the predictions lack."""
    if len(y) != len(p) + 1 or len(y) < 3 or y[1] in (None, 1):
        return None
    start = evidence.flow.node(predictions.source)
    for node in [start, *ancestors(evidence, start.id)]:
        given = next((edge.spec.shape for edge in evidence.flow.into(node.id)), None)
        gives = next((edge.spec.shape for edge in evidence.flow.out_of(node.id)), None)
        if given is not None and gives is not None and len(given) == len(gives) + 1 and node.kind == "layer":
            return node if given[1] == y[1] and len(gives) == 2 else None
    return None


def cut_sequence(evidence: Evidence, y: Shape, predictions: Edge) -> Node | None:
    """The recurrent layer upstream that returns only its last step, if the labels have one value for each of its steps."""
    source = evidence.flow.node(predictions.source)
    for node in [source, *ancestors(evidence, source.id)]:
        if recurs(node):
            given = next((edge.spec.shape for edge in evidence.flow.into(node.id) if edge.label not in ("mask", "initial_state")), None)
            returns = next((edge.spec.shape for edge in evidence.flow.out_of(node.id)), None)
            cut = given is not None and returns is not None and len(given) == len(returns) + 1 > 2
            return node if cut and given is not None and given[1] in (y[1], None) and y[1] != 1 else None
    return None


def reduced_steps(evidence: Evidence, y: Shape, predictions: Edge) -> Node | None:
    """What takes one of the steps, or pools them, if the labels have one value for each of them; nearest to the end first."""
    source = evidence.flow.node(predictions.source)
    for node in [source, *ancestors(evidence, source.id)]:
        given = [edge.spec.shape for edge in evidence.flow.into(node.id) if edge.label != "mask"]
        gives = next((edge.spec.shape for edge in evidence.flow.out_of(node.id)), None)
        before = given[0] if given else None
        # With layers inside it, it is one of them that does.
        if before and gives and len(before) == len(gives) + 1 == 3 and not any(one.parent == node.id for one in evidence.flow.nodes):
            return node if before[1] == y[1] not in (None, 1) and (before[0], before[2]) == gives else None
    return None


def seen_at(evidence: Evidence, path: KeyPath | None) -> list[Any]:
    """What was seen at a leaf of the data, batch by batch."""
    sampled = getattr(evidence.sample, "sampled", ())
    part = ("x", "y", "weight").index(str(path[0])) if path else 1
    return [value for drawn in sampled for at, value in flatten(drawn[part], path[0] if path else "y") if at == path and isinstance(value, np.ndarray)]


def stats_at(evidence: Evidence, path: KeyPath | None, column: int | None = None) -> Stats | None:
    """Statistics of one leaf, or of one column of it."""
    arrays = [value if column is None else value[:, column] for value in seen_at(evidence, path) if column is None or value.ndim == 2]
    return stats_of(arrays) if arrays else None


def encoded_from_one(evidence: Evidence, path: KeyPath | None) -> bool:
    """Whether the observed labels are one-hot vectors of every class but class 0, each seen often enough to tell."""
    seen, stats = seen_at(evidence, path), stats_at(evidence, path)
    if stats is None or not stats.one_hot:
        return False
    counts = sum(value.reshape(-1, value.shape[-1]).sum(axis=0) for value in seen)
    return bool(counts[0] == 0 and counts[1:].min() > 2)


def encoded_twice(evidence: Evidence, path: KeyPath | None) -> bool:
    """Whether the observed labels are one-hot vectors of the values."""
    seen = seen_at(evidence, path)
    if not seen or any(value.ndim < 3 for value in seen):
        return False
    outer, inner = stats_of(seen), stats_of([value.argmax(-1) for value in seen])
    return bool(outer and inner and outer.one_hot and inner.one_hot)


def lists_classes(evidence: Evidence, path: KeyPath | None, classes: int) -> bool:
    """Whether each observed label is a row of different class numbers, all of them below the number of classes."""
    seen = seen_at(evidence, path)
    if not seen or any(value.ndim != 2 or value.dtype.kind not in "iu" or not value.size for value in seen):
        return False
    inside = all(value.min() >= 0 and value.max() < classes for value in seen)
    apart = all(len(set(row)) == len(row) for value in seen for row in value.tolist())
    return inside and apart and max(int(value.max()) for value in seen) > 1


def copied_from(evidence: Evidence, path: KeyPath | None, ahead: bool = False) -> str:
    """The input whose observed values the labels are, or where they are ``ahead`` by a step, the one whose next steps they are."""
    labels = [value[:, :-1] if ahead and value.ndim > 1 else value for value in seen_at(evidence, path)]
    same = ahead and all((value == value[:1, :1]).all() for value in labels if value.ndim > 1)  # one value says nothing of an order
    for name, _ in evidence.x if labels and not same else ():
        inputs = [value[:, 1:] if ahead and value.ndim > 1 else value for value in seen_at(evidence, name)]
        if len(inputs) == len(labels) and all(np.array_equal(one, other) for one, other in zip(inputs, labels, strict=True)):
            return show(name)
    return ""


def met_whole(evidence: Evidence, y: Shape, p: Shape) -> bool:
    """Whether the failed operation received all labels and all predictions, folded or not; a loss that encodes its labels compares those."""
    if any(node.op in ("OneHot", "one_hot") and node.status == "ok" for node in evidence.flow.nodes):
        return False
    sizes = {elements(edge.spec.shape) for edge in evidence.failed_inputs() if edge.spec.shape}
    return sizes == {elements(y), elements(p)}


def as_they_are(evidence: Evidence, node: Node, y: Shape, p: Shape) -> bool:
    """Whether the failed operation in a custom function received the labels and predictions unchanged."""
    given = [edge.spec.shape for edge in evidence.operands()]
    # What takes more than the two, such as their lengths, need not compare them value by value.
    return node.kind != "op" or (y in given and p in given and len(evidence.given) <= 2)


def sizes_met(evidence: Evidence, node: Node, pairs: list[set[int | None]]) -> bool:
    """Whether two sizes can be the cause of a failed operation in custom code: tensors of one rank show where they differ."""
    shapes = [edge.spec.shape for edge in evidence.operands()]
    if node.kind != "op" or len(shapes) != 2 or not shapes[0] or not shapes[1] or len(shapes[0]) != len(shapes[1]) or len(shapes[0]) < 3:
        return True
    return any({a, b} in pairs for a, b in zip(shapes[0], shapes[1], strict=True) if a != b)


def widths_met(evidence: Evidence, node: Node, widths: set[int | None]) -> bool:
    """Whether an operation in custom code received both sizes: a function that only splits the predictions compares no labels."""
    given = {edge.spec.shape[-1] for edge in evidence.failed_inputs() if edge.spec.shape}
    if node.op in PAIRING and 1 in widths:
        return False  # an axis of size 1 is broadcast, so another axis raised
    return node.kind != "op" or not given or widths <= given


# What leaves a label the number that it is, up to its sign.
_AS_IT_IS = frozenset({
    "Cast", "Identity", "Reshape", "ExpandDims", "Squeeze", "Neg", "convert_element_type", "reshape", "squeeze", "broadcast_in_dim", "neg",
})  # fmt: skip


def as_it_came(evidence: Evidence, edge: Edge) -> Edge:
    """The edge upstream with the same numbers: what is only cast, reshaped or negated is still what it was."""
    while evidence.flow.node(edge.source).op in _AS_IT_IS and evidence.flow.into(edge.source):
        edge = evidence.flow.into(edge.source)[0]
    return edge


# What leaves all values of a tensor what they are, wherever they stand then.
_ALL_KEPT = (_AS_IT_IS - {"Neg", "neg"}) | {
    "Transpose", "Permute", "Flatten", "RepeatVector", "Dropout", "BroadcastTo", "Swapaxes", "Moveaxis", "transpose", "copy", "Identity",
}  # fmt: skip


def fed_whole(evidence: Evidence, edge: Edge) -> KeyPath | None:
    """The leaf of the data whose values all come along this edge, none of them changed."""
    seen: set[str] = set()
    while edge.id not in evidence.paths:
        before = evidence.flow.into(edge.source)
        node = evidence.flow.node(edge.source)
        every = node.op in _ALL_KEPT or node.kind in ("input", "split", "stage")
        # A slice of everything, such as one with a new axis.
        if node.op in ("Slice", "StridedSlice") and len(before) == 1 and (size := elements(edge.spec.shape)) is not None:
            every = size == elements(before[0].spec.shape)
        if len(before) != 1 or edge.id in seen or not every:
            return None
        seen.add(edge.id)
        edge = before[0]
    return evidence.paths[edge.id]


def observed_labels(evidence: Evidence, labels: Edge) -> Any:
    """What was seen of the values of these labels (``sources.values.Stats``)."""
    return evidence.label_stats.get(evidence.carried(labels))


# Counts and ratings are whole numbers as well, but there are few classes.
FEW_CLASSES = 100


def classes_counted(stats: Any) -> int:
    """How many classes labels are the indices of, judged by the observed values."""
    if stats is None or not stats.whole or stats.minimum != 0 or stats.maximum is None or stats.distinct is None:
        return 0
    classes = int(stats.maximum) + 1
    return classes if 2 < classes <= FEW_CLASSES and stats.distinct > classes // 2 else 0


def class_labels(evidence: Evidence, labels: Edge, predictions: Edge) -> bool:
    """Whether each label is the index of one of the predicted classes, judged by the observed values."""
    y, p = labels.spec.shape, predictions.spec.shape
    stats = observed_labels(evidence, labels)
    if not y or not p or len(p) < 2 or y not in (p[:-1], (*p[:-1], 1)) or stats is None or not stats.whole or not p[-1]:
        return False
    head = evidence.flow.node(predictions.source)
    shares = head.op == "Softmax" or head.config.get("activation") == "softmax"
    low, high = stats.minimum or 0, stats.maximum or 0
    if high == 1 and p[-1] > 2 and any(kind_of(one) == "binary" for one in evidence.losses()):
        return False  # one of two classes, as the loss says
    return bool(low >= 0 and 1 < p[-1] > high and (shares or (high > 1 and labels.spec.dtype.startswith(("int", "uint")))))
