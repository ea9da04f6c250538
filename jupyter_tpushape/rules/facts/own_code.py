"""Facts about the contract between code of the program's own and what calls it, and about numbers in it that no size can be."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import named, pair


class WeightOfBatch(Fact, frozen=True):
    """A layer's build gives a weight the ``shape`` of its input, the batch axis included, whose size is unknown."""

    layer: Who
    shape: Shape

    def message(self) -> str:
        return f"{named(self.layer)} creates a weight of shape {show_shape(self.shape)}: its first axis is the batch, of unknown size."

    def why(self) -> str:
        return "input_shape in build begins with the batch axis. A weight is shared by all samples, so it has the axes after it: input_shape[1:]."

    def sides(self) -> Sides:
        return pair(self.shape[1:], self.shape, names=False)


class DataWhole(Fact, frozen=True):
    """A training step passes ``name``, the pair of inputs and labels that fit gives it, to ``model``, which has one input, or an operation."""

    model: Who
    name: str
    parts: tuple[str, ...]

    def message(self) -> str:
        use = f"passes {self.name} to {named(self.model)}" if self.model.kind == "layer" else f"computes with {self.name} as one tensor"
        return f"train_step {use}, but {self.name} is the tuple ({', '.join(self.parts)}) that fit received."

    def why(self) -> str:
        return f"With labels, fit passes inputs and labels to train_step together. Unpack them first: {', '.join(self.parts)} = {self.name}."

    def sides(self) -> Sides:
        return Side("x"), Side(", ".join(self.parts))


class EmbeddedTwice(Fact, frozen=True):
    """An embedding whose ids are the vectors of another, ``first``: it makes one more axis of ``shape``. ``between``: layers that drop values of them."""

    layer: Who
    first: Who
    shape: Shape
    between: tuple[str, ...] = ()

    def message(self) -> str:
        return f"{named(self.layer)} receives the vectors {show_shape(self.shape)} of {named(self.first)} instead of ids."

    def why(self) -> str:
        return "An embedding looks up each number as an id: it cuts off the decimals of a vector and adds an axis. Embed the ids once."

    def sides(self) -> Sides:
        return pair(self.shape[:-1], self.shape, names=False)


class TooManySteps(Fact, frozen=True):
    """CTC is given sequences of up to ``length`` steps by ``leaf``, but the predictions have ``steps``."""

    leaf: str
    length: int
    steps: int

    def message(self) -> str:
        return f"{self.leaf} says that sequences have up to {self.length} steps, but the predictions for CTC have {self.steps}."

    def why(self) -> str:
        return (
            "The length that CTC takes counts the steps of the predictions. Strides, pooling and cropped steps before them shorten the input, "
            "so its lengths must be divided alike."
        )

    def sides(self) -> Sides:
        return Side(f"at most {self.steps}"), Side(str(self.length))


class NamesCrossed(Fact, frozen=True):
    """``owner`` keeps each of two parameters under the name of the other, ``one`` and ``other``."""

    owner: str
    one: str
    other: str

    def message(self) -> str:
        return f"{self.owner}.__init__ stores {self.other} as self.{self.one}, and {self.one} as self.{self.other}."

    def why(self) -> str:
        return f"Wherever the class reads self.{self.one}, it then uses {self.other}. Both have the same interface, so no error is raised."

    def sides(self) -> Sides:
        return Side(f"self.{self.one} = {self.one}"), Side(f"self.{self.one} = {self.other}")


class LabelsRefused(Fact, frozen=True):
    """A metric of the framework computes in ``wanted`` and does not cast the labels, which are ``given``."""

    metric: str
    wanted: str
    given: str

    def message(self) -> str:
        return f"{self.metric} computes in {self.wanted}, but the labels are {self.given}."

    def why(self) -> str:
        return f"This metric does not cast the labels. Convert them to {self.wanted} in the data."

    def sides(self) -> Sides:
        return Side(self.wanted), Side(self.given)


class NoneAsSize(Fact, frozen=True):
    """Code of a layer, loss or step uses ``text``, which is None: size ``axis`` of ``tensor``, or its whole ``shape``."""

    text: str
    tensor: str
    shape: Shape
    axis: int | None = None

    def message(self) -> str:
        if self.axis is None:
            return f"{self.text} is {show_shape(self.shape)}: sizes are missing that this line needs."
        if self.text.startswith("len("):
            return f"{self.text}: Python's len needs a value, and {self.tensor} {show_shape(self.shape)} is a symbolic tensor."
        which = "the batch size" if self.axis == 0 else f"the size of axis {self.axis}"
        return f"{self.text} is None: {which} of {self.tensor} {show_shape(self.shape)} is unknown before the model runs."

    def why(self) -> str:
        return "This line needs a number there. A static shape has only the sizes that are declared. tf.shape(x) and keras.ops.shape(x) give the others when the model runs."

    def sides(self) -> Sides:
        return Side("a number"), Side("None" if self.axis is not None and self.shape[self.axis] is None else show_shape(self.shape))


class FloatAsSize(Fact, frozen=True):
    """``text`` is a division whose result is the float ``value``, where an integer is needed."""

    text: str
    value: float | None

    def message(self) -> str:
        return f"{self.text} is the float {self.value}, but an integer is needed."

    def why(self) -> str:
        return "In Python, / always returns a float, even if there is no remainder. Use // to get an integer."

    def sides(self) -> Sides:
        return Side("an integer"), Side("a float" if self.value is None else repr(self.value))


class FloatArgument(Fact, frozen=True):
    """``layer`` was created with the float ``value`` in ``argument``, where an integer is needed."""

    layer: Who
    argument: str
    value: float

    def message(self) -> str:
        return f"{named(self.layer)} has the float {self.value} in {self.argument}, but an integer is needed."

    def why(self) -> str:
        return "In Python, / always returns a float, even if there is no remainder. Use // to get an integer."

    def sides(self) -> Sides:
        return Side("an integer"), Side(repr(self.value))
