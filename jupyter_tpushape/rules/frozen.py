"""Weights that a function of the user's own reads once, when it is compiled."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding
from .facts.training import FrozenWeights
from .registry import check, rule

_NET = """
class Net(keras.Model):
    def __init__(self):
        super().__init__(); self.inner, self.head = L.Dense(4), L.Dense(1)
    {}
    def features(self, x):
        return self.inner(x)
    def call(self, x):
        return self.head(self.features(x))
def build():
    m = Net(); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 6), "float32"), np.zeros((8, 1), "float32")
"""

FROZEN = rule(
    "weights-frozen", "A tf.function keeps the first values of weights", severity="silent",
    source="keras/src/backend/tensorflow/core.py: compute_output_spec; measured with Keras 3.15", backend="tensorflow", frameworks=("keras",),
    fails=_NET.format("@tf.function"), passes=_NET.format("# not compiled by itself"),
    doc="""Keras 3 builds a layer without a `build` method by calling it on a separate graph. A `tf.function` that runs in this call is compiled there,
and the weights that are created inside are constants in it. Reported if the traced step reads none of the weights of a layer inside such a method.
A model that is called on data before `fit` has its weights by then, and is not reported.""",
)  # fmt: skip


@check(order=44, backend="tensorflow")
def frozen_weights(evidence: Evidence) -> Iterator[Finding]:
    """Compiled methods with weights inside that the training step never reads."""
    for one in evidence.facts.get("frozen", ()):
        fact = FrozenWeights(one.cls, one.function, one.layers, one.alone)
        yield Finding.of(FROZEN.id, "error" if one.alone else "silent", fact, (one.node,) if one.node else (), location=one.place)
