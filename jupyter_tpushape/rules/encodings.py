"""What is passed to an embedding, lookups without a vocabulary, class indices that a pipeline resizes by interpolation, and pixels that are scaled twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, KeyPath, Location, Node, Severity, Shape, Who
from ..flow.paths import flatten
from ..sources.stats import stats_of
from .compared import ends, fed_whole, kind_of, seen_at, stats_at
from .facts.calls import CodedIds, CodedRows
from .facts.held import EmptyLookup
from .facts.loss_silent import LabelsInterpolated
from .facts.own_code import EmbeddedTwice
from .facts.ranges import ScaledTwice
from .registry import check, rule
from .upstream import ancestors

CODED = rule(
    "embedding-coded", "An Embedding receives encoded words instead of word ids", severity="silent", frameworks=("keras",),
    source="the output of TextVectorization and CategoryEncoding in each output_mode",
    fails="""
def build():
    i = keras.Input((3,), dtype="int32"); x = L.CategoryEncoding(num_tokens=6, output_mode="multi_hot")(i)
    x = L.GlobalAveragePooling1D()(L.Embedding(6, 4)(x)); m = keras.Model(i, L.Dense(1)(x)); m.compile("sgd", "mse"); return m
def data():
    return np.ones((8, 3), "int32"), np.zeros((8, 1), "float32")
""",
    passes="""
def build():
    i = keras.Input((3,), dtype="int32")
    x = L.GlobalAveragePooling1D()(L.Embedding(6, 4)(i)); m = keras.Model(i, L.Dense(1)(x)); m.compile("sgd", "mse"); return m
def data():
    return np.ones((8, 3), "int32"), np.zeros((8, 1), "float32")
""",
)  # fmt: skip

EMPTY = rule(
    "vocabulary-missing", "A lookup layer has no vocabulary", severity="error", backend="tensorflow", source="the vocabulary size of lookup layers, before and after adapt",
    fails="""
def build():
    i = keras.Input((3,), dtype="int64"); x = L.IntegerLookup()(i)
    m = keras.Model(i, L.Dense(1)(L.Flatten()(L.Embedding(6, 4)(x)))); m.compile("sgd", "mse"); return m
def data():
    return np.ones((8, 3), "int64"), np.zeros((8, 1), "float32")
""",
    passes="""
def build():
    i = keras.Input((3,), dtype="int64"); x = L.IntegerLookup(vocabulary=[1, 2])(i)
    m = keras.Model(i, L.Dense(1)(L.Flatten()(L.Embedding(6, 4)(x)))); m.compile("sgd", "mse"); return m
def data():
    return np.ones((8, 3), "int64"), np.zeros((8, 1), "float32")
""",
)  # fmt: skip

_CODES = ("multi_hot", "one_hot", "count", "tf_idf")
# Layers that do not change values.
_LIGHT = ("Cast", "Identity", "Dropout", "Reshape", "ExpandDims")


@check(order=15)
def coded_ids(evidence: Evidence) -> Iterator[Finding]:
    """An embedding after an encoding layer, or on encoded data."""
    for node in evidence.flow.nodes:
        coder = _coder(evidence, node) if node.op == "Embedding" else None
        rows = coded_rows(evidence, node) if node.op == "Embedding" else None
        if rows is not None:
            severity: Severity = "error" if node.status == "not-reached" else "silent"
            yield Finding.of(CODED.id, severity, CodedRows(Who.of(node), *rows), (node.id,), location=node.called or node.location)
        first = embedded_before(evidence, node)
        if first is not None:
            source, shape, between = first
            told: Severity = "error" if evidence.failure is not None else "silent"
            twice = EmbeddedTwice(Who.of(node), Who.of(source), shape, between)
            yield Finding.of(CODED.id, told, twice, (source.id, node.id), location=source.called or source.location)
        if coder is not None:
            fact = CodedIds(Who.of(node), Who.of(coder), _mode(coder))
            yield Finding.of(CODED.id, "silent", fact, (coder.id, node.id), location=coder.location)


@check(order=15, backend="tensorflow")
def lookup_empty(evidence: Evidence) -> Iterator[Finding]:
    """Lookups that no vocabulary was given and that were not adapted."""
    for node in evidence.flow.nodes:
        if node.kind == "layer" and node.config.get("words") == 0 and evidence.flow.into(node.id):
            yield Finding.of(EMPTY.id, "error", EmptyLookup(Who.of(node)), (node.id,), location=node.location)


def behind_code(evidence: Evidence, node: Node) -> bool:
    """Whether a layer works on the output of an embedding of such an encoding."""
    above = [item for item in [node, *ancestors(evidence, node.id)] if item.op == "Embedding"]
    return any(any(found(evidence, item) is not None for found in (_coder, coded_rows, embedded_before)) for item in above)


def coded_rows(evidence: Evidence, embedding: Node) -> tuple[KeyPath, Shape] | None:
    """The part of the data that an embedding reads as it is and that holds one-hot rows, and its shape."""
    for edge in evidence.flow.into(embedding.id)[:1]:
        source = evidence.flow.node(edge.source)
        while source.op == "Cast" and evidence.flow.into(source.id):
            source = evidence.flow.node(evidence.flow.into(source.id)[0].source)
        for path, spec in evidence.x if source.kind == "input" and evidence.sample is not None else ():
            door = evidence.input_at(path)
            if door is None or door.id != source.id or not spec.shape or (spec.shape[-1] or 0) <= 2:
                continue
            # An input of ids that is given as many 0s and 1s as there are ids: some may mark a start, and sum to more.
            marked = door.status == "failed" and spec.shape[-1] == embedding.config.get("input_dim")
            seen = stats_at(evidence, path)
            if seen is not None and (seen.one_hot or (marked and seen.binary)):
                return path, spec.shape
    return None


def embedded_before(evidence: Evidence, node: Node) -> tuple[Node, Shape, tuple[str, ...]] | None:
    """The embedding whose vectors another one reads as ids, their shape, and the layers between the two."""
    edges = evidence.flow.into(node.id)[:1] if node.op == "Embedding" else []
    between: list[str] = []
    while edges:
        source, shape = evidence.flow.node(edges[0].source), edges[0].spec.shape
        if source.op == "Embedding":
            return (source, shape, tuple(between)) if shape and edges[0].spec.dtype.startswith("float") else None
        between += [source.name] if source.kind == "layer" else []
        edges = evidence.flow.into(source.id)[:1] if source.op in (*_LIGHT, "SpatialDropout1D") else []
    return None


def _mode(node: Node) -> str:
    # A setting is shown where it is not the default, and this class's default is a code.
    return str(node.config.get("output_mode", "multi_hot" if node.op == "CategoryEncoding" else ""))


def _coder(evidence: Evidence, embedding: Node) -> Node | None:
    edges = evidence.flow.into(embedding.id)
    while edges:
        source = evidence.flow.node(edges[0].source)
        if _mode(source) in _CODES:
            return source
        edges = evidence.flow.into(source.id) if source.op in _LIGHT else []
    return None


_MASKS = """
def load(x, y):
    return tf.image.resize(x, (4, 4)), tf.cast(tf.image.resize(y, (4, 4)%s), tf.int32)
def build():
    m = keras.Sequential([keras.Input((4, 4, 1)), L.Conv2D(3, 1, activation="softmax")]); m.compile("sgd", "sparse_categorical_crossentropy"); return m
def data():
    x, y = np.zeros((8, 8, 8, 1), "float32"), np.arange(512).reshape(8, 8, 8, 1) %% 3
    return tf.data.Dataset.from_tensor_slices((x, y)).map(load).batch(4)
"""
RESIZED = rule(
    "labels-interpolated", "Class indices are resized by interpolation", severity="silent", source="tf.image.resize: method=ResizeMethod.BILINEAR is the default",
    fails=_MASKS % "", passes=_MASKS % ", method='nearest'",
    doc="""Reported for labels of a sparse crossentropy that the last function of a `tf.data` pipeline resizes by a method other than the nearest neighbor.""",
)  # fmt: skip


@check(order=47)
def resized_labels(evidence: Evidence) -> Iterator[Finding]:
    """Labels of a sparse loss that come from a resize which interpolates."""
    stages = [one for one in evidence.stages if one.function]
    blended: dict[int, int] = stages[-1].detail.get("interpolated") or {} if stages and stages[-1].op == "map" else {}
    for node in evidence.losses() if blended and not evidence.where else ():
        labels, _ = ends(evidence, node)
        path = evidence.carried(labels) if labels is not None and kind_of(node) == "sparse" else None
        place = _place(stages[-1].spec, path) if path is not None else None
        if path is None or place is None or place not in blended:
            continue
        where = stages[-1].location
        line = blended[place]
        location = at_line(where, line) if where is not None and line else where
        yield Finding.of(RESIZED.id, "silent", LabelsInterpolated(stages[-1].function, path, node.name, line), (node.id,), location=location)


def at_line(where: Location, line: int) -> Location:
    return Location(where.file, line, where.cell, where.execution)


def _place(spec: Any, path: KeyPath) -> int | None:
    if not isinstance(spec, tuple) or len(spec) < 2 or path[0] != "y":
        return None
    before = len(list(flatten(spec[0], "x")))
    paths = sorted(at for at, _ in flatten(spec[1], "y")) if isinstance(spec[1], dict) else [at for at, _ in flatten(spec[1], "y")]
    return before + paths.index(path) if path in paths else None


_PICTURES = """
def build():
    m = keras.Sequential([keras.Input((4, 4, 3)), L.Rescaling(1 / 255), L.Flatten(), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    return (np.arange(8 * 48).reshape(8, 4, 4, 3) %% 256 / %s).astype("float32"), np.zeros((8, 1), "float32")
"""
TWICE = rule(
    "scaled-twice", "Values are scaled twice", severity="silent", source="the sampled values, and the layer's scale",
    fails=_PICTURES % "255", passes=_PICTURES % "1",
    doc="""Reported if a `Rescaling` layer that divides by 100 or more receives values between -1 and 1: those of the data, or of another such layer. Data of
integers, such as zeros in place of pictures, is not reported.""",
)  # fmt: skip
# Pixels have 256 values; a layer that divides by less than this may be made for something else.
_LARGE = 100
# What leaves pixels in their range.
_KEEPS = ("Random", "Resizing", "CenterCrop", "ZeroPadding", "Cropping")


@check(order=46)
def scaled_twice(evidence: Evidence) -> Iterator[Finding]:
    """Layers that divide as for pixels, behind something that did so."""
    for node in evidence.flow.nodes if not evidence.where else ():
        scale = node.config.get("scale") if node.op == "Rescaling" else None
        edge = next(iter(evidence.flow.into(node.id)), None)
        if not isinstance(scale, float) or not 0 < scale <= 1 / _LARGE or edge is None:
            continue
        offset = node.config.get("offset")
        offset = float(offset) if isinstance(offset, (int, float)) else 0.0
        edge, before = _upstream(evidence, edge)
        if before is not None:
            fact = ScaledTwice(Who.of(node), 1 / scale, offset, 0.0, 255 * before.config["scale"], before=Who.of(before))
            yield Finding.of(TWICE.id, "silent", fact, (node.id, before.id), location=node.location)
            continue
        path = fed_whole(evidence, edge)
        seen = stats_of(seen_at(evidence, path)) if path is not None else None
        if seen is None or seen.whole or seen.minimum is None or seen.maximum is None or not -1 <= seen.minimum <= seen.maximum <= 1:
            continue
        fact = ScaledTwice(Who.of(node), 1 / scale, offset, seen.minimum, seen.maximum, path or ())
        yield Finding.of(TWICE.id, "silent", fact, (node.id,), (edge.id,), node.location)


def _upstream(evidence: Evidence, edge: Edge) -> tuple[Edge, Node | None]:
    node = evidence.flow.node(edge.source)
    while node.kind == "layer" and node.op.startswith(_KEEPS) and len(evidence.flow.into(node.id)) == 1:
        edge = evidence.flow.into(node.id)[0]
        node = evidence.flow.node(edge.source)
    scale = node.config.get("scale") if node.op == "Rescaling" else None
    return edge, node if isinstance(scale, float) and 0 < scale <= 1 / _LARGE and not node.config.get("offset") else None
