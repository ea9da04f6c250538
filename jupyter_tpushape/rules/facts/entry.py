"""Facts about the model's inputs: the declared shape and dtype against the data, sizes that the data leaves unknown, and pipelines of several."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...flow import Fact, KeyPath, Location, Shape, Side, Sides, Who, elements, show_shape
from ...flow.paths import show
from ..words import count, listed, many, named, pair, placed

Fault = Literal["text", "numbers", "sample", "batch-declared", "flattened", "rank", "channels", "order", "column", "size"]


class Door(msgspec.Struct, frozen=True):
    """A declared input: its name if there are ``several``, its shape and dtype. The batch axis is unknown in ``shape``."""

    name: str
    shape: Shape
    dtype: str
    several: bool = False

    def __str__(self) -> str:
        return f"the model's input {self.name}" if self.several else "the model's input"


_SINGULAR = {"channels": "channel", "features": "feature", "values per sample": "value per sample"}


class Misfit(Fact, frozen=True):
    """A declared input that the data does not match, and how.

    ``rows``: the number of rows in the data, if known. ``breaks_at``: the name of the layer that raised because of it.
    ``pipeline``: the samples come from a dataset that is never batched.
    """

    fault: Fault
    door: Door
    shape: Shape
    rows: int | None = None
    breaks_at: str = ""
    pipeline: bool = False

    @property
    def declared(self) -> Shape:
        """The declared shape of one sample."""
        return self.door.shape[1:]

    @property
    def row(self) -> Shape:
        """The shape of one sample of the data."""
        return self.shape[1:]

    @property
    def together(self) -> int | None:
        """How many samples of the data the model takes at once, if that is all that differs."""
        first = self.declared[0] if self.declared else None
        return first if self.fault == "rank" and self.row == self.declared[1:] and (first or 0) > 1 else None

    def _channels(self) -> tuple[str, str]:
        first = self.declared == (self.row[-1], *self.row[:-1])
        return ("channels first", "channels last") if first else ("channels last", "channels first")

    def _off(self) -> list[int]:
        return [i for i, (a, b) in enumerate(zip(self.declared, self.row, strict=True)) if a is not None and b is not None and a != b]

    def _only_last(self) -> bool:
        return self._off() == [len(self.declared) - 1]

    def _says(self) -> str:
        door, row, declared, shape = str(self.door), show_shape(self.row), show_shape(self.declared), show_shape(self.shape)
        match self.fault:
            case "text":
                return f"The data is text, but {door} expects {self.door.dtype} numbers."
            case "numbers":
                return f"The data contains numbers, but {door} expects text."
            case "sample":
                whole = show_shape((self.rows, *self.row)) if self.rows else shape
                channels = "" if len(self.shape) == len(self.declared) else f" of {show_shape(self.declared)}"
                return f"The data is a single sample {whole}, but {door} expects a batch{channels}."
            case "batch-declared":
                return f"{door} declares {declared}, which includes the batch axis; one sample is {row}."
            case "flattened":
                flat = f"flattened, {many(elements(self.row))} values" if len(self.row) == 1 else row
                return f"Each sample is {flat}, but {door} declares {declared}."
            case "rank":
                gap = len(self.row) - len(self.declared)
                lacks = f"{abs(gap)} {'more' if gap > 0 else 'fewer'} dimension{'s' * (abs(gap) > 1)}"
                return f"The data has {lacks} than {door} declares: {row} per sample against {declared}."
            case "channels":
                wants, has = self._channels()
                return f"{door} declares {declared} ({wants}), but the data is {row} ({has})."
            case "order":
                return f"The order of the axes differs: {door} declares {declared}, but a sample is {row}."
            case "column":
                count = self.shape[0]
                return f"The data is a column {shape}: {door} reads it as {count} samples of one value, not as one sample of {count} values."
            case "size":
                if not self._only_last():
                    return f"{door} declares {declared} per sample, but the data has {row}."
                plural = "channels" if len(self.declared) >= 3 else "features" if len(self.declared) == 2 else "values per sample"
                noun = plural if self.declared[-1] != 1 else _SINGULAR[plural]
                return f"{door} declares {self.declared[-1]} {noun}, but the data has {self.row[-1]}."

    def message(self) -> str:
        said = self._says()
        return said[:1].upper() + said[1:]

    def why(self) -> str:
        extra = ""
        if self.fault == "size" and self._only_last():
            counted = self.rows is not None and self.declared[-1] == self.rows
            extra = f" {self.declared[-1]} is the number of rows in the data." if counted else ""
            reason = f"The layers after it expect {self.declared[-1]}."
        elif self.fault == "sample" and self.pipeline:
            reason = "fit does not batch a tf.data.Dataset. Call .batch() and keep what it returns: it leaves the dataset itself unchanged."
        else:
            reason = _WHY[self.fault]
        if self.together:
            extra = f" The model takes {self.together} of these together: group them before the batch, one label for each group."
        return reason + extra + (f" {self.breaks_at} raises the error." if self.breaks_at else "")

    def sides(self) -> Sides:
        if self.fault in ("text", "numbers"):
            return (Side(self.door.dtype), Side("string")) if self.fault == "text" else (Side("string"), Side("numbers"))
        return pair(self.door.shape, self.shape)


_WHY: dict[Fault, str] = {
    "text": 'Convert text to numbers in the pipeline, for example with TextVectorization in ds.map, or declare the input with dtype="string".',
    "numbers": "A layer of the model converts text to ids itself. Pass the text to it, or leave the layer out for ids.",
    "sample": "Keras treats the first axis as the batch. Add a batch axis to the sample: x[None].",
    "batch-declared": "An input shape describes one sample. Keras adds the batch axis itself.",
    "flattened": "The number of values is the same; only the axes differ. Reshape the data, or add a layer that reshapes it.",
    "rank": "One sample of the data must have the declared shape.",
    "channels": "Keras layers and TPUs expect channels last by default.",
    "order": "The sizes are the same, but their order differs.",
    "column": "The first axis is the batch. Transpose the data to get one sample.",
    "size": "The sizes of these axes differ.",
}


class FeaturesWanted(Fact, frozen=True):
    """``door`` declares what the program's model ``base`` returns, and the data is of ``shape``, of the rank that ``base`` takes."""

    door: Door
    shape: Shape
    base: str

    def message(self) -> str:
        said = f"{self.door} declares {show_shape(self.door.shape[1:])}, the features that {self.base} returns, but the data has {show_shape(self.shape[1:])}."
        return said[:1].upper() + said[1:]

    def why(self) -> str:
        return f"{self.base} has not processed this data. Train on what {self.base}.predict returns, or add {self.base} as the first layer."

    def sides(self) -> Sides:
        return pair(self.door.shape, self.shape)


class CutIntoPatches(Fact, frozen=True):
    """Samples of ``shape`` are images split into ``patches`` of ``size`` and flattened, but ``door`` declares the whole image."""

    door: Door
    shape: Shape
    patches: tuple[int, int]
    size: tuple[int, int, int]

    def message(self) -> str:
        (down, across), size = self.patches, " × ".join(map(str, self.size))
        return (
            f"Each sample is {show_shape(self.shape[1:])}, an image split into {down} × {across} flattened patches of {size}, but {self.door} expects "
            f"the whole image {show_shape(self.door.shape[1:])}."
        )

    def why(self) -> str:
        return "Remove the step that splits the images (extract_patches, rearrange). A plain reshape does not restore the image: it scrambles the pixels."

    def sides(self) -> Sides:
        return pair(self.door.shape, self.shape)


class InputReplaced(Fact, frozen=True):
    """``name`` held the Input made at line ``made``, and was given ``value`` before the model was made of it."""

    name: str
    value: str
    made: int

    def message(self) -> str:
        return f"The model starts at {self.name}, which no longer holds the Input from line {self.made}, but the result of a later layer."

    def why(self) -> str:
        return (
            f"Model(inputs, outputs) needs the tensor that Input returned. Here {self.name} was given {self.value[:60]}. Keep the Input under a separate name."
        )

    def sides(self) -> Sides:
        return Side("the Input"), Side(self.value[:40])


class WrongNames(Fact, frozen=True):
    """A dict of data whose keys are not the inputs' names. ``crossed``: the program ran, but these inputs received the data of other keys."""

    declared: tuple[str, ...]
    given: tuple[str, ...]
    unknown: tuple[str, ...]
    missing: tuple[str, ...]
    crossed: tuple[tuple[str, KeyPath], ...] = ()

    def message(self) -> str:
        if self.crossed:
            return "; ".join(f"Input {name} receives {show(path)}" for name, path in self.crossed) + "."
        return f"The data has the keys {', '.join(self.unknown)}, but the model has no inputs with those names."

    def why(self) -> str:
        if self.crossed:
            return "If the keys do not match the input names, Keras only warns and feeds the arrays in the order of their keys."
        return "Keras matches a dict of arrays by name. Rename its keys to the inputs' names, or pass a list in the declared order."

    def sides(self) -> Sides:
        return Side(", ".join(self.declared)), Side(", ".join(self.given))


class ZippedPairs(Fact, frozen=True):
    """Zipped datasets of pairs: ``parts`` of them, for a model with as many inputs."""

    declared: tuple[str, ...]
    parts: int

    def message(self) -> str:
        roles = ("x", "y", "the sample weights")[: self.parts]
        return (
            f"Each element is {self.parts} pairs, which fit reads as {', '.join(roles[:-1])} and {roles[-1]}: "
            f"the model's {len(self.declared)} inputs receive only one pair."
        )

    def why(self) -> str:
        return "zip produces ((input, label), (input, label)). Map each element to one tuple of inputs and one label: ds.map(lambda a, b, ...: ((a[0], b[0], ...), a[1]))."

    def sides(self) -> Sides:
        return Side(f"(({', '.join(self.declared)}), label)"), Side(", ".join(["(input, label)"] * self.parts))


class WrongInputs(Fact, frozen=True):
    """The data has a different number of arrays than the model has inputs.

    ``as_labels``: what fit reads as labels fits the next input. ``missing``: the inputs that a dict of data lacks, by name.
    ``ignored``: the first array is read, and the others are not.
    """

    declared: tuple[str, ...]
    given: tuple[str, ...]
    as_labels: bool = False
    missing: tuple[str, ...] = ()
    ignored: bool = False

    def message(self) -> str:
        count = len(self.declared)
        lacks = f": {listed(self.missing)} {'are' if len(self.missing) > 1 else 'is'} missing" if self.missing else ""
        return f"The model has {count} input{'s' * (count > 1)}, but the data has {len(self.given)}{lacks}."

    def why(self) -> str:
        if self.as_labels:
            inner = ", ".join(f"x{i + 1}" for i in range(len(self.declared)))
            return (
                f"In a flat tuple, fit reads the second element as labels and the third as sample weights. Put the inputs into an inner tuple: (({inner}), y)."
            )
        if self.ignored:
            return "A Sequential model reads the first array and ignores the others, without an error."
        return "Each declared input needs its own array: in the declared order, or by name in a dict."

    def sides(self) -> Sides:
        return Side(", ".join(self.declared)), Side(", ".join(self.given))


class CastAtDoor(Fact, frozen=True):
    """Integers that Keras casts to the declared floats."""

    wanted: str
    given: str

    def message(self) -> str:
        return f"Keras casts the {self.given} data to {self.wanted} at the model's input."

    def why(self) -> str:
        return "This works everywhere. Cast in the pipeline to make it explicit."

    def sides(self) -> Sides:
        return Side(self.wanted), Side(self.given)


class AxisAdded(Fact, frozen=True):
    """A trailing axis of size 1 that Keras adds. ``declared`` has an unknown batch axis."""

    declared: Shape
    given: Shape

    def message(self) -> str:
        return f"The samples have no trailing axis; Keras adds one of size 1 to get {show_shape(self.declared)}."

    def why(self) -> str:
        return "This works. Use np.expand_dims(x, -1) to make it explicit."

    def sides(self) -> Sides:
        return pair(self.declared, self.given)


class BatchElsewhere(Fact, frozen=True):
    """The first axis of ``path`` is not the samples: there are as many ``labels`` as it has on ``axis``."""

    path: KeyPath
    shape: Shape
    axis: int
    labels: Shape

    def message(self) -> str:
        return f"The samples of {show(self.path)} are on axis {self.axis}: its batch is {show_shape(self.shape)}, and there are {self.labels[0]} labels."

    def why(self) -> str:
        return f"Keras reads the first axis as the batch, so the model makes {self.shape[0]} predictions. Transpose the data: samples first{', then time' * (len(self.shape) > 2)}."

    def sides(self) -> Sides:
        order = (self.axis, *(i for i in range(len(self.shape)) if i != self.axis))
        return pair(tuple(self.shape[i] for i in order), self.shape, names=False)


class SwappedPair(Fact, frozen=True):
    """The inputs have shape ``x`` and the labels ``y``, which is what the model's input declares: ``declared``."""

    x: Shape
    y: Shape
    declared: Shape

    def message(self) -> str:
        return (
            f"The inputs and labels are swapped: the model's input declares {show_shape(self.declared)}, "
            f"but the inputs are {show_shape(self.x)} and the labels {show_shape(self.y)}."
        )

    def why(self) -> str:
        return "fit() expects the inputs first and the labels second: (x, y)."

    def sides(self) -> Sides:
        return Side(show_shape(self.declared)), Side(show_shape(self.x))


class SizeUnknown(Fact, frozen=True):
    """``layer``, or else the line ``text``, raises ``said`` where ``path`` has its declared ``shape``, and runs with that of a ``batch``.

    ``same``: whether every batch that was drawn has this size.
    """

    layer: Who | None
    text: str
    path: str
    shape: Shape
    batch: Shape
    same: bool
    said: str

    def message(self) -> str:
        what = f"{named(self.layer)}{placed(self.layer)}" if self.layer is not None else f"`{self.text}`" if self.text else "The model"
        return f"{what} needs a size that the data leaves unknown: {self.path} is declared as {show_shape(self.shape)}."

    def why(self) -> str:
        fixed = tuple(None if i == 0 else size for i, size in enumerate(self.batch))
        set_it = f"Set the size in the pipeline, {show_shape(fixed)}" if self.same else "Pad all batches to one size, and set it in the pipeline"
        return f"fit traces the step with the declared shape, not with that of a batch, {show_shape(self.batch)}. {set_it}. The error: {self.said}"

    def sides(self) -> Sides:
        return Side(show_shape(self.batch)), Side(show_shape(self.shape))


class RankUnknown(Fact, frozen=True):
    """``text`` takes all axes of size 1 out of a tensor of ``shape``, whose number of rows is unknown; ``line``: where it stands, if it is not what raised."""

    text: str
    shape: Shape
    line: Location | None = None

    def message(self) -> str:
        return f"`{self.text}` removes every axis of size 1 from {show_shape(self.shape)}, so the rank of its result is unknown."

    def why(self) -> str:
        return "The number of rows is unknown there, and a batch of one row would lose its batch axis, too. Name the axis to remove."

    def sides(self) -> Sides:
        return Side("an axis"), Side("no axis")


class ZippedApart(Fact, frozen=True):
    """``zip`` pairs batches of one pipeline with single elements of another.

    Attributes:
        batched: which of the parts have ``batch`` rows in each element.
        single: which of them have no batches.
        drops: whether an incomplete last batch is left out.
    """

    batched: tuple[int, ...]
    single: tuple[int, ...]
    batch: int
    drops: bool
    shapes: tuple[Shape, ...]

    def message(self) -> str:
        return f"zip() combines batches of {count(self.batch, 'row')} with single elements: {_parts(self.batched)} batched, but {_parts(self.single)} not."

    def why(self) -> str:
        return f"zip() takes one element of each dataset: {', '.join(map(show_shape, self.shapes))}. Batch every part, or zip first and then batch."

    def sides(self) -> Sides:
        return Side(f"batches of {self.batch} in every part"), Side(", ".join(map(show_shape, self.shapes)))


def _parts(indices: tuple[int, ...]) -> str:
    named = " and ".join(str(index + 1) for index in indices)
    return f"part {named} is" if len(indices) == 1 else f"parts {named} are"


class FormatsApart(Fact, frozen=True):
    """``layer`` has another data format than ``giver`` before it."""

    layer: Who
    giver: Who
    formats: tuple[str, str]

    def message(self) -> str:
        return f"{named(self.layer)} has data_format={self.formats[0]}, but {named(self.giver)} has {self.formats[1]}."

    def why(self) -> str:
        return "No error is raised: the layer takes columns for channels."
