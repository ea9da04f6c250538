"""Facts about values that a layer or metric holds and that have another size than what it receives, and about faults behind a first one."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import count, named


class AdaptedApart(Fact, frozen=True):
    """``layer`` was adapted to data with ``adapted`` features, but receives ``given``."""

    layer: Who
    adapted: int
    given: Shape

    def message(self) -> str:
        return f"{named(self.layer)} was adapted to data with {count(self.adapted, 'feature')}, but receives {show_shape(self.given)}."

    def why(self) -> str:
        return "adapt() stores one mean and one variance per feature of its data. Call it with the data that the model is trained on."

    def sides(self) -> Sides:
        return Side(count(self.adapted, "feature")), Side(count(self.given[-1] or 0, "feature"))


class EmptyLookup(Fact, frozen=True):
    """A lookup without a vocabulary."""

    layer: Who

    def message(self) -> str:
        return f"{named(self.layer)} has no vocabulary, so it cannot look anything up."

    def why(self) -> str:
        return "fit raises `Table not initialized`. Call adapt() on the training data, or set vocabulary=, before the layer receives data."

    def sides(self) -> Sides:
        return Side("a vocabulary"), Side("none")


class ScalarSum(Fact, frozen=True):
    """The metric ``name`` assigns a tensor ``given`` to a variable of shape ``wanted``. ``samples``: it has one value per sample."""

    name: str
    wanted: Shape
    given: Shape
    samples: bool = True

    def message(self) -> str:
        return f"The metric {self.name} adds a tensor {show_shape(self.given)} to a variable of shape {show_shape(self.wanted)}."

    def why(self) -> str:
        if self.wanted:
            if self.samples and self.given[1:] == self.wanted:
                return "What is added has a row for each sample, and the variable has no axis for them. Sum over the samples first: axis=0."
            return "A variable keeps its shape, and assign needs the same shape."
        if not self.samples:
            return (
                f"The variable is a single number, but the metric computes {show_shape(self.given)}, for example one value per class. "
                f"Create the variable with shape={show_shape(self.given)}, or reduce the values to one number."
            )
        return (
            f"The variable is a single number, but the metric computes {count(self.given[0] or 0, 'value')}, one per sample. "
            "Reduce them first: reduce_sum for a count, reduce_mean for an average."
        )

    def sides(self) -> Sides:
        return Side(show_shape(self.wanted)), Side(show_shape(self.given))


class InitialShape(Fact, frozen=True):
    """The initializer of a weight of ``layer``, ``weight``, was asked for the shape ``want`` and returned ``got``."""

    layer: Who
    weight: str
    want: Shape
    got: Shape

    def message(self) -> str:
        return f"The initializer of {self.layer.name}'s {self.weight} returns {show_shape(self.got)}, but was asked for {show_shape(self.want)}."

    def why(self) -> str:
        turned = self.got == self.want[::-1] and len(self.want) == 2
        return f"Keras on JAX gives the weight the returned shape, so the layer breaks. {'Transpose the array.' if turned else 'Return an array of the shape that it is given.'}"

    def sides(self) -> Sides:
        return Side(show_shape(self.want)), Side(show_shape(self.got))


class Behind(Fact, frozen=True):
    """A second fault: found when ``mended`` is assumed to receive what it expects."""

    mended: str
    fact: Fact

    def message(self) -> str:
        said = self.fact.message()
        return f"After that: {said}"

    def why(self) -> str:
        assumed = f"assuming that {self.mended} receives what it expects"
        why = self.fact.why()
        return f"Found by {assumed}: {why}" if why else f"Found by {assumed}."

    def sides(self) -> Sides:
        return self.fact.sides()
