"""The scope that a model, its optimizer and its metrics were created in, and how the model is compiled (catalog, sections 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..examine.evidence import Evidence
from ..flow import Finding
from .facts.tpu_scope import (
    JitCompile,
    MetricsOutside,
    ModelOutside,
    OptimizerOfAnother,
    OptimizerOutside,
    OptimizerStale,
    RoundTrips,
    RunEagerly,
    SummedLoss,
    VariablesOutside,
)
from .registry import check, rule

_MODEL = "keras.Sequential([keras.Input((4,)), L.Dense(1)])"
_ENDLESS = """
def data():
    x, y = np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")
    return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16, drop_remainder=True).prefetch(1)
"""
_DATA = '\ndef data():\n    return np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")\n'


def _build(body: str) -> str:
    return "def build():\n" + "".join(f"    {line}\n" for line in body.strip().splitlines()) + "    return m\n" + _DATA


_INSIDE = _build(f"""
with tpushape.tpu_strategy("v5e-8").scope():
    m = {_MODEL}
    m.compile("sgd", "mse", metrics=["mae"])
""")

OUTSIDE = rule(
    "scope-outside", "The model is created outside the strategy's scope and compiled inside", severity="tpu", source="tpu-rules V1, V8, V12, H2",
    tpu="v5e-8",
    frameworks=("keras",),
    fails=_build(f"""
m = {_MODEL}
with tpushape.tpu_strategy("v5e-8").scope():
    m.compile("sgd", "mse")
"""),
    passes=_INSIDE,
    doc="""The Keras 3 errors do not explain the cause. Under TPUStrategy they are `'ResourceVariable' object has no attribute '_packed_variable'` (SGD),
an error about `colocate_vars_with`, or `Need to be inside "with strategy.scope()"` (Adam). Under
MirroredStrategy it is a bare AssertionError. tf_keras reports at compile that the variable was not created in the scope.""",
)  # fmt: skip
NOWHERE = rule(
    "scope-unused", "There is a strategy, but nothing was created in its scope", severity="silent", source="tpu-rules V2, V3", tpu="",
    fails=_build(f'm = {_MODEL}\nm.compile("sgd", "mse")') + '\nstrategy = tpushape.tpu_strategy("v5e-8")\n',
    passes=_INSIDE + '\nstrategy = tpushape.tpu_strategy("v5e-8")\n',
    doc="""No error is raised: the model trains on the default device, and the TPU is idle. On a TPU machine Keras 3 may also raise `could not find
registered transfer manager for platform Host`, because jit_compile='auto' compiles the step with XLA there; jit_compile=False does not.""",
)  # fmt: skip
OPTIMIZER = rule(
    "optimizer-outside", "The optimizer is created outside the strategy's scope", severity="tpu", source="tpu-rules V4", tpu="v5e-8",
    frameworks=("keras",),
    fails=_build(f"""
optimizer = keras.optimizers.Adam()
with tpushape.tpu_strategy("v5e-8").scope():
    m = {_MODEL}
    m.compile(optimizer, "mse")
"""),
    passes=_INSIDE,
)  # fmt: skip
FOREIGN = rule(
    "optimizer-of-another-model", "The optimizer was built for other variables", severity="error", source="tpu-rules V5",
    fails=_build(f"""
optimizer = keras.optimizers.SGD(momentum=0.9)
other = {_MODEL}
optimizer.build(other.trainable_variables)
m = {_MODEL}
m.compile(optimizer, "mse")
"""),
    passes=_build(f"""
m = {_MODEL}
m.compile(keras.optimizers.SGD(momentum=0.9), "mse")
m.optimizer.build(m.trainable_variables)
"""),
)  # fmt: skip
METRIC = rule(
    "metric-outside", "A metric is created outside the strategy's scope", severity="note",
    source="tpu-rules V6 (inferred from the traced program)", tpu="v5e-8",
    frameworks=("keras",),
    fails=_build(f"""
metric = keras.metrics.MeanAbsoluteError()
with tpushape.tpu_strategy("v5e-8").scope():
    m = {_MODEL}
    m.compile("sgd", "mse", metrics=[metric])
"""),
    passes=_INSIDE,
    doc="Keras 3 accepts it, but its variables have no copy on each replica, so its value may be wrong. tf_keras raises an error at compile.",
)  # fmt: skip
EAGER = rule(
    "run-eagerly", "run_eagerly=True on a TPU", severity="tpu", source="tpu-rules E8; tensorflow/python/distribute/tpu_strategy.py:115",
    tpu="v5e-8",
    fails=_build(f'm = {_MODEL}\nm.compile("sgd", "mse", run_eagerly=True)'), passes=_build(f'm = {_MODEL}\nm.compile("sgd", "mse")'),
)  # fmt: skip
JIT = rule(
    "jit-compile", "jit_compile=True under TPUStrategy", severity="tpu", source="tpu-rules O15, K2", tpu="v5e-8", frameworks=("keras",),
    fails=_build(f'm = {_MODEL}\nm.compile("sgd", "mse", jit_compile=True)'),
    passes=_build(f'm = {_MODEL}\nm.compile("sgd", "mse", jit_compile=False)'),
    doc="""A TPU compiles the step anyway. Keras 3 wraps the distributed step in another XLA function, where TPU operations are not allowed. Use
`jit_compile='auto'`.""",
)  # fmt: skip

SUMMED = rule(
    "loss-not-averaged", "compile receives a loss that is not averaged over the samples", severity="silent", source="tpu-rules L4",
    fails=_build(f'm = {_MODEL}\nm.compile("sgd", keras.losses.MeanSquaredError(reduction="none"))'),
    passes=_build(f'm = {_MODEL}\nm.compile("sgd", keras.losses.MeanSquaredError())'),
    doc="""`reduction="none"` keeps one loss per row, and its gradient is the gradient of their sum: the batch size times the gradient of the mean, on one
device and over replicas. `reduction="sum"` states this explicitly, so it is reported as a note.""",
)  # fmt: skip
ROUND_TRIPS = rule(
    "steps-per-execution", "Python starts every step separately", severity="note", source="tpu-rules B18 (8 to 64 is a heuristic)", tpu="v5e-8",
    fails=_build(f'm = {_MODEL}\nm.compile("sgd", "mse")').split("def data")[0] + _ENDLESS,
    passes=_build(f'm = {_MODEL}\nm.compile("sgd", "mse", steps_per_execution=16)').split("def data")[0] + _ENDLESS,
    doc="`steps_per_execution=16` puts 16 steps into one TPU program. Reported for infinite datasets and for 1,000 batches or more.",
)  # fmt: skip


def _state(evidence: Evidence) -> Any:
    return evidence.facts.get("scope")


@check(order=16, backend="jax")
def stale(evidence: Evidence) -> Iterator[Finding]:
    """An optimizer that fit passes other variables than it was built for; it goes by their number and order."""
    if evidence.where == "step" and evidence.facts.get("built_for") is not None and evidence.raised is None:
        nodes = (evidence.failed.id,) if evidence.failed is not None else ()
        yield Finding.of(FOREIGN.id, "error", _other_variables(evidence, evidence.facts["optimizer"]), nodes)


def _other_variables(evidence: Evidence, optimizer: str) -> OptimizerOfAnother | OptimizerStale:
    built, own = evidence.facts.get("built_for") or (0, False)
    trained = evidence.facts.get("trained", 0)
    return OptimizerStale(optimizer, built, trained) if own and built != trained else OptimizerOfAnother(optimizer)


@check(order=50, backend="tensorflow")
def scope(evidence: Evidence) -> Iterator[Finding]:
    """Model, optimizer and metrics inside and outside."""
    state = _state(evidence)
    if state is None:
        return
    if state.optimizer_foreign:
        yield Finding.of(FOREIGN.id, "error", _other_variables(evidence, state.optimizer_class))
    strategy = state.strategy
    if not strategy or evidence.target is None:
        return
    if state.outside and not state.model and not state.optimizer:
        if state.current:
            yield Finding.of(OUTSIDE.id, "tpu", ModelOutside(strategy, True))
        elif state.given:
            yield Finding.of(NOWHERE.id, "silent", ModelOutside(strategy, False))
        return
    if state.outside:
        every = len(state.outside) + len(state.inside)
        first = state.outside[0].removesuffix(":0")
        yield Finding.of(OUTSIDE.id, "tpu", VariablesOutside(strategy, len(state.outside), every, first, step=False))
    elif state.model and state.compiled and not state.optimizer and state.optimizer_slots and evidence.framework == "keras":
        yield Finding.of(OPTIMIZER.id, "tpu", OptimizerOutside(strategy, state.optimizer_class, step=False))
    if state.metrics_outside and not state.outside:
        yield Finding.of(METRIC.id, "note", MetricsOutside(strategy, tuple(state.metrics_outside)))


@check(order=51, backend="tensorflow")
def compiled(evidence: Evidence) -> Iterator[Finding]:
    """Compile flags that a TPU does not support."""
    state = _state(evidence)
    if state is None or evidence.target is None or (evidence.target.live and "TPU" not in evidence.target.strategy):
        return
    if state.run_eagerly:
        yield Finding.of(EAGER.id, "tpu", RunEagerly())
    if state.jit_asked and evidence.framework == "keras":
        yield Finding.of(JIT.id, "tpu", JitCompile())


@check(order=56, backend="tensorflow")
def averaged(evidence: Evidence) -> Iterator[Finding]:
    """Losses that are summed over the rows; on every device."""
    state = _state(evidence)
    if state is None or not state.compiled:
        return
    if any(item.lower() in ("none", "sum") for item in state.reductions):
        none = next(item.lower() for item in state.reductions if item.lower() in ("none", "sum")) == "none"
        fact = SummedLoss("none" if none else "sum")
        yield Finding.of(SUMMED.id, "silent" if none else "note", fact, tuple(node.id for node in evidence.losses()))


@check(order=83, backend="tensorflow")
def round_trips(evidence: Evidence) -> Iterator[Finding]:
    """Many steps, each started by the host."""
    state, sample = _state(evidence), evidence.sample
    if state is None or evidence.target is None or not state.compiled or state.steps_per_execution > 1 or sample is None:
        return
    batches = getattr(sample, "cardinality", None)
    if sample.kind == "dataset" and batches is not None and (batches == -1 or batches >= 1000):
        yield Finding.of(ROUND_TRIPS.id, "note", RoundTrips(None if batches == -1 else batches))
