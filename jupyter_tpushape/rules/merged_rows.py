"""Rows in which the samples of a batch were merged with another axis, and what takes them for another order than what merged them made."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Shape, Who
from .examples import sequential
from .facts.other_axes import RowsMetApart, RowsTakenApart
from .mixing import SOURCE, carried
from .registry import check, rule
from .words import PAIRING

_NODES = """class Nodes(L.Layer):
    def call(self, x):
        rows = tf.reshape(tf.transpose(x, (1, 0, 2)), (-1, 4))
        return %s"""
APART = rule(
    "rows-regrouped", "Merged rows are taken for another order", severity="silent", source=SOURCE,
    fails=sequential("Nodes(), L.Flatten(), L.Dense(1)", "(8, 3, 4)", more=_NODES % "tf.reshape(rows, (-1, 3, 4))"),
    passes=sequential("Nodes(), L.Flatten(), L.Dense(1)", "(8, 3, 4)", more=_NODES % "tf.transpose(tf.reshape(rows, (3, -1, 4)), (1, 0, 2))"),
    doc="""Samples that are merged with another axis, such as steps or heads, are rows in a certain order. A reshape of (nodes, batch) and a concatenation along
the batch have all samples one after the other. A reshape of (batch, nodes) has the rows of a sample one after the other. Reported if a reshape
takes such rows apart in another order, and if an element-wise operation, a concatenation or a loss combines rows of both orders. After a lookup or a sort, the order is unknown, and nothing is reported.""",
)  # fmt: skip
# What can change the order of rows. Lookups and sorts do so by their values.
_REORDERS = ("gather", "take", "sort", "topk", "reverse", "flip", "roll", "shuffle", "permut", "scatter", "segment", "unique", "while", "scan", "cumsum")
_FOLLOWED = 64

# What merged the rows, how often it has all samples one after the other, and how many rows of a sample follow each other.
Merged = tuple[Node, int, int]


@check(order=43)
def rows_taken_apart(evidence: Evidence) -> Iterator[Finding]:
    """Reshapes that take merged rows apart in another order than they were merged in."""
    if evidence.facts.get("probe") is None:
        return
    for node in evidence.flow.nodes:
        if node.op.lower() != "reshape" or node.status != "ok":
            continue
        for edge in evidence.flow.into(node.id):
            after = next((out for out in evidence.flow.out_of(node.id) if out.spec.shape), None)
            axis = _batch(evidence, after) if after is not None else None
            shape = after.spec.shape or () if after is not None else ()
            if axis is None or not _ends_within(shape, axis, edge.spec.shape) or math.prod(n or 0 for n in shape) == shape[axis]:
                continue
            merged = rows_of(evidence, edge)
            if merged is not None and merged[1] != math.prod(n or 0 for n in shape[:axis]):
                maker, outer, inner = merged
                fact = RowsTakenApart(Who.of(node), Who.of(maker), edge.spec.shape or (), shape, axis, outer, inner)
                yield Finding.of(APART.id, "silent", fact, (node.id, maker.id), (edge.id,), node.called or node.location)


@check(order=43)
def rows_met_apart(evidence: Evidence) -> Iterator[Finding]:
    """Element-wise operations, concatenations of features and losses that combine rows of two orders."""
    if evidence.facts.get("probe") is None:
        return
    for node in evidence.flow.nodes:
        edges = [edge for edge in evidence.flow.into(node.id) if edge.label != "weights" and edge.spec.shape]
        after = [carried(evidence, one) for one in evidence.flow.out_of(node.id)]
        beside = "concat" in node.op.lower() and any(carried(evidence, edge) in after for edge in edges)
        meets = len(edges) == 2 and (node.op in PAIRING or "CrossEntropy" in node.op or node.kind == "loss")
        found = [(edge, rows) for edge in edges if (rows := rows_of(evidence, edge)) is not None] if beside or meets else []
        for edge, other in found[1:] if node.status == "ok" else ():
            first, one = found[0]
            shapes = first.spec.shape or (), edge.spec.shape or ()
            if one[1:] != other[1:] and shapes[0][:1] == shapes[1][:1]:
                fact = RowsMetApart(Who.of(node), shapes, (Who.of(one[0]), Who.of(other[0])), (one[1], other[1]), (one[2], other[2]))
                ids = (node.id, one[0].id, other[0].id)
                yield Finding.of(APART.id, "silent", fact, ids, (first.id, edge.id), node.called or node.location)
                return


def _batch(evidence: Evidence, edge: Edge) -> int | None:
    grown = carried(evidence, edge)
    return next(iter(grown)) if grown and list(grown.values()) == [1.0] else None


def _ends_within(apart: Shape, axis: int, rows: Shape | None) -> bool:
    """Whether first axes of a shape, the one of the samples among them, are together the rows of another shape, or several rows each."""
    first = itertools.accumulate((n or 0 for n in apart), lambda a, b: a * b)
    return bool(rows) and any(size and not ((rows or (0,))[0] or 1) % size for at, size in enumerate(first) if at >= axis)


def rows_of(evidence: Evidence, edge: Edge, left: int = _FOLLOWED) -> Merged | None:
    """The order of merged rows; ``None`` where it is unknown, or where each row is a sample."""
    grown, shape = carried(evidence, edge), edge.spec.shape
    times = int((grown or {}).get(0, 0))
    if not shape or not left or not grown or list(grown) != [0] or times < 2 or times != grown[0] or (shape[0] or 0) % times:
        return None
    node, batch = evidence.flow.node(edge.source), (shape[0] or 0) // times
    came = [one for one in evidence.flow.into(node.id) if carried(evidence, one) or carried(evidence, one) is None]
    if not came or any(not carried(evidence, one) for one in came) or any(word in node.op.lower() for word in _REORDERS):
        return None
    kept = all(list(carried(evidence, one) or ()) == [0] for one in came)
    if node.op.lower().startswith("concat") and kept and all((one.spec.shape or (0,))[0] == batch for one in came) and len(came) == times:
        return node, times, 1
    given = came[0].spec.shape or ()
    if node.op.lower() == "tile" and kept and len(came) == 1 and given[:1] == (batch,) and given[1:] == shape[1:]:
        return node, times, 1
    if node.op.lower() == "reshape" and len(came) == 1:
        axis = _batch(evidence, came[0])
        if axis is None or not _ends_within(given, axis, shape):
            # Rows that are merged with one more axis behind them, or parted from one, keep the order of the samples.
            more = rows_of(evidence, came[0], left - 1) if axis is None else None
            return (more[0], more[1], times // more[1]) if more is not None and times % more[1] == 0 else None
        outer = math.prod(n or 0 for n in given[:axis])
        return node, outer, times // outer
    if (
        node.kind not in ("op", "layer")
        or node.family == "own"
        or any(carried(evidence, one) != grown or (one.spec.shape or ())[:1] != shape[:1] for one in came)
    ):
        return None
    found = [rows_of(evidence, one, left - 1) for one in came]
    return found[0] if len({one and one[1:] for one in found}) == 1 else None
