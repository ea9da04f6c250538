"""Probabilities in a loss of the user's own that are taken along another axis than the one that the softmax ran over."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Who
from .balanced import softmax_axis
from .facts.scores import PickedElsewhere
from .mixing import of_a_loss
from .registry import check, rule

_PICKED = """
import jax, jax.numpy as jnp
def loss(t, p):
    return -jnp.take_along_axis(jax.nn.log_softmax(p, axis=%s), t.astype("int32")[..., None], axis=-1)[..., 0]
def build():
    m = keras.Sequential([keras.Input((3, 4)), L.Dense(5)]); m.compile("sgd", loss); return m
def data():
    return np.zeros((8, 3, 4), "float32"), np.ones((8, 3), "int32")
"""
OTHER_AXIS = rule(
    "softmax-other-axis", "A softmax runs over another axis than the classes", severity="silent", backend="jax", frameworks=("keras",),
    source="the traced program: the axis of a softmax, and the axis along which its result is indexed",
    fails=_PICKED % "1", passes=_PICKED % "-1",
    doc="""Reported if a loss takes one value of a softmax along an axis, and the softmax ran over another one.""",
)  # fmt: skip
_EACH = frozenset({"Negative", "Neg", "Log", "Cast", "Exp"})


@check(order=43, backend="jax")
def picked_elsewhere(evidence: Evidence) -> Iterator[Finding]:
    """Lookups in a loss along the classes of a softmax over something else."""
    for node in evidence.flow.nodes if not evidence.where else ():
        edges = evidence.flow.into(node.id) if node.op in ("TakeAlongAxis", "GatherV2") and of_a_loss(evidence, node) else []
        along = _looked_along(edges, evidence, node)
        softmax = _softmax(evidence, edges[0]) if along is not None else None
        if softmax is None or along is None:
            continue
        maker, given = softmax
        shape = given.spec.shape or ()
        axis = softmax_axis(evidence, maker, given) % len(shape)
        if axis != along:
            fact = PickedElsewhere(Who.of(maker), shape, axis, along, Who.of(node))
            yield Finding.of(OTHER_AXIS.id, "silent", fact, (maker.id, node.id), (given.id,), maker.called or node.called)


def _looked_along(edges: list[Edge], evidence: Evidence, node: Node) -> int | None:
    """The axis of the values along which one of them is taken: the only one that the result does not have in its size."""
    shapes = [edge.spec.shape or () for edge in edges]
    if len(shapes) != 2 or len(shapes[0]) < 2:
        return None
    values, made = shapes[0], next((edge.spec.shape for edge in evidence.flow.out_of(node.id) if edge.spec.shape), ())
    off = [axis for axis, (a, b) in enumerate(zip(values, made, strict=False)) if a != b]
    if len(made) == len(values) and len(off) == 1 and made[off[0]] == 1:
        return off[0]
    return None


def _softmax(evidence: Evidence, edge: Edge) -> tuple[Node, Edge] | None:
    """The softmax that a tensor comes from, with what it is given; operations on each value are passed."""
    for _ in range(4):
        node = evidence.flow.node(edge.source)
        before = evidence.flow.into(node.id)
        if node.op in ("Softmax", "LogSoftmax") and node.kind == "op" and before:
            return node, before[0]
        if node.op not in _EACH or len(before) != 1:
            return None
        edge = before[0]
    return None
