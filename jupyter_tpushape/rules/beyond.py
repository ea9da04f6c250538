"""Indices beyond the end of an axis, which a compiled program does not check."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, Who
from .facts.ranges import IndexBeyond
from .registry import check, rule

_LAST = """
class Last(L.Layer):
    def call(self, x):
        return x[:, %s]
def build():
    m = keras.Sequential([keras.Input((6, 4)), L.Dense(4), Last(), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 6, 4), "float32"), np.zeros((8, 1), "float32")
"""
BEYOND = rule(
    "index-beyond", "An index is beyond the end of its axis", severity="silent", backend="jax", frameworks=("keras",),
    source="the traced program: a slice that starts beyond its tensor", fails=_LAST % "6", passes=_LAST % "5",
    doc="""JAX moves such an index to the nearest place and raises no error. TensorFlow and NumPy raise one. Only indices that are numbers of the program are known.""",
)  # fmt: skip


@check(order=40, backend="jax")
def index_beyond(evidence: Evidence) -> Iterator[Finding]:
    """The first index on each line that is beyond its axis."""
    told = set()
    for name, edge_id, axis, start in evidence.facts.get("beyond") or () if evidence.failure is None else ():
        node = evidence.flow.node(name)
        edge = next((one for one in evidence.flow.into(name) if one.id == edge_id), None)
        shape = edge.spec.shape if edge is not None else None
        if edge is None or not shape or (node.called, axis) in told:
            continue
        told.add((node.called, axis))
        size = shape[axis] or 0
        fact = IndexBeyond(Who.of(node), shape, axis, start if start >= 0 else start - size)
        yield Finding.of(BEYOND.id, "silent", fact, (node.id,), (edge.id,), node.called)
