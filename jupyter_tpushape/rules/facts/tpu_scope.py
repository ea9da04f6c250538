"""What is found of whose scope things were made in, and of how a model is compiled."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, Side, Sides

REBUILD = (
    "Build and compile inside `with strategy.scope():`; for a model with weights: keras.models.clone_model(model) there, then set_weights."
)
STEP = "Make model, optimizer and variables inside `with strategy.scope():`."
INSIDE = "Make model, optimizer and metrics, and call compile, inside one `with strategy.scope():`."


class OptimizerOfAnother(Fact, frozen=True):
    """An optimizer that was built for another model."""

    optimizer: str

    def message(self) -> str:
        return f"The optimizer ({self.optimizer}) was built for another model's variables."

    def why(self) -> str:
        return (
            "It keeps state for each variable that it was built for, and raises at the first unknown one. Give each model a new optimizer."
        )

    def sides(self) -> Sides:
        return Side("an optimizer of its own"), Side("another model's")


class ModelOutside(Fact, frozen=True):
    """The whole model was made outside of ``strategy``'s scope. ``asked_inside``: and it is used inside."""

    strategy: str
    asked_inside: bool

    def message(self) -> str:
        if self.asked_inside:
            return f"The model was made outside the scope of {self.strategy}, and this was asked inside it: a fit here raises."
        return f"There is a {self.strategy}, and neither the model nor its optimizer was made in its scope: fit will not use it."

    def why(self) -> str:
        if self.asked_inside:
            return (
                "The scope counts where variables are made. A fit inside it finds variables without the replicas' copies, and one outside of it "
                f"trains on the default device. {REBUILD}"
            )
        return f"Nothing raises. Training runs on the default device and the TPU stands idle. {REBUILD}"

    def sides(self) -> Sides:
        return Side(f"made in {self.strategy}.scope()"), Side("made outside")


class _Outside(Fact, frozen=True):
    strategy: str

    def sides(self) -> Sides:
        return Side("made in the scope"), Side("made outside")


class VariablesOutside(_Outside, frozen=True):
    """``outside`` of ``every`` variables were made outside; ``first`` is one. ``step``: a step of the user's own uses them."""

    outside: int
    every: int
    first: str
    step: bool

    def message(self) -> str:
        does = "runs this step" if self.step else "trains them"
        return f"{self.outside} of {self.every} variables ({self.first}, ...) were made outside the scope of {self.strategy}, which {does}."

    def why(self) -> str:
        if self.step:
            return f"Each replica needs its own copy, and these have one. {STEP}"
        return (
            "Each replica needs its own copy, and these have one. Keras 3 says it by `'ResourceVariable' object has no attribute "
            f"'_packed_variable'`, or by `colocate_vars_with`. {REBUILD}"
        )


class OptimizerOutside(_Outside, frozen=True):
    """The optimizer was made outside. ``step``: a step of the user's own uses it; ``keras3``: it is one of Keras 3, which raises."""

    optimizer: str
    step: bool
    keras3: bool = True

    def message(self) -> str:
        rest = "which runs this step" if self.step else "the model inside"
        return f"The optimizer ({self.optimizer}) was made outside the scope of {self.strategy}, {rest}."

    def why(self) -> str:
        if not self.keras3:
            return f"tf_keras takes one that has no state yet. {STEP}"
        says = "Keras 3 raises `Mixing different tf.distribute.Strategy objects` when it makes the optimizer's state."
        return f"{says} {STEP}" if self.step else f"{says} Make it inside the scope, or pass its name: compile('adam', ...)."


class MetricsOutside(_Outside, frozen=True):
    """Metrics that were made outside."""

    metrics: tuple[str, ...]

    def message(self) -> str:
        return f"{', '.join(self.metrics)} was made outside the scope of {self.strategy}: its numbers may not cover all replicas."

    def why(self) -> str:
        return (
            "Keras 3 takes it without a word, and its variables are not among those that each replica holds. Not verified on a TPU. Pass "
            "its name, or make it in the scope."
        )


class BareOutside(_Outside, frozen=True):
    """``tf.Variable`` objects that a step reads and that were made outside."""

    variables: tuple[str, ...]

    def message(self) -> str:
        return f"The step reads {', '.join(self.variables[:3])}, made outside the scope of {self.strategy}."

    def why(self) -> str:
        return f"It stands on the host alone, where the TPU's program cannot read it; how that is worded on a TPU is not verified. {STEP}"


class RunEagerly(Fact, frozen=True):
    """Compiled with ``run_eagerly=True``."""

    def message(self) -> str:
        return "The model is compiled with run_eagerly=True, and TPUStrategy runs compiled programs only."

    def why(self) -> str:
        return "It raises `TPUStrategy.run(fn, ...) does not support pure eager execution`. Leave run_eagerly out."

    def sides(self) -> Sides:
        return Side("run_eagerly=False"), Side("run_eagerly=True")


class JitCompile(Fact, frozen=True):
    """Compiled with ``jit_compile=True``."""

    def message(self) -> str:
        return "The model is compiled with jit_compile=True, which Keras 3 puts around the distributed step."

    def why(self) -> str:
        return (
            "A TPU compiles the step anyway, and inside another XLA function its own operations are refused. Leave jit_compile at 'auto'."
        )

    def sides(self) -> Sides:
        return Side("jit_compile='auto'"), Side("jit_compile=True")


class SummedLoss(Fact, frozen=True):
    """The compiled loss is summed over the rows."""

    reduction: Literal["none", "sum"]

    def message(self) -> str:
        return f"The compiled loss has reduction='{self.reduction}': its gradient is that of the sum over all rows."

    def why(self) -> str:
        return "It grows with the batch, and so does each step of the optimizer. Leave the reduction out for the mean."

    def sides(self) -> Sides:
        return Side("reduction='sum_over_batch_size'"), Side(f"reduction='{self.reduction}'")


class RoundTrips(Fact, frozen=True):
    """Python starts each of ``batches`` steps; ``None``: without an end."""

    batches: int | None

    def message(self) -> str:
        many = "without an end" if self.batches is None else f"of {self.batches} batches"
        return f"The dataset is one {many}, and Python starts each step by itself."

    def why(self) -> str:
        return "A TPU waits for the host between steps. compile(steps_per_execution=16) puts sixteen into one program."

    def sides(self) -> Sides:
        return Side("steps_per_execution above 1"), Side("steps_per_execution=1")


class NoTpu(Fact, frozen=True):
    """A set-up that found no TPU."""

    cause: Literal["unnamed", "missing", "empty", "versions"]

    def message(self) -> str:
        return {
            "unnamed": "No TPU is named, and this machine has none: TPUClusterResolver finds nothing to connect to.",
            "missing": "TensorFlow finds no TPU, and the one installed here has no TPU kernels.",
            "empty": "TPUStrategy was given a cluster without a single TPU core.",
            "versions": "The TPU does not know the function that starts it: users report this where TensorFlow here and on the TPU differ in version.",
        }[self.cause]

    def why(self) -> str:
        planned = "To look at the program without a TPU, type strategy = tpushape.tpu_strategy('v5e-8')."
        if self.cause == "unnamed":
            return f"On a TPU VM type TPUClusterResolver(tpu='local'). {planned}"
        if self.cause == "versions":
            return "Install the same version on both. This is not reproduced without a TPU."
        return (
            "PyPI's tensorflow is built without TPU kernels. On a Cloud TPU VM install tensorflow-tpu, whose last release is 2.20, with the libtpu "
            "that it asks for and no other tensorflow beside it. On the TPU images of Colab and Kaggle TensorFlow does not see the TPU: set "
            f"KERAS_BACKEND=jax before keras is imported, and train with Keras 3 on JAX. {planned}"
        )

    def sides(self) -> Sides:
        return Side("a TPU, or a planned slice"), Side("no TPU")


class ScopeLeft(Fact, frozen=True):
    """A set-up that raised over scopes: what of it was made outside, or ``mixed``."""

    what: Literal["variable", "metric", "slots", "mixed"]

    def message(self) -> str:
        return {
            "variable": "A variable was made outside the strategy's scope, and the model is compiled inside.",
            "metric": "A metric was made outside the strategy's scope, and the model inside.",
            "slots": "The optimizer's state is made in a strategy's scope, and the model's variables were made outside of it.",
            "mixed": "What belongs to one strategy is used in the scope of another: model, optimizer and loss are to be of the same.",
        }[self.what]

    def why(self) -> str:
        if self.what == "variable":
            return "Each replica needs its own copy. Make every layer inside `with strategy.scope():`, layers loaded from a hub included."
        if self.what == "metric":
            return "tf_keras refuses it at compile. Make it inside `with strategy.scope():`, or pass its name."
        return INSIDE

    def sides(self) -> Sides:
        return Side("made in the scope"), Side("made outside")
