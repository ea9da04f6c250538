"""Ids without a row in an embedding: those of the data, those that the program makes, and those of a lookup layer."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, KeyPath, Node, Who
from ..flow.observed import keeps
from ..sources.stats import stats_at
from .compared import fed_whole
from .facts.ranges import DecimalIds, IdOutOfRange, MadeOutOfRange, WordOutOfRange
from .registry import check, rule

ID_RANGE = rule(
    "embedding-range", "Id out of range of an embedding or encoding", severity="error", source="tpu-rules O10",
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
    doc="""Numbers with decimals are reported, too, also where they are in range: an embedding cuts off the decimals.""",
)  # fmt: skip
_LARGEST = {"int8": 127, "int16": 32767}
# The argument that says how many ids a layer knows.
_SIZES = {"Embedding": "input_dim", "CategoryEncoding": "num_tokens"}


@check(order=46)
def embedding_range(evidence: Evidence) -> Iterator[Finding]:
    """Ids of an input that reach an embedding as they are; what is computed from them may be in range."""
    nan = evidence.backend == "jax"
    stats = getattr(evidence.sample, "stats", None) or {}
    sampled = getattr(evidence.sample, "sampled", None) or []
    for node in evidence.flow.nodes:
        encodes = node.op == "CategoryEncoding"
        size = node.config.get(_SIZES.get(node.op, ""))
        if not isinstance(size, int):
            continue
        made = node.config.get("ids")
        if made is not None and (made[0] < 0 or made[1] >= size):
            yield Finding.of(
                ID_RANGE.id,
                "error",
                MadeOutOfRange(Who.of(node), size, made[0], made[1], nan),
                (node.id,),
                (),
                node.called or node.location,
            )
            continue
        for edge in evidence.flow.into(node.id):
            lookup = _lookup(evidence, edge)
            last = lookup.config["last_id"] if lookup is not None and lookup.config.get("words") else 0
            if lookup is not None and last >= size:
                fact = WordOutOfRange(Who.of(node), size, 0, last, lookup.name, nan)
                yield Finding.of(ID_RANGE.id, "error", fact, (node.id,), (edge.id,), node.location)
            path = fed_whole(evidence, edge)
            seen = (stats.get(path) or stats_at(sampled, path)) if path is not None else None
            if seen is not None and not seen.whole and seen.maximum is not None and seen.minimum is not None and not encodes:
                beyond = int(seen.maximum) >= size or int(seen.minimum) < 0
                decimals = DecimalIds(Who.of(node), size, seen.minimum, seen.maximum, path or (), beyond, nan)
                yield Finding.of(ID_RANGE.id, "error" if beyond else "silent", decimals, (node.id,), (edge.id,), node.location)
                continue
            if seen is None or seen.maximum is None or seen.minimum is None or 0 <= seen.minimum <= seen.maximum < size:
                continue
            wraps = not encodes and evidence.framework == "keras" and -size <= seen.minimum and seen.maximum < size
            narrow = _narrow(evidence, path, size) if seen.minimum < 0 and not encodes else ""
            outside = IdOutOfRange(Who.of(node), size, int(seen.minimum), int(seen.maximum), nan, encodes, wraps, narrow)
            raises = not wraps and (not encodes or evidence.framework != "keras")
            yield Finding.of(ID_RANGE.id, "error" if raises else "silent", outside, (node.id,), (edge.id,), node.location)


def _narrow(evidence: Evidence, path: KeyPath | None, size: int) -> str:
    """The dtype of integers that cannot hold the id of the last of so many rows."""
    dtype = next((spec.dtype for at, spec in evidence.x if at == path), "")
    return dtype if _LARGEST.get(dtype, size) < size - 1 else ""


def _lookup(evidence: Evidence, edge: Edge) -> Node | None:
    """The layer whose ids come along an edge as they are."""
    node = evidence.flow.node(edge.source)
    for _ in range(4):
        if "last_id" in node.config:
            return node
        before = evidence.flow.into(node.id)
        if node.weights or len(before) != 1 or not keeps(evidence.flow, node):
            return None
        node = evidence.flow.node(before[0].source)
    return None
