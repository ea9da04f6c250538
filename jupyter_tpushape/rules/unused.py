"""Layers that are called, and whose results nothing uses."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, Location
from .facts.training import ResultUnused
from .registry import check, rule

_MODEL = """
def build():
    i = keras.Input((6,))
    x = L.Dense(8, activation="relu")(i)
    x = L.Dense(4, activation="relu")({})
    m = keras.Model(i, L.Dense(1)(x)); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 6), "float32"), np.zeros((8, 1), "float32")
"""

UNUSED = rule(
    "unused-result", "Nothing uses the result of a layer", severity="silent", source="keras/src/models/functional.py; Keras warns: Gradients do not exist for variables",
    fails=_MODEL.format("i"), passes=_MODEL.format("x"),
    doc="""Reported if two things hold: no output and no loss depends on a layer that has trainable weights, and no line reads the name that holds its result. A layer
without weights is reported only if no name holds its result.
A result that a layer returns to its caller is not reported, nor one that is kept in an attribute or in a name that begins with `_`.""",
)  # fmt: skip


@check(order=48)
def unused_results(evidence: Evidence) -> Iterator[Finding]:
    """Results that are lost on their way."""
    if evidence.where:
        return
    for lost in evidence.facts.get("unused", ()):
        fact = ResultUnused(lost.layers, lost.name, lost.how, lost.by, lost.place, bool(lost.nodes), lost.trained)
        near = lost.nodes or tuple(_beside(evidence, lost.place, lost.by))
        yield Finding.of(UNUSED.id, "silent", fact, near, location=lost.place)


def _beside(evidence: Evidence, place: Location, by: int) -> Iterator[str]:
    """A layer that the model has from the line where the result is lost, or from that which overwrites it: it is drawn instead."""
    for line in (by, place.line):
        for node in evidence.flow.nodes:
            where = node.called or node.location
            if where is not None and where.line == line and (where.file, where.execution) == (place.file, place.execution):
                yield node.id
                return
