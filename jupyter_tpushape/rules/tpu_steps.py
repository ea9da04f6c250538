"""Custom training loops under a strategy: sizes of gradients, what runs where, what was made where (catalogue, sections 1, 2, 6)."""

from __future__ import annotations

from collections.abc import Iterator

from ..flow import Finding, Location, Side
from .evidence import Evidence
from .registry import check, rule
from .step_facts import StepState
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
    doc="""The replicas' gradients are added up. A loss that each replica divides by its own rows must be divided by the number of replicas
too: tf.nn.compute_average_loss(per_row, global_batch_size=...), or a Keras 3 loss object, which does it by itself under a strategy.
The factors are read off the traced graph; where they cannot be followed, the report says so and nothing is claimed.""",
)  # fmt: skip
WEIGHTS = rule(
    "regularization-scale", "A loss of the weights is added on each replica", severity="silent", source="tpu-rules L3", tpu="v5e-8",
    fails=_example(_RIGHT + " + 0.01 * tf.reduce_sum(tf.square(tf.convert_to_tensor(model.trainable_variables[0])))"),
    passes=_example(_RIGHT + " + tf.nn.scale_regularization_loss(0.01 * "
    "tf.reduce_sum(tf.square(tf.convert_to_tensor(model.trainable_variables[0]))))"),
)  # fmt: skip
REPORTED = rule(
    "reported-loss-scale", "The loss that the step reports is N times off", severity="note", source="tpu-rules L3", tpu="v5e-8",
    fails=_example(step=_RUN.replace('"SUM"', '"MEAN"')), passes=_example(),
    doc="Only the number that is shown: a loss that is scaled for the whole batch is reduced by SUM, one of each replica's own mean by MEAN.",
)  # fmt: skip
REDUCTION = rule(
    "loss-reduction", "A tf_keras loss object with its default reduction in a custom step", severity="tpu", source="tpu-rules L1", tpu="v5e-8",
    frameworks=("tf_keras",), fails=_example("keras.losses.MeanSquaredError()(y, model(x, training=True))"), passes=_example(),
    doc="tf_keras raises `Please use `tf.keras.losses.Reduction.SUM` or `tf.keras.losses.Reduction.NONE` for loss reduction when losses are "
    "used with `tf.distribute.Strategy``. Keras 3 scales such a loss by itself.",
)  # fmt: skip
EAGER = rule(
    "step-eager", "strategy.run outside of a tf.function", severity="tpu", source="tpu-rules E8; tensorflow/python/distribute/tpu_strategy.py:115",
    tpu="v5e-8", fails=_example(step=_RUN.replace("@tf.function", "")), passes=_example(),
)  # fmt: skip
LAMBDA = rule(
    "step-lambda", "A tf.function made of a lambda calls strategy.run", severity="tpu", source="tpu-rules E7", tpu="v5e-8",
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
    "variable-in-step", "A variable is made anew in every call of the step", severity="error", source="tpu-rules E11, V11", tpu="v5e-8",
    fails=_example("tf.reduce_sum(tf.Variable(1.0) * model(x)) / 16"), passes=_example("tf.reduce_sum(factor * model(x)) / 16",
    before="    factor = tf.Variable(1.0)\n"),
)  # fmt: skip
ARGUMENT = rule(
    "variable-argument", "A variable is handed to strategy.run for *args", severity="tpu",
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
    doc="What runs inside is one replica's program already. TensorFlow's Python raises `Method requires being in cross-replica context`; where it is got "
    "past, the TPU says that TPU computations cannot be nested.",
)  # fmt: skip
STATIC = rule(
    "static-shapes-only", "Padding of unknown shapes is switched off, and the batch axis is unknown", severity="tpu",
    source="tpu-rules B6; tensorflow/python/distribute/distribute_lib.py RunOptions (from the documentation; not verified on a TPU)", tpu="v5e-8",
    fails=_example(step=_RUN.replace("args=batch", "args=batch, options=OPTIONS")).replace(", drop_remainder=True", "").replace("64", "72")
    + "\nOPTIONS = tf.distribute.RunOptions(experimental_enable_dynamic_batch_size=False)\n",
    passes=_example(step=_RUN.replace("args=batch", "args=batch, options=OPTIONS"))
    + "\nOPTIONS = tf.distribute.RunOptions(experimental_enable_dynamic_batch_size=False)\n",
    doc="With experimental_enable_dynamic_batch_size=False TPUStrategy takes static shapes only: nothing pads a smaller last batch.",
)  # fmt: skip
BARE = rule(
    "variable-outside", "A tf.Variable from outside the scope is read in the step", severity="tpu",
    source="tpu-rules V10 (from the source; the error's text is not verified)", tpu="v5e-8",
    fails=_example("tf.reduce_sum(factor * model(x)) / 16", before="factor = tf.Variable(1.0)\n"),
    passes=_example("tf.reduce_sum(factor * model(x)) / 16", before="    factor = tf.Variable(1.0)\n"),
    doc="TensorFlow's Python lets it through (tpu_strategy.py:1648); the variable stands on the host, and the TPU's program cannot read it.",
)  # fmt: skip


def _state(evidence: Evidence) -> StepState | None:
    return evidence.facts.get("step") if evidence.target is not None else None


@check(order=52, backend="tensorflow")
def sizes(evidence: Evidence) -> Iterator[Finding]:
    """Gradients, regularisation and reported losses against the number of replicas."""
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
        much = f"{scale.times:g} times too large" if scale.times > 1 else f"{1 / scale.times:g} times too small"
        if scale.what == "gradient":
            why = (
                f"Each replica takes the mean over its own rows, and the optimizer adds the {replicas} replicas' gradients. Divide by the whole batch: "
                "tf.nn.compute_average_loss(per_row_loss, global_batch_size=...)."
                + (" What is shown is then reduced by SUM." if averaged else "")
                if scale.times > 1
                else f"The loss is divided by the {replicas} replicas once too often. A Keras 3 loss object already does it under a strategy."
            )
            if scale.detail == "mask" and scale.times > 1:
                why = (
                    f"Each replica divides by what the mask leaves of its own rows, and the optimizer adds the {replicas} replicas' gradients. Divide by the "
                    "mask's sum over all of them: tf.distribute.get_replica_context().all_reduce('sum', ...)."
                )
            said = {"mask": f"The gradients are about {much}", "clip": f"Where they are not clipped, the gradients are {much}"}
            yield Finding(
                SCALE.id, "silent", f"{said.get(scale.detail, f'The gradients are {much}')} on {replicas} replicas, and nothing raises.", why,
                Side("the sum over the rows, divided by the whole batch"), Side("divided by each replica's rows" if scale.times > 1 else "divided twice"),
                nodes, location=scale.location,
            )  # fmt: skip
        elif scale.what == "weights":
            yield Finding(
                WEIGHTS.id, "silent", f"The loss of the weights counts {scale.times:g} times on {replicas} replicas.",
                "Every replica adds the whole of it, and gradients are added up: tf.nn.scale_regularization_loss divides it.",
                Side(f"divided by {replicas}"), Side("added by each replica"), nodes, location=scale.location,
            )  # fmt: skip
        else:
            other = "MEAN" if scale.detail == "SUM" else "SUM"
            yield Finding(
                REPORTED.id, "note", f"The loss that strategy.reduce gives is {much}: only what is shown, not what is learned.",
                f"Reduce it by {other}.", Side(f"ReduceOp.{other}"), Side(f"ReduceOp.{scale.detail}"),
                tuple(node.id for node in evidence.flow.nodes if node.op == "reduce"), location=scale.location,
            )  # fmt: skip


@check(order=53, backend="tensorflow")
def refused(evidence: Evidence) -> Iterator[Finding]:
    """What the strategy or the framework does not take, in the order in which a run would meet it."""
    state = _state(evidence)
    if state is None or evidence.target is None:
        return
    failed = tuple(node.id for node in evidence.flow.failed())
    tpu = not evidence.target.live or "TPU" in evidence.target.strategy
    if "Reduction.SUM" in state.refused:
        node = evidence.failed
        yield Finding(
            REDUCTION.id, "tpu", "A tf_keras loss object with its default reduction raises in a custom step under a strategy.",
            "It says `Please use tf.keras.losses.Reduction.SUM or .NONE`. Give it reduction='none' and take tf.nn.compute_average_loss.",
            Side("reduction='none'"), Side("the default reduction"), failed, location=(node.called or node.location) if node else None,
        )  # fmt: skip
    if state.next_inside is not None:
        yield _at(
            NEXT.id, "next(iterator) is called inside strategy.run, where there is one replica and no iterator.",
            "It raises `next(iterator) should be called from outside of replica_fn`. Take the batch before: strategy.run(step, args=(next(iterator),)).",
            "next outside strategy.run", "next inside", failed, state.next_inside,
        )  # fmt: skip
    if tpu and state.runs and not state.graph_function and state.eager_inside:
        yield _at(
            EAGER.id, f"{state.name} is no tf.function and calls strategy.run with a plain function: called as it is, TPUStrategy refuses it.",
            "It raises `TPUStrategy.run(fn, ...) does not support pure eager execution`. Put @tf.function over it.",
            "@tf.function", "a plain function", (), state.where,
        )  # fmt: skip
    if tpu and state.runs and state.graph_function and state.lambda_name:
        yield _at(
            LAMBDA.id, "The tf.function that calls strategy.run is made of a lambda, whose name is no name for a TPU's scope.",
            "It raises `'cluster_<lambda>/pivot' is not a valid root scope name`. Write it with def.", "def step(...)", "a lambda", (), state.where,
        )  # fmt: skip
    if tpu and state.variable_argument is not None:
        yield _at(
            ARGUMENT.id, "A variable is handed to strategy.run for a function that takes *args.",
            "It raises `TPUStrategy.run() cannot handle Variables passed to *args`. Name the parameter, or use the variable from outside.",
            "a named parameter", "*args", (), state.variable_argument,
        )  # fmt: skip
    if state.nested is not None:
        yield _at(
            NESTED.id, "strategy.run is called inside strategy.run, where there is one replica and nothing to distribute.",
            "It raises `Method requires being in cross-replica context`. Call the inner function directly.",
            "a plain call", "strategy.run", failed, state.nested,
        )  # fmt: skip
    if tpu and state.static_only is not None and evidence.split is not None and evidence.split.dynamic:
        yield _at(
            STATIC.id, "strategy.run is told to take static shapes only, and the batch axis of each replica is unknown.",
            "TensorFlow's documentation rules it out; what a TPU says is not verified. Leave the option out, or make every batch of one size: drop_remainder=True "
            f"and a multiple of {evidence.target.replicas}.",
            "static shapes", "an unknown batch axis", (), state.static_only,
        )  # fmt: skip
    for where in state.variables_made[:1]:
        made = _at(
            MADE.id, "The step makes a tf.Variable in every call.",
            "It raises `tf.function only supports singleton tf.Variables created on the first call`. Make it before, in the scope.",
            "made once, outside the step", "made in the step", (), where,
        )  # fmt: skip
        made.severity = "error" if state.graph_function else "tpu"
        yield made


def _at(rule_id: str, message: str, why: str, expected: str, found: str, nodes: tuple[str, ...], where: Location | None) -> Finding:
    return Finding(rule_id, "tpu", message, why, Side(expected), Side(found), nodes, location=where)


@check(order=54, backend="tensorflow")
def scopes(evidence: Evidence) -> Iterator[Finding]:
    """What the step uses and was made outside the scope of the strategy that it runs under."""
    state = _state(evidence)
    if state is None or not state.strategy:
        return
    rebuild = "Make model, optimizer and variables inside `with strategy.scope():`."
    if state.outside:
        yield Finding(
            OUTSIDE.id, "tpu", f"{len(state.outside)} of {state.variables} variables ({state.outside[0].removesuffix(':0')}, ...) were made outside the scope "
            f"of {state.strategy}, which runs this step.",
            f"Each replica needs its own copy, and these have one. {rebuild}", Side("made in the scope"), Side("made outside"),
        )  # fmt: skip
    for optimizer in state.optimizers_outside:
        severity = "tpu" if evidence.framework == "keras" else "note"
        says = (
            "Keras 3 raises `Mixing different tf.distribute.Strategy objects` when it makes the optimizer's state."
            if severity == "tpu"
            else "tf_keras takes one that has no state yet."
        )
        yield Finding(
            OPTIMIZER.id, severity, f"The optimizer ({optimizer}) was made outside the scope of {state.strategy}, which runs this step.",  # type: ignore[arg-type]
            f"{says} {rebuild}", Side("made in the scope"), Side("made outside"),
        )  # fmt: skip
    if state.bare_outside:
        yield Finding(
            BARE.id, "tpu", f"The step reads {', '.join(state.bare_outside[:3])}, made outside the scope of {state.strategy}.",
            f"It stands on the host alone, where the TPU's program cannot read it; how that is worded on a TPU is not verified. {rebuild}",
            Side("made in the scope"), Side("made outside"),
        )  # fmt: skip
