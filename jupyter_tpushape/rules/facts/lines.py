"""Facts about lines of the program that raise outside of any layer."""

from __future__ import annotations

import re
from typing import Literal

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ...flow.text import in_short
from ..words import count, listed, pair, placed


class LineRaised(Fact, frozen=True):
    """An expression of the program, ``text``, raises an error: outside any layer, or inside ``layer``."""

    said: str
    text: str = ""
    layer: str = ""

    def message(self) -> str:
        place = f"inside {self.layer}" if self.layer else "outside any layer"
        return f"{f'`{self.text}`' if self.text else 'A line'} raises an error {place}."

    def why(self) -> str:
        return f"The error: {in_short(self.said)}"


# Methods that tensors do not have.
OF_ARRAYS = frozenset(
    re.findall(
        r"\w+",
        "T all any argmax argmin astype clip copy cumprod cumsum dot flatten max mean min prod ravel repeat reshape round squeeze std sum swapaxes transpose var",
    )
)
OF_TORCH = frozenset(
    re.findall(r"\w+", "abs bmm clamp clone contiguous detach exp float log long masked_fill matmul mm permute pow sigmoid size softmax sqrt t unsqueeze view")
)


class NoMethod(Fact, frozen=True):
    """The program asks a tensor for ``name``, which ``OF_ARRAYS`` or ``OF_TORCH`` have."""

    name: str

    def message(self) -> str:
        return f"The program uses `.{self.name}` on a tensor, but only NumPy arrays or PyTorch tensors have it."

    def why(self) -> str:
        return "While a model is built or trained, its values are symbolic tensors. They are passed to functions, such as keras.ops.reshape(x, shape)."


class KeyMissing(Fact, frozen=True):
    """A model's call looks up ``key`` in ``name``, the data, which has other ``keys``."""

    name: str
    key: str
    keys: tuple[str, ...]

    def message(self) -> str:
        return f"`{self.name}[{self.key!r}]` raises a KeyError: the data has the key{'s' * (len(self.keys) > 1)} {listed(self.keys)}."

    def why(self) -> str:
        return "fit passes the data to the model as it is, so its keys are those of the dict. Use one of them, or rename it in the data."

    def sides(self) -> Sides:
        return Side(self.key), Side(listed(self.keys))


class LogicalOperand(Fact, frozen=True):
    """An expression of the program, ``text``, calculates with ``operand``, a tensor of bools."""

    operand: str
    text: str

    def message(self) -> str:
        return f"`{self.text}` calculates with {self.operand}, whose dtype is bool."

    def why(self) -> str:
        return f"True and false are not converted to 1 and 0 here. Cast it: cast({self.operand}, 'float32')."

    def sides(self) -> Sides:
        return Side("numbers"), Side("bool")


class LogicalProduct(Fact, frozen=True):
    """A product, ``node``, of a tensor of bools with one of ``dtype``, which is its side number ``side``."""

    node: Who
    dtype: str
    side: int

    def message(self) -> str:
        return f"The product{placed(self.node)} multiplies a {self.dtype} tensor by a tensor of bool, so its result is bool and the numbers are lost."

    def why(self) -> str:
        return "With a tensor of bool, TensorFlow multiplies integers and turns the result into true and false. Cast the bools first: cast(mask, x.dtype)."

    def sides(self) -> Sides:
        return Side(self.dtype), Side("bool")


class SizeMissing(Fact, frozen=True):
    """An expression of the program reads axis ``axis`` of ``name``, an array of ``shape`` that has no such axis."""

    name: str
    shape: Shape
    axis: int

    def message(self) -> str:
        return f"`{self.name}.shape[{self.axis}]` asks for axis {self.axis} of {self.name}, which has shape {show_shape(self.shape)}: axes 0 to {len(self.shape) - 1}."

    def why(self) -> str:
        if self.axis != len(self.shape):
            return "Read an axis that the array has, or give the array the axes that the model expects."
        return f"If each value is to have one feature, or each pixel one channel, add that axis to the data: {self.name}[..., np.newaxis]."

    def sides(self) -> Sides:
        return Side(f"at least {self.axis + 1} axes"), Side(show_shape(self.shape))


class ElementMissing(Fact, frozen=True):
    """An expression of the program reads element ``index`` of ``name``, a list or tuple of ``length`` elements."""

    name: str
    index: int
    length: int

    def message(self) -> str:
        return f"`{self.name}[{self.index}]` asks for element {self.index} of {self.name}, which has {count(self.length, 'element')}, counted from 0."

    def why(self) -> str:
        return "A model or layer with several outputs returns them in its own order. Use one that is there, or return another one."

    def sides(self) -> Sides:
        return Side(f"at least {self.index + 1}"), Side(str(self.length))


class LossOfModel(Fact, frozen=True):
    """An expression of the program, ``text``, gives a tensor of the graph to ``add_loss`` of a finished model."""

    text: str = ""

    def message(self) -> str:
        return f"{f'`{self.text}`' if self.text else 'A line'} passes a symbolic tensor to add_loss of a model, which Keras 3 does not support."

    def why(self) -> str:
        return "Call self.add_loss in the call method of a layer instead: there, it accepts tensors that are computed from the inputs."


class LossCalled(Fact, frozen=True):
    """A line of the program, ``text``, calls a loss with labels and predictions of shapes that it cannot compare."""

    text: str
    labels: Shape
    predictions: Shape
    sparse: bool = False

    @property
    def apart(self) -> tuple[int, ...]:
        """The axes in which they differ, where both have the same rank."""
        pairs = list(zip(self.labels, self.predictions, strict=False))
        return tuple(i for i, (a, b) in enumerate(pairs) if a != b) if len(self.labels) == len(self.predictions) else ()

    def message(self) -> str:
        return f"{f'`{self.text}`' if self.text else 'A loss'} compares labels {show_shape(self.labels)} with predictions {show_shape(self.predictions)}."

    def why(self) -> str:
        if self.sparse and len(self.labels) == len(self.predictions) - 1:
            return f"Integer labels have the shape of the predictions without their last axis, {show_shape(self.predictions[:-1])}: one label for each row of scores."
        if self.sparse and len(self.labels) == len(self.predictions):
            return (
                f"This loss takes one class index for each row of predictions: labels of shape {show_shape(self.predictions[:-1])}. "
                "For one-hot labels, use categorical_crossentropy."
            )
        if not self.apart:
            return "Labels and predictions need the same rank."
        i = self.apart[0]
        rows = " There must be one row of labels for each row of predictions." if i == 0 else ""
        return f"They differ in axis {i}: {self.labels[i]} and {self.predictions[i]}.{rows}"

    def sides(self) -> Sides:
        return pair(self.predictions, self.labels, names=False)


class NoGradient(Fact, frozen=True):
    """``name`` is None: the gradient of ``target`` by ``source``, which is no variable.

    ``tape`` was not told to watch it, or was (``watched``), and the target is computed without it.
    """

    name: str
    tape: str
    target: str
    source: str
    watched: bool = False

    def message(self) -> str:
        none = f"{self.name}, the gradient of {self.target} with respect to {self.source}, is None"
        return f"{none}: {self.target} is not computed from {self.source}." if self.watched else f"{none}: {self.tape} does not watch {self.source}."

    def why(self) -> str:
        if self.watched:
            return f"{self.tape} watches {self.source}, but {self.target} is computed from other tensors. Compute {self.target} from {self.source}, or watch one of those."
        return f"A GradientTape records only what is computed from trainable variables and from tensors that it watches. Call {self.tape}.watch({self.source}) first."


class NeverCalled(Fact, frozen=True):
    """``layer`` was never called, so it has no ``what``: ``output`` or ``input``."""

    layer: str
    what: str

    def message(self) -> str:
        return f"{self.layer} was never called, so it has no .{self.what}."

    def why(self) -> str:
        return (
            f"In Keras 3 a Sequential model that declares its input has .{self.what}s, a list, and .{self.what} only after it was called. "
            f"Use .{self.what}s[0], or call the model on an Input."
        )


class UnknownArguments(Fact, frozen=True):
    """A line gives ``names`` to a constructor that has no such arguments. ``text``: the line, or ``""``. ``of_call``: those that the layer's call takes."""

    names: tuple[str, ...]
    text: str
    of_call: tuple[str, ...] = ()

    def message(self) -> str:
        which = f"argument {self.names[0]}" if len(self.names) == 1 else f"arguments {listed(self.names)}"
        line = f"`{self.text}`" if self.text else "A line"
        if {*self.of_call} == {*self.names}:
            return f"{line} passes the {which} to the constructor of a layer, but it belongs in the call of the layer."
        return f"{line} passes the {which}, which this version of Keras does not have."

    def why(self) -> str:
        if {*self.of_call} == {*self.names}:
            return f"The layer takes it each time it is called: layer(x, {self.names[0]}=...)."
        return "Its name may have changed between versions of Keras, or be misspelled."


class NotRecurrent(Fact, frozen=True):
    """``wrapper`` runs a layer in both directions, but ``layer`` has none."""

    wrapper: str
    layer: str

    def message(self) -> str:
        return f"{self.wrapper} needs a recurrent layer, but {self.layer} is not recurrent."

    def why(self) -> str:
        return f"{self.wrapper} runs its layer forwards and backwards over the steps. Only a recurrent layer has a direction."


class Unregistered(Fact, frozen=True):
    """The line ``text`` makes something anew from its configuration, which names the program's own ``name``, or holds a ``lambda``."""

    what: Literal["function", "class", "lambda"]
    name: str
    text: str

    def message(self) -> str:
        line = f"`{self.text}`" if self.text else "A line"
        if self.what == "lambda":
            return f"{line} creates a layer from a configuration, which cannot hold a lambda."
        return f"{line} creates a layer from a configuration, and Keras does not find the {self.what} {self.name} that it names."

    def why(self) -> str:
        if self.what == "lambda":
            return "Define a function with a name instead, and register it with @keras.saving.register_keras_serializable()."
        return (
            f"A configuration keeps the name of {self.name} alone. Keras finds the {self.what} by this name only after "
            "@keras.saving.register_keras_serializable() has registered it."
        )


class UnknownName(Fact, frozen=True):
    """No ``what`` has this name; ``near``: those that are most like it."""

    what: str
    name: str
    near: tuple[str, ...] = ()

    def message(self) -> str:
        return f"No {self.what} has the name '{self.name}'."

    def why(self) -> str:
        own = "To use a custom function, pass the function instead of its name."
        return (f"Did you mean '{self.near[0]}'? " if self.near else "") + own


class NoAttribute(Fact, frozen=True):
    """A line asks ``module`` for ``name``, which it does not have; ``near``: names there that are most like it."""

    module: str
    name: str
    near: tuple[str, ...] = ()

    def message(self) -> str:
        return f"{self.module} has no {self.name} in this version."

    def why(self) -> str:
        if self.near:
            return f"Did you mean {self.near[0]}?"
        return "It may have moved between versions, or be misspelled."


class TooDeep(Fact, frozen=True):
    """A line nests calls deeper than Python allows; ``means`` and ``todo`` are the catalog's texts for that message."""

    means: str
    todo: str

    def message(self) -> str:
        return "A line exceeds Python's recursion limit."

    def why(self) -> str:
        return f"{self.means} {self.todo}"
