"""Norms over an axis of size 1, which leave nothing but signs."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Who
from .examples import sequential
from .facts.own_code import NormAlone
from .registry import check, rule

ALONE = rule(
    "norm-of-one", "Values are normalized over an axis of size 1", severity="silent", backend="tensorflow",
    source="the traced program: a sum of squares over an axis of size 1, and a division of the same values by its root",
    fails=sequential("L.Reshape((1, 5)), L.Lambda(lambda x: tf.math.l2_normalize(x, axis=1)), L.Flatten(), L.Dense(1)", "(8, 5)"),
    passes=sequential("L.Reshape((1, 5)), L.Lambda(lambda x: tf.math.l2_normalize(x, axis=-1)), L.Flatten(), L.Dense(1)", "(8, 5)"),
    doc="""A norm over one value is its absolute value. Reported for vectors with several values, of which an axis of size 1 was chosen by mistake.""",
)  # fmt: skip
_SCALED = ("AddV2", "Maximum", "Cast", "Identity")
_ROOTS = ("Sqrt", "Rsqrt")
_DIVIDED = ("Mul", "RealDiv", "DivNoNan")


@check(order=44, backend="tensorflow")
def norm_of_one(evidence: Evidence) -> Iterator[Finding]:
    """Sums of squares over an axis of size 1 by whose root the same values are divided; of several on a line, the first."""
    seen = set()
    for node in evidence.flow.nodes if evidence.failure is None else ():
        squares = evidence.flow.into(node.id) if node.op == "Sum" else []
        source = evidence.flow.node(squares[0].source) if len(squares) == 1 else None
        given = evidence.flow.into(source.id) if source is not None and source.op == "Square" else []
        shape = given[0].spec.shape if len(given) == 1 else None
        if not shape or len(shape) < 3 or (shape[-1] or 1) < 2 or 1 not in shape[1:-1]:
            continue
        if not any(out.spec.shape == shape for out in evidence.flow.out_of(node.id)):
            continue
        divided = _divided(evidence, node, given[0])
        place = node.called and (node.called.file, node.called.line)
        if divided is not None and (place is None or place not in seen):
            seen.add(place)
            yield Finding.of(ALONE.id, "silent", NormAlone(Who.of(divided), shape), (divided.id,), (given[0].id,), divided.called)


def _divided(evidence: Evidence, node: Node, values: Edge) -> Node | None:
    """The operation that divides the values by the root of a sum of their squares."""
    rooted = False
    for _ in range(6):
        after = [evidence.flow.node(edge.target) for edge in evidence.flow.out_of(node.id)]
        if len(after) != 1:
            return None
        (node,) = after
        if rooted and node.op in _DIVIDED:
            return node if any(edge.source == values.source for edge in evidence.flow.into(node.id)) else None
        if node.op not in (*_SCALED, *_ROOTS):
            return None
        rooted = rooted or node.op in _ROOTS
    return None
