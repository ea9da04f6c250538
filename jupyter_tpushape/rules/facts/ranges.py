"""Facts about values out of range: class indices, ids, labels that are no probabilities or that no output reaches, and values that are scaled twice."""

from __future__ import annotations

from ...flow import Fact, KeyPath, Shape, Side, Sides, Who, show_shape
from ...flow.paths import show
from ..words import count, named, pair, placed


class OutOfRange(Fact, frozen=True):
    """Values of ``path`` range from ``lowest`` to ``highest``, but ``layer`` is valid for 0 to ``size - 1``."""

    layer: Who
    size: int
    lowest: int
    highest: int

    def sides(self) -> Sides:
        return Side(f"0 to {self.size - 1}"), Side(f"{self.lowest} to {self.highest}")


class LabelOutOfRange(OutOfRange, frozen=True):
    """Class indices without a unit in the last layer; ``zero``: the backend makes a one-hot vector of zeros of one, and raises nothing.

    ``whole``: the labels are whole numbers; otherwise they are no class indices at all. ``blank``: class 0 is the blank of CTC, which raises nothing.
    """

    loss: str = ""
    path: KeyPath = ("y",)
    zero: bool = False
    whole: bool = True
    blank: bool = False

    def message(self) -> str:
        if not self.whole:
            return (
                f"The labels {show(self.path)} are not class indices but numbers with decimals from {self.lowest} to {self.highest + 1}. "
                f"{self.loss} expects integers from 0 to {self.size - 1} for {named(self.layer)}."
            )
        bad = self.highest if self.highest >= self.size else self.lowest
        return f"Label {bad} is out of range: {named(self.layer)} has {count(self.size, 'unit')} (valid classes 0-{self.size - 1})."

    def why(self) -> str:
        if not self.whole:
            return "The loss cuts off the decimals. Check which labels belong to this output; for free numbers use a loss such as mse."
        if self.blank:
            return (
                f"No error is raised, but {self.loss} is wrong for every sequence with that label. Class 0 is the blank, so labels from 1 to n need "
                f"n + 1 units. Observed values of {show(self.path)}: {self.lowest} to {self.highest}."
            )
        what = (
            "No error is raised: JAX makes a one-hot vector of zeros of such a label, so the model learns nothing from that sample."
            if self.zero
            else f"{self.loss} raises an error on a CPU and returns NaN on a TPU."
        )
        return f"{what} Observed values of {show(self.path)}: {self.lowest} to {self.highest}."


class IdOutOfRange(OutOfRange, frozen=True):
    """Ids without a row in an embedding; ``nan``: the backend returns NaN for a missing row. ``encodes``: the layer makes vectors of zeros and ones.

    ``last``: a negative id reads a row counted from the last one. ``narrow``: the dtype of the ids, if it cannot hold one for each row.
    ``column``: the ids are a column of a table.
    """

    nan: bool = False
    encodes: bool = False
    last: bool = False
    narrow: str = ""
    column: int | None = None

    def message(self) -> str:
        if self.encodes:
            return f"{named(self.layer)} encodes the numbers 0 to {self.size - 1}, but the data has {self.lowest} to {self.highest}."
        ids = f"range from {self.lowest} to {self.highest}" if self.lowest != self.highest else f"are all {self.highest}"
        where = "the data" if self.column is None else f"column {self.column} of the data"
        return f"{named(self.layer)} has {count(self.size, 'row')}, but the ids in {where} {ids}."

    def why(self) -> str:
        if self.encodes:
            return "A number outside of these gets a vector of zeros, or raises an error, depending on the framework. num_tokens must be the largest number plus 1."
        if self.highest < self.size:
            what = "No error is raised: a negative id reads a row counted from the last one." if self.last else "A negative id has no row."
            if self.narrow:
                return f"{what} {self.narrow} cannot hold ids up to {self.size - 1}: larger ones wrap around. Store the ids as int32."
            return f"{what} Ids count from 0."
        return f"{_beyond(self.size, self.nan)} input_dim must be the largest id plus 1."


class ColumnsExchanged(Fact, frozen=True):
    """``layer`` with ``size`` rows looks up ``column`` of the table at ``path``, whose ids go up to ``highest``.

    Those of ``other`` go up to ``fitting``: each column has the ids of what looks up the other one. ``nan``: the backend returns NaN for a missing row.
    """

    layer: Who
    size: int
    path: KeyPath
    column: int
    highest: int
    other: int
    fitting: int
    nan: bool = False

    def message(self) -> str:
        return f"{named(self.layer)} has {count(self.size, 'row')}, but the ids in column {self.column} of the data go up to {self.highest}."

    def why(self) -> str:
        return (
            f"{_beyond(self.size, self.nan)} Column {self.other} has ids up to {self.fitting}, which fit, and column {self.column} fits where "
            f"column {self.other} is looked up: the two are exchanged."
        )

    def sides(self) -> Sides:
        return Side(f"0 to {self.size - 1}"), Side(f"0 to {self.highest}")


class DecimalIds(Fact, frozen=True):
    """Numbers with decimals at ``path``, from ``lowest`` to ``highest``, that an embedding takes for ids; ``beyond``: it has no row for some of them."""

    layer: Who
    size: int
    lowest: float
    highest: float
    path: KeyPath
    beyond: bool
    nan: bool = False

    def message(self) -> str:
        return f"{named(self.layer)} looks up rows by integers, but {show(self.path)} has numbers with decimals from {self.lowest:.3g} to {self.highest:.3g}."

    def why(self) -> str:
        beyond = f" {_beyond(self.size, self.nan)}" if self.beyond else " No error is raised."
        return f"An embedding is for ids of words or categories. It cuts off the decimals, so measurements lose most of their values.{beyond}"

    def sides(self) -> Sides:
        return Side(f"ids 0 to {self.size - 1}"), Side(f"{self.lowest:.3g} to {self.highest:.3g}, with decimals")


class WordOutOfRange(OutOfRange, frozen=True):
    """Ids that a lookup layer, ``giver``, returns, without a row in an embedding; ``nan`` as above."""

    giver: str = ""
    nan: bool = False

    def message(self) -> str:
        return f"{named(self.layer)} has {count(self.size, 'row')}, but {self.giver} returns ids from {self.lowest} to {self.highest}."

    def why(self) -> str:
        return f"The vocabulary of {self.giver} has {self.highest + 1} entries: input_dim must be at least as large. {_beyond(self.size, self.nan)}"


class MadeOutOfRange(OutOfRange, frozen=True):
    """Ids that the program creates itself, such as one per position, without a row in an embedding; ``nan`` as above."""

    nan: bool = False

    def message(self) -> str:
        return f"{named(self.layer)} has {count(self.size, 'row')}, but the program looks up rows {self.lowest} to {self.highest}."

    def why(self) -> str:
        return (
            f"The program creates these ids itself, such as one per position of a sequence: {self.highest + 1} positions need {self.highest + 1} rows. "
            f"{_beyond(self.size, self.nan)}"
        )


class TakenBeyond(Fact, frozen=True):
    """Indices from ``lowest`` to ``highest``, by which ``taken`` takes from axis ``axis`` of a tensor of ``shape``; ``mapped``: of one of its samples."""

    taken: Who
    shape: Shape
    axis: int
    lowest: int
    highest: int
    mapped: bool = False

    def message(self) -> str:
        each = "each sample of " if self.mapped else ""
        ids = f"range from {self.lowest} to {self.highest}"
        size = self.shape[self.axis + self.mapped]
        return f"{self.taken.op}{placed(self.taken)} takes from axis {self.axis} of {each}{show_shape(self.shape)}, which has size {size}, but the indices in the data {ids}."

    def why(self) -> str:
        return "JAX raises no error: an index beyond the end returns NaN, and the loss becomes NaN. Take from the axis that the indices count."

    def sides(self) -> Sides:
        return Side(f"0 to {(self.shape[self.axis + self.mapped] or 0) - 1}"), Side(f"{self.lowest} to {self.highest}")


class ChosenBeyond(Fact, frozen=True):
    """``taken`` takes from axis 0 of a tensor of ``shape`` with the indices that ``chosen`` returns of ``count`` values; ``name``: of the weight."""

    taken: Who
    chosen: Who
    shape: Shape
    count: int
    name: str = ""

    def message(self) -> str:
        table = f"{self.name} {show_shape(self.shape)}" if self.name else show_shape(self.shape)
        return (
            f"{self.taken.op}{placed(self.taken)} takes from axis 0 of {table}, which has size {self.shape[0]}, "
            f"but {self.chosen.op}{placed(self.chosen)} returns an index from 0 to {self.count - 1}."
        )

    def why(self) -> str:
        return "JAX raises no error: an index beyond the end returns NaN, and the loss becomes NaN. Take from the axis that the indices count."

    def sides(self) -> Sides:
        return Side(f"0 to {(self.shape[0] or 0) - 1}"), Side(f"0 to {self.count - 1}")


def _beyond(size: int, nan: bool) -> str:
    if nan:
        return f"JAX raises no error: an id above {size - 1} returns NaN, and the loss becomes NaN."
    return f"A CPU raises an error for an id above {size - 1}; a TPU silently uses the last row instead."


class LabelScale(Fact, frozen=True):
    """``loss`` reads labels from 0 to 1, and those of ``path`` go from ``lowest`` to ``highest``; ``two``: they have no other values.

    ``classes``: how many classes they look like indices of, where the model returns one value for them.
    """

    loss: str
    path: KeyPath
    lowest: float
    highest: float
    two: bool
    classes: int = 0

    def message(self) -> str:
        values = f"{self.lowest:g} and {self.highest:g}" if self.two else f"values from {self.lowest:g} to {self.highest:g}"
        return f"{self.loss} expects labels between 0 and 1, but {show(self.path)} has {values}."

    def why(self) -> str:
        if self.classes:
            return (
                f"The labels look like indices of {self.classes} classes, but one value separates only two. "
                f"Use one unit per class, a softmax, and sparse_categorical_crossentropy. No error is raised."
            )
        return "No error is raised. Outside that range the loss has no minimum: it can become negative, and training pushes it on and on."

    def sides(self) -> Sides:
        return Side("0 to 1"), Side(f"{self.lowest:g} to {self.highest:g}")


class IndexBeyond(Fact, frozen=True):
    """An index that ``shape`` does not have on ``axis``."""

    operation: Who
    shape: Shape
    axis: int
    index: int

    @property
    def size(self) -> int:
        """The size of the axis."""
        return self.shape[self.axis] or 0

    def message(self) -> str:
        return f"Index {self.index}{placed(self.operation)} is beyond axis {self.axis} of {show_shape(self.shape)}, which has indices 0 to {self.size - 1}."

    def why(self) -> str:
        read = self.size - 1 if self.index >= 0 else 0
        return f"No error is raised: JAX reads index {read} instead."

    def sides(self) -> Sides:
        return Side(f"0 to {self.size - 1}"), Side(str(self.index))


class RowsAsIndices(Fact, frozen=True):
    """One-hot ``labels`` are the indices of the lookup ``operation`` in a loss of the user's own."""

    loss: str
    labels: Shape
    operation: Who

    def message(self) -> str:
        return f"The labels {show_shape(self.labels)} are one-hot vectors, but {self.operation.op}{placed(self.operation)} uses them as class indices."

    def why(self) -> str:
        return (
            "A lookup returns one entry per number: for a one-hot vector, entry 1 once and entry 0 for every other class. "
            "argmax over the last axis gives the class index."
        )

    def sides(self) -> Sides:
        return pair(self.labels[:-1], self.labels, names=False)


class OutOfReach(Fact, frozen=True):
    """``layer`` ends in ``activation``, which returns ``low`` to ``high``, but the labels at ``path`` go from ``lowest`` to ``highest``.

    ``outside``: the share of the observed labels that it cannot return. ``None``: no bound.
    """

    layer: Who
    activation: str
    low: float | None
    high: float | None
    path: KeyPath
    lowest: float
    highest: float
    outside: float
    loss: str

    @property
    def returned(self) -> str:
        """The values that the activation returns."""
        if self.high is None:
            return f"no value below {self.low:g}"
        return f"values from {self.low:g} to {self.high:g}"

    def message(self) -> str:
        seen = f"{show(self.path)} has values from {self.lowest:.3g} to {self.highest:.3g}"
        return f"The {self.activation} of {named(self.layer)} returns {self.returned}, but {seen}."

    def why(self) -> str:
        share = f"{self.outside:.0%}" if self.outside >= 0.01 else "Less than 1%"
        return f"No error is raised, but {self.loss} cannot become small: {share} of the observed labels are out of reach. Leave out the last activation, or scale the labels to its range."

    def sides(self) -> Sides:
        return Side(self.returned), Side(f"{self.lowest:.3g} to {self.highest:.3g}")


class ScaledTwice(Fact, frozen=True):
    """``layer`` divides values by ``divisor`` that lie between ``lowest`` and ``highest`` already: those of ``path``, or of the layer ``before``."""

    layer: Who
    divisor: float
    offset: float
    lowest: float
    highest: float
    path: KeyPath = ()
    before: Who | None = None

    def message(self) -> str:
        given = f"the values of {show(self.path)}" if self.before is None else f"those of {named(self.before)}{placed(self.before)}"
        return f"{named(self.layer)} divides by {self.divisor:g}, but {given} are scaled already: {self.lowest:.3g} to {self.highest:.3g}."

    def why(self) -> str:
        return "It expects pixels from 0 to 255. Values that were scaled before become almost constant, so the model learns little from them. Scale once."

    def sides(self) -> Sides:
        return Side("values up to 255"), Side(f"{self.lowest:.3g} to {self.highest:.3g}")
