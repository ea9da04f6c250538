"""What is found of calls: what they make anew each time, and the losses that layers add."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, KeyPath, Shape, Side, Sides, Who, show_shape
from ...flow.paths import show
from ..words import named


class MadeAnew(Fact, frozen=True):
    """Every call makes a ``cls`` anew. ``where``: in the model's own code, its loss, or its training step."""

    cls: str
    where: Literal["call", "loss", "step"]

    def message(self) -> str:
        place = {"call": "inside call", "loss": "inside the loss", "step": "inside the training step"}[self.where]
        return (
            f"A {self.cls} is made {place}, anew each time it runs: fit raises at the second run, and its variables would never be trained."
        )

    def why(self) -> str:
        where = {"call": "in __init__ (or build) of the layer", "loss": "once, outside of the loss", "step": "in __init__ of the model"}[
            self.where
        ]
        return f"A compiled step makes variables in its first run only. Make it {where}, keep it, and call it here."

    def sides(self) -> Sides:
        return Side("made once"), Side("made in every run")


class NotCalled(Fact, frozen=True):
    """A layer of class ``cls`` is made with tensors as its arguments. ``later``: that was noticed where it was used as a tensor itself."""

    cls: str
    later: bool

    def message(self) -> str:
        if self.later:
            return f"A layer got {self.cls} itself where a tensor was to be: {self.cls} was made and not called."
        return f"{self.cls} is made with a tensor as its argument, and is not called on it."

    def why(self) -> str:
        return f"A layer is made with its settings and then called on its input, in two pairs of brackets: {self.cls}(...)(x)."

    def sides(self) -> Sides:
        return Side(f"{self.cls}(...)(x)"), Side(f"{self.cls}(x)")


class RowsUnknown(Fact, frozen=True):
    """``text`` runs with ``batch`` rows and raises ``said`` where their number is not known; ``last``: the rows of another batch."""

    text: str
    batch: int | None
    last: int | None
    said: str

    def message(self) -> str:
        return f"The code asks for the number of rows at `{self.text}`, and fit does not know it there."

    def why(self) -> str:
        sizes = f" ({self.batch}, then {self.last})" if self.batch and self.last else ""
        return (
            f"The batches are not all of one size{sizes}, so the step is traced once for all of them, and x.shape[0] "
            f"has no value. tf.shape(x)[0] is the number of rows as the step runs, and -1 in a reshape stands for it. It says: {self.said}"
        )

    def sides(self) -> Sides:
        return Side("rows counted as it runs"), Side("None")


class CodedIds(Fact, frozen=True):
    """``layer`` reads what ``coder`` made with ``output_mode=mode``: a place for every word, and not the words' numbers."""

    layer: Who
    coder: Who
    mode: str

    def message(self) -> str:
        return f"{named(self.layer)} looks up each of the 0s and 1s that {named(self.coder)} makes with output_mode='{self.mode}', and not the words."

    def why(self) -> str:
        return (
            "Such a code has a place for every word of the vocabulary and no order. An Embedding wants the words' numbers: output_mode='int'; "
            "a Dense layer reads the code as it is."
        )

    def sides(self) -> Sides:
        return Side("numbers of words"), Side(f"a {self.mode} code")


class CodedRows(Fact, frozen=True):
    """``layer`` reads the leaf ``path`` of the data, of ``shape``, whose rows are one-hot."""

    layer: Who
    path: KeyPath
    shape: Shape

    def message(self) -> str:
        return f"{named(self.layer)} looks up each 0 and 1 of one-hot rows: {show(self.path)} is {show_shape(self.shape)}, with {self.shape[-1]} places for each id."

    def why(self) -> str:
        return (
            f"An Embedding wants the ids themselves, {show_shape(self.shape[:-1])}: argmax over the last axis gives them. "
            "A Dense layer without a bias reads the one-hot rows as they are, and computes the same."
        )

    def sides(self) -> Sides:
        return Side(f"ids, {show_shape(self.shape[:-1])}"), Side(f"one-hot rows, {show_shape(self.shape)}")


class VectorLoss(Fact, frozen=True):
    """``layer`` adds a loss of one number a sample, ``shape``."""

    layer: Who
    shape: Shape

    def message(self) -> str:
        return f"{named(self.layer)} adds a loss of {show_shape(self.shape)}, one number a sample, where a scalar is meant."

    def why(self) -> str:
        return (
            "The total loss becomes a vector then, and its gradient the sum over the batch: it grows with the batch size, and outweighs the mean of the "
            "compiled loss. add_loss(tf.reduce_mean(loss)) adds one number."
        )

    def sides(self) -> Sides:
        return Side("()"), Side(show_shape(self.shape))
