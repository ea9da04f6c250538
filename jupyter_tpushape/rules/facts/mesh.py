"""Facts about Keras programs on JAX: a batch over a mesh of devices, and code that a compiled step does not support."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, KeyPath, Shape, Side, Sides, show_shape
from ...flow.paths import show
from ..words import count

Asked = Literal["bool", "while", "assert", "truth", "number", "index", "argument", "slice", "array", "mask", "size", "rows"]
_ASKED: dict[Asked, str] = {
    "bool": "uses a tensor as a Python condition",
    "while": "repeats as long as a tensor says",
    "assert": "asserts what a tensor holds",
    "truth": "uses a tensor of several values as one Python condition",
    "number": "converts a tensor to a Python number",
    "index": "uses a tensor as a Python index or count",
    "argument": "passes a tensor where a function needs a Python number",
    "slice": "slices with bounds that are tensors",
    "array": "converts a tensor to a NumPy array",
    "mask": "selects elements with a boolean mask, so the size of the result depends on values",
    "size": "calls a function whose result has as many elements as the values say",
    "rows": "counts to the batch size in Python",
}
_INSTEAD: dict[Asked, str] = {
    "bool": "Use ops.where or ops.cond.",
    "while": (
        "Use ops.while_loop if no gradient passes through the loop: JAX has no reverse-mode gradient of it. "
        "Otherwise repeat a fixed number of times with ops.fori_loop, and keep a finished result with ops.where."
    ),
    "assert": "Check the data before fit, or remove the assertion.",
    "truth": "Python's if, and, or, not, max, min and chained comparisons need one value. Use ops.where, logical_and, maximum and others for each element.",
    "number": "Keep the tensor and compute with keras.ops.",
    "index": "Take the size from x.shape, or use ops.take and ops.slice. A loop needs a fixed number of turns: ops.where keeps what a turn should not change.",
    "argument": "Compute the number in Python, from x.shape and numbers of the program.",
    "slice": (
        "The size of a slice must be known. Take as many elements as a number says: ops.take(x, start + ops.arange(size), axis), "
        "or x.at[start + jnp.arange(size)] to write them. Instead of cutting off a varying end, keep it and mask it."
    ),
    "array": "Use keras.ops instead of NumPy, and print with the framework's own function.",
    "mask": "Keep the shape: use ops.where(mask, x, 0), and divide a sum by the number of selected elements.",
    "size": "Use a size that does not depend on values, such as x.shape[1], and mask the rest. Some functions take it as size= or length=.",
    "rows": "Compute with the whole batch at once, or apply a function to each sample with ops.vectorized_map(function, x).",
}


class Indivisible(Fact, frozen=True):
    """A batch of ``rows`` that is not divisible by ``parts`` devices. ``last``: the smaller last batch. ``live``: a distribution is set."""

    rows: int
    parts: int
    last: bool = False
    live: bool = False

    @property
    def planned(self) -> bool:
        return self.last and not self.live

    def message(self) -> str:
        return f"{'The last batch' if self.last else 'A batch'} of {count(self.rows, 'row')} is not divisible by {self.parts} devices."

    def why(self) -> str:
        below, above = self.rows // self.parts * self.parts, -(-self.rows // self.parts) * self.parts
        sizes = f"{below} or {above} rows" if below else f"{above} rows"
        cure = "Drop that batch, or choose a batch size that divides the number of rows." if self.last else f"Use batches of {sizes}."
        where = " under keras.distribution.DataParallel. Without a distribution, fit uses one device" if not self.live else ""
        return f"JAX raises IndivisibleError when it shards the batch over the devices{where}. {cure}"

    def sides(self) -> Sides:
        return Side(f"a multiple of {self.parts}"), Side(count(self.rows, "row"))


class Recompiled(Fact, frozen=True):
    """The size of ``axis`` of the tensor at ``path`` differs from batch to batch: ``sizes``, in the order seen. ``dataset``: it is a ``tf.data`` pipeline."""

    path: KeyPath
    axis: int
    sizes: tuple[int, ...]
    dataset: bool

    @property
    def _shown(self) -> str:
        return ", ".join(map(str, self.sizes[:5]))

    def message(self) -> str:
        what = "The batch size" if not self.axis else f"The size of axis {self.axis} of {show(self.path)}"
        return f"{what} varies ({self._shown}): JAX compiles the training step again for every new size."

    def why(self) -> str:
        if self.axis:
            pad = "padded_batch with padded_shapes, or a few buckets of lengths" if self.dataset else "keras.utils.pad_sequences(maxlen=...)"
            return f"A compiled step has fixed shapes. Pad to one length: {pad}."
        one = f"unbatch().batch({max(self.sizes)}, drop_remainder=True)" if self.dataset else f"return {max(self.sizes)} rows from every batch"
        return f"A compiled step has fixed shapes. Use one size: {one}. One smaller batch at the end costs only one more compilation."

    def sides(self) -> Sides:
        return Side("one size"), Side(self._shown)


class ValueAsked(Fact, frozen=True):
    """Code needs a tensor's value while the program is compiled. ``said``: TensorFlow's error."""

    asked: Asked
    said: str = ""

    def message(self) -> str:
        if self.asked == "truth":
            return f"This line {_ASKED[self.asked]}."
        return f"This line {_ASKED[self.asked]}, but there are no values yet: the step is compiled before it runs."

    def why(self) -> str:
        if self.asked == "truth":
            return _INSTEAD[self.asked]
        error = f" The error: {self.said}" if self.said else ""
        return f"{_INSTEAD[self.asked]} compile(run_eagerly=True) runs such code without the compiler.{error}"


class TextFed(Fact, frozen=True):
    """Text at ``path`` of the data; ``layer``: the layer that converts it to numbers."""

    path: str
    layer: str = ""

    def message(self) -> str:
        return f"{self.path} is text, but JAX has no string tensors."

    def why(self) -> str:
        which = f"{self.layer} works" if self.layer else "TextVectorization and StringLookup work"
        return (
            f"On JAX, {which} only in the data pipeline: ds.map(lambda x, y: (vectorize(x), y)), or vectorize(texts) for an array. The model then receives ids."
        )

    def sides(self) -> Sides:
        return Side("numbers"), Side("text")


class ItemAssigned(Fact, frozen=True):
    """Code assigns to an item of a JAX array."""

    def message(self) -> str:
        return "This line assigns to an item of a tensor, but JAX arrays are immutable."

    def why(self) -> str:
        return "x.at[index].set(value) returns a changed copy (.add for +=). keras.ops.where works on every backend."

    def sides(self) -> Sides:
        return Side("x = x.at[index].set(value)"), Side("x[index] = value")


class StateLost(Fact, frozen=True):
    """A layer or model (``owner``) assigns a tensor of the compiled step to ``attribute``. ``random``: a random key.

    ``leaked``: Keras traces the code before the first step, and a tensor of that trace stays there. ``inner``: the attribute is a variable that is
    updated inside a branch or loop. ``holder``: what the owner is; a loss has no variables of its own that a step keeps. ``outside``: the attribute
    is a variable, and no layer or metric of the model holds it.
    """

    owner: str
    attribute: str
    random: bool = False
    leaked: bool = False
    inner: bool = False
    holder: Literal["layer", "metric", "loss"] = "layer"
    outside: bool = False

    def message(self) -> str:
        if self.outside:
            return "This line updates a variable that belongs to no layer or metric of the model."
        if self.inner:
            return f"{self.owner} updates {self.attribute} inside a function that JAX traces by itself: a branch, a loop, jit or remat."
        return f"{self.owner} assigns to self.{self.attribute} inside a compiled step, but later steps do not see the new value."

    def why(self) -> str:
        each = "every step draws the same random numbers" if self.random else "every step starts from the same value"
        instead = (
            "Use keras.random with a keras.random.SeedGenerator, whose state is a variable."
            if self.random
            else {
                "layer": "Keep it in a variable: self.add_weight(..., trainable=False) and assign().",
                "metric": "Keep it in a variable: self.add_variable(...) and assign().",
                "loss": "A step keeps no variables of a loss. Keep the value in a variable of the model, and compute the loss in its compute_loss.",
            }[self.holder]
        )
        if self.outside:
            return (
                f"A compiled step takes and returns the variables of the model, its metrics and its optimizer, so {each}. "
                "Create it in the model or in one of its layers, which a loss can be given, and use it in compute_loss."
            )
        if self.inner:
            before = "Draw the random numbers before it, and use them inside." if self.random else "Return the new value, and assign it afterwards."
            return f"The new value is lost outside that function: fit raises UnexpectedTracerError, or trains with the old value. {before}"
        if self.leaked:
            return f"Keras infers shapes before the first step, and self.{self.attribute} keeps a tensor of that trace. fit raises UnexpectedTracerError. {instead}"
        return (
            f"The program is compiled once with the initial self.{self.attribute}, so {each}. "
            f"A batch of a different shape compiles it again, and JAX raises UnexpectedTracerError. {instead}"
        )


class ForeignFunction(Fact, frozen=True):
    """A TensorFlow function is called with a JAX array."""

    def message(self) -> str:
        return "This line calls a TensorFlow function, but the model runs on JAX."

    def why(self) -> str:
        return "Use keras.ops, which works on every backend, or jax.numpy. Or set KERAS_BACKEND=tensorflow before importing keras."


class VariableGiven(Fact, frozen=True):
    """Variables of Keras (``names``) are given to a function of JAX as they are, or are asked for an ``attribute`` that only tensors have.

    ``inside``: they are in a list or tuple of that name.
    """

    names: tuple[str, ...]
    attribute: str = ""
    inside: bool = False

    def message(self) -> str:
        if self.inside:
            return f"{self.names[0]} is passed to a JAX function, but it contains Keras variables and not JAX arrays."
        what = " and ".join([*([", ".join(self.names[:-1])] if self.names[1:] else []), *self.names[-1:]]) or "A variable"
        if self.attribute and len(self.names) > 1:
            return f"{what} are Keras variables, which have no {self.attribute}: only tensors do."
        if self.attribute:
            return f"{what} is a Keras variable, which has no {self.attribute}: only tensors do."
        if len(self.names) > 1:
            return f"{what} are passed to a JAX function, but they are Keras variables and not JAX arrays."
        return f"{what} is passed to a JAX function, but it is a Keras variable and not a JAX array."

    def why(self) -> str:
        if self.inside:
            return "JAX no longer converts other objects. Pass the arrays of the variables, such as [v.value for v in model.trainable_variables]."
        return "JAX no longer converts other objects. keras.ops functions accept variables. For jax.numpy, pass keras.ops.convert_to_tensor(variable)."

    def sides(self) -> Sides:
        return Side("a JAX array"), Side("a Keras variable")


class Unseeded(Fact, frozen=True):
    """A Keras random function is called without a seed while a step is compiled."""

    def message(self) -> str:
        return "This line draws random numbers without a seed: a compiled step would draw the same numbers every time."

    def why(self) -> str:
        return "Keras raises an error on JAX. Create a keras.random.SeedGenerator in __init__ and pass it as seed: its state is a variable of the layer."

    def sides(self) -> Sides:
        return Side("seed=self.seed_generator"), Side("no seed")


class FirstRow(Fact, frozen=True):
    """A training step reads ``name[0]``, where ``fit`` passes the inputs alone, of ``shape``: that is the first sample."""

    name: str
    shape: Shape

    def message(self) -> str:
        return f"train_step reads {self.name}[0], but fit passes x itself here: {self.name}[0] is its first sample, {show_shape(self.shape[1:])}."

    def why(self) -> str:
        return (
            "Without labels, fit passes an array of inputs as it is and not as a tuple. "
            f"Use x, y, sample_weight = keras.utils.unpack_x_y_sample_weight({self.name}), which accepts both."
        )

    def sides(self) -> Sides:
        return Side(show_shape((None, *self.shape[1:]))), Side(show_shape(self.shape[1:]))


class GradientsSwapped(Fact, frozen=True):
    """An optimizer is given the weights as their own gradients; or its arguments in the ``order`` named here."""

    order: tuple[str, ...] = ()

    def message(self) -> str:
        if self.order[1:2] not in ((), ("trainable_variables",)):
            return f"stateless_apply receives its arguments in the wrong order: ({', '.join(self.order)})."
        return "stateless_apply receives the weights as gradients: the second argument is the list of trainable variables itself."

    def why(self) -> str:
        order = "The order is stateless_apply(optimizer_variables, grads, trainable_variables)."
        if self.order[:1] not in ((), ("optimizer_variables",)):
            return f"{order} It returns (trainable_variables, optimizer_variables)."
        return f"Both lists have the same shapes, so no error is raised, but the model does not learn. {order}"

    def sides(self) -> Sides:
        return Side("(optimizer_variables, grads, trainable_variables)"), Side(
            f"({', '.join(self.order or ('optimizer_variables', 'trainable_variables', '...'))})"
        )


class StepWithoutState(Fact, frozen=True):
    """A ``train_step`` that takes only the data, as on TensorFlow."""

    def message(self) -> str:
        return "train_step takes only the data, but JAX also passes the state: train_step(self, state, data)."

    def why(self) -> str:
        return (
            "The state is (trainable, non-trainable, optimizer, metrics variables). Return (logs, state). "
            "If only the loss is custom, override compute_loss, which is the same on every backend."
        )

    def sides(self) -> Sides:
        return Side("train_step(self, state, data)"), Side("train_step(self, data)")


class HostsRefused(Fact, frozen=True):
    """Data that Keras cannot distribute over hosts: not a ``tf.data.Dataset``, or a batch (``rows``) that is not divisible by ``parts``."""

    hosts: int
    rows: int = 0
    parts: int = 0

    def message(self) -> str:
        if self.rows:
            return f"A batch of {self.rows} is not divisible by the {self.parts} parts that {self.hosts} hosts read."
        return f"Keras distributes only a tf.data.Dataset over {self.hosts} hosts, but this data is not one."

    def why(self) -> str:
        if self.rows:
            return "Keras rebatches the dataset for each host (auto_shard_dataset) and raises ValueError."
        return "fit raises ValueError. Pass a tf.data.Dataset, or give each host its own rows (jax.process_index()) and set auto_shard_dataset=False on the distribution."


class HostsShare(Fact, frozen=True):
    """A pipeline that both the program and Keras shard over hosts (``twice``), or neither."""

    hosts: int
    twice: bool

    def message(self) -> str:
        if self.twice:
            return f"The pipeline shards the data, and Keras shards it again into {self.hosts} parts: most rows are never read."
        return f"Nothing shards the data over {self.hosts} hosts, so all of them may read the same rows."

    def why(self) -> str:
        if self.twice:
            return "auto_shard_dataset is True. Remove shard(), or set auto_shard_dataset=False on the distribution."
        return "auto_shard_dataset is False, so Keras does not shard the dataset. Call shard() in the pipeline, or set it to True."
