"""Whose scope a model, its optimizer and its metrics were made in, and how it is compiled (catalogue, sections 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..flow import Finding, Side
from .evidence import Evidence
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
    "scope-outside", "The model is made outside the strategy's scope and compiled inside", severity="tpu", source="tpu-rules V1, V8, V12, H2",
    tpu="v5e-8",
    frameworks=("keras",),
    fails=_build(f"""
m = {_MODEL}
with tpushape.tpu_strategy("v5e-8").scope():
    m.compile("sgd", "mse")
"""),
    passes=_INSIDE,
    doc="""Keras 3 gives no explanation. Under TPUStrategy it says `'ResourceVariable' object has no attribute '_packed_variable'` (SGD),
`colocate_vars_with` must only be passed a variable created in this scope, or `Need to be inside "with strategy.scope()"` (Adam); under
MirroredStrategy it raises a bare AssertionError. tf_keras says at compile that the variable was not created in the scope.""",
)  # fmt: skip
NOWHERE = rule(
    "scope-unused", "There is a strategy, and nothing was made in its scope", severity="silent", source="tpu-rules V2, V3", tpu="",
    fails=_build(f'm = {_MODEL}\nm.compile("sgd", "mse")') + '\nstrategy = tpushape.tpu_strategy("v5e-8")\n',
    passes=_INSIDE + '\nstrategy = tpushape.tpu_strategy("v5e-8")\n',
    doc="No error: the model trains on the default device and the TPU stands idle. On a TPU machine Keras 3 may also raise `could not find "
    "registered transfer manager for platform Host`.",
)  # fmt: skip
OPTIMIZER = rule(
    "optimizer-outside", "The optimizer is made outside the strategy's scope", severity="tpu", source="tpu-rules V4", tpu="v5e-8",
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
    "optimizer-of-another-model", "The optimizer was built for another model's variables", severity="error", source="tpu-rules V5",
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
    "metric-outside", "A metric is made outside the strategy's scope", severity="note",
    source="tpu-rules V6 (inferred from the traced program)", tpu="v5e-8",
    frameworks=("keras",),
    fails=_build(f"""
metric = keras.metrics.MeanAbsoluteError()
with tpushape.tpu_strategy("v5e-8").scope():
    m = {_MODEL}
    m.compile("sgd", "mse", metrics=[metric])
"""),
    passes=_INSIDE,
    doc="Keras 3 takes it; its variables are not among those that each replica holds, so what it shows is doubtful. tf_keras raises "
    "at compile.",
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
    doc="A TPU compiles the step anyway. Keras 3 wraps the distributed step in another XLA function, where TPU operations have no place; "
    "leave it at 'auto'.",
)  # fmt: skip

SUMMED = rule(
    "loss-not-averaged", "compile gets a loss that is not averaged over the rows", severity="silent", source="tpu-rules L4",
    fails=_build(f'm = {_MODEL}\nm.compile("sgd", keras.losses.MeanSquaredError(reduction="none"))'),
    passes=_build(f'm = {_MODEL}\nm.compile("sgd", keras.losses.MeanSquaredError())'),
    doc="""reduction="none" leaves one loss a row, and the gradient of that is the gradient of their sum: as many times that of the mean as the
batch has rows, on one device and over replicas alike. With "sum" the same is written down, which is a note.""",
)  # fmt: skip
ROUND_TRIPS = rule(
    "steps-per-execution", "Each of many steps is started from Python", severity="note", source="tpu-rules B18 (8 to 64 is a heuristic)", tpu="v5e-8",
    fails=_build(f'm = {_MODEL}\nm.compile("sgd", "mse")').split("def data")[0] + _ENDLESS,
    passes=_build(f'm = {_MODEL}\nm.compile("sgd", "mse", steps_per_execution=16)').split("def data")[0] + _ENDLESS,
    doc="steps_per_execution=16 puts sixteen steps into one TPU program. Said of datasets without an end or of 1000 batches and more.",
)  # fmt: skip


def _state(evidence: Evidence) -> Any:
    return evidence.facts.get("scope")


@check(order=50, backend="tensorflow")
def scope(evidence: Evidence) -> Iterator[Finding]:
    """Model, optimizer and metrics inside and outside."""
    state = _state(evidence)
    if state is None:
        return
    rebuild = (
        "Build and compile inside `with strategy.scope():`; for a model with weights: keras.models.clone_model(model) there, "
        "then set_weights."
    )
    if state.optimizer_foreign:
        yield Finding(
            FOREIGN.id, "error", f"The optimizer ({state.optimizer_class}) was built for another model's variables.",
            "It keeps state for each variable that it was built for, and raises at the first unknown one. Give each model a new optimizer.",
            Side("an optimizer of its own"), Side("another model's"),
        )  # fmt: skip
    strategy = state.strategy
    if not strategy or evidence.target is None:
        return
    if state.outside and not state.model and not state.optimizer:
        if state.current:
            yield Finding(
                OUTSIDE.id, "tpu", f"The model was made outside the scope of {strategy}, and this was asked inside it: a fit here raises.",
                "The scope counts where variables are made. A fit inside it finds variables without the replicas' copies, and one outside of it "
                f"trains on the default device. {rebuild}",
                Side(f"made in {strategy}.scope()"), Side("made outside"),
            )  # fmt: skip
        elif state.given:
            yield Finding(
                NOWHERE.id, "silent", f"There is a {strategy}, and neither the model nor its optimizer was made in its scope: fit will "
                "not use it.",
                f"Nothing raises. Training runs on the default device and the TPU stands idle. {rebuild}",
                Side(f"made in {strategy}.scope()"), Side("made outside"),
            )  # fmt: skip
        return
    if state.outside:
        first = state.outside[0].removesuffix(":0")
        yield Finding(
            OUTSIDE.id, "tpu", f"{len(state.outside)} of {len(state.outside) + len(state.inside)} variables ({first}, ...) were made "
            f"outside the scope of {strategy}, which trains them.",
            "Each replica needs its own copy, and these have one. Keras 3 says it by `'ResourceVariable' object has no attribute "
            "'_packed_variable'`, "
            f"or by `colocate_vars_with`. {rebuild}",
            Side("made in the scope"), Side("made outside"),
        )  # fmt: skip
    elif state.model and state.compiled and not state.optimizer and state.optimizer_slots and evidence.framework == "keras":
        yield Finding(
            OPTIMIZER.id, "tpu", f"The optimizer ({state.optimizer_class}) was made outside the scope of {strategy}, the model inside.",
            "Keras 3 raises `Mixing different tf.distribute.Strategy objects` when it makes the optimizer's state. Make it inside the "
            "scope, or pass its name: compile('adam', ...).",
            Side("made in the scope"), Side("made outside"),
        )  # fmt: skip
    if state.metrics_outside and not state.outside:
        names = ", ".join(state.metrics_outside)
        yield Finding(
            METRIC.id, "note", f"{names} was made outside the scope of {strategy}: its numbers may not cover all replicas.",
            "Keras 3 takes it without a word, and its variables are not among those that each replica holds. Not verified on a TPU. Pass "
            "its name, or make it in the scope.",
            Side("made in the scope"), Side("made outside"),
        )  # fmt: skip


@check(order=51, backend="tensorflow")
def compiled(evidence: Evidence) -> Iterator[Finding]:
    """Flags of compile that a TPU does not take."""
    state = _state(evidence)
    if state is None or evidence.target is None or (evidence.target.live and "TPU" not in evidence.target.strategy):
        return
    if state.run_eagerly:
        yield Finding(
            EAGER.id, "tpu", "The model is compiled with run_eagerly=True, and TPUStrategy runs compiled programs only.",
            "It raises `TPUStrategy.run(fn, ...) does not support pure eager execution`. Leave run_eagerly out.", Side("run_eagerly=False"),
            Side("run_eagerly=True"),
        )  # fmt: skip
    if state.jit_asked and evidence.framework == "keras":
        yield Finding(
            JIT.id, "tpu", "The model is compiled with jit_compile=True, which Keras 3 puts around the distributed step.",
            "A TPU compiles the step anyway, and inside another XLA function its own operations are refused. Leave jit_compile at 'auto'.",
            Side("jit_compile='auto'"), Side("jit_compile=True"),
        )  # fmt: skip


@check(order=56, backend="tensorflow")
def averaged(evidence: Evidence) -> Iterator[Finding]:
    """Losses that are summed over the rows; on every device."""
    state = _state(evidence)
    if state is None or not state.compiled:
        return
    how = next((item.lower() for item in state.reductions if item.lower() in ("none", "sum")), None)
    if how is not None:
        yield Finding(
            SUMMED.id, "silent" if how == "none" else "note", f"The compiled loss has reduction='{how}': its gradient is that of the sum over all rows.",
            "It grows with the batch, and so does each step of the optimizer. Leave the reduction out for the mean.",
            Side("reduction='sum_over_batch_size'"), Side(f"reduction='{how}'"), tuple(node.id for node in evidence.losses()),
        )  # fmt: skip


@check(order=83, backend="tensorflow")
def round_trips(evidence: Evidence) -> Iterator[Finding]:
    """Many steps, each started by the host."""
    state, sample = _state(evidence), evidence.sample
    if state is None or evidence.target is None or not state.compiled or state.steps_per_execution > 1 or sample is None:
        return
    batches = getattr(sample, "cardinality", None)
    if sample.kind == "dataset" and batches is not None and (batches == -1 or batches >= 1000):
        many = "without an end" if batches == -1 else f"of {batches} batches"
        yield Finding(
            ROUND_TRIPS.id, "note", f"The dataset is one {many}, and Python starts each step by itself.",
            "A TPU waits for the host between steps. compile(steps_per_execution=16) puts sixteen into one program.",
            Side("steps_per_execution above 1"), Side("steps_per_execution=1"),
        )  # fmt: skip
