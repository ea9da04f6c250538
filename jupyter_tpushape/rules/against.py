"""Vectors that meet the wrong axis of a table of pairs, or only themselves: nothing raises, because both axes have the size of the batch."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Who
from .compared import as_it_came
from .examples import sequential
from .facts.other_axes import RowsAgainstColumns, VectorTransposed
from .mixing import carried
from .registry import check, rule
from .words import PAIRING

_PAIRS = """
def loss(y, p):
    table = tf.matmul(p, p, transpose_b=True)
    return table - tf.math.log(tf.reduce_sum(tf.exp(table), axis=1%s))
"""
AGAINST = rule(
    "rows-against-columns", "Values of rows are combined with columns", severity="silent", source="the axis of the reduction, and how shapes are broadcast",
    fails=sequential("L.Dense(4)", loss="loss", more=_PAIRS % ""), passes=sequential("L.Dense(4)", loss="loss", more=_PAIRS % ", keepdims=True"),
    doc="""Reported if a square table is combined with what a reduction over its last axis gives without that axis, and the two come from the same table. A
reduction over the first axis gives one value for each column, and is not reported.""",
)  # fmt: skip
_SAME = """
def loss(y, p):
    y = tf.reshape(y, %s)
    same = tf.cast(tf.equal(y, tf.transpose(y)), tf.float32)
    return tf.reduce_mean(same * tf.matmul(p, p, transpose_b=True))
"""
TRANSPOSED = rule(
    "vector-transposed", "A vector is compared with its own transpose", severity="silent", source="a transpose of one axis changes nothing",
    fails=sequential("L.Dense(4)", loss="loss", more=_SAME % "(-1,)"), passes=sequential("L.Dense(4)", loss="loss", more=_SAME % "(-1, 1)"),
)  # fmt: skip
_REDUCES = frozenset({"Sum", "Mean", "Max", "Min", "Prod", "All", "Any", "EuclideanNorm"})
# What gives one value for each value.
_ELEMENTWISE = PAIRING | {
    "Exp",
    "Log",
    "Log1p",
    "Sqrt",
    "Rsqrt",
    "Square",
    "Neg",
    "Abs",
    "Cast",
    "Relu",
    "Sigmoid",
    "Tanh",
    "Reciprocal",
    "Identity",
    "Softplus",
}


@check(order=43)
def rows_against_columns(evidence: Evidence) -> Iterator[Finding]:
    """Operations on a square table and a vector that was reduced from its rows."""
    for node in evidence.flow.nodes if not evidence.where else ():
        edges = evidence.flow.into(node.id)
        if node.kind != "op" or node.op not in PAIRING or len(edges) != 2:
            continue
        table, vector = sorted(edges, key=lambda edge: -len(edge.spec.shape or ()))
        shape = table.spec.shape or ()
        if len(shape) != 2 or shape[0] in (None, 1) or shape[0] != shape[1] or vector.spec.shape != shape[1:]:
            continue
        axes = carried(evidence, table)
        if axes is None or len(axes) < 2:
            continue  # samples and as many features: another rule says which two meet
        reduced = _reduction(evidence, vector)
        if reduced is not None and _related(evidence, table, evidence.flow.into(reduced.id)[0]):
            fact = RowsAgainstColumns(Who.of(reduced), Who.of(node), shape, shape[1:])
            yield Finding.of(AGAINST.id, "silent", fact, (node.id, reduced.id), (vector.id,), reduced.called or node.called)


def _reduction(evidence: Evidence, vector: Edge) -> Node | None:
    """The reduction over the last axis of a square table, which single operations on a vector have followed."""
    for _ in range(12):
        node = evidence.flow.node(vector.source)
        edges = evidence.flow.into(node.id)
        if node.op in _REDUCES and edges:
            axis = node.config.get("operand1")
            last = axis in (1, -1, [1], [-1])
            return node if last and len(edges[0].spec.shape or ()) == 2 else None
        if node.op not in _ELEMENTWISE or len(edges) != 1:
            return None
        vector = edges[0]
    return None


def _related(evidence: Evidence, one: Edge, other: Edge) -> bool:
    """Whether two tables of pairs are computed from the same one, value by value."""
    return bool(_tables(evidence, one) & _tables(evidence, other))


def _tables(evidence: Evidence, edge: Edge) -> set[str]:
    """The nodes that made a table, and those whose tables it is computed from value by value."""
    found: set[str] = set()
    pending = [edge]
    while pending:
        edge = pending.pop()
        node = evidence.flow.node(edge.source)
        if node.id in found:
            continue
        found.add(node.id)
        if node.op in _ELEMENTWISE:
            pending += [one for one in evidence.flow.into(node.id) if one.spec.shape == edge.spec.shape]
    return found


@check(order=43)
def vector_transposed(evidence: Evidence) -> Iterator[Finding]:
    """Operations on a tensor with one axis and its transpose."""
    for node in evidence.flow.nodes if not evidence.where else ():
        edges = evidence.flow.into(node.id)
        if node.kind != "op" or node.op not in PAIRING or len(edges) != 2:
            continue
        for edge, other in (edges, edges[::-1]):
            turned = evidence.flow.node(edge.source)
            given = evidence.flow.into(turned.id)
            if turned.op != "Transpose" or len(given) != 1 or len(given[0].spec.shape or ()) != 1:
                continue
            starts = [as_it_came(evidence, one) for one in (given[0], other)]
            if (starts[0].source, starts[0].spec) == (starts[1].source, starts[1].spec):
                fact = VectorTransposed(Who.of(turned), Who.of(node), given[0].spec.shape or ())
                yield Finding.of(TRANSPOSED.id, "silent", fact, (node.id, turned.id), (edge.id,), node.called)
                break
