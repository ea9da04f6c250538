"""Objects that a second call creates again, and losses that a call adds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ..examine.evidence import Evidence
from ..examine.returns import Claim
from ..flow import Finding, Location, Node, Who
from ..trace.signature import Refused
from .examples import sequential, stepped
from .facts.calls import Constant, HostDrawn, MadeAnew, MetricInCall, Misdeclared, NeverUpdated, NotCalled, ReadOutside, SummedLoss, Unwritten, VectorLoss
from .mixing import carried
from .registry import check, rule
from .upstream import ancestors

MADE = rule(
    "made-in-call", "A layer, variable, metric or optimizer is created in every call", severity="error", source="calling the program a second time",
    fails=sequential("Own(), L.Dense(1)", more="class Own(L.Layer):\n    def call(self, x):\n        return L.Dense(4)(x)"),
    passes=sequential(
        "Own(), L.Dense(1)",
        more="class Own(L.Layer):\n    def __init__(self):\n        super().__init__(); self.inner = L.Dense(4)\n    def call(self, x):\n        return self.inner(x)",
    ),
    doc="""Only objects with variables are reported: an Add, a ReLU or a Reshape can be created anywhere. An object that is created once and kept, as with
`if self.inner is None`, is not reported. Neither is a model that runs eagerly (run_eagerly=True), which raises no error.
On JAX fit raises no error either, but a layer that is created in call is never trained: that is a silent fault. Metrics there are not reported.""",
)  # fmt: skip
_METER = """
class Net(keras.Model):
    def __init__(self):
        super().__init__(); self.dense = L.Dense(1); self.mean = keras.metrics.Mean()
    def call(self, x):
        y = self.dense(x)%s
        return y
    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        self.mean.update_state(y_pred)
        return super().compute_metrics(x, y, y_pred, sample_weight)
def build():
    m = Net(); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
"""
METERED = rule(
    "metric-in-call", "A metric is used inside call, where its state is not available", severity="error", backend="jax", frameworks=("keras",),
    source="keras/src/backend/jax/trainer.py: stateless_call gets no metrics", fails=_METER % "; self.mean.update_state(y)", passes=_METER % "",
)  # fmt: skip
UPDATED = rule(
    "metric-not-updated", "train_step never updates the metrics that compile receives", severity="error", frameworks=("keras",),
    source="keras/src/trainers/trainer.py: get_metrics_result", fails=stepped(), passes=stepped("self.compute_metrics(x, y, p)"),
)  # fmt: skip
_NOISE = """
class Noise(L.Layer):
    def __init__(self):
        super().__init__(); self.seed = keras.random.SeedGenerator(1)
    def call(self, x):
        return x + keras.random.normal(keras.ops.shape(x), seed=%s)
def build():
    m = keras.Sequential([keras.Input((4,)), Noise(), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
"""
DRAWN = rule(
    "fixed-random", "Every step draws the same random numbers", severity="silent", backend="jax", frameworks=("keras",),
    source="the traced program: a draw that depends on no variable", fails=_NOISE % "42", passes=_NOISE % "self.seed",
    doc="""Reported for random numbers with one row per sample. A matrix that stays the same on purpose, as in random features, is not reported.
Numbers that Python's random or NumPy draws in call or in the training step are constants of the compiled step, too. They are reported unless the
code sets the seed itself, or the model runs eagerly.""",
)  # fmt: skip
UNCALLED = rule(
    "layer-uncalled", "A layer is not called on its input", severity="error", source="the arguments of the layer's constructor",
    fails="""
def build():
    i = keras.Input((4, 4)); x = L.Flatten(i)
    return keras.Model(i, L.Dense(1)(x))
""",
    passes="""
def build():
    i = keras.Input((4, 4)); x = L.Flatten()(i)
    return keras.Model(i, L.Dense(1)(x))
""",
)  # fmt: skip
_TWICE = "class Twice(L.Layer):\n    def call(self, x):\n        return tf.concat([x, x], axis=-1)\n    def compute_output_shape(self, shape):\n        return (*shape[:-1], %s)"
DECLARED = rule(
    "declared-shape", "A layer declares another output shape than it returns", severity="error", source="Keras calls compute_output_shape instead of the layer",
    fails=sequential("Twice(), L.Dense(1)", more=_TWICE % "shape[-1]"), passes=sequential("Twice(), L.Dense(1)", more=_TWICE % "2 * shape[-1]"),
    frameworks=("keras",),
    doc="A Lambda declares its shape with `output_shape`, other layers with `compute_output_shape`. Reported only if a layer or a loss after it raises an error.",
)  # fmt: skip
VECTOR = rule(
    "add-loss-vector", "A layer adds one loss value per sample instead of a scalar", severity="silent", source="the shape passed to add_loss, traced again with one more row",
    fails=sequential("Own(), L.Dense(1)", more="class Own(L.Layer):\n    def call(self, x):\n        self.add_loss(tf.reduce_sum(tf.square(x), axis=-1))\n        return x"),
    passes=sequential("Own(), L.Dense(1)", more="class Own(L.Layer):\n    def call(self, x):\n        self.add_loss(tf.reduce_mean(tf.square(x)))\n        return x"),
)  # fmt: skip


_ADDS = "class Own(L.Layer):\n    def call(self, x):\n        self.add_loss(tf.reduce_sum(tf.square(x))%s)\n        return x"
SUMMED = rule(
    "add-loss-summed", "A layer adds the sum of a loss over all samples", severity="silent", source="keras/src/layers/layer.py: activity_regularizer is divided by the batch size",
    fails=sequential("Own(), L.Dense(1)", more=_ADDS % ""), passes=sequential("Own(), L.Dense(1)", more=_ADDS % " / 8.0"),
    doc="""Reported beside a compiled loss that is a mean, if what add_loss receives is a sum over the samples, scaled by numbers that do not divide by the batch
size. Not reported: sums of weights, losses with `reduction="sum"`, and sums that are divided by another tensor.""",
)  # fmt: skip


@check(order=35)
def made_in_call(evidence: Evidence) -> Iterator[Finding]:
    """Objects that a second call creates again."""
    anew = evidence.facts.get("anew")
    if anew is None or evidence.facts.get("run_eagerly"):
        return
    found, location = anew
    silent = evidence.backend == "jax"
    if silent and not found.layer:
        return
    step = evidence.facts.get("step") is not None
    where: Literal["call", "loss", "step"] = "step" if step else "loss" if found.in_loss else "call"
    yield Finding.of(MADE.id, "silent" if silent else "error", MadeAnew(found.cls, where, silent), (), location=location)


def not_called(evidence: Evidence) -> tuple[str, NotCalled] | None:
    """A layer that was created with a tensor instead of called on it."""
    found = evidence.facts.get("uncalled")
    if found is not None:
        return UNCALLED.id, NotCalled(found.cls, found.later, found.made)
    refused: Refused | None = evidence.facts.get("refused")
    if refused is None or not refused.layer or not refused.tensors or not (refused.doubled or refused.many):
        return None
    return UNCALLED.id, NotCalled(refused.layer, False)


def not_written(evidence: Evidence, node: Node) -> tuple[str, Unwritten] | None:
    """A method that an abstract class leaves to its subclasses, and that the layer needs."""
    lacking: tuple[str, str] | None = evidence.facts.get("unwritten")
    if lacking is None or node.failure is None or node.failure.type != "NotImplementedError":
        return None
    return "layer-raises" if node.kind == "layer" else "code-raises", Unwritten(Who.of(node), *lacking)


def vector_added(evidence: Evidence, node: Node) -> tuple[VectorLoss, tuple[str, ...], Location | None] | None:
    """The layer whose loss with one value per sample is incompatible with the other losses; its node, and the line that adds it."""
    if node.op not in ("AddN", "AddV2"):
        return None
    given = [one.spec.shape for one in evidence.given]
    for node_id, name, shape, place in evidence.facts.get("added") or ():
        if shape and any(n != 1 for n in shape) and shape in given:
            layer = evidence.flow.node(node_id) if node_id else None
            return VectorLoss(Who.of(layer) if layer is not None else Who(name, name), shape), (node_id,) if node_id else (), place
    return None


def misdeclared(evidence: Evidence) -> Claim | None:
    """The first layer above the break that does not return what it declares."""
    failed = evidence.failed
    above = {name for node in ancestors(evidence, failed.id) for name in (node.id, node.parent)} if failed is not None else set()
    return next((claim for claim in evidence.facts.get("claims", ()) if claim.node.id in above), None)


@check(order=15)
def declared_shape(evidence: Evidence) -> Iterator[Finding]:
    """A break behind a layer that declares another shape than it returns."""
    claim = misdeclared(evidence)
    if claim is not None:
        fact = Misdeclared(Who.of(claim.node), claim.by, claim.declared, claim.returned)
        yield Finding.of(DECLARED.id, "error", fact, (claim.node.id,), location=claim.node.location or claim.node.called)


@check(order=46)
def vector_loss(evidence: Evidence) -> Iterator[Finding]:
    """Losses that layers add whose axes carry the batch."""
    added = getattr(evidence.facts.get("probe"), "added", ())
    alone = len(added) == 1 and not any(node.kind == "loss" for node in evidence.flow.nodes)
    for node_id, name, shape, grows, place in added:
        if not grows or all(n == 1 for n in shape):
            continue
        node = evidence.flow.node(node_id) if node_id else None
        who = Who.of(node) if node is not None else Who(name, name)
        yield Finding.of(VECTOR.id, "note" if alone else "silent", VectorLoss(who, shape, alone), (node_id,) if node_id else (), location=place)


@check(order=46)
def summed_loss(evidence: Evidence) -> Iterator[Finding]:
    """Losses that layers add which are sums over the samples, beside one that is a mean."""
    losses = evidence.losses() if not evidence.where and evidence.trains else []
    means = losses and not any(str(loss.config.get("reduction", "")).lower() in ("sum", "none") for loss in losses)
    for layer, name, maker, place in evidence.facts.get("added_numbers") or () if means and not _own_loss(evidence) else ():
        total = _sum_of_samples(evidence, evidence.flow.node(maker)) if maker else None
        if total is not None:
            node = evidence.flow.node(layer) if layer else None
            who = Who.of(node) if node is not None else Who(name, name)
            fact = SummedLoss(who, Who.of(total), evidence.flow.into(total.id)[0].spec.shape or ())
            yield Finding.of(SUMMED.id, "silent", fact, (total.id,), (), total.called or place)


def _own_loss(evidence: Evidence) -> bool:
    return not {"train_step", "compute_loss"}.isdisjoint(evidence.facts.get("overrides") or ())


def _sum_of_samples(evidence: Evidence, node: Node) -> Node | None:
    """The sum over the batch that a single number is, but for numbers that scale it, none of which stands for the number of samples."""
    flow, numbers = evidence.flow, evidence.facts.get("single") or {}
    rows = next((spec.shape[0] for _, spec in evidence.x if spec.shape), None) or 0
    for _ in range(8):
        given = flow.into(node.id)
        if node.op in ("Sum", "ReduceSum"):
            spread = (carried(evidence, given[0]) or {}) if len(given) == 1 else {}
            return node if spread == {0: 1.0} and rows > 1 else None
        if node.op not in ("Mul", "RealDiv", "Neg", "Negative", "Cast", "Reshape", "Squeeze") or len(given) != 1 or given[0].spec.shape != ():
            return None
        scale = next((value for (name, _), value in numbers.items() if name == node.id), None)
        if node.op in ("Mul", "RealDiv") and (not scale or _counts(abs(scale if node.op == "RealDiv" else 1 / scale), rows)):
            return None
        node = flow.node(given[0].source)
    return None


def _counts(divisor: float, rows: int) -> bool:
    """Whether a divisor is the number of samples, or of their values."""
    times = divisor / rows
    return times > 0.5 and abs(times - round(times)) < 1e-4 * times


@check(order=36, backend="jax")
def metric_in_call(evidence: Evidence) -> Iterator[Finding]:
    """Metrics that a call asks for their state."""
    stepped = "train_step" in evidence.facts.get("overrides", ())
    for name, location in list(evidence.facts.get("measured") or ())[:1]:
        rule, fact = ("step-without-state", ReadOutside(name)) if stepped else (METERED.id, MetricInCall(name))
        yield Finding.of(rule, "error", fact, (), location=location)


@check(order=48)
def never_updated(evidence: Evidence) -> Iterator[Finding]:
    """Metrics of compile that a training step of the model's own leaves without a result."""
    step = evidence.facts.get("step")
    if step is not None and step.without_result and evidence.failure is None:
        yield Finding.of(UPDATED.id, "error", NeverUpdated(), (), location=evidence.facts.get("own_step"))


@check(order=62, backend="jax")
def fixed_random(evidence: Evidence) -> Iterator[Finding]:
    """Random numbers that are the same in every step: drawn on the host, or for each sample from a constant seed."""
    hosted = evidence.facts.get("host_drawn")
    if hosted is not None and evidence.failure is None and not evidence.facts.get("run_eagerly"):
        yield Finding.of(DRAWN.id, "silent", HostDrawn(), (), location=hosted)
    rows = next((spec.shape[0] for _, spec in evidence.x if spec.shape), None)
    # A key that the program means to change, and cannot, is told by itself.
    for shape, location, renewed in (evidence.facts.get("drawn") or ()) if not evidence.facts.get("kept") else ():
        if location is not None and shape and rows not in (None, 1) and shape[0] == rows:
            yield Finding.of(DRAWN.id, "silent", Constant(shape, renewed), (), location=location)
            return
