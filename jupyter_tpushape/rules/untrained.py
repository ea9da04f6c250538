"""What training leaves out or does otherwise: weights, also those that a function or no model holds, the mode of layers, results and updates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, Location, Node, Who
from .contracted import predicts
from .examples import stepped
from .facts.training import FrozenWeights, NeverTrained, OutsideModel, Resting, ResultUnused, SumOfShares, UpdateRefused, ZeroProduct
from .registry import check, rule
from .silent import STEPPED
from .upstream import ancestors

_STEP = stepped(layer="keras.Sequential([L.BatchNormalization(), L.Dense(1)])", metrics="")
MODE = rule(
    "training-mode", "A training step does not say that it trains", severity="silent",
    source="keras.io/guides/customizing_what_happens_in_fit: y_pred = self(x, training=True)", fails=_STEP.replace(", training=True", ""), passes=_STEP,
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
                MODE.id, "silent" if normalizes and not part else "note", Resting(Who.of(model), names, normalizes), (model.id,), location=model.called
            )


def _changes(node: Node) -> bool:
    return node.op == "BatchNormalization" or "Dropout" in node.op or node.op.startswith("GaussianNoise")


def _outermost(evidence: Evidence, node: Node) -> Node:
    while node.parent and evidence.flow.node(node.parent).kind == "layer":
        node = evidence.flow.node(node.parent)
    return node


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


_GATE = """
class Gate(L.Layer):
    def __init__(self):
        super().__init__(); self.score = L.Dense(3)
    def call(self, x):
        return x * {}
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(3), Gate(), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
"""
UNTRAINED = rule(
    "weights-untrained", "No gradient reaches some weights", severity="silent", frameworks=("keras",),
    source="the traced program: a gradient passes through no integer, comparison or rounding, and through no product with zero",
    fails=_GATE.format("keras.ops.cast(self.score(x) > 0, 'float32')"), passes=_GATE.format("keras.ops.sigmoid(self.score(x))"),
    doc="""Reported for trainable weights that the model's output depends on, if the loss is differentiable by other weights but not by these. Some reach
the loss only through a step without a slope, such as argmax or a comparison. On JAX, others reach it only through a
softmax that is summed along its own axis. Others start at zero and are multiplied only by what stays zero, such as both factors of a
low-rank adapter. Not reported where stop_gradient or a custom derivative is on the way, for weights that nothing reads, and for training steps of the
model's own. On TensorFlow, Keras warns about such weights.""",
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


@check(order=49, backend="tensorflow")
def steps_behind(evidence: Evidence) -> Iterator[Finding]:
    """Layers whose results reach the loss, and only through steps without a slope: those of a step together."""
    if evidence.failure is not None or {"train_step", "compute_loss"} & set(evidence.facts.get("overrides", ())) or not evidence.trains:
        return
    flow, stopped = evidence.flow, evidence.facts.get("stopped") or ()
    losses = [node.id for node in flow.nodes if node.kind == "loss"]
    ends = [*losses, *(node.id for node in flow.nodes if not flow.out_of(node.id) and node.kind not in ("loss", "output", "metric"))]
    alive = _behind(evidence, stopped) | _behind(evidence, ends, lambda node: not _flat(evidence, node))
    layers = [node for node in flow.nodes if node.kind == "layer" and flow.out_of(node.id) and any(one.trainable for one in node.weights)]
    dead = [node for node in layers if node.id not in alive]
    trained = {node.name for node in layers if node.id in alive}
    lost, said = _behind(evidence, losses) if dead and trained else set(), set()
    for node in dead:
        step = _first_step(evidence, node) if node.name not in trained and node.id in lost else None
        if step is not None and step.id not in said:
            said.add(step.id)
            fact = NeverTrained(tuple(one.name for one in node.weights if one.trainable), Who.of(node), Who.of(step))
            yield Finding.of(UNTRAINED.id, "silent", fact, (node.id, step.id), location=step.called)


def _flat(evidence: Evidence, node: Node) -> bool:
    made = evidence.flow.out_of(node.id)
    return node.op in STEPPED or (bool(made) and not any(one.spec.dtype.startswith(("float", "bfloat")) for one in made))


def _behind(evidence: Evidence, ends: Iterable[str], through: Callable[[Node], bool] | None = None) -> set[str]:
    flow, pending, found = evidence.flow, list(ends), set()
    for one in pending:
        for edge in flow.into(one):
            if edge.source not in found:
                found.add(edge.source)
                pending += [edge.source] if through is None or through(flow.node(edge.source)) else []
    return found


def _first_step(evidence: Evidence, start: Node) -> Node | None:
    flow, pending = evidence.flow, [start.id]
    seen = {*pending}
    for here in pending:
        for node in (flow.node(edge.target) for edge in flow.out_of(here)):
            if _flat(evidence, node):
                if node.kind == "op":
                    return node
            elif node.id not in seen:
                seen.add(node.id)
                pending.append(node.id)
    return None


def _step(evidence: Evidence, operation: str, place: Location | None) -> Node | None:
    here = [node for node in evidence.flow.nodes if node.kind == "op" and place is not None and node.called == place]
    return next((node for node in here if node.op == operation), here[0] if len(here) == 1 else None)


_UPDATE = """
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((y - self(x, training=True)) ** 2)
        self.optimizer.apply_gradients(zip(%s))"""
UPDATE = rule(
    "optimizer-update", "The optimizer does not accept an update of the training step", severity="error", backend="tensorflow",
    source="keras/src/optimizers/base_optimizer.py: apply; tf_keras/src/optimizers/optimizer.py: apply_gradients",
    fails=stepped(_UPDATE % "self.trainable_variables, tape.gradient(loss, self.trainable_variables)", metrics=""),
    passes=stepped(_UPDATE % "tape.gradient(loss, self.trainable_variables), self.trainable_variables", metrics=""),
    doc="""Reported if an optimizer of Keras raises for what a training step passes to apply_gradients or apply. The values are not pairs, gradients and
variables are swapped, a gradient does not fit its variable, or the optimizer was built for other variables.""",
)  # fmt: skip


@check(order=50, backend="tensorflow")
def refused(evidence: Evidence) -> Iterator[Finding]:
    """An update for which the framework's own optimizer raises."""
    step = evidence.facts.get("step")
    found = step.misapplied if step is not None else None
    if found is not None and found.function:
        fact = UpdateRefused(found.how, found.optimizer, found.function, found.variable, found.gradient, found.weight, found.known)
        yield Finding.of(UPDATE.id, "error", fact, tuple(node.id for node in evidence.flow.failed()), location=found.location)


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


_BESIDE = """
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
    fails=_BESIDE.format("L.Lambda(lambda t: inner(t))"), passes=_BESIDE.format("inner"),
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
