"""Facts about calls: objects that every call creates again, and losses that layers add."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, KeyPath, Shape, Side, Sides, Who, show_shape
from ...flow.paths import show
from ..words import count, listed, named, pair, placed


class Unwritten(Fact, frozen=True):
    """``layer`` needs ``method`` of the class ``owner``, which leaves it to its subclasses."""

    layer: Who
    owner: str
    method: str

    def message(self) -> str:
        return f"{named(self.layer)} needs {self.owner}.{self.method}, which is not implemented."

    def why(self) -> str:
        return f"It raises NotImplementedError, as a method that is left to subclasses does. Define it in {self.owner}, or use a class that does."


class MadeAnew(Fact, frozen=True):
    """Every call creates a ``cls``. ``where``: in the model's call, its loss, or its training step. ``silent``: nothing raises."""

    cls: str
    where: Literal["call", "loss", "step"]
    silent: bool = False

    def message(self) -> str:
        place = {"call": "inside call", "loss": "inside the loss", "step": "inside the training step"}[self.where]
        if self.silent:
            return f"A {self.cls} is created {place} on every run: it always starts from its initial values and is never trained."
        return f"A {self.cls} is created {place} on every run: fit fails on the second run, and its variables would never be trained."

    def why(self) -> str:
        where = {"call": "in __init__ (or build) of the layer", "loss": "once, outside the loss", "step": "in __init__ of the model"}
        known = "Keras knows only layers that it finds on the model" if self.silent else "A compiled step can create variables only on its first run"
        return f"{known}. Create it {where[self.where]} and call it here."

    def sides(self) -> Sides:
        return Side("created once"), Side("created on every run")


class MetricInCall(Fact, frozen=True):
    """A call updates or reads the metric ``name``."""

    name: str

    def message(self) -> str:
        return f"call uses the metric {self.name}, but fit on JAX does not pass the state of metrics to call."

    def why(self) -> str:
        return (
            "fit raises TypeError: 'NoneType' object is not callable. Update the metric in compute_loss or compute_metrics, which "
            "receive the state of metrics, or use add_loss for a value that is part of the loss."
        )

    def sides(self) -> Sides:
        return Side("an update in compute_metrics"), Side("an update in call")


class NeverUpdated(Fact, frozen=True):
    """``compile`` was given metrics that a training step of the model's own never updates."""

    def message(self) -> str:
        return "compile receives metrics, but train_step never updates them."

    def why(self) -> str:
        return (
            "fit reads all metrics of the model after an epoch, and one that was never updated raises: Cannot get result() since the metric "
            "has not yet been built. Update them in train_step with self.compute_metrics(x, y, y_pred), or compile without metrics."
        )

    def sides(self) -> Sides:
        return Side("an update in train_step"), Side("no update")


class ReadOutside(Fact, frozen=True):
    """A training step of the model's own reads or updates the variable ``path``, whose value is in the state that it was given."""

    path: str

    def message(self) -> str:
        return f"train_step uses the variable {self.path} directly, but on JAX its value is only in the state that fit passes."

    def why(self) -> str:
        return (
            "fit raises TypeError: 'NoneType' object is not callable. Use stateless_call, stateless_apply, stateless_compute_loss and a metric's stateless_update_state. "
            "compute_loss reads the weights too if a layer has a regularizer."
        )

    def sides(self) -> Sides:
        return Side("values from the state"), Side(self.path)


class Constant(Fact, frozen=True):
    """Random numbers of ``shape``, one row per sample, that depend on nothing that a step changes. ``renewed``: each call creates their seed generator."""

    shape: Shape
    renewed: bool = False

    def message(self) -> str:
        seed = "each call creates their seed generator again" if self.renewed else "their seed is a constant"
        return f"The random numbers {show_shape(self.shape)} are the same in every step: {seed}."

    def why(self) -> str:
        return (
            "A compiled step computes the same result from the same seed. Create self.seed_generator = keras.random.SeedGenerator(seed) in __init__, "
            "and pass seed=self.seed_generator to functions of keras.random: its state changes with each step."
        )

    def sides(self) -> Sides:
        return Side("seed=self.seed_generator"), Side("a constant seed")


class HostDrawn(Fact, frozen=True):
    """Python or NumPy draws random numbers while the step is compiled."""

    def message(self) -> str:
        return "This line draws random numbers with Python or NumPy while the step is compiled: every step then uses the same numbers."

    def why(self) -> str:
        return (
            "The program runs once in Python, and its numbers become constants of the compiled step. Create "
            "self.seed_generator = keras.random.SeedGenerator() in __init__, and draw with keras.random and seed=self.seed_generator."
        )

    def sides(self) -> Sides:
        return Side("keras.random with seed=self.seed_generator"), Side("numbers drawn once")


class NotCalled(Fact, frozen=True):
    """A layer of class ``cls`` is created with tensors as its arguments. ``later``: noticed where it was used as a tensor.

    ``made``: ``False`` where the class itself was used as one.
    """

    cls: str
    later: bool
    made: bool = True

    def message(self) -> str:
        if not self.made:
            return f"A layer received the class {self.cls} instead of a tensor."
        if self.later:
            return f"{self.cls} was created but not called, and is used where a tensor is expected."
        return f"{self.cls} is created with a tensor as its argument, but not called on it."

    def why(self) -> str:
        if self.later and self.cls in ("Sequential", "Functional", "Model"):
            return (
                "A model is no tensor: use its output, model.output, or call it on an input, model(x). "
                "Branches that are merged need Model(inputs, outputs), because a Sequential has one input."
            )
        return f"Create a layer with its settings, then call it on its input: {self.cls}(...)(x)."

    def sides(self) -> Sides:
        return Side(f"{self.cls}(...)(x)"), Side(f"{self.cls}(x)")


class RowsUnknown(Fact, frozen=True):
    """``text`` runs with ``batch`` rows but raises ``said`` if their number is unknown; ``last``: the rows of another batch."""

    text: str
    batch: int | None
    last: int | None
    said: str

    def message(self) -> str:
        return f"This code needs the batch size, which fit does not know there: `{self.text}`."

    def why(self) -> str:
        sizes = f" ({self.batch}, then {self.last})" if self.batch and self.last else ""
        return (
            f"The batches differ in size{sizes}, so the step is traced once for all of them, and x.shape[0] is None. "
            f"Use tf.shape(x)[0], or -1 in a reshape. The error: {self.said}"
        )

    def sides(self) -> Sides:
        return Side("tf.shape(x)[0]"), Side("None")


class CodedIds(Fact, frozen=True):
    """``layer`` receives the ``output_mode=mode`` encoding of ``coder``: one position per word instead of word ids."""

    layer: Who
    coder: Who
    mode: str

    def message(self) -> str:
        return f"{named(self.layer)} expects word ids, but {named(self.coder)} outputs a vector of 0s and 1s with output_mode='{self.mode}'."

    def why(self) -> str:
        return "This encoding has one position per word of the vocabulary and no word order. Use output_mode='int' for an Embedding, or pass the encoding to a Dense layer."

    def sides(self) -> Sides:
        return Side("word ids"), Side(f"{self.mode} encoding")


class CodedRows(Fact, frozen=True):
    """``layer`` receives the leaf ``path`` of the data, of ``shape``, which is one-hot."""

    layer: Who
    path: KeyPath
    shape: Shape

    def message(self) -> str:
        return f"{named(self.layer)} expects ids, but {show(self.path)} {show_shape(self.shape)} is one-hot: each 0 and 1 of the {self.shape[-1]} values is looked up."

    def why(self) -> str:
        return (
            f"Pass the ids themselves, {show_shape(self.shape[:-1])}: argmax over the last axis. "
            "Or replace the Embedding with a Dense layer without bias, which computes the same from one-hot vectors."
        )

    def sides(self) -> Sides:
        return Side(f"ids, {show_shape(self.shape[:-1])}"), Side(f"one-hot vectors, {show_shape(self.shape)}")


class VectorLoss(Fact, frozen=True):
    """``layer`` adds a loss of ``shape``, with one value per sample. ``alone``: there is no other loss."""

    layer: Who
    shape: Shape
    alone: bool = False

    def message(self) -> str:
        return f"{named(self.layer)} adds a loss of shape {show_shape(self.shape)}, one value per sample, instead of a scalar."

    def why(self) -> str:
        more = "" if self.alone else " and outweighs the mean of every other loss"
        return (
            f"The total loss becomes a vector, and its gradient is the sum over the batch. The sum grows with the batch size{more}. "
            "Pass the mean over the samples to add_loss."
        )

    def sides(self) -> Sides:
        return Side("()"), Side(show_shape(self.shape))


class SummedLoss(Fact, frozen=True):
    """``layer`` adds the ``total`` of a tensor of ``shape`` over all samples, beside a loss that is a mean over them."""

    layer: Who
    total: Who
    shape: Shape

    def message(self) -> str:
        return f"{named(self.layer)} adds a loss that {self.total.op}{placed(self.total)} sums over all samples of {show_shape(self.shape)}."

    def why(self) -> str:
        return (
            "The compiled loss is a mean over the samples, so the added loss weighs more the larger the batch is: with twice the batch size, it "
            "counts twice. Divide the sum by the number of samples. Keras does this for activity_regularizer."
        )

    def sides(self) -> Sides:
        return Side("a mean over the samples"), Side("a sum over the samples")


class Misdeclared(Fact, frozen=True):
    """``layer`` was taken to return ``declared``, by an argument or a method ``by``, and returns ``returned``."""

    layer: Who
    by: str
    declared: Shape
    returned: Shape

    def message(self) -> str:
        return f"{named(self.layer)} declares the output {show_shape(self.declared)}, but returns {show_shape(self.returned)}."

    def why(self) -> str:
        return f"Keras builds the layers after it for the shape from {self.by}, without running the layer."

    def sides(self) -> Sides:
        return pair(self.declared, self.returned)


class PartsApart(Fact, frozen=True):
    """A ``function`` of a training step takes ``data`` apart as ``target``, but fit passes other parts; no ``given``: one tensor."""

    function: str
    data: str
    target: str
    given: tuple[str, ...]

    def message(self) -> str:
        given = f"{count(len(self.given), 'part')}: {listed(self.given)}" if self.given else "one tensor"
        how = f"looks up {self.target}" if "[" in self.target[1:] else f"unpacks {self.data} as {self.target}"
        return f"{self.function} {how}, but fit passes {given}."

    def why(self) -> str:
        if not self.given:
            return "The data has no labels, so fit passes the inputs alone."
        return "fit passes a tuple: the inputs, then the labels, then the sample weights, as far as the data has them."

    def sides(self) -> Sides:
        return Side(self.target), Side(f"({', '.join(self.given)})" if self.given else "x")


class NothingReturned(Fact, frozen=True):
    """A ``function`` whose last statement computes ``value`` and does not return it; ``unless``: the condition under which it returns."""

    function: str
    value: str
    unless: str = ""

    def message(self) -> str:
        if self.unless:
            return f"{self.function} returns nothing unless {self.unless}: it has no other return statement."
        return f"{self.function} returns nothing: it computes {self.value if len(self.value) < 40 else 'a value'}, but has no return statement."

    def why(self) -> str:
        return "A Python function returns None where it ends without a return statement."

    def sides(self) -> Sides:
        return Side("a tensor"), Side("None")


class ClassForObject(Fact, frozen=True):
    """A method is called on ``name``, which is the class ``kind`` and no object of it."""

    name: str
    kind: str

    def message(self) -> str:
        return f"A method is called on {self.name}, which is the class {self.kind} itself and not an object of it."

    def why(self) -> str:
        return f"Call the class to create an object: {self.kind}(). Its methods then have the object as their first argument."

    def sides(self) -> Sides:
        return Side(f"{self.kind}()"), Side(self.kind)


class ByPlace(Fact, frozen=True):
    """A ``layer``, as it is written, is given arguments by place that are no tensors: the place and the parameter of each."""

    layer: str
    arguments: tuple[tuple[int, str], ...] = ()

    def message(self) -> str:
        if not self.arguments:
            return "A layer is called with a positional argument that is not a tensor."
        return f"{self.layer} receives {listed(tuple(name for _, name in self.arguments))} by position, but only tensors can be passed so."

    def why(self) -> str:
        return "Keras takes all positional arguments of a layer for its inputs. Pass options, such as training, by name."

    def sides(self) -> Sides:
        return Side(", ".join(f"{name}=..." for _, name in self.arguments) or "a keyword argument"), Side("a positional argument")


class NumberTooLarge(Fact, frozen=True):
    """A number of the program does not fit into a signed integer of 32 bits."""

    value: int

    @property
    def unsigned(self) -> bool:
        """Whether it fits without a sign."""
        return 0 <= self.value < 2**32

    def message(self) -> str:
        return f"{self.value:,} does not fit into int32: the largest value is {2**31 - 1:,}."

    def why(self) -> str:
        return "JAX computes with 32-bit integers unless jax_enable_x64 is set." + (
            " uint32 holds values up to 4,294,967,295 and wraps around beyond." if self.unsigned else " Use a smaller number."
        )

    def sides(self) -> Sides:
        return Side(f"at most {2**31 - 1:,}"), Side(f"{self.value:,}")


class OverrideLacks(Fact, frozen=True):
    """A method of the user's, ``function``, overrides one of the framework's and does not take ``lacks``, which the framework passes."""

    function: str
    lacks: tuple[str, ...]

    def message(self) -> str:
        return f"{self.function} does not accept {listed(self.lacks)}, but Keras passes {'it' if len(self.lacks) == 1 else 'them'}."

    def why(self) -> str:
        return "A method that overrides one of Keras must accept all arguments that Keras calls it with."

    def sides(self) -> Sides:
        return Side(f"a parameter {listed(self.lacks)}"), Side("no such parameter")


class VariableReturned(Fact, frozen=True):
    """The result of ``metric`` is a variable and not a tensor."""

    metric: str

    def message(self) -> str:
        return f"The result of the metric {self.metric} is a Keras variable, but a compiled step returns tensors."

    def why(self) -> str:
        return "fit on JAX raises an error that mentions __jax_array__. Return keras.ops.convert_to_tensor(variable)."

    def sides(self) -> Sides:
        return Side("a tensor"), Side("a variable")


class LeakedOut(Fact, frozen=True):
    """A line uses a tensor of a loop's body, a branch or a compiled function outside of it."""

    def message(self) -> str:
        return "This line uses a tensor from inside a loop, a branch or a compiled function that JAX has already traced."

    def why(self) -> str:
        return (
            "fit raises UnexpectedTracerError. A list or attribute that the function fills holds placeholders of that trace. "
            "Return the values instead: jax.lax.scan stacks what each step returns."
        )

    def sides(self) -> Sides:
        return Side("a value that the function returns"), Side("a tensor of its trace")
