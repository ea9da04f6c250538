"""Facts about layers and operations that do not accept their inputs."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...examine.heard import Bound
from ...flow import Fact, KeyPath, Shape, Side, Sides, Who, elements, show_shape
from ...flow.paths import show
from ...flow.text import in_short
from ...graph import Cause
from ...trace.axes import RECURRENT
from ..words import axes_of, because, count, differing, listed, many, named, pair, placed, side
from .reasons import Lengths, Reason, Uneven, cut_blocks, no_room
from .reasons_read import Multiples


class WrongRank(Fact, frozen=True):
    """``layer`` expects ``wanted`` dimensions (or at least or at most that many, see ``bound``) and receives ``shape``.

    ``lost``: custom code upstream whose output has no batch axis; ``ended``: a recurrent layer before that code which returns only its
    last step. ``batched``: how many times the pipeline calls batch(), if more than once. ``attention``: the attention before it that receives
    a tensor without steps; ``returns``: the recurrent layer before it that returns a whole sequence. ``before``: what the giver receives,
    where it returns fewer axes than that.
    """

    layer: Who
    wanted: int
    given: int
    shape: Shape | None
    givers: tuple[str, ...]
    bound: Bound = ""
    lost: str = ""
    ended: str = ""
    batched: int = 0
    attention: str = ""
    returns: str = ""
    before: Shape = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The layer's names for its axes; ``"axis"`` if it has no name for one."""
        names = axes_of(self.layer.op)
        if len(names) == self.wanted:
            return names
        return () if self.bound else ("batch", *["axis"] * (self.wanted - 1))

    def _wants(self) -> str:
        bound = {"min": "at least ", "max": "at most ", "": ""}[self.bound]
        return f"({', '.join(self.names)})" if self.names and "axis" not in self.names else f"{bound}{count(self.wanted, 'dimension')}"

    def message(self) -> str:
        gap = self.given - self.wanted
        lacks = f"{count(abs(gap), 'dimension')} too {'many' if gap > 0 else 'few'}"
        shape = show_shape(self.shape)
        source = f" from {listed(self.givers)}" if self.givers else ""
        return f"{named(self.layer)} expects {self._wants()}, but receives {shape}{source}: {lacks}."

    def why(self) -> str:
        names = axes_of(self.layer.op)
        if self.batched:
            return f"The pipeline calls batch() {self.batched} times, and each call adds an axis. Call it once."
        if self.shape == () and self.before:
            return f"{listed(self.givers)} reduces {show_shape(self.before)} to a single number for the whole batch. Give its sum or mean an axis=."
        if self.lost:
            if self.shape is not None and self.shape[1:2] == (None,):
                number, shape = self.shape[0], show_shape(self.shape)
                return f"{self.lost} returns the batch as axis 1 of {shape}. {number} tensors were stacked before it, or a tuple of {number} tensors is used as one."
            last = f" {self.ended} before it returns only its last step; return_sequences=True returns the whole sequence." if self.ended else ""
            return f"{self.lost} loses the batch axis: the first dimension of its output does not depend on the batch size.{last}"
        if self.attention:
            return f"{self.attention} receives a tensor without a time axis. Attention expects (batch, steps, features) and returns the steps of its query."
        if self.returns and not names:
            return f"{self.returns} returns its whole sequence, one vector per step."
        if self.layer.op in RECURRENT:
            return "A recurrent layer reads a sequence of vectors. " + (
                "Choose which axis is time and reshape the others into features. Flatten or global pooling alone would leave no time axis."
                if self.given > self.wanted
                else "Each sample needs a time axis and a feature axis."
            )
        if names:
            return f"The layer slides over {listed(names[1:-1])} and expects channels on the last axis."
        if not self.before:
            return ""
        return f"{listed(self.givers)} receives {show_shape(self.before)} and returns {show_shape(self.shape)}: an axis is gone. A sum or mean with keepdims=True keeps it."

    def sides(self) -> Sides:
        surplus = tuple(range(1, 1 + self.given - self.wanted))
        return Side(self._wants(), self.names), Side(show_shape(self.shape), side(self.shape).axes, surplus)


class WrongWidth(Fact, frozen=True):
    """``layer`` was built for a last dimension of ``wanted``, but the last dimension of ``shape`` differs. ``before``: its earlier call.

    ``given``: what a loss hands to the layer's network, where that is known. ``within``: the model whose first layer it is.
    """

    layer: Who
    wanted: int
    shape: Shape
    givers: tuple[str, ...]
    cause: Cause | None = None
    before: Who | None = None
    given: Literal["", "labels", "predictions"] = ""
    within: str = ""

    def message(self) -> str:
        source = f"the {self.given}" if self.given else listed(self.givers) or "its input"
        has = "have" if self.given or len(self.givers) > 1 else "has"
        return f"{named(self.layer)} was built for a last dimension of {self.wanted}, but {source} {has} {self.shape[-1]}."

    def why(self) -> str:
        if self.before is not None:
            built = f"It is one layer with one set of weights, and an earlier call{placed(self.before)} created them for {self.wanted}."
        elif self.within:
            built = f"It is the first layer of {self.within}, which was built for {self.wanted} values."
        else:
            built = "Its weights were created earlier for a different size: in build(), by an earlier call, by loaded weights, or in another model."
        return f"{because(self.cause)} {built}".strip()

    def sides(self) -> Sides:
        return pair((*self.shape[:-1], self.wanted), self.shape)


class WrongCount(Fact, frozen=True):
    """A reshape of ``given`` to ``target``, which has a different number of elements. ``per_sample``: the batch axis is not counted.

    ``made``: what gave the last axis its size; ``block``: what the target makes of it, where all axes in front of it stay as they are.
    ``cause``: why the first axes are not as large as the target has them. ``steps``: the recurrent layer that returns as many steps
    as there are values too many.
    """

    layer: Who
    target: tuple[int, ...]
    given: Shape
    per_sample: bool
    made: str = ""
    block: int = 0
    cause: Cause | None = None
    steps: Who | None = None

    @property
    def emptied(self) -> int:
        """The values of a block, where the target divides the last axis into blocks that are larger than it; else 0."""
        at, last = len(self.given) - 1, (self.given or (0,))[-1] or 0
        block = elements(self.target[at:-1]) or 0
        alike = all(a in (-1, b) for a, b in zip(self.target[:at], self.given[:at], strict=False))
        return block if self.target[-1:] == (0,) and alike and block > last else 0

    @property
    def lacks_rows(self) -> bool:
        """Whether the target has as many values as one sample."""
        return not self.per_sample and -1 not in self.target and len(self.given) > 1 and elements(self.given[1:]) == elements(self.target)

    def _asked(self) -> str:
        if -1 in self.target:
            return f"a multiple of {abs(elements(self.target) or 0):,} values"
        return f"{many(elements(self.target))} values"

    def message(self) -> str:
        what = "each sample" if self.per_sample else "the tensor"
        asked = f"{named(self.layer)} cannot reshape {show_shape(self.given)} to {self.target}: "
        if self.target.count(-1) > 1:
            return f"{asked}only one size can be -1."
        has = "one value" if elements(self.given) == 1 else f"{many(elements(self.given))} values"
        return f"{asked}{what} has {has}, but the target needs {self._asked().removesuffix(' values')}."

    def why(self) -> str:
        if self.target.count(-1) > 1:
            return "A size of -1 is computed from the number of values and the other sizes, so these must be known."
        if cuts := cut_blocks(self.given, self.target):
            return cuts[0].words()
        if self.steps is not None:
            return no_room(self.steps, self.given, self.target)
        if self.emptied:
            block = " × ".join(map(str, self.target[len(self.given) - 1 : -1]))
            return f"The last axis has {self.given[-1]} values, fewer than a block of {block} = {self.emptied}, so the division leaves 0 of them."
        if 0 in self.target:
            return (
                f"The 0 comes from a division that rounds down: {show_shape(self.given)} is too small to be divided. "
                "Use a larger input, or fewer strides and poolings before this layer."
            )
        if self.cause is not None:
            return f"{because(self.cause, merged=False)} The target has {self.cause.before if self.cause.kind == 'strided' else 'another size'} there."
        if self.lacks_rows:
            return f"The target has room for one sample of {show_shape(self.given[1:])}: it lacks the batch axis."
        if self.block and self.made:
            split = self.target[len(self.given) - 1 :]
            return f"{self.made}, but the target splits the last axis into {' × '.join(map(str, split))} = {self.block}."
        made = f"{self.made}; the target needs {self._asked()} there. " if self.made else ""
        return f"{made}A reshape changes the axes, but not the number of values."

    def sides(self) -> Sides:
        return Side(f"{self.target} = {self._asked()}"), Side(f"{show_shape(self.given)} = {many(elements(self.given))} values")


class WindowTooLarge(Fact, frozen=True):
    """A window is larger than its input. ``window``: empty if it is unknown; ``narrow``: the data has size 1 there already;
    ``picture``: what the model declares of a picture whose channels are in front; ``filters``: fewer than the window has positions;
    ``stepped``: convolutions up to here that step as far as their kernel is wide."""

    layer: Who
    window: tuple[int, ...]
    shape: Shape | None
    givers: tuple[str, ...]
    narrow: bool = False
    picture: Shape = ()
    filters: int = 0
    stepped: tuple[Who, ...] = ()

    def message(self) -> str:
        shown = self.window[0] if len(self.window) == 1 else self.window
        window = f"a window of {shown}" if self.window else "its window"
        source = f" from {listed(self.givers)}" if self.givers else ""
        return f"{named(self.layer)} applies {window} to {show_shape(self.shape)}{source}, which is smaller than the window."

    def why(self) -> str:
        if self.narrow and self.shape:
            last = self.shape[-1]
            return f"Axis 1 has size 1 in the data already. The {last} values are on the last axis, which this layer takes for {last} channels."
        if self.picture:
            channels, last = self.picture[0], self.picture[-1]
            return (
                f"The model's input {show_shape(self.picture)} has its {channels} channels in front, but the layers read the last axis as the channels: "
                f"a picture of {channels} rows with {last} channels."
            )
        if self.filters:
            return f"It has {count(self.filters, 'filter')} and a kernel_size of {self.window[0]}: the two look swapped. A convolution takes filters first, then kernel_size."
        if self.stepped:
            names = listed(tuple(one.name for one in self.stepped))
            return (
                f"The strides of {names} equal the kernel size, so each divides the sizes by it. "
                f"The third argument of {self.stepped[0].op} is strides: write a kernel of two sizes as a tuple, such as (3, 3)."
            )
        return (
            "Every convolution without padding and every pooling layer shrinks the axes that its window slides over; here too little is left. "
            'Use padding="same", a smaller window or fewer pooling layers.'
        )

    def sides(self) -> Sides:
        return Side("at least as large as the window"), side(self.shape)


class ChannelsApart(Fact, frozen=True):
    """``layer`` takes ``axis`` of the maps ``shape`` for the channels, which are at their other end; ``picture``: one sample of the model's input."""

    layer: Who
    shape: Shape
    axis: int
    picture: Shape = ()

    def message(self) -> str:
        return f"{named(self.layer)} takes axis {self.axis} of {show_shape(self.shape)} for the channels, but they are on axis {4 - self.axis}."

    def why(self) -> str:
        return "No error is raised, because any number of channels is accepted. Keras has the channels last, PyTorch first."

    def sides(self) -> Sides:
        return Side(f"axis {4 - self.axis}"), Side(f"axis {self.axis}")


class UnknownAxis(Fact, frozen=True):
    """``layer`` creates weights for an axis of ``shape`` whose size is unknown; ``own``: in code of the program.

    ``shared``: the axes along which the layer can share its weights. ``doubled``: the operation whose result has the batch twice.
    """

    layer: Who
    shape: Shape | None
    axis: int = -1
    own: bool = False
    shared: tuple[int, ...] = ()
    doubled: Who | None = None

    def message(self) -> str:
        if self.axis != -1:
            return f"{named(self.layer)} creates weights for axis {self.axis} of {show_shape(self.shape)}, but the size of that axis is unknown."
        return f"{named(self.layer)} needs to know the last dimension of its input, but receives {show_shape(self.shape)}."

    def why(self) -> str:
        if self.own:
            return "A weight needs a known shape. Declare that size in the shape of the input, or create a weight that does not depend on it."
        if self.shared:
            return f"It has separate weights for each position. With shared_axes={list(self.shared)}, it has one for each channel."
        if self.axis != -1:
            channels = show_shape((self.shape or (None,))[-1:]).strip("(),")
            return f"The channels are on the last axis: axis=-1 has {channels}. Axis {self.axis} is a position in the image."
        if self.doubled is not None:
            return f"{self.doubled.op}{placed(self.doubled)} returns the batch twice: it combines every sample with every other. Under vmap, map each tensor that has the batch."
        return "The shape of its weights depends on that size. Declare the size, or pool over the unknown axes first."

    def sides(self) -> Sides:
        return Side("a known size" if self.own or self.shared else "a known last dimension" if self.axis == -1 else "axis=-1"), side(self.shape)


class WrongMask(Fact, frozen=True):
    """An attention mask of ``shape``; ``wanted`` is (batch, query steps, value steps)."""

    layer: Who
    wanted: Shape
    shape: Shape | None

    def message(self) -> str:
        fits = ", ".join(str(n) for n in self.wanted[1:])
        return f"{named(self.layer)} receives a mask of shape {show_shape(self.shape)}, but expects (batch, {fits}): query steps by value steps."

    def why(self) -> str:
        mask, (batch, target, source) = self.shape or (), self.wanted
        says = "For each query step (target), the mask marks the value steps (source) that it may attend to."
        if len(mask) == 2 and mask[-1] == source and mask[0] in (batch, None):
            return f"{says} A padding mask (batch, source) applies to all query steps: pass mask[:, None, :]."
        if len(mask) > 3 and mask[-1] == source and set(mask[1:-1]) == {1}:
            return f"{says} The layer adds the axis of the heads itself: pass (batch, 1, source)."
        if len(mask) > 1 and mask[-1] == mask[-2] != target == source:
            return f"{says} This mask is for {mask[-1]} steps, but the sequences have {target}."
        if mask[-1:] == (target,) and target != source:
            return f"{says} This mask has the query's {target} steps on its last axis too, as for self-attention, but the values have {source}."
        return says

    def sides(self) -> Sides:
        return pair(self.wanted, self.shape, names=False)


class WrongParts(Fact, frozen=True):
    """Query, value and key of an attention with incompatible shapes: ``(what, shape)`` each. ``weight``: one of them, which has no batch axis."""

    layer: Who
    parts: tuple[tuple[str, Shape | None], ...]
    said: str
    weight: str = ""

    def message(self) -> str:
        if self.weight:
            return f"{named(self.layer)} receives {self.weight}, a weight without a batch axis."
        parts = ", ".join(f"{label} {show_shape(shape)}" for label, shape in self.parts)
        return f"{named(self.layer)} receives inputs with incompatible shapes: {parts}."

    def why(self) -> str:
        if self.weight:
            return f"An attention layer expects (batch, steps, features). Repeat {self.weight} for each sample. The error: {self.said}"
        flat = [label for label, shape in self.parts if shape is not None and len(shape) == 2]
        if flat:
            return f"Attention expects (batch, steps, features), and {listed(tuple(flat))} has no steps."
        return f"The error: {self.said}"


class MaskAlone(Fact, frozen=True):
    """``layer`` is given one mask where it takes a list of two: that of the query and that of the values."""

    layer: Who
    shape: Shape | None

    def message(self) -> str:
        return f"{named(self.layer)} receives one mask, but takes a list of two: [query_mask, value_mask]."

    def why(self) -> str:
        return "The first one hides steps of the result, the second one steps of the values. Use None for a mask that is not needed: mask=[None, value_mask]."

    def sides(self) -> Sides:
        return Side("[query_mask, value_mask]"), Side(show_shape(self.shape))


class OperationRaised(Fact, frozen=True):
    """An operation that does not accept ``shapes``: a node of the flow (``node``), or an operation inside ``layer``.

    ``cause``: where one of them got a size that differs from the others'.
    """

    operation: str
    shapes: tuple[Shape | None, ...]
    said: str
    node: Who | None = None
    layer: Who | None = None
    reason: Reason | None = None
    cause: Cause | None = None

    @property
    def apart(self) -> tuple[tuple[int, int], ...]:
        """For each axis that differs: sizes of the second tensor, each with the size of the first that it may have to match."""
        if len(self.shapes) < 2 or self.shapes[0] is None or self.shapes[1] is None:
            return ()
        first, second = self.shapes[0], self.shapes[1]
        off = differing(first, second)
        return tuple((b, a) for i in off if (a := first[i]) is not None for b in second if b is not None)

    def message(self) -> str:
        given = listed(tuple(map(show_shape, self.shapes))) or "its inputs"
        if isinstance(self.reason, Uneven):
            inside = f" inside {named(self.layer)}" if self.layer is not None else placed(self.node) if self.node is not None else ""
            return f"The operation {self.operation}{inside} cannot reshape {show_shape(self.reason.shape)} to {show_shape(self.reason.target)}."
        if self.layer is not None:
            return f"{self.operation} inside {named(self.layer)} does not accept {given}."
        return f"The operation {self.operation}{placed(self.node) if self.node is not None else ''} does not accept {given}."

    def why(self) -> str:
        return because(self.cause) or (self.reason.words() if self.reason is not None else f"The error: {self.said}")

    def sides(self) -> Sides:
        if isinstance(self.reason, Multiples):
            return Side(f"{len(self.reason.shape)}, one for each axis"), Side(str(self.reason.count))
        if len(self.shapes) < 2:
            return None, None
        first, second = pair(self.shapes[0], self.shapes[1], names=False)
        if isinstance(self.reason, Lengths) and self.reason.summed:
            # What a product sums over need not stand at the same place in both.
            first, second = (msgspec.structs.replace(side, differs=(at,)) for side, at in zip((first, second), self.reason.summed, strict=True))
        return first, second


class LayerRaised(Fact, frozen=True):
    """``layer`` raises an error for ``shapes``; ``inner`` names the layer inside it that did; ``alone``: it got a tuple of one number.

    ``text``: the expression of the program's own inside the layer that raised, with ``line``.
    """

    layer: Who
    shapes: tuple[Shape | None, ...]
    said: str
    inner: str = ""
    alone: bool = False
    text: str = ""
    line: int = 0

    def message(self) -> str:
        given = f" for {' and '.join(map(show_shape, self.shapes))}" if self.shapes else ""
        return f"{named(self.layer)} raises an error{given}{f': {self.said}' if len(self.said) <= 120 else ''}."

    def why(self) -> str:
        inner = f"The error comes from {self.inner}, inside the layer." if self.inner else ""
        if self.text:
            inner = f"Line {self.line} of the layer raises it: `{self.text}`."
        if self.alone:
            inner = f"{inner} A tuple arrives where a number is expected. A comma at the end of a line makes one, as in `self.units = units,`.".strip()
        return inner if len(self.said) <= 120 else f"{inner} The error: {in_short(self.said)}".strip()


class NotDense(Fact, frozen=True):
    """``layer`` raises an error for the ragged or sparse tensor at ``path`` of the data."""

    layer: Who
    path: KeyPath
    kind: Literal["ragged", "sparse"]

    def message(self) -> str:
        return f"{named(self.layer)} does not accept {show(self.path)}: it is a {self.kind} tensor."

    def why(self) -> str:
        if self.kind == "ragged":
            return "Its rows have different lengths. Pad them to one length in the pipeline, with to_tensor()."
        return "Convert it to a dense tensor in the pipeline, with tf.sparse.to_dense."

    def sides(self) -> Sides:
        return Side("a dense tensor"), Side(f"a {self.kind} tensor")


class ArraysApart(Fact, frozen=True):
    """A line of the program passes two arrays with incompatible shapes to NumPy."""

    how: Literal["put", "combined", "multiplied"]
    first: Shape
    second: Shape

    def message(self) -> str:
        first, second = show_shape(self.first), show_shape(self.second)
        if self.how == "put":
            return f"Cannot assign an array of shape {first} to a place of shape {second}."
        if self.how == "multiplied":
            return f"Cannot multiply arrays of shapes {first} and {second}: their inner dimensions differ."
        return f"Cannot broadcast arrays of shapes {first} and {second} together."

    def why(self) -> str:
        if self.how == "multiplied":
            return f"The first array has {self.first[-1]} columns, but the second has {self.second[0]} rows."
        size = min(len(self.first), len(self.second))
        first, second = self.first[len(self.first) - size :], self.second[len(self.second) - size :]
        off = [(i - size, a, b) for i, (a, b) in enumerate(zip(first, second, strict=True)) if a != b and 1 not in (a, b)]
        if len(off) != 1:
            return "NumPy aligns shapes from the last axis; sizes must be equal or 1."
        axis, a, b = off[0]
        one = " Sizes that differ by one often come from a step of 2 over an odd size." if a and b and abs(a - b) == 1 else ""
        return f"They differ on axis {axis}: {a} and {b}.{one}"

    def sides(self) -> Sides:
        return Side(show_shape(self.second)), Side(show_shape(self.first))
