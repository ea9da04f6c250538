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
    """A training step passes ``name``, the pair of inputs and labels that fit gives it, to ``model``, which has one input."""

    model: Who
    name: str
    parts: tuple[str, ...]

    def message(self) -> str:
        return f"train_step passes {self.name} to {named(self.model)}, but {self.name} is the tuple ({', '.join(self.parts)}) that fit received."

    def why(self) -> str:
        return f"With labels, fit passes inputs and labels to train_step together. Unpack them first: {', '.join(self.parts)} = {self.name}."

    def sides(self) -> Sides:
        return Side("x"), Side(", ".join(self.parts))


class EmbeddedTwice(Fact, frozen=True):
    """An embedding whose ids are the vectors of another, ``first``: it makes one more axis of ``shape``."""

    layer: Who
    first: Who
    shape: Shape

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
