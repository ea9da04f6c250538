"""Layers that a program calls and its model does not hold."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, Node, Who
from .facts.training import OutsideModel
from .registry import check, rule

_MODEL = """
def build():
    i, inner = keras.Input((4,)), L.Dense(6)
    inner.build((None, 4))
    m = keras.Model(i, L.Dense(1)({}(i))); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
"""
OUTSIDE = rule(
    "weights-outside", "The model does not contain a layer that it calls", severity="silent",
    source="keras/src/layers/core/lambda_layer.py: variables that a function uses are not tracked",
    fails=_MODEL.format("L.Lambda(lambda t: inner(t))"), passes=_MODEL.format("inner"),
    doc="""Reported for a layer with trainable weights that the program calls, if none of these weights is a weight of the model. The function of a `Lambda` holds such
a layer, or an object that is no layer. Not reported for layers with `trainable=False`, for layers that a loss calls, or if the class overrides `train_step`.""",
)  # fmt: skip


@check(order=46)
def weights_outside(evidence: Evidence) -> Iterator[Finding]:
    """The layers that each caller calls and the model does not hold."""
    if (
        evidence.where
        or evidence.failure is not None
        or "train_step" in evidence.facts.get("overrides", ())
        or not evidence.trains
        or evidence.facts.get("anew")
    ):
        return
    found: dict[str, list[Node]] = {}
    for name in evidence.facts.get("outside", ()):
        node = evidence.flow.node(name)
        if node is not None:
            found.setdefault(node.parent, []).append(node)
    for parent, nodes in found.items():
        caller = evidence.flow.node(parent) if parent else None
        fact = OutsideModel(tuple(map(Who.of, nodes)), Who.of(caller) if caller is not None else None)
        yield Finding.of(OUTSIDE.id, "silent", fact, tuple(node.id for node in nodes), location=nodes[0].called)
