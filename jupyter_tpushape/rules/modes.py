"""Layers that a training step calls as for a prediction."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, Node, Who
from .facts.training import Resting
from .registry import check, rule
from .upstream import ancestors

_STEP = """
class Net(keras.Model):
    def __init__(self):
        super().__init__(); self.norm = L.BatchNormalization(); self.dense = L.Dense(1)
    def call(self, x, training=None):
        return self.dense(self.norm(x, training=training))
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((y - self(x%s)) ** 2)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {"loss": loss}
def build():
    m = Net(); m.compile("sgd"); return m
def data():
    return np.ones((8, 4), "float32"), np.ones((8, 1), "float32")
"""
MODE = rule(
    "training-mode", "A training step does not say that it trains", severity="silent",
    source="keras.io/guides/customizing_what_happens_in_fit: y_pred = self(x, training=True)", fails=_STEP % "", passes=_STEP % ", training=True",
    doc="""Reported for a `train_step` of the program's own that calls a model under its tape without `training`. The model has batch normalizations that
are to be trained. It is a note for dropout layers alone, and for a part beside others, such as `self.encoder(x)`: a part may be meant to rest. A call with `training=False` is a choice
and is not reported, nor are frozen layers.""",
)  # fmt: skip


@check(order=48)
def training_mode(evidence: Evidence) -> Iterator[Finding]:
    """Calls under a tape of what holds layers that rest."""
    flow, taped = evidence.flow, evidence.facts.get("taped") or ()
    if evidence.where or not taped:
        return
    ends = [node for node in flow.nodes if node.op == "GradientTape.gradient"]
    used = {one.id for end in ends for one in ancestors(evidence, end.id)}
    awake = {node.name for node in flow.nodes if not node.config.get("resting")}
    found: dict[int, tuple[Node, list[Node]]] = {}
    for node in flow.nodes:
        if node.config.get("resting") and _changes(node) and node.id in used and node.name not in awake:
            model = _outermost(evidence, node)
            # One line may call a model twice.
            found.setdefault(model.called.line if model.called is not None else 0, (model, []))[1].append(node)
    for line, (model, layers) in found.items():
        if any(first <= line <= last for first, last in taped):
            normalizes = any(node.op == "BatchNormalization" for node in layers)
            # A part of the model, such as a teacher, may be meant to rest.
            part = model.name in (evidence.facts.get("parts") or ())
            names = tuple(dict.fromkeys(node.name for node in layers))
            yield Finding.of(
                MODE.id,
                "silent" if normalizes and not part else "note",
                Resting(Who.of(model), names, normalizes),
                (model.id,),
                location=model.called,
            )


def _changes(node: Node) -> bool:
    """Whether a layer works otherwise in training."""
    return node.op == "BatchNormalization" or "Dropout" in node.op or node.op.startswith("GaussianNoise")


def _outermost(evidence: Evidence, node: Node) -> Node:
    while node.parent and evidence.flow.node(node.parent).kind == "layer":
        node = evidence.flow.node(node.parent)
    return node
