"""Facts about the strategy scope that objects were created in, and about compile arguments."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, Side, Sides
from ..words import count

REBUILD = "Build and compile inside `with strategy.scope():`; for a model with weights, use keras.models.clone_model(model) there, then set_weights."
STEP = "Create the model, optimizer and variables inside `with strategy.scope():`."
INSIDE = "Create the model, optimizer and metrics, and call compile, inside one `with strategy.scope():`."


class OptimizerOfAnother(Fact, frozen=True):
    """An optimizer that was built for another model."""

    optimizer: str

    def message(self) -> str:
        return f"The optimizer ({self.optimizer}) was built for another model's variables."

    def why(self) -> str:
        return "An optimizer has state for each variable that it was built for, and raises an error for an unknown one. Create a new optimizer for each model."

    def sides(self) -> Sides:
        return Side("a new optimizer"), Side("another model's optimizer")


class OptimizerStale(Fact, frozen=True):
    """An optimizer that was built for ``built`` variables of a model that now trains ``trained``."""

    optimizer: str
    built: int
    trained: int

    def message(self) -> str:
        return f"The optimizer ({self.optimizer}) was built for {count(self.built, 'variable')}, but the model now trains {self.trained}."

    def why(self) -> str:
        return "Layers were frozen, unfrozen or added after the optimizer was built. Call compile again: it takes the variables that are trainable then."

    def sides(self) -> Sides:
        return Side(count(self.built, "variable")), Side(count(self.trained, "variable"))


class ModelOutside(Fact, frozen=True):
    """The whole model was created outside ``strategy``'s scope. ``asked_inside``: but used inside."""

    strategy: str
    asked_inside: bool

    def message(self) -> str:
        if self.asked_inside:
            return f"The model was created outside the scope of {self.strategy}; calling fit inside it fails."
        return f"There is a {self.strategy}, but the model and its optimizer were created outside its scope: fit does not use it."

    def why(self) -> str:
        if self.asked_inside:
            return (
                "The scope matters when variables are created. Inside it, fit finds variables without copies for the replicas; outside it, fit "
                f"trains on the default device. {REBUILD}"
            )
        return f"No error is raised. Training runs on the default device, and the TPU is idle. {REBUILD}"

    def sides(self) -> Sides:
        return Side(f"created in {self.strategy}.scope()"), Side("created outside")


class _Outside(Fact, frozen=True):
    strategy: str

    def sides(self) -> Sides:
        return Side("created in the scope"), Side("created outside")


class VariablesOutside(_Outside, frozen=True):
    """``outside`` of ``every`` variables were created outside; ``first`` is one. ``step``: a custom step uses them."""

    outside: int
    every: int
    first: str
    step: bool

    def message(self) -> str:
        does = "runs this step" if self.step else "trains them"
        return f"{self.outside} of {self.every} variables ({self.first}, ...) were created outside the scope of {self.strategy}, which {does}."

    def why(self) -> str:
        if self.step:
            return f"Each replica needs its own copy, but these have only one. {STEP}"
        return (
            "Each replica needs its own copy, but these have only one. Keras 3 raises `'ResourceVariable' object has no attribute "
            f"'_packed_variable'`, or an error about `colocate_vars_with`. {REBUILD}"
        )


class OptimizerOutside(_Outside, frozen=True):
    """The optimizer was created outside. ``step``: a custom step uses it; ``keras3``: it is a Keras 3 optimizer, which raises."""

    optimizer: str
    step: bool
    keras3: bool = True

    def message(self) -> str:
        rest = ", which runs this step" if self.step else ", but the model was created inside it"
        return f"The optimizer ({self.optimizer}) was created outside the scope of {self.strategy}{rest}."

    def why(self) -> str:
        if not self.keras3:
            return f"tf_keras accepts an optimizer that has no state yet. {STEP}"
        says = "Keras 3 raises `Mixing different tf.distribute.Strategy objects` when it creates the optimizer's state."
        return f"{says} {STEP}" if self.step else f"{says} Create it inside the scope, or pass its name: compile('adam', ...)."


class MetricsOutside(_Outside, frozen=True):
    """Metrics that were created outside."""

    metrics: tuple[str, ...]

    def message(self) -> str:
        one = len(self.metrics) == 1
        return (
            f"{', '.join(self.metrics)} {'was' if one else 'were'} created outside the scope of {self.strategy}: "
            f"{'its value' if one else 'their values'} may not cover all replicas."
        )

    def why(self) -> str:
        return "Keras 3 accepts it silently, but its variables have no copy on each replica. Not verified on a TPU. Pass the metric's name, or create it in the scope."


class BareOutside(_Outside, frozen=True):
    """``tf.Variable`` objects that a step reads and that were created outside."""

    variables: tuple[str, ...]

    def message(self) -> str:
        return f"The step reads {', '.join(self.variables[:3])}, created outside the scope of {self.strategy}."

    def why(self) -> str:
        return f"It exists only on the host, where the TPU program cannot read it; the error message on a TPU is not verified. {STEP}"


class RunEagerly(Fact, frozen=True):
    """Compiled with ``run_eagerly=True``."""

    def message(self) -> str:
        return "The model is compiled with run_eagerly=True, but TPUStrategy runs compiled programs only."

    def why(self) -> str:
        return "It raises `TPUStrategy.run(fn, ...) does not support pure eager execution`. Remove run_eagerly."

    def sides(self) -> Sides:
        return Side("run_eagerly=False"), Side("run_eagerly=True")


class JitCompile(Fact, frozen=True):
    """Compiled with ``jit_compile=True``."""

    def message(self) -> str:
        return "The model is compiled with jit_compile=True, which Keras 3 applies to the whole distributed step."

    def why(self) -> str:
        return "A TPU compiles the step anyway, and rejects its own operations inside another XLA function. Use jit_compile='auto'."

    def sides(self) -> Sides:
        return Side("jit_compile='auto'"), Side("jit_compile=True")


class SummedLoss(Fact, frozen=True):
    """The compiled loss is summed over the rows."""

    reduction: Literal["none", "sum"]

    def message(self) -> str:
        return f"The compiled loss has reduction='{self.reduction}': its gradient is the sum over all samples, not the mean."

    def why(self) -> str:
        return "The gradient grows with the batch size, and so does each optimizer step. Remove the reduction argument to use the mean."

    def sides(self) -> Sides:
        return Side("reduction='sum_over_batch_size'"), Side(f"reduction='{self.reduction}'")


class RoundTrips(Fact, frozen=True):
    """Python starts each of ``batches`` steps; ``None``: infinitely many."""

    batches: int | None

    def message(self) -> str:
        many = "is infinite" if self.batches is None else f"has {self.batches} batches"
        return f"The dataset {many}, and Python starts every step separately."

    def why(self) -> str:
        return "A TPU waits for the host between steps. compile(steps_per_execution=16) runs 16 steps in one program."

    def sides(self) -> Sides:
        return Side("steps_per_execution above 1"), Side("steps_per_execution=1")


class NoTpu(Fact, frozen=True):
    """A setup that found no TPU."""

    cause: Literal["unnamed", "missing", "empty", "versions"]

    def message(self) -> str:
        return {
            "unnamed": "No TPU address is given, and this machine has no TPU: TPUClusterResolver has nothing to connect to.",
            "missing": "TensorFlow finds no TPU, and the installed TensorFlow has no TPU kernels.",
            "empty": "TPUStrategy received a cluster without TPU cores.",
            "versions": "The TPU does not know the function that initializes it, as users report if the TensorFlow versions here and on the TPU differ.",
        }[self.cause]

    def why(self) -> str:
        planned = "To check the program without a TPU, use strategy = tpushape.tpu_strategy('v5e-8')."
        if self.cause == "unnamed":
            return f"On a TPU VM, use TPUClusterResolver(tpu='local'). {planned}"
        if self.cause == "versions":
            return "Install the same version on both. This is not reproduced without a TPU."
        return (
            "The tensorflow package on PyPI has no TPU kernels. On a Cloud TPU VM, install tensorflow-tpu (its last release is 2.20) with libtpu 0.0.14 "
            "(a later one may not match), and uninstall tensorflow. On Colab and Kaggle, TensorFlow does not see the TPU: set "
            f"KERAS_BACKEND=jax before importing keras, and train with Keras 3 on JAX. {planned}"
        )

    def sides(self) -> Sides:
        return Side("a TPU, or a planned slice"), Side("no TPU")


class ScopeLeft(Fact, frozen=True):
    """A setup that raised a scope error: the object created outside, or ``mixed``."""

    what: Literal["variable", "metric", "slots", "mixed"]

    def message(self) -> str:
        return {
            "variable": "A variable was created outside the strategy's scope, but the model is compiled inside.",
            "metric": "A metric was created outside the strategy's scope, but the model was created inside.",
            "slots": "The optimizer's state is created inside a strategy's scope, but the model's variables were created outside.",
            "mixed": "Objects of one strategy are used in the scope of another: the model, optimizer and loss must share one strategy.",
        }[self.what]

    def why(self) -> str:
        if self.what == "variable":
            return "Each replica needs its own copy. Create every layer inside `with strategy.scope():`, including layers loaded from TensorFlow Hub."
        if self.what == "metric":
            return "tf_keras raises an error in compile. Create the metric inside `with strategy.scope():`, or pass its name."
        return INSIDE

    def sides(self) -> Sides:
        return Side("created in the scope"), Side("created outside")
