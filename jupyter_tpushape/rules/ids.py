"""Ids without a row in an embedding: those of the data, those that the program makes, and those of a lookup layer."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Fact, Finding, KeyPath, Node, Shape, Who
from ..flow.observed import keeps
from .compared import fed_whole, stats_at
from .facts.ranges import ChosenBeyond, ColumnsExchanged, DecimalIds, IdOutOfRange, MadeOutOfRange, TakenBeyond, WordOutOfRange
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
    doc="""Numbers with decimals are reported, too, also where they are in range: an embedding cuts off the decimals. On JAX, so are indices in the data beyond
the axis that a take takes from, and those of a choice among more values than a table has rows.""",
)  # fmt: skip
_LARGEST = {"int8": 127, "int16": 32767}
# The argument that says how many ids a layer knows.
_SIZES = {"Embedding": "input_dim", "CategoryEncoding": "num_tokens"}


@check(order=46)
def embedding_range(evidence: Evidence) -> Iterator[Finding]:
    """Ids of an input that reach an embedding as they are; what is computed from them may be in range."""
    nan = evidence.backend == "jax"
    stats = getattr(evidence.sample, "stats", None) or {}
    for node in evidence.flow.nodes:
        encodes = node.op == "CategoryEncoding"
        size = node.config.get(_SIZES.get(node.op, ""))
        if not isinstance(size, int):
            continue
        made = node.config.get("ids")
        if made is not None and (made[0] < 0 or made[1] >= size):
            yield Finding.of(ID_RANGE.id, "error", MadeOutOfRange(Who.of(node), size, made[0], made[1], nan), (node.id,), (), node.called or node.location)
            continue
        for edge in evidence.flow.into(node.id):
            lookup = _lookup(evidence, edge)
            last = lookup.config["last_id"] if lookup is not None and lookup.config.get("words") else 0
            if lookup is not None and last >= size:
                fact = WordOutOfRange(Who.of(node), size, 0, last, lookup.name, nan)
                yield Finding.of(ID_RANGE.id, "error", fact, (node.id,), (edge.id,), node.location)
            path, column = fed_whole(evidence, edge), None
            if path is None:
                path, column = _column(evidence, edge)
            seen = (stats.get(path) if column is None else None) or stats_at(evidence, path, column) if path is not None else None
            if seen is not None and not seen.whole and seen.maximum is not None and seen.minimum is not None and not encodes:
                beyond = int(seen.maximum) >= size or int(seen.minimum) < 0
                decimals = DecimalIds(Who.of(node), size, seen.minimum, seen.maximum, path or (), beyond, nan)
                yield Finding.of(ID_RANGE.id, "error" if beyond else "silent", decimals, (node.id,), (edge.id,), node.location)
                continue
            if seen is None or seen.maximum is None or seen.minimum is None or 0 <= seen.minimum <= seen.maximum < size:
                continue
            wraps = not encodes and evidence.framework == "keras" and -size <= seen.minimum and seen.maximum < size
            narrow = _narrow(evidence, path, size) if seen.minimum < 0 and not encodes else ""
            outside: Fact = IdOutOfRange(Who.of(node), size, int(seen.minimum), int(seen.maximum), nan, encodes, wraps, narrow, column)
            if column is not None and path is not None and seen.minimum >= 0:
                other, fitting = _exchanged(evidence, path, column, size, int(seen.maximum))
                if other is not None:
                    outside = ColumnsExchanged(Who.of(node), size, path, column, int(seen.maximum), other, fitting, nan)
            raises = not wraps and (not encodes or evidence.framework != "keras")
            yield Finding.of(ID_RANGE.id, "error" if raises else "silent", outside, (node.id,), (edge.id,), node.location)


@check(order=46, backend="jax")
def taken_beyond(evidence: Evidence) -> Iterator[Finding]:
    """Indices in the data that are beyond the axis that a take takes from, which its shapes tell."""
    for node in evidence.flow.nodes if not evidence.where else ():
        before, after = evidence.flow.into(node.id), evidence.flow.out_of(node.id)
        if node.op not in ("Take", "TakeAlongAxis") or len(before) != 2 or not after or "mode" in node.config:
            continue
        (given, indices), made = before, after[0].spec.shape
        seen = stats_at(evidence, fed_whole(evidence, indices))
        if seen is None or not seen.whole or seen.maximum is None or seen.minimum is None or seen.minimum < 0:
            continue
        places = _taken_from(node.op, given.spec.shape or (), indices.spec.shape or (), made or ())
        sizes = {(given.spec.shape or ())[axis + mapped] for axis, mapped in places}
        size = next(iter(sizes), None)
        if len(sizes) == 1 and size and seen.maximum >= size:
            axis, mapped = places[0]
            fact = TakenBeyond(Who.of(node), given.spec.shape or (), axis, int(seen.minimum), int(seen.maximum), mapped)
            yield Finding.of(ID_RANGE.id, "error", fact, (node.id,), (indices.id,), node.called or node.location)


@check(order=15, backend="jax")
def chosen_beyond(evidence: Evidence) -> Iterator[Finding]:
    """Indices of the largest or smallest of some values, by which a table with fewer rows is read: a codebook that stands the other way."""
    for node in evidence.flow.nodes if evidence.where in ("", "build", "call") else ():
        edges, after = evidence.flow.into(node.id), evidence.flow.out_of(node.id)
        if node.op not in ("Take", "Slice") or node.config.get("operand2", 0) != 0 or not 0 < len(edges) < 3 or not after or "mode" in node.config:
            continue
        chosen, count = _chosen(evidence, edges[-1])
        made, indices = after[0].spec.shape or (), edges[-1].spec.shape or ()
        row = made[len(indices) :]
        tables = [("", edges[0].spec.shape or ())] if len(edges) == 2 else []
        around = evidence.flow.node(node.parent) if node.parent and not tables else None
        tables += [(one.name, one.shape or ()) for one in around.weights] if around is not None else []
        fits = [(name, shape) for name, shape in tables if row and shape[1:] == row and made[: len(indices)] == indices]
        if chosen is not None and count and len(fits) == 1 and (fits[0][1][0] or count) < count:
            fact = ChosenBeyond(Who.of(node), Who.of(chosen), fits[0][1], count, fits[0][0])
            yield Finding.of(ID_RANGE.id, "error", fact, (node.id, chosen.id), (edges[-1].id,), node.called or node.location)


def _chosen(evidence: Evidence, edge: Edge) -> tuple[Node | None, int | None]:
    """The choice that whole numbers come from, and of how many values."""
    for _ in range(4):
        node, before = evidence.flow.node(edge.source), evidence.flow.into(edge.source)
        if "int" not in edge.spec.dtype or len(before) != 1:
            break
        shape, axis = before[0].spec.shape or (), node.config.get("operand1")
        if node.op in ("ArgMax", "ArgMin"):
            return (node, shape[axis]) if isinstance(axis, int) and -len(shape) <= axis < len(shape) else (None, None)
        if node.op not in ("Cast", "Reshape", "Squeeze", "ExpandDims", "StopGradient"):
            break
        edge = before[0]
    return None, None


def _taken_from(op: str, given: Shape, indices: Shape, made: Shape) -> list[tuple[int, bool]]:
    if op == "TakeAlongAxis":
        same = len(given) == len(indices)
        return [(i, False) for i in range(len(given)) if same and all(one == indices[j] or indices[j] == 1 for j, one in enumerate(given) if j != i)]
    ways = [(axis, False) for axis in range(len(given)) if (*given[:axis], *indices, *given[axis + 1 :]) == made]
    if given[:1] == indices[:1] == made[:1]:
        ways += [(at, True) for at in range(len(given) - 1) if (*given[: at + 1], *indices[1:], *given[at + 2 :]) == made]
    return ways


def _narrow(evidence: Evidence, path: KeyPath | None, size: int) -> str:
    dtype = next((spec.dtype for at, spec in evidence.x if at == path), "")
    return dtype if _LARGEST.get(dtype, size) < size - 1 else ""


def _column(evidence: Evidence, edge: Edge) -> tuple[KeyPath | None, int | None]:
    """The leaf of the data, a table, and the one of its columns whose values come along an edge as they are."""
    node = evidence.flow.node(edge.source)
    while node.kind == "op" and keeps(evidence.flow, node) and len(evidence.flow.into(node.id)) == 1:
        node = evidence.flow.node(evidence.flow.into(node.id)[0].source)
    before = evidence.flow.into(node.id)[:1]
    shape = before[0].spec.shape if before else None
    if node.op not in ("Slice", "StridedSlice") or shape is None or len(shape) != 2 or not shape[1]:
        return None, None
    made = next((one.spec.shape for one in evidence.flow.out_of(node.id)), None)
    index, begin, end = (node.config.get(key) for key in ("index", "operand1", "operand2"))
    at = index[1] if isinstance(index, list) and len(index) == 2 and index[0] is None else None
    if isinstance(begin, list) and isinstance(end, list) and len(begin) == len(end) == 2 and end[1] == begin[1] + 1:
        at = begin[1]
    if not isinstance(at, int) or made not in (shape[:1], (*shape[:1], 1)):
        return None, None
    return fed_whole(evidence, before[0]), at % shape[1]


def looked_up_columns(evidence: Evidence) -> Iterator[tuple[Node, Node, KeyPath, int]]:
    """Embeddings of single columns of a table: each, the slice that takes the column, the table's leaf and the column."""
    for node in evidence.flow.nodes:
        for edge in evidence.flow.into(node.id) if node.op == "Embedding" else ():
            path, column = _column(evidence, edge)
            if path is not None and column is not None:
                yield node, evidence.flow.node(edge.source), path, column


def _exchanged(evidence: Evidence, path: KeyPath, column: int, size: int, highest: int) -> tuple[int | None, int]:
    rows: dict[int, list[int]] = {}
    for node, _, at, other in looked_up_columns(evidence):
        if at == path and isinstance(node.config.get("input_dim"), int):
            rows.setdefault(other, []).append(node.config["input_dim"])
    for other, sizes in rows.items():
        seen = stats_at(evidence, path, other) if other != column else None
        if seen is not None and seen.maximum is not None and seen.maximum < size and highest < min(sizes):
            return other, int(seen.maximum)
    return None, 0


def _lookup(evidence: Evidence, edge: Edge) -> Node | None:
    node = evidence.flow.node(edge.source)
    for _ in range(4):
        if "last_id" in node.config:
            return node
        before = evidence.flow.into(node.id)
        if node.weights or len(before) != 1 or not keeps(evidence.flow, node):
            return None
        node = evidence.flow.node(before[0].source)
    return None
