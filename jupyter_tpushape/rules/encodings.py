"""Preprocessing layers: what they pass to an embedding, and lookups without a vocabulary."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, KeyPath, Node, Severity, Shape, Who
from ..sources.stats import stats_at
from .facts.calls import CodedIds, CodedRows
from .facts.held import EmptyLookup
from .facts.own_code import EmbeddedTwice
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
            seen = stats_at(evidence.sample.sampled, path)
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
    """The encoding layer directly before an embedding."""
    edges = evidence.flow.into(embedding.id)
    while edges:
        source = evidence.flow.node(edges[0].source)
        if _mode(source) in _CODES:
            return source
        edges = evidence.flow.into(source.id) if source.op in _LIGHT else []
    return None
