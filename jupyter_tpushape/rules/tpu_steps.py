"""Custom training loops under a strategy: the scale of gradients, where code runs, and where objects are created (catalog, sections 1, 2, 6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ..examine.evidence import Evidence
from ..examine.heard import HeardReduction, hear
from ..examine.step_facts import StepState
from ..flow import Finding
from .facts.tpu_scope import BareOutside, OptimizerOutside, VariablesOutside
from .facts.tpu_steps import (
    EagerStep,
    GradientScale,
    LambdaStep,
    LossReduction,
    NestedRun,
    NextInside,
    ReportedScale,
    StaticOnly,
    VariableArgument,
    VariableMade,
    WeightLossScale,
)
from .registry import check, rule
from .tpu_scope import OPTIMIZER, OUTSIDE

_STEP = """
strategy = tpushape.tpu_strategy("v5e-8")
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), L.Dense(1)])
    optimizer = keras.optimizers.SGD(0.1)
    per_row = keras.losses.MeanSquaredError(reduction="none")
{before}
def replica_step(x, y):
    with tf.GradientTape() as tape:
        loss = {loss}
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
{step}
def data():
    x, y = np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(16, drop_remainder=True).prefetch(1)
"""
_MEAN = "tf.reduce_mean(per_row(y, model(x, training=True)))"
_RIGHT = "tf.nn.compute_average_loss(per_row(y, model(x, training=True)), global_batch_size=16)"
_RUN = """
@tf.function
def step(batch):
    return strategy.reduce("SUM", strategy.run(replica_step, args=batch), axis=None)
"""


def _example(loss: str = _RIGHT, step: str = _RUN, before: str = "") -> str:
    return _STEP.format(loss=loss, step=step, before=before)


SCALE = rule(
    "gradient-scale", "The step's gradients are N times too large or too small over N replicas", severity="silent",
    source="tpu-rules L2, L3", tpu="v5e-8", fails=_example(_MEAN), passes=_example(),
    doc="""The replicas' gradients are summed. A loss that each replica divides by its own rows must also be divided by the number of replicas: use
`tf.nn.compute_average_loss(per_row, global_batch_size=...)`, or a Keras 3 loss object, which does it under a strategy. The factors come from the
traced graph. If they cannot be determined, the report says so and makes no claim.""",
)  # fmt: skip
WEIGHTS = rule(
    "regularization-scale", "Every replica adds the full regularization loss", severity="silent", source="tpu-rules L3", tpu="v5e-8",
    fails=_example(_RIGHT + " + 0.01 * tf.reduce_sum(tf.square(tf.convert_to_tensor(model.trainable_variables[0])))"),
    passes=_example(_RIGHT + " + tf.nn.scale_regularization_loss(0.01 * "
    "tf.reduce_sum(tf.square(tf.convert_to_tensor(model.trainable_variables[0]))))"),
)  # fmt: skip
REPORTED = rule(
    "reported-loss-scale", "The loss that the step reports is off by a factor of N", severity="note", source="tpu-rules L3", tpu="v5e-8",
    fails=_example(step=_RUN.replace('"SUM"', '"MEAN"')), passes=_example(),
    doc="This affects only the reported value. Reduce a loss that is scaled for the whole batch with SUM, and a loss that each replica averages with MEAN.",
)  # fmt: skip
REDUCTION = rule(
    "loss-reduction", "A tf_keras loss object with its default reduction in a custom step", severity="tpu", source="tpu-rules L1", tpu="v5e-8",
    frameworks=("tf_keras",), fails=_example("keras.losses.MeanSquaredError()(y, model(x, training=True))"), passes=_example(),
    doc="""tf_keras raises `Please use tf.keras.losses.Reduction.SUM or tf.keras.losses.Reduction.NONE for loss reduction when losses are used with
tf.distribute.Strategy`. Keras 3 scales such a loss itself.""",
)  # fmt: skip
EAGER = rule(
    "step-eager", "strategy.run outside a tf.function", severity="tpu", source="tpu-rules E8; tensorflow/python/distribute/tpu_strategy.py:115",
    tpu="v5e-8", fails=_example(step=_RUN.replace("@tf.function", "")), passes=_example(),
)  # fmt: skip
LAMBDA = rule(
    "step-lambda", "A tf.function that wraps a lambda calls strategy.run", severity="tpu", source="tpu-rules E7", tpu="v5e-8",
    fails=_example(step="\nstep = tf.function(lambda batch: strategy.run(replica_step, args=batch))\n"), passes=_example(),
)  # fmt: skip
NEXT = rule(
    "next-in-step", "next(iterator) inside strategy.run", severity="tpu", source="tpu-rules E9; tensorflow/python/distribute/input_lib.py:320",
    tpu="v5e-8",
    fails=_example(step="""
@tf.function
def step(iterator):
    return strategy.run(lambda: replica_step(*next(iterator)))
"""),
    passes=_example(step="""
@tf.function
def step(iterator):
    return strategy.run(replica_step, args=next(iterator))
"""),
)  # fmt: skip
MADE = rule(
    "variable-in-step", "Every call of the step creates a variable", severity="error", source="tpu-rules E11, V11", tpu="v5e-8",
    fails=_example("tf.reduce_sum(tf.Variable(1.0) * model(x)) / 16"), passes=_example("tf.reduce_sum(factor * model(x)) / 16",
    before="    factor = tf.Variable(1.0)\n"),
)  # fmt: skip
ARGUMENT = rule(
    "variable-argument", "A variable is passed to strategy.run for *args", severity="tpu",
    source="tpu-rules E10; tensorflow/python/distribute/tpu_strategy.py:210", tpu="v5e-8",
    fails=_example(before="    factor = tf.Variable(1.0)\n", step="""
def scaled(*batch):
    return replica_step(batch[0], batch[1]) * batch[2]
@tf.function
def step(x, y):
    return strategy.run(scaled, args=(x, y, factor))
"""),
    passes=_example(before="    factor = tf.Variable(1.0)\n", step="""
def scaled(x, y, by):
    return replica_step(x, y) * by
@tf.function
def step(x, y):
    return strategy.run(scaled, args=(x, y, factor))
"""),
)  # fmt: skip
NESTED = rule(
    "nested-run", "strategy.run inside strategy.run", severity="tpu", source="tpu-rules O4", tpu="v5e-8",
    fails=_example(step="""
def outer_step(x, y):
    return strategy.run(replica_step, args=(x, y))
@tf.function
def step(batch):
    return strategy.run(outer_step, args=batch)
"""),
    passes=_example(step="""
def outer_step(x, y):
    return replica_step(x, y)
@tf.function
def step(batch):
    return strategy.run(outer_step, args=batch)
"""),
    doc="""The code inside is already the program of one replica. TensorFlow raises `Method requires being in cross-replica context` in Python; if that
check is bypassed, the TPU reports that TPU computations cannot be nested.""",
)  # fmt: skip
STATIC = rule(
    "static-shapes-only", "Dynamic batch sizes are disabled, but the batch axis is unknown", severity="tpu",
    source="tpu-rules B6; tensorflow/python/distribute/distribute_lib.py RunOptions (from the documentation; not verified on a TPU)", tpu="v5e-8",
    fails=_example(step=_RUN.replace("args=batch", "args=batch, options=OPTIONS")).replace(", drop_remainder=True", "").replace("64", "72")
    + "\nOPTIONS = tf.distribute.RunOptions(experimental_enable_dynamic_batch_size=False)\n",
    passes=_example(step=_RUN.replace("args=batch", "args=batch, options=OPTIONS"))
    + "\nOPTIONS = tf.distribute.RunOptions(experimental_enable_dynamic_batch_size=False)\n",
    doc="With `experimental_enable_dynamic_batch_size=False`, TPUStrategy accepts static shapes only: nothing pads a smaller last batch.",
)  # fmt: skip
BARE = rule(
    "variable-outside", "The step reads a tf.Variable from outside the scope", severity="tpu",
    source="tpu-rules V10 (from the source; the error message is not verified)", tpu="v5e-8",
    fails=_example("tf.reduce_sum(factor * model(x)) / 16", before="factor = tf.Variable(1.0)\n"),
    passes=_example("tf.reduce_sum(factor * model(x)) / 16", before="    factor = tf.Variable(1.0)\n"),
    doc="TensorFlow does not check this in Python (tpu_strategy.py:1648). The variable exists only on the host, and the TPU program cannot read it.",
)  # fmt: skip


def _state(evidence: Evidence) -> StepState | None:
    return evidence.facts.get("step") if evidence.target is not None else None


@check(order=52, backend="tensorflow")
def sizes(evidence: Evidence) -> Iterator[Finding]:
    """Gradients, regularization and reported losses against the number of replicas."""
    state = _state(evidence)
    if state is None or evidence.target is None:
        return
    replicas = evidence.target.replicas
    nodes = tuple(node.id for node in evidence.flow.nodes if node.op == "GradientTape.gradient")
    off = {scale.times for scale in state.scales if scale.what == "gradient"}
    averaged = any(node.op == "reduce" and node.config.get("op") == "MEAN" for node in evidence.flow.nodes)
    for scale in state.scales:
        if scale.what == "reported" and scale.times in off:
            continue  # right once the loss is
        if scale.what == "gradient":
            by: Literal["", "mask", "clip"] = "mask" if scale.detail == "mask" else "clip" if scale.detail == "clip" else ""
            yield Finding.of(SCALE.id, "silent", GradientScale(scale.times, replicas, by, averaged), nodes, location=scale.location)
        elif scale.what == "weights":
            yield Finding.of(WEIGHTS.id, "silent", WeightLossScale(scale.times, replicas), nodes, location=scale.location)
        else:
            reduces = tuple(node.id for node in evidence.flow.nodes if node.op == "reduce")
            yield Finding.of(REPORTED.id, "note", ReportedScale(scale.times, scale.detail), reduces, location=scale.location)


@check(order=53, backend="tensorflow")
def refused(evidence: Evidence) -> Iterator[Finding]:
    """Code that the strategy or the framework rejects, in the order of a run."""
    state = _state(evidence)
    if state is None or evidence.target is None:
        return
    failed = tuple(node.id for node in evidence.flow.failed())
    tpu = not evidence.target.live or "TPU" in evidence.target.strategy
    if hear(state.refused, HeardReduction) is not None:
        node = evidence.failed
        yield Finding.of(REDUCTION.id, "tpu", LossReduction(), failed, location=(node.called or node.location) if node else None)
    if state.next_inside is not None:
        yield Finding.of(NEXT.id, "tpu", NextInside(), failed, location=state.next_inside)
    if tpu and state.runs and not state.graph_function and state.eager_inside:
        yield Finding.of(EAGER.id, "tpu", EagerStep(state.name), location=state.where)
    if tpu and state.runs and state.graph_function and state.lambda_name:
        yield Finding.of(LAMBDA.id, "tpu", LambdaStep(), location=state.where)
    if tpu and state.variable_argument is not None:
        yield Finding.of(ARGUMENT.id, "tpu", VariableArgument(), location=state.variable_argument)
    if state.nested is not None:
        yield Finding.of(NESTED.id, "tpu", NestedRun(), failed, location=state.nested)
    if tpu and state.static_only is not None and evidence.split is not None and evidence.split.dynamic:
        yield Finding.of(STATIC.id, "tpu", StaticOnly(evidence.target.replicas), location=state.static_only)
    for where in state.variables_made[:1]:
        yield Finding.of(MADE.id, "error" if state.graph_function else "tpu", VariableMade(), location=where)


@check(order=54, backend="tensorflow")
def scopes(evidence: Evidence) -> Iterator[Finding]:
    """Objects that the step uses and that were created outside the scope of its strategy."""
    state = _state(evidence)
    if state is None or not state.strategy:
        return
    if state.outside:
        first = state.outside[0].removesuffix(":0")
        fact = VariablesOutside(state.strategy, len(state.outside), state.variables, first, step=True)
        yield Finding.of(OUTSIDE.id, "tpu", fact)
    for optimizer in state.optimizers_outside:
        keras3 = evidence.framework == "keras"
        yield Finding.of(OPTIMIZER.id, "tpu" if keras3 else "note", OptimizerOutside(state.strategy, optimizer, True, keras3))
    if state.bare_outside:
        yield Finding.of(BARE.id, "tpu", BareOutside(state.strategy, tuple(state.bare_outside)))
