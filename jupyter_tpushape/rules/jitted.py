"""Code that a compiled step does not support: values asked of tensors, state in attributes, and steps with another signature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..examine.evidence import Evidence
from ..examine.heard import hear
from ..examine.heard_jax import HeardItem, HeardScoped, HeardStepArguments, HeardTraced, HeardUnseeded, HeardVariable
from ..flow import Finding, Location, Severity, Who
from ..flow.paths import show
from ..trace.locations import is_user_file, location
from .examples import sequential
from .facts.compiled import TextLabels
from .facts.mesh import FirstRow, ForeignFunction, GradientsSwapped, ItemAssigned, StateLost, StepWithoutState, TextFed, Unseeded, ValueAsked, VariableGiven
from .facts.stateless import (
    GradientOfOther,
    OptimizerBeside,
    OptimizerPart,
    OtherVariables,
    ResultsExchanged,
    StateDropped,
    StateMisplaced,
    StateUnchanged,
    StepReturns,
    Underived,
)
from .facts.transforms import GROUPS, BatchUnpacked, PassedAsTensor
from .registry import check, rule
from .tpu_types import TEXT_LAYERS

_KEPT_SEED = """
class Noise(L.Layer):
    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(0)
    def call(self, x):
        return x + keras.random.normal(keras.ops.shape(x), seed=self.seed)"""


VALUE = rule(
    "value-asked", "Code needs a value while the step is compiled", severity="error", source="jax.errors: ConcretizationTypeError and related errors",
    backend="jax", frameworks=("keras",),
    fails=sequential("L.Dense(2), Look(), L.Dense(1)", more="class Look(L.Layer):\n    def call(self, x):\n        return x * 2 if keras.ops.sum(x) > 0 else x"),
    passes=sequential(
        "L.Dense(2), Look(), L.Dense(1)", more="class Look(L.Layer):\n    def call(self, x):\n        return keras.ops.where(keras.ops.sum(x) > 0, x * 2, x)"
    ),
)  # fmt: skip


ITEM = rule(
    "item-assigned", "Code assigns to an item of a tensor", severity="error", source="jax.Array: arrays are immutable",
    backend="jax", frameworks=("keras",),
    fails=sequential("L.Dense(2), First(), L.Dense(1)", more="class First(L.Layer):\n    def call(self, x):\n        x[:, 0] = 0.0\n        return x"),
    passes=sequential(
        "L.Dense(2), First(), L.Dense(1)", more="class First(L.Layer):\n    def call(self, x):\n        x = x.at[:, 0].set(0.0)\n        return x"
    ),
)  # fmt: skip


LOST = rule(
    "state-lost", "A value that a step assigns to self is lost", severity="silent", source="jax.errors.UnexpectedTracerError; measured with Keras 3.15 on JAX",
    backend="jax", frameworks=("keras",),
    fails=sequential(
        "L.Dense(2), Noise(), L.Dense(1)", more="""
import jax
class Noise(L.Layer):
    def __init__(self):
        super().__init__()
        self.key = jax.random.key(0)
    def call(self, x):
        self.key, now = jax.random.split(self.key)
        return x + jax.random.normal(now, x.shape)"""
    ),
    passes=sequential("L.Dense(2), Noise(), L.Dense(1)", more=_KEPT_SEED),
    doc="""Reported for an attribute that had a value before the step and has a tensor of the step after it. An attribute that only stores the last result
(attention weights, for example) had no value before, and is not reported.""",
)  # fmt: skip


SEED = rule(
    "unseeded-random", "Random numbers without a seed in a compiled step", severity="error", source="keras.random.SeedGenerator: global_seed_generator (Keras 3.15)",
    backend="jax", frameworks=("keras",),
    fails=sequential(
        "L.Dense(2), Noise(), L.Dense(1)",
        more="class Noise(L.Layer):\n    def call(self, x):\n        return x + keras.random.normal(keras.ops.shape(x))",
    ),
    passes=sequential("L.Dense(2), Noise(), L.Dense(1)", more=_KEPT_SEED),
)  # fmt: skip


FOREIGN = rule(
    "tensorflow-on-jax", "A TensorFlow function in a model that runs on JAX", severity="error", source="Keras 3: a model computes with its own backend",
    backend="jax", frameworks=("keras",),
    fails=sequential("L.Dense(2), Mean()", more="import tensorflow as tf\nclass Mean(L.Layer):\n    def call(self, x):\n        return tf.reduce_mean(x, axis=1)"),
    passes=sequential("L.Dense(2), Mean()", more="class Mean(L.Layer):\n    def call(self, x):\n        return keras.ops.mean(x, axis=1)"),
)  # fmt: skip


_SCALE = """class Scale(L.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1],), initializer="ones")
    def call(self, x):
        return {}"""


VARIABLE = rule(
    "variable-as-tensor", "A Keras variable is used as a JAX array", severity="error", source="jax 0.10: __jax_array__ during abstractification; measured with Keras 3.15",
    backend="jax", frameworks=("keras",),
    fails=sequential("L.Dense(2), Scale(), L.Dense(1)", more=_SCALE.format("x * self.w.T")),
    passes=sequential("L.Dense(2), Scale(), L.Dense(1)", more=_SCALE.format("x * keras.ops.transpose(self.w)")),
    doc="""Operators and `keras.ops` take a variable as it is. In JAX 0.10, compiled functions of `jax.numpy` (`matmul`, `where`, `multiply`) raise
`Triggering __jax_array__() during abstractification is no longer supported`, and attributes of arrays (`.T`, `.at`, `.reshape`) were never there.""",
)  # fmt: skip


STEP = rule(
    "step-without-state", "train_step does not take or return the state", severity="error", source="keras/src/backend/jax/trainer.py: train_step(self, state, data)",
    backend="jax", frameworks=("keras",),
    fails="""
class M(keras.Model):
    def __init__(self):
        super().__init__(); self.dense = L.Dense(1)
    def call(self, x):
        return self.dense(x)
    def train_step(self, data):
        return {}
def build():
    m = M(); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
""",
    passes="""
class M(keras.Model):
    def __init__(self):
        super().__init__(); self.dense = L.Dense(1)
    def call(self, x):
        return self.dense(x)
    def train_step(self, state, data):
        return super().train_step(state, data)
def build():
    m = M(); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
""",
)  # fmt: skip


_OWN_STEP = """
class M(keras.Model):
    def loss_of(self, trainable, rest, x, y):
        p, rest = self.stateless_call(trainable, rest, x)
        return keras.ops.mean((y - p) ** 2), rest
    def train_step(self, state, data):
        import jax
        trainable, rest, optimizer, metrics = state
        (loss, rest), grads = jax.value_and_grad(self.loss_of, has_aux=True)(trainable, rest, *data)
        trainable, optimizer = self.optimizer.stateless_apply(optimizer, {})
        return {{"loss": loss}}, (trainable, rest, optimizer, metrics)
def build():
    i = keras.Input((4,)); m = M(i, L.Dense(1)(i)); m.compile("sgd"); return m
def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
"""


SWAPPED = rule(
    "gradients-swapped", "An optimizer receives its arguments in the wrong order", severity="silent", source="keras/src/optimizers/base_optimizer.py: stateless_apply",
    backend="jax", frameworks=("keras",), fails=_OWN_STEP.format("trainable, grads"), passes=_OWN_STEP.format("grads, trainable"),
)  # fmt: skip


_LOOP = """class Halve(L.Layer):
    def call(self, x):
        return keras.ops.{}"""


UNDERIVED = rule(
    "loop-gradient", "A loop that JAX cannot differentiate", severity="error", source="jax 0.10: lax.while_loop has no reverse-mode derivative",
    backend="jax", frameworks=("keras",),
    fails=sequential("L.Dense(2), Halve(), L.Dense(1)", more=_LOOP.format("while_loop(lambda y: keras.ops.max(y) > 1, lambda y: (y / 2,), (x,))[0]")),
    passes=sequential("L.Dense(2), Halve(), L.Dense(1)", more=_LOOP.format("fori_loop(0, 3, lambda i, y: y / 2, x)")),
    doc="""Found by deriving the traced loss by the trainable weights. A loop whose input depends on no weight, or goes through `stop_gradient`, is not reported.""",
)  # fmt: skip


# What Python itself asks of a value, and the two methods that give it away.
_PROTOCOLS = frozenset({"Bool", "Int", "Float", "Complex", "Index", "Round", "Item", "Tolist", "python"})


def _line_of(evidence: Evidence) -> Location | None:
    return location((evidence.raised.file, evidence.raised.line)) if evidence.raised is not None else None


def told(evidence: Evidence) -> Finding | None:
    """The finding for code that raises because the step is compiled, or is called with its state."""
    node = evidence.failed
    nodes, where = ((node.id,), node.called or node.location) if node is not None else ((), None)
    if _foreign(evidence.failure):
        return Finding.of(FOREIGN.id, "error", ForeignFunction(), nodes, location=where)
    if evidence.failure is not None and evidence.facts.get("exchanged") is not None:
        return Finding.of(SWAPPED.id, "error", GradientsSwapped(evidence.facts["order"]), nodes, location=evidence.facts["exchanged"])
    if evidence.failure is not None and (derived := evidence.facts.get("derived")) is not None:
        if (evidence.facts.get("taken_apart") or ("",))[0] == "value_and_grad":
            return Finding.of("code-raises", "error", ResultsExchanged("value_and_grad"), nodes, location=derived[2])
        like = next((show(path) for path, spec in (*evidence.x, *evidence.y) if spec.shape == derived[0]), "")
        return Finding.of("code-raises", "error", GradientOfOther(derived[0], derived[1], like), nodes, location=derived[2])
    if evidence.failure is not None and (along := evidence.facts.get("along_batch")) is not None:
        return Finding.of("code-raises", "error", BatchUnpacked(*along), nodes, location=_line_of(evidence) or where)
    if hear(evidence.failure, HeardItem) is not None:
        return Finding.of(ITEM.id, "error", ItemAssigned(), nodes, location=where)
    if hear(evidence.failure, HeardUnseeded) is not None:
        return Finding.of(SEED.id, "error", Unseeded(), nodes, location=where)
    if evidence.failure is not None and (partly := evidence.facts.get("partly")) is not None:
        return Finding.of(STEP.id, "error", OptimizerPart(*partly[:4]), nodes, location=partly[4])
    variable = hear(evidence.failure, HeardVariable)
    if variable is not None and evidence.facts.get("symbolic") is None:
        raised = evidence.raised
        names, holders = (raised.variables, raised.holders) if raised is not None else ((), ())
        inside = bool(holders) and not names and not variable.attribute
        return Finding.of(VARIABLE.id, "error", VariableGiven(holders[:1] if inside else names, variable.attribute, inside), nodes, location=where)
    asked, step = hear(evidence.failure, HeardTraced), hear(evidence.failure, HeardStepArguments)
    # A truth value may be asked of an array of the program's own, where nothing is traced.
    if asked is not None and (asked.what != "truth" or evidence.where != "build" or (node is not None and node.op != "python")):
        raised = evidence.raised
        if raised is not None:
            where = location((raised.file, raised.line))
        passed = evidence.facts.get("handed")
        if passed is not None:
            return Finding.of(VALUE.id, "error", PassedAsTensor(*passed[:4]), nodes, location=passed[4])
        # What a function of a library asks of its argument is no condition or conversion of the program's own.
        inside = asked.what in ("bool", "number") and node is not None and node.kind == "op" and node.op not in _PROTOCOLS
        inside = inside and evidence.where != "step"  # there the node is the optimizer, which runs code of the program's
        decides = raised.decides if raised is not None and asked.what in ("bool", "truth") else ""
        return Finding.of(VALUE.id, "error", ValueAsked("argument" if inside else decides or asked.what), nodes, location=where)
    own = evidence.facts.get("own_step")
    if (scoped := hear(evidence.failure, HeardScoped)) is not None and own is not None:
        return Finding.of(STEP.id, "error", OtherVariables(scoped.path, scoped.want, scoped.got), nodes, location=where or own)
    if step is not None and "train_step" in evidence.facts.get("overrides", ()):
        return Finding.of(STEP.id, "error", StepWithoutState(), nodes, location=where or own)
    first = evidence.facts.get("first_row")
    if evidence.failure is not None and first and first[0] is not None:
        (name, line), shape = first
        return Finding.of("code-raises", "error", FirstRow(name, tuple(shape)), nodes, location=location(line))
    parts = evidence.facts.get("step_parts", 4)
    if evidence.failure is None and parts != 4:
        return Finding.of(STEP.id, "error", StepReturns(None if parts < 0 else parts), location=own)
    if evidence.failure is None and (group := evidence.facts.get("misplaced")) is not None:
        misplaced = StateMisplaced(GROUPS[group]) if group >= 0 else StateUnchanged()
        return Finding.of(STEP.id, "error" if group >= 0 else "silent", misplaced, location=own)
    if evidence.failure is None and (dropped := evidence.facts.get("dropped")):
        state = evidence.facts.get("step")
        fact = StateDropped(dropped, state.name) if state is not None else StateDropped(dropped)
        return Finding.of(STEP.id, "silent", fact, location=own or (state.where if state is not None else None))
    if evidence.failure is None and (beside := evidence.facts.get("beside")) is not None:
        return Finding.of(STEP.id, "silent", OptimizerBeside(beside[0]), location=beside[1])
    return None


def _foreign(error: Any) -> bool:
    trace, inside = getattr(error, "__traceback__", None), False
    while trace is not None:
        name = str(trace.tb_frame.f_globals.get("__name__", ""))
        if is_user_file(trace.tb_frame.f_code.co_filename):
            inside = False
        inside = inside or (name.startswith("tensorflow.python.") and not name.startswith("tensorflow.python.data."))
        trace = trace.tb_next
    return inside


@check(order=16, backend="jax")
def refused(evidence: Evidence) -> Iterator[Finding]:
    """Code that a compiled step does not support."""
    finding = told(evidence)
    if finding is not None:
        yield finding


def texts(evidence: Evidence) -> list[Finding]:
    """The text in the data, which fit on JAX rejects."""
    if evidence.backend != "jax":
        return []
    layer = next((node for node in evidence.flow.nodes if node.op in TEXT_LAYERS), None)
    nodes = (layer.id,) if layer is not None else ()
    fed = [TextFed(show(path), layer.name if layer is not None else "") for path, spec in evidence.x if spec.dtype == "string"]
    labels = [TextLabels(show(path), "the loss") for path, spec in evidence.y if spec.dtype == "string"]
    return [
        *(Finding.of("string-input", "error", fact, nodes, location=layer.location if layer is not None else None) for fact in fed),
        *(Finding.of("string-labels", "error", fact) for fact in labels),
    ]


@check(order=15, backend="jax")
def text(evidence: Evidence) -> Iterator[Finding]:
    """Text in the data, unless fit does not accept the data at all."""
    if not getattr(evidence.sample, "problems", ()):
        yield from texts(evidence)


@check(order=62, backend="jax")
def lost(evidence: Evidence) -> Iterator[Finding]:
    """State that a compiled step assigns to an attribute, where it is lost."""
    for owner, attribute, random, leaked, inner, holder, where, outside in evidence.facts.get("kept", ()):
        nodes = tuple(node.id for node in evidence.flow.nodes if node.name == owner)[:1]
        severity: Severity = "error" if leaked else "silent"
        yield Finding.of(LOST.id, severity, StateLost(owner, attribute, random, leaked, inner, holder, outside), nodes, location=where)


@check(order=60, backend="jax")
def swapped(evidence: Evidence) -> Iterator[Finding]:
    """Weights in the place of gradients."""
    where = evidence.facts.get("exchanged")
    if where is not None and evidence.failure is None:
        yield Finding.of(SWAPPED.id, "silent", GradientsSwapped(evidence.facts["order"]), location=where)


@check(order=17, backend="jax")
def underived(evidence: Evidence) -> Iterator[Finding]:
    """A loop without a gradient between trained weights and the loss."""
    found = evidence.facts.get("underived")
    if found is not None and evidence.failure is None:
        node = evidence.flow.node(found)
        yield Finding.of(UNDERIVED.id, "error", Underived(Who.of(node)), (found,), location=node.called or node.location)
