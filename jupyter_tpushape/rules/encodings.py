"""What an embedding is given: the numbers of words or classes, and not a code that has a place for each of them."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, Node, Who
from .facts.calls import CodedIds
from .registry import check, rule
from .upstream import ancestors

CODED = rule(
    "embedding-coded", "An Embedding reads a code with a place for every word, not the words' numbers", severity="silent", frameworks=("keras",),
    source="what TextVectorization and CategoryEncoding give in each output_mode",
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

_CODES = ("multi_hot", "one_hot", "count", "tf_idf")
# What hands numbers on as they are.
_LIGHT = ("Cast", "Identity", "Dropout", "Reshape", "ExpandDims")


@check(order=15)
def coded_ids(evidence: Evidence) -> Iterator[Finding]:
    """An embedding behind a layer that encodes."""
    for node in evidence.flow.nodes:
        coder = _coder(evidence, node) if node.op == "Embedding" else None
        if coder is not None:
            fact = CodedIds(Who.of(node), Who.of(coder), _mode(coder))
            yield Finding.of(CODED.id, "silent", fact, (coder.id, node.id), location=coder.location)


def behind_code(evidence: Evidence, node: Node) -> bool:
    """Whether a layer works on what an embedding made of such a code."""
    return any(item.op == "Embedding" and _coder(evidence, item) is not None for item in [node, *ancestors(evidence, node.id)])


def _mode(node: Node) -> str:
    # A setting is shown where it is not the default, and this class's default is a code.
    return str(node.config.get("output_mode", "multi_hot" if node.op == "CategoryEncoding" else ""))


def _coder(evidence: Evidence, embedding: Node) -> Node | None:
    """The layer that encodes right in front of an embedding."""
    edges = evidence.flow.into(embedding.id)
    while edges:
        source = evidence.flow.node(edges[0].source)
        if _mode(source) in _CODES:
            return source
        edges = evidence.flow.into(source.id) if source.op in _LIGHT else []
    return None
