"""Facts about the contract between a layer or step of the program's own and what calls it."""

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
        return (
            f"With labels, fit passes inputs and labels to train_step together. Unpack them first: {', '.join(self.parts)} = {self.name}."
        )

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
    operation: Who

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
