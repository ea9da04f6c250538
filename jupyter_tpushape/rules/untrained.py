"""Weights that the loss depends on and that training never changes."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, Location, Node, Who
from .balanced import predicts
from .facts.training import NeverTrained, SumOfShares, ZeroProduct
from .registry import check, rule

_ADAPTER = """
class Adapter(L.Layer):
    def __init__(self, base):
        super().__init__(); self.base = base
    def build(self, shape):
        self.a = self.add_weight(shape=(shape[-1], 2), initializer=%r, name="a")
        self.b = self.add_weight(shape=(2, 3), initializer="zeros", name="b")
    def call(self, x):
        return self.base(x) + keras.ops.matmul(keras.ops.matmul(x, self.a), self.b)
def build():
    m = keras.Sequential([keras.Input((4,)), Adapter(L.Dense(3)), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
"""
UNTRAINED = rule(
    "weights-untrained", "No gradient reaches some weights", severity="silent", backend="jax", frameworks=("keras",),
    source="the traced program: a gradient passes through no integer, comparison or rounding, and through no product with zero",
    fails=_ADAPTER % "zeros", passes=_ADAPTER % "he_uniform",
    doc="""Reported for trainable weights that the model's output depends on, if the loss is differentiable by other weights but not by these. Some reach
the loss only through a step without a slope, such as argmax or a comparison, or through a
softmax that is summed along its own axis. Others start at zero and are multiplied only by what stays zero, such as both factors of a
low-rank adapter. Not reported where stop_gradient or a custom derivative is on the way, for weights that nothing reads, and for training steps of the
model's own. Keras on JAX does not warn about such weights.""",
)  # fmt: skip


_FACTS = {"zero": ZeroProduct, "one": SumOfShares}


@check(order=49, backend="jax")
def weights_untrained(evidence: Evidence) -> Iterator[Finding]:
    """Weights behind a step without a slope, and weights that start at zero beside zeros: those of a line and a layer together."""
    if evidence.failure is not None or "train_step" in evidence.facts.get("overrides", ()) or not evidence.trains:
        return
    found: dict[tuple[str, str, str], tuple[list[str], Node, Node | None]] = {}
    for layer, name, operation, place, kind in evidence.facts.get("untrained") or ():
        step, owner = _step(evidence, operation, place), next((one for one in evidence.flow.nodes if one.id == layer), None)
        if step is not None and predicts(evidence, step):
            names = found.setdefault((step.id, kind, layer), ([], step, owner))[0]
            names += [name] * (name not in names)
    said = set()
    for (_, kind, _), (names, step, owner) in found.items():
        # A layer that is called, or made, several times is one line.
        if (step.called, kind, tuple(names)) not in said:
            said.add((step.called, kind, tuple(names)))
            fact = _FACTS.get(kind, NeverTrained)(tuple(names), Who.of(owner) if owner is not None else None, Who.of(step))
            yield Finding.of(UNTRAINED.id, "silent", fact, ((owner or step).id, step.id)[owner is None :], location=step.called)


def _step(evidence: Evidence, operation: str, place: Location | None) -> Node | None:
    """The operation of the program's own on a line."""
    here = [node for node in evidence.flow.nodes if node.kind == "op" and place is not None and node.called == place]
    return next((node for node in here if node.op == operation), here[0] if len(here) == 1 else None)
