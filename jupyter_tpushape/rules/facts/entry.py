"""What is found at the model's door: a declared input against the tensor that the data brings."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...flow import Fact, KeyPath, Shape, Side, Sides, elements, show_shape
from ...flow.paths import show
from ..words import pair

Fault = Literal["text", "sample", "batch-declared", "flattened", "rank", "channels", "order", "column", "size"]


class Door(msgspec.Struct, frozen=True):
    """A declared input: its name, where there are ``several``, and what it declares. The batch axis is unknown in ``shape``."""

    name: str
    shape: Shape
    dtype: str
    several: bool = False

    def __str__(self) -> str:
        return f"the model's input {self.name}" if self.several else "the model's input"


_SINGULAR = {"channels": "channel", "features": "feature", "numbers a row": "number a row"}


class Misfit(Fact, frozen=True):
    """A declared input that the data does not fit, and in which way.

    ``rows``: how many rows the data has in all, where known. ``breaks_at``: the name of the layer that raised because of it.
    """

    fault: Fault
    door: Door
    shape: Shape
    rows: int | None = None
    breaks_at: str = ""

    @property
    def declared(self) -> Shape:
        """What one row is declared to be."""
        return self.door.shape[1:]

    @property
    def row(self) -> Shape:
        """What one row of the data is."""
        return self.shape[1:]

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
                return f"The data brings text to {door}, which takes {self.door.dtype} numbers."
            case "sample":
                return f"The data is a single sample {shape}: {door} expects a batch of them."
            case "batch-declared":
                return f"{door} declares {declared}, which counts the batch axis: one sample is {row}."
            case "flattened":
                flat = f"flat, {elements(self.row)} numbers" if len(self.row) == 1 else row
                return f"Each row of the data is {flat}: {door} declares {declared}."
            case "rank":
                gap = len(self.row) - len(self.declared)
                lacks = f"{abs(gap)} {'axis' if abs(gap) == 1 else 'axes'} {'more' if gap > 0 else 'fewer'}"
                return f"The data has {lacks} than {door} declares: {row} a row against {declared}."
            case "channels":
                wants, has = self._channels()
                return f"{door} declares {declared}, {wants}; the data is {row}, {has}."
            case "order":
                return f"The axes stand in another order: {door} declares {declared}, a row of the data is {row}."
            case "column":
                count = self.shape[0]
                return f"The data is a column {shape}: {door} reads it as {count} samples of one number, not one sample of {count}."
            case "size":
                if not self._only_last():
                    return f"{door} declares {declared} a row, the data brings {row}."
                many = "channels" if len(self.declared) >= 3 else "features" if len(self.declared) == 2 else "numbers a row"
                noun = many if self.declared[-1] != 1 else _SINGULAR[many]
                return f"{door} declares {self.declared[-1]} {noun}, the data brings {self.row[-1]}."

    def message(self) -> str:
        said = self._says()
        return said[:1].upper() + said[1:]

    def why(self) -> str:
        extra = ""
        if self.fault == "size" and self._only_last():
            counted = self.rows is not None and self.declared[-1] == self.rows
            extra = f" {self.declared[-1]} is the number of rows in the data." if counted else ""
            reason = f"The layers behind it were made for {self.declared[-1]}."
        else:
            reason = _WHY[self.fault]
        return reason + extra + (f" It breaks at {self.breaks_at}." if self.breaks_at else "")

    def sides(self) -> Sides:
        return (Side(self.door.dtype), Side("string")) if self.fault == "text" else pair(self.door.shape, self.shape)


_WHY: dict[Fault, str] = {
    "text": 'Turn text into numbers in the pipeline, for example with TextVectorization in ds.map, or declare the input with dtype="string".',
    "sample": "Keras reads the first axis as the batch, so one sample needs an axis of size 1 in front: x[None].",
    "batch-declared": "An input shape describes one sample; Keras puts the batch axis in front of it.",
    "flattened": "The numbers are all there, only the axes differ: a reshape of the data, or a layer that reshapes, brings them together.",
    "rank": "The declared shape and one row of the data must have the same axes.",
    "channels": "Keras' layers and TPUs work channels last unless told otherwise.",
    "order": "The sizes are the same, their order is not.",
    "column": "The first axis is the batch. Transposing gives one row.",
    "size": "The sizes of these axes differ.",
}


class CutIntoPatches(Fact, frozen=True):
    """Rows of ``shape`` hold a picture that ``door`` declares as it is, cut into ``patches`` of ``size`` and flattened."""

    door: Door
    shape: Shape
    patches: tuple[int, int]
    size: tuple[int, int, int]

    def message(self) -> str:
        (down, across), size = self.patches, " × ".join(map(str, self.size))
        return (
            f"Each row of the data is {show_shape(self.shape[1:])}, the picture cut into {down} × {across} flat patches of {size}, and {self.door} takes "
            f"the whole picture {show_shape(self.door.shape[1:])}."
        )

    def why(self) -> str:
        return "Leave out the cutting (extract_patches, rearrange) for this model. A plain reshape would not put the patches back: it scrambles the pixels."

    def sides(self) -> Sides:
        return pair(self.door.shape, self.shape)


class WrongNames(Fact, frozen=True):
    """A dict of data whose keys are not the inputs' names. ``crossed``: the program ran, and these inputs were fed from another one's key."""

    declared: tuple[str, ...]
    given: tuple[str, ...]
    unknown: tuple[str, ...]
    missing: tuple[str, ...]
    crossed: tuple[tuple[str, KeyPath], ...] = ()

    def message(self) -> str:
        if self.crossed:
            return "; ".join(f"{name} is fed with {show(path)}" for name, path in self.crossed) + "."
        return f"The data brings {', '.join(self.unknown)}, and the model has no input of that name."

    def why(self) -> str:
        if self.crossed:
            return "Keras only warns where keys do not agree, and feeds the arrays in the order of their keys, whatever they mean."
        return "A dict of arrays is matched by name. Rename its keys to the inputs' names, or give a list in the declared order."

    def sides(self) -> Sides:
        return Side(", ".join(self.declared)), Side(", ".join(self.given))


class ZippedPairs(Fact, frozen=True):
    """Datasets of pairs that were zipped as they are: ``parts`` of them, for a model of as many inputs."""

    declared: tuple[str, ...]
    parts: int

    def message(self) -> str:
        roles = ("x", "y", "the sample weights")[: self.parts]
        return f"Each element is {self.parts} pairs, and fit takes them as {', '.join(roles[:-1])} and {roles[-1]}: the model's {len(self.declared)} inputs get one pair."

    def why(self) -> str:
        return (
            "zip puts (input, label) beside (input, label). Map each element to the inputs in one tuple, and the label once: "
            "ds.map(lambda a, b, ...: ((a[0], b[0], ...), a[1]))."
        )

    def sides(self) -> Sides:
        return Side(f"(({', '.join(self.declared)}), label)"), Side(", ".join(["(input, label)"] * self.parts))


class WrongInputs(Fact, frozen=True):
    """The data brings another number of arrays than the model has inputs. ``as_labels``: what is read as labels fits the next input."""

    declared: tuple[str, ...]
    given: tuple[str, ...]
    as_labels: bool = False

    def message(self) -> str:
        count = len(self.declared)
        return f"The model takes {count} input{'s' * (count > 1)} and the data brings {len(self.given)}."

    def why(self) -> str:
        if self.as_labels:
            inner = ", ".join(f"x{i + 1}" for i in range(len(self.declared)))
            return f"In a flat tuple the second part is read as the labels and the third as sample weights. Put the inputs into one inner tuple: (({inner}), y)."
        return "Each declared input needs its own array, in the declared order or by name in a dict."

    def sides(self) -> Sides:
        return Side(", ".join(self.declared)), Side(", ".join(self.given))


class CastAtDoor(Fact, frozen=True):
    """Integers that Keras casts to the declared floats."""

    wanted: str
    given: str

    def message(self) -> str:
        return f"The data is {self.given} and is cast to {self.wanted} at the model's input."

    def why(self) -> str:
        return "This is allowed everywhere. Casting in the pipeline instead says what is meant."

    def sides(self) -> Sides:
        return Side(self.wanted), Side(self.given)


class AxisAdded(Fact, frozen=True):
    """A trailing axis of size 1 that Keras adds. ``declared``: with an unknown batch axis."""

    declared: Shape
    given: Shape

    def message(self) -> str:
        return f"The rows have no trailing axis; Keras adds one of size 1 to make {show_shape(self.declared)}."

    def why(self) -> str:
        return "This is allowed. np.expand_dims(x, -1) makes it explicit."

    def sides(self) -> Sides:
        return pair(self.declared, self.given)
