"""Facts about the data: its code and its structure."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...flow import Fact, KeyPath, Shape, Side, Sides, elements, show_shape
from ...flow.paths import show
from ..words import count, listed, many, side


class Unfilled(Fact, frozen=True):
    """``have`` values cannot be reshaped to ``wanted``."""

    have: int
    wanted: tuple[int, ...]
    where: Literal["data", "program"]
    said: str = ""

    def message(self) -> str:
        who = "The data code cannot" if self.where == "data" else "Cannot"
        return f"{who} reshape {self.have:,} values to {self.wanted}."

    def why(self) -> str:
        if self.where == "data":
            return "A reshape keeps the number of values. With -1 for the first axis, NumPy computes the number of rows."
        return f"A reshape keeps the number of values. With -1 for one axis, NumPy computes its size. The error: {self.said}"

    def sides(self) -> Sides:
        whole = all(n > 0 for n in self.wanted)
        return Side(f"{many(elements(self.wanted))} values" if whole else f"shape {self.wanted}"), Side(f"{self.have:,} values")


class DataRaised(Fact, frozen=True):
    """The data code raised; ``said`` is its message, ``code`` the expression that raised it."""

    said: str
    code: str = ""

    def message(self) -> str:
        where = f" at `{self.code}`" if self.code else ""
        return f"The code that prepares the data raises an error{where}, so there is no data for the model."

    def why(self) -> str:
        return f"The error: {self.said}"


class MappedParts(Fact, frozen=True):
    """A function of the pipeline takes ``takes`` arguments, but each element has ``given`` parts."""

    function: str
    takes: int
    given: int

    def message(self) -> str:
        who = "The lambda" if self.function == "<lambda>" else self.function
        return f"{who} takes {count(self.takes, 'argument')}, but each element of the dataset has {count(self.given, 'part')}."

    def why(self) -> str:
        return "map() calls its function with every part of an element: the inputs, the labels and the weights are separate arguments."


class WindowsAsDatasets(Fact, frozen=True):
    """A function of the pipeline takes a window for a tensor at ``code``, but it is a dataset; ``said`` is the error's message."""

    code: str
    said: str

    def message(self) -> str:
        where = f"`{self.code}`" if self.code else "The function of map()"
        return f"{where} gets a dataset, not a tensor: window() makes a small dataset of each window."

    def why(self) -> str:
        return f"Batch each window to one tensor first: flat_map(lambda w: w.batch(size)). The error: {self.said}"


class ShortWindows(Fact, frozen=True):
    """The last windows have fewer elements than ``size``."""

    size: int

    def message(self) -> str:
        return f"The last windows have fewer than {self.size} elements, so batch() cannot stack them."

    def why(self) -> str:
        return "Use window(..., drop_remainder=True)."


class MappedValue(Fact, frozen=True):
    """A function of the pipeline asks for the values of a tensor at ``code``; ``said`` is the error's message."""

    code: str
    said: str

    def message(self) -> str:
        where = f"`{self.code}`" if self.code else "The function of map()"
        return f"{where} needs the values of a tensor, but map() traces its function once, without values."

    def why(self) -> str:
        return f"Use functions of TensorFlow, or run the Python function for each element with tf.py_function. The error: {self.said}"


class RankNeeded(Fact, frozen=True):
    """A function of the pipeline needs the rank of a tensor that has none; ``said`` is its message."""

    said: str

    def message(self) -> str:
        return "A function of the pipeline needs the rank of a tensor whose rank is unknown."

    def why(self) -> str:
        return (
            "tf.io.decode_image returns an unknown rank unless expand_animations=False, because an animation has one axis more. After tf.py_function "
            f"or numpy_function, call set_shape. The error: {self.said}"
        )


class RowStep(msgspec.Struct, frozen=True):
    """An expression of the data code that gives an array ``of`` other rows than the ``others`` have.

    ``step``: what it does to the rows: ``cut``, ``filtered``, ``one``, ``joined``, ``windows`` or ``folded``; ``done``: as written;
    ``instead``: what selects the rows of the others, where something else does.
    """

    step: str
    done: str
    line: int
    of: str
    others: str
    instead: str = ""

    def why(self) -> str:
        if self.instead:
            return f"{self.done} at line {self.line} selects the rows of {self.of}, but {self.instead} selects those of {self.others}."
        does = {
            "cut": f"selects rows of {self.of}, but not of {self.others}",
            "filtered": f"selects rows of {self.of}, but not of {self.others}",
            "one": f"takes a single row for {self.of}, but {self.others} keeps all rows",
            "joined": f"adds rows to {self.of}, but not to {self.others}",
            "windows": f"makes one row of {self.of} per window, but {self.others} has one per value",
            "folded": f"counts the rows of {self.of} by its other sizes, which are not those of one sample",
        }
        return f"{self.done} at line {self.line} {does[self.step]}."


class SlicedApart(Fact, frozen=True):
    """``from_tensor_slices`` receives parts of ``first`` and ``second`` rows."""

    first: int
    second: int
    made: RowStep | None = None

    def message(self) -> str:
        return f"from_tensor_slices receives parts with {self.first:,} and {self.second:,} rows, and slices them together."

    def why(self) -> str:
        if self.made is not None:
            return self.made.why()
        return "A list of arrays becomes one array: a list of 2 inputs has 2 rows. Put the inputs in a tuple or a dict; otherwise give each part the same rows."

    def sides(self) -> Sides:
        return Side(f"{self.second:,} rows"), Side(f"{self.first:,} rows")


class ReturnedDtype(Fact, frozen=True):
    """A function that runs in Python returns ``given`` for its ``index``-th value, where its call declares ``wanted``."""

    index: int
    given: str
    wanted: str

    def message(self) -> str:
        return f"The function that the pipeline runs in Python returns {self.given} as value {self.index}, but its Tout declares {self.wanted}."

    def why(self) -> str:
        return "Tout must name the dtypes that the function returns. NumPy computes in float64 and int64 unless told otherwise."

    def sides(self) -> Sides:
        return Side(self.wanted), Side(self.given)


class YieldedShape(Fact, frozen=True):
    """A generator yields ``given`` where its output signature says ``wanted``."""

    given: Shape
    wanted: Shape

    def message(self) -> str:
        return f"The generator yields an array of shape {show_shape(self.given)}, but its output_signature says {show_shape(self.wanted)}."

    def why(self) -> str:
        return "from_generator checks every element against the signature. Change the element, or the signature and the model's input with it."

    def sides(self) -> Sides:
        return Side(show_shape(self.wanted)), Side(show_shape(self.given))


class PipelineShapes(Fact, frozen=True):
    """Two tensors with incompatible shapes that the data code combines; ``product``: as matrices."""

    first: Shape
    second: Shape
    product: bool = False

    def message(self) -> str:
        if self.product:
            return f"The data code cannot multiply the matrices {show_shape(self.first)} and {show_shape(self.second)}."
        return f"The data code cannot broadcast {show_shape(self.first)} and {show_shape(self.second)} together."

    def why(self) -> str:
        if self.product and self.first and len(self.second) > 1:
            return f"A product sums over the last axis of the first and the rows of the second: {self.first[-1]} and {self.second[-2]} must be equal."
        short, long = sorted((self.first, self.second), key=len)
        if len(short) < len(long) and short and short[0] == long[0]:
            ones = (*short, *[1] * (len(long) - len(short)))
            return (
                f"Shapes are aligned from the right, so the rows of {show_shape(short)} are aligned with the last axis of {show_shape(long)}. "
                f"One value per row must have shape {show_shape(ones)}: x[{', '.join([':', *['None'] * (len(long) - 1)])}]."
            )
        return "Shapes are aligned from the right; sizes must be equal or 1."

    def sides(self) -> Sides:
        return Side(show_shape(self.second)), Side(show_shape(self.first))


class Sampled(Fact, frozen=True):
    """How the data was sampled; ``text`` is the sampler's."""

    code: str
    text: str

    def message(self) -> str:
        return self.text


class TooManyParts(Fact, frozen=True):
    """An element of ``parts`` parts, for a model with ``inputs`` inputs and these ``outputs``; 0 and none if unknown."""

    parts: int
    inputs: int = 0
    outputs: tuple[str, ...] = ()

    def message(self) -> str:
        return f"Each element has {self.parts} parts, but fit expects x, (x, y) or (x, y, sample_weight)."

    def why(self) -> str:
        if self.inputs and len(self.outputs) > 1 and self.inputs + len(self.outputs) == self.parts:
            labels = ", ".join(f"'{name}': ..." for name in self.outputs)
            x = "x" if self.inputs == 1 else "(x1, x2, ...)"
            return (
                f"The model has {self.inputs} input{'s' * (self.inputs > 1)} and {len(self.outputs)} outputs, so {len(self.outputs)} parts are labels. Put "
                f"them into one dict, ({x}, {{{labels}}}), or one tuple."
            )
        return "Put several inputs into an inner tuple or dict, and several labels into another: ((x1, x2), (y1, y2))."

    def sides(self) -> Sides:
        return Side("1 to 3 parts"), Side(f"{self.parts} parts")


class WidthsVary(Fact, frozen=True):
    """The one-hot labels at ``path`` are of other ``widths`` in other batches. ``classes``: what the model gives, where that is known."""

    path: str
    widths: tuple[int, ...]
    classes: int | None = None

    def message(self) -> str:
        return f"The one-hot labels {self.path} have a different width in each batch: {listed(tuple(map(str, self.widths)))}."

    def why(self) -> str:
        wanted = f"num_classes={self.classes}" if self.classes is not None else "num_classes"
        return f"Functions such as to_categorical count the classes of what they are given, and not every batch has them all. Pass {wanted}."

    def sides(self) -> Sides:
        return Side(f"{self.classes} classes" if self.classes is not None else "one width"), Side(" or ".join(map(str, self.widths)))


class ThirdPart(Fact, frozen=True):
    """fit reads the third part of each element as sample weights, but it is text, or one ``whole`` number of its own for each sample."""

    whole: bool = False

    def message(self) -> str:
        what = "a different integer for each sample" if self.whole else "text"
        return f"The third part of each element is {what}, but fit reads it as sample weights."

    def why(self) -> str:
        return "fit expects (x, y) or (x, y, sample_weight). Remove names, paths and row numbers from the elements: ds.map(lambda x, y, name: (x, y))."

    def sides(self) -> Sides:
        return Side("one weight per sample"), Side("row numbers" if self.whole else "text")


class LabelsAsWeights(Fact, frozen=True):
    """fit reads the third part of each element as sample weights, which leaves one label for several ``outputs``."""

    labels: Shape | None
    weights: Shape | None
    outputs: tuple[str, ...]

    def message(self) -> str:
        return (
            f"Each element has three parts, but fit reads the third, {show_shape(self.weights)}, as sample weights: "
            f"only {show_shape(self.labels)} is left as labels for {len(self.outputs)} outputs."
        )

    def why(self) -> str:
        labels = ", ".join(f"'{name}': ..." for name in self.outputs)
        return f"Put the labels of all outputs into one part, (x, {{{labels}}}) or (x, (..., ...)) in the order of the outputs."

    def sides(self) -> Sides:
        return Side("(x, labels)"), Side("(x, labels, weights)")


class ClassesAsWeights(Fact, frozen=True):
    """``count`` sample weights, one per class, for ``rows`` samples. ``hot``: the labels are one-hot vectors; ``keyed``: the weights are a dict by class."""

    count: int
    rows: int
    hot: bool
    keyed: bool = False

    @property
    def each(self) -> str:
        """The expression for each sample's class weight."""
        return "np.sum(y * weights, axis=-1)" if self.hot else "np.vectorize(weights.get)(y)" if self.keyed else "weights[y]"

    def message(self) -> str:
        return f"There are {self.count} sample weights, one per class, but fit expects one for each of the {self.rows} samples."

    def why(self) -> str:
        return f"Pass each sample's class weight: sample_weight={self.each}. For one label per sample, class_weight={{0: ..., 1: ...}} in fit does the same."

    def sides(self) -> Sides:
        return Side(f"{self.rows} weights"), Side(f"{self.count} weights")


class InputsStacked(Fact, frozen=True):
    """The arrays of ``inputs`` are stacked to one array ``shape``, with the inputs on axis 0; there are labels for ``rows`` samples."""

    inputs: tuple[str, ...]
    shape: Shape
    rows: int

    def message(self) -> str:
        return (
            f"The {len(self.inputs)} inputs are stacked into one array {show_shape(self.shape)}, "
            f"so fit reads it as one input with {len(self.inputs)} samples; the labels have {self.rows}."
        )

    def why(self) -> str:
        return f"Pass a list or tuple with one array per input, in this order: {', '.join(self.inputs)}. np.array([a, b]) joins them into one array."

    def sides(self) -> Sides:
        return Side(f"{len(self.inputs)} arrays of {self.rows} rows"), Side(f"1 array {show_shape(self.shape)}")


class InputsBySample(Fact, frozen=True):
    """A list of ``rows`` samples, each with a row for every one of the ``inputs``, where fit expects a list of inputs with a row for every sample."""

    inputs: tuple[str, ...]
    rows: int

    def message(self) -> str:
        return f"The data is a list of {self.rows} samples with {len(self.inputs)} arrays each, but the model takes {len(self.inputs)} arrays, one per input."

    def why(self) -> str:
        return f"In a list of arrays, fit reads each as an input with one row per sample. There are labels for {self.rows} samples."

    def sides(self) -> Sides:
        return Side(f"{len(self.inputs)} arrays of {self.rows} rows"), Side(f"{self.rows} arrays of {len(self.inputs)} rows")


class TextArray(Fact, frozen=True):
    """The data at ``path`` is a NumPy array of texts for a model that reads text, which Keras 3 takes only as a tensor."""

    path: KeyPath
    dtype: str

    def message(self) -> str:
        return f"`{show(self.path)}` is a NumPy array of strings ({self.dtype}), but Keras 3 accepts text only as a tensor."

    def why(self) -> str:
        return "The model reads text, and fit supports no NumPy dtype of strings. Pass tf.constant(x), or a tf.data.Dataset."

    def sides(self) -> Sides:
        return Side("a tensor of strings"), Side(f"an array of dtype {self.dtype}")


class Unbatchable(Fact, frozen=True):
    """Two samples of one batch, ``first`` and ``second``, have different shapes."""

    first: Shape
    second: Shape

    @property
    def picture(self) -> bool:
        """Whether they look like pictures with their channels last."""
        return len(self.first) == len(self.second) == 3 and self.first[-1] == self.second[-1] in (1, 3, 4)

    def message(self) -> str:
        return f"batch() cannot stack samples of different shapes, such as {show_shape(self.first)} and {show_shape(self.second)}."

    def why(self) -> str:
        if self.picture:
            return "Resize every image to one size in map(), before batch()."
        return "Give every sample one shape before batch(), or use padded_batch(), which pads those of a batch to the longest one."

    def sides(self) -> Sides:
        return side(self.first), side(self.second)


class Refused(Fact, frozen=True):
    """Data that ``fit`` rejects, in the sampler's words.

    ``made``: the expression after which arrays have different numbers of rows; ``ids``, ``steps``, ``alike``, ``dtype``, ``columns``: those of the ``Problem``.
    ``flat``: the array whose rows are the ``positions`` of the other's samples. ``turned``: the array whose columns are the samples.
    """

    code: str
    text: str
    wanted: str = ""
    given: str = ""
    counts: tuple[int, ...] = ()
    ids: bool = False
    path: KeyPath = ()
    dtype: str = ""
    steps: bool = False
    alike: bool = False
    columns: tuple[int, ...] = ()
    made: RowStep | None = None
    flat: KeyPath = ()
    positions: Shape = ()
    turned: KeyPath = ()

    def message(self) -> str:
        return self.text.rstrip(".") + "."

    def why(self) -> str:
        if self.turned:
            return f"{show(self.turned)} has as many columns as the others have rows: its samples are its columns."
        if self.flat:
            return f"{show(self.flat)} was flattened: its rows are the positions {show_shape(self.positions)} of each sample, and not the samples."
        return self.made.why() if self.made is not None else ""

    def sides(self) -> Sides:
        return (Side(self.wanted), Side(self.given)) if self.wanted and self.given else (None, None)
